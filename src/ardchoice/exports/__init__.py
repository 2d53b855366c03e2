"""An estimated model handed on: scripts for other packages, readable text, LaTeX."""

from ardchoice.exports.export import export, export_result, readable_text
from ardchoice.exports.origin import companions
from ardchoice.exports.templates import formats_of
from ardchoice.formats import FORMATS, PACKAGES

__all__ = [
    "FORMATS",
    "PACKAGES",
    "companions",
    "export",
    "export_result",
    "formats_of",
    "readable_text",
]

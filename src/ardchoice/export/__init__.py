"""An estimated model handed on: scripts for other packages, readable text, LaTeX."""

from ardchoice.export.export import FILE_NAMES, PACKAGES, export, export_result
from ardchoice.export.origin import companions
from ardchoice.export.readable import write_latex, write_text
from ardchoice.export.scripts import SCRIPTS

__all__ = [
    "FILE_NAMES",
    "PACKAGES",
    "SCRIPTS",
    "companions",
    "export",
    "export_result",
    "write_latex",
    "write_text",
]

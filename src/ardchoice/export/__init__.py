"""An estimated model handed on: scripts for other packages, readable text, LaTeX."""

from ardchoice.export.export import FILE_NAMES, PACKAGES, export, export_result

__all__ = ["FILE_NAMES", "PACKAGES", "export", "export_result"]

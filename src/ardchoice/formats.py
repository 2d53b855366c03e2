"""The formats that models are exported to; light, so that the command line can list them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

INDEPENDENT = "{}'s robust errors take every choice as independent of all others."


@dataclass(frozen=True)
class Format:
    """A script for a package, or a document.

    Attributes
    ----------
    title
        As people write it.
    file_name
        In a folder of exports; its ending is that of the templates.
    install, run
        What to install before a script runs, and its command, with ``{file}`` for the script;
        empty for a document.
    notes
        What to know of the package, a line each.
    """

    title: str
    file_name: str
    install: str = ""
    run: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_script(self) -> bool:
        """Whether it is run, and so reads a table."""
        return bool(self.run)

    @property
    def is_r(self) -> bool:
        """Whether its language is R."""
        return self.file_name.endswith(".R")


FORMATS: Mapping[str, Format] = {
    "biogeme": Format(
        "Biogeme 3.3",
        "model_biogeme.py",
        'pip install "biogeme>=3.3,<3.4" "tomlkit<0.15"',
        "python {file}",
        (INDEPENDENT.format("Biogeme"),),
    ),
    "pylogit": Format(
        "PyLogit 1.0",
        "model_pylogit.py",
        'pip install "pylogit==1.0.1"',
        "python {file}",
        (INDEPENDENT.format("PyLogit"),),
    ),
    "xlogit": Format(
        "xlogit 0.2",
        "model_xlogit.py",
        'pip install "xlogit>=0.2.7,<0.3" pandas',
        "python {file}",
        (INDEPENDENT.format("xlogit"),),
    ),
    "apollo": Format(
        "Apollo (R)",
        "model_apollo.R",
        "Rscript -e 'install.packages(\"apollo\")'",
        "Rscript {file}",
        (
            "Run it in the folder that it is in. Scripts of this kind were checked in R with "
            "stand-ins",
            "for Apollo's functions that do what its manual says, not with Apollo itself.",
        ),
    ),
    "text": Format("plain text", "model.txt"),
    "latex": Format("LaTeX", "model.tex"),
}
PACKAGES = tuple(FORMATS)

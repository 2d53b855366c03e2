"""Which formats a family can be exported to: those with a template in its folder `exports/`.

A template is named after its format and the ending of what it makes: `biogeme.py.j2`. It may
include what templates share, in `exports/shared`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ardchoice.errors import ArdchoiceError
from ardchoice.estimation import Result
from ardchoice.exports.quoting import one_line, python, r, r_comment
from ardchoice.families import Family
from ardchoice.formats import FORMATS

SHARED_TEMPLATES = Path(__file__).parent / "shared"
ERRORS = {"classical": "classical", "robust": "robust", "cluster": "clustered by person"}


def template_folder(family: type[Family]) -> Path:
    """The folder `exports` beside the module that defines a family."""
    return Path(inspect.getfile(family)).parent / "exports"


def template_name(package: str) -> str:
    """The file name of the template of a format."""
    return f"{package}{Path(FORMATS[package].file_name).suffix}.j2"


def formats_of(family: Family) -> tuple[str, ...]:
    """The formats that a family can be exported to."""
    folder = template_folder(type(family))
    return tuple(package for package in FORMATS if (folder / template_name(package)).is_file())


def must_have_template(family: Family, package: str) -> None:
    """Refuse a format for which a family has no template."""
    available = formats_of(family)
    if package not in available:
        name = f"{family.title[:1].lower()}{family.title[1:]}"
        raise ArdchoiceError(
            f"The {name} cannot be exported to {FORMATS[package].title}: there is no template for "
            f"it. Formats available for it: {', '.join(available) or 'none'}."
        )


def render(result: Result, package: str, context: Mapping[str, object]) -> str:
    """The text that the template of a result's family makes."""
    folder = template_folder(type(result.family))
    template = _environment(folder, FORMATS[package].is_r).get_template(template_name(package))
    cov = ERRORS[result.default_cov]
    return template.render(result=result, version=version("ardchoice"), cov=cov, **context)


@cache
def _environment(folder: Path, is_r: bool) -> Environment:
    environment = Environment(
        loader=FileSystemLoader([folder, SHARED_TEMPLATES]),
        autoescape=False,  # noqa: S701 - not HTML; literals and comments have filters of their own
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"py": python, "r": r, "comment": r_comment if is_r else one_line}
    return environment

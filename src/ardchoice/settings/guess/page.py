"""The guessed study file: every line with its reason and what else it could be."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from ardchoice.settings.guess.plan import Plan
from ardchoice.settings.guess.roles import Finding, Roles, Variable
from ardchoice.settings.writing import Code, toml_key, toml_value
from ardchoice.space import Term

LINE_CHARACTERS = 96
MAX_LISTED_NAMES = 12
"""Columns not used that are listed one by one."""


def write_page(
    roles: Roles,
    plan: Plan,
    table: str,
    size: tuple[int, int],
    dropped: str | None,
    doubts: Sequence[str],
) -> str:
    """The text of a study file.

    Parameters
    ----------
    roles, plan
        What was guessed.
    table
        Its path, as the file is to name it.
    size
        Rows and columns.
    dropped
        What is wrong with some rows, which are therefore dropped; None where nothing is.
    doubts
        What to say at the top besides.
    """
    open_roles = [
        role
        for role, finding in roles.findings.items()
        if not finding.sure and finding.value is not None and role != "availability"
    ]
    unsure = [f"{role} is a guess: {roles.findings[role].why}." for role in open_roles]
    same = all(name == code for name, code in roles.alternatives.items())
    return _template().render(
        roles=roles,
        plan=plan,
        table=table,
        size=size,
        dropped=dropped,
        doubts=[*roles.doubts, *doubts, *unsure],
        guesses=open_roles,
        wide=roles.layout.value == "wide",
        codes={name: Code(code) for name, code in roles.alternatives.items()},
        names_are_codes=same and len(roles.alternatives) > MAX_LISTED_NAMES,
        found=roles.findings.get("alternatives"),
        signs=dict.fromkeys(plan.signs, "-"),
        recognised=", ".join(f"{name} ({kind})" for name, kind in plan.signs.items()),
        most=MAX_LISTED_NAMES,
    )


@cache
def _template() -> Template:
    # Neither HTML nor a browser: what could end a line of TOML is quoted by the filters.
    page = Environment(  # noqa: S701
        loader=PackageLoader("ardchoice.settings", "guess"),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    page.globals |= {"note": comment, "line": _line, "role": _role}
    page.filters |= {
        "toml": toml_value,
        "key": toml_key,
        "printable": _printable,
        "sentence": _sentence,
        "constant": lambda name: str(Term((name,))),
        "wrapped": lambda text: _wrapped(text, "    "),
    }
    return page.get_template("page.toml.j2")


def comment(text: str, indent: str = "# ") -> str:
    """Text as comment lines; whatever could end a line or is no character becomes a blank."""
    return _wrapped(_printable(text).replace("\n", " "), indent)


def _wrapped(text: str, indent: str) -> str:
    lines = textwrap.wrap(
        text,
        LINE_CHARACTERS - len(indent),
        break_long_words=indent != "    ",
        break_on_hyphens=False,
    )
    return "\n".join(indent + line for line in lines)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _line(key: str, finding: Finding, value: object = None) -> str:
    """A key with the reason above it; as a comment where nothing was found."""
    also = f". Could also be: {', '.join(finding.instead)}" if finding.instead else ""
    written = f'# {key} = "..."'
    if finding.value is not None:
        written = f"{key} = {toml_value(value or finding.value)}"
    return f"{comment(_sentence(finding.why + also))}\n{written}".lstrip("\n")


def _role(variable: Variable, default: Mapping[str, Any]) -> str:
    how: dict[str, Any] = {**default, **variable.how}
    if "levels" in how:
        how["levels"] = [Code(text) for text in how["levels"]]
    if "merge" in how:
        how["merge"] = {k: [Code(text) for text in values] for k, values in how["merge"].items()}
    is_column = set(how) == {"column"} and isinstance(how["column"], str)
    line = f"{toml_key(variable.name)} = {toml_value(how['column'] if is_column else how)}"
    why = comment(variable.why, "  # ")
    if "\n" not in why and why and len(line) + len(why) <= LINE_CHARACTERS:
        return line + why
    return f"{comment(variable.why)}\n{line}".lstrip("\n")

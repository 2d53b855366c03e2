"""The guessed study file: every line with its reason and what else it could be."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from ardchoice.settings.guess.plan import Plan
from ardchoice.settings.guess.roles import Finding, Roles, Variable
from ardchoice.settings.writing import Code, toml_key, toml_value
from ardchoice.space import Term

WIDTH = 96
MOST_NAMED = 12
"""Columns left out that are listed one by one."""


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
        What is wrong with some rows, which are therefore left out; None where nothing is.
    doubts
        What to say at the top besides.
    """
    blocks = [
        _head(table, [*roles.doubts, *doubts], _unsure(roles)),
        _data(roles, table, size, dropped),
        _alternatives(roles),
        _attributes(roles),
        _covariates(roles),
        _space(roles, plan),
        _structure(plan),
        _rest(),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def comment(text: str, indent: str = "# ") -> list[str]:
    """Text as comment lines; whatever could end a line or is no character becomes a blank."""
    clean = "".join(c if c.isprintable() else " " for c in text)
    return textwrap.wrap(
        clean, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


def _head(table: str, doubts: Sequence[str], unsure: Sequence[str]) -> list[str]:
    out = comment(
        f"A study of {table}, as `ardchoice init` guessed it: look through it, change what is "
        "wrong. `ardchoice check` tells what is in the data and what does not fit; `ardchoice run` "
        "does the whole job; `ardchoice init --example` shows every setting."
    )
    if doubts or unsure:
        out += ["#", "# PLEASE LOOK AT THESE:"]
        for doubt in [*doubts, *unsure]:
            lines = comment(doubt, "#   ")
            out += ["# ! " + lines[0][4:], *lines[1:]] if lines else []
    return out


def _unsure(roles: Roles) -> list[str]:
    found = [(role, f) for role, f in roles.findings.items() if not f.sure and f.value is not None]
    return [
        f"{role} is a guess: {finding.why}." for role, finding in found if role != "availability"
    ]


def _line(key: str, finding: Finding, value: object = None) -> list[str]:
    """A key with the reason above it; as a comment where nothing was found."""
    why = finding.why[:1].upper() + finding.why[1:]
    if finding.instead:
        why += f". Could also be: {', '.join(finding.instead)}"
    lines = comment(f"{why}." if why else "")
    if finding.value is None:
        return [*lines, f'# {key} = "..."']
    return [*lines, f"{key} = {toml_value(finding.value if value is None else value)}"]


def _data(roles: Roles, table: str, size: tuple[int, int], dropped: str | None) -> list[str]:
    out = ["[data]", *comment(f"{size[0]:,} rows, {size[1]} columns.")]
    out += [f"table = {toml_value(table)}", *_line("layout", roles.layout)]
    wide = roles.layout.value == "wide"
    keys = ("choice",) if wide else ("situation", "alternative", "chosen")
    for key in keys:
        several = list(roles.pair) if key == "situation" and roles.pair else None
        out += _line(key, roles.findings[key], several)
    out += _line("person", roles.findings["person"])
    out += _line("weight", roles.findings["weight"])
    if wide:
        out += _line("availability", roles.findings["availability"], roles.availability)
    if roles.suspects:
        out += comment(
            "Values that stand for missing ones in attributes and covariates: remove the # if they "
            "do. Then drop_invalid = true leaves out the rows that have them."
        )
        out.append(f"# missing_values = {toml_value(list(roles.suspects))}")
    if dropped is not None:
        out += comment(f"Rows that cannot be used are left out: {dropped}")
        out.append("drop_invalid = true")
    else:
        out += comment("No row has to be left out.")
        out.append("drop_invalid = false")
    return [*out, *(_as_list(roles) if _is_list(roles) else [])]


def _alternatives(roles: Roles) -> list[str]:
    if not roles.alternatives:
        return ["# [data.alternatives]", "# name = code"]
    out = ["[data.alternatives]"]
    if _is_list(roles):
        return []
    found = roles.findings.get("alternatives")
    if found is not None and found.value is not None:
        why = found.why[:1].upper() + found.why[1:]
        out += comment(f"Name = code in the choice column. {why}.")
        if found.value == "order":
            out += comment("CHECK the codes: nothing in the table says which is which.")
    else:
        out += comment("Name = code in the table.")
    out += [
        f"{toml_key(name)} = {toml_value(Code(code))}" for name, code in roles.alternatives.items()
    ]
    return out


def _is_list(roles: Roles) -> bool:
    """Many alternatives whose names are their codes."""
    same = all(name == code for name, code in roles.alternatives.items())
    return same and len(roles.alternatives) > MOST_NAMED


def _as_list(roles: Roles) -> list[str]:
    codes = ", ".join(toml_value(Code(code)) for code in roles.alternatives.values())
    lines = textwrap.wrap(codes, WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    what = "The names of the alternatives are their codes."
    return [*comment(what), "alternatives = [", *(f"    {line}" for line in lines), "]"]


def _attributes(roles: Roles) -> list[str]:
    out = ["[data.attributes]"]
    what = "what differs between alternatives"
    if not roles.attributes:
        return [*out, *comment(f"None found: {what}, such as a time or a price.")]
    out += comment(f"{what[:1].upper()}{what[1:]}.")
    wide = roles.layout.value == "wide"
    for variable in roles.attributes:
        out += _variable(variable, {} if wide else {"column": variable.name})
    return out


def _covariates(roles: Roles) -> list[str]:
    out = ["[data.covariates]", *comment("Facts about the person or the situation.")]
    for variable in roles.covariates:
        out += _variable(variable, {})
    if roles.left_out:
        out += ["", *comment("Left out:")]
        listed = list(roles.left_out.items())
        for name, why in listed[:MOST_NAMED]:
            out += comment(f"{name}: {why}", "#   ")
        rest = [name for name, _ in listed[MOST_NAMED:]]
        if rest:
            out += comment(f"and {', '.join(rest)}", "#   ")
    return out


def _variable(variable: Variable, usual: Mapping[str, object]) -> list[str]:
    how = {**usual, **variable.how}
    if isinstance(how.get("levels"), list):
        how["levels"] = [Code(text) for text in variable.how["levels"]]  # type: ignore[attr-defined]
    column = how.get("column")
    value: object = how
    if isinstance(column, str) and set(how) == {"column"}:
        value = column
    elif isinstance(column, dict) and set(how) == {"column"}:
        value = {"column": column}
    line = f"{toml_key(variable.name)} = {toml_value(value)}"
    why = comment(variable.why, "  # ")
    if len(why) == 1 and len(line) + len(why[0]) <= WIDTH:
        return [line + why[0]]
    return [*comment(variable.why), line]


def _space(roles: Roles, plan: Plan) -> list[str]:
    out = ["[space]", *comment(f"What could matter: about {plan.columns} columns.")]
    out += comment(
        "Functional forms of every attribute. Also: log, sqrt, square, boxcox, segments(4), "
        "quantiles(4), piecewise(60, 120). Those that cannot be (a logarithm of zero) are left out."
    )
    out.append(f"transforms = {toml_value(list(plan.transforms))}")
    others = f" Also: {', '.join(plan.others[:MOST_NAMED])}." if plan.others else ""
    out += comment(
        "Covariates to interact with, a few so that it runs in seconds to a minute; each more "
        f"makes the search longer.{others}"
    )
    out.append(f"by = {toml_value(list(plan.by))}")
    if plan.generic:
        why = "only number them" if not roles.labelled else f"are many ({len(roles.alternatives)})"
        out += comment(
            f"One coefficient for all alternatives, and no constants: their names {why}."
            if not roles.labelled
            else f"One coefficient for all alternatives, and no constants: they {why}."
        )
        out += ["specific = false", "generic = true", "constants = false"]
        if plan.add:
            out += comment("What is unlike the others has a constant.")
            out.append(f"add = {toml_value([str(Term((name,))) for name in plan.add])}")
        return out
    if plan.base is not None:
        out += comment("The alternative without a constant; any will do.")
        out.append(f"base = {toml_value(plan.base)}")
    out += comment("true: also one coefficient shared by all alternatives, for every attribute.")
    out.append("generic = false")
    return out


def _structure(plan: Plan) -> list[str]:
    out = ["[structure]"]
    example = dict.fromkeys(plan.signs, "-") or {"COST": "-"}
    out += comment(
        'Expected signs: "-" where more of it pleases nobody, "+" where it displeases nobody. '
        "Remove the # to demand them of every alternative and segment."
    )
    line = f"signs = {toml_value(example)}"
    return [*out, *(f"# {part}" for part in _clean(line).split("\n"))]


def _clean(line: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else " " for c in line)


def _rest() -> list[str]:
    return [
        "[selection]",
        *comment("How many terms are enough. Also: bic, held-out, evidence, false-discovery."),
        'rule = "ebic"',
        *comment(
            "true: select on one half of the persons and estimate on the other, so that p-values "
            "are valid."
        ),
        "honest = false",
        "seed = 0",
        "",
        "[output]",
        'folder = "results"',
        *comment("Persons are divided so often to see how well others are predicted; 0: not."),
        "folds = 5",
    ]

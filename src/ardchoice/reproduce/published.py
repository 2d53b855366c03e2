"""The published figures, and their terms in our grammar."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from ardchoice.data import swissmetro_specification
from ardchoice.space import parse_specification

MEDIUM_SPECIFICATIONS = ("S1", "S2", "S3", "S4", "S5", "S6")
LARGE_SPECIFICATIONS = ("S1", "S2", "S3", "S7", "S8", "S9")
REAL_SPECIFICATIONS = ("R1", "R2", "R3", "R4", "R5", "R6", "R7")
STRONG_LAMBDA = 0.1
"""Published λ from which ours is compared with it."""


@cache
def published() -> dict[str, Any]:
    """Everything that is compared with, as it was published."""
    text = (files("ardchoice.reproduce") / "published.json").read_text(encoding="utf-8")
    made: dict[str, Any] = json.loads(text)
    return made


def to_term(alternative: str, text: str) -> str:
    """A term as the paper writes it, in our grammar.

    Its log is log(1 + x), its box a Box-Cox of 1 + x; names of covariates are in capitals here.
    """
    what, *by = text.split(" x ")
    what = what.replace("log(", "log1p(")
    what = re.sub(r"box\((\w+)\)", r"boxcox(\1, 1)", what)
    what = re.sub(r"seg\((\w+), ?(\d+)\)", r"segments(\1, \2)", what)
    return f"{alternative}: {what}" + "".join(f" x {name.upper()}" for name in by)


def published_lambda(space: str, specification: str | None = None) -> dict[str, float]:
    """Published λ by term, most relevant first within an alternative."""
    table = published()["published_lambda"][space]
    rows = table if specification is None else table[specification]
    return {to_term(a, text): lam for a, terms in rows.items() for text, lam in terms}


def true_terms(specification: str) -> frozenset[str]:
    """The terms of a published specification."""
    text = swissmetro_specification(specification)
    return frozenset(str(term) for term in parse_specification(text).terms)

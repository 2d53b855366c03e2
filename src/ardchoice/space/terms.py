"""`Term`: one candidate piece of utility."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ardchoice.errors import SpecificationError
from ardchoice.space.factors import parse_factor
from ardchoice.space.transforms import Linear, Transform

EVERYWHERE = "*"
CONSTANT = "ASC"
_PLAIN = re.compile(r"\w[\w.]*")
_ESCAPES = {"\\": "\\\\", "`": "\\`", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(frozen=True)
class Term:
    """Where, what, how, for whom. Prints in the grammar and parses back to itself.

    Attributes
    ----------
    where
        The alternatives, which share the coefficients; empty for every alternative that has the
        attribute.
    what
        The attribute; None for a constant.
    how
        The transform.
    by
        What it is multiplied by: covariates, functions of numeric ones (``log(INCOME)``), other
        attributes.
    """

    where: tuple[str, ...]
    what: str | None = None
    how: Transform = field(default_factory=Linear)
    by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for names, kind in ((self.where, "alternative"), (self.by, "covariate")):
            if not isinstance(names, tuple):
                raise SpecificationError(
                    f"The {kind}s of a term are a tuple of names, such as ('A',), not {names!r}."
                )
            twice = [name for i, name in enumerate(names) if name in names[:i]]
            if twice:
                raise SpecificationError(f"The {kind} {twice[0]!r} is named twice in '{self}'.")
        if self.what is None and self.how != Linear():
            raise SpecificationError(f"A constant cannot be transformed by {self.how.name}.")

    @property
    def place(self) -> str:
        """The left side in the grammar: ``TRAIN``, ``TRAIN+SM`` or ``*``."""
        return "+".join(map(quoted, self.where)) if self.where else EVERYWHERE

    @property
    def content(self) -> str:
        """The right side in the grammar: ``log(TT) x GA``."""
        return " x ".join([self.form, *map(quoted_factor, self.by)])

    @property
    def form(self) -> str:
        """What stands before the interactions: ``ASC``, ``TT``, ``log(TT)``."""
        if self.what is None:
            return CONSTANT
        name = f"`{CONSTANT}`" if self.what == CONSTANT else quoted(self.what)
        return self.how.text(name)

    @property
    def main(self) -> Term:
        """The term without its interactions."""
        return Term(self.where, self.what, self.how)

    def __str__(self) -> str:
        return f"{self.place}: {self.content}"


def quoted_factor(text: str) -> str:
    """What a term is multiplied by, as the grammar writes it: ``INCOME``, ``log(INCOME)``."""
    factor = parse_factor(text)
    return f"{factor.function}({quoted(factor.name)})" if factor.function else quoted(text)


def quoted(name: str) -> str:
    """A name as the grammar writes it: bare when plain, in back quotes when odd."""
    if _PLAIN.fullmatch(name):
        return name
    return "`" + "".join(_ESCAPES.get(c, c) for c in name) + "`"

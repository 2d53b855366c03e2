"""`ScriptModel`: what was read from a script of another package."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ardchoice.data import ChoiceData, Numeric, read_long, read_wide
from ardchoice.errors import ArdchoiceError
from ardchoice.families import Family, Mixed, Mnl
from ardchoice.scripts.values import Doubt
from ardchoice.space import Specification, Term
from ardchoice.text import WIDTH, one_line

if TYPE_CHECKING:
    from ardchoice.estimation import Result


@dataclass(frozen=True, eq=False)
class ScriptModel:
    """A model that was read from a script; nothing of the script was executed.

    Attributes
    ----------
    package
        ``"biogeme"``, ``"pylogit"``, ``"xlogit"`` or ``"apollo"``.
    specification
    reading
        Arguments of `ac.read_wide` or `ac.read_long`, `layout` says which: alternatives, choice,
        attributes, covariates, availability, person, weight, derived columns, filter.
    layout
        ``"wide"`` or ``"long"``.
    not_understood
        Parts of the script that are not in the specification, by line.
    fixed, start
        Term -> value, as arguments of `ac.fit`.
    random
        Term -> distribution, as argument of `ac.Mixed`; empty for fixed coefficients.
    names
        Parameter of the script -> the term that it is the coefficient of.
    table
        The file that the script reads, as it names it; None where that is not known.
    notes
        What was assumed, a sentence each.

    Examples
    --------
    >>> import ardchoice as ac
    >>> model = ac.read_specification('''
    ... from biogeme.expressions import Beta, Variable
    ... B = Beta("B_TIME", 0, None, None, 0)
    ... ASC = Beta("ASC_CAR", 0, None, None, 0)
    ... V = {1: B * Variable("TRAIN_TT"), 2: ASC + B * Variable("CAR_TT")}
    ... logprob = loglogit(V, {1: 1, 2: 1}, Variable("CHOICE"))
    ... ''')
    >>> print(model.specification)
    *: TT
    2: ASC
    """

    package: str
    specification: Specification
    reading: Mapping[str, Any]
    layout: str
    not_understood: tuple[Doubt, ...] = ()
    fixed: Mapping[str, float] = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=dict)
    random: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, Term] = field(default_factory=dict)
    table: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def family(self) -> Family:
        """The family of the model: multinomial, or mixed where coefficients are random."""
        return Mixed(self.random) if self.random else Mnl()

    def read(self, table: object, **options: Any) -> ChoiceData:
        """The choices of a table, with columns as the script uses them.

        Parameters
        ----------
        table
            A path or a data frame.
        **options
            Further arguments of `ac.read_wide` or `ac.read_long`, in place of those of the script.
        """
        if self.reading.get("choice" if self.layout == "wide" else "chosen") is None:
            raise ArdchoiceError(
                "The script does not say which column has the choice, in a way that was "
                "understood. Pass it: " + ("choice=..." if self.layout == "wide" else "chosen=...")
            )
        read = read_wide if self.layout == "wide" else read_long
        return read(table, **{**self.reading, **options})

    def fit(self, data: ChoiceData, **options: Any) -> Result:
        """Estimate the model: `ac.fit` with its specification, family, fixed values and starts."""
        from ardchoice.estimation import fit

        given = {"family": self.family, "fixed": self.fixed or None, "start": self.start or None}
        return fit(data, self.specification, **{**given, **options})

    def __str__(self) -> str:
        lines = [f"A specification read from a script for {self.package}", ""]
        lines += self.specification.to_text().splitlines()
        if self.random:
            lines += ["", "Random coefficients"]
            lines += [f"  {term}: {how}" for term, how in self.random.items()]
        if self.fixed:
            lines += ["", "Fixed", *(f"  {term} = {v:g}" for term, v in self.fixed.items())]
        for key, title in (("derive", "Derived columns"), ("where", "Rows")):
            value = self.reading.get(key)
            if isinstance(value, Mapping) and value:
                lines += ["", title, *(f"  {n} = {text}" for n, text in value.items())]
            elif isinstance(value, str):
                lines += ["", title, f"  {value}"]
        lines += ["", "Not understood" if self.not_understood else "Everything was understood."]
        lines += [f"  {doubt}" for doubt in self.not_understood]
        if self.notes:
            lines += ["", "Notes", *(f"  {note}" for note in self.notes)]
        wrapped: list[str] = []
        for line in lines:
            line = one_line(line)
            indent = " " * (len(line) - len(line.lstrip()) + 2)
            wrapped += textwrap.wrap(line, WIDTH, subsequent_indent=indent) or [""]
        return "\n".join(wrapped)

    def __repr__(self) -> str:
        return (
            f"<ScriptModel: {self.package}, {len(self.specification)} terms, "
            f"{len(self.not_understood)} not understood>"
        )


def numeric(columns: Mapping[str, str] | str) -> Numeric:
    """Columns of a script are numbers."""
    return Numeric(columns)

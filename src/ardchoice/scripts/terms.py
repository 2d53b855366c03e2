"""From utilities that are sums of parameters times columns to a specification and its columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ardchoice.expressions import (
    Call,
    Column,
    Expression,
    ExpressionError,
    Literal,
    Operation,
    column_names,
    parse_expression,
)
from ardchoice.scripts.capture import EVERY, Captured
from ardchoice.scripts.forms import UnreadableError, operation
from ardchoice.space import BoxCox, Linear, Log, Log1p, Ratio, Sqrt, Square, Term, Transform

TRANSFORMS: Mapping[str, Transform] = {
    "": Linear(),
    "log": Log(),
    "log1p": Log1p(),
    "sqrt": Sqrt(),
    "square": Square(),
    "boxcox": BoxCox(),
}
INVERSE = "inverse"
PREFIXES = re.compile(r"^(b|beta|betas|coef|coeff|theta)[_.]?(?=[^_.])", re.IGNORECASE)
LONGEST_NAME = 40


@dataclass(frozen=True)
class Piece:
    """One factor of a product: a function of an expression."""

    function: str
    of: Expression

    @property
    def text(self) -> str:
        """For comparison only."""
        return f"{self.function}({self.of})"


@dataclass
class Drafted:
    """A term whose places are not yet written: all that have an attribute may become ``*``."""

    codes: tuple[Any, ...]
    what: str | None
    how: Transform
    by: tuple[str, ...]


@dataclass
class Columns:
    """Columns that a specification needs, and their names.

    Attributes
    ----------
    captured
    raw
        Columns of the table that something is made of.
    derive
        New column -> expression.
    attributes
        Attribute -> code -> column.
    covariates
        Covariate, which is a column of that name.
    words
        Code -> lower-case words that its columns have in their names.
    names
        Code -> the name of the alternative.
    made
        Text of an expression -> its column.
    """

    captured: Captured
    raw: set[str]
    words: Mapping[Any, frozenset[str]]
    names: Mapping[Any, str]
    derive: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, dict[Any, str]] = field(default_factory=dict)
    covariates: dict[str, str] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        table = self.captured.table
        self.labels = {str(e): n for n, e in table.columns.items()}
        self.labels = {**self.captured.labels, **self.labels}

    # -- Names ------------------------------------------------------------------------------

    def column(self, expression: Expression, hint: str = "") -> str:
        """The column with the values of an expression, derived if need be."""
        if isinstance(expression, Column):
            return expression.name
        text = checked(expression)
        if text not in self.made:
            name = self.labels.get(text) or _words_of(expression) or hint or "X"
            if hint.rpartition("_")[0] in self.captured.hints.values():
                name = hint
            taken = self.raw | set(self.derive)
            name = _free(name[:LONGEST_NAME], taken)
            self.made[text], self.derive[name] = name, text
        return self.made[text]

    def is_named(self, expression: Expression) -> bool:
        """Whether the script gives an expression a name."""
        piece = _piece(expression)
        if isinstance(piece.of, Column):  # a column, or a function that the grammar has
            return False
        return str(expression) in self.labels

    def owner(self, expression: Expression) -> set[Any]:
        """The alternatives whose words the columns of an expression have."""
        found = set()
        for name in column_names(expression):
            own = _split(name)
            found |= {code for code, words in self.words.items() if words & own}
        return found

    def attribute(self, columns: Mapping[Any, str], hint: str) -> str:
        """The attribute with these columns, under a name that suits them."""
        for name, known in self.attributes.items():
            if all(known.get(code) == column for code, column in columns.items()):
                return name
        known_as = self.captured.hints.get(hint, "")
        name = known_as or self._shared_name(columns) or _clean(hint) or "X"
        number = 1
        while not self._fits(here := name if number == 1 else f"{name}_{number}", columns):
            number += 1
        self.attributes.setdefault(here, {}).update(columns)
        return here

    def _fits(self, name: str, columns: Mapping[Any, str]) -> bool:
        known = self.attributes.get(name, {})
        agrees = all(known.get(code, column) == column for code, column in columns.items())
        return agrees and name not in self.covariates and name != "ASC"

    def _shared_name(self, columns: Mapping[Any, str]) -> str:
        """The name that is left of columns without the words of their alternatives."""
        if self.captured.is_long and len(set(columns.values())) == 1:
            return next(iter(columns.values()))
        left = {self._without_words(code, column) for code, column in columns.items()}
        return next(iter(left)) if len(left) == 1 else ""

    def _without_words(self, code: Any, column: str) -> str:
        own = self.words.get(code, frozenset())
        parts = [p for p in re.split(r"[_.\s]+", column) if p and p.lower() not in own]
        return "_".join(parts) or column

    def covariate(self, expression: Expression, hint: str) -> str:
        """The covariate with the values of an expression."""
        column = self.column(expression, hint)
        name = column
        while (
            name in self.attributes or name == "ASC" or self.covariates.get(name, column) != column
        ):
            name += "_"
        self.covariates[name] = column
        return name

    # -- Terms ------------------------------------------------------------------------------

    def term(self, parameter: str, by_code: Mapping[Any, Expression]) -> Drafted:
        """The term that a parameter is the coefficient of."""
        codes = tuple(by_code)
        pieces = {code: self.pieces(e) for code, e in by_code.items()}
        if all(not p for p in pieces.values()):
            return Drafted(codes, None, Linear(), ())
        shared, own = self._shared(pieces)
        drafted = self._from_pieces(codes, own, shared, parameter)
        return drafted or self._whole(parameter, by_code)

    def pieces(self, expression: Expression) -> list[Piece]:
        """The factors of a product; none for one."""
        out, factor = [], 1.0
        waiting = [(expression, False)]
        while waiting:
            one, inverse = waiting.pop(0)
            if not self.is_named(one) and isinstance(one, Operation) and not inverse:
                if one.operator == "*":
                    waiting = [(o, False) for o in one.operands] + waiting
                    continue
                if one.operator == "negative":
                    factor = -factor
                    waiting.insert(0, (one.operands[0], False))
                    continue
                divisor = one.operands[-1]
                if one.operator == "/" and isinstance(divisor, Column):
                    waiting = [(one.operands[0], False), (divisor, True), *waiting]
                    continue
            if isinstance(one, Literal) and isinstance(one.value, float | bool):
                factor *= float(one.value)
                continue
            out.append(Piece(INVERSE, one) if inverse else _piece(one))
        if factor != 1:
            at = next((i for i, p in enumerate(out) if not p.function), None)
            if at is None:
                return [Piece("", expression)]
            out[at] = Piece("", operation("*", Literal(factor), out[at].of))
        return out

    def _shared(
        self, pieces: Mapping[Any, list[Piece]]
    ) -> tuple[list[Piece], dict[Any, list[Piece]]]:
        """Factors of a person, and those of each alternative."""
        if self.captured.is_long:
            person = {
                p.text
                for ps in pieces.values()
                for p in ps
                if set(column_names(p.of)) <= self.captured.covariates
            }
        elif len(pieces) == 1:
            ((code, only),) = pieces.items()
            # Where the alternative has no name, columns cannot show whose they are.
            person = {p.text for p in only if self.words[code] and not self.owner(p.of)}
        else:
            each = [{p.text for p in ps} for ps in pieces.values()]
            person = set.intersection(*each)
        first = next(iter(pieces.values()))
        shared = [p for p in first if p.text in person]
        own = {code: [p for p in ps if p.text not in person] for code, ps in pieces.items()}
        return shared, own

    def _from_pieces(
        self, codes: tuple[Any, ...], own: Mapping[Any, list[Piece]], shared: list[Piece], hint: str
    ) -> Drafted | None:
        """A term of attributes and covariates; None where the grammar has no such term."""
        counts = {len(ps) for ps in own.values()}
        if len(counts) != 1:
            return None
        (count,) = counts
        sides = [[ps[i] for ps in own.values()] for i in range(count)]
        if any(len({p.function for p in side}) > 1 for side in sides):
            return None
        order = sorted(range(count), key=lambda i: sides[i][0].function == INVERSE)
        sides = [sides[i] for i in order]
        how: Transform = Linear()
        if sides:
            function = sides[0][0].function
            if function == INVERSE or any(s[0].function in (INVERSE, "boxcox") for s in sides[1:]):
                return None
            how = TRANSFORMS[function]
        inverse = [p for p in shared if p.function == INVERSE]
        if len(inverse) > 1 or (inverse and (not sides or not isinstance(how, Linear))):
            return None
        if any(p.function == "boxcox" for p in shared):
            return None
        attributes = [self._attribute_of(codes, side, hint) for side in sides]
        by = [
            _written(side[0].function, str(name))
            for side, name in zip(sides[1:], attributes[1:], strict=True)
        ]
        if inverse:
            how = Ratio(self.covariate(inverse[0].of, hint))
        by += [
            _written(p.function, self.covariate(p.of, hint))
            for p in shared
            if p.function != INVERSE
        ]
        what = attributes[0] if attributes else None
        if len(set(by)) < len(by) or what in by:
            return None
        return Drafted(codes, what, how, tuple(by))

    def _attribute_of(self, codes: tuple[Any, ...], side: list[Piece], hint: str) -> str:
        columns = {
            code: self.column(piece.of, self._hint(hint, code))
            for code, piece in zip(codes, side, strict=True)
        }
        return self.attribute(columns, hint)

    def _hint(self, parameter: str, code: Any) -> str:
        """A name for a derived column of an alternative."""
        return f"{self.captured.hints.get(parameter) or _clean(parameter)}_{self.names[code]}"

    def _whole(self, parameter: str, by_code: Mapping[Any, Expression]) -> Drafted:
        """A term whose attribute is whatever the parameter multiplies."""
        columns = {code: self.column(e, self._hint(parameter, code)) for code, e in by_code.items()}
        return Drafted(tuple(by_code), self.attribute(columns, parameter), Linear(), ())


def _piece(expression: Expression) -> Piece:
    if isinstance(expression, Call) and expression.function in TRANSFORMS:
        return Piece(expression.function, expression.arguments[0])
    is_power = isinstance(expression, Operation) and expression.operator == "**"
    if is_power and expression.operands[1] == Literal(2.0):  # type: ignore[union-attr]
        return Piece("square", expression.operands[0])  # type: ignore[union-attr]
    return Piece("", expression)


def _written(function: str, name: str) -> str:
    return f"{function}({name})" if function else name


def _clean(parameter: str) -> str:
    """A name for what a coefficient multiplies."""
    plain = re.sub(r"\W+", "_", parameter).strip("_")[:LONGEST_NAME]
    return PREFIXES.sub("", plain) or plain


def _split(name: str) -> frozenset[str]:
    """The words of a name, in lower case."""
    return frozenset(p for p in re.split(r"[_.\s]+", name.lower()) if p)


def split_words(name: str) -> frozenset[str]:
    """The words of a name, in lower case."""
    return _split(name)


def _words_of(expression: Expression) -> str:
    """A name made of the columns and numbers of an expression; empty where it has too many."""
    found = re.findall(r"[A-Za-z_][\w.]*|\d+(?:\.\d+)?", str(expression))
    names = [w.replace(".", "p") if w[0].isdigit() else w for w in found]
    text = "_".join(n for n in names if n not in ("and", "or", "not", "in", "if"))
    return text if len(names) <= 4 and len(text) <= LONGEST_NAME else ""


def _free(name: str, taken: Iterable[str]) -> str:
    used, number = set(taken), 1
    while (here := name if number == 1 else f"{name}_{number}") in used:
        number += 1
    return here


def checked(expression: Expression) -> str:
    """The text of an expression, which our grammar reads."""
    text = str(expression)
    try:
        parse_expression(text)
    except ExpressionError:
        raise UnreadableError("an expression is too long for a derived column") from None
    return text


def place(codes: Iterable[Any], names: Mapping[Any, str]) -> tuple[str, ...]:
    """The alternatives of a term by their names; none for all."""
    return tuple(names[code] for code in codes if code != EVERY)


def finished(drafted: Drafted, columns: Columns, names: Mapping[Any, str]) -> Term:
    """The term, at ``*`` where it is in every alternative that has the attribute."""
    where = place(drafted.codes, names)
    if drafted.what is not None and len(where) > 1:
        have = set(columns.attributes[drafted.what])
        for factor in drafted.by:
            have &= set(columns.attributes.get(re.sub(r"^\w+\((.*)\)$", r"\1", factor), have))
        if have == set(drafted.codes):
            where = ()
    return Term(where, drafted.what, drafted.how, drafted.by)

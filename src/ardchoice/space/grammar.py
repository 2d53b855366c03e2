"""The grammar of terms and specifications, and its parser.

::

    specification = line, line, ...
    line   = where ":" item { "+" item }          # a comment
    where  = "*" | name { "+" name }
    item   = what [ "/" name ] { "x" ( name | function "(" name ")" ) }
    what   = "ASC" | name | transform "(" name { "," number } ")"
    name   = letters, digits, "_", "." | back-quoted text

Nothing a user writes is ever evaluated as code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ardchoice.errors import SpecificationError, did_you_mean
from ardchoice.space.factors import FACTOR_FUNCTIONS
from ardchoice.space.specification import Specification
from ardchoice.space.terms import CONSTANT, EVERYWHERE, Term
from ardchoice.space.transforms import TRANSFORMS, Linear, Ratio, Transform

_NAME = re.compile(r"\w[\w.]*")
_QUOTED = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w)")
_BY = re.compile(r"[x×](?=[\s`])")
_COMMENT = re.compile(r"\s*(?:#.*)?", re.DOTALL)
_INTERACT = ". To interact with a covariate write ' x ', as in 'TT x AGE'"
_HINTS = {
    "*": _INTERACT,
    ":": _INTERACT,
    "X": _INTERACT,
    "^": ". Write square(v), or make a column of your own",
    "-": ". Signs are estimated: write '+'",
    "(": f". Functions of a covariate are {', '.join(FACTOR_FUNCTIONS)}",
}
_UNESCAPE = {"n": "\n", "r": "\r", "t": "\t"}


def parse_specification(text: str) -> Specification:
    """Read a specification: a line per alternative (or several, or ``*``), terms joined by ``+``.

    Parameters
    ----------
    text
        Such as ``"TRAIN: ASC + TT + log1p(CO) x GA"``. A line that begins with ``+`` continues
        the one before; ``#`` begins a comment.

    Returns
    -------
    Specification
    """
    if not isinstance(text, str):
        raise SpecificationError(
            f"A specification is text such as 'TRAIN: ASC + TT', not {type(text).__name__}."
        )
    terms: list[Term] = []
    where: tuple[str, ...] | None = None
    for number, line in enumerate(text.split("\n"), 1):
        reader = _Reader(line, number)
        if reader.at_end():
            continue
        if reader.take("+"):
            if where is None:
                raise reader.error("a line that continues with '+' needs one before it")
        else:
            where = reader.where()
        terms += reader.items(where)
    if not terms:
        raise SpecificationError(
            "The specification is empty. Write a line per alternative: 'TRAIN: ASC + TT + CO'."
        )
    return Specification(tuple(terms))


def parse_term(text: str) -> Term:
    """Read one term, such as ``"TRAIN: log(TT) x GA"``."""
    terms = parse_specification(text).terms
    if len(terms) != 1:
        raise SpecificationError(f"{text!r} is {len(terms)} terms; one was expected.")
    return terms[0]


def as_specification(spec: Specification | str | Iterable[Term | str]) -> Specification:
    """A specification from what users pass: itself, text in the grammar, or a list of terms."""
    if isinstance(spec, Specification):
        return spec
    if isinstance(spec, str):
        return parse_specification(spec)
    if isinstance(spec, Mapping):
        spec = [f"{place}: {content}" for place, content in spec.items()]
    given = list(spec) if isinstance(spec, Iterable) else [spec]
    terms: list[Term] = []
    for one in given:
        terms += parse_specification(one).terms if isinstance(one, str) else [one]
    for term in terms:
        if not isinstance(term, Term):
            raise SpecificationError(
                f"A specification is text in the grammar or a list of terms, and "
                f"{type(term).__name__} is not a term."
            )
    if not terms:
        raise SpecificationError("The specification has no terms.")
    return Specification(tuple(terms))


class _Reader:
    """One line, read from left to right."""

    def __init__(self, line: str, number: int) -> None:
        self.line, self.number, self.at = line, number, 0

    def error(self, expected: str, at: int | None = None) -> SpecificationError:
        """What was expected, at a position (default: here) that a caret points to."""
        at = self.skip_blanks() if at is None else at
        under = "".join("\t" if c == "\t" else " " for c in self.line[:at])
        return SpecificationError(
            f"Line {self.number}, column {at + 1}: {expected.rstrip('.')}.\n"
            f"  {self.line}\n  {under}^"
        )

    def skip_blanks(self) -> int:
        while self.line[self.at : self.at + 1].isspace():
            self.at += 1
        return self.at

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.line, self.skip_blanks())
        if found:
            self.at = found.end()
        return found

    def take(self, sign: str) -> bool:
        if not self.line.startswith(sign, self.skip_blanks()):
            return False
        self.at += len(sign)
        return True

    def at_end(self) -> bool:
        return _COMMENT.fullmatch(self.line, self.at) is not None

    def name(self, what: str) -> tuple[str, bool]:
        """A name, and whether it stood in back quotes."""
        if self.line.startswith("`", self.skip_blanks()):
            found = self.match(_QUOTED)
            if not found:
                raise self.error("a name in back quotes needs a second back quote on the same line")
            text = re.sub(r"\\(.)", lambda m: _UNESCAPE.get(m[1], m[1]), found[1], flags=re.DOTALL)
            return text, True
        found = self.match(_NAME)
        if not found:
            raise self.error(f"expected {what}")
        return found[0], False

    def another(self, what: str, earlier: tuple[str, ...]) -> tuple[str, ...]:
        """The earlier names and one more, which must not be among them."""
        start = self.skip_blanks()
        name, _ = self.name(what)
        if name in earlier:
            raise self.error(f"{what} is named twice", start)
        return (*earlier, name)

    def where(self) -> tuple[str, ...]:
        places: tuple[str, ...] = ()
        if not self.take(EVERYWHERE):
            places = (self.name("an alternative, or * for all")[0],)
            while self.take("+"):
                places = self.another("an alternative", places)
        if not self.take(":"):
            raise self.error(
                "expected ':' after the alternative, as in 'TRAIN: ASC + TT' (a name with spaces "
                "or signs stands in back quotes)"
            )
        return places

    def items(self, where: tuple[str, ...]) -> list[Term]:
        terms = [self.item(where)]
        while self.take("+"):
            terms.append(self.item(where))
        if not self.at_end():
            raise self.error(f"expected '+', ' x ' or the end of the line{self._hint()}")
        return terms

    def _hint(self) -> str:
        """What was probably meant by the sign that stands here."""
        sign = self.line[self.skip_blanks() : self.at + 1]
        return _HINTS.get(sign, "")

    def item(self, where: tuple[str, ...]) -> Term:
        what, how = self.what()
        by: tuple[str, ...] = ()
        if what is not None and isinstance(how, Linear) and self.take("/"):
            how = Ratio(self.name("a numeric covariate to divide by")[0])
        while self.match(_BY):
            by = self.factor(by)
        return Term(where, what, how, by)

    def factor(self, earlier: tuple[str, ...]) -> tuple[str, ...]:
        """The earlier factors and one more: a name, or a function of one."""
        start = self.skip_blanks()
        name, in_quotes = self.name("a covariate")
        if not in_quotes and name in FACTOR_FUNCTIONS and self.take("("):
            inner, _ = self.name("a numeric covariate")
            if not self.take(")"):
                raise self.error("expected ')'")
            name = f"{name}({inner})"
        if name in earlier:
            raise self.error("a covariate is named twice", start)
        return (*earlier, name)

    def what(self) -> tuple[str | None, Transform]:
        start = self.skip_blanks()
        name, in_quotes = self.name("ASC, an attribute or a transform of one")
        if in_quotes or not self.take("("):
            is_constant = name == CONSTANT and not in_quotes
            return (None if is_constant else name), Linear()
        if name not in TRANSFORMS:
            message = f"there is no transform {name!r}. {did_you_mean(name, TRANSFORMS)}"
            raise self.error(message, start)
        inside = self.skip_blanks()
        attribute, quoted = self.name("an attribute")
        if attribute == CONSTANT and not quoted:
            raise self.error("a constant cannot be transformed", inside)
        arguments = self.arguments()
        try:
            return attribute, TRANSFORMS[name](arguments)
        except SpecificationError as error:
            raise self.error(str(error), start) from None

    def arguments(self) -> tuple[float, ...]:
        numbers: tuple[float, ...] = ()
        while self.take(","):
            found = self.match(_NUMBER)
            if not found:
                raise self.error("expected a number")
            numbers += (float(found[0]),)
        if not self.take(")"):
            raise self.error("expected ',' or ')'")
        return numbers

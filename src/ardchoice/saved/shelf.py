"""`Archive`: what nouns share while they are written or read: arrays, terms, one another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from ardchoice.errors import ArdchoiceError, SpecificationError
from ardchoice.saved.plain import Saved, objects, plain_objects
from ardchoice.space import Term, parse_term

PLAIN_KINDS = "biufMmU"
"""Kinds of arrays that are stored as they are: none of them needs to be unpickled."""

Noun = TypeVar("Noun", covariant=True)
Schema = TypeVar("Schema")
Key = str
"""Name of an array."""


class Restorable(Protocol[Noun]):
    """A saved noun that can be made whole again."""

    def restore(self, shelf: Archive) -> Noun:
        """The noun."""


class Archive:
    """Arrays by name, terms by text, and nouns that several others point to, by number.

    Writing and reading go through nouns in the same order, so that numbers mean the same.

    Parameters
    ----------
    known
        Nouns that whoever reads will have at hand too.
    arrays
        When reading.
    """

    def __init__(
        self, known: Iterable[object] = (), arrays: Mapping[str, npt.NDArray[Any]] | None = None
    ) -> None:
        self.known: list[Any] = list(known)
        self.arrays: dict[str, npt.NDArray[Any]] = dict(arrays or {})
        self._terms: dict[str, Term] = {}
        self._texts: dict[Term, str] = {}

    # -- Writing -----------------------------------------------------------------------------

    def put(self, name: str, array: npt.NDArray[Any]) -> Key:
        """Lay down an array; the key it is found under."""
        key, again = name, 1
        while key in self.arrays:
            again += 1
            key = f"{name}.{again}"
        self.arrays[key] = np.asarray(array)
        return key

    def share(self, noun: object, save: Callable[[Any, Archive], Schema]) -> int | Schema:
        """The number of a noun that is known, or else the noun itself, known from now on."""
        for number, one in enumerate(self.known):
            if one is noun:
                return number
        saved = save(noun, self)
        self.known.append(noun)
        return saved

    def text(self, term: Term) -> str:
        """A term in the grammar, if it can be read back."""
        if term not in self._texts:
            text = str(term)
            try:
                same = parse_term(text) == term
            except SpecificationError:
                same = False
            if not same:
                raise ArdchoiceError(
                    f"'{term}' cannot be saved, because its text does not read back to itself. "
                    f"A transform of your own must be registered: "
                    f"TRANSFORMS[{term.how.name!r}] = lambda arguments: ... "
                    "(from ardchoice.space.transforms import TRANSFORMS)."
                )
            self._texts[term] = text
        return self._texts[term]

    def texts(self, terms: Iterable[Term]) -> tuple[str, ...]:
        """Terms in the grammar."""
        return tuple(map(self.text, terms))

    # -- Reading -----------------------------------------------------------------------------

    def array(self, key: Key) -> npt.NDArray[Any]:
        """An array by its key."""
        if key not in self.arrays:
            raise ValueError(f"the array {key!r} is missing")
        return self.arrays[key]

    def take(self, saved: int | Restorable[Noun]) -> Noun:
        """What was shared."""
        if isinstance(saved, int):
            if not 0 <= saved < len(self.known):
                raise ValueError(f"number {saved} points to nothing")
            return self.known[saved]  # type: ignore[no-any-return]
        noun = saved.restore(self)
        self.known.append(noun)
        return noun

    def term(self, text: str) -> Term:
        """A term by its text; parsed once."""
        if text not in self._terms:
            self._terms[text] = parse_term(text)
        return self._terms[text]

    def terms(self, texts: Iterable[str]) -> tuple[Term, ...]:
        """Terms by their texts."""
        return tuple(map(self.term, texts))


class SavedValues(Saved):
    """A column: an array where it is plain, else a list of what JSON can hold."""

    array: Key | None = None
    values: list[Any] | None = None

    @classmethod
    def of(cls, name: str, values: npt.NDArray[Any], shelf: Archive) -> SavedValues:
        """Of any array; shape (n,)."""
        if values.dtype.kind in PLAIN_KINDS:
            return cls(array=shelf.put(name, values))
        return cls(values=plain_objects(values))

    def restore(self, shelf: Archive) -> npt.NDArray[Any]:
        """The array."""
        return shelf.array(self.array) if self.array is not None else objects(self.values or [])

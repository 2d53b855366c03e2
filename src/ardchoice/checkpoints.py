"""`Checkpointer`: where work that takes long lays down what it has, so as not to do it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Journal(Protocol):
    """What was found piece by piece, in the order in which it was asked for."""

    def __len__(self) -> int:
        """How many pieces."""

    def __getitem__(self, at: int) -> Mapping[str, Any]:
        """One of them."""

    def append(self, entry: Mapping[str, Any]) -> None:
        """One more: texts, numbers and lists of them by name."""


class Checkpointer(Protocol):
    """Asked before every stage of some work; the same work asks for the same stages."""

    @property
    def seconds_saved(self) -> float:
        """Seconds that stages took which were not gone through again."""

    def stage(self, name: str, make: Callable[[], T], *around: object) -> T:
        """What is kept under a name; or else what `make` makes, which is kept from now on.

        Parameters
        ----------
        name
            Letters, digits and hyphens.
        make
            The work.
        around
            Nouns that the outcome points to and that are at hand anyway.
        """

    def journal(self, name: str) -> Journal | None:
        """The journal of a name, with what is in it; None where nothing is kept."""


class NoCheckpoints:
    """Every stage is gone through."""

    seconds_saved = 0.0

    def stage(self, name: str, make: Callable[[], T], *around: object) -> T:
        """Make it."""
        return make()

    def journal(self, name: str) -> Journal | None:
        """None."""
        return None


NOTHING = NoCheckpoints()

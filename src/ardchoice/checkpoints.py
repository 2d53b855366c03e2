"""`Checkpointer`: where work that takes long saves its stages, so as not to repeat them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Journal(Protocol):
    """Outcomes of many small steps, in the order in which they were asked for."""

    def __len__(self) -> int:
        """How many entries."""

    def __getitem__(self, at: int) -> Mapping[str, Any]:
        """One of them."""

    def append(self, entry: Mapping[str, Any]) -> None:
        """One more: texts, numbers and lists of them by name."""


class Checkpointer(Protocol):
    """Asked before every stage of some work; the same work asks for the same stages."""

    @property
    def seconds_saved(self) -> float:
        """Seconds that stages took which did not run again."""

    def stage(self, name: str, make: Callable[[], T], *references: object) -> T:
        """The checkpoint of a name; or else what `make` makes, which is saved under it.

        Parameters
        ----------
        name
            Letters, digits and hyphens.
        make
            The work.
        references
            Objects that the outcome refers to and that are at hand anyway.
        """

    def journal(self, name: str) -> Journal | None:
        """The journal of a name, with what is in it; None without checkpoints."""


class NoCheckpoints:
    """Every stage runs."""

    seconds_saved = 0.0

    def stage(self, name: str, make: Callable[[], T], *references: object) -> T:
        """Make it."""
        return make()

    def journal(self, name: str) -> Journal | None:
        """None."""
        return None


NOTHING = NoCheckpoints()

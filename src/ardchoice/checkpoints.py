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


def checkpointed(
    keep: Checkpointer, name: str, step: Callable[..., T], /, **made: Callable[[], object]
) -> Callable[..., T]:
    """A step whose outcome is saved under a name once it is done, and not computed again then.

    Parameters
    ----------
    keep, name
    step
        Its positional arguments are what the outcome refers to.
    made
        Options that are made when the step starts, such as a callback with a clock.
    """

    def run(*given: object, **options: object) -> T:
        def work() -> T:
            return step(*given, **options, **{option: make() for option, make in made.items()})

        return keep.stage(name, work, *given)

    return run

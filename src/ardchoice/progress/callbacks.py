"""`show_progress`: the view of progress that suits the place where the program runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TextIO, get_args

from rich.console import Console

from ardchoice.errors import ArdchoiceError, did_you_mean
from ardchoice.progress.event import Event, Listener
from ardchoice.progress.views import JsonLines, LiveView, NotebookView, PlainLines, View

Kind = Literal["auto", "live", "plain", "json", "quiet"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Progress = bool | Listener
"""What `specify` takes: whether to show progress, or a callback of one's own."""


@contextmanager
def show_progress(
    kind: Kind = "auto", stream: TextIO | None = None, *, console: Console | None = None
) -> Iterator[Listener]:
    """Show the events of a run while the block runs; gives the callback that takes them.

    Parameters
    ----------
    kind
        ``"live"``: a view that is written over, for terminals. ``"plain"``: a line now and then.
        ``"json"``: a JSON object per event and line. ``"quiet"``: nothing. ``"auto"``: live on a
        terminal and in a notebook, plain elsewhere.
    stream
        Default: standard error.
    console
        Of the live view. Default: one that writes to the stream.
    """
    view = _view(kind, stream, console)
    if view is None:
        yield _ignore
        return
    with view:
        yield view


@contextmanager
def progress_callback(progress: Progress) -> Iterator[Listener | None]:
    """The callback that an argument ``progress=`` asks for; None for no progress."""
    if progress is False or progress is None:
        yield None
    elif progress is True:
        with show_progress() as listener:
            yield listener
    elif callable(progress):
        yield progress
    else:
        raise ArdchoiceError(
            "progress is True, False or a function that takes an ardchoice.progress.Event, "
            f"not {progress!r}."
        )


def _view(kind: Kind, stream: TextIO | None, console: Console | None) -> View | None:
    if kind not in KINDS:
        raise ArdchoiceError(f"There is no progress {kind!r}. {did_you_mean(kind, KINDS)}")
    if kind == "quiet":
        return None
    stream = sys.stderr if stream is None else stream
    if kind == "json":
        return JsonLines(stream)
    if kind == "plain":
        return PlainLines(stream)
    console = Console(file=stream) if console is None else console
    if kind == "auto" and console.is_jupyter:
        return NotebookView()
    if kind == "auto" and (not console.is_terminal or console.is_dumb_terminal):
        return PlainLines(stream)
    return LiveView(console)


def _ignore(event: Event) -> None:
    """Show nothing."""

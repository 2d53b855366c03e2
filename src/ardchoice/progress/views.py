"""The ways to show events: a live table, plain lines, JSON lines, a cell of a notebook."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from ardchoice.progress.event import Event

Clock = Callable[[], float]
Status = Literal["running", "done", "stopped"]

EVERY = 2.0
"""Seconds between plain lines of one phase: a log should not be all progress."""
FRAMES = 8
"""Frames of the live view a second."""
NOTEBOOK_EVERY = 0.25
"""Seconds between renewals in a notebook, where each goes through a browser."""
BAR = 16
"""Width of a bar."""
SOON = 90.0
"""Seconds above which minutes are told."""


class View:
    """A listener that has a beginning and an end."""

    def __call__(self, event: Event) -> None:
        """Show an event."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(ended=kind is None)

    def close(self, *, ended: bool) -> None:
        """After the last event, whether the work came to its end or was stopped."""


def printable(text: str) -> str:
    """Text on one line without control characters: names come from the user's table."""
    return "".join(c if c.isprintable() else " " for c in text)


def duration(seconds: float) -> str:
    """A time for people: ``0.4 s``, ``12 s``, ``3 min 20 s``, ``2 h 05 min``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < SOON:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def left(event: Event, since: float = 0.0) -> str:
    """What is left of a phase some seconds after an event; empty where nothing can be said."""
    if event.seconds_left is None or not math.isfinite(event.seconds_left):
        return ""
    seconds = event.seconds_left - since
    if seconds <= 0:
        return ""
    # At a pace that is known by a piece or two, tenths of a second are no information.
    return f"about {duration(seconds) if seconds > SOON else f'{math.ceil(seconds)} s'} left"


# -- Lines ---------------------------------------------------------------------------------------


@dataclass(eq=False)
class JsonLines(View):
    """One JSON object per event and line; numbers that JSON does not know are null."""

    stream: TextIO
    clock: Clock = time.perf_counter
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()

    def __call__(self, event: Event) -> None:
        """Write the event."""
        row = {
            "event": "progress",
            "phase": event.phase,
            "done": event.done,
            "of": event.of or None,
            "text": event.text,
            "values": {name: _plain(value) for name, value in event.values.items()},
            "seconds": _rounded(event.seconds),
            "seconds_left": _rounded(event.seconds_left),
            "elapsed": _rounded(self.clock() - self.started),
        }
        # ASCII only, so that whatever reads it need not know an encoding.
        self.stream.write(json.dumps(row, allow_nan=False) + "\n")
        self.stream.flush()


def _plain(value: Any) -> Any:
    """A value that JSON can hold: numbers of NumPy become numbers, what is not finite null."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None or not math.isfinite(seconds) else round(seconds, 3)


@dataclass(eq=False)
class PlainLines(View):
    """A line when a phase begins, now and then while it lasts, and its last word."""

    stream: TextIO
    every: float = EVERY
    clock: Clock = time.perf_counter
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()
        self._phase: str | None = None
        self._last = -math.inf
        self._waiting: tuple[float, Event] | None = None

    def __call__(self, event: Event) -> None:
        """Write the event, or keep it until it is time or the phase is over."""
        now = self.clock()
        if event.phase != self._phase:
            self._flush()
        if event.phase == self._phase and now - self._last < self.every:
            self._waiting = now, event
            return
        self._phase, self._last, self._waiting = event.phase, now, None
        self._write(now, event)

    def close(self, *, ended: bool) -> None:
        """The last word of the last phase."""
        self._flush()

    def _flush(self) -> None:
        if self._waiting is not None:
            self._write(*self._waiting)
        self._waiting = None

    def _write(self, now: float, event: Event) -> None:
        told = ", ".join(filter(None, (printable(event.text), left(event))))
        at = duration(now - self.started)
        line = f"{at:>9}  {event.phase:<9}  {told}".rstrip()
        encoding = getattr(self.stream, "encoding", None) or "utf-8"
        self.stream.write(line.encode(encoding, "replace").decode(encoding) + "\n")
        self.stream.flush()


# -- Tables --------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Row:
    """A phase as the table shows it."""

    event: Event
    began: float
    heard: float = 0.0
    status: Status = "running"
    ended: float = 0.0


@dataclass(eq=False)
class Board:
    """All phases so far and what each said last; a table to be shown again and again."""

    clock: Clock = time.perf_counter
    unicode: bool = True
    rows: dict[str, _Row] = field(default_factory=dict)
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()
        self._spinner = Spinner("dots" if self.unicode else "line")

    def hear(self, event: Event) -> None:
        """Take an event in; a phase is over when another begins."""
        # A phase began before it had something to tell.
        now = self.clock()
        row = self.rows.pop(event.phase, None) or _Row(event, now - event.seconds)
        self.finish("done")
        row.event, row.heard, row.status = event, now, "running"
        self.rows[event.phase] = row

    def finish(self, status: Status) -> None:
        """Nothing runs any more."""
        for row in self.rows.values():
            if row.status == "running":
                row.status, row.ended = status, self.clock()

    def table(self) -> Table:
        """As it stands."""
        now = self.clock()
        table = Table.grid(padding=(0, 1), expand=True)
        table.add_column(width=1)
        table.add_column(width=9, style="bold")
        table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        table.add_column(justify="right", no_wrap=True)
        # A copy: another thread draws while events come in.
        for phase, row in list(self.rows.items()):
            running = row.status == "running"
            time_of = duration((now if running else row.ended) - row.began)
            table.add_row(
                self._mark(row.status),
                phase,
                self._told(row, now) if running else Text(printable(row.event.text)),
                Text(time_of, style="" if running else "dim"),
            )
        return table

    def __rich__(self) -> RenderableType:
        elapsed = Text(f"elapsed {duration(self.clock() - self.started)}", "dim", justify="right")
        return Group(self.table(), elapsed)

    def _mark(self, status: Status) -> RenderableType:
        if status == "running":
            return self._spinner
        if status == "stopped":
            return Text("x", style="red")
        return Text("✓" if self.unicode else "+", style="green")

    def _told(self, row: _Row, now: float) -> RenderableType:
        event, rest = row.event, left(row.event, now - row.heard)
        text = Text(printable(event.text), no_wrap=True, overflow="ellipsis")
        told = Table.grid(padding=(0, 1), expand=True)
        told.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        cells: list[RenderableType] = [text]
        if event.of:
            told.add_column(width=BAR)
            cells.append(ProgressBar(total=event.of, completed=event.done, width=BAR))
        if rest:
            told.add_column(justify="right", no_wrap=True)
            cells.append(Text(rest, style="cyan"))
        told.add_row(*cells)
        return told


class LiveView(View):
    """The table on a terminal, written over; what else is printed meanwhile goes above it."""

    def __init__(self, console: Console) -> None:
        unicode = console.encoding.lower().startswith("utf")
        self._board = Board(unicode=unicode)
        self._live = Live(
            self._board,
            console=console,
            refresh_per_second=FRAMES,
            vertical_overflow="crop",
            # Results that go into a file stay out of it.
            redirect_stdout=sys.stdout.isatty(),
        )

    def __call__(self, event: Event) -> None:
        """Show the event with the next frame."""
        self._board.hear(event)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def close(self, *, ended: bool) -> None:
        """The last frame stays, apart from what follows."""
        self._board.finish("done" if ended else "stopped")
        self._live.stop()
        self._live.console.print()


class NotebookView(View):
    """The table in the output of a cell; needs no widgets."""

    def __init__(self, clock: Clock = time.perf_counter) -> None:
        self._board, self._clock = Board(clock), clock
        self._last = -math.inf
        self._handle: Any = None

    def __call__(self, event: Event) -> None:
        """Show the event, unless the last one is only just on the page."""
        self._board.hear(event)
        if self._clock() - self._last >= NOTEBOOK_EVERY:
            self._show()

    def close(self, *, ended: bool) -> None:
        """The last state stays."""
        self._board.finish("done" if ended else "stopped")
        if self._board.rows:
            self._show()

    def _show(self) -> None:
        from IPython.display import display  # type: ignore[import-not-found]

        self._last = self._clock()
        if self._handle is None:
            self._handle = display(self._board.table(), display_id=True)
        else:
            self._handle.update(self._board.table())

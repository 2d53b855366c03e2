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

SECONDS_BETWEEN_LINES = 2.0
"""Of one phase, in plain text: a log should not be all progress."""
FRAMES_PER_SECOND = 8
SECONDS_BETWEEN_DISPLAYS = 0.25
"""In a notebook, where each goes through a browser."""
BAR_WIDTH = 16
MOST_SECONDS = 90.0
"""Longer durations are shown in minutes."""


class View:
    """A callback that is opened before the first event and closed after the last."""

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
        """Close, after work that ended or was stopped."""


def printable(text: str) -> str:
    """Text on one line without control characters: names come from the user's table."""
    return "".join(c if c.isprintable() else " " for c in text)


def duration(seconds: float) -> str:
    """A duration for people: ``0.4 s``, ``12 s``, ``3 min 20 s``, ``2 h 05 min``."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < MOST_SECONDS:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def remaining(event: Event, since: float = 0.0) -> str:
    """The time left of a phase some seconds after an event; empty where it is unknown."""
    if event.seconds_left is None or not math.isfinite(event.seconds_left):
        return ""
    seconds = event.seconds_left - since
    if seconds <= 0:
        return ""
    # A pace known from a step or two is not accurate to tenths of a second.
    return (
        f"about {duration(seconds) if seconds > MOST_SECONDS else f'{math.ceil(seconds)} s'} left"
    )


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
    """A line when a phase begins, now and then while it lasts, and its last event."""

    stream: TextIO
    every: float = SECONDS_BETWEEN_LINES
    clock: Clock = time.perf_counter
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()
        self._phase: str | None = None
        self._last = -math.inf
        self._waiting: tuple[float, Event] | None = None

    def __call__(self, event: Event) -> None:
        """Write the event, or hold it back until it is time or the phase is over."""
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
        text = ", ".join(filter(None, (printable(event.text), remaining(event))))
        line = f"{duration(now - self.started):>9}  {event.phase:<9}  {text}".rstrip()
        encoding = getattr(self.stream, "encoding", None) or "utf-8"
        self.stream.write(line.encode(encoding, "replace").decode(encoding) + "\n")
        self.stream.flush()


# -- Tables --------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Row:
    """A phase as the table shows it."""

    event: Event
    began: float
    updated: float = 0.0
    status: Status = "running"
    ended: float = 0.0


@dataclass(eq=False)
class PhaseTable:
    """All phases so far with the last event of each; a table to be shown again and again."""

    clock: Clock = time.perf_counter
    unicode: bool = True
    rows: dict[str, _Row] = field(default_factory=dict)
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()
        self._spinner = Spinner("dots" if self.unicode else "line")

    def update(self, event: Event) -> None:
        """Take an event in; a phase is over when another begins."""
        # A phase began before its first event.
        now = self.clock()
        row = self.rows.pop(event.phase, None) or _Row(event, now - event.seconds)
        self.finish("done")
        row.event, row.updated, row.status = event, now, "running"
        self.rows[event.phase] = row

    def finish(self, status: Status) -> None:
        """Mark the running phase."""
        for row in self.rows.values():
            if row.status == "running":
                row.status, row.ended = status, self.clock()

    def table(self) -> Table:
        """The table as it stands."""
        now = self.clock()
        table = Table.grid(padding=(0, 1), expand=True)
        table.add_column(width=1)
        table.add_column(width=9, style="bold")
        table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        table.add_column(justify="right", no_wrap=True)
        # A copy: another thread draws while events come in.
        for phase, row in list(self.rows.items()):
            running = row.status == "running"
            seconds = duration((now if running else row.ended) - row.began)
            table.add_row(
                self._mark(row.status),
                phase,
                self._running(row, now) if running else Text(printable(row.event.text)),
                Text(seconds, style="" if running else "dim"),
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

    def _running(self, row: _Row, now: float) -> RenderableType:
        event, rest = row.event, remaining(row.event, now - row.updated)
        text = Text(printable(event.text), no_wrap=True, overflow="ellipsis")
        line = Table.grid(padding=(0, 1), expand=True)
        line.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        cells: list[RenderableType] = [text]
        if event.of:
            line.add_column(width=BAR_WIDTH)
            cells.append(ProgressBar(total=event.of, completed=event.done, width=BAR_WIDTH))
        if rest:
            line.add_column(justify="right", no_wrap=True)
            cells.append(Text(rest, style="cyan"))
        line.add_row(*cells)
        return line


class LiveView(View):
    """The table on a terminal, redrawn in place; anything else that is printed goes above it."""

    def __init__(self, console: Console) -> None:
        self._phases = PhaseTable(unicode=console.encoding.lower().startswith("utf"))
        self._live = Live(
            self._phases,
            console=console,
            refresh_per_second=FRAMES_PER_SECOND,
            vertical_overflow="crop",
            # Results that go into a file stay out of it.
            redirect_stdout=sys.stdout.isatty(),
        )

    def __call__(self, event: Event) -> None:
        """Show the event with the next frame."""
        self._phases.update(event)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def close(self, *, ended: bool) -> None:
        """Keep the last frame, apart from what follows."""
        self._phases.finish("done" if ended else "stopped")
        self._live.stop()
        self._live.console.print()


class NotebookView(View):
    """The table in the output of a cell; needs no widgets."""

    def __init__(self, clock: Clock = time.perf_counter) -> None:
        self._phases, self._clock = PhaseTable(clock), clock
        self._last = -math.inf
        self._handle: Any = None

    def __call__(self, event: Event) -> None:
        """Show the event, but not too soon after the last."""
        self._phases.update(event)
        if self._clock() - self._last >= SECONDS_BETWEEN_DISPLAYS:
            self._show()

    def close(self, *, ended: bool) -> None:
        """Keep the last state."""
        self._phases.finish("done" if ended else "stopped")
        if self._phases.rows:
            self._show()

    def _show(self) -> None:
        from IPython.display import display  # type: ignore[import-not-found]

        self._last = self._clock()
        if self._handle is None:
            self._handle = display(self._phases.table(), display_id=True)
        else:
            self._handle.update(self._phases.table())

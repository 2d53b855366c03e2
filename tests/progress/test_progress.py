"""Progress on terminals, in pipes, for programs and in notebooks."""

import io
import json
import os
import pty
import re
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import ardchoice as ac
from ardchoice.ard.trace import Step
from ardchoice.progress import (
    Event,
    Listener,
    PhaseProgress,
    relevance_callback,
    search_callback,
    show_progress,
)
from ardchoice.progress.views import JsonLines, NotebookView, PhaseTable, PlainLines, duration
from ardchoice.selection.search import SearchStep

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
WIDTH = 80


class Clock:
    """Time that goes by when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def work(listener: Listener) -> None:
    """A short run as a listener hears it."""
    PhaseProgress("read", listener)(1, 1, "200 choices of 100 persons")
    relevance = relevance_callback(listener, ac.Newton())
    assert relevance is not None
    for i in range(1, 4):
        relevance(Step(i, 200, -500.0 + i, 40 - i, 0.1 * i, np.ones(3)))
    search = search_callback(listener)
    assert search is not None
    search(SearchStep(2, 12, 1034.5, 17, "EBIC"))
    for fold in range(1, 6):
        listener(Event("evaluate", fold, 5, f"fold {fold} of 5", {}, 2.0 * fold, 10.0 - 2 * fold))


def on_terminal(width: int = WIDTH, height: int = 24) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width, height=height)


def text_of(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return ESCAPE.sub("", console.file.getvalue())


# -- Live ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_terminal_shows_every_phase_with_its_last_word_within_its_width(width: int) -> None:
    console = on_terminal(width)
    with show_progress("auto", console=console) as listener:
        work(listener)
    lines = text_of(console).replace("\r", "\n").splitlines()
    assert max(map(len, lines)) <= width
    assert lines.pop() == ""  # results that follow stand apart
    shown = [line.split()[1] for line in lines[-5:-1]]
    assert shown == ["read", "relevance", "search", "evaluate"]
    assert "elapsed" in lines[-1]
    if width >= WIDTH:
        assert "pass 3, 37 terms active, evidence -497.0" in lines[-4]
        assert "round 2, 12 terms, best EBIC 1,034.5, 17 refits" in lines[-3]


def test_a_phase_that_is_stopped_is_marked_and_the_cursor_comes_back() -> None:
    console = on_terminal()
    with (
        pytest.raises(KeyboardInterrupt),
        show_progress("live", console=console) as listener,
    ):
        listener(Event("read", text="200 choices"))
        listener(Event("search", text="round 1"))
        raise KeyboardInterrupt
    last = text_of(console).splitlines()
    assert any(line.startswith("✓ read") for line in last)
    assert any(line.startswith("x search") for line in last)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().rstrip().endswith("\x1b[?25h")


def test_what_is_left_is_told_from_the_pace_and_shrinks_as_time_goes_by() -> None:
    clock, console = Clock(), on_terminal()
    phases = PhaseTable(clock)
    phases.update(Event("evaluate", 1, 4, "fold 1 of 4", {}, 10.0, 30.0))
    console.print(phases)
    clock.now += 12
    console.print(phases)
    clock.now += 100  # slower than its pace: nothing can be said any more
    console.print(phases)
    told = [line for line in text_of(console).splitlines() if "fold" in line]
    assert "about 30 s left" in told[0]
    assert "about 18 s left" in told[1]
    assert "left" not in told[2]
    assert "2 min 02 s" in told[2]


def test_pace_is_a_matter_of_what_is_done_and_unknown_ends_have_none() -> None:
    heard: list[Event] = []
    tell = PhaseProgress("evaluate", heard.append, started=-1e6)
    tell(0, 5)
    tell(2, 5)
    tell(5, 5)
    tell(3, 0)
    PhaseProgress("report", heard.append, even=False, started=-1e6)(2, 5)
    first, second, full, open_end, uneven = heard
    assert first.seconds_left is None
    assert second.seconds_left == pytest.approx(second.seconds * 3 / 2)
    assert full.seconds_left == 0
    assert open_end.seconds_left is None
    assert uneven.seconds_left is None


def test_only_the_published_schedule_knows_its_end() -> None:
    for solver, word, of in (
        (ac.Newton(), "pass 10,", 0),
        (ac.Dsvi(), "epoch 10,", 0),
        (ac.Dsvi.paper(), "step 10 of 400,", 400),
    ):
        heard: list[Event] = []
        progress = relevance_callback(heard.append, solver)
        assert progress is not None
        progress(Step(10, 400, -1.0, 5, 0.1, np.ones(2)))
        assert heard[0].of == of
        assert word in heard[0].text
        assert (heard[0].seconds_left is None) == (of == 0)


def test_names_from_the_data_are_neither_markup_nor_control() -> None:
    console = on_terminal()
    with show_progress("live", console=console) as listener:
        listener(Event("search", text="[red]\x1b[2J\n[/nonsense] {oops}"))
    assert isinstance(console.file, io.StringIO)
    assert "\x1b[2J" not in console.file.getvalue()
    assert "[red]" in text_of(console)
    assert "[/nonsense] {oops}" in text_of(console)


# -- Lines ---------------------------------------------------------------------------------------


def test_a_pipe_gets_few_plain_lines_with_the_last_word_of_every_phase() -> None:
    clock, stream = Clock(), io.StringIO()
    with PlainLines(stream, clock=clock) as view:
        for i in range(1, 101):
            clock.now += 0.125
            view(Event("relevance", i, text=f"pass {i}"))
        view(Event("search", 1, text="round 1"))
        clock.now += 0.1
        view(Event("search", 2, text="round 2\nof \x07 many"))
    lines = stream.getvalue().splitlines()
    passes = [int(line.split()[-1]) for line in lines if "pass" in line]
    assert passes == [1, 17, 33, 49, 65, 81, 97, 100]
    assert lines[-1] == "     13 s  search     round 2 of   many"
    assert "\x1b" not in stream.getvalue()


def test_json_lines_hold_every_event_and_are_strict_json() -> None:
    stream = io.StringIO()
    with show_progress("json", stream) as listener:
        work(listener)
        listener(
            Event("search", 1, 2, "é <b>", {"a": np.float64("nan"), "b": np.int64(3)}, 1.0, np.inf)
        )

    def refuse(name: str) -> None:
        raise AssertionError(name)

    rows = [json.loads(line, parse_constant=refuse) for line in stream.getvalue().splitlines()]
    assert [r["phase"] for r in rows[:5]] == ["read", *["relevance"] * 3, "search"]
    assert rows[3]["values"] == {"pass": 3, "terms": 37, "evidence": -497.0}
    assert rows[3]["of"] is None
    assert rows[4]["values"]["criterion"] == 1034.5
    assert rows[-1]["values"] == {"a": None, "b": 3}
    assert rows[-1]["seconds_left"] is None
    assert rows[-1]["text"] == "é <b>"
    assert stream.getvalue().isascii()


def test_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress("quiet") as listener:
        work(listener)
    assert capsys.readouterr() == ("", "")


def test_an_unknown_kind_is_refused_with_the_nearest() -> None:
    with pytest.raises(ac.ArdchoiceError, match="Did you mean 'plain'"), show_progress("plane"):  # type: ignore[arg-type]
        pass


@pytest.mark.parametrize("kind", [JsonLines, PlainLines])
def test_streams_that_know_few_letters_are_written_to(kind: Callable[..., Listener]) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    kind(stream)(Event("read", text="Zürich, λ"))
    assert b"read" in raw.getvalue()


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.04, "0.0 s"), (9.96, "10 s"), (89.4, "89 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")],
)
def test_durations_read_well(seconds: float, told: str) -> None:
    assert duration(seconds) == told


# -- Where it runs -------------------------------------------------------------------------------

SCRIPT = """
import sys
from ardchoice.progress import Event, show_progress
with show_progress("auto") as listener:
    listener(Event("read", text="200 choices"))
    print("a result")
    listener(Event("search", text="round 1"))
"""


def test_a_real_terminal_is_found_and_results_stay_apart(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with (tmp_path / "out").open("w+") as out:
        subprocess.run([sys.executable, script], stdout=out, stderr=theirs, check=True, timeout=60)
        os.close(theirs)
        out.seek(0)
        assert out.read() == "a result\n"
    seen = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    text = seen.decode()
    assert "\x1b[?25l" in text  # the cursor was hidden while the view was written over,
    assert "\x1b[?25h" in text  # and came back
    assert "a result" not in text
    assert "200 choices" in ESCAPE.sub("", text)


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream = io.StringIO()
    with show_progress("auto", stream, console=on_terminal()) as listener:
        work(listener)
    assert "\x1b" not in stream.getvalue()
    assert "evaluate" in stream.getvalue()


def test_in_a_notebook_one_output_is_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[object] = []

    class Handle:
        def update(self, table: object) -> None:
            shown[-1] = table

    def display(table: object, *, display_id: bool) -> Handle:
        assert display_id
        shown.append(table)
        return Handle()

    page = types.ModuleType("IPython.display")
    page.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", page)
    console = on_terminal()
    monkeypatch.setattr(console, "is_jupyter", True)
    with show_progress("auto", console=console) as listener:
        assert isinstance(listener, NotebookView)
        work(listener)
    (table,) = shown
    html = table._repr_mimebundle_([], [])["text/html"]  # type: ignore[attr-defined]
    assert "fold 5 of 5" in html

"""Runs that are killed at random moments, and whether they end the same when they go on.

`python benchmarks/killed.py [--quick] [--times N]` runs the demo's study with `ardchoice run`, once
to its end and then again and again: each run is killed (-9) or interrupted (Ctrl-C) at a random
moment and resumed with `--resume`. It prints when each was stopped, what was checkpointed by then,
how long it took to end and to go on, and whether the specification, every estimate and every figure
of relevance came out the same, digit by digit.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SAME = ("specification.txt", "estimates.csv", "relevance.csv", "tables/heldout.csv")
ARDCHOICE = [sys.executable, "-m", "ardchoice"]
INTERRUPTED = 130
QUICK = {"transforms": '["linear"]', "by": '["GA"]'}
"""What --quick puts into the study file instead."""


@dataclass(frozen=True)
class Stopped:
    """One run that was stopped.

    Attributes
    ----------
    how
        By which signal.
    after
        Seconds from its start.
    kept
        Stages checkpointed by then.
    to_end
        Seconds that the process still lived.
    code
        What it ended with.
    resumed
        Seconds to the end of the second run.
    same
        Whether the results are those of the run that nothing happened to.
    """

    how: str
    after: float
    kept: int
    to_end: float
    code: int
    resumed: float
    same: bool

    def __str__(self) -> str:
        return (
            f"{self.how:<8}{self.after:8.2f} s{self.kept:8d}{self.to_end:10.2f} s{self.code:7d}"
            f"{self.resumed:10.2f} s   {'the same' if self.same else 'OTHERWISE'}"
        )


def command(study: Path, out: Path, *options: str) -> list[str]:
    """To be run."""
    return [*ARDCHOICE, "run", str(study), "--out", str(out), "--quiet", *options]


def results(out: Path) -> dict[str, bytes]:
    """What must be the same."""
    return {name: (out / name).read_bytes() for name in SAME}


def seconds_of(line: list[str]) -> float:
    """How long a command takes that must not fail."""
    started = time.perf_counter()
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(line)} ended with {done.returncode}:\n{done.stderr}")
    return time.perf_counter() - started


def stop(study: Path, out: Path, how: int, after: float, expected: dict[str, bytes]) -> Stopped:
    """Start a run, stop it, go on with it, and compare."""
    process = subprocess.Popen(
        command(study, out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        if how == signal.SIGINT:
            # While Python itself is still being loaded, it is Python that answers.
            while process.poll() is None and not (out / "checkpoints").exists():
                time.sleep(0.01)
        time.sleep(after)
        os.kill(process.pid, how)
        sent = time.perf_counter()
        code = process.wait()
    finally:
        process.kill()
    to_end = time.perf_counter() - sent
    kept = len(list((out / "checkpoints").glob("*.stage")))
    resumed = seconds_of(command(study, out, "--resume"))
    name = {signal.SIGKILL: "kill -9", signal.SIGINT: "Ctrl-C"}[signal.Signals(how)]
    return Stopped(name, after, kept, to_end, code, resumed, results(out) == expected)


def make_study(folder: Path, quick: bool) -> Path:
    """The study file of the demo, and its table."""
    subprocess.run([*ARDCHOICE, "demo", "--out", str(folder)], check=True, capture_output=True)
    study = folder / "study.toml"
    if quick:
        lines = study.read_text().splitlines()
        keys = [line.partition(" = ")[0] for line in lines]
        lines = [
            f"{k} = {QUICK[k]}" if k in QUICK else line for k, line in zip(keys, lines, strict=True)
        ]
        study.write_text("\n".join(lines) + "\n")
    return study


def main(arguments: list[str] | None = None) -> list[Stopped]:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a smaller space, four times")
    parser.add_argument("--times", type=int, help="kills; a quarter as many interrupts come on top")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="also the numbers, as JSON")
    options = parser.parse_args(arguments)
    times = options.times or (4 if options.quick else 20)
    rng = np.random.default_rng(options.seed)
    # A process in the background may be deaf to Ctrl-C, and so would be its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="ardchoice-killed-"))
    rows: list[Stopped] = []
    try:
        study = make_study(folder / "demo", options.quick)
        whole = seconds_of(command(study, folder / "whole"))
        expected = results(folder / "whole")
        print(f"A run that nothing happens to takes {whole:.1f} s.\n")
        print("stopped    after    kept   lived on   code  went on for  results")
        signals = [signal.SIGKILL] * times + [signal.SIGINT] * max(times // 4, 1)
        for i, how in enumerate(signals):
            after = float(rng.uniform(0.0, whole if how == signal.SIGKILL else 0.5 * whole))
            rows.append(stop(study, folder / f"{i}", how, after, expected))
            print(rows[-1], flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    same = sum(row.same for row in rows)
    print(f"\n{same} of {len(rows)} ended the same.", end=" ")
    ends = [row.to_end for row in rows if row.code == INTERRUPTED]
    print(f"After Ctrl-C a run lived on for {max(ends, default=0.0):.2f} s at most.")
    if options.out is not None:
        options.out.write_text(json.dumps([vars(row) for row in rows], indent=1) + "\n")
    return rows


if __name__ == "__main__":
    main()

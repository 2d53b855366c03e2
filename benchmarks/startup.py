"""Start-up: processor time of light commands, and Ctrl-C at many moments of it.

    python benchmarks/startup.py [--quick]

The cost of a command is user plus system time of the whole process, the median of several runs,
as a ratio to `python -c "import pandas"`. Interruptions are sent after delays from zero to the
full start of `ardchoice check`, to the console script and to `python -m ardchoice`. The time
before our first line is the interpreter's own (its `site`, and `import re` of the console script);
an interruption that falls into it is counted apart.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

SCRIPT = str(Path(sys.executable).with_name("ardchoice"))
PANDAS = [sys.executable, "-c", "import pandas"]
LIGHT = {
    "import ardchoice": ([sys.executable, "-c", "import ardchoice"], {}),
    "ardchoice --help": ([SCRIPT, "--help"], {}),
    "ardchoice --version": ([SCRIPT, "--version"], {}),
    "completion": (
        [SCRIPT],
        {"_ARDCHOICE_COMPLETE": "bash_complete", "COMP_WORDS": "ardchoice ex", "COMP_CWORD": "1"},
    ),
}
STARTS = {
    "ardchoice": [SCRIPT],
    "python -m ardchoice": [sys.executable, "-m", "ardchoice"],
}
HEAVY_COMMAND = ["check", "no-such-study.toml"]
"""It imports everything that a run needs before it finds that there is no such file."""
LARGEST_RATIO = 0.5
"""To the processor time of importing pandas."""


def processor_seconds(words: list[str], extra: dict[str, str]) -> float:
    """User and system time of a process."""
    before = os.times()
    subprocess.run(
        words,
        env=os.environ | extra,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    after = os.times()
    return (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )


def costs(runs: int) -> bool:
    """Print a line per light command; whether all are cheap enough."""
    samples: dict[str, list[float]] = {name: [] for name in ("import pandas", *LIGHT)}
    for _ in range(runs):  # in turns, so that a busy machine slows all of them
        samples["import pandas"].append(processor_seconds(PANDAS, {}))
        for name, (words, extra) in LIGHT.items():
            samples[name].append(processor_seconds(words, extra))
    median = {name: statistics.median(times) for name, times in samples.items()}
    for name, seconds in median.items():
        print(f"{name:22} {seconds:7.3f} s  ratio {seconds / median['import pandas']:.2f}")
    return all(median[name] <= LARGEST_RATIO * median["import pandas"] for name in LIGHT)


def outcome(words: list[str], delay: float) -> str:
    """How a process that is interrupted after a delay ends."""
    child = subprocess.Popen(
        [*words, *HEAVY_COMMAND], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(delay)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate()
    if "Traceback" in errors:
        return "traceback of ours" if "/ardchoice/" in errors else "interpreter's own traceback"
    if child.returncode == -signal.SIGINT:
        return "killed before Python handles signals"
    return {130: "130", 3: "finished before"}.get(child.returncode, f"exit {child.returncode}")


def interruptions(tries: int) -> bool:
    """Print how every try ended; whether none ended in a traceback of ours."""
    clean = True
    for name, words in STARTS.items():
        started = time.perf_counter()
        subprocess.run([*words, *HEAVY_COMMAND], capture_output=True, check=False)
        full = time.perf_counter() - started
        ends = Counter(outcome(words, full * i / (tries - 1)) for i in range(tries))
        shown = ", ".join(f"{count} {end}" for end, count in ends.most_common())
        print(f"{name:22} {tries} tries over {full:.2f} s: {shown}")
        known = {
            "130",
            "finished before",
            "interpreter's own traceback",
            "killed before Python handles signals",
        }
        clean &= set(ends) <= known
    return clean


def main() -> int:
    """Run both parts; 1 where a target is missed."""
    parser = argparse.ArgumentParser(description="Processor time of start-up, and interruptions.")
    parser.add_argument("--quick", action="store_true", help="fewer runs and tries")
    quick = parser.parse_args().quick
    cheap = costs(4 if quick else 12)
    clean = interruptions(12 if quick else 60)
    return 0 if cheap and clean else 1


if __name__ == "__main__":
    sys.exit(main())

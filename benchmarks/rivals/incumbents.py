"""What a search hands to `rivals.py`: the best model so far, a line of JSON each time it improves.

Needs nothing but Python, for it runs in the environments of the rivals too. A run has a folder
with `task.json` (what to do, and where the data are); the search appends to `incumbents.jsonl`:

    {"event": "start"}                                             the clock starts here
    {"event": "better", "seconds": 1.2, "model": [...], "bic": 16000.5, "tried": 17}
    {"event": "patch", "text": "..."}                              what was changed to let it run
    {"event": "alive", "seconds": 2.3, "tried": 25}                now and then
    {"event": "end", "seconds": 60.0, "tried": 1234}               it ended by itself
"""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

ALIVE = 1.0
"""Seconds without an improvement after which the count of models is written."""


class Incumbents:
    """The models that were the best when they were found.

    Parameters
    ----------
    folder
        Of the run.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "incumbents.jsonl"
        self._started = 0.0
        self._best = math.inf
        self._written = 0.0
        self.tried = 0

    def start(self) -> None:
        """Start the clock: everything is imported, read and laid out."""
        self._write(event="start")
        self._started = time.perf_counter()

    def patch(self, text: str) -> None:
        """Say what was changed in a package to let it run."""
        self._write(event="patch", text=text)

    def tell(self, bic: float, model: list[str]) -> None:
        """A model was estimated; it is written if it is better than all before.

        Parameters
        ----------
        bic
            By the account of the search itself.
        model
            In its own words; `rivals.py` translates.
        """
        self.tried += 1
        now = self.seconds()
        if bic < self._best:
            self._best = bic
            self._write(event="better", seconds=now, model=model, bic=bic, tried=self.tried)
        elif now > self._written + ALIVE:
            self._write(event="alive", seconds=now, tried=self.tried)
        else:
            return
        self._written = now

    def end(self) -> None:
        """The search ended by itself."""
        self._write(event="end", seconds=self.seconds(), tried=self.tried)

    def seconds(self) -> float:
        """Since the clock started."""
        return time.perf_counter() - self._started

    def _write(self, **line: Any) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def read_task(folder: Path) -> dict[str, Any]:
    """What to do: `data` (a folder), `seed`, `budget`, and what the method needs besides."""
    task: dict[str, Any] = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    return task

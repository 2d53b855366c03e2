"""How the command line speaks: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

from ardchoice.errors import ArdchoiceWarning

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""What could move a cursor, clear a screen or turn text round; names come from tables."""


@dataclass(eq=False)
class Console:
    """What to say where.

    Attributes
    ----------
    as_json
        Whether whatever goes to standard error is a JSON object per line.
    resume
        The command that goes on with what is interrupted; None where nothing is kept.
    """

    as_json: bool = False
    resume: str | None = None

    def error(self, message: str, code: int) -> None:
        """What went wrong."""
        message = in_settings(message)
        if self.as_json:
            _json_line({"event": "error", "message": message, "exit_code": code})
        else:
            _line(f"ardchoice: {message}", sys.stderr)

    def warning(self, message: str) -> None:
        """What to know, though work goes on."""
        message = in_settings(message)
        if self.as_json:
            _json_line({"event": "warning", "message": message})
        else:
            _line(f"ardchoice: note: {message}", sys.stderr)

    def note(self, message: str) -> None:
        """What is only for people: left out of JSON."""
        if not self.as_json:
            _line(message, sys.stderr)


def in_settings(text: str) -> str:
    """Arguments of Python as they are written in a study file."""
    return text.replace("drop_invalid=True", "drop_invalid = true")


def say(text: str) -> None:
    """A result, for people."""
    _line(text, sys.stdout, wrap=False)


def strip_control_characters(text: str) -> str:
    r"""Text that a terminal only shows: control characters are spelled out, as ``\x1b``."""
    return CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


@contextmanager
def telling_warnings(voice: Console) -> Iterator[None]:
    """Warnings are sentences for the user, each once; those of libraries are for developers."""
    told: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, ArdchoiceWarning):
            if str(message) not in told:
                voice.warning(str(message))
            told.add(str(message))
        elif sys.warnoptions:
            sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))

    with warnings.catch_warnings():
        warnings.simplefilter("always", ArdchoiceWarning)
        warnings.showwarning = show
        yield


def _json_line(row: dict[str, object]) -> None:
    sys.stderr.write(json.dumps(row) + "\n")
    sys.stderr.flush()


def _line(text: str, stream: TextIO, *, wrap: bool = True) -> None:
    text = strip_control_characters(text)
    if wrap and stream.isatty():
        width = shutil.get_terminal_size().columns
        text = "\n".join(_wrapped(line, width) for line in text.splitlines())
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")
    stream.flush()


def _wrapped(line: str, width: int) -> str:
    """Between words, further lines under the beginning of the text."""
    indent = re.match(r" *(\d+\. |- )?", line)
    under = " " * len(indent[0] if indent else "")
    return textwrap.fill(
        line,
        width,
        subsequent_indent=under,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=False,
    )

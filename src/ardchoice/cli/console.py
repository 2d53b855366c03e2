"""Output of the command line: results to standard output, everything else to standard error."""

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
from typing import Any, TextIO

from ardchoice.errors import ArdchoiceWarning

CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""What could move a cursor, clear a screen or reverse text; names come from tables."""


@dataclass(eq=False)
class Console:
    """Writes results, notes and errors of one command.

    Attributes
    ----------
    as_json
        Whether whatever goes to standard error is a JSON object per line.
    resume_command
        The command that resumes interrupted work; None where there are no checkpoints.
    """

    as_json: bool = False
    resume_command: str | None = None

    def echo(self, text: str) -> None:
        """Print a result for people."""
        _write_line(text, sys.stdout, wrap=False)

    def error(self, message: str, exit_code: int) -> None:
        """Report what went wrong."""
        self._message("error", "ardchoice: ", message, exit_code=exit_code)

    def warning(self, message: str) -> None:
        """Report what a modeller should know, though the work continues."""
        self._message("warning", "ardchoice: note: ", message)

    def note(self, message: str) -> None:
        """Report what is only for people: omitted from JSON."""
        if not self.as_json:
            _write_line(message, sys.stderr)

    def _message(self, event: str, prefix: str, message: str, **fields: Any) -> None:
        message = in_settings(message)
        if self.as_json:
            sys.stderr.write(json.dumps({"event": event, "message": message, **fields}) + "\n")
            sys.stderr.flush()
        else:
            _write_line(prefix + message, sys.stderr)


def in_settings(text: str) -> str:
    """Arguments of Python as they are written in a study file."""
    return text.replace("drop_invalid=True", "drop_invalid = true")


def strip_control_characters(text: str) -> str:
    r"""Text that cannot steer a terminal: control characters are spelled out, as ``\x1b``."""
    return CONTROL_CHARACTERS.sub(lambda found: ascii(found[0])[1:-1], text)


@contextmanager
def warnings_as_notes(console: Console) -> Iterator[None]:
    """Show our warnings as sentences, each once; those of libraries only where Python is asked."""
    shown: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, ArdchoiceWarning):
            if str(message) not in shown:
                console.warning(str(message))
            shown.add(str(message))
        elif sys.warnoptions:
            sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))

    with warnings.catch_warnings():
        warnings.simplefilter("always", ArdchoiceWarning)
        warnings.showwarning = show
        yield


def _write_line(text: str, stream: TextIO, *, wrap: bool = True) -> None:
    text = strip_control_characters(text)
    if wrap and stream.isatty():
        width = shutil.get_terminal_size().columns
        text = "\n".join(_wrapped(line, width) for line in text.splitlines())
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")
    stream.flush()


def _wrapped(line: str, width: int) -> str:
    """Wrapped between words, further lines under the beginning of the text."""
    bullet = re.match(r" *(\d+\. |- )?", line)
    return textwrap.fill(
        line,
        width,
        subsequent_indent=" " * len(bullet[0] if bullet else ""),
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )

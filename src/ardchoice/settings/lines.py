"""On which line every key of a TOML text stands; `tomllib` does not report it."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping
from contextlib import suppress

Key = tuple[str | int, ...]

_SPACE = re.compile(r"[ \t]*")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}\n#]*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)


def key_lines(text: str) -> dict[Key, int]:
    """Key -> line, from 1, of every key and every entry of a list.

    Parameters
    ----------
    text
        That `tomllib` could read. Of any other text, whatever comes before the trouble.
    """
    scanner = _Scanner(text)
    with suppress(_LostError, RecursionError):
        scanner.statements()
    return scanner.lines


def line_of(lines: Mapping[Key, int], key: Key) -> int | None:
    """The line of a key, or of the nearest part of the file that holds it."""
    for end in range(len(key), 0, -1):
        if key[:end] in lines:
            return lines[key[:end]]
    return None


class _LostError(Exception):
    """The text is not what it should be here."""


class _Scanner:
    """Reads the text once, from statement to statement."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.lines: dict[Key, int] = {}
        self._ends = [found.start() for found in re.finditer("\n", text)]
        self._counts: dict[Key, int] = {}
        """Of every array of tables, how many tables it has so far."""

    def statements(self) -> None:
        table: Key = ()
        while True:
            self._skip(_BLANK)
            if self.at >= len(self.text):
                return
            start = self.at
            if self._take("[["):
                path = self._within(self._key())
                self._counts[path] = self._counts.get(path, 0) + 1
                table = (*path, self._counts[path] - 1)
                self._mark((), table, start)
                self._must("]]")
            elif self._take("["):
                table = self._within(self._key(), to_last=True)
                self._mark((), table, start)
                self._must("]")
            else:
                self._pair(table)

    def _within(self, key: Key, to_last: bool = False) -> Key:
        """A header's key: through an array of tables it means the last of them."""
        out: Key = ()
        for i, part in enumerate(key):
            out = (*out, part)
            if out in self._counts and (i < len(key) - 1 or to_last):
                out = (*out, self._counts[out] - 1)
        return out

    def _pair(self, table: Key) -> None:
        start = self.at
        path = (*table, *self._key())
        self._mark(table, path, start)
        self._must("=")
        self._value(path)

    def _value(self, path: Key) -> None:
        self._skip(_SPACE)
        if self._take("["):
            self._list(path)
        elif self._take("{"):
            self._skip(_BLANK)
            while not self._take("}"):
                self._pair(path)
                self._skip(_BLANK)
                self._take(",")
                self._skip(_BLANK)
        elif self.text[self.at : self.at + 1] in ('"', "'"):
            self._match(_STRING)
        else:
            self._match(_SCALAR)

    def _list(self, path: Key) -> None:
        count = 0
        while True:
            self._skip(_BLANK)
            if self._take("]"):
                return
            start = self.at
            self._mark(path, (*path, count), start)
            self._value((*path, count))
            self._skip(_BLANK)
            self._take(",")
            count += 1
            if self.at == start:
                raise _LostError

    def _key(self) -> Key:
        parts: Key = ()
        while True:
            self._skip(_SPACE)
            quoted = self.text[self.at : self.at + 1] in ('"', "'")
            text = self._match(_STRING if quoted else _BARE)
            parts = (*parts, _decoded(text) if quoted else text)
            self._skip(_SPACE)
            if not self._take("."):
                return parts

    def _mark(self, above: Key, path: Key, at: int) -> None:
        """Note the line of a key and of those between it and the table it stands in."""
        line = bisect_right(self._ends, at - 1) + 1 if at else 1
        for end in range(len(above) + 1, len(path) + 1):
            self.lines.setdefault(path[:end], line)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _take(self, text: str) -> bool:
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def _must(self, text: str) -> None:
        self._skip(_SPACE)
        if not self._take(text):
            raise _LostError

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if not found or (not found[0] and pattern is not _SCALAR):
            raise _LostError
        self.at = found.end()
        return found[0]


def _decoded(quoted: str) -> str:
    try:
        return str(tomllib.loads(f"key = {quoted}")["key"])
    except ValueError:
        raise _LostError from None

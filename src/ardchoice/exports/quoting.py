"""User text in other languages: every literal and comment of an export is made here.

Names and levels come from the user's table and may hold anything. They enter a script only as a
literal that stands for exactly that text, or in a comment that stays on its line.
"""

from __future__ import annotations

import math

from ardchoice.text import one_line as one_line
from ardchoice.text import tex as tex


def python(value: object) -> str:
    """A Python literal of text, numbers, None, and lists, tuples and dicts of these."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{python(k)}: {python(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(python, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(python, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, str):
        return repr(str(value))
    if isinstance(value, bool) or value is None:
        return repr(value)
    return number(float(value) if not isinstance(value, int) else value)  # type: ignore[arg-type]


def number(value: float) -> str:
    """A finite number that reads back to the same in Python and in R."""
    if not math.isfinite(value):
        raise ValueError(f"{value} is not finite")
    return repr(int(value)) if isinstance(value, int) else repr(float(value))


def r(value: object) -> str:
    """An R literal of text, a number, missing text, or a vector of these; ASCII throughout."""
    if isinstance(value, list | tuple):
        return f"c({', '.join(map(r, value))})" if value else "character(0)"
    if value is None:
        return "NA_character_"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return '"' + "".join(map(_r_character, value)) + '"'
    return number(value)  # type: ignore[arg-type]


def r_comment(text: str) -> str:
    """R reads a file in the encoding of the machine, so comments are ASCII too."""
    return one_line(text).encode("ascii", "backslashreplace").decode()


def _r_character(c: str) -> str:
    code = ord(c)
    if c in '"\\':
        return "\\" + c
    if 32 <= code < 127:
        return c
    # R has neither a zero nor half a surrogate pair in a string; no table it reads has them either.
    if code == 0 or 0xD800 <= code <= 0xDFFF:
        return "\\ufffd"
    return f"\\U{{{code:x}}}"

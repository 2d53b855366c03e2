"""Legal, unique, conventional names made from any user name: ``ASC_TRAIN``, ``B_LOG_TT_TRAIN``."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

LONGEST = 40
"""Characters of a user's name that a made name keeps."""
MOST_NAMED = 4
"""Alternatives that the name of a shared coefficient lists."""
RESERVED = frozenset(
    {"TRUE", "FALSE", "NULL", "NA", "INF", "NAN", "T", "F", "C", "D", "I", "L", "P", "V", "X", "AV"}
    | {"DATA", "CHOICE", "PERSON", "WEIGHT", "SITUATION", "ALTERNATIVE", "CHOSEN", "AVAILABLE"}
    | {"ALTERNATIVES", "AVAILABILITY", "COEFFICIENTS", "EXPECTED", "LEFT_OUT", "KEPT", "MISSING"}
    | {"STANDARD_ERRORS"}
)
"""What the scripts, Python or R use themselves. All made names are upper case, so only these."""


def word(text: str, otherwise: str) -> str:
    """Letters, digits and underscores in upper case; `otherwise` where none are left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^0-9A-Za-z]+", "_", plain).strip("_").upper()[:LONGEST] or otherwise


class Names:
    """Gives every name once."""

    def __init__(self, taken: Iterable[str] = RESERVED) -> None:
        self.taken = set(taken)

    def new(self, *parts: str) -> str:
        """The parts joined, with a number behind where that was given before."""
        name = "_".join(p for p in parts if p)
        name = f"X{name}" if name[0].isdigit() else name
        return next(n for n in _numbered(name) if self._take(n))

    def _take(self, name: str) -> bool:
        free = name not in self.taken
        self.taken.add(name)
        return free


def words(texts: Iterable[str], otherwise: str) -> dict[str, str]:
    """Text -> its word, different ones for different texts."""
    seen: set[str] = set()
    found: dict[str, str] = {}
    for i, text in enumerate(texts, 1):
        found[text] = next(n for n in _numbered(word(text, f"{otherwise}{i}")) if n not in seen)
        seen.add(found[text])
    return found


def _numbered(name: str) -> Iterator[str]:
    yield name
    i = 2
    while True:
        yield f"{name}_{i}"
        i += 1

"""How a text table is written: as the options say, and detected where they leave it open."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ardchoice.errors import ArdchoiceError, first_few

SNIFF_BYTES = 1 << 16
SNIFF_LINES = 50
"""The beginning of a text file from which its format is detected."""
CELL_SEPARATORS = (",", "\t", ";", "|", " ")
DECIMAL_COMMA = re.compile(r"^[+-]?\d*,\d+$")
DECIMAL_POINT = re.compile(r"^[+-]?\d*\.\d+$")
THOUSANDS = re.compile(r"^[+-]?[1-9]\d{0,2}(?:,\d{3})+$|^[+-]?[1-9]\d{0,2}(?:\.\d{3})+$")
"""``1,234``: a comma or point between groups of three digits shows no decimal sign."""
BOMB_BYTES = 100 << 20
BOMB_RATIO = 200
"""A file that unpacks to more than these bytes, and so many times its size, is no table."""
FALLBACK_ENCODING = "cp1252"
ENCODING_NAMES = {"cp1252": "Windows-1252 (cp1252)", "utf-16": "UTF-16"}


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """What is known of a text table beforehand.

    Attributes
    ----------
    separator
        Between cells. Default: detected.
    encoding
        Default: detected.
    decimal
        The decimal sign, ``"."`` or ``","``. Default: detected.
    comment
        A character; what follows it on a line is ignored. Default: none.
    skip_rows
        Lines before the header. Default: none.
    """

    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    comment: str | None = None
    skip_rows: int = 0

    def __post_init__(self) -> None:
        for name in ("separator", "decimal", "comment"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or len(value) != 1):
                raise ArdchoiceError(f"{name} is one character, not {value!r}.")
        if self.decimal not in (None, ".", ","):
            raise ArdchoiceError(f"decimal is '.' or ',', not {self.decimal!r}.")
        if self.decimal is not None and self.decimal == self.separator:
            raise ArdchoiceError(f"separator and decimal are both {self.decimal!r}.")
        if self.comment is not None and self.comment in (self.separator, self.decimal, '"'):
            raise ArdchoiceError(f"comment cannot be {self.comment!r}, which parts cells.")
        if type(self.skip_rows) is not int or self.skip_rows < 0:
            raise ArdchoiceError(f"skip_rows is a number of lines, not {self.skip_rows!r}.")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except (LookupError, TypeError, ValueError):
                raise ArdchoiceError(
                    f"There is no encoding {self.encoding!r}. Usual ones: 'utf-8', 'cp1252' "
                    "(Windows, western Europe), 'latin-1', 'utf-16', 'gb18030', 'shift_jis'."
                ) from None


@dataclass(frozen=True)
class TextFormat:
    """The format of a text table; `beyond`: how many more cells rows have than the header."""

    encoding: str
    separator: str
    decimal: str
    beyond: int = 0
    comment: str | None = None
    skip_rows: int = 0
    decimal_seen: bool = False

    @property
    def likely_decimal(self) -> str | None:
        """The decimal sign of the file, if something shows it."""
        return self.decimal if self.decimal_seen or self.separator == "," else None


def opener(path: Path) -> Callable[..., Any]:
    """`gzip.open` for a file that is packed, else `open`."""
    return gzip.open if path.suffix.lower() == ".gz" else open


def sniff(path: Path, options: TextOptions | None = None) -> TextFormat:
    """Detect encoding (by its byte-order mark, else UTF-8, else cp1252), separator, decimal."""
    options = options or TextOptions()
    refuse_bomb(path)
    try:
        with opener(path)(path, "rb") as file:
            head: bytes = file.read(SNIFF_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise ArdchoiceError(f"'{path}' cannot be opened: {error}") from error
    encoding = options.encoding or (_encoding(head, path) if head else "utf-8")
    if options.encoding is not None:
        _refuse_undecodable(path, options.encoding)
    text = head.decode(encoding, errors="ignore")
    whole = len(head) < SNIFF_BYTES
    lines = text.splitlines()[options.skip_rows :]
    if options.comment is not None:
        lines = [line.partition(options.comment)[0] for line in lines]
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise ArdchoiceError(f"'{path}' is empty.")
    if not whole and len(lines) > 1:
        lines.pop()  # cut off in the middle
    separator = options.separator or _separator(lines[:SNIFF_LINES])
    rows = list(_cells(lines, separator, path))
    beyond = max(len(rows[1]) - len(rows[0]), 0) if len(rows) > 1 else 0
    commas, points = _decimal_signs(rows[1:])
    return TextFormat(
        encoding=encoding,
        separator=separator,
        decimal=options.decimal or ("," if commas > points else "."),
        beyond=beyond,
        comment=options.comment,
        skip_rows=options.skip_rows,
        decimal_seen=options.decimal is not None or commas != points,
    )


def encoding_note(style: TextFormat) -> str | None:
    """What to tell of a detected encoding; None for UTF-8."""
    if style.encoding.lower().replace("_", "-") in ("utf-8", "utf-8-sig", "utf8", "ascii"):
        return None
    name = ENCODING_NAMES.get(style.encoding, style.encoding)
    return f"The text is read as {name}, not as UTF-8; encoding sets another."


def refuse_bomb(path: Path) -> None:
    """Raise where a packed file would unpack to far more than a table of its size can hold."""
    if opener(path) is open:
        return
    packed, unpacked = max(path.stat().st_size, 1), 0
    try:
        with gzip.open(path, "rb") as file:
            while piece := file.read(1 << 20):
                unpacked += len(piece)
                if unpacked > BOMB_BYTES and unpacked > BOMB_RATIO * packed:
                    raise ArdchoiceError(
                        f"'{path}' has {packed:,} bytes and unpacks to more than {unpacked:,}: no "
                        "table is packed so tightly. Unpack it and look at it first."
                    )
    except (OSError, EOFError, zlib.error) as error:
        raise ArdchoiceError(f"'{path}' cannot be opened: {error}") from error


def _decimal_signs(rows: list[list[str]]) -> tuple[int, int]:
    """Cells with a decimal comma and with a decimal point; a thousands separator is neither."""
    cells = [c for row in rows for c in row if not THOUSANDS.match(c)]
    commas = sum(bool(DECIMAL_COMMA.match(c)) for c in cells)
    points = sum(bool(DECIMAL_POINT.match(c)) for c in cells)
    return commas, points


def _encoding(head: bytes, path: Path) -> str:
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\x00" in head:
        raise ArdchoiceError(
            f"'{path}' is not a text table: it holds zero bytes. Name a Parquet file with the "
            "ending .parquet, a workbook of Excel .xlsx, a file of Stata .dta or of SPSS .sav; "
            "unpack a .zip; or set its encoding."
        )
    # The whole file decides: an accent may come only in the last row.
    try:
        with opener(path)(path, "rt", encoding="utf-8", newline="") as file:
            while file.read(SNIFF_BYTES):
                pass
    except UnicodeDecodeError:
        return _not_utf8(path)
    except (OSError, EOFError, zlib.error) as error:
        raise ArdchoiceError(f"'{path}' cannot be read to its end: {error}") from error
    return "utf-8"


def _not_utf8(path: Path) -> str:
    """The encoding of a file that is not UTF-8; an error where some of its lines are."""
    in_utf8: list[int] = []
    others: list[int] = []
    with opener(path)(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.isascii():
                (in_utf8 if _decodes(line, "utf-8") else others).append(number)
    if in_utf8:
        few, what = sorted((in_utf8, others), key=len)[0], "UTF-8"
        what = "UTF-8" if few is in_utf8 else "another encoding"
        raise ArdchoiceError(
            f"'{path}' mixes encodings: {len(in_utf8)} lines are UTF-8 and {len(others)} are not. "
            f"{'Line' if len(few) == 1 else 'Lines'} {first_few(few)} "
            f"{'is' if len(few) == 1 else 'are'} in {what} (row = line - 2). Save the table in one "
            "encoding; or set encoding, and such letters are read wrongly."
        )
    _refuse_undecodable(path, FALLBACK_ENCODING)
    return FALLBACK_ENCODING


def _refuse_undecodable(path: Path, encoding: str) -> None:
    """Raise where the text is not in an encoding, naming the place."""
    try:
        with opener(path)(path, "rt", encoding=encoding, newline="") as file:
            lines = 1
            while piece := file.read(SNIFF_BYTES):
                lines += piece.count("\n")
    except UnicodeError as error:
        raise ArdchoiceError(
            f"'{path}' is not in the encoding {encoding}: {_reason(error)}, near line {lines}. Set "
            "encoding to the one it was saved in, such as 'utf-8', 'cp1252' or 'latin-1'."
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise ArdchoiceError(f"'{path}' cannot be read to its end: {error}") from error
    except (LookupError, ValueError) as error:  # an encoding of Python's that is none of text
        raise ArdchoiceError(f"The encoding {encoding!r} is none of text: {error}.") from None


def _reason(error: UnicodeError) -> str:
    return getattr(error, "reason", None) or str(error)


def _decodes(line: bytes, encoding: str) -> bool:
    try:
        line.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _cells(lines: list[str], separator: str, path: Path | None = None) -> Iterator[list[str]]:
    """The cells of every row; several blanks part cells like one."""
    try:
        for row in csv.reader(lines, delimiter=separator, skipinitialspace=True):
            yield [c.strip() for c in row if c or separator != " "]
    except (csv.Error, TypeError, ValueError) as error:
        raise ArdchoiceError(
            f"{'The table' if path is None else repr(str(path))} cannot be read with separator "
            f"{separator!r}: {error}."
        ) from None


def _separator(lines: list[str]) -> str:
    """The separator that cuts the most lines into the same number (>1) of cells.

    Among equals a blank comes last, because it also stands inside names and dates; then the one
    that makes the most cells wins.
    """

    def score(separator: str) -> tuple[float, bool, int]:
        counts = Counter(map(len, _cells(lines, separator)))
        cells, agreeing = counts.most_common(1)[0]
        return (agreeing / len(lines) if cells > 1 else 0.0, separator != " ", cells)

    best = max(CELL_SEPARATORS, key=score)
    return best if score(best)[0] > 0 else ","

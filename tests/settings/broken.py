"""Broken study files and tables, made by mutation from good ones.

Some mutations happen to leave something valid; whoever uses them goes on to the next.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

VALUES = [
    "5",
    "-1",
    "2.5",
    '"x"',
    '""',
    "true",
    "[]",
    "{}",
    "[1, 'a']",
    "{ a = 1 }",
    "nan",
    "inf",
    "1e400",
    "9" * 40,
    "9" * 5000,
    "1979-05-27",
    '"CAR: TT +"',
    "[[[[]]]]",
    "'''",
    "yes",
    "CHOICE",
]

Random = np.random.Generator


def pick(rng: Random, items):
    return items[int(rng.integers(len(items)))]


# -- Study files ---------------------------------------------------------------------------------


def _lines_with(text: str, part: str) -> list[int]:
    """Lines that hold something; the first where none does."""
    return [i for i, line in enumerate(text.split("\n")) if part in line] or [0]


def delete_line(text: str, rng: Random) -> str:
    lines = text.split("\n")
    del lines[int(rng.integers(len(lines)))]
    return "\n".join(lines)


def duplicate_line(text: str, rng: Random) -> str:
    lines = text.split("\n")
    i = int(rng.integers(len(lines)))
    return "\n".join([*lines[: i + 1], *lines[i:]])


def cut_out(text: str, rng: Random) -> str:
    start = int(rng.integers(len(text)))
    return text[:start] + text[start + int(rng.integers(1, 30)) :]


def truncate(text: str, rng: Random) -> str:
    return text[: int(rng.integers(len(text)))]


def change_value(text: str, rng: Random) -> str:
    lines = text.split("\n")
    i = pick(rng, _lines_with(text, " = "))
    key = lines[i].partition(" = ")[0]
    lines[i] = f"{key} = {pick(rng, VALUES)}"
    return "\n".join(lines)


def misspell_key(text: str, rng: Random) -> str:
    lines = text.split("\n")
    i = pick(rng, _lines_with(text, " = "))
    key, equals, value = lines[i].partition(" = ")
    at = int(rng.integers(len(key) + 1))
    lines[i] = key[:at] + pick(rng, "abcxyz_ZQ") + key[at + 1 :] + equals + value
    return "\n".join(lines)


def misspell_value(text: str, rng: Random) -> str:
    lines = text.split("\n")
    i = pick(rng, _lines_with(text, '"'))
    at = lines[i].find('"') + 1
    lines[i] = lines[i][:at] + pick(rng, "qxzQXZ{}<") + lines[i][at + 1 :]
    return "\n".join(lines)


def insert_junk(text: str, rng: Random) -> str:
    at = int(rng.integers(len(text)))
    return text[:at] + pick(rng, list("[]{}\"'=#,.\\\n\t\x00\x7f\u2028é")) + text[at:]


def rename_section(text: str, rng: Random) -> str:
    lines = text.split("\n")
    i = pick(rng, [i for i, line in enumerate(lines) if line.startswith("[")] or [0])
    lines[i] = pick(rng, ["[dtaa]", "[data", "data]", "[data.x]", "[space.by]", "[[data]]", "[]"])
    return "\n".join(lines)


def drop_quotes(text: str, rng: Random) -> str:
    lines = text.split("\n")
    i = pick(rng, _lines_with(text, '"'))
    lines[i] = lines[i].replace('"', "", int(rng.integers(1, 3)))
    return "\n".join(lines)


def swap_lines(text: str, rng: Random) -> str:
    lines = text.split("\n")
    i, j = rng.integers(len(lines), size=2)
    lines[i], lines[j] = lines[j], lines[i]
    return "\n".join(lines)


MUTATIONS: list[Callable[[str, Random], str]] = [
    delete_line,
    duplicate_line,
    cut_out,
    truncate,
    change_value,
    change_value,
    misspell_key,
    misspell_value,
    insert_junk,
    rename_section,
    drop_quotes,
    swap_lines,
]


def whole_files(text: str, rng: Random) -> list[tuple[str, bytes]]:
    """Files that are something else altogether."""
    return [
        ("empty", b""),
        ("blank", b"\n\n  \n"),
        ("comments", b"# nothing\n# here\n"),
        ("random bytes", rng.bytes(2000)),
        ("zero bytes", b"\x00" * 500),
        ("utf-16", text.encode("utf-16")),
        ("latin-1", text.replace("Swissmetro", "Zürich").encode("latin-1")),
        ("gzip", gzip.compress(text.encode())),
        ("json", b'{"data": {"table": "x.csv"}}'),
        ("csv", b"a,b,c\n1,2,3\n"),
        ("deep", b"x = " + b"[" * 3000),
        ("deep table", b"x = " + b"{a=" * 3000),
        ("large", b"# \n" * 2_000_000),
        ("one key", b"data = 5"),
        ("other tables", b"[tool.poetry]\nname = 'x'\n"),
    ]


def study_candidates(text: str, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """Without end: what was done, and the content of a study file."""
    rng = np.random.default_rng(seed)
    yield from whole_files(text, rng)
    while True:
        mutation = pick(rng, MUTATIONS)
        changed = mutation(text, rng)
        name = mutation.__name__
        if rng.random() < 0.3:
            another = pick(rng, MUTATIONS)
            changed, name = another(changed or "x", rng), f"{name}, {another.__name__}"
        content = changed.encode()
        if rng.random() < 0.05 and content:
            at = int(rng.integers(len(content)))
            content, name = content[:at] + rng.bytes(3) + content[at:], f"{name}, bytes"
        yield name, content


# -- Tables --------------------------------------------------------------------------------------


def _csv(table: pd.DataFrame, **how: object) -> bytes:
    return table.to_csv(index=False, **how).encode()


def _cell(table: pd.DataFrame, rng: Random, column: str, value: object) -> bytes:
    changed = table.astype({column: object})
    rows = rng.choice(len(table), size=int(rng.integers(1, 4)), replace=False)
    changed.loc[rows, column] = value
    return _csv(changed)


def whole_tables(table: pd.DataFrame, rng: Random) -> list[tuple[str, str, bytes]]:
    """Tables that cannot be read at all, or say nothing."""
    good = _csv(table)
    lines = good.split(b"\n")
    parquet = io.BytesIO()
    table.to_parquet(parquet)
    mode = ["TRAIN", "SM", "CAR"]
    return [
        ("empty", "t.csv", b""),
        ("blank", "t.csv", b"\n\n\n"),
        ("header only", "t.csv", lines[0] + b"\n"),
        ("random bytes", "t.csv", rng.bytes(3000)),
        ("zero bytes", "t.csv", b"\x00" * 300),
        ("zero byte inside", "t.csv", good[:700] + b"\x00" + good[700:]),
        ("text", "t.csv", b"Dear editor,\nplease find enclosed\nthe table."),
        ("html", "t.csv", b"<html><table><tr><td>1</td></tr></table></html>"),
        ("parquet cut off", "t.parquet", parquet.getvalue()[:800]),
        ("csv called parquet", "t.parquet", good),
        ("gzip cut off", "t.csv.gz", gzip.compress(good)[:200]),
        ("csv called gzip", "t.csv.gz", good),
        ("unbalanced quote", "t.csv", good[:600] + b'"' + good[600:]),
        ("repeated column", "t.csv", b"ID," + good.replace(b"\n", b"\n1,")),
        ("repeated choice", "t.csv", lines[0].replace(b"AGE", b"CHOICE") + good[len(lines[0]) :]),
        ("without header", "t.csv", b"\n".join(lines[1:])),
        ("transposed", "t.csv", _csv(table.head(5).T)),
        ("other separator in half", "t.csv", good[:900] + good[900:].replace(b",", b";")),
        ("one row", "t.csv", _csv(table.head(1))),
        ("all the same choice", "t.csv", _csv(table.assign(CHOICE=2))),
        ("no choice known", "t.csv", _csv(table.assign(CHOICE=7))),
        ("one available", "t.csv", _csv(table.assign(TRAIN_AV=0, CAR_AV=0))),
        ("none available", "t.csv", _csv(table.assign(**{f"{m}_AV": 0 for m in mode}))),
        ("choice empty", "t.csv", _csv(table.assign(CHOICE=None))),
        ("everything empty", "t.csv", _csv(table.assign(**dict.fromkeys(table, None)))),
        ("attribute empty", "t.csv", _csv(table.assign(SM_TT=None))),
        ("attribute text", "t.csv", _csv(table.assign(SM_TT="fast"))),
        ("attribute infinite", "t.csv", _csv(table.assign(SM_CO=np.inf))),
        ("long instead", "t.csv", b"id,alt,choice\n" + b"1,A,1\n1,B,0\n2,A,0\n2,B,1\n"),
    ]


def table_candidates(table: pd.DataFrame, seed: int = 0) -> Iterator[tuple[str, str, bytes]]:
    """Without end: what was done, a file name, and the content of a table like Swissmetro."""
    rng = np.random.default_rng(seed)
    yield from whole_tables(table, rng)
    needed = [c for c in table.columns if c.endswith(("_TT", "_CO", "_AV"))]
    needed += ["CHOICE", "ID", "GA", "AGE", "TRAIN_HE", "SM_HE", "WHO", "INCOME"]
    cells = [None, "x", "-", "é\u2028", "=cmd|' /C calc'!A0", -5, 3.7]
    cells += ["1e999", "1e300", "-1e308", "9" * 400, "inf"]
    while True:
        column = pick(rng, needed)
        kind = int(rng.integers(6))
        good = _csv(table)
        if kind == 0:
            yield f"drop {column}", "t.csv", _csv(table.drop(columns=column))
        elif kind == 1:
            yield f"rename {column}", "t.csv", _csv(table.rename(columns={column: column[::-1]}))
        elif kind == 2:
            value = pick(rng, cells)
            yield f"{column} = {str(value)[:20]}", "t.csv", _cell(table, rng, column, value)
        elif kind == 3:
            at = int(rng.integers(len(good)))
            yield "cut off", "t.csv", good[:at]
        elif kind == 4:
            lines = good.split(b"\n")
            i = int(rng.integers(1, len(lines) - 1))
            more = pick(rng, [b",1,2,3", b',"', b"\x00", b",,,,,,,,,", b"\xff\xfe"])
            yield "ragged", "t.csv", b"\n".join([*lines[:i], lines[i] + more, *lines[i + 1 :]])
        else:
            at, length = int(rng.integers(len(good))), int(rng.integers(1, 200))
            junk = rng.bytes(length)
            yield "junk inside", "t.csv", good[:at] + junk + good[at + length :]

"""Tables with one thing or several wrong, through everything that reads tables.

    python benchmarks/mutated_tables.py [--first 0] [--tables 3500] [--steps init check] [--quick]

Every table is one of three small ones with one to three mutations: typing errors, thousands
separators, currencies, units, clock times, extreme numbers, missing and nested cells, repeated and
odd names, lost and repeated rows, other types of columns, damaged bytes. Each goes, as a file or
as a data frame, through `init`, `check`, the readers as guessed and a whole `run` with everything
it writes; figures as SVG for one of four, cross-validation for one of ten. What is wrong must end
in an error of ardchoice; anything else that is raised is uncaught. Processes of their own with
limits (`supervised.py`), so that what one table leaves behind harms no other; time of each, memory
at most. With --log what is done is not done again.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

import ardchoice as ac
import ardchoice.report.drawing
import ardchoice.report.figures as report_figures
from ardchoice.formats import FORMATS
from ardchoice.run import run_study
from ardchoice.settings import check_study, guess_settings, parse_settings
from supervised import MOST_BYTES, Outcome, supervise

STEPS = ("init", "check", "read", "frame", "file", "run")
OF_SETTINGS = ("check", "read", "run")
"""Steps of the study file that `init` wrote, where it wrote one."""
HELD_OUT_EVERY, FIGURES_EVERY = 10, 4
"""One run of so many also has cross-validation, or figures: most of the time of a run."""
ROWS = 90

Rng = np.random.Generator


# -- Tables ----------------------------------------------------------------------------------------


def wide(rng: Rng) -> pd.DataFrame:
    """Three modes, availability, persons, covariates and weights."""
    names = ("bus", "car", "rail")
    frame = pd.DataFrame({"id": np.arange(ROWS) // 2 + 100})
    value = rng.gumbel(size=(3, ROWS))
    for j, name in enumerate(names):
        frame[f"time_{name}"] = rng.uniform(5, 90, ROWS).round(1)
        frame[f"cost_{name}"] = rng.uniform(1, 30, ROWS).round(2)
        frame[f"av_{name}"] = (rng.random(ROWS) < 0.9) * 1 if name == "car" else 1
        value[j] -= 0.05 * frame[f"time_{name}"] + 0.1 * frame[f"cost_{name}"]
        value[j][frame[f"av_{name}"] == 0] = -np.inf
    frame["choice"] = value.argmax(axis=0) + 1
    frame["sex"] = rng.choice(["f", "m"], ROWS)
    frame["age"] = rng.integers(18, 80, ROWS)
    frame["purpose"] = rng.integers(1, 5, ROWS)
    frame["income"] = rng.integers(2, 12, ROWS) * 500
    frame["weight"] = rng.uniform(0.5, 2, ROWS).round(3)
    return frame


def long(rng: Rng) -> pd.DataFrame:
    """The same in rows of alternatives."""
    frame = wide(rng)
    each = [
        pd.DataFrame(
            {
                "trip": np.arange(ROWS),
                "mode": name,
                "chosen": (frame["choice"] == j + 1) * 1,
                "time": frame[f"time_{name}"],
                "cost": frame[f"cost_{name}"],
                "hhinc": frame["income"],
                "sex": frame["sex"],
            }
        )
        for j, name in enumerate(("bus", "car", "rail"))
    ]
    return pd.concat(each).sort_values("trip", kind="stable").reset_index(drop=True)


def unlabelled(rng: Rng) -> pd.DataFrame:
    """An experiment with options 1 and 2 and none."""
    frame = pd.DataFrame({"resp": np.arange(ROWS) // 3})
    for j in (1, 2):
        frame[f"price{j}"] = rng.integers(1, 9, ROWS)
        frame[f"brand{j}"] = rng.choice(["A", "B", "C"], ROWS)
    frame["choice"] = rng.integers(0, 3, ROWS)
    frame["gender"] = rng.integers(1, 3, ROWS)
    return frame


BASES = (wide, long, unlabelled)


# -- Mutations of data frames ----------------------------------------------------------------------

Mutation = Callable[[pd.DataFrame, Rng], pd.DataFrame]
CELLS: tuple[object, ...] = (
    "", "x", "3x", "l2", " 3", "3 ", "-", "--", "n/a", "None", "NULL", "?", "#REF!", "=1+1",
    "1e999", "-1e999", 1e308, -1e308, 5e-324, np.inf, -np.inf, np.nan, None, -1, 0, -99, 99999,
    10**30, True,
    "1,234", "1.234,5", "€3", "12 min", "08:30", "25:99", "2024-02-30", "ä", "\u0000", "\n", '"',
    "'", ",", ";", "\t", "\\", "{}", "[1, 2]", "a" * 5000, "\U0001f68d", "\u202e", "٣", "1_000",
)  # fmt: skip
NESTED: tuple[object, ...] = ([1, 2], {"a": 1}, (1,), {1}, np.array([1, 2]), object, b"x", 1j)
NAMES: tuple[str, ...] = (
    "", " ", "x" * 3000, "a\nb", 'a"b', "a'b", "{alt}", "{", "a.b.c", "=1+1", "ä ö", "\U0001f68d",
    "\u0000", "__", "TRAIN: ASC", "*", "1", "-1", "nan", "index", "level_0", "<b>", "a]b", "#c",
)  # fmt: skip


def some_cells(frame: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    """One to five cells of a column are something else."""
    out = frame.astype({(name := _name(frame, rng)): object})
    for _ in range(int(rng.integers(1, 6))):
        values = list(out[name])
        values[int(rng.integers(len(values)))] = CELLS[int(rng.integers(len(CELLS)))]
        out[name] = pd.Series(values, dtype=object, index=out.index)
    return out


def nested_cells(frame: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    """Cells that hold more than a value."""
    name = _name(frame, rng)
    values = list(frame[name])
    for _ in range(int(rng.integers(1, 4))):
        values[int(rng.integers(len(values)))] = NESTED[int(rng.integers(len(NESTED)))]
    out = frame.copy()
    out[name] = pd.Series(values, dtype=object)
    return out


def written_numbers(frame: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    """A column of numbers as people write them."""
    name = _name(frame, rng)
    forms: tuple[Callable[[Any], str], ...] = (
        lambda v: f"{float(v) * 1000:,.0f}",
        lambda v: f"€{v}",
        lambda v: f"{v} min",
        lambda v: f"{int(float(v)) // 60:02d}:{int(float(v)) % 60:02d}",
        lambda v: str(v).replace(".", ","),
        lambda v: f"2024-01-{int(float(v)) % 31 + 1:02d}",
        lambda v: f" {v}%",
        lambda v: f"{v}" if rng.random() < 0.9 else f"{v} h",
    )
    form = forms[int(rng.integers(len(forms)))]
    try:
        return frame.assign(**{name: [form(v) for v in frame[name]]})
    except (TypeError, ValueError, OverflowError):
        return frame


def odd_name(frame: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    """A column has an odd name, or that of another."""
    old = _name(frame, rng)
    pool = (*NAMES, _name(frame, rng), old.upper(), f" {old} ")
    return frame.rename(columns={old: pool[int(rng.integers(len(pool)))]})


def whole_column(frame: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    """A column is constant, missing, unique, huge, shifted, another one, or no longer there."""
    name, n = _name(frame, rng), len(frame)
    column = frame[name] if isinstance(frame[name], pd.Series) else frame[name].iloc[:, 0]
    number = pd.to_numeric(column, errors="coerce")
    makers: tuple[Callable[[], Any], ...] = (
        lambda: 1,
        lambda: None,
        lambda: "same",
        lambda: np.arange(n),
        lambda: [f"v{i}" for i in range(n)],
        lambda: number * 1e300,
        lambda: number * 1e-300,
        lambda: number + 3e7,
        lambda: -number,
        lambda: number * 10**15,
        lambda: [10**25 + i for i in range(n)],
        lambda: pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(n), "h"),
        lambda: pd.to_timedelta(np.arange(n), "min"),
        lambda: column.astype("category"),
        lambda: number.astype("Float64"),
        lambda: column.astype(str).astype("string"),
        lambda: rng.random(n) < 0.5,
        lambda: number + 1j,
        lambda: pd.arrays.SparseArray(number.fillna(0)),
        lambda: pd.period_range("2024-01", periods=n, freq="M"),
    )
    which = int(rng.integers(len(makers) + 2))
    out = frame.copy()
    if which == len(makers):
        return out.drop(columns=[name])
    if which == len(makers) + 1:
        out[f"{name}_copy"] = column
        return out
    out[name] = makers[which]()
    return out


def other_rows(frame: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    """Rows are lost, repeated, shuffled, sorted, or hardly any is left."""
    n = len(frame)
    picks: tuple[Callable[[], Any], ...] = (
        lambda: rng.permutation(n),
        lambda: rng.integers(0, n, n),
        lambda: np.sort(rng.choice(n, n // 2, replace=False)),
        lambda: np.arange(min(n, 1)),
        lambda: np.arange(0),
        lambda: np.arange(min(n, 3)),
        lambda: np.repeat(np.arange(n), 2),
    )
    out: pd.DataFrame = frame.iloc[picks[int(rng.integers(len(picks)))]()]
    return out if rng.random() < 0.3 else out.reset_index(drop=True)


def swapped_columns(frame: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    """Values under the names of others."""
    one, two = _name(frame, rng), _name(frame, rng)
    return frame.rename(columns={one: two, two: one})


def missing_cells(frame: pd.DataFrame, rng: Rng) -> pd.DataFrame:
    """Holes everywhere."""
    return frame.mask(pd.DataFrame(rng.random(frame.shape) < rng.choice([0.01, 0.3, 0.95])).values)


MUTATIONS: tuple[Mutation, ...] = (
    some_cells, some_cells, some_cells, written_numbers, whole_column, whole_column, odd_name,
    other_rows, swapped_columns, missing_cells, nested_cells,
)  # fmt: skip


def _name(frame: pd.DataFrame, rng: Rng) -> Any:
    names = list(frame.columns)
    return names[int(rng.integers(len(names)))] if names else ""


# -- Mutations of files ----------------------------------------------------------------------------


def damaged(content: bytes, rng: Rng) -> bytes:
    """Bytes that are not those of a table, or no longer."""
    n = len(content)
    at = int(rng.integers(max(n, 1)))
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: content[:at],
        lambda: content[at:],
        lambda: content[:at] + bytes(rng.integers(0, 256, 8, dtype=np.uint8)) + content[at:],
        lambda: content.replace(b",", b";"),
        lambda: content.replace(b",", b"\t").replace(b".", b","),
        lambda: content.replace(b"\n", b"\r\n"),
        lambda: content.replace(b"\n", b"\r"),
        lambda: b"\xef\xbb\xbf" + content,
        lambda: content.decode("utf-8", "ignore").encode("utf-16"),
        lambda: content.replace(b"bus", b"b\xfcs"),
        lambda: content + b'"',
        lambda: content.replace(b"\n", b",\n"),
        lambda: b"# a comment\n\n" + content,
        lambda: content.replace(b"\n", b"\n\n", 5),
        lambda: content[:at] + b"\x00" + content[at:],
        lambda: content + content[: n // 2],
        lambda: b"",
        lambda: content.replace(b"\n", b" "),
        lambda: b"PAR1" + content,
    )
    return ways[int(rng.integers(len(ways)))]()


def as_bytes(frame: pd.DataFrame) -> bytes:
    """As CSV."""
    text = StringIO()
    frame.to_csv(text, index=False)
    return text.getvalue().encode("utf-8", "surrogatepass")


# -- One table -------------------------------------------------------------------------------------


def mutated(number: int, seed: int) -> tuple[pd.DataFrame, list[str], Rng]:
    """The frame of a number, and what was done to it."""
    rng = np.random.default_rng([seed, number])
    frame, done = BASES[number % len(BASES)](rng), []
    for _ in range(int(rng.integers(1, 4))):
        mutation = MUTATIONS[int(rng.integers(len(MUTATIONS)))]
        try:
            frame = mutation(frame, rng)
            done.append(mutation.__name__)
        except Exception:  # noqa: S112 - pandas cannot do this to what is left
            continue
    return frame, done, rng


def through_all(
    number: int, folder: Path, *, seed: int, steps: Sequence[str] = STEPS
) -> Iterator[tuple[str, str, Callable[[], object]]]:
    """The steps of one table: name, what was done to the table, what to call."""
    frame, done, rng = mutated(number, seed)
    path = folder / f"t{number}.csv"
    try:
        content = as_bytes(frame)
    except Exception:
        content = b""
    if rng.random() < 0.3:
        content, done = damaged(content, rng), [*done, "damaged"]
    if rng.random() < 0.05:
        path = path.with_suffix(".csv.gz")
        content = gzip.compress(content)
        content = content[: int(rng.integers(1, len(content)))] if rng.random() < 0.5 else content
    path.write_bytes(content)
    base, study = BASES[number % len(BASES)].__name__, folder / f"s{number}.toml"
    label = f"{base}: {', '.join(done)}"
    settings: list[Any] = []

    def init() -> None:
        study.write_text(guess_settings(path, folder=folder), encoding="utf-8")
        settings.append(parse_settings(study.read_text(encoding="utf-8")))

    def reader() -> None:
        data = settings[0].read_choices(folder)
        str(data)
        settings[0].make_space(data)

    calls: dict[str, Callable[[], object]] = {
        "init": init,
        "check": lambda: check_study(study),
        "read": reader,
        "frame": lambda: _given(base, frame),
        "file": lambda: _given(base, path),
        "run": lambda: _run(settings[0], number, folder),
    }
    for name, call in calls.items():
        if (name in steps or name == "init") and (settings or name not in OF_SETTINGS):
            yield name, label, call
    path.unlink()


def _small(settings: Any, number: int) -> Any:
    """The same study without what only costs time; held-out figures for one table of some."""
    folds = 2 if number % HELD_OUT_EVERY == 0 else 0
    output = settings.output.model_copy(update={"folds": folds, "exports": tuple(FORMATS)})
    return settings.model_copy(update={"output": output})


def _given(base: str, table: object) -> ac.ChoiceData:
    """Read with the roles that the table had before."""
    if base == "long":
        return ac.read_long(
            table, situation="trip", alternative="mode", chosen="chosen",
            attributes=["time", "cost"], covariates=["hhinc", "sex"],
        )  # fmt: skip
    if base == "wide":
        return ac.read_wide(
            table, alternatives={"bus": 1, "car": 2, "rail": 3}, choice="choice",
            attributes={"time": "time_{alt}", "cost": "cost_{alt}"}, person="id",
            covariates=["sex", "age", "purpose", "income"], availability="av_{alt}",
            weight="weight",
        )  # fmt: skip
    return ac.read_wide(
        table, alternatives={"1": 1, "2": 2, "none": 0}, choice="choice", person="resp",
        attributes={name: {j: f"{name}{j}" for j in "12"} for name in ("price", "brand")},
        covariates=["gender"],
    )  # fmt: skip


def _run(settings: Any, number: int, folder: Path) -> None:
    """A whole run into a folder that goes again, with the pages and scripts it writes."""
    results = folder / f"r{number}"
    draw = (lambda *_: None) if number % FIGURES_EVERY else report_figures.draw
    try:
        with patch.object(report_figures, "draw", draw):
            run_study(_small(settings, number), results, base=folder, force=True)
    finally:
        shutil.rmtree(results, ignore_errors=True)


def main() -> None:
    """Print counts, and what was uncaught."""
    parser = argparse.ArgumentParser(description="Mutated tables through all that reads tables.")
    parser.add_argument("--tables", type=int, default=3500, help="number after the last table")
    parser.add_argument("--first", type=int, default=0, help="number of the first table")
    parser.add_argument("--steps", nargs="*", default=list(STEPS), choices=STEPS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--log", type=Path, help="JSON lines; what it has is not done again")
    parser.add_argument("--quick", action="store_true", help="60 tables")
    given = parser.parse_args()
    numbers = range(given.first, 60 if given.quick else given.tables)
    svg_only = patch.object(report_figures, "FORMATS", ("svg",))
    with svg_only, tempfile.TemporaryDirectory() as folder:
        work = partial(through_all, folder=Path(folder), seed=given.seed, steps=given.steps)
        log = given.log or Path(folder) / "log.jsonl"
        outcomes = supervise(work, numbers, log, given.processes)
    print_outcomes(outcomes)


def print_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Counts by step, the longest step, the memory at most, and what must not be."""
    counts = Counter((o.step, o.kind) for o in outcomes)
    print(pd.Series(counts).unstack(fill_value=0).to_string())
    worst = max(outcomes, key=lambda o: o.seconds)
    print(
        f"{len({o.number for o in outcomes})} tables; longest step {worst.seconds:.1f} s of "
        f"processor time (table {worst.number}, {worst.step})"
    )
    most = max(o.megabytes for o in outcomes)
    print(f"memory at most {most:,.0f} MB, allowed {MOST_BYTES / 2**20:,.0f} MB")
    seen: set[str] = set()
    for o in outcomes:
        if o.kind in ("uncaught", "hangs"):
            last = o.text.strip().splitlines()[-1][:120]
            if (key := f"{o.step} {last}") not in seen:
                seen.add(key)
                print(f"\n{o.kind} in {o.step}, table {o.number}, {o.text}")


if __name__ == "__main__":
    main()

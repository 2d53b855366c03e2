"""Names that would script, calculate or steer: from CSV to report, tables and exports, inert."""

import ast
import csv
import json
from collections import Counter
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_support import command

import ardchoice as ac

TAME = {
    "A": "alpha",
    "B": "beta",
    "C": "gamma",
    "time": "first",  # a name that says "cost" would be asked what time is worth
    "cost": "second",
    "who": "who",
    "low": "low",
    "high": "high",
    "pick": "pick",
}
HOSTILE = {
    "A": "<script>alert('a')</script>",
    "B": "=cmd|' /C calc'!A0",
    "C": 'Ünï\n"cødé" 漢字 \u202e\x1b[2J',
    "time": '"><img src=x onerror=alert(1)>',
    "cost": "`__import__('os').system('id')` {{7*7}} ${x} %s \\",
    "who": "+who&amp;{% raw %}</title>",
    "low": "@SUM(1+1)*cmd|'calc'!A0",
    "high": "-2+3</td></svg>]]>",
    "pick": "'); DROP TABLE choices; --",
}
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


def study_in(folder: Path, names: Mapping[str, str]) -> Path:
    """The same choices under other names."""
    rng = np.random.default_rng(3)
    n, alternatives = 400, ("A", "B", "C")
    time, cost = rng.uniform(1, 9, (3, n)).round(2), rng.uniform(1, 9, (3, n)).round(2)
    high = rng.random(n) < 0.5
    value = -0.6 * time - np.where(high, 0.2, 0.8) * cost + rng.gumbel(size=(3, n))
    table = pd.DataFrame(
        {f"{names['time']}|{names[a]}": time[j] for j, a in enumerate(alternatives)}
        | {f"{names['cost']}|{names[a]}": cost[j] for j, a in enumerate(alternatives)}
        | {names["who"]: np.where(high, names["high"], names["low"])}
        | {names["pick"]: np.array([names[a] for a in alternatives])[value.argmax(axis=0)]}
    )
    folder.mkdir()
    table.to_csv(folder / "choices.csv", index=False)
    quoted = {key: json.dumps(text) for key, text in names.items()}
    columns = {key: json.dumps(f"{names[key]}|{{alt}}") for key in ("time", "cost")}
    levels = f"[{quoted['low']}, {quoted['high']}]"
    (folder / "study.toml").write_text(
        f"""
[data]
table = "choices.csv"
alternatives = [{quoted["A"]}, {quoted["B"]}, {quoted["C"]}]
choice = {quoted["pick"]}
[data.attributes]
{quoted["time"]} = {columns["time"]}
{quoted["cost"]} = {columns["cost"]}
[data.covariates]
{quoted["who"]} = {{levels = {levels}}}
[space]
by = [{quoted["who"]}]
[structure.signs]
{quoted["cost"]} = "-"
""",
        encoding="utf-8",
    )
    return folder / "study.toml"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """The folders of results, tame and hostile, and what the hostile run printed."""
    place = tmp_path_factory.mktemp("hostile")
    tame, hostile = study_in(place / "tame", TAME), study_in(place / "hostile", HOSTILE)
    command("run", tame, "--quiet")
    said = command("check", hostile).output + command("run", hostile).output
    return tame.parent / "results", hostile.parent / "results", said


class Tags(HTMLParser):
    """Counts tags with the names of their attributes, and keeps what scripts hold."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.found: Counter[tuple[str, tuple[str, ...]]] = Counter()
        self.scripts: list[str] = []
        self.text = ""
        self._inside: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "svg"):
            self._inside.append(tag)
        # Figures lay out long names otherwise, so that they are looked at apart.
        if "svg" not in self._inside or tag == "svg":
            self.found[tag, tuple(sorted(name for name, _ in attrs))] += 1
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            if name in ("href", "src", "xlink:href"):
                assert (value or "").startswith(("#", "data:")), value
        if tag == "img":
            assert dict(attrs)["src"] != "x"

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if "script" in self._inside:
            self.scripts.append(data)
        else:
            self.text += data


def test_results_are_those_of_tame_names(both: tuple[Path, Path, str]) -> None:
    tame, hostile = (ac.load(folder) for folder in both[:2])
    assert hostile.result.loglik == pytest.approx(tame.result.loglik, abs=1e-8)
    assert np.allclose(hostile.result.to_frame()["estimate"], tame.result.to_frame()["estimate"])
    assert {t.where for t in hostile.specification} == {
        tuple({v: HOSTILE[k] for k, v in TAME.items()}[a] for a in t.where)
        for t in tame.specification
    }


def test_the_report_has_the_tags_of_a_tame_one_and_tells_the_names(
    both: tuple[Path, Path, str],
) -> None:
    tame, hostile = (Tags(folder / "report.html") for folder in both[:2])
    assert hostile.scripts == tame.scripts
    assert set(hostile.found) == set(tame.found)
    for key in ("script", "img", "iframe", "a", "table", "section"):
        count = [
            sum(n for (tag, _), n in one.found.items() if tag == key) for one in (tame, hostile)
        ]
        assert count[0] == count[1], key
    for name in ("A", "B", "time", "low"):
        assert HOSTILE[name] in hostile.text


def test_no_cell_of_a_table_is_a_formula(both: tuple[Path, Path, str]) -> None:
    paths = sorted(both[1].rglob("*.csv"))
    assert len(paths) > 5
    for path in paths:
        if path.parent.name == "exports":
            continue
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.reader(file):
                for cell in row:
                    assert not cell.startswith(FORMULAS) or _is_number(cell), (path, cell)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_exported_scripts_call_only_what_tame_ones_do(both: tuple[Path, Path, str]) -> None:
    for package in ("biogeme", "pylogit", "xlogit"):
        name = f"exports/model_{package}.py"
        calls = [
            Counter(
                ast.unparse(node.func)
                for node in ast.walk(ast.parse((folder / name).read_text(encoding="utf-8")))
                if isinstance(node, ast.Call)
            )
            for folder in both[:2]
        ]
        assert set(calls[1]) <= set(calls[0]), package


def test_the_terminal_is_not_steered(both: tuple[Path, Path, str]) -> None:
    said = both[2]
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "<script>alert('a')</script>" in said


def test_new_situations_are_predicted_under_such_names(both: tuple[Path, Path, str]) -> None:
    folder = both[1]
    printed = command("predict", folder, folder.parent / "choices.csv").stdout
    head = next(csv.reader(printed.splitlines()[:1]))
    assert not any(name.startswith(FORMULAS) for name in head)
    rows = list(csv.reader(printed.splitlines(keepends=True)))
    assert np.allclose(
        np.array([row[1:] for row in rows[-400:]], dtype=float), ac.load(folder).result.predict()
    )

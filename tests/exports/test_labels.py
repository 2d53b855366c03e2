"""Units and labels in scripts: beside what they belong to, and never more than a comment."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from export_support import PYTHON, check_scripts, namespace
from hypothesis import given, settings
from hypothesis import strategies as st
from test_apollo import logliks, needs_r

import ardchoice as ac

PLAIN_PACKAGES = ("biogeme", "xlogit", "apollo")
"""Whose scripts have labels in comments only."""
BREAKERS = [
    "a\nb = 1", "a\rb", 'x" + open("canary") + "', "'''", '"""', "*/ quit()", "# -*- coding: x",
    "\\", "{{ 7 }}{% raw %}", "a\u2028b", "\u202eleft", "]}", "%s", "\x00", "é東",
]  # fmt: skip


def survey(**texts: object) -> ac.ChoiceData:
    return ac.read_wide(
        ac.datasets.swissmetro()[:900].query("CHOICE != 0"),
        alternatives={"TRAIN": 1, "SM": 2, "CAR": 3},
        choice="CHOICE",
        attributes={"TT": "{alt}_TT", "CO": "{alt}_CO"},
        covariates=["GA"],
        availability="{alt}_AV",
        person="ID",
        **texts,  # type: ignore[arg-type]
    )


SPECIFICATION = "TRAIN: ASC + ASC x GA\nSM: ASC + CO x GA\n*: log(TT)"
GIVEN = {
    "units": {"TT": "min", "CO": "CHF"},
    "labels": {"TT": "travel time", "GA": "season ticket"},
}


@pytest.fixture(scope="module")
def labelled() -> ac.Result:
    return ac.fit_mnl(survey(**GIVEN), SPECIFICATION)


@pytest.mark.parametrize("package", PLAIN_PACKAGES)
def test_every_coefficient_and_column_says_what_it_is(
    labelled: ac.Result, package: str, tmp_path: Path
) -> None:
    lines = ac.export(labelled, package, tmp_path).read_text(encoding="utf-8").splitlines()
    (time,) = [line for line in lines if "B_LOG_TT" in line and "travel time (min)" in line]
    assert time.endswith("  # TT: travel time (min)")
    (cost,) = [line for line in lines if "B_CO_SM_GA_0" in line and "CHF" in line]
    assert cost.endswith("  # CO: CHF; GA: season ticket")
    comments = [line.strip() for line in lines]
    assert "# log(TT); TT: travel time (min)" in comments
    assert "# GA: season ticket" in comments


def test_pylogit_shows_labels_in_its_tables(labelled: ac.Result, tmp_path: Path) -> None:
    script = ac.export(labelled, "pylogit", tmp_path)
    names = namespace(script)["LABELS"]
    assert list(names) == list(namespace(script)["COEFFICIENTS"])
    assert names["B_LOG_TT"] == "B_LOG_TT [TT: travel time (min)]"
    assert names["ASC_SM"] == "ASC_SM"
    assert "[LABELS[name]]" in script.read_text(encoding="utf-8")


def test_without_labels_there_are_none(tmp_path: Path) -> None:
    script = ac.export(ac.fit_mnl(survey(), SPECIFICATION), "pylogit", tmp_path)
    assert "LABELS" not in script.read_text(encoding="utf-8")


def test_labelled_scripts_have_our_columns_and_are_read_back(
    labelled: ac.Result, tmp_path: Path
) -> None:
    for script in check_scripts(labelled, tmp_path).values():
        assert ac.read_specification(script).not_understood == ()


def scripts(result: ac.Result, label: str, unit: str) -> dict[str, str]:
    """All scripts, as if the reader had let any label and unit pass."""
    assert result.data.source is not None
    given = replace(result.data.source, labels={"TT": label, "GA": label}, units={"TT": unit})
    again = replace(result, data=replace(result.data, source=given))
    with TemporaryDirectory() as folder:
        return {
            package: ac.export(again, package, folder).read_text(encoding="utf-8")
            for package in (*PYTHON, "apollo")
        }


@pytest.fixture(scope="module")
def plain(labelled: ac.Result) -> dict[str, str]:
    """The scripts with harmless texts."""
    return scripts(labelled, "x", "y")


def code(text: str) -> list[str]:
    """The lines of a script without comments at their ends; this one has no # in a literal."""
    return [line.partition("#")[0].rstrip() for line in text.splitlines()]


def check_texts(labelled: ac.Result, plain: dict[str, str], label: str, unit: str) -> None:
    """No label or unit changes a line of code, nor adds one."""
    for package, text in scripts(labelled, label, unit).items():
        assert all(c.isprintable() or c == "\n" for c in text)
        if package in PLAIN_PACKAGES:
            wrapped = abs(len(text.splitlines()) - len(plain[package].splitlines()))
            assert wrapped <= len(label + unit) // 20 + 2  # of the paragraph on top
            kept = [line for line in code(text) if line]
            assert kept == [line for line in code(plain[package]) if line]
        if package != "apollo":
            trees = [ast.parse(text), ast.parse(plain[package])]
            for node in (node for tree in trees for node in ast.walk(tree)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    node.value = node.value.partition(" [")[0]
            assert ast.dump(trees[0]) == ast.dump(trees[1])
        else:
            assert text.isascii()


@pytest.mark.parametrize("text", BREAKERS)
def test_texts_that_break_out_stay_in_their_comment(
    labelled: ac.Result, plain: dict[str, str], text: str
) -> None:
    check_texts(labelled, plain, text, text)


@needs_r
def test_r_runs_a_script_with_texts_that_break_out(labelled: ac.Result, tmp_path: Path) -> None:
    assert labelled.data.source is not None
    given = replace(
        labelled.data.source,
        labels={"TT": "".join(BREAKERS[:8]), "GA": "".join(BREAKERS[8:])},
        units={"TT": "'\"#", "CO": "}\n)"},
    )
    again = replace(labelled, data=replace(labelled.data, source=given))
    script = ac.export(again, "apollo", tmp_path)
    assert logliks(script)[1] == pytest.approx(labelled.loglik, abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=24))
def test_any_text_stays_in_its_comment(
    labelled: ac.Result, plain: dict[str, str], label: str, unit: str
) -> None:
    check_texts(labelled, plain, label, unit)

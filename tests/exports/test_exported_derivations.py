"""Derived columns, filters and conditional availability, in the languages of the scripts."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from export_models import DERIVED_SPECIFICATION, MODECHOICE, read_derived
from export_support import check_scripts, namespace, quietly
from test_apollo import logliks, needs_r

import ardchoice as ac
from ardchoice.expressions import Column, ExpressionError, evaluate, parse_expression


@pytest.fixture
def file(tmp_path: Path) -> Path:
    table = ac.datasets.swissmetro()[:2700]
    table.to_csv(tmp_path / "survey.csv", index=False)
    return tmp_path / "survey.csv"


def test_python_scripts_derive_and_filter_the_users_file(file: Path) -> None:
    result = ac.fit_mnl(read_derived(file), DERIVED_SPECIFICATION)
    assert 1000 < result.n_situations < 2700
    for script in check_scripts(result, file.parent).values():
        made = namespace(script)
        assert made["DATA"] == str(file)
        assert "LEFT_OUT" not in made
        assert "# SM_CO * (GA == 0) / 100" in script.read_text()
    assert not list(file.parent.glob("*_rows.csv"))


def test_rows_with_errors_are_excluded_beside_the_filter(file: Path) -> None:
    table = pd.read_csv(file)
    table.loc[[4, 9], "TRAIN_CO"] = np.nan
    table.loc[[4, 9], "GA"] = 0
    table.to_csv(file, index=False)
    result = ac.fit_mnl(read_derived(file, drop_invalid=True), DERIVED_SPECIFICATION)
    scripts = check_scripts(result, file.parent)
    kept = [row for row in (4, 9) if table["PURPOSE"][row] in (1, 2, 3)]
    assert namespace(scripts["biogeme"])["LEFT_OUT"] == kept


def test_many_rows_with_errors_are_listed_in_a_file_beside_the_filter(file: Path) -> None:
    table = pd.read_csv(file)
    broken = np.arange(0, 600, 3)
    table.loc[broken, "TRAIN_CO"] = np.nan
    table.loc[broken, "GA"] = 0
    table.to_csv(file, index=False)
    result = ac.fit_mnl(read_derived(file, drop_invalid=True), DERIVED_SPECIFICATION)
    scripts = check_scripts(result, file.parent)
    rows = pd.read_csv(scripts["pylogit"].with_name("model_pylogit_rows.csv"))["row"]
    assert len(rows) == result.n_situations
    passing = table.query("PURPOSE in (1, 2, 3) and CHOICE != 0 and INCOME == INCOME").index
    dropped = set(passing) - set(rows)
    assert len(dropped) > 100
    assert dropped <= set(broken.tolist())
    assert "LEFT_OUT" not in namespace(scripts["pylogit"])
    assert "Only rows where" in scripts["pylogit"].read_text()


@needs_r
def test_r_derives_and_filters_too(file: Path) -> None:
    table = pd.read_csv(file)
    table.loc[[4, 9], "TRAIN_CO"] = np.nan
    table.loc[[4, 9], "GA"] = 0
    table.to_csv(file, index=False)
    result = ac.fit_mnl(read_derived(file, drop_invalid=True), DERIVED_SPECIFICATION)
    script = ac.export(result, "apollo", file.parent)
    assert "survey.csv" in script.read_text()
    assert logliks(script)[1] == pytest.approx(result.loglik, abs=1e-6)


def long(source: object) -> ac.ChoiceData:
    return quietly(
        ac.read_long,
        source,
        situation="individual",
        alternative="mode",
        chosen="choice",
        attributes=["total", "ttme"],
        covariates={"rich": ac.Categorical()},
        alternatives={"air": 1, "train": 2, "bus": 3, "car": 4},
        derive={"total": "invc + gc / 10", "rich": 'if(hinc > 30, "yes", "no")'},
        where="hinc < 60",
    )


def test_long_tables_are_filtered_before_situations_are_numbered(tmp_path: Path) -> None:
    file = tmp_path / "modes.csv"
    pd.read_csv(MODECHOICE, sep=";").to_csv(file, index=False)
    result = ac.fit_mnl(long(file), "air: ASC + ASC x rich\ntrain+bus: ASC\n*: total + ttme")
    assert result.n_situations < 210
    scripts = check_scripts(result, tmp_path)
    assert namespace(scripts["xlogit"])["DATA"] == str(file)


@needs_r
def test_long_tables_are_filtered_in_r(tmp_path: Path) -> None:
    file = tmp_path / "modes.csv"
    pd.read_csv(MODECHOICE, sep=";").to_csv(file, index=False)
    result = ac.fit_mnl(long(file), "air: ASC + ASC x rich\ntrain+bus: ASC\n*: total + ttme")
    script = ac.export(result, "apollo", tmp_path)
    assert logliks(script)[1] == pytest.approx(result.loglik, abs=1e-6)


# -- Expressions as code, against our own values --------------------------------------------------

PIECES = ["a", "b", "c", "(a == b)", "2", "0.5", "missing", "(c > 1)", "is_missing(b)", "true"]


def expression(rng: random.Random, depth: int = 0) -> str:
    """A random expression of numbers and conditions."""
    if depth > 2 or rng.random() < 0.2:
        return rng.choice(PIECES)
    one, other, third = (expression(rng, depth + 1) for _ in range(3))
    shape = rng.choice(
        ["({0} + {1})", "({0} - {1})", "({0} * {1})", "({0} / {1})", "({0} % {1})", "(-{0})",
         "({0} ** {1})", "({0} < {1})", "({0} != {1})", "({0} in ({1}, 2, 3))", "min({0}, {1})",
         "max({0}, {1}, {2})", "log({0})", "sqrt({0})", "exp({0})", "abs({0})", "round({0})",
         "floor({0})", "ceil({0})", "if({0} > 1, {1}, {2})", "({0} > 1 and {1} < 2)",
         "({0} == 1 or {1} >= {2})", "(not {0} <= 2)"]
    )  # fmt: skip
    return shape.format(one, other, third)


@pytest.mark.parametrize(
    "names",
    [{"a": "a", "b": "b", "c": "c"}, {"a": "a) how long?", "b": "[b", "c": 'c\'s "cost" \\('}],
    ids=["plain", "brackets and quotes"],
)
def test_random_expressions_have_our_values_in_python(file: Path, names: dict[str, str]) -> None:
    from ardchoice.exports.derivations import PYTHON, written

    script = ac.export(ac.fit_mnl(read_derived(file), DERIVED_SPECIFICATION), "xlogit", file.parent)
    made = namespace(script)
    rng, values = random.Random(1), np.random.default_rng(1)
    drawn = {name: values.choice([0, 1, 2, 3, -1.5, np.nan], 60) for name in names.values()}
    table = pd.DataFrame(drawn)
    compared = 0
    for _ in range(400):
        text = re.sub(r"\b[abc]\b", lambda m: str(Column(names[m[0]])), expression(rng))
        parsed = parse_expression(text)
        try:
            ours = evaluate(parsed, lambda n: table[n].to_numpy(), len(table)).values
        except ExpressionError:
            continue
        code = written(parsed, PYTHON, ())
        with np.errstate(all="ignore"):
            theirs = eval(code, {**made, "table": table})
        np.testing.assert_allclose(np.broadcast_to(theirs, 60), ours, rtol=1e-12, err_msg=code)
        compared += 1
    assert compared > 300

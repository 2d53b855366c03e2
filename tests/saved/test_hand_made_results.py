"""A model estimated by hand is saved, loaded, reported, exported and set beside others."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.estimation import Result

SPEC = ["TRAIN: ASC + TT + CO", "SM: ASC + TT + CO", "CAR: TT + CO"]


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return ac.datasets.swissmetro_choices("real").take(np.arange(1800))


@pytest.fixture(scope="module")
def result(data: ChoiceData) -> Result:
    return ac.fit_mnl(data, SPEC)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fixed": {"SM: TT": -1.0}, "bounds": {"SM: CO": (None, 0)}},
        {"family": ac.Nested({"existing": ["TRAIN", "CAR"]})},
    ],
    ids=["plain", "constrained", "nested"],
)
def test_what_is_saved_is_loaded_to_the_last_bit(
    data: ChoiceData, options: dict[str, object], tmp_path: Path
) -> None:
    result = ac.fit(data, SPEC, **options)  # type: ignore[arg-type]
    result.save(tmp_path / "model")
    again = ac.load(tmp_path / "model", result=True)
    assert isinstance(again, Result)
    np.testing.assert_array_equal(again.coefficients, result.coefficients)
    assert again.summary() == result.summary()
    assert again.family == result.family
    np.testing.assert_array_equal(again.predict(), result.predict())
    change = "TRAIN: TT * 1.1"
    np.testing.assert_array_equal(again.scenario(change).shares, result.scenario(change).shares)
    # Saved again in the same folder, it replaces itself.
    again.save(tmp_path / "model")
    assert len(list((tmp_path / "model").iterdir())) == 2


def test_a_spoilt_or_mixed_folder_is_refused(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "model")
    index = tmp_path / "model" / "study.json"
    index.write_text(index.read_text().replace("1800", "1801", 1))
    with pytest.raises(ac.ArdchoiceError, match="not as it was saved"):
        ac.load(tmp_path / "model")
    study = ac.specify(result.data, ac.SearchSpace(result.data, base="CAR"))
    study.save(tmp_path / "study")
    with pytest.raises(ac.ArdchoiceError, match="has a study"):
        result.save(tmp_path / "study")
    result.save(tmp_path / "other")
    with pytest.raises(ac.ArdchoiceError, match="saved result"):
        study.save(tmp_path / "other")


def test_a_report_shows_utilities_estimates_and_what_follows(
    result: Result, tmp_path: Path
) -> None:
    page = result.report(tmp_path / "model.html").read_text(encoding="utf-8")
    for part in ("Choice between TRAIN, SM and CAR", 'id="estimates"', 'id="elasticities"'):
        assert part in page
    assert "<script src" not in page
    assert "TRAIN: ASC + TT + CO" in page


def test_it_is_exported_and_constraints_are_not_lost_in_silence(
    data: ChoiceData, result: Result, tmp_path: Path
) -> None:
    assert result.export("biogeme", tmp_path / "model.py").exists()
    fixed = ac.fit_mnl(data, SPEC, fixed={"SM: TT": -1.0})
    with pytest.raises(ac.ArdchoiceError, match="under constraints"):
        fixed.export("biogeme", tmp_path / "fixed.py")
    assert "-1" in fixed.export("text", tmp_path / "fixed.txt").read_text(encoding="utf-8")


def test_results_stand_side_by_side_as_latex(data: ChoiceData, result: Result) -> None:
    pytest.importorskip("jinja2")
    other = ac.fit_mnl(data, ["TRAIN: ASC", "SM: ASC", "*: TT + CO"])
    table = ac.compare([result, other], estimates=True)
    assert list(table) == ["(1)", "(2)"]
    latex = table.to_latex()
    assert "\\begin{tabular}" in latex
    assert "*: TT" in latex
    with pytest.raises(ac.ArdchoiceError, match="a name"):
        ac.compare([])


NAMES = ("\\input{/etc/passwd}", "a_b & 5 %", "two\nlines", "$x$ ~ #1 ^{}", "\\end{tabular}")


def test_names_that_latex_takes_for_its_own_are_printed_as_they_are(
    data: ChoiceData, result: Result
) -> None:
    pytest.importorskip("jinja2")
    times = replace(data.attributes["TT"], name="TT_50%")
    renamed = replace(data, attributes={**data.attributes, "TT_50%": times})
    other = ac.fit_mnl(renamed, "TRAIN: ASC + `TT_50%`\nSM: TT\nCAR: CO")
    table = ac.compare(dict.fromkeys(NAMES, other), estimates=True)
    assert list(table) == list(NAMES)  # the table itself is as it was given
    latex = table.to_latex()
    # What is left of LaTeX is the frame of the table and nothing that a name brought.
    commands = set(re.findall(r"\\\\|\\[A-Za-z]+", latex))
    frame = {"\\\\", "\\begin", "\\end", "\\toprule", "\\midrule", "\\bottomrule"}
    words = ("backslash", "asciitilde", "asciicircum", "asciigrave")
    printed = {f"\\text{word}" for word in words}
    assert commands <= frame | printed
    assert latex.count("\\end{tabular}") == 1
    assert latex.replace(r"\&", "").count("&") == len(NAMES) * (len(table) + 1)
    assert r"TT\_50\%" in latex
    assert "\n\n" not in latex
    assert "a_b" in table.to_latex(escape=False)

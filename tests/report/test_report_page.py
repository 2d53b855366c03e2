"""The page of a study: complete, well-formed, inert, light; its numbers are the study's."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.evaluation import evaluate
from ardchoice.record import Evaluation
from ardchoice.report import write_report
from ardchoice.report.document import show
from ardchoice.report.page import render
from ardchoice.report.style import visible
from report.report_support import DOLLAR, SCRIPT, Page, hostile_study, plain_study
from selection.selection_support import made, usual
from tests_support import many_alternatives

LIGHT = 3_000_000
"""Bytes that a page may have."""


@pytest.fixture(scope="module")
def page() -> str:
    return render(plain_study(), command="ardchoice run study.toml")


@pytest.fixture(scope="module")
def hostile() -> str:
    return render(hostile_study(), command=SCRIPT)


@pytest.mark.parametrize("name", ["page", "hostile"])
def test_every_tag_is_closed_and_every_id_is_one(name: str, request: pytest.FixtureRequest) -> None:
    read = Page(request.getfixturevalue(name))
    assert read.mistakes == []
    ids = [value for _, name, value in read.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    links = [v[1:] for _, name, v in read.attributes if name == "href"]
    assert set(links) <= set(ids)


def test_the_page_asks_nothing_of_the_network(page: str) -> None:
    read = Page(page)
    assert "http" not in re.sub("http-equiv", "", page)
    assert not {"link", "iframe", "object", "embed", "img", "base"} & set(read.tags)
    assert not [v for _, name, v in read.attributes if name in ("src", "srcset", "action")]
    assert "@import" not in page
    assert "url(" not in re.sub(r"url\(#", "", page)
    policy = next(v for _, name, v in read.attributes if name == "content")
    assert policy.startswith("default-src 'none'")


def test_only_the_script_that_belongs_to_the_page_may_run(hostile: str) -> None:
    read = Page(hostile)
    assert read.tags.count("script") == 1
    policy = next(v for _, name, v in read.attributes if name == "content")
    assert "script-src 'sha256-" in policy
    assert "unsafe-inline'; script" not in policy.split("script-src")[1]
    events = [name for _, name, _ in read.attributes if name.startswith("on")]
    assert events == []


def test_names_are_shown_as_they_are(hostile: str) -> None:
    read = Page(hostile)
    text = "".join(read.text)
    assert SCRIPT in text
    assert DOLLAR in text
    assert '"><img src=x onerror=alert(1)>' in text
    assert "img" not in read.tags
    # What cannot be seen is shown, and nothing turns the direction of writing.
    assert "\x00" not in hostile
    assert "\x07" not in hostile
    assert "\u202e" not in hostile
    assert "a\N{REPLACEMENT CHARACTER}b" in text


def test_sections_are_those_that_were_promised(page: str) -> None:
    read = Page(page)
    ids = {value for tag, name, value in read.attributes if tag == "section" and name == "id"}
    wanted = "sure estimates fit heldout wtp elasticities relevance path rivals inclusion checks"
    assert set(wanted.split()) | {"stability", "data", "dropped", "settings", "tastes"} == ids
    text = "".join(read.text)
    assert "conditional on the selection" in text
    assert "ardchoice run study.toml" in text
    assert text.index("How sure we are") > text.index("TRAIN" if "TRAIN" in text else "V")
    assert page.count("<svg") >= 4


def test_numbers_of_the_page_are_those_of_the_study(page: str) -> None:
    study, cells = plain_study(), set(Page(page).cells)
    frame = study.result.to_frame()
    for column in ("estimate", "std_err", "low", "high"):
        assert {show(float(v), "figures") for v in frame[column]} <= cells
    assert {show(float(v), "p") for v in frame["p"]} <= cells
    assert study.evaluation is not None
    comparisons = study.evaluation.comparisons
    assert comparisons is not None
    for column in ("loglik", "aic", "bic", "held_out"):
        assert {show(float(v), ",.1f") for v in comparisons[column]} <= cells
    worth = study.result.wtp("TT", "CO")
    assert {show(float(v), "figures") for v in worth["estimate"]} <= cells
    demand = study.result.elasticities("TT")
    assert {show(float(v), ".3f") for v in demand["estimate"]} <= cells
    assert {str(t) for t in study.space.terms} <= cells
    table = study.fit.table()
    assert {show(float(v), "figures") for v in table["lambda"]} <= cells


def test_an_honest_study_shows_both_halves() -> None:
    data = made(600, 1, usual)
    study = ac.specify(data, ac.SearchSpace(data), honest=True)
    read = Page(render(replace(study, evaluation=evaluate(study, folds=2))))
    assert study.selection_result is not None
    for result in (study.result, study.selection_result):
        shown = {show(float(v), "figures") for v in result.coefficients}
        assert shown <= set(read.cells)
    text = "".join(read.text)
    assert "p-values are valid" in text
    assert "p-values are conditional on the selection" not in text


@pytest.mark.parametrize("rule", [ac.LambdaAbove(), ac.Evidence(), ac.FalseDiscovery()])
def test_every_rule_can_be_told(rule: object) -> None:
    data = made(300, 1, usual)
    study = ac.specify(data, ac.SearchSpace(data), rule=rule)  # type: ignore[arg-type]
    read = Page(render(study))
    assert read.mistakes == []
    assert "The line" not in "".join(read.text)


def test_a_study_without_structure_persons_or_evaluation_can_be_told() -> None:
    frame = pd.DataFrame({"x_a": np.linspace(0, 1, 80) ** 2, "x_b": np.linspace(1, 0, 80)})
    noise = np.random.default_rng(0).logistic(size=80)
    frame["choice"] = np.where(2 * (frame["x_a"] - frame["x_b"]) + noise > 0, "a", "b")
    data = ac.read_wide(
        frame, alternatives=["a", "b"], choice="choice", attributes={"x": "x_{alt}"}
    )
    study = ac.specify(data, ac.SearchSpace(data), structure=None)
    for evaluation in (None, Evaluation(), evaluate(study, folds=0)):
        text = render(replace(study, evaluation=evaluation))
        assert Page(text).mistakes == []


def test_a_study_beyond_what_a_study_file_can_say_can_be_told() -> None:
    said = "All settings, as study.toml"
    assert said in render(plain_study())
    page = render(replace(plain_study(), seed=2**40))
    assert said not in page
    assert str(2**40) in page


def test_two_hundred_alternatives_stay_light() -> None:
    data = many_alternatives(150, 200)
    space = ac.SearchSpace(data, constants=False, specific=False, generic=True)
    study = ac.specify(data, space)
    text = render(replace(study, evaluation=evaluate(study, folds=2)))
    assert len(text.encode()) < LIGHT / 10
    assert Page(text).mistakes == []
    assert text.count('class="equation') == 1


def test_six_hundred_terms_stay_light() -> None:
    rng, n = np.random.default_rng(0), 300
    columns = {f"{a}_{k}": rng.normal(size=n) for a in "AB" for k in range(300)}
    pick = np.where(columns["A_0"] - columns["B_0"] + rng.logistic(size=n) > 0, "A", "B")
    data = ac.read_wide(
        pd.DataFrame(columns | {"PICK": pick}),
        alternatives=["A", "B"],
        choice="PICK",
        attributes={f"attribute {k}": f"{{alt}}_{k}" for k in range(300)},
    )
    space = ac.SearchSpace(data)
    assert len(space) > 600
    study = ac.specify(data, space, rule=ac.Evidence(6.0))
    text = render(replace(study, evaluation=Evaluation()))
    assert len(text.encode()) < LIGHT / 3
    read = Page(text)
    assert {str(t) for t in space.terms} <= set(read.cells)


def test_the_report_of_a_study_evaluates_what_was_not(tmp_path: Path) -> None:
    study = replace(plain_study(), evaluation=None)
    path = study.report(tmp_path / "deep" / "report.html")
    text = path.read_text(encoding="utf-8")
    assert "Held-out prediction: 5-fold cross-validation by person" in text
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def test_the_same_study_gives_the_same_page(page: str) -> None:
    assert render(plain_study(), command="ardchoice run study.toml") == page


def test_what_is_hidden_becomes_visible() -> None:
    assert visible("plain\nlines\tstay é") == "plain\nlines\tstay é"
    assert visible("\x1b[31m\ud800\u2066") == "\N{REPLACEMENT CHARACTER}[31m" + "\ufffd" * 2


def in_browser(path: Path) -> Page:
    """The page after its scripts ran."""
    done = subprocess.run(
        [
            *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
            *("--no-first-run", "--disable-background-networking", "--disable-sync"),
            *("--disable-component-update", f"--user-data-dir={path.parent / 'profile'}"),
            *("--dump-dom", path.as_uri()),
        ],
        capture_output=True,
        timeout=120,
        check=True,
    )
    return Page(done.stdout.decode("utf-8"))


browser = pytest.mark.skipif(shutil.which("chromium") is None, reason="no browser here")


@browser
def test_a_browser_shows_the_page_and_runs_no_foreign_script(tmp_path: Path) -> None:
    shown = in_browser(write_report(hostile_study(), tmp_path / "report.html"))
    # Our script ran: headers became buttons. No other did, and no picture was made of a name.
    assert "button" in shown.tags
    assert shown.tags.count("script") == 1
    assert "img" not in shown.tags


@browser
def test_tables_sort_by_number_with_missing_ones_last(page: str, tmp_path: Path) -> None:
    click = (
        "var b = document.querySelectorAll('#relevance th button')[4]; b.click(); b.click();"
        "var t = document.querySelector('#relevance table').tBodies[0].rows;"
        "document.title = Array.from(t).map(r => r.cells[4].textContent).join(' ');"
    )
    free = re.sub(r"<meta http-equiv[^>]*>", "", page)  # so that the test may click
    path = tmp_path / "sorted.html"
    path.write_text(free.replace("</body>", f"<script>{click}</script></body>"), encoding="utf-8")
    read = in_browser(path)
    title = "".join(read.text).strip().splitlines()[0].split()
    evidence = plain_study().fit.table()["evidence"].to_numpy(float)
    wanted = [show(float(v), "figures") for v in np.sort(evidence)]  # not a number comes last
    assert title == wanted


def test_marks_can_be_heard(page: str) -> None:
    # The sign itself is hidden from screen readers, and a word stands in its place.
    for verdict, word in (("good", "Passed"), ("look", "To be looked at"), ("bad", "Problem")):
        marks = re.findall(rf'<li class="{verdict}">(.*?)<strong>', page, re.S)
        assert all(f'<span class="spoken">{word}: </span>' in mark for mark in marks)
    assert '<span class="spoken">Passed: </span>' in page

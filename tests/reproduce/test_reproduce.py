"""The reproduction itself, in parts that take seconds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import ardchoice as ac
from ardchoice.reproduce import reproduce
from ardchoice.reproduce.document import to_markdown
from ardchoice.reproduce.fits import as_published, draw, held_out
from ardchoice.reproduce.items import ITEMS
from ardchoice.reproduce.items.relevance import compare
from ardchoice.reproduce.plan import FULL, QUICK
from ardchoice.reproduce.published import published_lambda

EXACT = 1e-3
"""Published log-likelihoods have three decimals."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reproduction")
    reproduce(folder, only=["specifications", "real"], quick=True, workers=2)
    return folder


def test_a_run_leaves_pages_and_results(made: Path) -> None:
    results = json.loads((made / "results.json").read_text(encoding="utf-8"))
    assert [item["item"] for item in results["items"]] == ["specifications", "real"]
    assert (made / "report.md").read_text(encoding="utf-8") == to_markdown(results)
    page = (made / "index.html").read_text(encoding="utf-8")
    assert "http" not in re.sub(r"arXiv \S+", "", page)


def test_r1_to_r7_and_r6_come_out_as_published(made: Path) -> None:
    results = json.loads((made / "results.json").read_text(encoding="utf-8"))
    numbers = results["items"][1]["numbers"]
    assert numbers["largest_loglik_difference"] < EXACT
    assert numbers["largest_coefficient_difference"] < 0.003
    assert numbers["largest_error_difference"] < 0.001
    assert abs(numbers["baselines"]["PyLogit example"]) < 0.5


def test_a_second_run_does_nothing_again(made: Path) -> None:
    steps: list[object] = []
    reproduce(made, only=["specifications"], quick=True, progress=steps.append)
    assert not steps


def test_what_is_complete_is_shown_also_where_only_some_is_asked_for(made: Path) -> None:
    results = json.loads((made / "results.json").read_text(encoding="utf-8"))
    names = [item["item"] for item in results["items"]]
    assert names == ["specifications", "real"]


def test_a_full_run_does_not_write_over_a_quick_one(made: Path) -> None:
    with pytest.raises(ac.ArdchoiceError, match="holds a quick run"):
        reproduce(made, only=["specifications"])


def test_an_unknown_item_is_reported_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ac.ArdchoiceError, match=r"no item .reel..*real"):
        reproduce(tmp_path, only=["reel"])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("plan", [FULL, QUICK], ids=["full", "quick"])
def test_jobs_have_settings_that_json_can_write(plan: object) -> None:
    for item in ITEMS.values():
        for job in item.jobs(plan):  # type: ignore[arg-type]
            assert json.loads(json.dumps(job.settings)) == job.settings


def test_lambda_is_on_the_published_scale() -> None:
    # Over all rows, not only where the car is available: 0.389 was published for CAR: TT of S2,
    # and 2.353 and 0.120 for the constants, which centring shifts.
    data = draw("S2", 0)
    space = ac.swissmetro_space(data, "medium")
    fit = ac.fit_ard(data, space, prior=as_published())
    lam = dict(zip(map(str, fit.terms), fit.lam, strict=True))
    theirs = published_lambda("medium", "S2")
    strong = ("TRAIN: ASC", "SM: ASC", "SM: CO x GA", "TRAIN: TT x AGE", "CAR: TT")
    assert all(abs(lam[t] / theirs[t] - 1) < 0.3 for t in strong)


def test_agreement_counts_what_it_says() -> None:
    theirs = published_lambda("medium", "S1")
    result = {"terms": list(theirs), "lam": [2 * v for v in theirs.values()]}
    agreement = compare("medium", "S1", result)
    assert (agreement.strong, agreement.close) == (6, 0)
    assert agreement.on_top == agreement.found == agreement.recovered == agreement.true == 8
    result["lam"] = list(theirs.values())
    assert compare("medium", "S1", result).close == 6


def test_prediction_of_those_left_out_ranks_as_it_should() -> None:
    scores = held_out("medium", "S1", 0, "person")
    assert scores["ard"]["loglik"] > scores["all"]["loglik"]
    assert scores["true"]["loglik"] > scores["all"]["loglik"]
    # 0.3 % is what the published results were to be brought to; one split of the easiest row.
    assert scores["ard"]["loglik"] > 1.003 * scores["true"]["loglik"]
    chance = -scores["n"] * 1.0986
    assert all(scores[w]["loglik"] > chance for w in ("all", "ard", "ard mean", "specify"))

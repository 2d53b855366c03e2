"""Scales of nests that diverge or are below 1: shown as they are, and never a finding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from families_support import business

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.families import SCALE_BOUNDS, Mnl, Nested

SPEC = "*: c + t\nC: ASC"
FOUR = "TRAIN: ASC\nCAR: ASC\n*: TT + CO"
BEST = Nested({"ab": ["A", "B"]})


def choices(noise: float, n: int = 800) -> ChoiceData:
    """Of A and B the better one, with errors of this size; C apart from them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 3, n))
    v = -1.0 * x[0] - 0.5 * x[1]
    within = v[:2] + noise * rng.gumbel(size=(2, n))
    best = within.argmax(axis=0)
    apart = v[[0, 1], :].max(axis=0) + rng.gumbel(size=n) > v[2] + rng.gumbel(size=n)
    table = pd.DataFrame(
        {f"{a}_{k}": x[i, j] for j, a in enumerate("ABC") for i, k in enumerate("ct")}
    )
    table["choice"] = np.where(apart, np.array(["A", "B"])[best], "C")
    return ac.read_wide(
        table,
        alternatives=list("ABC"),
        choice="choice",
        attributes={"c": "{alt}_c", "t": "{alt}_t"},
    )


@pytest.fixture(scope="module")
def certain() -> ChoiceData:
    return choices(0.0)


def test_a_scale_at_its_bound_is_no_finding(certain: ChoiceData) -> None:
    result = ac.fit(certain, SPEC, family=BEST)
    assert result.estimates["mu(ab)"] == SCALE_BOUNDS[1]
    row = result.nests().iloc[0]
    assert not row["admissible"]
    assert np.isnan([row["std_err"], row["correlation"], row["p"]]).all()
    [note] = [note for note in result.notes if "mu" in note]
    assert "the scale diverges" in note
    assert note not in result.information


def test_the_search_refuses_a_nest_whose_scale_diverges(certain: ChoiceData) -> None:
    result = ac.fit(certain, SPEC, family=Nested(None))
    assert result.family == Mnl()
    refused = [note for note in result.notes if note.startswith("Not accepted: nest A, B")]
    assert len(refused) == 1
    assert refused[0] not in result.information
    compared = ac.compare_families(certain, SPEC, folds=0)
    assert compared.selected == "mnl"
    assert refused[0] in compared.notes


def test_with_some_error_in_the_nest_it_is_found() -> None:
    result = ac.fit(choices(0.3), SPEC, family=Nested(None))
    assert result.family == Nested({"A+B": ["A", "B"]})
    assert 1 < result.estimates["mu(A+B)"] < SCALE_BOUNDS[1]
    assert result.nests().loc[0, "admissible"]
    assert not any("Not accepted" in note for note in result.notes)


def test_an_inadmissible_family_is_not_selected_whatever_its_bic() -> None:
    wrong = Nested({"wrong": ["SM", "CAR"]})
    found = ac.compare_families(business(), FOUR, families=[wrong], folds=0)
    bic = found.frame.set_index("family")["bic"]
    assert bic["nested"] < bic["mnl"]
    assert found.selected == "mnl"
    assert found.reason.startswith("Multinomial logit: lowest BIC over 752 persons, of the adm")
    assert any("Nested logit: inadmissible, so not selected" in note for note in found.notes)


def test_a_page_shows_why_a_diverging_nest_is_inadmissible(
    certain: ChoiceData, tmp_path: Path
) -> None:
    page = ac.fit(certain, SPEC, family=BEST).report(tmp_path / "page.html")
    text = page.read_text(encoding="utf-8")
    assert "The scale of A, B diverges: μ is at its bound, 50." in text
    assert "do not belong together" not in text


def test_a_cross_nested_logit_is_called_so_with_its_allocations(tmp_path: Path) -> None:
    nests = {"existing": ["TRAIN", "CAR"], "public": ["TRAIN", "SM"]}
    family = Nested(nests, cross=True, allocation={"TRAIN": {"existing": 0.25, "public": 0.75}})
    result = ac.fit(business().take(np.arange(900)), FOUR, family=family)
    assert result.summary().startswith("Cross-nested logit")
    text = result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    table = text[text.index("Allocation of alternatives to nests") :]
    assert table.index("TRAIN") < table.index("0.250") < table.index("0.750")
    assert "(α exp V)^μ" in text
    again = ac.load(result.save(tmp_path / "model"), result=True)
    assert again.family == family
    assert again.family.title == "Cross-nested logit"

"""Terms whose exact estimates go the wrong way leave, one by one, until none does."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from test_joint import ALTERNATIVES, read

import ardchoice as ac
from ardchoice.ard import ArdFit
from ardchoice.selection import Confirmed, confirm, select_jointly, with_exact_signs

PERSONS, ANSWERS = 200, 6
SIGNS = ac.Structure(signs={"CO": "-", "TT": "-"})


def frame() -> pd.DataFrame:
    """Persons of group u like to pay, which no sign allows; tastes for time differ."""
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(PERSONS), ANSWERS)
    n = len(who)
    out = pd.DataFrame({"ID": who})
    group = rng.choice(["u", "v"], PERSONS, p=[0.2, 0.8])
    out["G"], out["H"] = group[who], rng.choice(["p", "q", "r"], PERSONS)[who]
    cost = np.where(group == "u", 0.7, -1.5)[who]
    time = (-1.2 + 1.5 * rng.standard_normal(PERSONS))[who]
    value = rng.gumbel(size=(n, 3))
    for j, name in enumerate(ALTERNATIVES):
        out[f"{name}_TT"] = rng.gamma(4.0, 0.5, n).round(3)
        out[f"{name}_CO"] = rng.uniform(0.0, 3.0, n).round(3)
        value[:, j] += time * out[f"{name}_TT"] + cost * out[f"{name}_CO"]
    out["PICK"] = np.array(ALTERNATIVES)[value.argmax(axis=1)]
    return out


@pytest.fixture(scope="module")
def relevance() -> ArdFit:
    data = read(frame())
    return ac.fit_ard(data, ac.SearchSpace(data, by=["G"], generic=True, specific=False))


@pytest.fixture(scope="module")
def confirmed(relevance: ArdFit) -> Confirmed:
    """Decided as if every sign were welcome."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)
        mnl = ac.select(relevance)
        found = select_jointly(relevance, mnl)
        return confirm(relevance.data, found, family=ac.Mixed(nodes=32))


def names(confirmed: Confirmed) -> set[str]:
    return {str(t) for t in confirmed.selection.specification.terms}


def test_the_term_that_goes_the_wrong_way_leaves_and_says_why(
    relevance: ArdFit, confirmed: Confirmed
) -> None:
    assert "*: CO x G" in names(confirmed)
    family = ac.Mixed(nodes=32)
    repaired = with_exact_signs(relevance, confirmed, family=family, structure=SIGNS)
    assert names(repaired) == names(confirmed) - {"*: CO x G"}
    why = repaired.selection.specification.reasons[ac.parse_term("*: CO x G")]
    assert why.startswith("dropped: with it, utility would go the wrong way for")
    assert "CO for G u" in why
    result, _ = repaired.estimated  # type: ignore[misc]
    assert result.mean_coefficients[result.names.index("*: CO")] < 0
    # The same by hand.
    again = ac.fit(relevance.data, repaired.selection.specification, family=result.family)
    assert again.loglik == pytest.approx(result.loglik, abs=1e-3)


def test_what_goes_the_right_way_stays_as_it_is(relevance: ArdFit, confirmed: Confirmed) -> None:
    family = ac.Mixed(nodes=32)
    for structure in (None, ac.Structure(), ac.Structure(signs={"TT": "-"})):
        same = with_exact_signs(relevance, confirmed, family=family, structure=structure)
        assert same is confirmed


def test_where_nothing_helps_nothing_leaves(relevance: ArdFit, confirmed: Confirmed) -> None:
    structure = replace(SIGNS, force=["*: CO x G"])
    family = ac.Mixed(nodes=32)
    same = with_exact_signs(relevance, confirmed, family=family, structure=structure)
    assert same is confirmed


def test_a_mixed_study_obeys_its_signs() -> None:
    data = read(frame())
    space = ac.SearchSpace(data, by=["G"], generic=True, specific=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)
        study = ac.specify(data, space, family=ac.Mixed(nodes=32), structure=SIGNS)
    assert "CO x G" not in str(study.specification)
    assert not any("wrong way" in alert for alert in study.specification.alerts)

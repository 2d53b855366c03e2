"""Screening and search of nests, against the nested logit itself and simulated structures."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from families_support import business

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.design import Design
from ardchoice.errors import ArdchoiceError, SpecificationError
from ardchoice.families import Mnl, Nested, candidate_subsets, family_pass, screen_nests

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from nest_search import draw_sample, found_nests

FOUR = "TRAIN: ASC\nCAR: ASC\n*: TT + CO"


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return business()


def test_scores_are_those_of_the_nested_logit_at_scale_one(data: ChoiceData) -> None:
    result = ac.fit_mnl(data, FOUR)
    design = Design(data, result.encoding)
    subsets, names = candidate_subsets(3), data.alternatives
    beta = result.coefficients[design.order]
    found = screen_nests(beta, design.passing(), subsets, 3)
    blocks = list(design.blocks())
    for k, subset in enumerate(subsets):
        family = Nested({"m": [names[j] for j in subset]})
        layout = family.layout(design.encoding).reordered(design.order)
        theta = np.append(beta, 1.0)
        sums = family_pass(family, layout, theta, blocks)
        assert found.score[k] == pytest.approx(sums.gradient[-1], abs=1e-6)
        # Clustered by person, with the coefficients projected out.
        each = np.concatenate([family.scores(theta, b, layout).each for b in blocks], axis=1)
        person = np.concatenate([b.person for b in blocks if b.person is not None])
        by_person = np.array([np.bincount(person, row) for row in each])
        information = _expected_information(family, layout, theta, blocks)
        slopes = np.linalg.solve(information[:-1, :-1], information[:-1, -1])
        left = by_person[-1] - slopes @ by_person[:-1]
        assert found.variance[k] == pytest.approx(left @ left, rel=1e-8)
        inside = information[-1, -1] - slopes @ information[:-1, -1]
        assert found.information[k] == pytest.approx(inside, rel=1e-8)


def _expected_information(family, layout, theta, blocks):  # type: ignore[no-untyped-def]
    """Σ_n Σ_i P_i s(i) s(i)' with the scores of every possible choice i."""
    total = 0.0
    for block in blocks:
        p = family.probabilities(theta, block, layout)
        for i in range(len(p)):
            chosen = np.where(p[i] > 0, i, block.choice)
            other = replace(block, choice=chosen)
            s = family.scores(theta, other, layout).each
            total = total + (s * p[i]) @ s.T
    return total


def test_screening_of_swissmetro_names_the_one_admissible_nest(data: ChoiceData) -> None:
    frame = ac.fit_mnl(data, FOUR).nests()
    assert list(frame["alternatives"]) == ["TRAIN, CAR", "TRAIN, SM", "SM, CAR"]
    assert list(frame["admissible"]) == [True, False, False]
    assert frame.loc[0, "z"] > 5
    assert max(map(len, repr(frame).splitlines())) <= 80


def test_screening_does_not_depend_on_blocks_or_the_order_of_rows(data: ChoiceData) -> None:
    shuffled = data.take(np.random.default_rng(0).permutation(len(data)))
    here, there = (ac.fit_mnl(d, FOUR).nests() for d in (data, shuffled))
    np.testing.assert_allclose(here["z"], there["z"], rtol=1e-6)


def test_nests_are_of_a_multinomial_logit_with_three_alternatives_or_more(data: ChoiceData) -> None:
    with pytest.raises(ArdchoiceError, match="screened at a multinomial logit"):
        ac.fit(data, FOUR, family=ac.LatentClass(1)).nests()
    with pytest.raises(ArdchoiceError, match="between 2 and 2"):
        ac.fit_mnl(data, FOUR).nests(largest=3)


def test_a_nested_logit_shows_its_own_nests(data: ChoiceData) -> None:
    frame = ac.fit(data, FOUR, family=Nested({"a": ["TRAIN", "CAR"]})).nests()
    row = frame.iloc[0]
    assert (row["nest"], row["alternatives"], row["admissible"]) == ("a", "TRAIN, CAR", True)
    assert row["mu"] == pytest.approx(2.0541, abs=2e-4)
    assert row["lambda"] == pytest.approx(0.4869, abs=2e-4)
    assert row["correlation"] == pytest.approx(1 - 0.4869**2, abs=2e-4)
    wrong = ac.fit(data, FOUR, family=Nested({"b": ["SM", "CAR"]})).nests()
    assert not wrong.loc[0, "admissible"]


def test_the_search_finds_the_nest_of_swissmetro(data: ChoiceData) -> None:
    result = ac.fit(data, FOUR, family=Nested(None))
    assert result.family == Nested({"TRAIN+CAR": ["TRAIN", "CAR"]})
    assert result.loglik == pytest.approx(-5236.9, abs=1e-3)
    assert "Nests found by the data" in result.notes[0]


@pytest.mark.parametrize("n_nests", [0, 1, 2])
def test_the_search_finds_what_drew_the_choices(n_nests: int) -> None:
    sample = draw_sample(1_000 * n_nests + 4, n_nests)
    assert found_nests(sample.data) == sample.nests


def test_without_a_nest_the_search_ends_at_the_multinomial_logit() -> None:
    data = draw_sample(1, 0).data
    constants = "\n".join(f"{name}: ASC" for name in data.alternatives[1:])
    result = ac.fit(data, f"{constants}\n*: t + c", family=Nested(None))
    assert result.family == Mnl()
    assert "No nest is supported" in result.notes[0]


def test_nests_that_are_still_to_be_found_have_no_parameters(data: ChoiceData) -> None:
    with pytest.raises(SpecificationError, match="still to be found"):
        Nested(None).layout(Design(data, ac.fit_mnl(data, FOUR).encoding).encoding)
    with pytest.raises(SpecificationError, match="needs its nests"):
        Nested(None, cross=True)


def test_pairs_of_a_hundred_alternatives_are_screened_in_one_pass() -> None:
    rng = np.random.default_rng(0)
    n_alternatives, n = 100, 1_500
    names = [f"A{j}" for j in range(n_alternatives)]
    table = pd.DataFrame({f"{name}_x": rng.normal(size=n) for name in names})
    table["choice"] = rng.choice(names, n)
    data = ac.read_wide(table, alternatives=names, choice="choice", attributes={"x": "{alt}_x"})
    result = ac.fit_mnl(data, "*: x")
    design = Design(data, result.encoding)
    passes = 0

    class Counted(list):  # type: ignore[type-arg]
        def __iter__(self):  # type: ignore[no-untyped-def]
            nonlocal passes
            passes += 1
            return super().__iter__()

    subsets = candidate_subsets(n_alternatives)
    found = screen_nests(result.coefficients, Counted(design.blocks()), subsets, n_alternatives)
    assert len(found.z) == 4_950
    assert passes == 1
    # No nest drew these choices: z is standard normal.
    assert 0.8 < found.z.std() < 1.2

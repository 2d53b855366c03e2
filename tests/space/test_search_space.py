"""The search space: sizes, what is left out and why, terms given by hand."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.space.search import matches, parse_transform

PAPER = json.loads((Path(__file__).parents[1] / "reference" / "paper.json").read_text())


@pytest.fixture(scope="module")
def data() -> ac.ChoiceData:
    return ac.datasets.swissmetro_choices()


@pytest.mark.parametrize("size", ["medium", "large"])
def test_published_spaces_have_their_published_sizes(data: ac.ChoiceData, size: str) -> None:
    space, published = ac.swissmetro_space(data, size), PAPER["spaces"][size]
    assert len(space) == published["groups"]
    assert space.n_columns == published["columns"]
    for place, count in published["per_alternative_columns"].items():
        inside = np.array([t.place == place for t in space.terms])
        assert space.columns[inside].sum() == count
        assert inside.sum() == published["per_alternative_groups"][place]
    assert not space.dropped


def test_the_extreme_space_has_a_thousand_columns_for_every_alternative() -> None:
    data = ac.datasets.swissmetro_choices(noise_to=1000)
    space = ac.swissmetro_space(data, "extreme")
    assert space.n_columns == 3000
    for place in data.alternatives:
        assert sum(space.columns[i] for i, t in enumerate(space.terms) if t.place == place) == 1000
    noise = data.attributes["noise_CAR1"].values
    assert abs(noise.mean()) < 0.05
    assert noise.std() == pytest.approx(1, abs=0.05)
    assert ac.swissmetro_space(data, "medium").n_columns == 252
    with pytest.raises(ac.ArdchoiceError, match="needs noise"):
        ac.swissmetro_space(ac.datasets.swissmetro_choices(), "extreme")


def test_columns_agree_with_the_design(data: ac.ChoiceData) -> None:
    space = ac.swissmetro_space(data, "large")
    counts = [t.n_columns for t in ac.Design(data, space.terms).encoding.terms]
    np.testing.assert_array_equal(space.columns, counts)


def test_depth_two_interacts_with_pairs(data: ac.ChoiceData) -> None:
    space = ac.SearchSpace(data, by=["GA", "AGE"], base="CAR", depth=2)
    assert "TRAIN: CO x GA x AGE" in map(str, space.terms)
    flat = ac.SearchSpace(data, by=["GA", "AGE"], base="CAR", depth=0)
    assert {str(t) for t in flat.terms} == {
        *("TRAIN: ASC", "TRAIN: TT", "TRAIN: CO", "TRAIN: HE"),
        *("SM: ASC", "SM: TT", "SM: CO", "SM: HE", "CAR: TT", "CAR: CO"),
    }


def test_generic_terms_stand_beside_specific_ones_or_alone(data: ac.ChoiceData) -> None:
    both = ac.SearchSpace(data, generic=["CO"])
    assert "*: CO" in map(str, both.terms)
    assert "CAR: CO" in map(str, both.terms)
    alone = ac.SearchSpace(data, generic=True, specific=False)
    names = [str(t) for t in alone.terms]
    assert names == ["TRAIN: ASC", "SM: ASC", "*: TT", "*: CO", "*: HE"]
    without = ac.SearchSpace(data, generic=True, specific=False, constants=False)
    assert [str(t) for t in without.terms] == names[2:]


def test_terms_can_be_added_removed_and_forced(data: ac.ChoiceData) -> None:
    space = ac.SearchSpace(
        data,
        ["linear", "segments(4)"],
        by=["AGE"],
        add="CAR: piecewise(TT, 100)",
        remove=["*: segments(*)", "SM: * x AGE"],
        force=["TRAIN: log(TT)"],
    )
    names = [str(t) for t in space.terms]
    assert "CAR: piecewise(TT, 100)" in names
    assert not any("segments" in n for n in names)
    assert not any(n.startswith("SM") and "AGE" in n for n in names)
    assert [str(t) for t in space.forced] == ["TRAIN: log(TT)"]
    assert space.dropped[ac.parse_term("SM: TT x AGE")] == "removed by 'SM: * x AGE'"
    assert "always in: TRAIN: log(TT)" in str(space)


def made(**columns: object) -> ac.ChoiceData:
    rng = np.random.default_rng(0)
    n = 60
    table = pd.DataFrame(
        {
            "pick": rng.integers(1, 3, n),
            "x_a": rng.integers(0, 2, n),
            "x_b": rng.integers(0, 2, n),
            "y_a": rng.normal(size=n),
            "y_b": rng.normal(size=n),
            "k_a": np.ones(n),
            "k_b": rng.normal(size=n),
            "g": np.where(np.arange(n) % 2, "u", "v"),
            "h": np.where(np.arange(n) % 2, "s", "t"),
        }
    ).assign(**columns)
    with pytest.warns(ac.ArdchoiceWarning, match="1 in every row"):
        return ac.read_wide(
            table,
            alternatives={"a": 1, "b": 2},
            choice="pick",
            attributes={"x": "x_{alt}", "y": "y_{alt}", "k": "k_{alt}"},
            covariates={"g": ac.Categorical(reference="u"), "h": ac.Categorical(reference="t")},
        )


def test_what_cannot_be_is_left_out_with_the_reason() -> None:
    space = ac.SearchSpace(made(), ["linear", "log1p", "log"], by=["g", "h"], depth=2)
    why = {str(t): reason for t, reason in space.dropped.items()}
    assert "positive values" in why["a: log(x)"]
    assert "values above -1" in why["b: log1p(y)"]
    assert why["a: k"] == "it never varies where available"
    # Of zeros and ones every form is the same up to scale.
    assert why["a: log1p(x)"] == "the same as 'a: x'"
    assert why["a: y x g x h"] == "no situation with g=v, h=s"
    assert "a: y x g" in map(str, space.terms)
    assert "excluded" in str(space)


def test_forced_terms_that_cannot_be_are_refused() -> None:
    with pytest.raises(ac.SpecificationError, match=r"'a: log\(x\)' is forced but cannot be"):
        ac.SearchSpace(made(), force="a: log(x)")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": ["AGES"]}, "no covariate 'AGES'.*Did you mean 'AGE'"),
        ({"base": "TRIAN"}, "Did you mean 'TRAIN'"),
        ({"transforms": ["lgo"]}, "no transform 'lgo'.*Did you mean 'log'"),
        ({"transforms": {"TTT": ["log"]}}, "no attribute 'TTT'"),
        ({"generic": ["COST"]}, "no attribute 'COST'"),
        ({"attributes": ["COST"]}, "no attribute 'COST'"),
        ({"remove": "segments"}, "not a pattern"),
        ({"depth": -1}, "depth"),
    ],
)
def test_mistakes_are_explained(data: ac.ChoiceData, options: dict, message: str) -> None:
    with pytest.raises(ac.ArdchoiceError, match=message):
        ac.SearchSpace(data, **options)


def test_patterns_fit_terms_by_place_and_content() -> None:
    term = ac.parse_term("TRAIN: log(TT) x GA")
    for pattern in ("*: *", "TRAIN: *", "*: log(*) x *", "TRAIN: log(TT) x GA", "*:  *  x  GA"):
        assert matches(pattern, term), pattern
    for pattern in ("SM: *", "*: log(TT)", "*: log(CO)*", "*: *GA x"):
        assert not matches(pattern, term), pattern


def test_forms_are_read_without_their_attribute() -> None:
    assert parse_transform("segments(4)").text("v") == "segments(v, 4)"
    assert parse_transform("piecewise(1, 2.5)").text("v") == "piecewise(v, 1, 2.5)"
    with pytest.raises(ac.SpecificationError, match="numbers"):
        parse_transform("segments(four)")


def test_the_space_prints_its_size(data: ac.ChoiceData) -> None:
    text = str(ac.swissmetro_space(data, "medium"))
    assert "72" in text
    assert "252" in text
    assert "2^72" in text
    assert max(map(len, text.splitlines())) <= 80


def test_an_interaction_that_repeats_its_main_term_is_left_out() -> None:
    rng = np.random.default_rng(1)
    pays = np.arange(200) % 2
    table = pd.DataFrame(
        {
            "pick": rng.integers(1, 3, 200),
            "fare_a": rng.uniform(1, 2, 200) * pays,
            "fare_b": rng.uniform(1, 2, 200),
            "pass": np.where(pays, "no", "yes"),
        }
    )
    data = ac.read_wide(
        table,
        alternatives={"a": 1, "b": 2},
        choice="pick",
        attributes={"fare": "fare_{alt}"},
        covariates={"pass": ac.Categorical(reference="yes")},
    )
    space = ac.SearchSpace(data, by=["pass"])
    assert space.dropped[ac.parse_term("a: fare x pass")] == "the same as 'a: fare'"
    assert "b: fare x pass" in map(str, space.terms)

"""Families that name terms, on other specifications: what there is of the terms is kept."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.design import Encoding, learn_encoding
from ardchoice.families import Family
from ardchoice.settings import settings_of
from ardchoice.space import as_specification

OTHER = "TRAIN: ASC + TT\nSM: ASC\n*: CO"


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return ac.datasets.swissmetro_choices("real").take(np.arange(900))


@pytest.fixture(scope="module")
def encoding(data: ChoiceData) -> Encoding:
    return learn_encoding(data, as_specification(OTHER).terms)


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        (ac.Mixed({"*: CO": "normal"}), ac.Mixed({"*: CO": "normal"})),
        # Another form of the attribute takes its place; what there is not is dropped.
        (
            ac.Mixed({"TRAIN: log1p(TT)": "normal", "SM: TT": "normal", "CAR: ASC": "normal"}),
            ac.Mixed({"TRAIN: TT": "normal", "CAR: ASC": "normal"}),
        ),
        (ac.Mixed({"SM: TT": "normal"}), ac.Mnl()),
        (
            ac.Mixed({"TRAIN: TT": "normal", "*: CO": "normal"}, correlated=True),
            ac.Mixed({"TRAIN: TT": "normal", "*: CO": "normal"}, correlated=True),
        ),
        (
            ac.LatentClass(2, shared=["*: CO x GA", "*: log1p(CO)", "SM: ASC"]),
            ac.LatentClass(2, shared=["*: CO", "SM: ASC"]),
        ),
        (
            ac.LatentClass(2, absent={"1": ["SM: TT"], "2": ["TRAIN: TT"]}),
            ac.LatentClass(2, absent={"2": ["TRAIN: TT"]}),
        ),
        (ac.Nested({"rail": ["TRAIN", "SM"]}), ac.Nested({"rail": ["TRAIN", "SM"]})),
    ],
)
def test_named_terms_that_there_are_stay(
    encoding: Encoding, family: Family, expected: Family
) -> None:
    assert family.for_terms(encoding) == expected


def test_a_mixed_logit_is_compared_with_a_specification_of_other_terms(data: ChoiceData) -> None:
    space = ac.SearchSpace(data, ["log1p"], base="CAR", generic=True)
    found_by_mnl = ac.specify(data, space)
    mixed = ac.fit(
        data, "TRAIN: ASC\nSM: ASC\n*: log1p(TT)", family=ac.Mixed({"*: log1p(TT)": "normal"})
    )
    study = replace(found_by_mnl, result=mixed, specification=mixed.specification)
    found = study.evaluated(folds=2, compare={"by hand": "TRAIN: ASC\nSM: ASC\n*: TT + CO"})
    assert found.evaluation is not None
    frame = found.evaluation.comparisons.set_index("model")
    given = ac.fit(data, "TRAIN: ASC\nSM: ASC\n*: TT + CO", family=ac.Mixed({"*: TT": "normal"}))
    assert frame.loc["by hand", "loglik"] == pytest.approx(given.loglik, abs=1e-3)


def two_attributes() -> ChoiceData:
    """Persons differ in v; w changes nothing."""
    rng = np.random.default_rng(4)
    person = np.repeat(np.arange(100), 6)
    v, w = rng.normal(size=(2, 3, len(person)))
    taste = 1.5 + np.repeat(rng.normal(size=100), 6)
    choice = (taste * v + rng.gumbel(size=v.shape)).argmax(axis=0)
    table = pd.DataFrame(
        {f"{a}_{k}": x[j] for j, a in enumerate("ABC") for k, x in (("v", v), ("w", w))}
    )
    table["choice"], table["who"] = np.array(list("ABC"))[choice], person
    return ac.read_wide(
        table,
        alternatives=list("ABC"),
        choice="choice",
        attributes={"v": "{alt}_v", "w": "{alt}_w"},
        person="who",
    )


@pytest.mark.parametrize(
    ("family", "left", "words"),
    [
        (
            ac.Mixed({"*: v": "normal", "*: w": "normal"}, nodes=16),
            ac.Mixed({"*: v": "normal"}, nodes=16),
            "Of the terms that the mixed logit names, the search dropped *: w.",
        ),
        (
            ac.Mixed({"*: w": "normal"}, nodes=16),
            ac.Mnl(),
            "dropped *: w. Nothing is left of it: this is a multinomial logit.",
        ),
        (
            ac.LatentClass(2, shared=["*: w"], starts=2),
            ac.LatentClass(2, starts=2),
            "Of the terms that the latent class logit names, the search dropped *: w.",
        ),
    ],
)
def test_named_terms_that_the_search_drops_end_no_study(
    family: Family, left: Family, words: str, tmp_path: Path
) -> None:
    data = two_attributes()
    space = ac.SearchSpace(data, constants=False, generic=True, specific=False)
    with pytest.warns(ac.ArdchoiceWarning, match=re.escape(words)):
        study = ac.specify(data, space, family=family)
    assert [str(term) for term in study.specification.terms] == ["*: v"]
    assert study.result.family == left
    assert words in " ".join(study.summary().split())
    # What was asked for is what the study file of the study asks for.
    assert settings_of(study).make_family() == family
    again = ac.load(study.save(tmp_path / "study"))
    assert settings_of(again).make_family() == family


def test_terms_that_classes_name_are_checked_before_anything_is_estimated() -> None:
    data = two_attributes()
    space = ac.SearchSpace(data, constants=False, generic=True, specific=False)
    called: list[object] = []
    with pytest.raises(ac.ArdchoiceError, match="'A: v' is no candidate of the space"):
        ac.specify(data, space, family=ac.LatentClass(2, shared=["A: v"]), progress=called.append)
    assert not called

"""Families that name terms, on other specifications: what there is of the terms is kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.design import Encoding, learn_encoding
from ardchoice.families import Family
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

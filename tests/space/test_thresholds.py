"""Forms whose thresholds are estimated: what they learn, make and refuse."""

import numpy as np
import pytest

import ardchoice as ac
from ardchoice.space import Piecewise, Steps, Term, Thresholds, parse_term, parse_transform


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("A: thresholds(TT, 2)", Term(("A",), "TT", Thresholds(2))),
        ("A: steps(TT, 3) x GA", Term(("A",), "TT", Steps(3), ("GA",))),
        ("*: thresholds(`my time`, 1)", Term((), "my time", Thresholds(1))),
    ],
)
def test_a_term_reads_and_prints(text, term):
    assert parse_term(text) == term
    assert str(term) == text


def test_one_threshold_needs_no_number():
    assert parse_term("A: thresholds(TT)") == parse_term("A: thresholds(TT, 1)")
    assert parse_transform("thresholds") == Thresholds(1)
    assert parse_transform("steps(2)") == Steps(2)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("A: thresholds(TT, 4)", "whole number of thresholds, from 1 to 3"),
        ("A: thresholds(TT, 0)", "whole number of thresholds, from 1 to 3"),
        ("A: thresholds(TT, 1.5)", "Where they are known, write piecewise"),
        ("A: thresholds(TT, 30, 60)", "Where they are known, write piecewise"),
        ("A: steps(TT)", "takes the number of classes"),
        ("A: steps(TT, 1)", "whole number of classes, from 2 to 4"),
        ("A: steps(TT, 5)", "whole number of classes, from 2 to 4"),
    ],
)
def test_what_cannot_be_is_refused_with_what_could(text, says):
    with pytest.raises(ac.SpecificationError, match=says):
        parse_term(text)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_thresholds_start_between_values_with_some_on_every_side(k):
    rng = np.random.default_rng(k)
    for x in (
        rng.gamma(2, size=50),
        rng.integers(0, 9, 60).astype(float),
        np.r_[np.zeros(99), 1:8],
    ):
        for how in (Thresholds(k), Steps(k + 1)):
            cuts = how.learn(x)
            sides = np.searchsorted(np.array(cuts), x, side="right")
            assert len(np.unique(sides)) == k + 1
            assert not set(cuts) & set(x)
            values, counts = np.unique(x, return_counts=True)
            assert how.learn(values, counts) == cuts


def test_columns_and_slopes_are_those_of_given_knots():
    x, cuts = np.linspace(-3, 9, 41), (0.2, 4.4)
    assert np.array_equal(Thresholds(2).apply(x, cuts), Piecewise(cuts).apply(x, ()))
    assert np.array_equal(Thresholds(2).slope(x, cuts), Piecewise(cuts).slope(x, ()))
    assert np.allclose(Thresholds(2).apply(x, cuts).sum(axis=0), x)
    h = 1e-6
    ends = [Thresholds(2).apply(x + s, cuts) for s in (-h, h)]
    assert np.allclose((ends[1] - ends[0]) / (2 * h), Thresholds(2).slope(x, cuts), atol=1e-6)


def test_too_few_values_are_refused():
    with pytest.raises(
        ac.TransformError, match="4 distinct values to place 1 threshold, and there are 2"
    ):
        Thresholds(1).learn(np.array([0.0, 1.0, 1.0]))
    with pytest.raises(ac.TransformError, match="3 distinct values to place 2 thresholds"):
        Steps(3).learn(np.array([0.0, 1.0]))


def test_only_forms_without_a_shift_are_estimated():
    assert [p.kind for p in parse_transform("boxcox").shapes()] == ["exponent"]
    assert parse_transform("boxcox(1)").shapes() == ()
    assert [p.smoothness for p in parse_transform("thresholds(2)").shapes()] == [1, 1]
    assert [p.smoothness for p in parse_transform("steps(3)").shapes()] == [0, 0]


def test_a_space_excludes_thresholds_of_an_attribute_with_two_values():
    data = ac.datasets.swissmetro_choices("real").take(range(300))
    space = ac.SearchSpace(data, {"HE": ["linear", "thresholds", "steps(2)"]}, base="CAR")
    dropped = {str(t): reason for t, reason in space.dropped.items()}
    assert "distinct values" in dropped["TRAIN: thresholds(HE, 1)"]
    assert all("steps" not in text for text in map(str, space.terms) if text.startswith("CAR"))

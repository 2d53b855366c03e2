"""One-dimensional k-means against every partition, random restarts and its own fixed point."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ardchoice.data import datasets
from ardchoice.space import Segments, kmeans
from ardchoice.space.kmeans import MAX_CLASS_STARTS, _lloyd, kmeans_cuts

ROUNDING = 1e-9
"""Relative: sums of up to 1e5 squares."""
NEARLY_BEST = 1.001
"""Inertia relative to the best of many restarts: cuts start from a spread of places only."""
RESTARTS = 20


def inertia(x, cuts):
    """Squared distance to the mean of the class, class by class."""
    code = np.searchsorted(cuts, x, side="right")
    return sum(((x[code == c] - x[code == c].mean()) ** 2).sum() for c in np.unique(code))


def best_of_all_partitions(x, k):
    """Inertia of the best of all ways to cut the ascending values into k runs."""
    return min(
        sum(((run - run.mean()) ** 2).sum() for run in np.split(x, list(edges)))
        for edges in combinations(range(1, len(x)), k - 1)
    )


def best_of_restarts(x, k, seed=0):
    """Inertia of the best of many runs of the textbook algorithm from random centres."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(RESTARTS):
        centres = np.sort(rng.choice(np.unique(x), k, replace=False))
        for _ in range(200):
            nearest = np.abs(x[:, None] - centres).argmin(axis=1)
            new = np.array([x[nearest == c].mean() if (nearest == c).any() else centres[c]
                            for c in range(k)])  # fmt: skip
            if np.array_equal(new, centres):
                break
            centres = new
        found.append(((x - centres[nearest]) ** 2).sum())
    return min(found)


@given(st.lists(st.integers(-20, 20).map(float), min_size=4, max_size=12), st.integers(2, 4))
@settings(deadline=None)
def test_few_values_are_cut_in_the_best_of_all_ways(values, k):
    x = np.sort(np.array(values))
    if len(np.unique(x)) < k:
        return
    cuts = kmeans_cuts(x, k)
    assert inertia(x, cuts) == pytest.approx(best_of_all_partitions(x, k), rel=ROUNDING, abs=1e-9)


def swissmetro_costs(alternative):
    data = datasets.swissmetro_choices("real")
    j = data.alternatives.index(alternative)
    return data.attributes["CO"].of(j)[data.available[j]]


rng = np.random.default_rng(0)
N = 2000
SAMPLES = {
    "lognormal": rng.lognormal(0, 1.5, N),
    "outliers": np.concatenate([rng.normal(size=N), 1e4 + rng.normal(size=3)]),
    "clusters": (rng.normal(size=N) + 8 * rng.integers(0, 5, N)),
    "mostly zero": np.where(rng.random(N) < 0.9, 0.0, rng.exponential(1, N)),
    "heavy tail": rng.pareto(0.4, N),
    "far from zero": 1e9 + rng.exponential(10, N),
}


@pytest.mark.parametrize("k", [2, 3, 5, 8])
@pytest.mark.parametrize("sample", [*SAMPLES, "TRAIN", "SM", "CAR"])
def test_skewed_values_are_cut_as_well_as_by_the_best_of_many_restarts(sample, k):
    x = SAMPLES[sample] if sample in SAMPLES else swissmetro_costs(sample)[:N]
    cuts = Segments(k).learn(x)
    assert inertia(x, cuts) <= NEARLY_BEST * best_of_restarts(x, k)


@pytest.mark.parametrize("k", [2, 4, 7])
@pytest.mark.parametrize("sample", SAMPLES)
def test_cuts_lie_midway_between_the_means_and_values_are_nearest_to_their_own(sample, k):
    x = SAMPLES[sample]
    assert len(np.unique(x)) > 2 * MAX_CLASS_STARTS or sample == "mostly zero"
    cuts = np.array(Segments(k).learn(x))
    code = Segments(k).codes(x, tuple(cuts))
    means = np.array([x[code == c].mean() for c in range(k)])
    close = ROUNDING * np.ptp(x) + 4 * np.spacing(np.abs(x).max())
    np.testing.assert_allclose(cuts, (means[1:] + means[:-1]) / 2, rtol=0, atol=close)
    away = np.abs(x[:, None] - means)
    assert (away[np.arange(len(x)), code] <= away.min(axis=1) + close).all()


@pytest.mark.parametrize("k", [3, 30])
@pytest.mark.parametrize("sample", SAMPLES)
def test_a_spread_of_places_does_nearly_as_well_as_all_of_them(sample, k, monkeypatch):
    x = np.sort(SAMPLES[sample])
    spread = inertia(x, kmeans_cuts(x, k))
    monkeypatch.setattr(kmeans, "MAX_CLASS_STARTS", len(x))
    assert spread <= NEARLY_BEST * inertia(x, kmeans_cuts(x, k))


def test_as_many_classes_as_places_still_find_room(monkeypatch):
    monkeypatch.setattr(kmeans, "MAX_CLASS_STARTS", 5)
    x = np.sort(np.concatenate([np.zeros(1000), 1 + 1e-9 * np.arange(500), [1e6]]))
    cuts = kmeans_cuts(x, 100)
    assert len(np.unique(np.searchsorted(cuts, x, side="right"))) == 100


def test_a_class_that_would_become_empty_stops_the_iteration():
    # The outer means pull both values out of the middle class.
    values = np.array([-0.1, 0.0, 10.0, 10.1])
    cuts = _lloyd(values, np.arange(5), np.array([0, 1, 3, 4]))
    np.testing.assert_array_equal(np.searchsorted(cuts, values, side="right"), [0, 1, 1, 2])

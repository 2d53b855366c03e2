"""Ranges of rows hold whole persons; scattered rows are brought together."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import ardchoice as ac
from ardchoice.data import grouped_by_person, whole_person_ranges
from ardchoice.data.person_rows import distinct_ids, person_starts


@pytest.fixture(scope="module")
def data():
    return ac.datasets.swissmetro_choices("real").take(np.arange(900))


@pytest.mark.parametrize("size", [1, 5, 9, 10, 100, 898, 900, 10_000])
def test_ranges_cover_all_rows_once_and_cut_no_person_apart(data, size):
    ranges = whole_person_ranges(data, size)
    assert ranges[0].start == 0
    assert ranges[-1].stop == 900
    assert all(a.stop == b.start for a, b in pairwise(ranges))
    for rows in ranges:
        assert rows.stop - rows.start <= max(size, 9)
        inside = set(data.person[rows])
        outside = set(np.delete(data.person, np.arange(rows.start, rows.stop)))
        assert not inside & outside


def test_scattered_rows_are_brought_together_and_keep_their_order_within_a_person(data):
    order = np.random.default_rng(0).permutation(900)
    shuffled = data.take(order)
    assert person_starts(shuffled) is None
    assert [r.stop - r.start for r in whole_person_ranges(shuffled, 400)] == [400, 400, 100]
    together = grouped_by_person(shuffled)
    assert len(person_starts(together)) == 100
    for person in (0, 57):
        expected = shuffled.situation[shuffled.person == person]
        np.testing.assert_array_equal(together.situation[together.person == person], expected)
    assert grouped_by_person(data) is data


def test_data_without_persons_are_cut_anywhere(data):
    alone = replace(data, person=None)
    assert grouped_by_person(alone) is alone
    assert [r.stop - r.start for r in whole_person_ranges(alone, 400)] == [400, 400, 100]


def test_ids_that_no_whole_number_can_hold_stay_as_they_are() -> None:
    assert distinct_ids(np.array([2.0, 1.0])).tolist() == [1, 2]
    assert distinct_ids(np.array([1.0, np.inf])).tolist() == [1.0, np.inf]
    assert distinct_ids(np.array([1e300, 1.0])).tolist() == [1.0, 1e300]

"""Parts of the data: taking rows, splitting and folding by person."""

import numpy as np
import pandas as pd
import pytest
from data_support import assert_same, read_table, says, the_refusal, wide_table

import ardchoice as ac
from ardchoice.data import ChoiceData


@pytest.fixture(scope="module")
def panel() -> ChoiceData:
    """Sixty persons with one to seven situations each; `situation` tells the rows apart."""
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(60), rng.integers(1, 8, 60))
    rng.shuffle(who)
    table = pd.concat([wide_table()] * 40, ignore_index=True)[: len(who)]
    return read_table(table.assign(ID=[f"person {p}" for p in who], INCOME=who + 0.5))


def persons(data: ChoiceData) -> set[float]:
    """Who is in a part: the income was made to tell them apart."""
    return set(data.covariates["INCOME"].values.tolist())


def test_rows_are_taken_by_mask_and_by_position(panel: ChoiceData) -> None:
    mask = np.arange(len(panel)) % 3 == 0
    by_mask, by_position = panel.take(mask), panel.take(np.flatnonzero(mask))
    assert_same(by_mask, by_position)
    assert_same(panel.take(pd.Series(mask)), by_mask)
    assert_same(panel.take(mask.tolist()), by_mask)
    np.testing.assert_array_equal(by_mask.situation, panel.situation[::3])
    np.testing.assert_array_equal(by_mask.available, panel.available[:, ::3])
    np.testing.assert_array_equal(by_mask.chosen(), panel.chosen()[::3])
    np.testing.assert_array_equal(by_mask.weights, panel.weights[::3])
    for name, attribute in panel.attributes.items():
        np.testing.assert_array_equal(by_mask.attributes[name].values, attribute.values[:, ::3])
    for name, covariate in panel.covariates.items():
        np.testing.assert_array_equal(by_mask.covariates[name].values, covariate.values[::3])


def test_rows_come_in_the_order_asked_and_may_repeat(panel: ChoiceData) -> None:
    part = panel.take([5, 2, 5, -1])
    assert part.situation.tolist() == [5, 2, 5, len(panel) - 1]
    assert part.person is not None
    assert part.person[0] == part.person[2]
    assert sorted(set(part.person.tolist())) == list(range(part.n_persons or 0))


def test_persons_of_a_part_keep_their_order_whatever_that_of_rows(panel: ChoiceData) -> None:
    assert panel.person is not None
    backwards = panel.take(np.arange(len(panel))[::-1])
    np.testing.assert_array_equal(backwards.person, panel.person[::-1])


def test_persons_of_a_part_are_numbered_from_zero(panel: ChoiceData) -> None:
    part = panel.take(np.arange(10, 50))
    assert part.person is not None
    assert set(part.person.tolist()) == set(range(part.n_persons or 0))
    assert part.n_persons == len(persons(part))


def test_one_row_and_no_rows_can_be_taken(panel: ChoiceData) -> None:
    assert len(panel.take(3)) == 1
    for nothing in ([], np.zeros(len(panel), dtype=bool)):
        empty = panel.take(nothing)
        assert len(empty) == 0
        assert empty.n_persons == 0
        assert "no choice situations" in str(empty)


def test_rows_beyond_the_data_are_refused(panel: ChoiceData) -> None:
    for wrong in ([len(panel)], [True, False], ["a"], [0.5]):
        says(the_refusal(lambda w=wrong: panel.take(w)), "positions below", "mask")


def test_situations_without_choices_can_be_taken_apart() -> None:
    data = read_table(choice=None, person=None, weight=None)
    part = data.take([1, 0])
    assert part.choice is None
    assert part.person is None
    assert part.weight is None


@pytest.mark.parametrize("test", [0.1, 0.3, 0.5])
def test_a_split_divides_persons_not_their_situations(panel: ChoiceData, test: float) -> None:
    rest, held_out = panel.split(test, seed=4)
    assert not persons(rest) & persons(held_out)
    assert persons(rest) | persons(held_out) == persons(panel)
    assert len(persons(held_out)) == round(60 * test)
    assert sorted([*rest.situation, *held_out.situation]) == list(range(len(panel)))


def test_folds_hold_every_row_once_and_every_person_in_one(panel: ChoiceData) -> None:
    seen, sizes = [], []
    for rest, fold in panel.folds(7, seed=2):
        assert not persons(rest) & persons(fold)
        assert sorted([*rest.situation, *fold.situation]) == list(range(len(panel)))
        seen += fold.situation.tolist()
        sizes.append(fold.n_persons)
    assert sorted(seen) == list(range(len(panel)))
    assert sorted(sizes) == [8, 8, 8, 9, 9, 9, 9]  # 60 persons in 7 folds, as even as can be


def test_situations_may_be_split_regardless_of_persons(panel: ChoiceData) -> None:
    rest, held_out = panel.split(0.25, by="situation")
    assert len(held_out) == round(len(panel) * 0.25)
    assert persons(rest) & persons(held_out)
    folds = [fold for _, fold in panel.folds(4, by="situation")]
    assert sorted(s for fold in folds for s in fold.situation) == list(range(len(panel)))
    assert max(map(len, folds)) - min(map(len, folds)) <= 1


def test_without_persons_situations_are_split() -> None:
    data = read_table(person=None)
    rest, held_out = data.split(0.5)
    assert len(rest) == len(held_out) == 4
    says(the_refusal(lambda: data.split(by="person")), "no person ids")


def test_a_seed_gives_the_same_parts_and_another_seed_others(panel: ChoiceData) -> None:
    assert_same(panel.split(seed=7)[1], panel.split(seed=7)[1])
    assert persons(panel.split(seed=7)[1]) != persons(panel.split(seed=8)[1])
    one, two, other = (list(panel.folds(3, seed=s)) for s in (7, 7, 8))
    assert_same(one[0][1], two[0][1])
    assert persons(one[0][1]) != persons(other[0][1])


def test_parts_that_cannot_be_made_are_refused(panel: ChoiceData) -> None:
    for test in (0.0, 1.0, 30):
        says(the_refusal(lambda t=test: panel.split(t)), "between 0 and 1", str(test))
    says(the_refusal(lambda: panel.split(0.001)), "60 persons", "0.001")
    says(the_refusal(lambda: panel.split(0.001, by="situation")), "situations", "0.001")
    for k in (1, 61):
        says(the_refusal(lambda k=k: list(panel.folds(k))), "Between 2 and 60 folds", str(k))
    with pytest.raises(ac.ArdchoiceError, match="not by 'household'"):
        panel.split(by="household")  # type: ignore[arg-type]

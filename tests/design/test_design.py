"""`Design` against an expansion by plain loops, block by block."""

from dataclasses import replace

import numpy as np
import pytest
from design_cases import TERMS, dense, expected, random_choices

import ardchoice.design.design as module
from ardchoice.design import Design
from ardchoice.errors import ArdchoiceError
from ardchoice.space import parse_specification, parse_term

ROUNDING = 1e-12
"""Relative: a transform and a product or two."""
SWISSMETRO_LIKE = """
    TRAIN: ASC + TT + CO + TT x AGE + CO x GA + ASC x AGE + log(TT)
    SM: ASC + TT + CO x PURPOSE + ASC x GA
"""


@pytest.mark.parametrize("all_available", [True, False])
@pytest.mark.parametrize("term", TERMS, ids=str)
def test_a_term_expands_as_by_plain_loops(term, all_available):
    data = random_choices(60, seed=1, all_available=all_available)
    design = Design(data, [term])
    names, columns = expected(data, design.encoding.terms[0])
    assert list(design.names) == names
    np.testing.assert_allclose(dense(design), columns, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("all_available", [True, False])
def test_many_terms_expand_as_each_alone(all_available):
    data = random_choices(80, seed=2, all_available=all_available)
    design = Design(data, TERMS)
    alone = [Design(data, [term]) for term in TERMS]
    assert design.names == tuple(name for one in alone for name in one.names)
    assert len(set(design.names)) == design.n_columns == len(design.names)
    np.testing.assert_array_equal(dense(design), np.concatenate([dense(one) for one in alone]))


def test_columns_are_zero_where_an_alternative_is_unavailable_whatever_stands_there():
    data = random_choices(200, seed=3)
    columns = dense(Design(data, TERMS))
    assert np.isfinite(columns).all()
    assert not columns[:, ~data.available].any()


@pytest.mark.parametrize("size", [1, 7, 64, 500])
def test_blocks_of_any_size_make_up_the_same_whole(size):
    data = random_choices(150, seed=4)
    design = Design(data, TERMS)
    ranges = [slice(a, min(a + size, 150)) for a in range(0, 150, size)]
    np.testing.assert_array_equal(dense(design, ranges), dense(design))


def test_a_block_has_the_rows_of_its_data():
    data = random_choices(50, seed=5)
    block = Design(data, TERMS[:3]).block(slice(10, 25))
    assert block.shape == (3, 15)
    np.testing.assert_array_equal(block.available, data.available[:, 10:25])
    np.testing.assert_array_equal(block.choice, data.choice[10:25])
    np.testing.assert_array_equal(block.weight, data.weight[10:25])


def test_a_range_may_be_open_or_reach_beyond_the_end_or_be_empty():
    design = Design(random_choices(20), TERMS[:3])
    assert design.block(slice(None)).shape == (3, 20)
    assert design.block(slice(15, 99)).shape == (3, 5)
    assert design.block(slice(8, 8)).shape == (3, 0)


def test_a_block_where_everything_is_available_says_so():
    data = random_choices(50, seed=5)
    whole = np.flatnonzero(data.available.all(axis=0))[0]
    part = np.flatnonzero(~data.available.all(axis=0))[0]
    design = Design(data, TERMS[:1])
    assert design.block(slice(whole, whole + 1)).available is None
    assert design.block(slice(part, part + 1)).available is not None


def test_situations_to_be_predicted_have_blocks_too():
    data = random_choices(10)
    unseen = replace(data, choice=None, weight=None)
    block = Design(unseen, TERMS[:1]).block(slice(2, 6))
    assert block.weight is None
    assert block.choice.shape == (4,)


def test_order_and_position_are_inverse_permutations_that_group_columns_by_alternatives():
    data = random_choices(30)
    spec = parse_specification(
        "SM: ASC + TT\nTRAIN: ASC\nSM: COMFORT\n*: CO\nTRAIN: HE\nCAR+SM: CO"
    )
    design = Design(data, spec)
    # SM: ASC, TT, COMFORT (two columns) | TRAIN: ASC, HE | * | SM+CAR
    assert design.order.tolist() == [0, 1, 3, 4, 2, 6, 5, 7]
    assert design.position.tolist() == [0, 1, 4, 2, 3, 6, 5, 7]
    parts = design.block(slice(0, 5)).parts
    assert [p.alternatives for p in parts] == [(1,), (0,), (0, 1, 2), (1, 2)]
    assert [(p.columns.start, p.columns.stop) for p in parts] == [(0, 4), (4, 6), (6, 7), (7, 8)]
    assert [p.x.shape for p in parts] == [(4, 1, 5), (2, 1, 5), (1, 3, 5), (1, 2, 5)]


def test_a_design_without_terms_has_no_columns():
    design = Design(random_choices(5), [])
    assert (design.n_columns, design.order.tolist(), design.block(slice(0, 5)).parts) == (0, [], ())


def test_other_alternatives_are_refused():
    data = random_choices(10)
    encoding = Design(data, TERMS[:2]).encoding
    other = replace(data, alternatives=("TRAIN", "SM", "BUS"))
    with pytest.raises(ArdchoiceError, match=r"knows the alternatives TRAIN, SM, CAR; .* BUS"):
        Design(other, encoding)


# -- What is held, and for how long ------------------------------------------------------------


def bases(design):
    return [piece.base for plan in design._plans for piece in plan.pieces]


def multipliers(design):
    return [piece.multiplier for plan in design._plans for piece in plan.pieces]


@pytest.mark.parametrize("place", ["TRAIN", "SM", "*", "TRAIN+SM", "SM+CAR"])
def test_a_linear_attribute_is_not_copied_where_every_row_is_available(place):
    data = random_choices(100, all_available=True)
    (base,) = bases(Design(data, [parse_term(f"{place}: TT")]))
    assert np.shares_memory(base.expand(slice(10, 90)), data.attributes["TT"].values)


def test_values_codes_and_products_are_held_once_for_all_terms():
    data = random_choices(100)
    spec = "CAR: log(TT) + log(TT) x AGE + CO x AGE + HE x INCOME x DIST + CO x INCOME x DIST"
    log, log_by_age, co_by_age, he_by_both, co_by_both = range(5)
    design = Design(data, parse_specification(spec + "\nTRAIN: CO x AGE + CO x AGE x INCOME"))
    held, times = bases(design), multipliers(design)
    assert held[log] is held[log_by_age]
    assert held[co_by_age] is held[co_by_both]
    assert times[log] is None
    assert times[log_by_age] is times[co_by_age] is times[5]
    assert times[he_by_both] is times[co_by_both]
    assert times[6].levels[0][0] is times[5].levels[0][0] is data.covariates["AGE"]


def test_ranges_cover_every_row_once_in_blocks_of_the_size_wanted(monkeypatch):
    data = random_choices(500)
    design = Design(data, parse_specification(SWISSMETRO_LIKE))
    row = 8 * design.n_columns
    assert design.row_bytes() == row
    assert design.expanded_bytes() == 500 * row
    monkeypatch.setattr(module, "BLOCK_BYTES", 150 * row)
    expected = [(0, 150), (150, 300), (300, 450), (450, 500)]
    assert [(r.start, r.stop) for r in design.ranges()] == expected
    monkeypatch.setattr(module, "BLOCK_BYTES", 1)
    assert design.ranges()[0] == slice(0, module.FEWEST_ROWS)


def test_a_row_of_shared_terms_counts_every_alternative():
    design = Design(random_choices(10), parse_specification("*: TT + HE\nTRAIN+SM: CO"))
    assert design.row_bytes() == 8 * (3 + 2 + 2)


def test_small_designs_are_kept_expanded_and_large_ones_expanded_again(monkeypatch):
    design = Design(random_choices(300), TERMS[:4])
    monkeypatch.setattr(module, "BLOCK_BYTES", 100 * design.row_bytes())
    assert isinstance(design.blocks(), list)
    assert len(design.blocks()) == 3
    monkeypatch.setattr(module, "KEEP_BYTES", design.expanded_bytes() - 1)
    blocks = design.blocks()
    assert not isinstance(blocks, list)
    first, again = list(blocks), list(blocks)
    assert len(first) == len(again) == 3
    assert first[0].parts[0].x is not again[0].parts[0].x
    np.testing.assert_array_equal(first[2].parts[0].x, again[2].parts[0].x)

"""For any data, terms and blocks: what the expansion must be."""

from itertools import pairwise

import numpy as np
import pandas as pd
from design_cases import TERMS, dense, expected, random_choices
from hypothesis import given, settings
from hypothesis import strategies as st

from ardchoice.design import Design
from ardchoice.space import Term

ROUNDING = 1e-12
"""Relative: a transform and a product or two."""

calmly = settings(deadline=None, max_examples=40)  # cores may be shared: time says nothing

data = st.builds(
    random_choices, st.integers(25, 45), st.integers(0, 10**6), all_available=st.booleans()
)
some_terms = st.lists(st.sampled_from(TERMS), min_size=1, max_size=6, unique=True)

numeric = st.sampled_from(["TT", "CO", "HE"])
places = st.sampled_from([(), ("TRAIN",), ("CAR",), ("TRAIN", "CAR"), ("CAR", "TRAIN")])
covariates = st.lists(
    st.sampled_from(["GA", "AGE", "PURPOSE", "INCOME", "DIST"]), max_size=3, unique=True
).map(tuple)
any_terms = st.lists(
    st.builds(Term, places, st.one_of(st.none(), st.just("COMFORT"), numeric), by=covariates),
    min_size=1,
    max_size=6,
    unique=True,
)


@st.composite
def cut_into_blocks(draw, n: int) -> list[slice]:
    edges = sorted({0, n, *draw(st.lists(st.integers(0, n), max_size=6))})
    return [slice(a, b) for a, b in pairwise(edges)]


@given(data, st.one_of(some_terms, any_terms), st.data())
@calmly
def test_any_terms_on_any_data_expand_as_by_plain_loops_in_any_blocks(data, terms, draw):
    design = Design(data, terms)
    loops = [expected(data, encoded) for encoded in design.encoding.terms]
    ranges = draw.draw(cut_into_blocks(len(data)))
    assert list(design.names) == [name for names, _ in loops for name in names]
    np.testing.assert_allclose(
        dense(design, ranges),
        np.concatenate([columns for _, columns in loops]),
        rtol=ROUNDING,
        atol=ROUNDING,
    )


@given(data, some_terms)
@calmly
def test_position_undoes_order(data, terms):
    design = Design(data, terms)
    every = np.arange(design.n_columns)
    np.testing.assert_array_equal(design.order[design.position], every)
    np.testing.assert_array_equal(design.position[design.order], every)


@given(data, some_terms, st.randoms(use_true_random=False))
@calmly
def test_rows_in_another_order_have_the_same_columns(data, terms, random):
    rows = list(range(len(data)))
    random.shuffle(rows)
    np.testing.assert_array_equal(
        dense(Design(data.take(rows), terms)), dense(Design(data, terms))[:, :, rows]
    )


@given(data, some_terms, st.data())
@calmly
def test_some_rows_with_what_was_learned_on_all_have_the_columns_they_had(data, terms, draw):
    rows = draw.draw(st.lists(st.integers(0, len(data) - 1), min_size=1, max_size=20))
    design = Design(data, terms)
    again = Design(data.take(rows), design.encoding)
    assert again.encoding is design.encoding
    np.testing.assert_array_equal(dense(again), dense(design)[:, :, rows])


@given(data, some_terms, st.data())
@calmly
def test_moments_are_those_of_pandas_over_the_available_rows(data, terms, draw):
    design = Design(data, terms)
    ranges = draw.draw(cut_into_blocks(len(data)))
    found = design.moments([design.block(rows) for rows in ranges])
    columns = dense(design)
    for encoded in design.encoding.terms:
        there = data.available[list(encoded.alternatives)]
        for k in range(encoded.start, encoded.start + encoded.n_columns):
            x = pd.Series(columns[k, list(encoded.alternatives)][there])
            close = ROUNDING * (1 + x.abs().max())
            assert abs(found.mean[k] - x.mean()) <= close
            assert abs(found.sd[k] - x.std(ddof=0)) <= close
            assert abs(found.rms[k] - np.sqrt((x**2).mean())) <= close

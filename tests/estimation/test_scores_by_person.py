"""Scores summed by person: the rows of a person may stand anywhere, and sums need not all fit."""

import itertools

import numpy as np
import pytest

import ardchoice as ac
from ardchoice.design import Design
from ardchoice.families import Mnl, evaluate_with_scores, scored_pass
from ardchoice.families import scores as module
from ardchoice.space.grammar import parse_specification

TEXT = "TRAIN: ASC + TT\nSM: ASC + TT + CO\nCAR: TT"
EXACT = 1e-12
"""Relative: the order of a sum is all that differs."""


def by_hand(data, beta):
    """Scores from one block of everything, added up person by person."""
    design = Design(data, parse_specification(TEXT).terms)
    s = evaluate_with_scores(beta, design.block(slice(0, len(data))))[1]
    each = np.stack([s[:, data.person == p].sum(axis=1) for p in range(data.n_persons)])
    return s @ s.T, each.T @ each


@pytest.mark.parametrize("order", ["as they came", "shuffled"])
@pytest.mark.parametrize("fits", [True, False])
def test_products_of_scores_are_those_of_persons_one_by_one(monkeypatch, order, fits):
    data = ac.datasets.swissmetro_choices("real").take(np.arange(900))
    if order == "shuffled":
        data = data.take(np.random.default_rng(0).permutation(len(data)))
    design = Design(data, parse_specification(TEXT).terms)
    beta = np.linspace(-0.01, 0.01, design.n_columns)
    if not fits:
        monkeypatch.setattr(module, "MOST_SUMS", 40 * design.n_columns)
        monkeypatch.setattr(module, "PIECE", 16)
    blocks = [design.block(slice(a, a + 70)) for a in range(0, len(data), 70)]
    layout = Mnl().layout(design.encoding).reordered(design.order)
    found = scored_pass(Mnl(), layout, beta, blocks, data.person)
    robust, cluster = by_hand(data, beta)
    np.testing.assert_allclose(found.meat, robust, rtol=EXACT, atol=1e-9)
    np.testing.assert_allclose(found.clustered, cluster, rtol=EXACT, atol=1e-9)


@pytest.mark.parametrize("lengths", [[3, 3, 3], [1, 1, 1], [9], [4, 2, 3], [2, 2, 3], [3, 3, 2]])
def test_sums_of_runs_are_those_of_their_columns(lengths):
    s = np.random.default_rng(0).normal(size=(5, sum(lengths)))
    edges = np.cumsum([0, *lengths])
    expected = [s[:, a:b].sum(axis=1) for a, b in itertools.pairwise(edges)]
    found = module._sums_of_runs(s, edges[:-1])
    np.testing.assert_allclose(found, np.transpose(expected), rtol=EXACT)

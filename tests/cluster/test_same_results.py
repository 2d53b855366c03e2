"""On two worker processes everything comes out as in this one."""

import warnings
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from cluster_support import TEXT, generic_space, ragged_panel

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.design.remote import TOGETHER, Workers
from ardchoice.design.shards import cut
from ardchoice.design.worker import add_up, measure_shard, plan_for
from ardchoice.families import one_pass
from ardchoice.families.mnl.kernel import evaluate

SAME_LOGLIK = 1e-9
"""Relative: sums are added in another order."""
SAME = 1e-8
"""Estimates and λ, relative to their size or to one: where Newton's method stops."""
ROWS = 250
"""Of a shard: so few that persons and blocks are cut through."""


@pytest.fixture(scope="module")
def panel() -> ChoiceData:
    return ragged_panel()


def assert_same_study(here: ac.Study, there: ac.Study) -> None:
    assert there.specification.terms == here.specification.terms
    assert there.result.loglik == pytest.approx(here.result.loglik, rel=SAME_LOGLIK)
    np.testing.assert_allclose(
        there.result.coefficients, here.result.coefficients, rtol=SAME, atol=SAME
    )
    for kind, matrix in here.result.covariances.items():
        np.testing.assert_allclose(there.result.covariances[kind], matrix, rtol=1e-6, atol=SAME)
    np.testing.assert_allclose(there.fit.lam, here.fit.lam, rtol=SAME, atol=SAME)


def test_swissmetro_is_specified_as_in_memory(client: Any) -> None:
    data = ac.datasets.swissmetro_choices("real")
    space = ac.swissmetro_space(data)
    assert_same_study(ac.specify(data, space), ac.specify(data, space, executor=client))


def test_generic_terms_weights_ragged_sets_and_split_persons_as_in_memory(
    client: Any, panel: ChoiceData
) -> None:
    edges = np.arange(ROWS, len(panel), ROWS)
    before, after = set(panel.person[: edges[0]]), set(panel.person[edges[0] :])
    assert before & after  # some persons are in several shards
    assert not panel.available.all()
    space = generic_space(panel)
    here = ac.specify(panel, space, structure=None)
    there = ac.specify(panel, space, structure=None, executor=Workers(client, rows=ROWS))
    assert any(len(t.where) > 1 or "*" in str(t) for t in here.specification.terms)
    assert_same_study(here, there)


def test_halves_are_selected_and_estimated_on_workers_and_come_home(
    client: Any, panel: ChoiceData
) -> None:
    space = ac.SearchSpace(panel, by=["age"])
    here = ac.specify(panel, space, honest=True)
    there = ac.specify(panel, space, honest=True, executor=client)
    assert_same_study(here, there)
    assert there.data is panel
    assert there.fit.execution.workers is None
    assert there.selection_result is not None
    assert there.selection_result.data is there.fit.data


def test_sums_are_the_same_to_the_last_bit_whoever_makes_them(
    client: Any, panel: ChoiceData
) -> None:
    """Against the same tree climbed here."""
    design = ac.Design(panel, ac.parse_specification(TEXT).terms)
    beta = np.linspace(-0.3, 0.3, design.n_columns)
    measure = partial(evaluate, beta, order=2)
    plan = plan_for(design.encoding, None)
    edges = [*range(0, len(panel), ROWS), len(panel)]
    level = [
        measure_shard(cut(panel, slice(a, b), f"here-{a}"), plan, measure, 0)
        for a, b in pairwise(edges)
    ]
    while len(level) > 1:
        level = [add_up(level[i : i + TOGETHER]) for i in range(0, len(level), TOGETHER)]
    with ac.running(Workers(client, rows=ROWS)):
        on = ac.Design(panel, design.encoding)
    for _ in range(2):  # expanded, then kept
        found = one_pass(beta, on.blocks())
        assert found.loglik == level[0].loglik
        np.testing.assert_array_equal(found.gradient, level[0].gradient)
        np.testing.assert_array_equal(found.curvature, level[0].curvature)


def test_nothing_is_kept_between_passes_where_it_does_not_fit(
    client: Any, panel: ChoiceData
) -> None:
    here = ac.fit_mnl(panel, TEXT)
    there = ac.fit_mnl(panel, TEXT, executor=Workers(client, rows=ROWS, keep=10_000))
    np.testing.assert_allclose(there.coefficients, here.coefficients, rtol=SAME, atol=SAME)
    assert there.data is panel


def test_stochastic_relevance_draws_its_batches_here(client: Any, panel: ChoiceData) -> None:
    space = ac.SearchSpace(panel, by=["age"])
    solver = ac.Dsvi(max_epochs=3, seed=1)
    there = ac.fit_ard(panel, space, solver=solver, executor=client)
    assert there.data is panel
    assert there.execution.workers is not None and there.execution.workers.client is client
    assert there.n_situations == len(panel)
    assert np.isfinite(there.log_evidence)


def test_persons_left_out_are_predicted_as_in_memory(client: Any, panel: ChoiceData) -> None:
    here = ac.held_out(panel, TEXT, folds=2)
    there = ac.held_out(panel, TEXT, folds=2, executor=client)
    assert there.loglik == pytest.approx(here.loglik, rel=SAME_LOGLIK)


def test_scores_and_posterior_predictions_of_data_on_workers(
    client: Any, panel: ChoiceData
) -> None:
    result = ac.fit_mnl(panel, TEXT)
    with ac.running(client):
        loglik, predicted = result.score(panel).loglik, result.predict(panel)
    assert loglik == pytest.approx(result.score(panel).loglik, rel=SAME_LOGLIK)
    np.testing.assert_array_equal(predicted, result.predict(panel))


def test_separation_is_found_on_workers_too(client: Any, panel: ChoiceData) -> None:
    never = panel.take(~((panel.choice == 3) & (panel.covariates["age"].values == 0)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ac.SeparationError) as here:
            ac.fit_mnl(never, "walk: ASC x age\nbus: ASC")
        with pytest.raises(ac.SeparationError) as there:
            ac.fit_mnl(never, "walk: ASC x age\nbus: ASC", executor=client)
    assert str(there.value) == str(here.value)

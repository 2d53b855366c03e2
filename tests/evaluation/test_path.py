"""The path: nested, counted and scored as by hand, and drawn."""

import matplotlib as mpl
import numpy as np
import pytest

import ardchoice as ac
from ardchoice.selection import compile_structure, criterion_of
from selection.selection_support import made, obeys, price_by_hand, usual

mpl.use("Agg")

EXACT = 5e-3
"""Of log-likelihoods and criteria: refits are known to 1e-4 of log-likelihood."""


@pytest.fixture(scope="module")
def data() -> ac.ChoiceData:
    return made(500, 1, usual)


@pytest.fixture(scope="module")
def fit(data: ac.ChoiceData) -> ac.ArdFit:
    return ac.fit_ard(data, ac.SearchSpace(data, ["linear", "log1p"], by=["G", "H"]))


@pytest.fixture(scope="module")
def path(fit: ac.ArdFit) -> ac.Path:
    return ac.selection_path(fit, folds=3, seed=4)


def terms_of(path: ac.Path, fit: ac.ArdFit) -> list[list[ac.Term]]:
    """The terms of every step, from what it says came in."""
    out: list[list[ac.Term]] = []
    known = {str(t): t for t in fit.terms}
    for entered in path.frame["entered"]:
        before = out[-1] if out else []
        names = [] if entered == "(nothing)" else entered.split(", ")
        new = [known[name] for name in names]
        assert not set(new) & set(before)  # nested: what is in stays in
        out.append([t for t in fit.terms if t in {*before, *new}])
    return out


def test_steps_are_nested_valid_and_begin_with_what_must_be_in(
    path: ac.Path, fit: ac.ArdFit
) -> None:
    steps = terms_of(path, fit)
    assert [str(t) for t in steps[0]] == ["A: ASC", "B: ASC"]
    for step in steps:
        assert obeys(ac.Structure(), fit.space, step)
    assert len(steps) > 5


def test_terms_enter_in_order_of_relevance(fit: ac.ArdFit) -> None:
    path = ac.selection_path(fit, structure=ac.Structure(heredity=False, one_form=False), folds=0)
    table = fit.table()
    in_play = table.loc[(table["lambda"] > 0) & np.isfinite(table["lambda"]), "term"].tolist()
    assert path.frame["entered"].tolist() == ["A: ASC, B: ASC", *in_play]


def test_every_figure_is_that_of_fit_mnl(path: ac.Path, fit: ac.ArdFit) -> None:
    constraints = compile_structure(ac.Structure(), fit.space)
    criterion = criterion_of(ac.Ebic(), fit, len(fit.data), constraints)
    columns = dict(zip(fit.terms, fit.space.columns, strict=True))
    for step, row in zip(terms_of(path, fit), path.frame.itertuples(), strict=True):
        result = ac.fit_mnl(fit.data, step)
        assert row.parameters == result.n_parameters == sum(columns[t] for t in step)
        assert row.loglik == pytest.approx(result.loglik, abs=EXACT)
        inside = [fit.terms.index(t) for t in step]
        expected = criterion.value(result.loglik, criterion.coefficients(inside), len(step))
        assert row.criterion == pytest.approx(expected, abs=EXACT)
    assert path.criterion == "EBIC"
    assert path.frame["parameters"].is_monotonic_increasing
    assert (np.diff(path.frame["loglik"]) > -EXACT).all()


def test_the_rule_says_whose_criterion_is_shown(fit: ac.ArdFit) -> None:
    path = ac.selection_path(fit, rule=ac.Bic(cluster=False), folds=0)
    for row in path.frame.itertuples():
        expected = -2 * row.loglik + row.parameters * np.log(len(fit.data))
        assert row.criterion == pytest.approx(expected)
    assert path.criterion == "BIC"


def test_where_persons_repeat_terms_have_the_prices_of_the_selection(fit: ac.ArdFit) -> None:
    prices = price_by_hand(fit)
    path = ac.selection_path(fit, rule=ac.Bic(), folds=0)
    dearer = 0
    for step, row in zip(terms_of(path, fit), path.frame.itertuples(), strict=True):
        paid = sum(prices[fit.terms.index(t)] for t in step)
        assert row.criterion == pytest.approx(-2 * row.loglik + paid)
        dearer += paid > row.parameters * np.log(len(fit.data)) + EXACT
    assert dearer >= 3
    selected = ac.select(fit, ac.Bic())
    paid = sum(prices[fit.terms.index(t)] for t in selected)
    loglik = ac.fit_mnl(fit.data, selected).loglik
    assert selected.criterion == pytest.approx(-2 * loglik + paid, abs=2 * EXACT)


def test_held_out_is_summed_over_folds_of_persons(
    path: ac.Path, fit: ac.ArdFit, data: ac.ChoiceData
) -> None:
    for i in (0, 4, len(path.frame) - 1):
        step = terms_of(path, fit)[i]
        expected = sum(
            ac.fit_mnl(rest, step).score(left_out).loglik
            for rest, left_out in data.folds(3, seed=4)
        )
        assert path.frame["held_out"][i] == pytest.approx(expected, abs=EXACT)


def test_the_best_steps_are_the_smallest_criterion_and_the_best_prediction(path: ac.Path) -> None:
    assert path.frame["criterion"][path.best] == path.frame["criterion"].min()
    assert path.best_held_out is not None
    assert path.frame["held_out"][path.best_held_out] == path.frame["held_out"].max()
    assert path.frame["loglik"].iloc[-1] > path.frame["held_out"].max()


def test_without_folds_nothing_is_held_out(fit: ac.ArdFit) -> None:
    path = ac.selection_path(fit, folds=0)
    assert path.frame["held_out"].isna().all()
    assert path.best_held_out is None
    assert "EBIC" in str(path)
    assert "nan" not in str(path)


def test_steps_can_be_limited(fit: ac.ArdFit) -> None:
    short = ac.selection_path(fit, folds=0, most=3)
    assert len(short.frame) == 1 + 3
    limited = ac.selection_path(fit, folds=0, structure=ac.Structure(max_terms=5))
    assert len(terms_of(limited, fit)[-1]) == 5


def test_the_table_fits_in_eighty_columns_and_marks_the_best(path: ac.Path) -> None:
    lines = str(path).splitlines()
    assert max(map(len, lines)) <= 80
    marked = [line for line in lines[2:-1] if line.endswith(("<", "<*"))]
    assert len(marked) == 1
    assert f"{path.frame['criterion'].min():,.1f}" in marked[0]
    assert lines[-1] == "< smallest EBIC; * best held-out log-likelihood"
    assert "held-out" in lines[0]


def test_the_plot_has_both_curves_and_their_labels(path: ac.Path, fit: ac.ArdFit) -> None:
    import matplotlib.pyplot as plt

    ax = path.plot()
    left, right = ax.figure.axes
    assert left is ax
    assert "coefficients" in left.get_xlabel()
    assert "EBIC" in left.get_ylabel()
    assert "held-out log-likelihood" in right.get_ylabel()
    assert left.get_title(loc="left")
    np.testing.assert_array_equal(left.lines[0].get_ydata(), path.frame["criterion"])
    np.testing.assert_array_equal(right.lines[0].get_ydata(), path.frame["held_out"])
    stop = path.frame["parameters"][path.best]
    assert left.lines[1].get_xdata()[0] == stop
    ax.figure.canvas.draw()
    plt.close(ax.figure)
    figure, mine = plt.subplots()
    given = ac.selection_path(fit, folds=0, most=2).plot(mine)
    assert given is mine
    assert len(figure.axes) == 1  # nothing held out, no second axis
    plt.close(figure)


def test_a_rule_without_a_criterion_is_refused(fit: ac.ArdFit) -> None:
    with pytest.raises(ac.ArdchoiceError, match=r"ac.Ebic\(\) or ac.Bic\(\), not LambdaAbove"):
        ac.selection_path(fit, rule=ac.LambdaAbove())  # type: ignore[arg-type]


def test_a_path_needs_all_data_at_hand(fit: ac.ArdFit, data: ac.ChoiceData) -> None:
    january, february = data.split(0.5, seed=0)
    first = ac.fit_ard(january, fit.space)
    continued = ac.fit_ard(february, fit.space, previous=first)
    with pytest.raises(ac.ArdchoiceError, match="needs all data at hand"):
        ac.selection_path(continued)

"""The local search, against every valid set of small spaces refitted by other code."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from selection_support import (
    every_maximum,
    made,
    numbers,
    obeys,
    price_by_hand,
    read,
    subsets,
    table,
    usual,
)

import ardchoice as ac
from ardchoice.selection.compile import compile_structure
from ardchoice.selection.criterion import Criterion, bic
from ardchoice.selection.neighbours import Neighbours, neighbours
from ardchoice.selection.refits import RefitCache
from ardchoice.selection.search import (
    CRITERION_TOLERANCE,
    NEAR_TIE_MARGIN,
    NEAR_TIE_REFITS,
    Problem,
    SearchStep,
    search,
)
from ardchoice.selection.select import starts
from ardchoice.selection.signs import SignRules
from ardchoice.selection.surrogate import Surrogate

Floats = npt.NDArray[np.float64]
Maxima = dict[frozenset[int], tuple[float, Floats]]

DATA_SETS = 20
MISSES = 1
"""Of twenty: a local search may miss what it was not led to."""
SAME = 1e-2
"""Of a criterion: refits stop when less than 2e-3 of log-likelihood is to be gained."""

STRUCTURED = """
    A: ASC + TT + TT x G + log1p(TT) + log1p(TT) x G + CO
    B: ASC + TT + log1p(TT)
    C: TT + CO
"""
FREE = """
    A: ASC + TT + TT x G + log1p(TT)
    B: CO
    C: TT + CO
"""


def drawn(seed: int) -> ac.ChoiceData:
    """Choices by coefficients large and small, so that some terms are hard to decide on."""
    rng = np.random.default_rng(1000 + seed)
    beta = rng.normal(0, 0.5, (3, 2))
    constants, more = rng.normal(0, 0.5, 3), rng.normal(0, 0.7)
    curved = rng.random(3) < 0.5

    def utility(frame: pd.DataFrame) -> dict[str, npt.ArrayLike]:
        out = {}
        for j, name in enumerate("ABC"):
            time = frame[f"{name}_TT"]
            form = 2 * np.log1p(time) if curved[j] else time
            out[name] = constants[j] + beta[j, 0] * form + beta[j, 1] * frame[f"{name}_CO"]
        out["A"] += more * (frame["G"] == "u") * frame["A_TT"]
        return out

    return made(200, seed, utility)


KNOWN: dict[tuple[ac.Term, ...], list[frozenset[int]]] = {}


def valid_sets(space: ac.SearchSpace, structure: ac.Structure | None) -> list[frozenset[int]]:
    """Every valid set, found once for all data sets with the same candidates."""
    if space.terms not in KNOWN:
        KNOWN[space.terms] = [
            s for s in subsets(len(space)) if obeys(structure, space, [space.terms[t] for t in s])
        ]
    return KNOWN[space.terms]


def maxima_of_all(
    data: ac.ChoiceData, space: ac.SearchSpace, structure: ac.Structure | None
) -> Maxima:
    """Of every valid set."""
    return every_maximum(data, space, valid_sets(space, structure))


def best_of_all(
    maxima: Maxima,
    fit: ac.ArdFit,
    rule: ac.Bic,
    structure: ac.Structure | None,
    *allowed: Callable[[frozenset[int], Floats], bool],
) -> list[frozenset[int]]:
    """The valid set with the smallest BIC, forms other than linear priced, by trying every one.

    First of all valid sets, then of those that each further condition allows.
    """
    prices = price_by_hand(fit, cluster=rule.cluster)
    if structure is not None:
        form = [t.how.name == "log1p" and not t.by for t in fit.terms]
        prices = prices + structure.linear_unless * np.array(form)
    values = {s: -2 * loglik + float(prices[list(s)].sum()) for s, (loglik, _) in maxima.items()}
    ranked = sorted(values, key=lambda s: values[s])
    return [
        ranked[0],
        *(next(s for s in ranked if condition(s, maxima[s][1])) for condition in allowed),
    ]


def selected(fit: ac.ArdFit, rule: ac.Bic, structure: ac.Structure | None) -> frozenset[int]:
    specification = ac.select(fit, rule, structure=structure)
    assert obeys(structure, fit.space, specification.terms)
    return frozenset(fit.terms.index(term) for term in specification)


@pytest.mark.parametrize(
    ("candidates", "structure"), [(STRUCTURED, ac.Structure()), (FREE, None)], ids=["rules", "free"]
)
def test_the_best_of_all_valid_sets_is_found(
    candidates: str, structure: ac.Structure | None
) -> None:
    rules = (ac.Bic(), ac.Bic(cluster=False))
    missed: dict[ac.Bic, list[int]] = {rule: [] for rule in rules}
    apart = 0
    for seed in range(DATA_SETS):
        data = drawn(seed)
        space = ac.SearchSpace(data, specific=False, add=candidates)
        fit, maxima = ac.fit_ard(data, space), maxima_of_all(data, space, structure)
        best = {rule: best_of_all(maxima, fit, rule, structure)[0] for rule in rules}
        for rule in rules:
            if selected(fit, rule, structure) != best[rule]:
                missed[rule].append(seed)
        apart += len(set(best.values())) > 1
    assert max(map(len, missed.values())) <= MISSES, missed
    assert apart > 0  # so that the prices of repeated answers matter


def as_expected(space: ac.SearchSpace, chosen: frozenset[int], beta: Floats) -> bool:
    """Whether no slope is positive; terms have one column here, as G has two levels."""
    alone: dict[object, float] = {}
    with_u: dict[object, float] = {}
    for t, b in zip(sorted(chosen), beta, strict=True):
        term = space.terms[t]
        if term.what is not None:
            key = (term.where, term.what)
            with_u[key] = with_u.get(key, 0.0) + b
            alone[key] = alone.get(key, 0.0) + (0.0 if term.by else b)
    return all(slope <= 0 for slope in (*alone.values(), *with_u.values()))


def test_the_best_of_all_sets_with_expected_signs_is_found() -> None:
    structure = ac.Structure(signs={"TT": "-", "CO": "-"})
    constrained = 0
    for seed in range(5):
        data = drawn(seed)
        space = ac.SearchSpace(data, specific=False, add=STRUCTURED)
        fit, maxima = ac.fit_ard(data, space), maxima_of_all(data, space, structure)
        allowed = partial(as_expected, space)
        free, best = best_of_all(maxima, fit, ac.Bic(), structure, allowed)
        assert selected(fit, ac.Bic(), structure) == best
        constrained += best != free
    assert constrained >= 3  # where signs decide


@pytest.fixture(scope="module")
def data() -> ac.ChoiceData:
    return made(400, 3, usual)


@pytest.fixture(scope="module")
def fit(data: ac.ChoiceData) -> ac.ArdFit:
    forms = {"TT": ["linear", "log1p"]}
    return ac.fit_ard(data, ac.SearchSpace(data, forms, by=["G"], generic=["CO"]))


def problem_of(
    fit: ac.ArdFit, structure: ac.Structure | None, criterion: Criterion | None = None
) -> Problem:
    return Problem(
        RefitCache.of(fit),
        compile_structure(structure, fit.space),
        criterion or bic(len(fit.data)),
        SignRules({}, fit.encoding, fit.data),
    )


@pytest.mark.parametrize("structure", [ac.Structure(), None], ids=["rules", "free"])
def test_every_score_is_the_bic_of_fit_mnl(fit: ac.ArdFit, structure: ac.Structure | None) -> None:
    problem = problem_of(fit, structure)
    found = search(problem, starts(fit, problem.constraints))
    assert found.criterion == found.tried[found.best.selected][1]
    checked = 0
    for chosen, (wrong, value) in found.tried.items():
        terms = [fit.terms[t] for t in sorted(chosen)]
        assert wrong == 0
        assert obeys(structure, fit.space, terms)
        # What is clearly worse need not be known exactly.
        if value > found.criterion + NEAR_TIE_MARGIN:
            continue
        checked += 1
        result = ac.fit_mnl(fit.data, ac.Specification(tuple(terms)))
        expected = result.bic + problem.constraints.cost(chosen)
        assert value == pytest.approx(expected, abs=SAME)
    assert checked > 2
    assert found.criterion <= min(value for _, value in found.tried.values()) + SAME


def test_scores_count_choice_situations_not_weights() -> None:
    frame = table(400, 3, usual)
    frame["W"] /= frame.loc[frame["W"] > 0, "W"].mean()
    data = read(frame, weight="W")
    space = ac.SearchSpace(data)
    problem = problem_of(ac.fit_ard(data, space), ac.Structure())
    found = search(problem, [problem.constraints.least()])
    result = ac.fit_mnl(data, [space.terms[t] for t in sorted(found.best.selected)])
    assert found.criterion == pytest.approx(result.bic, abs=SAME)


def test_the_unit_of_weights_changes_nothing() -> None:
    frame = table(400, 3, usual)
    found = []
    for unit in (0.2, 1.0, 30.0):
        data = read(frame.assign(W=unit * frame["W"]), weight="W")
        fit = ac.fit_ard(data, ac.SearchSpace(data))
        problem = problem_of(fit, ac.Structure())
        found.append(search(problem, [problem.constraints.least()]).best.selected)
    assert found[0] == found[1] == found[2]


def test_signs_are_found_behind_a_crowd_of_wrong_ones() -> None:
    """Attributes with the wrong sign that fit well must not hide those with the right one."""
    rng = np.random.default_rng(5)
    n, wrong, right = 2500, 4, 6
    frame = pd.DataFrame(index=range(n))
    utility = rng.gumbel(size=(n, 3))
    for j, name in enumerate("ABC"):
        for k in range(wrong + right):
            x = frame[f"x{k}_{name}"] = rng.standard_normal(n)
            utility[:, j] += (0.5 if k < wrong else -0.12) * x
    frame["PICK"] = np.array(list("ABC"))[utility.argmax(axis=1)]
    attributes = {f"x{k}": f"x{k}_" + "{alt}" for k in range(wrong + right)}
    data = ac.read_wide(frame, alternatives=list("ABC"), choice="PICK", attributes=attributes)
    fit = ac.fit_ard(data, ac.SearchSpace(data))
    signs = dict.fromkeys(attributes, "-")
    found = ac.select(fit, ac.Bic(), structure=ac.Structure(signs=signs))
    plain = [f"*: x{k}" for k in range(wrong)]
    told = ac.select(fit, ac.Bic(), structure=ac.Structure(signs=signs, forbid=plain))
    assert ac.fit_mnl(data, found).bic <= ac.fit_mnl(data, told).bic + 0.1


def test_no_other_start_ends_better_than_what_relevance_finds(fit: ac.ArdFit) -> None:
    problem = problem_of(fit, None)
    found = search(problem, starts(fit, problem.constraints))
    rng = np.random.default_rng(0)
    for share in (0.1, 0.3, 0.5):
        chosen = frozenset(np.flatnonzero(rng.random(len(fit.terms)) < share).tolist())
        assert found.criterion <= search(problem, [chosen]).criterion + SAME


def test_a_price_keeps_forms_linear_where_the_data_can_hardly_tell(fit: ac.ArdFit) -> None:
    def forms(price: float) -> int:
        structure = ac.Structure(linear_unless=price)
        return sum(t.how.name != "linear" for t in ac.select(fit, ac.Bic(), structure=structure))

    counts = [forms(price) for price in (0.0, 2.0, 1000.0)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] == 0


def test_limits_hold_on_the_way_and_at_the_end(fit: ac.ArdFit) -> None:
    structure = ac.Structure(max_terms=5, max_coefficients=6)
    problem = problem_of(fit, structure)
    found = search(problem, starts(fit, problem.constraints))
    assert len(found.best.selected) == 5  # the limit binds here
    assert all(problem.constraints.is_valid(chosen) for chosen in found.tried)


def test_neighbours_are_valid_and_scored_as_the_surrogate_reaches(fit: ac.ArdFit) -> None:
    structure = ac.Structure(max_terms=9, one_coefficient=False)
    criterion = ac.Ebic().criterion(len(fit.data), fit.space.columns)
    problem = problem_of(fit, structure, criterion)
    chosen = numbers(
        fit.space, "A: ASC", "B: ASC", "A: TT", "A: TT x G", "B: log1p(TT)", "*: CO", "A: CO"
    )
    surrogate = Surrogate(
        problem.models.quadratic(problem.models.refit(chosen)), problem.models.columns
    )
    around = neighbours(chosen, surrogate, problem.constraints, criterion)

    def found_by_search(one: frozenset[int]) -> int:
        """Terms but for constants and generic linear attributes."""
        return sum(str(fit.terms[t]) not in ("A: ASC", "B: ASC", "*: CO", "*: TT") for t in one)

    every = [around.at(i) for i in range(len(around))]
    reached = surrogate.reached(every)
    for one, loglik, value in zip(every, reached, around.values, strict=True):
        terms = [fit.terms[t] for t in sorted(one)]
        assert obeys(structure, fit.space, terms)
        assert one != chosen
        count, forms = criterion.coefficients(one), problem.constraints.cost(one)
        assert value == pytest.approx(
            criterion.value(loglik, count, found_by_search(one)) + forms, abs=SAME
        )
    found = set(every)
    # One more, one less (with what needs it), one for another, another form, regrouped.
    for more, less in (
        ({"C: TT"}, set()),
        (set(), {"A: TT x G"}),
        (set(), {"A: TT", "A: TT x G"}),
        ({"C: TT"}, {"A: CO"}),
        ({"C: TT", "C: TT x G"}, set()),
        ({"A: log1p(TT)", "A: log1p(TT) x G"}, {"A: TT", "A: TT x G"}),
        ({"B: TT"}, {"B: log1p(TT)"}),
        ({"B: CO", "C: CO"}, {"*: CO"}),
    ):
        assert (chosen | numbers(fit.space, *more)) - numbers(fit.space, *less) in found


def test_where_one_exchange_is_enough_moves_of_several_are_left_out(fit: ac.ArdFit) -> None:
    problem = problem_of(fit, ac.Structure())
    chosen = problem.constraints.least()
    surrogate = Surrogate(
        problem.models.quadratic(problem.models.refit(chosen)), problem.models.columns
    )

    def found(enough: float) -> Neighbours:
        return neighbours(chosen, surrogate, problem.constraints, problem.criterion, enough=enough)

    every, few = found(-np.inf), found(np.inf)
    assert len(few) < len(every)
    np.testing.assert_array_equal(few.values, every.values[: len(few)])
    assert len(found(few.values.min())) == len(every)  # none is below itself


@pytest.mark.parametrize("structure", [None, ac.Structure()])
def test_no_neighbour_that_may_be_a_near_tie_is_better_by_a_refit(
    fit: ac.ArdFit, structure: ac.Structure | None
) -> None:
    problem = problem_of(fit, structure)
    found = search(problem, starts(fit, problem.constraints))
    for i in found.around.best(NEAR_TIE_REFITS):
        chosen, value = found.around.at(i), float(found.around.values[i])
        if problem.within_tolerance(chosen, value, found.best):
            other = problem.score(problem.models.refit(chosen))
            assert other[1] > found.criterion - CRITERION_TOLERANCE


def test_doubt_grows_with_what_changes(fit: ac.ArdFit) -> None:
    problem = problem_of(fit, None, Criterion("free", 0.0))
    fitted = problem.models.refit(numbers(fit.space, "A: TT", "B: TT"))
    small, large = fitted.selected, fitted.selected | numbers(fit.space, "C: TT")
    now = problem.score(fitted)[1]
    # Without a penalty all that a value differs by is a change of -2 ℓ.
    for chosen in (small, large):
        assert problem.within_tolerance(chosen, now + 3.5, fitted)
        assert not problem.within_tolerance(chosen, now + 3.6, fitted)
        assert problem.within_tolerance(chosen, now - 100, fitted)
    paid = problem_of(fit, None, Criterion("paid", 100.0))
    now = paid.score(fitted)[1]
    # One that gains 85 of the 100 it costs may gain all of it.
    assert paid.within_tolerance(large, now + 15, fitted)
    assert not paid.within_tolerance(large, now + 20, fitted)


def test_progress_is_told_round_by_round(fit: ac.ArdFit) -> None:
    heard: list[SearchStep] = []
    ac.select(fit, progress=heard.append)
    assert [step.round for step in heard] == list(range(1, len(heard) + 1))
    assert heard[-1].refits >= heard[0].refits > 0


@pytest.mark.parametrize("signs", [{}, {"TT": "-", "CO": "+"}])
def test_what_is_told_ends_with_the_criterion_of_the_specification(
    fit: ac.ArdFit, signs: dict[str, str]
) -> None:
    heard: list[SearchStep] = []
    structure = ac.Structure(signs=signs)  # type: ignore[arg-type]
    found = ac.select(fit, structure=structure, progress=heard.append)
    last = heard[-1]
    assert (last.criterion, last.terms) == (pytest.approx(found.criterion), len(found))
    assert last.measure == found.measure == "EBIC"
    for before, after in pairwise(heard):
        assert after.criterion <= before.criterion or after.higher

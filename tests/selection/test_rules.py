"""Each rule, what it keeps and what it says, against figures worked out another way."""

import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from selection_support import made, numbers, obeys, usual

import ardchoice as ac
from ardchoice.selection import compile_structure, criterion_of
from ardchoice.selection.criterion import SAFETY_FACTORS, bic, ebic, ebic_gamma
from ardchoice.selection.rules import Rule
from ardchoice.selection.search import NEAR_TIE_MARGIN

EXACT = 1e-2
"""Of a criterion of refits: each is known to 2e-3 of log-likelihood."""
FORETOLD = 0.5
"""Share by which a quadratic may miss what losing a strong term costs; near ones are refitted."""

RULES = [
    ac.LambdaAbove(),
    ac.LambdaAbove(0.05),
    ac.Evidence(),
    ac.FalseDiscovery(),
    ac.FalseDiscovery(0.5),
    ac.Bic(),
    ac.Bic(0.3),
    ac.Ebic(),
]
Select = Callable[..., ac.Specification]

STRUCTURES = {
    "usual": ac.Structure(),
    "none": None,
    "many": ac.Structure(
        one_form="everywhere",
        force="B: TT",
        forbid="C: CO",
        exclusive=[["A: TT x *", "B: TT x *"]],
        together=[["A: CO", "B: CO"]],
        max_terms=8,
    ),
}


@pytest.fixture(scope="module")
def data() -> ac.ChoiceData:
    return made(400, 2, usual)


@pytest.fixture(scope="module")
def space(data: ac.ChoiceData) -> ac.SearchSpace:
    return ac.SearchSpace(data, {"TT": ["linear", "log1p"]}, by=["G"])


@pytest.fixture(scope="module")
def fit(data: ac.ChoiceData, space: ac.SearchSpace) -> ac.ArdFit:
    return ac.fit_ard(data, space)


@pytest.fixture(scope="module")
def chosen(fit: ac.ArdFit) -> Select:
    """What a rule selects under a structure, searched for once."""
    known: dict[object, ac.Specification] = {}

    def select(rule: Rule, structure: str = "usual") -> ac.Specification:
        if (rule, structure) not in known:
            known[rule, structure] = ac.select(fit, rule, structure=STRUCTURES[structure])
        return known[rule, structure]

    return select


# -- Every rule ----------------------------------------------------------------------------------


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_valid_specification_and_a_reason_for_every_candidate(
    fit: ac.ArdFit, chosen: Select, rule: Rule, structure: str
) -> None:
    explained(fit, chosen(rule, structure), STRUCTURES[structure])


def explained(
    fit: ac.ArdFit, specification: ac.Specification, structure: ac.Structure | None
) -> None:
    assert obeys(structure, fit.space, specification.terms)
    assert tuple(specification.reasons) == fit.terms
    for term, reason in specification.reasons.items():
        verdict, colon, why = reason.partition(": ")
        assert verdict == ("kept" if term in specification.terms else "dropped")
        assert colon
        assert len(why) > 5
    assert set(specification.rivals) <= set(specification.terms)


def test_unless_told_it_is_the_extended_criterion_with_the_usual_structure(
    fit: ac.ArdFit, chosen: Select
) -> None:
    assert ac.select(fit) == chosen(ac.Ebic(), "usual")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_forced_and_forbidden_terms_say_so(chosen: Select, rule: Rule) -> None:
    specification = chosen(rule, "many")
    said = {str(term): why for term, why in specification.reasons.items()}
    # A threshold shows its figure where the term passes it, forced or not.
    assert "must be in" in said["B: TT"] or rule.name in said["B: TT"]
    assert said["C: CO"] == "dropped: forbidden by 'C: CO'"
    assert said["C: CO x G"].startswith("dropped: it needs 'C: CO', which is out")
    assert said["A: log1p(TT)"].startswith("dropped: 'B: TT' must be in")


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_explanation_has_every_candidate_kept_ones_first_in_eighty_columns(
    chosen: Select, structure: str
) -> None:
    specification = chosen(ac.Ebic(), structure)
    text = specification.explain()
    assert max(map(len, text.splitlines())) <= 80
    # Lines that go on are indented; joined again, each candidate has its reason.
    entries = re.sub(r"\n +", " ", text).splitlines()
    said = {re.sub(" +", " ", entry) for entry in entries}
    assert said == {f"{term} {why}" for term, why in specification.reasons.items()}
    verdicts = [" kept: " in entry for entry in entries]
    assert verdicts == sorted(verdicts, reverse=True)
    assert ac.parse_specification("A: TT").explain() == ""


# -- Thresholds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.0, 0.002, 0.05, 1.0])
def test_lambda_above_keeps_what_lies_above(fit: ac.ArdFit, threshold: float) -> None:
    kept = ac.select(fit, ac.LambdaAbove(threshold), structure=None)
    table = fit.table()
    assert {str(t) for t in kept} == set(table.loc[table["lambda"] > threshold, "term"])
    for term, lam in zip(fit.terms, fit.lam, strict=True):
        assert f"λ = {lam:.3g} (λ > {threshold:g})" in kept.reasons[term]


@pytest.mark.parametrize("above", [0.0, 3.0, 20.0])
def test_evidence_keeps_what_the_log_evidence_misses(fit: ac.ArdFit, above: float) -> None:
    kept = ac.select(fit, ac.Evidence(above), structure=None)
    table = fit.table()
    free = table["evidence"].isna()  # constants are not shrunk, so there is nothing to compare
    assert {str(t) for t in kept} == set(table.loc[free | (table["evidence"] > above), "term"])


@pytest.mark.parametrize("q", [0.001, 0.05, 0.5])
def test_false_discovery_is_the_procedure_of_benjamini_and_hochberg(
    fit: ac.ArdFit, q: float
) -> None:
    p = fit.relevance()["p_value"].to_numpy()
    order = np.argsort(p)
    below = np.flatnonzero(p[order] <= q * np.arange(1, len(p) + 1) / len(p))
    found = set(order[: below[-1] + 1].tolist()) if len(below) else set()
    kept = ac.select(fit, ac.FalseDiscovery(q), structure=None)
    assert {fit.terms.index(t) for t in kept} == found
    assert found


def test_what_a_threshold_wants_but_cannot_have_says_what_took_its_place(fit: ac.ArdFit) -> None:
    rule = ac.LambdaAbove(-1.0)  # everything passes
    specification = ac.select(fit, rule)
    assert len(specification) == len([t for t in fit.terms if t.what != "TT"]) + 3 * 2
    for term in set(fit.terms) - set(specification.terms):
        rival = re.search(r"'(.*)' takes its place \(λ = ", specification.reasons[term])
        assert rival
        taker = ac.parse_term(rival[1])
        assert taker in specification.terms
        assert (taker.where, taker.what) == (term.where, term.what)
        assert taker.how != term.how
    tight = ac.select(fit, rule, structure=ac.Structure(max_terms=4, one_form=False))
    assert any("no room for it" in why for why in tight.reasons.values())


def test_thresholds_keep_what_others_need(fit: ac.ArdFit) -> None:
    (position,) = numbers(fit.space, "A: TT x G")
    rule = ac.LambdaAbove(fit.lam[position] * 0.999)
    specification = ac.select(fit, rule, structure=ac.Structure(one_form=False))
    assert fit.terms[position] in specification.terms
    needed = [t for t in specification if fit.lam[fit.terms.index(t)] <= rule.threshold]
    assert needed
    assert all("others need it (λ = " in specification.reasons[t] for t in needed)


# -- Criteria ------------------------------------------------------------------------------------


WIDE = 12
"""Columns of a term that chance never lets in, so that the weight is the formula's."""


@pytest.mark.parametrize(("n", "p"), [(400, 22), (10_000, 72), (10_000, 3000), (50, 2), (9, 3)])
def test_the_weight_of_the_extended_criterion(n: int, p: int) -> None:
    criterion = ac.Ebic().criterion(n, np.full(p, WIDE))
    gamma = max(0.0, 1 - math.log(n) / (2 * math.log(p)))
    assert criterion.gamma == pytest.approx(gamma)
    assert criterion.surcharge == 0.0
    for q in {0, 1, p // 2, p}:
        k = 2 * q
        expected = 2 * 123.0 + k * math.log(n) + 2 * gamma * math.log(math.comb(p, q))
        assert criterion.value(-123.0, k, q) == pytest.approx(expected, rel=1e-9)


def test_terms_pay_a_surcharge_where_chance_would_let_noise_in() -> None:
    n, columns = 10_000, np.ones(2500, dtype=int)
    criterion = ac.Ebic(noise=0.1).criterion(n, columns)
    assert criterion.gamma == pytest.approx(ebic_gamma(n, 2500))
    assert criterion.surcharge > 0
    # The price of the sixteenth term, and how many of the others, all noise, would pay it.
    price = np.diff(criterion.penalty(criterion.effective[:2] * [15, 16], [15, 16]))[0]
    expected = 0.1 / SAFETY_FACTORS[1]
    assert 2500 * stats.chi2.sf(price, 1) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("n", [400, 10_710])
def test_one_candidate_more_hardly_changes_the_price_of_a_term(n: int) -> None:
    prices = []
    for p in range(2, 600):
        criterion = ac.Ebic().criterion(n, np.ones(p, dtype=int))
        k = criterion.effective[0] if criterion.effective is not None else 1.0
        q = min(15, p // 4)
        prices.append(np.diff(criterion.penalty([q * k, (q + 1) * k], [q, q + 1]))[0])
    assert np.abs(np.diff(prices)).max() < 0.6
    assert prices[103] - prices[101] < 0.1  # it was 4.6 where p passes the root of 10,710


def test_special_cases_of_the_criteria(data: ac.ChoiceData) -> None:
    n = len(data)
    assert ebic_gamma(n, 1) == 0.0  # one candidate: no size of the space to speak of
    assert ebic_gamma(n, int(n**0.5) - 1) == 0.0
    assert ebic(n, np.ones(1, dtype=int), noise=0.1).surcharge == 0.0
    assert ac.Ebic(gamma=0.25).criterion(n, np.ones(22, dtype=int)).gamma == 0.25
    result = ac.fit_mnl(data, "*: TT + CO")
    assert bic(n).value(result.loglik, 2, 2) == pytest.approx(result.bic)
    assert ac.Ebic(gamma=0.0).criterion(n, np.ones(22, dtype=int)).value(
        result.loglik, 2, 2
    ) == pytest.approx(result.bic)
    aic = ac.Bic(weight=2 / math.log(n)).criterion(n, np.ones(22, dtype=int))
    assert aic.value(result.loglik, 2, 2) == pytest.approx(result.aic)


def test_a_heavier_penalty_keeps_fewer_terms(chosen: Select) -> None:
    sizes = [len(chosen(rule)) for rule in (ac.Bic(0.3), ac.Bic(), ac.Bic(5.0))]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[-1]
    assert len(chosen(ac.Bic())) >= len(chosen(ac.Ebic())) >= len(chosen(ac.Ebic(gamma=3.0)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ac.FalseDiscovery(0.0), "between 0 and 1, not at 0.0"),
        (lambda: ac.FalseDiscovery(1.5), "between 0 and 1"),
        (lambda: ac.Bic(0.0), "weight of a penalty is positive"),
        (lambda: ac.Bic(float("nan")), "weight of a penalty is positive"),
        (lambda: ac.Ebic(-0.5), "zero or more, not -0.5"),
        (lambda: ac.HeldOut(folds=1), "at least two folds"),
        (lambda: ac.HeldOut(weights=()), "one positive weight"),
        (lambda: ac.HeldOut(weights=(1.0, 0.0)), "positive weight"),
    ],
)
def test_impossible_rules_are_explained(make: object, message: str) -> None:
    with pytest.raises(ac.ArdchoiceError, match=message):
        make()  # type: ignore[operator]


# -- Held out ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def few(data: ac.ChoiceData) -> ac.ArdFit:
    """A space small enough to be searched again and again."""
    return ac.fit_ard(data, ac.SearchSpace(data, by=["G"], attributes=["TT"]))


@pytest.mark.parametrize(
    "structure", [ac.Structure(), None, ac.Structure(force="B: TT", max_terms=4)]
)
def test_held_out_is_valid_and_explained_too(
    few: ac.ArdFit, structure: ac.Structure | None
) -> None:
    rule = ac.HeldOut(folds=2, weights=(0.5, 2.0))
    explained(few, ac.select(few, rule, structure=structure), structure)


def test_held_out_takes_the_weight_that_predicts_persons_left_out_best(
    few: ac.ArdFit, data: ac.ChoiceData
) -> None:
    weights = (0.2, 1.0, 4.0)
    total = np.zeros(len(weights))
    for rest, left_out in data.folds(2, seed=7):
        inside = ac.fit_ard(rest, few.space)
        for i, weight in enumerate(weights):
            result = ac.fit_mnl(rest, ac.select(inside, ac.Bic(weight)))
            total[i] += result.score(left_out).loglik
    best = weights[int(total.argmax())]
    kept = ac.select(few, ac.HeldOut(folds=2, weights=weights, seed=7))
    assert kept.terms == ac.select(few, ac.Bic(best)).terms
    # The weights disagree, so the choice among them is one.
    assert len({ac.select(few, ac.Bic(w)).terms for w in weights}) > 1


def test_held_out_scores_are_those_of_fit_mnl_fold_by_fold(data: ac.ChoiceData) -> None:
    spec = "A: ASC + TT + CO\nB: ASC + TT\n*: CO"
    score = ac.held_out(data, spec, folds=3, seed=1)
    expected = [
        ac.fit_mnl(rest, spec).score(left_out).loglik for rest, left_out in data.folds(3, seed=1)
    ]
    np.testing.assert_allclose(score.by_fold, expected, atol=EXACT)
    assert score.loglik == pytest.approx(sum(expected), abs=EXACT)


def test_held_out_searches_anew_in_every_fold(data: ac.ChoiceData, few: ac.ArdFit) -> None:
    score = ac.held_out(data, few.space, folds=2, seed=1, rule=ac.Bic(), structure=None)
    assert len(score.specifications) == 2
    for (rest, left_out), specification, got in zip(
        data.folds(2, seed=1), score.specifications, score.by_fold, strict=True
    ):
        again = ac.select(ac.fit_ard(rest, few.space), ac.Bic(), structure=None)
        assert specification.terms == again.terms
        assert got == pytest.approx(ac.fit_mnl(rest, again).score(left_out).loglik, abs=EXACT)


# -- What is refused -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def continued(data: ac.ChoiceData, space: ac.SearchSpace) -> ac.ArdFit:
    january, february = data.split(0.5, seed=0)
    return ac.fit_ard(february, space, previous=ac.fit_ard(january, space))


@pytest.mark.parametrize("rule", [None, ac.Bic(), ac.Ebic(), ac.HeldOut()])
def test_searches_need_all_data_at_hand(continued: ac.ArdFit, rule: Rule | None) -> None:
    with pytest.raises(
        ac.ArdchoiceError, match=r"continues from previous data.*select by\s+LambdaAb"
    ):
        ac.select(continued, rule)


@pytest.mark.parametrize("rule", [ac.LambdaAbove(), ac.Evidence(), ac.FalseDiscovery()])
def test_thresholds_do_not(continued: ac.ArdFit, rule: Rule) -> None:
    assert len(ac.select(continued, rule)) > 2


def test_data_in_place_of_relevance_are_explained(data: ac.ChoiceData) -> None:
    with pytest.raises(ac.ArdchoiceError, match=r"Expected a relevance fit, got ChoiceData.*speci"):
        ac.select(data)  # type: ignore[arg-type]


# -- Near-ties, rivals and figures in reasons ------------------------------------------------------


def exact(
    fit: ac.ArdFit,
    rule: ac.Bic | ac.Ebic,
    terms: object,
    structure: ac.Structure | None = ac.Structure(),  # noqa: B008 - frozen
) -> float:
    """The criterion of some terms, from `fit_mnl`."""
    result = ac.fit_mnl(fit.data, ac.Specification(tuple(terms)))  # type: ignore[arg-type]
    constraints = compile_structure(structure, fit.space)
    criterion = criterion_of(rule, fit, len(fit.data), constraints)
    inside = [fit.terms.index(t) for t in result.specification]
    return criterion.value(result.loglik, criterion.coefficients(inside), len(inside))


def changed(
    specification: ac.Specification, rival: ac.Rival, space: ac.SearchSpace
) -> list[ac.Term]:
    assert set(rival.out) <= set(specification.terms)
    assert not set(rival.into) & set(specification.terms)
    kept = (set(specification.terms) - set(rival.out)) | set(rival.into)
    return [t for t in space.terms if t in kept]


@pytest.mark.parametrize("rule", [ac.Bic(), ac.Ebic(), ac.Bic(0.3)], ids=lambda rule: rule.name)
@pytest.mark.parametrize("structure", ["usual", "none"])
def test_near_ties_are_as_near_as_they_say(
    fit: ac.ArdFit, chosen: Select, rule: ac.Bic | ac.Ebic, structure: str
) -> None:
    rules = STRUCTURES[structure]
    specification = chosen(rule, structure)
    value = exact(fit, rule, specification.terms, rules)
    assert specification.criterion == pytest.approx(value, abs=EXACT)
    costs = [tie.cost for tie in specification.near_ties]
    assert costs
    assert costs == sorted(costs)
    assert max(costs) <= NEAR_TIE_MARGIN
    seen = set()
    for tie in specification.near_ties:
        terms = changed(specification, tie, fit.space)
        assert obeys(rules, fit.space, terms)
        assert exact(fit, rule, terms, rules) - value == pytest.approx(tie.cost, abs=EXACT)
        seen.add(frozenset(terms))
    assert len(seen) == len(specification.near_ties)
    assert frozenset(specification.terms) not in seen


@pytest.mark.parametrize("rule", [ac.Bic(), ac.Ebic()], ids=lambda rule: rule.name)
def test_every_specification_one_term_away_that_is_near_is_reported(
    fit: ac.ArdFit, chosen: Select, rule: ac.Bic | ac.Ebic
) -> None:
    specification = chosen(rule, "none")
    value = exact(fit, rule, specification.terms, None)
    kept, others = set(specification.terms), set(fit.terms) - set(specification.terms)
    moves = [(set(), {t}) for t in others] + [({t}, set()) for t in kept]
    moves += [({t}, {u}) for t in kept for u in others if t.what == u.what]
    reported = {(frozenset(t.out), frozenset(t.into)) for t in specification.near_ties}
    near = 0
    for out, into in moves:
        cost = exact(fit, rule, [t for t in fit.terms if t in (kept - out) | into], None) - value
        assert cost > -EXACT  # no single change is better
        if cost <= NEAR_TIE_MARGIN - EXACT:
            near += 1
            assert (frozenset(out), frozenset(into)) in reported
    assert near > 0


@pytest.mark.parametrize("rule", [ac.Bic(), ac.Ebic()], ids=lambda rule: rule.name)
def test_rivals_would_stand_in_for_the_terms_they_are_named_for(
    fit: ac.ArdFit, chosen: Select, rule: ac.Bic | ac.Ebic
) -> None:
    specification = chosen(rule)
    value = exact(fit, rule, specification.terms)
    free = [t for t in specification if t.what is not None]
    assert set(specification.rivals) == set(free)
    for term, rival in specification.rivals.items():
        assert term in rival.out
        assert rival.into
        terms = changed(specification, rival, fit.space)
        assert obeys(ac.Structure(), fit.space, terms)
        cost = exact(fit, rule, terms) - value
        assert rival.cost == pytest.approx(cost, rel=FORETOLD, abs=0.5)


def test_figures_in_reasons_are_what_a_refit_would_find(fit: ac.ArdFit) -> None:
    rule, structure = ac.Bic(), ac.Structure(linear_unless=0.0)
    specification = ac.select(fit, rule, structure=structure)
    value = exact(fit, rule, specification.terms)
    kept = set(specification.terms)
    checked = 0
    for term, reason in specification.reasons.items():
        rise = re.search(r"would rise by ([\d.]+) with", reason)
        if rise is None or "takes its place" in reason:
            continue
        if term in kept:
            gone = {t for t in kept if t == term or (not term.by and t.main == term)}
            terms = kept - gone
        else:
            terms = kept | {term, term.main}
        if not obeys(structure, fit.space, [t for t in fit.terms if t in terms]):
            continue
        cost = exact(fit, rule, [t for t in fit.terms if t in terms]) - value
        # Another change that has the term may cost less than adding it alone.
        assert float(rise[1]) <= cost * (1 + FORETOLD) + 0.5
        if term in kept:
            assert float(rise[1]) == pytest.approx(cost, rel=FORETOLD, abs=0.5)
        checked += 1
    assert checked > 10


def test_a_rival_reads_as_a_sentence() -> None:
    a, b = ac.parse_term("A: TT"), ac.parse_term("A: log1p(TT)")
    assert str(ac.Rival((a,), (b,), 1.234)) == "A: log1p(TT) instead of A: TT: +1.23"
    assert str(ac.Rival((), (b,), 0.5)) == "also A: log1p(TT): +0.50"
    assert str(ac.Rival((a,), (), 2.0)) == "without A: TT: +2.00"


def test_select_warns_of_a_prohibition_of_nothing(fit: ac.ArdFit) -> None:
    with pytest.warns(ac.ArdchoiceWarning, match="forbids nothing"):
        found = ac.select(fit, structure=ac.Structure(forbid="A: sqrt(TT)"))
    assert any("forbids nothing" in alert for alert in found.alerts)

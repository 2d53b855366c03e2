"""Expected signs, against utility evaluated value by value in every segment."""

import re

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from selection_support import made, obeys, read, table, usual
from signs_by_hand import Where, wrong_after_estimation, wrong_by_hand

import ardchoice as ac
from ardchoice.data import recognised_kind
from ardchoice.design.encoding import learn_encoding
from ardchoice.selection import compile_structure, criterion_of
from ardchoice.selection.signs import SIGN_GRID_POINTS, SignRules, WrongSign, recognised_signs

SPECIFICATIONS = {
    "linear": "A: TT\nB: TT + CO\nC: TT",
    "log1p": "A: log1p(TT)\nB: log1p(CO)",
    "one covariate": "A: ASC x G + TT + TT x G\nB: TT + TT x H\nC: TT x G",
    "two covariates, one by one": "A: TT + TT x G + TT x H",
    "two covariates at once": "A: TT + TT x G + TT x H + TT x G x H\nB: log1p(TT) + log1p(TT) x G",
    "classes": "A: segments(TT, 4)\nB: quantiles(CO, 3)",
    "classes with a covariate": "A: segments(TT, 3) + segments(TT, 3) x G",
    "pieces": "A: piecewise(TT, 0.7, 1.5)\nB: piecewise(TT, 1) + piecewise(TT, 1) x H",
    "a number": "A: TT + TT x INC\nB: TT x INC",
    "a number and levels": "A: TT + TT x INC + TT x G x INC\nB: log1p(TT) x H + log1p(TT) x INC",
    "shared": "*: TT + TT x G\nA: TT\nA+B: CO + CO x H\nB: CO",
}
TWO_FORMS = "A: TT + log1p(TT)\nB: TT + square(TT) + TT x G"


# -- Violations ----------------------------------------------------------------------------------


def as_set(found: list[WrongSign]) -> set[Where]:
    return {
        (w.alternative, w.attribute, frozenset(w.segment.split(", ") if w.segment else ()))
        for w in found
    }


@pytest.fixture(scope="module")
def data() -> ac.ChoiceData:
    return made(300)


@pytest.mark.parametrize("kind", SPECIFICATIONS)
@pytest.mark.parametrize("sign", ["-", "+"])
def test_violations_are_those_seen_value_by_value(
    data: ac.ChoiceData, kind: str, sign: str
) -> None:
    signs = {"TT": sign, "CO": "-" if sign == "+" else "+"}
    encoding = learn_encoding(data, ac.parse_specification(SPECIFICATIONS[kind]).terms)
    rules = SignRules(signs, encoding, data)  # type: ignore[arg-type]
    rng = np.random.default_rng(len(kind))
    some = 0
    for shift in (-1.0, 0.0, 1.0):
        for _ in range(8):
            beta = rng.normal(shift, 1.0, encoding.n_columns)
            estimates = dict(zip(encoding.names, beta, strict=True))
            found = rules.violations(range(len(encoding.terms)), beta)
            expected = wrong_by_hand(data, encoding, estimates, signs)
            assert as_set(found) == expected
            assert all(w.excess > 0 for w in found)
            assert rules.count(range(len(encoding.terms)), beta) == len(found)
            some += bool(expected)
    assert some > 0


def test_a_sum_of_two_forms_is_looked_at_in_twenty_steps(data: ac.ChoiceData) -> None:
    encoding = learn_encoding(data, ac.parse_specification(TWO_FORMS).terms)
    rules = SignRules({"TT": "-"}, encoding, data)
    rng = np.random.default_rng(0)
    for _ in range(30):
        beta = rng.normal(size=encoding.n_columns)
        estimates = dict(zip(encoding.names, beta, strict=True))
        found = as_set(rules.violations(range(len(encoding.terms)), beta))
        assert found == wrong_by_hand(data, encoding, estimates, {"TT": "-"}, SIGN_GRID_POINTS - 1)
        assert found <= wrong_by_hand(data, encoding, estimates, {"TT": "-"})


def test_a_set_of_terms_is_judged_without_the_others(data: ac.ChoiceData) -> None:
    encoding = learn_encoding(data, ac.parse_specification("A: TT + TT x G\nB: TT").terms)
    rules = SignRules({"TT": "-"}, encoding, data)
    beta = np.array([-1.0, 1.5, 2.0])
    assert [str(w) for w in rules.violations([0, 1, 2], beta)] == ["A: TT for G u", "B: TT"]
    assert not rules.violations([0], beta)
    assert [w.segment for w in rules.violations([0, 1], beta)] == ["G u"]
    assert rules.violations([0, 1], beta)[0].excess > 0
    assert rules.concern(0)
    assert not SignRules({"CO": "-"}, encoding, data).concern(0)


def test_only_values_that_can_be_chosen_count() -> None:
    frame = table(300)
    far = (frame["A_TT"] > 1.0) & (frame["PICK"] != "A")
    frame.loc[frame["PICK"] == "A", "A_TT"] = frame["A_TT"].clip(upper=1.0)
    with_gaps = frame.assign(A_AV=~far, B_AV=True, C_AV=True)
    data = read(with_gaps, availability="{alt}_AV")
    # The slope beyond one is wrong, but nobody can go there.
    terms = ac.parse_specification("A: piecewise(TT, 1)").terms
    beta = np.array([-1.0, 5.0])
    assert not SignRules({"TT": "-"}, learn_encoding(data, terms), data).count([0], beta)
    everywhere = read(frame)
    assert SignRules({"TT": "-"}, learn_encoding(everywhere, terms), everywhere).count([0], beta)


def test_a_flat_utility_breaks_no_sign(data: ac.ChoiceData) -> None:
    encoding = learn_encoding(data, ac.parse_specification("A: TT + TT x G").terms)
    for sign in "+-":
        rules = SignRules({"TT": sign}, encoding, data)  # type: ignore[dict-item]
        direction = 1 if sign == "+" else -1
        assert not rules.count([0, 1], np.zeros(2))
        # For G = u the slopes cancel but for rounding: 0.1 + 0.2 - 0.3 is not zero.
        assert not rules.count([0, 1], direction * np.array([0.1 + 0.2, -0.3]))
        assert not rules.count([0, 1], direction * np.array([0.3, -(0.1 + 0.2)]))
        assert rules.count([0, 1], -direction * np.array([0.3, -0.2])) == 2


# -- Selection -----------------------------------------------------------------------------------

RULES = [ac.Ebic(), ac.Bic(0.5), ac.LambdaAbove(0.0005), ac.Evidence(1.0), ac.FalseDiscovery(0.2)]


def backwards(frame: pd.DataFrame) -> dict[str, npt.ArrayLike]:
    """Time pleases in B, and in A those with G = u; cost pleases nobody."""
    a = np.where(frame["G"] == "u", 1.0, -1.5)
    return {
        "A": a * frame["A_TT"] - frame["A_CO"],
        "B": 0.8 * frame["B_TT"] - frame["B_CO"],
        "C": -frame["C_TT"] - frame["C_CO"],
    }


@pytest.fixture(scope="module")
def against() -> ac.ArdFit:
    """Relevance where the data want wrong signs."""
    data = made(500, 5, backwards)
    return ac.fit_ard(data, ac.SearchSpace(data, {"TT": ["linear", "log1p"]}, by=["G"]))


@pytest.mark.parametrize("rule", RULES, ids=lambda r: type(r).__name__)
def test_no_selected_specification_has_a_wrong_sign_when_one_without_exists(
    against: ac.ArdFit, rule: object
) -> None:
    signs = {"TT": "-", "CO": "-"}
    free = ac.select(against, rule, structure=ac.Structure())  # type: ignore[arg-type]
    places = {(place, name) for place, name, _ in wrong_after_estimation(against.data, free, signs)}
    assert places == {("A", "TT"), ("B", "TT")}
    structure = ac.Structure(signs=signs)  # type: ignore[arg-type]
    signed = ac.select(against, rule, structure=structure)  # type: ignore[arg-type]
    assert obeys(structure, against.space, signed.terms)
    assert not wrong_after_estimation(against.data, signed, signs)
    # What had to give is said, in the notes and term by term.
    assert len(signed.notes) == 1
    assert any(words in signed.notes[0] for words in ("signs", "wrong way"))
    assert any(name in signed.notes[0] for name in ("A: TT", "A: log1p(TT)"))
    gone = set(free.terms) - set(signed.terms)
    assert any("sign" in signed.reasons[term] for term in gone)
    assert not free.notes


def test_the_criterion_that_signs_cost_is_in_the_notes(against: ac.ArdFit) -> None:
    structure = ac.Structure(signs={"TT": "-", "CO": "-"})
    specification = ac.select(against, structure=structure)
    (note,) = specification.notes
    assert note.endswith("utility would go the wrong way: A: TT for G u.")
    change = re.search(r"EBIC would be lower by ([\d.]+) \(also (.*)\)", note)
    assert change
    # What is said is what a refit finds.
    kept = {*specification.terms, *map(ac.parse_term, change[2].split(", "))}
    values = []
    for terms in (specification.terms, [t for t in against.terms if t in kept]):
        result = ac.fit_mnl(against.data, terms)
        constraints = compile_structure(structure, against.space)
        criterion = criterion_of(ac.Ebic(), against, len(against.data), constraints)
        count = criterion.coefficients([against.terms.index(t) for t in terms])
        forms = sum(t.how.name == "log1p" and not t.by for t in terms) * structure.linear_unless
        values.append(criterion.value(result.loglik, count, len(terms)) + forms)
    assert float(change[1]) == pytest.approx(values[0] - values[1], abs=0.06)  # one decimal


def test_signs_that_hold_anyway_change_nothing() -> None:
    data = made(700, 6, usual)
    fit = ac.fit_ard(data, ac.SearchSpace(data, by=["G"]))
    free = ac.select(fit)
    signs = {"TT": "-", "CO": "-"}
    assert not wrong_after_estimation(data, free, signs)
    signed = ac.select(fit, structure=ac.Structure(signs=signs))  # type: ignore[arg-type]
    assert signed.terms == free.terms


def test_a_positive_sign_asks_the_opposite(against: ac.ArdFit) -> None:
    signs = {"TT": "+"}
    specification = ac.select(against, structure=ac.Structure(signs=signs))  # type: ignore[arg-type]
    assert not wrong_after_estimation(against.data, specification, signs)
    assert any(t.where == ("B",) and t.what == "TT" for t in specification)
    assert not any(t.where == ("C",) and t.what == "TT" for t in specification)


def test_a_forced_term_with_the_wrong_sign_is_kept_with_a_warning(against: ac.ArdFit) -> None:
    structure = ac.Structure(signs={"TT": "-", "CO": "-"}, force="B: TT")
    with pytest.warns(ac.ArdchoiceWarning, match="No specification with the expected signs"):
        specification = ac.select(against, structure=structure)
    assert ac.parse_term("B: TT") in specification.terms
    assert specification.notes == ("Signs not as expected, whatever is selected: B: TT.",)
    # Nothing else is wrong.
    wrong = wrong_after_estimation(against.data, specification, structure.signs)
    assert wrong == {("B", "TT", frozenset())}


def test_the_warning_names_where_and_what_to_look_at(against: ac.ArdFit) -> None:
    structure = ac.Structure(signs={"CO": "+"}, force=["*: CO", "*: CO x G"])
    with pytest.warns(
        ac.ArdchoiceWarning, match=r"A: CO for G .* and 3 more. Look at what is forc"
    ):
        ac.select(against, structure=structure)


# -- Recognised attributes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("TT", "time"),
        ("totcost", "money"),
        ("CostCarCHF", "money"),
        ("WaitingTimePT", "wait"),
        ("NbTransf", "changes"),
        ("opcost", "money"),
        ("totalTripDurationMinutes", "time"),
        ("TRAVEL.TIME", "time"),
        ("Fahrzeit", "time"),
        ("Coût", "money"),
        ("HE", "wait"),
        ("stayDurationMinutes", None),
        ("outDepTime", None),
        ("arrival_time", None),
        ("departure time", None),
        ("battery_lifetime", None),
        ("cost_saving", None),
        ("overtime", None),
        ("discount on price", None),
        ("brand", None),
        ("speed", None),
        ("welfare", None),
        ("", None),
    ],
)
def test_names_of_money_time_waits_and_changes_are_recognised(name: str, kind: str | None) -> None:
    assert recognised_kind(name) == kind


def test_recognised_signs_are_required_like_given_ones() -> None:
    def cost_is_liked(frame: pd.DataFrame) -> dict[str, npt.ArrayLike]:
        return {a: 1.5 * frame[f"{a}_CO"] - 2 * frame[f"{a}_TT"] for a in ("A", "B", "C")}

    data = made(900, 5, cost_is_liked)
    space = ac.SearchSpace(data, generic=True)
    free = ac.specify(data, space)
    assert free.result.wtp("TT", "CO")["estimate"].max() < 0
    found = ac.specify(data, space, structure=ac.Structure(signs="recognised"))
    assert found.structure == ac.Structure(signs={"TT": "-", "CO": "-"})
    assert not any(t.what == "CO" for t in found.specification.terms)
    assert any(t.what == "TT" for t in found.specification.terms)


def test_what_may_be_negative_or_has_levels_has_no_recognised_sign() -> None:
    frame = table(60, 0)
    frame[["A_CO", "B_CO", "C_CO"]] -= 1.0
    data = read(frame)
    assert recognised_signs(data, ac.SearchSpace(data).terms) == {"TT": "-"}


def test_signs_are_a_table_or_recognised() -> None:
    with pytest.raises(ac.SpecificationError, match='or "recognised"'):
        ac.Structure(signs="all")  # type: ignore[arg-type]


def test_an_alternative_that_is_available_in_no_row_has_no_sign_to_obey(
    data: ac.ChoiceData,
) -> None:
    from dataclasses import replace

    terms = ac.parse_specification("A: TT + TT x G\nC: TT + TT x H\nB: log1p(TT)").terms
    encoding = learn_encoding(data, terms)
    gone, choice = data.available.copy(), data.chosen().copy()
    gone[2], choice[choice == 2] = False, 0
    without = replace(data, available=gone, choice=choice)
    beta = np.ones(encoding.n_columns)
    every, some = (
        SignRules({"TT": "-"}, encoding, d).violations(range(len(terms)), beta)
        for d in (data, without)
    )
    assert {w.alternative for w in every} == {"A", "B", "C"}
    assert as_set(some) == {w for w in as_set(every) if w[0] != "C"}

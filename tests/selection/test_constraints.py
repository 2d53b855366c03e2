"""Which sets of terms are valid: rule by rule, and against every subset of small spaces."""

import re
from collections.abc import Iterator

import numpy as np
import pytest
from selection_support import fits, made, numbers, obeys, subsets

import ardchoice as ac
from ardchoice.selection.compile import compile_structure
from ardchoice.selection.constraints import Constraints

RANDOM_STRUCTURES = 25  # of each small space: enough for every pair of rules to meet a few times

SPACES = {
    "interactions": """
        A: ASC + TT + TT x G + TT x H + TT x G x H + log1p(TT) + log1p(TT) x G
        B: TT + log1p(TT)
    """,
    "shared": """
        A: ASC + TT + TT x G + log1p(TT)
        B: TT
        *: TT + TT x G + log1p(TT)
        A+B: TT
    """,
    "constants": """
        A: ASC + ASC x G + CO + CO x G
        B: ASC + CO + TT
        C: ASC x G + CO
    """,
}
PATTERNS = {
    "interactions": ["A: TT", "*: TT", "A: *", "*: * x G", "*: * x *", "*: log1p(*)", "A: TT x H"],
    "shared": ["A: TT", "*: TT", "B: *", "A: TT x G", "*: log1p(*)", "*: * x G", "A+B: TT"],
    "constants": ["A: CO", "*: CO", "C: *", "*: * x G", "B: *", "*: ASC x *", "*: TT"],
}


@pytest.fixture(scope="module")
def data() -> ac.ChoiceData:
    return made(200)


@pytest.fixture(scope="module")
def space(data: ac.ChoiceData) -> ac.SearchSpace:
    return ac.SearchSpace(data, ["linear", "log1p"], by=["G", "H"], depth=2, generic=["CO"])


@pytest.fixture(scope="module")
def small(data: ac.ChoiceData) -> dict[str, ac.SearchSpace]:
    return {name: small_space(data, name) for name in SPACES}


def small_space(data: ac.ChoiceData, name: str) -> ac.SearchSpace:
    return ac.SearchSpace(data, specific=False, add=SPACES[name])


def only(**rules: object) -> ac.Structure:
    """These rules and no other."""
    without = dict.fromkeys(("heredity", "one_form", "one_coefficient", "constants"), False)
    return ac.Structure(**(without | rules))  # type: ignore[arg-type]


def valid(space: ac.SearchSpace, structure: ac.Structure | None, *texts: str) -> bool:
    constraints = compile_structure(structure, space)
    answer = constraints.is_valid(numbers(space, *texts))
    assert answer == (not constraints.broken(numbers(space, *texts)))
    return answer


# -- Rule by rule --------------------------------------------------------------------------------


def test_without_rules_every_set_is_valid(small: dict[str, ac.SearchSpace]) -> None:
    for space in small.values():
        constraints = compile_structure(None, space)
        assert all(constraints.is_valid(s) for s in subsets(len(space)))


def test_what_the_space_forces_stays_without_rules_too(data: ac.ChoiceData) -> None:
    space = ac.SearchSpace(data, force="A: TT")
    assert not valid(space, None)
    assert valid(space, None, "A: TT")


def test_an_interaction_needs_its_main_term(space: ac.SearchSpace) -> None:
    heredity = only(heredity=True)
    assert not valid(space, heredity, "A: TT x G")
    assert not valid(space, heredity, "A: TT x G", "B: TT", "A: log1p(TT)")
    assert valid(space, heredity, "A: TT x G", "A: TT")
    assert valid(space, only(), "A: TT x G")


def test_an_interaction_with_two_covariates_needs_both_with_one(space: ac.SearchSpace) -> None:
    heredity, two = only(heredity=True), "A: TT x G x H"
    assert not valid(space, heredity, two, "A: TT")
    assert not valid(space, heredity, two, "A: TT", "A: TT x G")
    assert not valid(space, heredity, two, "A: TT x G", "A: TT x H")
    assert valid(space, heredity, two, "A: TT x G", "A: TT x H", "A: TT")


def test_a_shared_main_term_carries_interactions_of_one_alternative_but_not_the_reverse(
    space: ac.SearchSpace,
) -> None:
    heredity = only(heredity=True)
    assert valid(space, heredity, "B: CO x G", "*: CO")
    assert not valid(space, heredity, "*: CO x G", "A: CO", "B: CO", "C: CO")


def test_the_constant_of_the_base_is_not_asked_for(data: ac.ChoiceData) -> None:
    space = ac.SearchSpace(data, by=["G"], base="C", add="C: ASC x G")
    heredity = only(heredity=True)
    assert valid(space, heredity, "C: ASC x G")
    assert not valid(space, heredity, "A: ASC x G")


def test_one_form_is_asked_within_alternatives_or_everywhere(space: ac.SearchSpace) -> None:
    apart, together = ("A: TT", "B: log1p(TT)"), ("A: TT", "A: log1p(TT)")
    assert not valid(space, only(one_form=True), *together)
    assert valid(space, only(one_form=True), *apart)
    assert not valid(space, only(one_form="everywhere"), *apart)
    assert valid(space, only(one_form="everywhere"), "A: TT", "B: TT", "A: log1p(CO)")
    assert valid(space, only(), *together)
    assert not valid(space, only(one_form=True), "A: TT", "A: log1p(TT) x G")


def test_a_shared_term_has_its_form_in_every_alternative(space: ac.SearchSpace) -> None:
    assert not valid(space, only(one_form=True), "*: CO", "B: log1p(CO)")
    assert valid(space, only(one_form=True), "*: CO", "B: CO")


def test_a_generic_and_a_specific_coefficient_of_one_attribute_exclude_each_other(
    space: ac.SearchSpace,
) -> None:
    rule = only(one_coefficient=True)
    assert not valid(space, rule, "*: CO", "B: CO")
    assert valid(space, rule, "*: CO")
    assert valid(space, rule, "A: CO", "B: CO")
    assert valid(space, rule, "*: CO", "B: TT")
    why = compile_structure(rule, space).broken(numbers(space, "*: CO", "B: CO"))
    assert why == [
        "'B: CO' and '*: CO' cannot be in together: generic and alternative-specific coefficients "
        "exclude each other (one_coefficient)"
    ]


def test_wildcards_force_and_forbid(space: ac.SearchSpace) -> None:
    forced = only(force=["A: TT*", "*: CO"])
    constraints = compile_structure(forced, space)
    wanted = {t for t in space.terms if fits("A: TT*", t) or fits("*: CO", t)}
    assert {space.terms[t] for t in constraints.forced} == wanted
    assert len(wanted) == 4 + 4  # A: TT alone, x G, x H, x G x H; CO of A, B, C and shared
    forbidden = compile_structure(only(forbid="*: log1p(*) x *"), space)
    for t, term in enumerate(space.terms):
        assert (t in forbidden.impossible) == (term.how.name == "log1p" and bool(term.by))
        assert forbidden.is_valid(frozenset([t])) == (t not in forbidden.impossible)


def test_what_is_forced_pulls_in_what_it_needs(space: ac.SearchSpace) -> None:
    constraints = compile_structure(only(heredity=True, force="A: TT x G x H"), space)
    closure = numbers(space, "A: TT", "A: TT x G", "A: TT x H", "A: TT x G x H")
    assert constraints.least() == closure
    assert constraints.is_valid(closure)


def test_what_is_forbidden_takes_with_it_what_needs_it(space: ac.SearchSpace) -> None:
    constraints = compile_structure(only(heredity=True, forbid="A: TT x G"), space)
    gone = {str(space.terms[t]) for t in constraints.impossible}
    assert gone == {"A: TT x G", "A: TT x G x H"}
    assert "which is out: forbidden by" in constraints.impossible[max(constraints.impossible)]


def test_terms_of_different_patterns_exclude_each_other(space: ac.SearchSpace) -> None:
    rule = only(exclusive=[["A: *", "B: TT", "C: *"]])
    assert valid(space, rule, "A: TT", "A: CO")
    assert valid(space, rule, "A: TT", "B: CO")
    assert not valid(space, rule, "A: TT", "B: TT")
    assert not valid(space, rule, "B: TT", "C: CO")
    assert not valid(space, rule, "A: CO", "C: CO")


def test_of_a_single_exclusive_pattern_one_term_at_most(space: ac.SearchSpace) -> None:
    rule = only(exclusive=["*: TT x G", ["B: CO*"]])
    assert valid(space, rule, "A: TT x G", "B: CO")
    assert not valid(space, rule, "A: TT x G", "C: TT x G")
    assert not valid(space, rule, "B: CO", "B: CO x G")
    assert valid(space, rule, "A: CO", "B: CO")


def test_terms_required_together_are_all_in_or_all_out(space: ac.SearchSpace) -> None:
    rule = only(together=[["*: TT"], ["A: TT", "A: CO"]])
    every = ("A: TT", "B: TT", "C: TT", "A: CO")
    assert valid(space, rule)
    assert valid(space, rule, *every)
    assert valid(space, rule, "B: CO")
    for text in every:
        assert not valid(space, rule, *(set(every) - {text}))


@pytest.mark.parametrize("rule", ["exclusive", "together"])
def test_a_group_of_one_term_is_refused(space: ac.SearchSpace, rule: str) -> None:
    # exclusive=["A: TT", "A: CO"] is easily written where [("A: TT", "A: CO")] is meant.
    with pytest.raises(ac.SpecificationError, match=f"{rule}: the entry 'A: TT' is about one term"):
        compile_structure(ac.Structure(**{rule: ["A: TT", "A: CO"]}), space)


def test_terms_and_coefficients_are_counted(space: ac.SearchSpace) -> None:
    assert valid(space, only(max_terms=2), "A: TT", "B: TT")
    assert not valid(space, only(max_terms=2), "A: TT", "B: TT", "C: TT")
    # H has three levels, so two columns.
    assert valid(space, only(max_coefficients=3), "A: TT", "A: TT x H")
    assert not valid(space, only(max_coefficients=3), "A: TT", "A: TT x H", "B: TT")


def test_constants_stay_unless_told(space: ac.SearchSpace) -> None:
    assert not valid(space, ac.Structure(), "A: ASC")
    assert valid(space, ac.Structure(), "A: ASC", "B: ASC")
    assert valid(space, ac.Structure(constants=False))


def test_what_is_broken_is_said_in_words(space: ac.SearchSpace) -> None:
    structure = ac.Structure(force="B: CO", max_terms=4, together=[["C: TT", "C: CO"]])
    constraints = compile_structure(structure, space)
    texts = ["A: TT x G", "A: log1p(TT)", "B: TT", "C: TT", "A: ASC"]
    said = "; ".join(constraints.broken(numbers(space, *texts)))
    for part in (
        "'B: ASC' must be in",
        "'B: CO' must be in",
        "'A: TT x G' needs 'A: TT'",
        "'A: TT x G' and 'A: log1p(TT)' cannot be in together: one form per attribute",
        "'C: TT' needs its partner 'C: CO'",
        "5 terms are more than",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("heredity", "expensive"),
    [(True, {"A: log1p(TT)"}), (False, {"A: log1p(TT)", "A: log1p(TT) x G"})],
)
def test_forms_cost_where_the_attribute_as_it_is_is_a_candidate(
    data: ac.ChoiceData, heredity: bool, expensive: set[str]
) -> None:
    add = "A: TT + log1p(TT) + log1p(TT) x G\nB: log1p(TT)"
    space = ac.SearchSpace(data, specific=False, add=add)
    constraints = compile_structure(only(heredity=heredity, linear_unless=3.0), space)
    costs = {str(t): c for t, c in zip(space.terms, constraints.costs, strict=True)}
    assert costs == {name: 3.0 if name in expensive else 0.0 for name in costs}
    assert constraints.cost(range(len(space))) == 3.0 * len(expensive)


# -- Against every subset ------------------------------------------------------------------------


def random_structure(
    name: str, terms: tuple[ac.Term, ...], rng: np.random.Generator
) -> ac.Structure:
    def some(low: int, high: int) -> list[str]:
        return [str(p) for p in rng.choice(PATTERNS[name], rng.integers(low, high), replace=False)]

    def limit(most: int) -> int | None:
        return int(rng.integers(3, most)) if rng.random() < 0.3 else None

    def group(most: int, terms: tuple[ac.Term, ...]) -> list[list[str]]:
        """At most one entry, of at least two terms: less is refused."""
        patterns = some(1, most)
        each = [{t for t in terms if fits(p, t)} for p in patterns]
        size = len(set().union(*each))
        return [patterns] if size > 1 and (len(patterns) > 1 or len(each[0]) > 1) else []

    # Not asked: which of several shared terms is to carry a forced interaction.
    force = [p for p in some(0, 2) if name != "shared" or " x " not in p]
    return ac.Structure(
        heredity=bool(rng.random() < 0.7),
        one_form=(True, False, "everywhere")[rng.integers(3)],  # type: ignore[arg-type]
        one_coefficient=len(terms) % 2 == 0,
        constants=bool(rng.random() < 0.5),
        force=force,
        forbid=some(0, 2),
        exclusive=group(4, terms) if rng.random() < 0.5 else [],
        together=group(3, terms) if rng.random() < 0.4 else [],
        max_terms=limit(8),
        max_coefficients=limit(10),
    )


def compiled(
    spaces: dict[str, ac.SearchSpace], count: int, seed: int
) -> Iterator[tuple[ac.SearchSpace, ac.Structure, Constraints | None]]:
    """Random structures met with small spaces; None where they contradict themselves."""
    rng = np.random.default_rng(seed)
    for name, space in spaces.items():
        for _ in range(count):
            structure = random_structure(name, space.terms, rng)
            try:
                yield space, structure, compile_structure(structure, space)
            except ac.SpecificationError:
                yield space, structure, None


def test_valid_sets_are_those_of_the_docstring_and_contradictions_leave_none(
    small: dict[str, ac.SearchSpace],
) -> None:
    refused = 0
    for space, structure, constraints in compiled(small, RANDOM_STRUCTURES, seed=0):
        for chosen in subsets(len(space)):
            expected = obeys(structure, space, [space.terms[t] for t in chosen])
            if constraints is None:
                assert not expected, (structure, chosen)
            else:
                assert constraints.is_valid(chosen) == expected, (structure, chosen)
        refused += constraints is None
    assert 3 < refused < 2 * RANDOM_STRUCTURES  # both happen


def test_broken_and_is_valid_agree(small: dict[str, ac.SearchSpace]) -> None:
    rng = np.random.default_rng(1)
    for space, _, constraints in compiled(small, RANDOM_STRUCTURES, seed=1):
        if constraints is not None:
            for share in rng.random(30):
                chosen = frozenset(np.flatnonzero(rng.random(len(space)) < share).tolist())
                assert constraints.is_valid(chosen) == (not constraints.broken(chosen))


def every_valid(space: ac.SearchSpace, constraints: Constraints) -> list[frozenset[int]]:
    return [s for s in subsets(len(space)) if constraints.is_valid(s)]


def test_sets_near_a_valid_one_are_judged_as_sets_anywhere(
    small: dict[str, ac.SearchSpace],
) -> None:
    rng = np.random.default_rng(5)
    kept = 0
    for space, _, constraints in compiled(small, RANDOM_STRUCTURES, seed=5):
        if constraints is None:
            continue
        for chosen in every_valid(space, constraints)[::15]:
            others = [
                chosen ^ frozenset(rng.choice(len(space), size).tolist())
                for size in (0, 1, 1, 2, 4)
            ]
            expected = [s for s in others if s != chosen and constraints.is_valid(s)]
            assert constraints.valid_among(others, chosen) == list(dict.fromkeys(expected))
            kept += len(expected)
    assert kept > 100


def test_addable_are_the_terms_with_which_a_valid_set_stays_valid(
    small: dict[str, ac.SearchSpace],
) -> None:
    for space, _, constraints in compiled(small, 8, seed=2):
        if constraints is None:
            continue
        for chosen in every_valid(space, constraints)[::7]:
            mask = constraints.addable(chosen)
            for t in range(len(space)):
                assert mask[t] == (t not in chosen and constraints.is_valid(chosen | {t}))


def test_without_is_the_largest_valid_set_left(small: dict[str, ac.SearchSpace]) -> None:
    for space, _, constraints in compiled(small, 8, seed=3):
        if constraints is None:
            continue
        known = every_valid(space, constraints)
        for chosen in known[::11]:
            for t in chosen:
                left = constraints.without(chosen, [t])
                inside = [s for s in known if s <= chosen - {t}]
                assert (left is None) == (not inside)
                if left is not None:
                    assert left == max(inside, key=len)


def test_moves_lead_from_valid_sets_to_valid_sets(small: dict[str, ac.SearchSpace]) -> None:
    moves = np.zeros(3, dtype=int)
    for space, structure, constraints in compiled(small, RANDOM_STRUCTURES, seed=4):
        if constraints is None:
            continue
        for chosen in every_valid(space, constraints)[::9]:
            reshaped, regrouped = constraints.reshaped(chosen), constraints.regrouped(chosen)
            bundled = constraints.bundled(chosen)
            completed = {t: constraints.completions(chosen, t) for t in range(len(space))}
            for t, found in completed.items():
                assert all(t in s for s in found)
            several = [s for found in completed.values() for s in found]
            for s in (*reshaped, *regrouped, *bundled, *several):
                assert obeys(structure, space, [space.terms[t] for t in s])
            moves += [len(reshaped), len(regrouped), len(several)]
    assert (moves > 100).all()


def test_an_attribute_takes_another_form_with_all_its_interactions(space: ac.SearchSpace) -> None:
    constraints = compile_structure(ac.Structure(constants=False), space)
    chosen = numbers(space, "A: TT", "A: TT x G", "B: TT", "B: CO")
    reshaped = constraints.reshaped(chosen)
    alone = numbers(space, "A: log1p(TT)", "A: log1p(TT) x G", "B: TT", "B: CO")
    everywhere = numbers(space, "A: log1p(TT)", "A: log1p(TT) x G", "B: log1p(TT)", "B: CO")
    assert {alone, everywhere} <= set(reshaped)
    # A term in another form comes in its own way: what it excludes leaves, or follows it.
    completed = constraints.completions(chosen, *numbers(space, "A: log1p(TT) x G"))
    assert set(completed) == {alone}
    assert numbers(space, "A: log1p(TT)", "B: TT", "B: CO") in constraints.completions(
        chosen, *numbers(space, "A: log1p(TT)")
    )


def test_a_shared_coefficient_is_split_and_joined(space: ac.SearchSpace) -> None:
    constraints = compile_structure(ac.Structure(constants=False), space)
    shared = numbers(space, "*: CO", "A: TT")
    split = numbers(space, "A: CO", "B: CO", "C: CO", "A: TT")
    assert split in constraints.regrouped(shared)
    assert shared in constraints.regrouped(split)


def test_build_is_valid_whatever_is_wanted(small: dict[str, ac.SearchSpace]) -> None:
    rng = np.random.default_rng(5)
    for space, structure, constraints in compiled(small, RANDOM_STRUCTURES, seed=5):
        if constraints is None:
            continue
        assert constraints.is_valid(constraints.least())
        for _ in range(20):
            wanted = np.flatnonzero(rng.random(len(space)) < 0.6)
            chosen = constraints.build(rng.exponential(size=len(space)), wanted)
            assert obeys(structure, space, [space.terms[t] for t in chosen])


def test_build_takes_all_that_is_wanted_and_no_more_when_that_is_valid(
    small: dict[str, ac.SearchSpace],
) -> None:
    # Not asked: whether a shared term or one of the alternative is to carry an interaction.
    clear = {name: space for name, space in small.items() if name != "shared"}
    for space, _, constraints in compiled(clear, 8, seed=6):
        if constraints is not None:
            for wanted in every_valid(space, constraints)[::5]:
                assert constraints.build(np.ones(len(space)), wanted) == wanted


def test_build_takes_the_strongest_form(space: ac.SearchSpace) -> None:
    constraints = compile_structure(ac.Structure(constants=False), space)
    strength = np.zeros(len(space))
    (linear,), (log,) = numbers(space, "A: TT"), numbers(space, "A: log1p(TT)")
    (interaction,) = numbers(space, "A: TT x G")
    strength[[linear, log, interaction]] = 1.0, 1.5, 0.2
    assert constraints.build(strength, [linear, log]) == {log}
    # Interactions speak for their form.
    strength[interaction] = 0.8
    assert constraints.build(strength, [linear, log, interaction]) == {linear, interaction}


def test_the_strongest_come_first_where_room_is_short(space: ac.SearchSpace) -> None:
    constraints = compile_structure(only(heredity=True, max_terms=3), space)
    a, two, b = (next(iter(numbers(space, t))) for t in ("A: TT x G", "A: TT x G x H", "B: CO"))
    strength = np.zeros(len(space))
    strength[[a, two, b]] = 1.0, 3.0, 2.0
    # What needs three others does not fit, and does not keep out what does.
    assert constraints.build(strength, [a, two, b]) == numbers(space, "A: TT", "A: TT x G", "B: CO")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"signs": {"TT": "negative"}}, "a sign is '-'.*or '\\+'"),
        ({"one_form": "always"}, "True, False or 'everywhere'"),
        ({"linear_unless": -1.0}, "zero or more"),
        ({"linear_unless": float("nan")}, "zero or more"),
        ({"max_terms": -1}, "max_terms .* -1"),
        ({"max_terms": 2.5}, "max_terms .* 2.5"),
        ({"max_coefficients": -2}, "max_coefficients .* -2"),
        ({"signs": ["TT"]}, "signs is a dict"),
        ({"force": 3}, "force: patterns are text"),
        ({"exclusive": "A: TT"}, "exclusive is a list of groups"),
        ({"together": [["A: TT", 2]]}, "together: patterns are text"),
    ],
)
def test_impossible_settings_are_explained(arguments: dict, message: str) -> None:
    with pytest.raises(ac.SpecificationError, match=message):
        ac.Structure(**arguments)


def test_a_prohibition_of_nothing_is_noted(space: ac.SearchSpace) -> None:
    (note,) = compile_structure(ac.Structure(forbid="A: sqrt(TT)"), space).notes
    assert re.search("no candidate fits 'A: sqrt.*forbids nothing", note)

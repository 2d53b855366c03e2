"""Rules that contradict one another are found before anything is fitted, and explained."""

import pandas as pd
import pytest
from selection_support import made, read, table

import ardchoice as ac
from ardchoice.selection.compile import compile_structure

CONTRADICTIONS = {
    "forced and forbidden": (
        {"force": "A: TT", "forbid": "*: TT"},
        r"'A: TT' must be in \(forced by 'A: TT'\), but cannot be in \(forbidden by '\*: TT'\)",
    ),
    "a constant forbidden": (
        {"forbid": "A: ASC"},
        r"'A: ASC' must be in \(constants stay\), but cannot be in \(forbidden by 'A: ASC'\)",
    ),
    "both forms forced": (
        {"force": ["A: TT", "A: log1p(TT)"]},
        r"'A: TT' must be in.*'A: log1p\(TT\)' must be in.*one form per attribute",
    ),
    "forms forced that differ between alternatives": (
        {"force": ["A: TT", "B: log1p(TT)"], "one_form": "everywhere"},
        "must be in.*cannot be in.*one form per attribute",
    ),
    "an interaction forced, its main term forbidden": (
        {"force": "A: TT x G", "forbid": "A: TT"},
        "'A: TT x G' must be in.*it needs 'A: TT', which is out: forbidden by 'A: TT'",
    ),
    "an interaction of two forced, one of one forbidden": (
        {"force": "A: TT x G x H", "forbid": "A: TT x H"},
        "'A: TT x G x H' must be in.*needs 'A: TT x H', which is out: forbidden",
    ),
    "together, one forced and one forbidden": (
        {"together": [["A: TT", "B: TT"]], "force": "A: TT", "forbid": "B: TT"},
        "'A: TT' must be in.*goes together with 'B: TT', which is out: forbidden by 'B: TT'",
    ),
    "together with a constant, and forbidden": (
        {"together": [["A: ASC", "A: TT"]], "forbid": "A: TT"},
        "'A: ASC' must be in.*goes together with 'A: TT', which is out: forbidden",
    ),
    "together and exclusive at once": (
        {
            "together": [["A: TT", "B: TT"]],
            "exclusive": [["A: TT", "B: TT"]],
            "force": "A: TT",
        },
        "'A: TT' must be in.*goes together with 'B: TT', yet .* exclude each other",
    ),
    "both of two exclusive ones forced": (
        {"exclusive": [["A: TT", "B: TT"]], "force": ["A: TT", "B: TT"]},
        "'A: TT' must be in.*'B: TT' must be in.*exclude each other",
    ),
    "all constants, of which one at most": (
        {"exclusive": ["*: ASC"]},
        "'A: ASC' must be in.*constants stay.*exclude each other",
    ),
    "together with what needs something exclusive of it": (
        {
            "together": [["A: TT", "B: TT x G"]],
            "exclusive": [["A: TT", "B: TT"]],
            "force": "A: TT",
        },
        "must be in.*cannot be in.*exclude each other",
    ),
    "fewer terms than are forced": (
        {"force": ["A: TT", "B: TT"], "max_terms": 3},
        "contradict one another.*: 4 terms are more than .*3",
    ),
    "fewer terms than what is forced needs": (
        {"force": "A: TT x G x H", "max_terms": 5},
        "6 terms are more than .*5",
    ),
    "fewer coefficients than are forced": (
        {"force": "A: TT x H", "max_coefficients": 4},
        "5 coefficients are more than .*4",
    ),
}

NO_SUCH_THING = {
    "a forced pattern that fits nothing": (
        {"force": "A: TTT"},
        "force: no candidate fits 'A: TTT'. Did you mean 'A: TT'",
    ),
    "terms together that are none": (
        {"together": [["A: TT", "A: sqrt(TT)"]]},
        r"together: no candidate fits 'A: sqrt\(TT\)'.*There are: A: ASC",
    ),
    "exclusive terms that are none": (
        {"exclusive": [["A: TT", "D: TT"]]},
        "exclusive: no candidate fits 'D: TT'. Did you mean '[ABC]: TT'",
    ),
    "a pattern without a place": ({"force": "TT"}, "'TT' is not a pattern of terms: write"),
    "the sign of an unknown attribute": (
        {"signs": {"COS": "-"}},
        "signs: no candidate uses an attribute 'COS'. Did you mean 'CO'",
    ),
}

EVERY = CONTRADICTIONS | NO_SUCH_THING


@pytest.fixture(scope="module")
def data() -> ac.ChoiceData:
    return made(200)


@pytest.fixture(scope="module")
def space(data: ac.ChoiceData) -> ac.SearchSpace:
    return ac.SearchSpace(data, ["linear", "log1p"], by=["G", "H"], depth=2)


@pytest.fixture(autouse=True)
def nothing_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("relevance was fitted although the rules contradict one another")

    monkeypatch.setattr("ardchoice.stages.fit_ard", refuse)
    monkeypatch.setattr("ardchoice.stages.fit_anyway", refuse)


@pytest.mark.parametrize("kind", EVERY)
def test_it_is_found_and_explained_before_any_pass(
    data: ac.ChoiceData, space: ac.SearchSpace, kind: str
) -> None:
    rules, message = EVERY[kind]
    structure = ac.Structure(**rules)  # type: ignore[arg-type]
    for find in (
        lambda: compile_structure(structure, space),
        lambda: ac.specify(data, space, structure=structure),
        lambda: ac.specify(data, space, structure=structure, honest=True, rule=ac.HeldOut()),
    ):
        with pytest.raises(ac.SpecificationError, match=message):
            find()


@pytest.mark.parametrize("kind", CONTRADICTIONS)
def test_each_of_them_goes_away_with_one_of_its_rules(space: ac.SearchSpace, kind: str) -> None:
    rules, _ = CONTRADICTIONS[kind]
    switches = {"heredity": False, "one_form": False, "constants": False}
    fewer = [{k: v for k, v in rules.items() if k != name} for name in rules]
    fewer += [rules | {name: off} for name, off in switches.items()]

    def stands(arguments: dict) -> bool:
        try:
            compile_structure(ac.Structure(**arguments), space)
        except ac.SpecificationError:
            return False
        return True

    assert any(stands(arguments) for arguments in fewer)


def test_what_the_space_forces_can_contradict_too(data: ac.ChoiceData) -> None:
    space = ac.SearchSpace(data, force="A: TT")
    with pytest.raises(ac.SpecificationError, match=r"'A: TT' must be in \(forced by the space\)"):
        ac.specify(data, space, structure=ac.Structure(forbid="A: TT"))


def test_terms_that_can_never_be_in_are_no_contradiction_but_say_why(
    space: ac.SearchSpace,
) -> None:
    never = ac.Structure(together=[["A: TT", "B: TT"]], exclusive=[["A: TT", "B: TT"]])
    constraints = compile_structure(never, space)
    for t, term in enumerate(space.terms):
        if str(term) in ("A: TT", "B: TT"):
            assert "goes together with" in constraints.impossible[t]
            assert "exclude each other" in constraints.impossible[t]


@pytest.mark.parametrize("sign", ["negative", "", "<", None, -1, "−"])
def test_a_sign_is_plus_or_minus(sign: object) -> None:
    with pytest.raises(ac.SpecificationError, match=r"signs: 'TT' has .*; a sign is '-'"):
        ac.Structure(signs={"TT": sign})  # type: ignore[dict-item]


def test_a_categorical_attribute_has_no_sign() -> None:
    frame = table(200)
    kinds = pd.Series(["seat", "bed", "floor"])
    for i, name in enumerate("ABC"):
        frame[f"{name}_KIND"] = kinds.iloc[(frame.index + i) % 3].to_numpy()
    attributes = {"TT": "{alt}_TT", "KIND": "{alt}_KIND"}
    data = read(frame, attributes=attributes)
    space = ac.SearchSpace(data)
    with pytest.raises(ac.SpecificationError, match="KIND is categorical, so there is no more"):
        ac.specify(data, space, structure=ac.Structure(signs={"KIND": "+"}))


def test_other_mistakes_are_found_before_any_pass_as_well(
    data: ac.ChoiceData, space: ac.SearchSpace
) -> None:
    with pytest.raises(ac.ArdchoiceError, match="Read the table first"):
        ac.specify(table(20), space)  # type: ignore[arg-type]
    with pytest.raises(ac.ArdchoiceError, match="Expected a search space, got ChoiceData"):
        ac.specify(data, data)  # type: ignore[arg-type]
    with pytest.raises(ac.ArdchoiceError, match=r"A rule is a value such as .*, not Ebic"):
        ac.specify(data, space, rule=ac.Ebic)  # type: ignore[arg-type]
    with pytest.raises(ac.ArdchoiceError, match=r"A structure is ac.Structure\(...\), or None"):
        ac.specify(data, space, structure={"heredity": True})  # type: ignore[arg-type]

"""Every returned specification satisfies every rule, whatever the data."""

import warnings

import numpy as np
import numpy.typing as npt
import pandas as pd
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from selection_support import made, obeys
from signs_by_hand import wrong_after_estimation

import ardchoice as ac
from ardchoice.selection.compile import compile_structure

# Cores may be shared, so the time of one example says nothing; the same examples every time, and
# no search for a smaller one, which takes minutes.
calmly = settings(
    deadline=None, max_examples=25, derandomize=True, phases=[Phase.explicit, Phase.generate]
)

SITUATIONS = st.integers(90, 200)
SEEDS = st.integers(0, 10_000)
SIZES = st.sampled_from([0.0, 0.3, 1.0, 2.0])
FORMS = st.sampled_from([["linear"], ["linear", "log1p"], ["log1p", "segments(3)"]])
BY = st.sampled_from([[], ["G"], ["H"], ["G", "H"], ["G", "INC"]])


def choices(n: int, seed: int, size: float, of_one_mind: bool) -> ac.ChoiceData:
    """Time matters in A; other effects of any size and sign; perhaps a segment of one mind."""

    def utility(frame: pd.DataFrame) -> dict[str, npt.ArrayLike]:
        beta = np.random.default_rng(seed).normal(0, size, (3, 4))
        out = {}
        for j, name in enumerate("ABC"):
            alone = beta[j, 0] + beta[j, 1] * frame[f"{name}_TT"] + beta[j, 2] * frame[f"{name}_CO"]
            out[name] = alone + beta[j, 3] * (frame["G"] == "u") * frame[f"{name}_TT"]
        out["A"] = out["A"] + 1.5 * frame["A_TT"] + 100.0 * (frame["H"] == "p") * of_one_mind
        return out

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)
        try:
            data = made(n, seed, utility)
        except ac.DataError:
            assume(False)  # everybody of one mind
    assume(data.shares().min() > 0)  # relevance needs every alternative to be chosen
    return data


@st.composite
def spaces(draw: st.DrawFn) -> dict:
    shape = draw(st.sampled_from(["wide", "deep", "shared"]))
    return {
        "transforms": draw(FORMS),
        "by": draw(BY)[: 2 if shape == "deep" else 1],
        "attributes": ["TT", "CO"] if shape == "wide" else ["TT"],
        "depth": 2 if shape == "deep" else 1,
        "constants": draw(st.booleans()),
        "generic": shape == "shared",
        "interact_classes": shape != "wide",
    }


@st.composite
def structures(draw: st.DrawFn, space: ac.SearchSpace) -> ac.Structure | None:
    if draw(st.integers(0, 9)) == 0:
        return None
    names = [str(t) for t in space.terms]
    wild = [f"{t.place}: *" for t in space.terms] + [f"*: {t.content}" for t in space.terms]
    pattern = st.sampled_from(sorted({*names, *wild}))
    few = st.lists(pattern, max_size=1)
    attributes = sorted({t.what for t in space.terms if t.what is not None})
    return ac.Structure(
        heredity=draw(st.booleans()),
        one_form=draw(st.sampled_from([True, False, "everywhere"])),
        linear_unless=draw(st.sampled_from([0.0, 2.0])),
        constants=draw(st.booleans()),
        signs=draw(st.dictionaries(st.sampled_from(attributes), st.sampled_from("+-"))),
        force=draw(few),
        forbid=draw(few),
        exclusive=draw(st.lists(st.lists(pattern, min_size=1, max_size=2), max_size=1)),
        together=draw(st.lists(st.lists(pattern, min_size=1, max_size=2), max_size=1)),
        max_terms=draw(st.one_of(st.none(), st.integers(2, 9))),
        max_coefficients=draw(st.one_of(st.none(), st.integers(3, 12))),
    )


RULES = st.one_of(
    st.builds(ac.LambdaAbove, st.sampled_from([0.0, 0.002, 0.1])),
    st.builds(ac.Evidence, st.sampled_from([-1.0, 0.0, 3.0])),
    st.builds(ac.FalseDiscovery, st.sampled_from([0.01, 0.2, 0.9])),
    st.builds(ac.Bic, st.sampled_from([0.2, 1.0])),
    st.builds(ac.Ebic, st.sampled_from([None, 1.0])),
)


@given(SITUATIONS, SEEDS, SIZES, st.booleans(), spaces(), RULES, st.data())
@calmly
def test_every_returned_specification_satisfies_every_rule(
    n: int, seed: int, size: float, of_one_mind: bool, options: dict, rule: object, draws: object
) -> None:
    data = choices(n, seed, size, of_one_mind)
    space = ac.SearchSpace(data, **options)
    structure = draws.draw(structures(space))  # type: ignore[attr-defined]
    try:
        constraints = compile_structure(structure, space)
    except ac.SpecificationError:
        assume(False)  # contradictions have tests of their own
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always", ac.ArdchoiceWarning)  # signs that forced terms get wrong
        specification = ac.select(ac.fit_ard(data, space), rule, structure=structure)  # type: ignore[arg-type]
    assert obeys(structure, space, specification.terms)
    assert set(specification.reasons) == set(space.terms)
    for term, reason in specification.reasons.items():
        assert reason.startswith("kept: " if term in specification.terms else "dropped: ")
    for tie in specification.near_ties:
        kept = (set(specification.terms) - set(tie.out)) | set(tie.into)
        assert obeys(structure, space, [t for t in space.terms if t in kept])
    # A threshold does not look for signs of what is forced, nor between values of two forms.
    searched = isinstance(rule, ac.Bic | ac.Ebic)
    if structure is not None and structure.one_form and (searched or not constraints.forced):
        least = ac.Specification(tuple(space.terms[t] for t in sorted(constraints.least())))
        if not wrong(data, least, structure):
            assert not wrong(data, specification, structure)


def wrong(data: ac.ChoiceData, specification: ac.Specification, structure: ac.Structure) -> bool:
    """Whether some sign is wrong; no where coefficients cannot be told apart."""
    try:
        return bool(wrong_after_estimation(data, specification, structure.signs))
    except (ac.IdentificationError, ac.SeparationError):
        return False

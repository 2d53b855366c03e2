"""Classes that are empty, equal to another, or in which estimates diverge: named as such."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from families_support import business

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.estimation import mean_of_classes
from ardchoice.estimation.tastes import mean_of_finite
from ardchoice.families import LatentClass, TasteKind
from ardchoice.families.latent.diagnose import converged_apart
from ardchoice.numerics import NewtonFit, Sums

FOUR = "TRAIN: ASC\nCAR: ASC\n*: TT + CO"


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return business().take(np.arange(900))


def loyal() -> ChoiceData:
    """Half of the persons always choose a; the others weigh x."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(120), 8)
    x = rng.normal(size=(3, len(person)))
    choice = (1.5 * x + rng.gumbel(size=x.shape)).argmax(axis=0)
    choice[person % 2 == 0] = 0
    table = pd.DataFrame({f"{name}_x": x[j] for j, name in enumerate("abc")})
    table["choice"], table["who"] = np.array(list("abc"))[choice], person
    return ac.read_wide(
        table,
        alternatives=list("abc"),
        choice="choice",
        attributes={"x": "{alt}_x"},
        person="who",
    )


def started(data: ChoiceData, constant: float, factor: float) -> ac.Result:
    """Two classes from where the multinomial logit is, the second that many times it."""
    mnl = ac.fit_mnl(data, FOUR).estimates
    known = {f"{name} (class 1)": value for name, value in mnl.items()}
    known |= {f"{name} (class 2)": factor * value for name, value in mnl.items()}
    family = LatentClass(2).started_at({**known, "class 2: constant": constant})
    return ac.fit(data, FOUR, family=family)


def test_a_class_that_always_chooses_one_alternative_is_named_and_ends_the_estimation() -> None:
    result = ac.fit(loyal(), "b: ASC\nc: ASC\n*: x", family=LatentClass(2))
    assert result.converged
    [note] = [note for note in result.notes if note.startswith("Some estimates diverge")]
    assert "b: ASC (class" in note
    assert note not in result.information
    frame = result.to_frame()
    gone = result.is_infinite
    assert 0 < gone.sum() < len(gone)
    assert frame["std_err"].isna().to_numpy().tolist() == gone.tolist()
    assert "coefficients that diverge" in result.summary()
    shares = result.individual().mean()
    np.testing.assert_allclose(shares, 0.5, atol=0.05)
    # The loyal class has no part in the means.
    [other] = {1, 2} - {int(name[-2]) for name in frame.index[gone]}
    expected = [
        result.estimates[f"{name} (class {other})"] for name in ("b: ASC", "c: ASC", "*: x")
    ]
    assert result.mean_coefficients.tolist() == expected
    assert mean_of_classes(result).startswith("Means of b: ASC, c: ASC")


def test_a_mean_leaves_out_classes_where_that_coefficient_diverges() -> None:
    betas, shares = np.array([[1.0, 2.0, 90.0], [3.0, -50.0, 80.0]]), np.array([0.25, 0.75])
    # Two parameters of each class, and a third coefficient that diverges in both.
    places = [[0, 1, 2], [3, 4, 2]]
    kinds = [
        TasteKind(f"class {q}", beta, np.eye(5)[place])
        for q, (beta, place) in enumerate(zip(betas, places, strict=True), 1)
    ]
    infinite = np.array([False, False, True, False, True])
    found = mean_of_finite(shares @ betas, kinds, shares, infinite)
    assert found.tolist() == [0.25 * 1 + 0.75 * 3, 2.0, 0.25 * 90 + 0.75 * 80]


def test_equal_classes_are_named(data: ChoiceData) -> None:
    result = started(data, 0.0, 1.0)
    assert "Classes 1 and 2 have equal coefficients: use fewer classes." in result.notes
    found = ac.fit(data, FOUR, family=LatentClass(2, starts=2))
    assert not any("equal coefficients" in note for note in found.notes)


def test_an_empty_class_is_named(data: ChoiceData) -> None:
    result = started(data, -40.0, 1.5)
    assert any(note.startswith("Class 2 is empty (0.0 persons)") for note in result.notes)
    found = ac.fit(data, FOUR, family=LatentClass(2, starts=2))
    assert not any("is empty" in note for note in found.notes)


def newton(gradient: list[float], curvature: list[float], *, converged: bool = False) -> NewtonFit:
    g, h = np.array(gradient), np.diag(curvature)
    decrement = 0.5 * float(g @ np.linalg.solve(h, g))
    return NewtonFit(np.zeros(2), Sums(-10.0, g, h), decrement, 100, 101, converged)


def test_what_diverges_ever_more_slowly_does_not_keep_the_rest_from_converging() -> None:
    along = np.array([[0.0], [1.0]])
    flat = newton([1e-8, 1e-10], [2.0, 1e-12])
    assert flat.decrement > 1e-10
    found = converged_apart(flat, along, 1e-10)
    assert found.converged
    assert found.decrement == pytest.approx(0.25e-16)
    # Of what does not diverge, much is still to be gained; or in all too much.
    for other in (newton([1e-3, 1e-10], [2.0, 1e-12]), newton([1e-8, 1e-5], [2.0, 1e-6])):
        assert converged_apart(other, along, 1e-10) is other
    indefinite = replace(flat, sums=Sums(-10.0, np.array([1e-8, 1e-10]), np.diag([-2.0, 1e-12])))
    assert not converged_apart(indefinite, along, 1e-10).converged

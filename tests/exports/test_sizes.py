"""Coefficients of very different scale: Biogeme is given their sizes, and finds natural units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from export_models import (
    MODECHOICE_SPECIFICATION,
    RICHER_SPECIFICATION,
    modechoice,
    read_richer,
    richer_table,
)
from export_support import _with_stand_ins, loglik_of, namespace, our_columns

import ardchoice as ac
from tests_support import small_data

ROUNDED = 0.06
"""Sizes are written with two significant digits."""
CONDITION = 1e5
"""Of the Hessian in the units of the script: R6, which Biogeme estimates at once, has 1.2e4."""


@pytest.fixture(scope="module")
def richer() -> ac.Result:
    return ac.fit_mnl(read_richer(richer_table()), RICHER_SPECIFICATION)


def hessian(result: ac.Result) -> np.ndarray:
    """Σ_n Σ_j P (x - x̄)(x - x̄)', from columns and probabilities."""
    x, p = our_columns(result), result.probabilities()
    away = (x - np.einsum("djn,jn->dn", x, p)[:, None]) * np.sqrt(p)
    flat = away.reshape(len(x), -1)
    return flat @ flat.T


def test_sizes_bring_the_hessian_to_one_scale(richer: ac.Result, tmp_path: Path) -> None:
    made = namespace(ac.export(richer, "biogeme", tmp_path))
    sizes = np.array(list(made["SIZES"].values()))
    h = hessian(richer)
    np.testing.assert_allclose(np.sqrt(np.diag(h) / len(richer.data)), sizes, rtol=ROUNDED)
    assert np.linalg.cond(h) > 100 * CONDITION
    assert np.linalg.cond(h / np.outer(sizes, sizes)) < CONDITION


def test_coefficients_in_units_of_sizes_are_the_same_model(
    richer: ac.Result, tmp_path: Path
) -> None:
    script = ac.export(richer, "biogeme", tmp_path)
    assert loglik_of(script, "biogeme") == pytest.approx(richer.loglik, abs=1e-7)
    made: dict[str, Any] = namespace(script)
    choices, expected = made["prepare"](), made["EXPECTED"]
    larger = {name: expected[name] * size for name, size in made["SIZES"].items()}
    scaled, _ = _with_stand_ins(lambda: made["utilities"](made["SIZES"]), larger, choices)
    plain, _ = _with_stand_ins(made["utilities"], expected, choices)
    np.testing.assert_allclose(scaled, plain, rtol=1e-12)


def test_a_model_of_one_scale_is_estimated_at_once(tmp_path: Path) -> None:
    result = ac.fit_mnl(small_data(), "a: ASC + x\nb: x")
    script = ac.export(result, "biogeme", tmp_path)
    assert "SIZES" not in namespace(script)
    assert "sizes" not in script.read_text(encoding="utf-8")


def test_sizes_do_not_depend_on_units(tmp_path: Path) -> None:
    table = richer_table()
    in_minutes = table.assign(**{f"{m}_TT": 60 * table[f"{m}_TT"] for m in ("TRAIN", "SM", "CAR")})
    text = "TRAIN: ASC\nSM: ASC\n*: TT + CO"
    hours, minutes = (ac.fit_mnl(read_richer(one), text) for one in (table, in_minutes))
    assert "SIZES" not in namespace(ac.export(hours, "biogeme", tmp_path / "hours.py"))
    sizes = namespace(ac.export(minutes, "biogeme", tmp_path / "minutes.py"))["SIZES"]
    assert sizes["B_TT"] / sizes["ASC_TRAIN"] > 50


def test_scripts_in_two_steps_are_read_back(tmp_path: Path) -> None:
    result = ac.fit_mnl(modechoice(), MODECHOICE_SPECIFICATION)
    script = ac.export(result, "biogeme", tmp_path)
    assert "SIZES" in namespace(script)
    model = ac.read_specification(script)
    assert model.not_understood == ()
    assert len(model.names) == len(result.names)

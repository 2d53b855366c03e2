"""Utilities for people, with the numbers of the estimation."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from export_models import (
    EVERY_TRANSFORM,
    ODD_CORNERS,
    RAGGED_SPECIFICATION,
    corners,
    odd_corners,
    products,
    ragged,
    trips,
    wide,
)

import ardchoice as ac


def two_modes() -> ac.Result:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"t_bus": rng.gamma(3, 9, 500), "t_car": rng.gamma(3, 7, 500)})
    table["sex"] = rng.choice(["f", "m"], 500)
    table["picked"] = rng.choice(["bus", "car"], 500)
    data = ac.read_wide(
        table,
        alternatives=["bus", "car"],
        choice="picked",
        attributes={"time": "t_{alt}"},
        covariates=["sex"],
    )
    return ac.fit_mnl(data, "bus: ASC + log(time) x sex\ncar: piecewise(time, 20)")


def test_text_has_every_estimate_in_its_place(tmp_path: Path) -> None:
    result = two_modes()
    text = ac.export(result, "text", tmp_path / "model.txt").read_text(encoding="utf-8")
    numbers = [
        (float(sign + value), rest)
        for sign, value, _, *rest in (
            line.split(maxsplit=3) for line in text.splitlines() if line.startswith("    ")
        )
    ]
    np.testing.assert_allclose([n for n, _ in numbers], result.coefficients, rtol=1e-3)
    assert [rest for _, rest in numbers] == [
        [],
        ["* log(time) * [sex = f]"],
        ["* min(time, 20)"],
        ["* (max(time, 20) - 20)"],
    ]
    assert f"Log-likelihood {result.loglik:,.3f}" in text
    assert text.index("V(bus) =") < text.index("V(car) =")
    assert text.endswith("car: piecewise(time, 20)\n")


def test_alternatives_with_one_utility_function_stand_together(tmp_path: Path) -> None:
    result = ac.fit_mnl(products(ragged()), RAGGED_SPECIFICATION)
    text = ac.export(result, "text", tmp_path).read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("V(")] == [
        "V(1, 2) =",
        "V(3, 4, 5) =",
        "V(6) =",
    ]


def test_numbers_below_zero_have_one_sign_before_them(tmp_path: Path) -> None:
    result = ac.fit_mnl(corners(odd_corners()), ODD_CORNERS)
    text = ac.export(result, "text", tmp_path).read_text(encoding="utf-8")
    assert "* (min(max(gain, -1), 0.5) + 1)" in text
    assert "* ((cost - 0.05)^" in text
    latex = ac.export(result, "latex", tmp_path).read_text(encoding="utf-8")
    assert r"(\min(\max(\text{gain}, -1), 0.5) + 1)" in latex
    assert r"\frac{(\text{cost} - 0.05)^{" in latex


def test_text_fits_into_eighty_columns(tmp_path: Path) -> None:
    text = ac.export(ac.fit_mnl(wide(trips()), EVERY_TRANSFORM), "text", tmp_path).read_text()
    assert max(map(len, text.splitlines())) <= 80


def test_latex_has_the_utilities_as_mathematics_and_the_estimates(tmp_path: Path) -> None:
    result = two_modes()
    latex = ac.export(result, "latex", tmp_path / "model.tex").read_text(encoding="utf-8")
    assert (
        r"V_{\text{bus}} &= \beta_{1} + \beta_{2} \, \ln(\text{time}) \cdot "
        r"\mathbf{1}[\text{sex} = \text{f}]"
    ) in latex
    assert (
        r"\beta_{3} \, \min(\text{time}, 20) + \beta_{4} \, (\max(\text{time}, 20) - 20)" in latex
    )
    rows = [line.split(" & ") for line in latex.splitlines() if line.startswith(r"$\beta")]
    estimates = [float(row[2].strip("$")) for row in rows]
    np.testing.assert_allclose(estimates, result.coefficients, rtol=1e-3)
    assert rows[1][1] == "bus: log(time) x sex [f]"
    assert f"${result.loglik:.3f}$" in latex


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed")
def test_latex_makes_a_page(tmp_path: Path) -> None:
    ac.export(ac.fit_mnl(wide(trips()), EVERY_TRANSFORM), "latex", tmp_path / "model.tex")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "model.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:]
    assert (tmp_path / "model.pdf").exists()

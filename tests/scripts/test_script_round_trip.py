"""Scripts that we export are read back to a model with the same log-likelihood."""

from __future__ import annotations

from pathlib import Path

import pytest
from export_models import (
    DERIVED_SPECIFICATION,
    MODECHOICE,
    MODECHOICE_SPECIFICATION,
    RAGGED_SPECIFICATION,
    RICHER_SPECIFICATION,
    modechoice,
    products,
    ragged,
    read_derived,
    read_richer,
    richer_table,
)
from export_support import quietly

import ardchoice as ac
from ardchoice.cli.demo import DEMO_SETTINGS, STUDY_FILE, TABLE_FILE, prepared
from ardchoice.settings import read_settings

SAME = 1e-7
"""Log-likelihoods of one model estimated twice: columns may differ by rounding."""
PACKAGES = ("biogeme", "pylogit", "xlogit", "apollo")
DEMO_SPECIFICATION = """
    TRAIN: ASC + ASC x AGE + ASC x PURPOSE + log1p(TT) x GA
    SM:    ASC + ASC x PURPOSE + log1p(TT) x PURPOSE
    *:     log1p(TT) + log1p(CO) + log1p(CO) x PURPOSE + HE
"""
"""What `ardchoice demo` finds."""


def check(result: ac.Result, folder: Path) -> None:
    """Every script gives the same log-likelihood with nothing that was not understood."""
    for package in PACKAGES:
        script = ac.export(result, package, folder)
        model = ac.read_specification(script)
        assert model.package == package
        assert model.not_understood == ()
        assert model.table is not None
        again = model.fit(quietly(model.read, folder / Path(model.table).name))
        assert again.loglik == pytest.approx(result.loglik, abs=SAME)
        assert again.n_situations == result.n_situations
        assert again.n_persons == result.n_persons
        assert again.n_parameters == result.n_parameters


def test_the_best_published_specification(tmp_path: Path) -> None:
    data = ac.datasets.swissmetro_choices("real")
    check(ac.fit_mnl(data, ac.datasets.swissmetro_specification("R6")), tmp_path)


def test_the_specification_of_the_demo_from_its_file(tmp_path: Path) -> None:
    prepared().to_csv(tmp_path / TABLE_FILE, index=False)
    text = DEMO_SETTINGS % ac.datasets.swissmetro_specification("R6")
    (tmp_path / STUDY_FILE).write_text(text, encoding="utf-8")
    data = read_settings(tmp_path / STUDY_FILE).read_choices(tmp_path)
    check(ac.fit_mnl(data, DEMO_SPECIFICATION), tmp_path)


def test_products_ratios_functions_and_splines(tmp_path: Path) -> None:
    richer_table().to_csv(tmp_path / "richer.csv", index=False)
    check(ac.fit_mnl(read_richer(tmp_path / "richer.csv"), RICHER_SPECIFICATION), tmp_path)


def test_derived_columns_filters_and_conditional_availability(tmp_path: Path) -> None:
    ac.datasets.swissmetro()[:2700].to_csv(tmp_path / "survey.csv", index=False)
    check(ac.fit_mnl(read_derived(tmp_path / "survey.csv"), DERIVED_SPECIFICATION), tmp_path)


def test_a_long_table(tmp_path: Path) -> None:
    file = tmp_path / "modes.csv"
    file.write_bytes(MODECHOICE.read_bytes())
    check(ac.fit_mnl(modechoice(file), MODECHOICE_SPECIFICATION), tmp_path)


def test_choice_sets_of_different_sizes_with_weights(tmp_path: Path) -> None:
    ragged().to_csv(tmp_path / "sets.csv", index=False)
    check(ac.fit_mnl(products(tmp_path / "sets.csv"), RAGGED_SPECIFICATION), tmp_path)

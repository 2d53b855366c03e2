"""A family that only this folder knows goes through everything that users do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lapse_logit import Lapse

import ardchoice as ac
from ardchoice.ard import FamilyLikelihood
from ardchoice.design import Design
from ardchoice.families import family_pass
from ardchoice.run import run_study
from ardchoice.settings import StudySettings, parse_settings, read_settings, settings_of, to_toml

SPEC = "TRAIN: ASC + TT\nCAR: ASC + TT\n*: CO"
TRUE_LAPSE = 0.2


def simulated(n: int = 3_000, seed: int = 1) -> pd.DataFrame:
    """Choices of persons who lapse, and an attribute that says nothing; three rows a person."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"ID": np.arange(n) // 3, "AGE": rng.choice(["old", "young"], n)})
    for name in ("TRAIN", "CAR", "BUS"):
        table[f"{name}_TT"] = rng.uniform(0.5, 3, n).round(3)
        table[f"{name}_CO"] = rng.uniform(0.2, 2, n).round(3)
        table[f"{name}_NOISE"] = rng.normal(size=n).round(3)
    asc, slope = {"TRAIN": 0.5, "CAR": 1.0, "BUS": 0.0}, -2.0
    v = np.stack(
        [asc[k] + slope * table[f"{k}_TT"] - 3 * table[f"{k}_CO"] for k in asc]
    ) + rng.gumbel(size=(3, n))
    picked = np.where(rng.random(n) < TRUE_LAPSE, rng.integers(0, 3, n), v.argmax(axis=0))
    table["CHOICE"] = np.array(list(asc))[picked]
    return table


def read(table: pd.DataFrame | Path, *, stream: bool | None = None) -> ac.ChoiceData:
    return ac.read_wide(
        table,
        alternatives=["TRAIN", "CAR", "BUS"],
        choice="CHOICE",
        person="ID",
        attributes={name: f"{{alt}}_{name}" for name in ("TT", "CO", "NOISE")},
        covariates=["AGE"],
        stream=stream,
    )


@pytest.fixture(scope="module")
def data() -> ac.ChoiceData:
    return read(simulated())


@pytest.fixture(scope="module")
def space(data: ac.ChoiceData) -> ac.SearchSpace:
    return ac.SearchSpace(data, ["linear", "log1p"], by=["AGE"], base="BUS")


@pytest.fixture(scope="module")
def study(data: ac.ChoiceData, space: ac.SearchSpace) -> ac.Study:
    return ac.specify(data, space, family=Lapse())


def test_it_is_estimated(data: ac.ChoiceData) -> None:
    result, mnl = ac.fit(data, SPEC, family=Lapse()), ac.fit_mnl(data, SPEC)
    assert result.converged
    assert result.loglik > mnl.loglik + 10
    assert abs(result.to_frame().loc["lapse", "estimate"] - TRUE_LAPSE) < 0.05
    assert result.to_frame().loc["lapse", "kind"] == "scale"
    assert "Lapse logit" in result.summary()
    assert "lapse" in result.summary()
    assert np.isfinite(result.to_frame().loc["lapse", "std_err"])


def test_a_bound_that_is_reached_is_said(data: ac.ChoiceData) -> None:
    result = ac.fit(data, SPEC, family=Lapse(most=0.1))
    assert result.to_frame().loc["lapse", "estimate"] == 0.1
    assert any("lapse is at its bound" in note for note in result.notes)
    assert "lapse is at its bound" in result.summary()


def test_relevance_ends_at_a_joint_mode_and_at_the_fixed_point_of_lambda(
    data: ac.ChoiceData, space: ac.SearchSpace
) -> None:
    solver, prior = ac.Newton(posterior="full"), ac.Prior(shrink_constants=True)
    fit = ac.fit_ard(data, space, family=Lapse(), solver=solver, prior=prior)
    assert fit.converged
    active = np.flatnonzero(fit.lam > 0)
    assert 4 <= len(active) <= 12
    # Coefficients and lapses together, from the family itself.
    likelihood = FamilyLikelihood(
        Design(data, fit.encoding), fit.centre, fit.scale, Lapse(), fit.extras
    )
    order, layout = likelihood.design.order, likelihood.layout
    theta = likelihood.theta(fit.mean[order])
    sums = family_pass(Lapse(), layout, theta, likelihood.blocks)
    gradient = sums.gradient[: len(order)][likelihood.design.position]
    columns = fit.encoding.columns_of(active)
    lam = np.repeat(fit.lam, [t.n_columns for t in fit.encoding.terms])[columns]
    slope = (gradient[columns] - fit.mean[columns] / lam) * fit.sd[columns]
    assert np.abs(slope).max() < 1e-3
    assert abs(sums.gradient[-1]) / np.sqrt(sums.curvature[-1, -1]) < 1e-3
    np.testing.assert_allclose(lam, (fit.mean**2 + fit.sd**2)[columns], rtol=1e-6)


def test_it_is_specified(study: ac.Study) -> None:
    assert study.result.family == Lapse()
    found = {str(t) for t in study.specification.terms}
    assert not any("NOISE" in term for term in found)
    assert any("TT" in term for term in found)
    assert any("CO" in term for term in found)
    exact = ac.fit(study.data, study.specification, family=Lapse())
    np.testing.assert_allclose(study.result.coefficients, exact.coefficients, rtol=1e-10)


def test_summary_and_report_name_it(study: ac.Study, tmp_path: Path) -> None:
    assert "Lapse logit" in str(study)
    page = study.report(tmp_path / "report.html").read_text()
    assert "Lapse logit" in page or "lapse logit" in page
    assert "lapse" in page


def test_it_is_saved_and_loaded(study: ac.Study, tmp_path: Path) -> None:
    study.save(tmp_path / "saved")
    loaded = ac.load(tmp_path / "saved")
    assert loaded.result.family == study.result.family == loaded.fit.family
    assert loaded.fit.extras == study.fit.extras
    assert str(loaded) == str(study)
    np.testing.assert_array_equal(loaded.predict(), study.predict())


def test_it_predicts_and_has_elasticities_and_willingness_to_pay(study: ac.Study) -> None:
    result = study.result
    p = study.predict()
    np.testing.assert_allclose(p.sum(axis=1), 1)
    lapse = result.to_frame().loc["lapse", "estimate"]
    assert p.min().min() >= lapse / 3 - 1e-12
    wtp = ac.fit(study.data, SPEC, family=Lapse()).wtp("TT", "CO")
    truth = 2 / 3  # both coefficients are told apart from lapses
    estimates = wtp["estimate"]
    assert (estimates - truth).abs().max() < 0.1


def test_it_is_cross_validated(study: ac.Study) -> None:
    evaluated = study.evaluated(folds=3)
    assert evaluated.evaluation is not None


def test_a_streamed_table_gives_the_same(tmp_path: Path, study: ac.Study) -> None:
    path = tmp_path / "choices.csv"
    simulated().to_csv(path, index=False)
    disk = read(path, stream=True)
    space = ac.SearchSpace(disk, ["linear", "log1p"], by=["AGE"], base="BUS")
    found = ac.specify(disk, space, family=Lapse())
    assert found.specification.terms == study.specification.terms
    np.testing.assert_allclose(
        found.result.coefficients, study.result.coefficients, rtol=1e-8, atol=1e-10
    )


@pytest.mark.parametrize("package", ["biogeme", "apollo", "pylogit", "xlogit"])
def test_exports_without_a_template_refuse_in_one_sentence(
    study: ac.Study, package: str, tmp_path: Path
) -> None:
    with pytest.raises(ac.ArdchoiceError, match="lapse logit") as caught:
        study.export(package, tmp_path / "model")
    assert str(caught.value).count(". ") <= 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("solver", "match"), [(ac.Dsvi(), "Newton"), (ac.Dsvi.paper(), "Newton")])
def test_solvers_for_the_multinomial_logit_refuse(
    data: ac.ChoiceData, space: ac.SearchSpace, solver: object, match: str
) -> None:
    with pytest.raises(ac.ArdchoiceError, match=match):
        ac.fit_ard(data, space, family=Lapse(), solver=solver)


STUDY_FILE = """
[data]
table = "choices.csv"
choice = "CHOICE"
alternatives = ["TRAIN", "CAR", "BUS"]
person = "ID"
covariates = ["AGE"]
attributes = { TT = "{alt}_TT", CO = "{alt}_CO", NOISE = "{alt}_NOISE" }
[model]
family = "lapse"
most = 0.4
[space]
transforms = ["linear", "log1p"]
by = ["AGE"]
base = "BUS"
generic = false
[output]
folds = 2
exports = []
"""


def test_a_study_file_names_the_family_and_its_options(tmp_path: Path, study: ac.Study) -> None:
    simulated().to_csv(tmp_path / "choices.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY_FILE)
    settings = read_settings(tmp_path / "study.toml")
    assert settings.make_family() == Lapse(most=0.4)
    assert parse_settings(to_toml(settings)) == settings
    assert StudySettings.model_validate_json(settings.model_dump_json()) == settings
    done = run_study(settings, tmp_path / "results", base=tmp_path)
    assert done.result.family == Lapse(most=0.4)
    assert done.specification.terms == study.specification.terms
    np.testing.assert_allclose(done.result.coefficients, study.result.coefficients, rtol=1e-8)
    assert settings_of(done, tmp_path).model == settings.model
    assert ac.load(tmp_path / "results" / "study").result.family == Lapse(most=0.4)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ('family = "lapsed"', "there is no family 'lapsed'. Did you mean 'lapse'?"),
        ("family = 3", "there is no family 3"),
        ('family = "lapse"\nmosd = 0.4', "model.mosd: there is no key 'mosd' here. Did you mean"),
        ('family = "lapse"\nmost = "a"', "model.most: a number is wanted here, not the text 'a'"),
        ("most = 0.4", "most is an option of family = 'lapse', and this is another"),
    ],
)
def test_a_mistake_in_the_model_section_is_named(model: str, message: str) -> None:
    with pytest.raises(ac.SettingsError) as caught:
        parse_settings(STUDY_FILE.replace('family = "lapse"\nmost = 0.4', model))
    assert message in str(caught.value)

"""`compare_families` and `specify(family="auto")`: which family drew the choices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.errors import ArdchoiceError
from ardchoice.estimation import joint_loglik, prediction, refit_near
from ardchoice.evaluation import evaluate
from ardchoice.settings import parse_settings, settings_of, to_toml

TASTES = np.array([[-2.0, 1.0], [0.3, 2.5]])


def two_classes(n_persons: int = 120, n_choices: int = 6, seed: int = 0) -> ChoiceData:
    """Choices of persons of two kinds, the second half as many as the first."""
    rng = np.random.default_rng(seed)
    kind = (np.arange(n_persons) % 3 == 0).astype(int)
    person = np.repeat(np.arange(n_persons), n_choices)
    x = rng.normal(size=(2, 3, len(person)))
    v = np.einsum("nk,kjn->jn", TASTES[kind][person], x)
    names = np.array(["a", "b", "c"])
    table = pd.DataFrame(
        {f"{name}_{what}": x[k, j] for j, name in enumerate(names) for k, what in enumerate("tc")}
    )
    table["choice"] = names[(v + rng.gumbel(size=v.shape)).argmax(axis=0)]
    table["who"], table["kind"] = person, np.where(kind[person] == 1, "second", "first")
    return ac.read_wide(
        table,
        alternatives=list(names),
        choice="choice",
        attributes={"t": "{alt}_t", "c": "{alt}_c"},
        covariates=["kind"],
        person="who",
    )


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return two_classes()


@pytest.fixture(scope="module")
def latent(data: ChoiceData) -> ac.Result:
    return ac.fit(data, "*: t + c", family=ac.LatentClass(2))


def test_the_family_that_drew_the_choices_has_the_lowest_bic(data: ChoiceData) -> None:
    found = ac.compare_families(
        data, "*: t + c", families=[ac.Nested(None), ac.LatentClass(None, starts=2)], folds=3
    )
    assert found.selected == "latent"
    assert found.n_units == data.n_persons
    frame = found.frame.set_index("family")
    result = found.results["latent"]
    assert result.family.classes == 2
    bic = -2 * result.loglik + result.n_parameters * np.log(data.n_persons)
    assert frame.loc["latent", "bic"] == pytest.approx(bic)
    assert frame.loc["latent", "held_out"] > frame.loc["mnl", "held_out"] + 50
    assert frame.loc["mnl", "held_out"] == pytest.approx(frame.loc["mnl", "each"], rel=1e-9)
    assert "lowest BIC over 120 persons" in found.reason
    # No nest is supported, which is said rather than shown as a second multinomial logit.
    assert "nested" not in frame.index
    assert any("no nest is supported" in note for note in found.notes)
    assert "Latent class logit <" in str(found)


def test_without_repeated_answers_only_families_of_choices_are_compared(data: ChoiceData) -> None:
    found = ac.compare_families(replace(data, person=None), "*: t + c", folds=0)
    assert set(found.results) <= {"mnl", "nested"}
    assert any("several answers" in note for note in found.notes)


def test_tastes_of_a_mixed_logit_may_be_correlated() -> None:
    rng = np.random.default_rng(2)
    person = np.repeat(np.arange(250), 8)
    x = rng.normal(size=(2, 3, len(person)))
    root = np.array([[1.5, 0.0], [1.3, 0.5]])
    tastes = np.array([-1.0, -0.8]) + rng.normal(size=(250, 2)) @ root.T
    v = np.einsum("nk,kjn->jn", tastes[person], x)
    names = np.array(["a", "b", "c"])
    table = pd.DataFrame(
        {f"{name}_{what}": x[k, j] for j, name in enumerate(names) for k, what in enumerate("tc")}
    )
    table["choice"], table["who"] = names[(v + rng.gumbel(size=v.shape)).argmax(axis=0)], person
    attributes = {"t": "{alt}_t", "c": "{alt}_c"}
    data = ac.read_wide(
        table, alternatives=list(names), choice="choice", attributes=attributes, person="who"
    )
    found = ac.compare_families(data, "*: t + c", families=[ac.Mixed()], folds=0)
    result = found.result
    assert isinstance(result.family, ac.Mixed)
    assert result.family.correlated is True
    assert result.estimates["cor(*: c, *: t)"] > 0.6
    apart = ac.fit(data, "*: t + c", family=replace(result.family, correlated=False))
    assert result.bic < apart.bic - 20
    [note] = [note for note in result.notes if note.startswith("Tastes are correlated")]
    assert note in result.information
    assert f"{apart.bic - result.bic:,.0f}" in note


def test_where_all_persons_are_alike_the_multinomial_logit_is_selected() -> None:
    data = two_classes(60, 4)
    rng = np.random.default_rng(5)
    alike = replace(data, person=rng.permutation(data.person))
    spec = ["*: t", "*: c"]
    found = ac.compare_families(alike, spec, families=[ac.LatentClass(None, starts=1)], folds=0)
    assert list(found.results) == ["mnl"]
    assert found.selected == "mnl"
    assert "one class has the lowest BIC" in found.notes[0]


def test_a_family_is_compared_once(data: ChoiceData) -> None:
    with pytest.raises(ArdchoiceError, match="once"):
        ac.compare_families(data, "*: t", families=[ac.LatentClass(2), ac.LatentClass(3)])


def test_a_joint_log_likelihood_is_that_of_estimation(data: ChoiceData, latent: ac.Result) -> None:
    assert joint_loglik(latent.model, data) == pytest.approx(latent.loglik, rel=1e-12)
    assert prediction(latent.model, data).loglik < latent.loglik - 50
    shuffled = data.take(np.random.default_rng(1).permutation(len(data)))
    assert joint_loglik(latent.model, shuffled) == pytest.approx(latent.loglik, rel=1e-12)


def test_a_refit_on_the_same_choices_stays_where_it_is(data: ChoiceData, latent: ac.Result) -> None:
    again = refit_near(latent, data)
    np.testing.assert_allclose(again.theta, latent.coefficients, rtol=1e-4, atol=1e-4)


def test_a_refit_near_is_a_fit_of_the_other_choices(data: ChoiceData, latent: ac.Result) -> None:
    train, _ = data.split(0.3, seed=1)
    near = refit_near(latent, train)
    fitted = ac.fit(train, "*: t + c", family=ac.LatentClass(2))
    assert joint_loglik(near, train) == pytest.approx(fitted.loglik, abs=1e-2)


def test_class_profiles_are_means_weighted_by_membership(
    data: ChoiceData, latent: ac.Result
) -> None:
    profiles, h = latent.classes(), latent.individual()
    np.testing.assert_allclose(profiles.loc[("", "share"), "class 1"], h["class 1"].mean())
    second = (np.arange(120) % 3 == 0)[h.index]
    expected = (h["class 2"] * second).sum() / h["class 2"].sum()
    np.testing.assert_allclose(profiles.loc[("kind", "second"), "class 2"], expected)
    np.testing.assert_allclose(profiles.loc[("kind", "second"), "all"], 40 / 120)


def test_willingness_to_pay_is_that_of_every_class_and_of_mean_coefficients(
    data: ChoiceData, latent: ac.Result
) -> None:
    frame = latent.wtp("t", "c").set_index("segment")
    b = latent.estimates
    for q in (1, 2):
        # What more of t is worth in c: t is called neither like a time nor like a cost.
        ratio = -b[f"*: t (class {q})"] / b[f"*: c (class {q})"]
        assert frame.loc[f"class {q}", "estimate"] == pytest.approx(ratio)
    share = 1 / (1 + np.exp(-b["class 2: constant"]))
    mean = {k: (1 - share) * b[f"*: {k} (class 1)"] + share * b[f"*: {k} (class 2)"] for k in "tc"}
    assert frame.loc["all", "estimate"] == pytest.approx(-mean["t"] / mean["c"])
    np.testing.assert_allclose(latent.mean_coefficients, list(mean.values()))


def test_errors_of_class_wtp_are_those_of_the_delta_method(latent: ac.Result) -> None:
    frame = latent.wtp("t", "c").set_index("segment")
    names = ["*: t (class 2)", "*: c (class 2)"]
    t, c = latent.estimates[names]
    gradient = np.array([1 / c, -t / c**2])
    covariance = latent.covariance().loc[names, names].to_numpy()
    expected = np.sqrt(gradient @ covariance @ gradient)
    assert frame.loc["class 2", "std_err"] == pytest.approx(expected, rel=1e-6)


def test_classes_of_another_family_are_refused(data: ChoiceData) -> None:
    with pytest.raises(ArdchoiceError, match="has no classes"):
        ac.fit_mnl(data, "*: t + c").classes()


def test_a_study_compares_families_and_keeps_the_comparison(
    data: ChoiceData, tmp_path: Path
) -> None:
    space = ac.SearchSpace(data, by=["kind"], constants=False, generic=True, specific=False)
    study = ac.specify(data, space, family="auto")
    assert study.families is not None
    assert study.families.selected == study.result.family.tag
    assert study.result.loglik == pytest.approx(study.families.result.loglik)
    assert study.families.reason in " ".join(study.summary().split())
    lines = str(study.families).split("\n")
    assert max(map(len, lines)) <= 80
    assert "held-out: all answers of a person together; each: every answer alone" in lines
    study.save(tmp_path / "study")
    again = ac.load(tmp_path / "study")
    assert again.families is not None
    pd.testing.assert_frame_equal(again.families.frame, study.families.frame)
    assert again.families.result.family == study.result.family
    settings = settings_of(again)
    assert 'family = "auto"' in to_toml(settings)
    assert parse_settings(to_toml(settings), complete=False).make_family() == "auto"
    page = study.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Which model family" in page
    assert "Families on the same terms" in page


def test_terms_of_latent_classes_are_selected_with_the_multinomial_logit(
    data: ChoiceData, tmp_path: Path
) -> None:
    space = ac.SearchSpace(data, constants=False, generic=True, specific=False)
    study = ac.specify(data, space, family=ac.LatentClass(None, starts=2))
    assert study.fit.family == ac.Mnl()
    assert study.result.family.classes == 2
    assert 'family = "latent"' in to_toml(settings_of(study))
    assert settings_of(study).make_family() == ac.LatentClass(None, starts=2)
    # Baselines are multinomial logits, and their BIC counts persons too.
    beside = evaluate(study, folds=0).comparisons.set_index("model")
    assert beside.loc["found", "bic"] == study.result.bic
    assert len(beside) > 1
    price = float(np.log(study.result.n_persons)) * beside["coefficients"]
    assert list(beside["bic"]) == pytest.approx(list(-2 * beside["loglik"] + price))
    page = study.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"BIC counts {study.result.n_persons} persons in every row" in page
    assert "Who is in the classes" in page
    assert "class 2" in page

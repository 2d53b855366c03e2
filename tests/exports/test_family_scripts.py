"""Scripts of nested and latent class logits: their own code, evaluated, has our log-likelihood."""

from __future__ import annotations

import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from export_support import namespace

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.errors import ArdchoiceError

SPEC = "TRAIN: ASC + TT x GA\nCAR: ASC\n*: TT + CO"
NESTS = {"existing": ["TRAIN", "CAR"], "public": ["TRAIN", "SM"]}
CLOSE = 1e-6
"""Of a log-likelihood: rounding, and the digits of estimates that scripts have."""


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return ac.datasets.swissmetro_choices("real").take(np.arange(900))


class Ours:
    """A script's utilities with estimates for coefficients and columns for variables."""

    def __init__(self, script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        made = namespace(script)
        self.expected = made["EXPECTED"]
        self.choices = made["prepare"]()
        expressions = types.ModuleType("biogeme.expressions")
        vars(expressions)["Beta"] = lambda name, *_: self.expected[name]
        vars(expressions)["Variable"] = lambda name: self.choices[name].to_numpy()
        monkeypatch.setitem(sys.modules, "biogeme", types.ModuleType("biogeme"))
        monkeypatch.setitem(sys.modules, "biogeme.expressions", expressions)
        self.said = made["utilities"]()
        self.chosen = self.choices["CHOICE"].to_numpy()

    def broadcast(self, value: Any) -> np.ndarray:
        return np.broadcast_to(np.asarray(value, dtype=float), len(self.choices))


def nested_loglik(ours: Ours) -> float:
    """Probabilities by the definition of the (cross-)nested logit, nest by nest."""
    v, available, nests = ours.said
    alone = set(v) - {j for _, alpha in nests.values() for j in alpha}
    every = [*nests.values(), *((1.0, {j: 1.0}) for j in alone)]
    total, chosen = 0.0, 0.0
    for mu, alpha in every:
        worth = {
            j: np.asarray(available[j]) * (share * np.exp(ours.broadcast(v[j]))) ** mu
            for j, share in alpha.items()
        }
        inside = sum(worth.values())
        size = np.where(inside > 0, inside, 1.0)
        nest = np.where(inside > 0, size ** (1 / mu), 0.0)
        total = total + nest
        for j, one in worth.items():
            chosen = chosen + np.where(ours.chosen == j, nest * one / size, 0.0)
    return float(np.log(chosen / total).sum())


def latent_loglik(ours: Ours) -> float:
    """Products over the choices of a person, summed over classes."""
    utilities, available, membership = ours.said
    person = ours.choices["PERSON"].to_numpy() - 1
    first = np.unique(person, return_index=True)[1]
    odds = np.exp([ours.broadcast(m)[first] for m in membership])
    total = 0.0
    for v, share in zip(utilities, odds / odds.sum(axis=0), strict=True):
        e = np.array([np.asarray(available[j]) * np.exp(ours.broadcast(v[j])) for j in v])
        p = e[ours.chosen - 1, np.arange(len(person))] / e.sum(axis=0)
        total = total + share * np.exp(np.bincount(person, np.log(p)))
    return float(np.log(total).sum())


@pytest.mark.parametrize(
    "family",
    [
        ac.Nested({"existing": ["TRAIN", "CAR"]}),
        ac.Nested(NESTS, cross=True),
        ac.Nested(NESTS, cross=True, allocation={"TRAIN": {"existing": 0.25, "public": 0.75}}),
    ],
)
def test_a_nested_script_for_biogeme_has_our_log_likelihood(
    data: ChoiceData, family: ac.Nested, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = ac.fit(data, SPEC, family=family)
    ours = Ours(ac.export(result, "biogeme", tmp_path), monkeypatch)
    assert len(ours.expected) == 1 + result.n_parameters
    assert nested_loglik(ours) == pytest.approx(result.loglik, abs=CLOSE)


@pytest.mark.parametrize(
    "family",
    [
        ac.LatentClass(2, membership=["GA"], starts=1),
        ac.LatentClass(2, shared=["*: CO"], absent={"2": ["*: TT"]}, starts=1),
    ],
)
def test_a_latent_class_script_for_biogeme_has_our_log_likelihood(
    data: ChoiceData, family: ac.LatentClass, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = ac.fit(data, SPEC, family=family)
    ours = Ours(ac.export(result, "biogeme", tmp_path), monkeypatch)
    assert len(ours.expected) == 1 + result.n_parameters
    assert latent_loglik(ours) == pytest.approx(result.loglik, abs=CLOSE)


def test_a_nested_script_for_pylogit_names_every_alternative_once(
    data: ChoiceData, tmp_path: Path
) -> None:
    result = ac.fit(data, SPEC, family=ac.Nested({"existing": ["TRAIN", "CAR"]}))
    text = ac.export(result, "pylogit", tmp_path).read_text(encoding="utf-8")
    assert "NEST_EXISTING=[1, 3]" in text
    assert "ALONE_SM=[2]" in text
    assert 'estimates["MU_EXISTING"]' in text


def test_what_a_package_cannot_say_is_refused(data: ChoiceData, tmp_path: Path) -> None:
    cross = ac.fit(data, "*: TT + CO", family=ac.Nested(NESTS, cross=True))
    with pytest.raises(ArdchoiceError, match="no cross-nested"):
        ac.export(cross, "pylogit", tmp_path)
    weighted = replace(data, weight=np.full(len(data), 2.0))
    nested = ac.fit(weighted, "*: TT + CO", family=ac.Nested({"e": ["TRAIN", "CAR"]}))
    with pytest.raises(ArdchoiceError, match="takes no weights"):
        ac.export(nested, "pylogit", tmp_path)
    with pytest.raises(ArdchoiceError, match="Formats available for it: biogeme, pylogit"):
        ac.export(nested, "xlogit", tmp_path)


def test_text_and_latex_have_every_parameter(data: ChoiceData, tmp_path: Path) -> None:
    nested = ac.fit(data, SPEC, family=ac.Nested({"existing": ["TRAIN", "CAR"]}))
    text = ac.export(nested, "text", tmp_path / "nested.txt").read_text(encoding="utf-8")
    assert text.startswith("Nested logit of 900 choices")
    assert "mu(existing) = " in text
    latent = ac.fit(data, SPEC, family=ac.LatentClass(2, starts=1))
    text = ac.export(latent, "text", tmp_path / "latent.txt").read_text(encoding="utf-8")
    assert "V(SM in class 2) =" in text
    assert "class 2: constant = " in text
    page = ac.export(latent, "latex", tmp_path / "latent.tex").read_text(encoding="utf-8")
    assert page.count(r"\beta_{") >= latent.n_parameters
    assert "in class 2" in page

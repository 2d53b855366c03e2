"""Scripts for Apollo of nested and latent class logits; where there is R, run with stand-ins."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from export_models import RAGGED_SPECIFICATION, products, ragged
from export_support import CLOSE
from test_apollo import REFERENCE, RSCRIPT, check, logliks, needs_r

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.errors import ArdchoiceError

SPEC = "TRAIN: ASC + TT x GA\nCAR: ASC\n*: TT + CO"
EXISTING = {"existing": ["TRAIN", "CAR"]}


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return ac.datasets.swissmetro_choices("real").take(np.arange(900))


def weighted(data: ChoiceData) -> ChoiceData:
    """With weights that differ between the choices of a person."""
    weight = np.random.default_rng(5).uniform(0.5, 2.0, len(data))
    return replace(data, weight=weight)


def five(seed: int = 8, n: int = 600) -> ChoiceData:
    """Five alternatives, not all available, whose names are those of nests and of R."""
    rng = np.random.default_rng(seed)
    names = ["nest A", "T", "root", "A", "c"]
    available = rng.random((n, 5)) < 0.8
    available[np.arange(n), rng.integers(0, 5, n)] = True
    x = rng.normal(size=(n, 5))
    shared = rng.gumbel(size=(n, 2)) * 0.5
    utility = -x + 0.6 * rng.gumbel(size=(n, 5)) + shared[:, [0, 0, 1, 1, 1]]
    choice = np.where(available, utility, -np.inf).argmax(axis=1)
    table = {f"x_{j}": x[:, j].round(4) for j in range(5)}
    table |= {f"av_{j}": available[:, j].astype(int) for j in range(5)}
    return ac.read_wide(
        pd.DataFrame(table | {"choice": choice}),
        alternatives={name: str(j) for j, name in enumerate(names)},
        choice="choice",
        attributes={"x": {name: f"x_{j}" for j, name in enumerate(names)}},
        availability={name: f"av_{j}" for j, name in enumerate(names)},
    )


@needs_r
@pytest.mark.parametrize("weighs", [False, True])
def test_a_nested_script_has_our_log_likelihood(
    data: ChoiceData, weighs: bool, tmp_path: Path
) -> None:
    data = weighted(data) if weighs else data
    check(ac.fit(data, SPEC, family=ac.Nested(EXISTING)), tmp_path)


@needs_r
@pytest.mark.parametrize("equal", [False, True])
def test_a_script_of_two_nests_and_an_alternative_alone_has_our_log_likelihood(
    equal: bool, tmp_path: Path
) -> None:
    family = ac.Nested({"A": ["nest A", "T"], "b": ["root", "c"]}, equal=equal)
    text = check(ac.fit(five(), "*: x\nA: ASC", family=family), tmp_path)
    assert 'c("NEST_A_2", "NEST_B", "A")' in text  # an alternative is called NEST_A already


@needs_r
def test_a_nested_script_reads_a_long_table_with_weights_and_persons(tmp_path: Path) -> None:
    ragged().to_csv(tmp_path / "sets.csv", index=False)
    family = ac.Nested({"low": ["1", "2", "3"], "high": ["4", "5"]})
    result = ac.fit(products(tmp_path / "sets.csv"), RAGGED_SPECIFICATION, family=family)
    assert "sets.csv" in check(result, tmp_path)


def latent_loglik(result: ac.Result, folder: Path) -> float:
    at_start, at_end = logliks(ac.export(result, "apollo", folder / "model.R"))
    assert result.null_loglik < at_start < at_end  # it starts near the estimates, not at them
    return at_end


@needs_r
@pytest.mark.parametrize("weighs", [False, True])
@pytest.mark.parametrize(
    "family",
    [
        ac.LatentClass(2, membership=["GA"], starts=1),
        ac.LatentClass(3, shared=["*: CO"], absent={"2": ["*: TT"]}, starts=1),
    ],
)
def test_a_latent_class_script_has_our_log_likelihood(
    data: ChoiceData, family: ac.LatentClass, weighs: bool, tmp_path: Path
) -> None:
    result = ac.fit(weighted(data) if weighs else data, SPEC, family=family)
    assert latent_loglik(result, tmp_path) == pytest.approx(result.loglik, rel=0, abs=CLOSE)


@needs_r
@pytest.mark.parametrize("weighs", [False, True])
def test_without_persons_every_choice_is_a_person_of_a_class(
    data: ChoiceData, weighs: bool, tmp_path: Path
) -> None:
    alone = replace(weighted(data) if weighs else data, person=None)
    result = ac.fit(alone, "*: TT + CO", family=ac.LatentClass(2, starts=1))
    assert latent_loglik(result, tmp_path) == pytest.approx(result.loglik, rel=0, abs=CLOSE)


def test_lambda_is_one_over_the_scale_and_the_tree_has_every_alternative_once(
    data: ChoiceData, tmp_path: Path
) -> None:
    result = ac.fit(data, SPEC, family=ac.Nested(EXISTING))
    text = ac.export(result, "apollo", tmp_path).read_text(encoding="utf-8")
    assert "A nested logit for Apollo" in text
    assert "NEST_EXISTING = 1 / MU_EXISTING\n" in text
    branches = re.findall(r'nlStructure\[\["(\w+)"\]\] <- c\((.*)\)', text)
    assert branches == [("root", '"NEST_EXISTING", "SM"'), ("NEST_EXISTING", '"TRAIN", "CAR"')]
    start = text[text.index("apollo_beta <- c(") :]
    assert "MU_EXISTING = 1\n" in start
    assert "B_TT = 0," in start
    mu = float(result.to_frame().loc["mu(existing)", "estimate"])
    assert f"MU_EXISTING = {mu!r}" in text


def test_classes_have_their_own_utilities_likelihoods_and_shares(
    data: ChoiceData, tmp_path: Path
) -> None:
    family = ac.LatentClass(2, membership=["GA"], shared=["*: CO"], starts=1)
    result = ac.fit(data, SPEC, family=family)
    text = ac.export(result, "apollo", tmp_path).read_text(encoding="utf-8")
    for q in ("1", "2"):
        part = text[text.index(f"# ---- Class {q} ----") :].partition("apollo_panelProd")[0]
        assert f"B_TT_CLASS_{q} * " in part
        assert "B_CO * " in part
        assert f"_CLASS_{3 - int(q)}" not in part
    shares = text[text.index("apollo_lcPars <-") : text.index("apollo_probabilities <-")]
    assert 'V[["Class_1"]] <- 0\n' in shares
    assert re.search(r'V\[\["Class_2"\]\] <- \w+ \+ \w+ \* \w+\n', shares)
    assert text.index("apollo_lcPars <-") < text.index("apollo_validateInputs()")
    assert text.count("apollo_panelProd(") == 2  # in the classes, not once more after them


MONEY: dict[str, object] = {"space": "wtp", "cost": "CO"}


@needs_r
@pytest.mark.parametrize(
    ("random", "options", "weighs"),
    [
        ({"*: TT": "uniform", "*: CO": "triangular", "SM: ASC": "normal"}, {}, False),
        ({"*: TT": "normal", "TRAIN: ASC": "normal"}, {"correlated": True}, True),
        ({"*: TT": "truncated", "TRAIN+SM: ASC": "normal"}, {}, False),
        ({"*: TT": "normal", "*: CO": "lognormal", "TRAIN+SM: ASC": "normal"}, MONEY, False),
    ],
)
def test_a_mixed_script_has_our_log_likelihood_within_simulation_error(
    random: dict[str, str], options: dict[str, object], weighs: bool, tmp_path: Path
) -> None:
    # Where nobody has a season ticket, and costs count.
    some = ac.datasets.swissmetro_choices("real").take(np.arange(5_400, 6_300))
    some = weighted(some) if weighs else some
    spec = "TRAIN: ASC\nCAR: ASC\n*: TT + CO"
    result = ac.fit(some, spec, family=ac.Mixed(random, nodes=128, **options))
    _, at_end, error = mixed_logliks(ac.export(result, "apollo", tmp_path / "model.R"))
    assert error < 2
    most = 1.5 if weighs else 1.0  # the error that R prints does not weight persons
    assert at_end == pytest.approx(result.loglik, rel=0, abs=most * (4 * error + error**2))


def mixed_logliks(script: Path) -> tuple[float, float, float]:
    """At the start and at the estimates, and the simulation error of the latter."""
    assert RSCRIPT is not None
    run = "source(commandArgs(TRUE)[1]); source(commandArgs(TRUE)[2])"
    command = [RSCRIPT, "-e", run, str(REFERENCE / "apollo_stand_ins.R"), script.name]
    done = subprocess.run(command, cwd=script.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    errors = [float(one.split()[1]) for one in lines if one.startswith("ERROR ")]
    start, end = next(line for line in lines if line.startswith("LOGLIK ")).split()[1:]
    return float(start), float(end), errors[-1]


def test_a_cross_nested_logit_is_refused(data: ChoiceData, tmp_path: Path) -> None:
    nests = {"existing": ["TRAIN", "CAR"], "public": ["TRAIN", "SM"]}
    result = ac.fit(data, "*: TT + CO", family=ac.Nested(nests, cross=True))
    with pytest.raises(ArdchoiceError, match="not written for Apollo"):
        ac.export(result, "apollo", tmp_path)
    assert not list(tmp_path.iterdir())

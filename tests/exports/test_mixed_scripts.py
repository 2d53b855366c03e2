"""Scripts of mixed logits: their own code, evaluated with draws of ours, has our log-likelihood."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import numpy as np
import pytest
from export_support import namespace
from scipy import special, stats

import ardchoice as ac

SPEC = "TRAIN: ASC\nCAR: ASC\n*: TT + CO"
DRAWS = 2_048
SIMULATION_ERRORS = 4.0
MONEY = {"space": "wtp", "cost": "CO"}


def script_loglik(script: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[float, float]:
    """By prior draws, from the script's own utilities at our estimates; and its error."""
    made = namespace(script)
    expected, choices = made["EXPECTED"], made["prepare"]()
    person = choices["PERSON"].to_numpy() - 1
    n = int(person.max()) + 1
    engine = stats.qmc.Sobol(8, seed=3)
    points = [np.clip(engine.random(DRAWS), 1e-9, 1 - 1e-9) for _ in range(n)]
    used: dict[str, int] = {}

    def draws(name: str, kind: str) -> np.ndarray:
        place = used.setdefault(name, len(used))
        u = np.array([p[:, place] for p in points])[person]
        return 2 * u - 1 if kind.startswith("UNIFORMSYM") else special.ndtri(u)

    expressions = types.ModuleType("biogeme.expressions")
    vars(expressions).update(
        Beta=lambda name, *_: expected[name],
        Variable=lambda name: choices[name].to_numpy(dtype=float)[:, None],
        Draws=draws,
        exp=np.exp,
    )
    monkeypatch.setitem(sys.modules, "biogeme", types.ModuleType("biogeme"))
    monkeypatch.setitem(sys.modules, "biogeme.expressions", expressions)
    v, available = made["utilities"]()
    shape = (len(choices), DRAWS)
    utility = np.array(
        [np.where(np.asarray(available[j]) > 0, np.broadcast_to(v[j], shape), -np.inf) for j in v]
    )
    log_p = utility - special.logsumexp(utility, axis=0)
    chosen = choices["CHOICE"].to_numpy() - 1
    each = np.zeros((n, DRAWS))
    np.add.at(each, person, log_p[chosen, np.arange(len(choices))])
    each = np.exp(each)
    mean = each.mean(axis=1)
    error = np.sqrt((each.var(axis=1) / DRAWS / mean**2).sum())
    return float(np.log(mean).sum()), float(error)


@pytest.mark.parametrize(
    ("random", "options"),
    [
        ({"*: TT": "uniform", "*: CO": "triangular", "SM: ASC": "normal"}, {}),
        ({"*: TT": "normal", "TRAIN: ASC": "normal"}, {"correlated": True}),
        ({"*: TT": "lognormal"}, {}),
        ({"*: TT": "normal", "TRAIN+SM: ASC": "normal"}, {}),
        ({"*: TT": "normal"}, MONEY),
        ({"*: TT": "normal", "*: CO": "lognormal", "TRAIN+SM: ASC": "normal"}, MONEY),
    ],
)
def test_the_script_of_biogeme_has_our_log_likelihood(random, options, tmp_path, monkeypatch):
    first = 6_300 if options == MONEY else 0  # where nobody has a season ticket, and costs count
    data = ac.datasets.swissmetro_choices("real").take(np.arange(first, first + 900))
    family = ac.Mixed(random, nodes=128, **options)
    result = ac.fit(data, SPEC, family=family)
    script = tmp_path / "mixed.py"
    ac.export(result, "biogeme", script)
    found, error = script_loglik(script, monkeypatch)
    assert found == pytest.approx(result.loglik, abs=SIMULATION_ERRORS * error + 0.05)


def test_a_truncated_normal_is_refused_by_biogeme_and_written_as_text(tmp_path):
    data = ac.datasets.swissmetro_choices("real").take(np.arange(450))
    result = ac.fit(data, "*: TT + CO", family=ac.Mixed({"*: CO": "truncated"}))
    with pytest.raises(ac.ArdchoiceError, match="truncated normal"):
        ac.export(result, "biogeme", tmp_path / "model.py")
    ac.export(result, "text", tmp_path / "model.txt")
    assert "sd(*: CO)" in (tmp_path / "model.txt").read_text()

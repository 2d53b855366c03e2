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


# -- xlogit and PyLogit: stand-ins that do what their manuals say ---------------------------------


def softmax_loglik(
    v: np.ndarray, available: np.ndarray, chosen: np.ndarray, person: np.ndarray
) -> tuple[float, float]:
    """Of utilities at every draw, (N, J, R), by person; and its simulation error."""
    v = np.where(available[..., None] > 0, v, -np.inf)
    log_p = np.take_along_axis(v - special.logsumexp(v, axis=1, keepdims=True), chosen, axis=1)
    each = np.zeros((person.max() + 1, v.shape[2]))
    np.add.at(each, person, log_p[:, 0])
    each = np.exp(each)
    mean = each.mean(axis=1)
    error = np.sqrt((each.var(axis=1) / v.shape[2] / mean**2).sum())
    return float(np.log(mean).sum()), float(error)


def uniform_draws(n: int, q: int) -> np.ndarray:
    engine = stats.qmc.Sobol(8, seed=3)
    return np.array([np.clip(engine.random(DRAWS), 1e-9, 1 - 1e-9)[:, :q].T for _ in range(n)])


class StandInMixedLogit:
    """xlogit's model where it starts: V = λ (Σ β x - scale + addit), β = mean + spread · draw."""

    error = np.nan

    def fit(self, X, y, varnames, alts, ids, randvars, init_coeff, n_draws, **options):
        assert n_draws >= 1_000
        assert options.keys() <= {
            "avail",
            "panels",
            "weights",
            "scale_factor",
            "addit",
            "batch_size",
            "robust",
            "verbose",
        }
        n = len(np.unique(ids))
        x = np.asarray(X).reshape(n, -1, len(varnames))
        person = np.unique(np.asarray(options["panels"]).reshape(n, -1)[:, 0], return_inverse=True)[
            1
        ]
        assert (np.diff(person) >= 0).all()  # xlogit wants the choices of a person together
        k, random = len(varnames), [i for i, name in enumerate(varnames) if name in randvars]
        spread = init_coeff[k : k + len(random)]
        self._rvdist = [randvars[varnames[i]] for i in random]
        u = uniform_draws(person.max() + 1, len(random))
        drawn = np.empty_like(u)
        for i, kind in enumerate(self._rvdist):
            drawn[:, i] = special.ndtri(u[:, i])
            if kind == "u":
                drawn[:, i] = 2 * u[:, i] - 1
            if kind == "t":
                drawn[:, i] = stats.triang.ppf(u[:, i], 0.5, loc=-1, scale=2)
        beta = init_coeff[random][:, None] + spread[:, None] * drawn
        beta = self._apply_distribution(beta)[person]
        fixed = [i for i in range(k) if i not in random]
        v = (x[..., fixed] @ init_coeff[fixed])[..., None] + x[..., random] @ beta
        for name, sign in (("scale_factor", -1), ("addit", 1)):
            if name in options:
                v = v + sign * np.asarray(options[name]).reshape(n, -1, 1)
        scale = init_coeff[-1] if "scale_factor" in options else 1.0
        available = np.asarray(options.get("avail", np.ones(x.shape[0] * x.shape[1])))
        chosen = np.asarray(y).reshape(n, -1, 1).argmax(axis=1)[:, None]
        found = softmax_loglik(scale * v, available.reshape(n, -1), chosen, person)
        self.loglikelihood, StandInMixedLogit.error = found
        self.coeff_, self.stderr = init_coeff.copy(), np.ones_like(init_coeff)

    def _apply_distribution(self, beta):
        for i, kind in enumerate(self._rvdist):
            if kind == "ln":
                beta[:, i] = np.exp(beta[:, i])
        return beta

    def summary(self):
        """Nothing to print."""


def create_choice_model(data, specification, names, mixing_id_col, mixing_vars, **options):
    """PyLogit's model where it starts; all its random coefficients are normal."""
    assert options["model_type"] == "Mixed Logit"
    model = types.SimpleNamespace(print_summaries=lambda: None)

    def fit_mle(start, num_draws, seed):
        assert num_draws >= 100
        listed = [names[key][0] for key in specification]
        person = np.unique(data[mixing_id_col], return_inverse=True)[1]
        drawn = special.ndtri(uniform_draws(person.max() + 1, len(mixing_vars)))[person]
        v = np.zeros((len(data), DRAWS))
        for i, (key, (entered,)) in enumerate(specification.items()):
            x = data[key].to_numpy() * data[options["alt_id_col"]].isin(entered).to_numpy()
            v += start[i] * x[:, None]
            if listed[i] in mixing_vars:
                place = mixing_vars.index(listed[i])
                v += start[len(listed) + place] * x[:, None] * drawn[:, place]
        situation = np.unique(data[options["obs_id_col"]], return_inverse=True)[1]
        shape = (situation.max() + 1, int(data[options["alt_id_col"]].max()))
        where = situation, data[options["alt_id_col"]].to_numpy() - 1
        wide, available, chosen = np.zeros((*shape, DRAWS)), np.zeros(shape), np.zeros(shape)
        wide[where], available[where] = v, 1
        chosen[where] = data[options["choice_col"]]
        own = np.zeros(shape[0], dtype=int)
        own[situation] = person
        found = softmax_loglik(wide, available, chosen.argmax(axis=1)[:, None, None], own)
        model.llf, StandInMixedLogit.error = found
        model.params = start

    model.fit_mle = fit_mle
    return model


@pytest.mark.parametrize(
    ("package", "random", "options"),
    [
        ("xlogit", {"*: TT": "normal", "CAR: ASC": "uniform"}, {}),
        ("xlogit", {"*: TT": "lognormal", "*: CO": "triangular"}, {}),
        ("xlogit", {"*: TT": "normal", "TRAIN: ASC": "normal"}, MONEY),
        ("xlogit", {"*: TT": "lognormal"}, MONEY),
        ("pylogit", {"*: TT": "normal", "TRAIN: ASC": "normal"}, {}),
    ],
)
def test_scripts_start_near_our_estimates_and_have_our_log_likelihood_there(
    package, random, options, tmp_path, monkeypatch
):
    data = ac.datasets.swissmetro_choices("real").take(np.arange(5_400, 6_300))
    result = ac.fit(data, SPEC, family=ac.Mixed(random, nodes=128, **options))
    made = namespace(ac.export(result, package, tmp_path / "model.py"))
    module = types.ModuleType(package)
    vars(module).update(MixedLogit=StandInMixedLogit, create_choice_model=create_choice_model)
    monkeypatch.setitem(sys.modules, package, module)
    seen = {}
    monkeypatch.setitem(
        made["estimate"].__globals__,
        "compare",
        lambda loglik, estimates: seen.update({"log-likelihood": loglik, **estimates}),
    )
    made["estimate"](made["prepare"]())
    expected = made["EXPECTED"]
    assert seen.keys() == expected.keys()
    for name in expected.keys() - {"log-likelihood"}:
        assert seen[name] == pytest.approx(expected[name], rel=6e-3), name  # three digits
    error = StandInMixedLogit.error
    assert error < 1.5
    assert seen["log-likelihood"] == pytest.approx(result.loglik, abs=4 * error + error**2 + 0.05)


@pytest.mark.parametrize(
    ("package", "random", "options", "message"),
    [
        ("xlogit", {"*: TT": "normal", "*: CO": "normal"}, {"correlated": True}, "no correlated"),
        ("xlogit", {"TRAIN+SM: ASC": "normal"}, {}, "estimates a mean of every random"),
        ("xlogit", {"*: TT": "truncated"}, {}, "censored"),
        ("xlogit", {"*: CO": "lognormal"}, MONEY, "one cost coefficient for everyone"),
        ("pylogit", {"*: TT": "normal"}, MONEY, "no WTP space"),
        (
            "pylogit",
            {"*: TT": "normal", "*: CO": "normal"},
            {"correlated": True},
            "no correlations",
        ),
        ("pylogit", {"*: TT": "uniform"}, {}, "normal coefficients only"),
        ("biogeme", {}, MONEY, "Nothing is random"),
    ],
)
def test_what_a_package_cannot_is_refused_in_a_sentence(
    package, random, options, message, tmp_path
):
    data = ac.datasets.swissmetro_choices("real").take(np.arange(5_400, 5_850))
    result = ac.fit(data, SPEC, family=ac.Mixed(random, nodes=16, **options))
    with pytest.raises(ac.ArdchoiceError, match=message):
        ac.export(result, package, tmp_path / "model.py")
    assert not list(tmp_path.iterdir())


def test_a_truncated_normal_is_refused_by_biogeme_and_written_as_text(tmp_path):
    data = ac.datasets.swissmetro_choices("real").take(np.arange(450))
    result = ac.fit(data, "*: TT + CO", family=ac.Mixed({"*: CO": "truncated"}))
    with pytest.raises(ac.ArdchoiceError, match="truncated normal"):
        ac.export(result, "biogeme", tmp_path / "model.py")
    ac.export(result, "text", tmp_path / "model.txt")
    assert "sd(*: CO)" in (tmp_path / "model.txt").read_text()

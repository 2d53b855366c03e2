"""Exports run without the packages: the columns they make, and a softmax of their own."""

from __future__ import annotations

import runpy
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ardchoice as ac
from ardchoice.design import Design

PYTHON = ("biogeme", "pylogit", "xlogit")
CLOSE = 1e-8
"""Columns and log-likelihood of a script against ours: rounding only."""


def namespace(script: Path) -> dict[str, Any]:
    """What a script defines, without what it does when run."""
    compile(script.read_text(encoding="utf-8"), str(script), "exec")
    return runpy.run_path(str(script), run_name="exported")


def loglik(utility: np.ndarray, available: np.ndarray, choice: np.ndarray, weight: Any) -> float:
    """Of a multinomial logit; utility and availability have shape (N, J)."""
    v = np.where(available == 1, utility, -np.inf)
    v = v - v.max(axis=1, keepdims=True)
    log_p = v - np.log(np.exp(v).sum(axis=1, keepdims=True))
    return float((weight * log_p[np.arange(len(v)), choice]).sum())


def loglik_of(script: Path, package: str) -> float:
    """The log-likelihood at the estimates that a script expects, from its own columns."""
    made = namespace(script)
    choices = made["prepare"]()
    beta = {k: v for k, v in made["EXPECTED"].items() if k != "log-likelihood"}
    weight = choices["WEIGHT"].to_numpy() if "WEIGHT" in choices else 1.0
    if package == "biogeme":
        utilities, available = _with_stand_ins(made["utilities"], beta, choices)
    else:
        table = made["to_long"](choices)
        shape = (len(choices), len(made["ALTERNATIVES"]))
        np.testing.assert_array_equal(
            table["CHOSEN"].to_numpy().reshape(shape).argmax(axis=1) + 1, choices["CHOICE"]
        )
        utilities = (table[list(beta)].to_numpy() @ np.array(list(beta.values()))).reshape(shape)
        available = table["AVAILABLE"].to_numpy().reshape(shape)
    return loglik(utilities, available, choices["CHOICE"].to_numpy() - 1, weight)


def _with_stand_ins(
    utilities: Any, beta: dict[str, float], choices: pd.DataFrame
) -> tuple[np.ndarray, np.ndarray]:
    """Biogeme's expressions as what they stand for: coefficients numbers, variables columns."""
    expressions = types.ModuleType("biogeme.expressions")
    expressions.Beta = lambda name, *_: beta[name]  # type: ignore[attr-defined]
    expressions.Variable = lambda name: choices[name].to_numpy()  # type: ignore[attr-defined]
    before = {k: sys.modules.get(k) for k in ("biogeme", "biogeme.expressions")}
    sys.modules |= {"biogeme": types.ModuleType("biogeme"), "biogeme.expressions": expressions}
    try:
        v, av = utilities()
    finally:
        for name, module in before.items():
            sys.modules.pop(name)
            if module is not None:
                sys.modules[name] = module
    n = len(choices)
    every = [np.broadcast_to(np.asarray(v[j], dtype=float), n) for j in v]
    return np.column_stack(every), np.column_stack([av[j] for j in v])


def our_columns(result: ac.Result) -> np.ndarray:
    """The columns of the design, zero where unavailable; shape (D, J, N)."""
    data = result.data
    design = Design(data, result.encoding)
    block = design.block(slice(0, len(data)))
    out = np.zeros((design.n_columns, len(data.alternatives), len(data)))
    for part in block.parts:
        for i, k in enumerate(range(*part.columns.indices(design.n_columns))):
            out[k][list(part.alternatives)] = part.x[i]
    return np.where(data.available, out, 0.0)[design.position]


def check_scripts(result: ac.Result, folder: Path) -> dict[str, Path]:
    """Every Python script has our columns and our log-likelihood."""
    ours = our_columns(result)
    scripts = {package: ac.export(result, package, folder) for package in PYTHON}
    for package, script in scripts.items():
        np.testing.assert_allclose(loglik_of(script, package), result.loglik, rtol=0, atol=CLOSE)
    made = namespace(scripts["xlogit"])
    table = made["to_long"](made["prepare"]())
    for k, name in enumerate(made["COEFFICIENTS"]):
        theirs = table[name].to_numpy().reshape(len(result.data), -1).T
        np.testing.assert_allclose(theirs, ours[k], rtol=CLOSE, atol=CLOSE)
    return scripts


def quietly(read: Any, *args: Any, **kwargs: Any) -> ac.ChoiceData:
    """Read data that have something worth knowing, which is not what the test is about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)
        return read(*args, **kwargs)

"""Studies of many kinds, and whether two are the same to the last bit."""

from dataclasses import fields, is_dataclass, replace

import numpy as np
import pandas as pd

import ardchoice as ac
from ardchoice.evaluation import evaluate
from ardchoice.space.transforms import Transform
from selection.selection_support import made, read, table, usual

ODD = "<script>alert(1)</script>\n\"'`=cmd|' /C calc'!A0 é 車\t\\"
"""A name that breaks whatever does not take it for a name."""


def plain_study() -> ac.Study:
    data = made(300, 1, usual)
    return ac.specify(data, ac.SearchSpace(data, {"TT": ["linear", "log1p"]}, by=["G"]))


def honest_study() -> ac.Study:
    """Selected by the published rule, with weights, on half the persons; patterns in lists."""
    data = read(table(400, 2, usual), weight="W")
    space = ac.SearchSpace(
        data,
        ["boxcox", "segments(3)", "piecewise(0.5, 1.25)"],
        by=["H", "INC"],
        force="A: TT",
        remove="C: *",
    )
    structure = ac.Structure(
        signs={"TT": "-"}, forbid=["*: ASC x H"], exclusive=[["A: boxcox(CO)", "B: boxcox(CO)"]]
    )
    rule = ac.LambdaAbove(0.002)
    return ac.specify(
        data, space, structure=structure, rule=rule, solver=ac.Dsvi(seed=3), honest=True, seed=4
    )


def evaluated_study() -> ac.Study:
    """With held-out figures, stability and another model beside it; no rules at all."""
    data = made(300, 3, usual)
    space = ac.SearchSpace(data, ["linear", "sqrt"], generic=["CO"], base="A")
    rule = ac.HeldOut(folds=2, weights=(0.5, 2.0))
    study = ac.specify(data, space, structure=None, rule=rule, seed=1)
    evaluation = evaluate(study, folds=3, stability_pairs=1, compare={ODD: "A: TT"})
    return replace(study, evaluation=evaluation)


def odd_study() -> ac.Study:
    """A long table whose every name is odd, with ids of several kinds and levels merged."""
    wide = table(300, 4, usual)
    long = wide.melt(["ID", "G", "H", "PICK"], [f"{a}_TT" for a in "ABC"], "which", "time")
    long["alt"] = long["which"].str[0].map({"A": ODD + "a", "B": ODD + "b", "C": "ć"})
    long["chosen"] = (long["which"].str[0] == long["PICK"]).astype(int)
    row = np.tile(np.arange(len(wide)), 3)
    ids = np.array([f"s{i}\n" if i % 3 else pd.Timestamp("2020-01-01") + pd.Timedelta(i, "D")
                    for i in row], dtype=object)  # fmt: skip
    long[ODD + "id"] = ids
    long[ODD + "G"] = long["G"].map({"u": ODD + "u", "v": "v"})
    data = ac.read_long(
        long.rename(columns={"time": ODD}),
        situation=ODD + "id",
        alternative="alt",
        chosen="chosen",
        attributes={ODD: ODD},
        covariates={
            ODD + "H": ac.Categorical("H", merge={ODD + "pq": ["p", "q"]}),
            ODD + "G": ODD + "G",
        },
        person="ID",
    )
    return ac.specify(data, ac.SearchSpace(data, ["linear", "log1p"], by=[ODD + "G"]))


STUDIES = {
    "plain": plain_study,
    "honest": honest_study,
    "evaluated": evaluated_study,
    "odd": odd_study,
}


def differences(a: object, b: object, where: str = "study") -> list[str]:
    """Every place at which two values are not the same, to the last bit."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return [] if _same_array(a, b) else [where]
    if isinstance(a, pd.DataFrame) and isinstance(b, pd.DataFrame):
        try:
            pd.testing.assert_frame_equal(a, b, check_exact=True)
        except AssertionError as error:
            return [f"{where}: {error}"]
        return []
    if isinstance(a, (ac.Term, Transform)):
        return [] if a == b else [where]
    if is_dataclass(a) or isinstance(a, ac.SearchSpace):
        if type(a) is not type(b):
            return [f"{where}: {type(a)} is {type(b)}"]
        names = [f.name for f in fields(a)] if is_dataclass(a) else sorted(vars(a))
        pairs = [(n, getattr(a, n), getattr(b, n)) for n in names]
    elif isinstance(a, dict):
        if not isinstance(b, dict) or list(a) != list(b):
            return [f"{where}: {a} is {b}"]
        pairs = [(str(k), a[k], b[k]) for k in a]
    elif isinstance(a, (tuple, list)):
        # JSON has no tuples: what a role was given as a list may come back as either.
        if not isinstance(b, (tuple, list)) or len(a) != len(b):
            return [f"{where}: {a} is {b}"]
        pairs = [(str(i), x, y) for i, (x, y) in enumerate(zip(a, b, strict=True))]
    else:
        both_nan = isinstance(a, float) and isinstance(b, float) and a != a and b != b
        same = both_nan or (a == b and isinstance(a, str) == isinstance(b, str))
        return [] if same else [f"{where}: {a!r} is {b!r}"]
    return [d for name, x, y in pairs for d in differences(x, y, f"{where}.{name}")]


def _same_array(a: object, b: object) -> bool:
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return False
    if a.dtype == object:
        return b.dtype == object and a.tolist() == b.tolist()
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()

"""Weights have a mean of one whatever their sum; counts are repeated rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice._types import Floats
from ardchoice.errors import ArdchoiceError, DataError

SAME = 1e-9
"""Relative difference of estimates that are found from scaled copies of the same weights."""


def made(rows: int = 400) -> pd.DataFrame:
    """Three modes, with sampling weights and counts."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"GA": rng.integers(0, 2, rows)})
    utility = np.empty((3, rows))
    for j, name in enumerate(("A", "B", "C")):
        frame[f"{name}_TT"] = rng.uniform(10, 60, rows)
        frame[f"{name}_CO"] = rng.uniform(1, 9, rows)
        utility[j] = -0.06 * frame[f"{name}_TT"] - 0.3 * frame[f"{name}_CO"]
    frame["y"] = (utility + rng.gumbel(size=utility.shape)).argmax(axis=0)
    frame["w"] = rng.uniform(0.2, 3.0, rows)
    frame.loc[:20, "w"] = 0.0
    frame["n"] = rng.integers(0, 4, rows)
    return frame


def read(table: object, **how: Any) -> ac.ChoiceData:
    return ac.read_wide(
        table,
        alternatives={"A": 0, "B": 1, "C": 2},
        choice="y",
        attributes={"TT": "{alt}_TT", "CO": "{alt}_CO"},
        covariates=["GA"],
        **how,
    )


def searched(data: ac.ChoiceData) -> ac.Study:
    return ac.specify(data, ac.SearchSpace(data, ["linear", "log1p"], by=["GA"], generic=True))


@pytest.mark.parametrize("factor", [1e-4, 250.0])
def test_multiplying_all_weights_changes_no_statistic(factor: float) -> None:
    frame = made()
    one = searched(read(frame, weight="w"))
    other = searched(read(frame.assign(w=frame["w"] * factor), weight="w"))
    assert one.specification.terms == other.specification.terms
    for name in ("loglik", "null_loglik", "aic", "bic", "n_situations"):
        assert getattr(one.result, name) == pytest.approx(getattr(other.result, name), rel=SAME)
    for cov in ("classical", "robust"):
        a, b = one.result.to_frame(cov=cov), other.result.to_frame(cov=cov)
        np.testing.assert_allclose(a["std_err"], b["std_err"], rtol=1e-6)


def test_the_sum_is_noted_and_rows_of_weight_zero_do_not_count() -> None:
    frame = made()
    data = read(frame, weight="w")
    positive = int((frame["w"] > 0).sum())
    assert data.total_weight == pytest.approx(positive)
    said = f"scaled to mean one (sum in the table: {frame['w'].sum():,.6g})"
    result = ac.fit_mnl(data, "*: TT + CO")
    assert said in str(data)
    assert said in result.summary()
    assert result.n_situations == positive


def test_weights_of_mean_one_are_left_as_they_are() -> None:
    frame = made().query("w > 0")
    frame["w"] /= frame["w"].mean()
    data = read(frame, weight="w")
    np.testing.assert_array_equal(data.weights, frame["w"])
    assert not data.warnings


def test_weights_are_the_same_read_part_by_part(tmp_path: Path) -> None:
    frame = made()
    frame.to_csv(tmp_path / "t.csv", index=False)
    positive, total = (frame["w"] > 0).sum(), frame["w"].sum()
    each: list[Floats] = []
    for stream in (False, True):
        data = read(tmp_path / "t.csv", weight="w", stream=stream)
        assert data.weight_scale == pytest.approx(positive / total)
        each.append(np.array(data.weights))
    np.testing.assert_allclose(each[0], each[1], rtol=1e-12)


def test_counts_are_repeated_rows_in_every_figure() -> None:
    frame = made()
    counted = searched(read(frame, weight="n", weight_kind="frequency"))
    repeated = searched(read(frame.loc[frame.index.repeat(frame["n"])]))
    assert counted.specification.terms == repeated.specification.terms
    assert counted.result.n_situations == int(frame["n"].sum())
    assert counted.result.bic == repeated.result.bic
    for cov in ("classical", "robust"):
        pd.testing.assert_frame_equal(
            counted.result.to_frame(cov=cov), repeated.result.to_frame(cov=cov)
        )
    assert counted.specification.near_ties == repeated.specification.near_ties


def test_counts_must_be_whole_and_not_too_many(tmp_path: Path) -> None:
    frame = made()
    with pytest.raises(DataError, match="no whole number, as a count is"):
        read(frame, weight="w", weight_kind="frequency")
    with pytest.raises(DataError, match="adds up to 4,000,000,000 choices"):
        read(frame.assign(n=10_000_000), weight="n", weight_kind="frequency")
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ArdchoiceError, match="repeat rows in memory"):
        read(tmp_path / "t.csv", weight="n", weight_kind="frequency", stream=True)

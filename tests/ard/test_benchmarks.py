"""The benchmarks of relevance run, and say what they should, in their quick modes."""

from pathlib import Path

import numpy as np
import pytest


def fits(capsys: pytest.CaptureFixture[str]) -> bool:
    lines = capsys.readouterr().out.splitlines()
    return bool(lines) and max(map(len, lines)) <= 80


def test_evidence_beside_the_published_schedule(
    load,  # type: ignore[no-untyped-def]
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    rows = load("ard_evidence").main(["--quick", "--cache", str(tmp_path)])
    assert len(rows) == 1
    assert rows[0].bound > 0
    assert rows[0].full_evidence >= rows[0].evidence
    assert len(list(tmp_path.iterdir())) == 1
    assert fits(capsys)


def test_time_and_memory_of_two_sizes(
    load,  # type: ignore[no-untyped-def]
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    scaling = load("ard_scaling")
    monkeypatch.setattr(scaling, "QUICK_SIZES", (1000, 2000))
    rows = scaling.main(["--quick"])
    assert [row.n_situations for row in rows] == [1000, 2000]
    assert all(row.converged for row in rows)
    assert all(row.peak_gb is None or 0 < row.peak_gb < 1 for row in rows)
    assert fits(capsys)


def test_ten_times_longer_changes_nothing(load, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    rows = load("ard_longer").main(["--quick"])
    assert all(row.converged and not row.changed for row in rows)
    assert fits(capsys)


def test_january_and_february(load, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    rows = load("ard_online").main(["--quick"])
    assert [(row.prior, row.remembered) for row in rows] == [
        (prior, share) for prior in ("given", "optimised") for share in (1.0, 0.2, 0.0)
    ]
    assert all(row.distances.max() < 0.1 for row in rows if row.remembered)
    assert all(row.rows < 1 for row in rows)
    assert fits(capsys)


def test_rates_of_small_p_values(
    load,  # type: ignore[no-untyped-def]
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    calibration = load("ard_calibration")
    # Whether the rates are right takes more terms: test_fit_ard and the full run see to that.
    monkeypatch.setattr(calibration, "QUICK_TERMS", calibration.AT_A_TIME)
    rows = calibration.main(["--quick"])
    assert len(rows) == len(calibration.COLUMNS) * len(calibration.LEVELS)
    assert all(row.terms == calibration.AT_A_TIME for row in rows)
    assert np.mean([row.rate for row in rows]) < 0.2
    assert fits(capsys)


def test_cliffs_are_measured_and_converge(
    load,  # type: ignore[no-untyped-def]
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = load("cliffs").main(["--quick", "--only", "readme,medium", "--before", "none"])
    rows = [row for case in found.values() for row in case["now"]]
    assert len(rows) == 2
    assert all(row.converged and 0 < row.passes <= 25 for row in rows)
    assert fits(capsys)

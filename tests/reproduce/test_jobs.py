"""Jobs run side by side, are kept as they end, and are not done twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ardchoice.errors import ArdchoiceError
from ardchoice.reproduce.jobs import Job, JobCache, run_jobs, write

FAST = [Job("fitted_specification", {"name": name}) for name in ("R1", "R2")]


def test_results_are_kept_and_not_made_again(tmp_path: Path) -> None:
    kept, seen = JobCache(tmp_path, "1"), []
    first = run_jobs(FAST, kept, workers=2, progress=seen.append)
    assert [step.done for step in seen] == [0, 1, 2]
    assert seen[-1].of == 2
    assert set(first) == {job.key for job in FAST}
    again = run_jobs(FAST, kept, workers=2, progress=seen.append)
    assert again == json.loads(json.dumps(first))
    assert len(seen) == 3


def test_a_job_of_another_version_or_half_a_file_is_done_again(tmp_path: Path) -> None:
    job = FAST[0]
    JobCache(tmp_path, "1").put(job, {"loglik": 1.0})
    assert JobCache(tmp_path, "1").get(job) == {"loglik": 1.0}
    assert JobCache(tmp_path, "2").get(job) is None
    file = tmp_path / f"{job.key}.json"
    file.write_text(file.read_text(encoding="utf-8")[:-5], encoding="utf-8")
    assert JobCache(tmp_path, "1").get(job) is None


def test_jobs_that_differ_in_one_setting_have_different_keys() -> None:
    keys = {Job("held_out", {"seed": s, "by": b}).key for s in range(3) for b in ("a", "b")}
    assert len(keys) == 6


def test_a_job_that_fails_is_named_and_takes_no_other_with_it(tmp_path: Path) -> None:
    jobs = [Job("fitted_specification", {"name": "R99"}, 9.0), FAST[0]]
    with pytest.raises(ArdchoiceError, match=r"1 of 2 fits failed.*'R99'"):
        run_jobs(jobs, JobCache(tmp_path, "1"), workers=1)
    assert [p.stem for p in tmp_path.glob("*.json")] == [FAST[0].key]


def test_a_folder_that_cannot_be_written_is_reported_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "work").write_text("a file", encoding="utf-8")
    with pytest.raises(ArdchoiceError, match="Cannot write"):
        JobCache(tmp_path / "work", "1")


def test_nothing_half_written_is_left_where_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(ArdchoiceError, match="Cannot write"):
        write(tmp_path / "taken", "text")
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]

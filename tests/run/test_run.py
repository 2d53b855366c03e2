"""A run ends with a folder of results, goes on where it was broken off, and overwrites nothing."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.errors import ArdchoiceError
from ardchoice.progress import PHASES, Event
from ardchoice.report import figures
from ardchoice.run import fingerprint
from ardchoice.saved.checkpoint import differences as changes
from run.run_support import SAME, TOML, files, run, timeless, write_study
from saved.saved_support import ODD, differences


@pytest.fixture(scope="module", autouse=True)
def one_kind_of_picture() -> Iterator[None]:
    """Pictures take longer than all the rest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "FORMATS", ("svg",))
        yield


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ac.Study, list[Event]]:
    """A folder with a run that went through, its study, and what was heard of it."""
    base = tmp_path_factory.mktemp("whole")
    write_study(base)
    events: list[Event] = []
    return base, run(base, listener=events.append), events


@pytest.fixture
def again(done: tuple[Path, ac.Study, list[Event]], tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(done[0], tmp_path / "copy"))


# -- What is written -------------------------------------------------------------------------------


def test_everything_is_written_and_nothing_is_left_over(
    done: tuple[Path, ac.Study, list[Event]],
) -> None:
    base, study, events = done
    out = base / "out"
    assert {p.name for p in out.iterdir()} == {
        "report.html",
        "specification.txt",
        "estimates.csv",
        "relevance.csv",
        "tables",
        "figures",
        "exports",
        "study",
        "run.json",
    }
    assert {p.name for p in (out / "exports").iterdir()} == {"model_biogeme.py", "model.txt"}
    assert [e.phase for e in events] == sorted((e.phase for e in events), key=PHASES.index)
    assert {e.phase for e in events} == set(PHASES)
    said = json.loads((out / "run.json").read_text())
    assert sorted(said["files"]) == sorted(set(files(out)) - {"run.json"})
    assert differences(study, ac.load(out)) == []


def test_the_results_are_those_of_the_same_calls_in_python(
    done: tuple[Path, ac.Study, list[Event]],
) -> None:
    base, study, _ = done
    data = ac.read_wide(
        base / "trips.csv",
        alternatives=["A", "B", "C"],
        choice="PICK",
        attributes={"TT": "{alt}_TT", "CO": "{alt}_CO"},
        covariates=["G"],
        person="ID",
    )
    space = ac.SearchSpace(data, {"TT": ["linear", "log1p"]}, by=["G"], generic=True)
    expected = ac.specify(
        data,
        space,
        structure=ac.Structure(signs="recognised"),
        rule=ac.HeldOut(folds=2, weights=(0.5, 2.0)),
    )
    assert study.specification == expected.specification
    np.testing.assert_array_equal(study.result.coefficients, expected.result.coefficients)
    written = pd.read_csv(base / "out" / "estimates.csv", index_col="coefficient")
    pd.testing.assert_frame_equal(written, study.result.to_frame())
    relevance = pd.read_csv(base / "out" / "relevance.csv")
    assert relevance["term"].tolist() == study.fit.table()["term"].tolist()
    text = (base / "out" / "specification.txt").read_text()
    assert ac.parse_specification(text).terms == study.specification.terms
    assert study.evaluation is not None
    assert study.evaluation.comparisons is not None
    assert "by hand" in study.evaluation.comparisons["model"].tolist()


def test_names_that_are_odd_stay_names(tmp_path: Path) -> None:
    write_study(tmp_path)
    frame = pd.read_csv(tmp_path / "trips.csv")
    columns = {f"{a}_TT": f"=cmd {ODD} {a}" for a in "ABC"} | {"G": ODD}
    frame["G"] = frame["G"].map({"u": "=1+1", "v": ODD})
    frame.rename(columns=columns).to_csv(tmp_path / "trips.csv", index=False)
    name, level = json.dumps(ODD), json.dumps(f"=cmd {ODD} {{alt}}")
    (tmp_path / "study.toml").write_text(
        TOML.replace('TT = "{alt}_TT"', f"{name} = {level}")
        .replace('covariates = ["G"]', f'covariates = {{"=G" = {name}}}')
        .replace('transforms = {TT = ["linear", "log1p"]}', "")
        .replace('by = ["G"]', 'by = ["=G"]')
        .replace('rule = "held-out"', 'rule = "bic"')
        .replace("folds = 2\nweights = [0.5, 2.0]", "")
        .replace('compare = {"by hand" = "A: ASC + TT"}', "")
    )
    study = run(tmp_path)
    assert ODD in study.data.attributes
    assert differences(study, ac.load(tmp_path / "out")) == []
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<script>alert(1)" not in page
    for table in (tmp_path / "out").rglob("*.csv"):
        cells = pd.read_csv(table, dtype=str, header=None, keep_default_na=False).to_numpy()
        assert not any(c.startswith(("=", "@")) for c in cells.ravel()), table.name


# -- Broken off ------------------------------------------------------------------------------------


class Stop:
    """Breaks off at one event."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, event: Event) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def test_broken_off_it_goes_on_to_the_same_end(
    done: tuple[Path, ac.Study, list[Event]], tmp_path: Path
) -> None:
    base, expected, events = done
    shutil.copy(base / "trips.csv", tmp_path)
    shutil.copy(base / "study.toml", tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, listener=Stop(len(events) - 3))
    with pytest.raises(ArdchoiceError, match=r"interrupted.*--resume"):
        run(tmp_path)
    heard: list[Event] = []
    study = run(tmp_path, resume=True, listener=heard.append)
    assert differences(timeless(expected), timeless(_moved(study, base))) == []
    before, after = files(base / "out"), files(tmp_path / "out")
    assert {n: before[n] for n in SAME} == {n: after[n] for n in SAME}
    assert _whole(before) == _whole(after)


def _whole(found: dict[str, bytes]) -> set[str]:
    """Names; that of the arrays has their checksum in it, and times are among them."""
    return {n for n in found if not n.startswith("study/arrays-")}


def _moved(study: ac.Study, base: Path) -> ac.Study:
    """As if its table had been in another folder."""

    def moved(data: ac.ChoiceData) -> ac.ChoiceData:
        assert data.source is not None
        return replace(data, source=replace(data.source, path=str(base / "trips.csv")))

    data = moved(study.data)
    return replace(
        study,
        data=data,
        fit=replace(study.fit, data=data),
        result=replace(study.result, data=data),
    )


def test_a_run_that_is_done_is_not_done_again(again: Path) -> None:
    before, before_out = files(again), files(again / "out")
    heard: list[Event] = []
    study = run(again, resume=True, listener=heard.append)
    assert heard == []
    assert len(study.specification)
    assert files(again) == before
    (again / "out" / "report.html").unlink()
    run(again, resume=True)
    assert _whole(files(again / "out")) == _whole(before_out)


def test_two_runs_do_not_work_in_one_folder_at_once(again: Path) -> None:
    refused: list[str] = []

    def second(event: Event) -> None:
        if event.phase == "search" and not refused:
            for options in ({"resume": True}, {"force": True}):
                with pytest.raises(ArdchoiceError, match="Another run is at work") as error:
                    run(again, **options)
                refused.append(str(error.value))

    shutil.rmtree(again / "out")
    run(again, listener=second)
    assert len(refused) == 2
    assert not (again / "out" / "checkpoints").exists()
    # What a killed run leaves of it is in nobody's way.
    (again / "out" / "checkpoints").mkdir()
    (again / "out" / "checkpoints" / ".lock").touch()
    run(again, resume=True)
    assert not (again / "out" / "checkpoints").exists()


# -- What is not mixed -----------------------------------------------------------------------------


def other_data(base: Path) -> None:
    write_study(base, seed=2)


def other_settings(base: Path) -> None:
    (base / "study.toml").write_text(TOML.replace("weights = [0.5, 2.0]", "weights = [0.5]"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (other_data, "the table 'trips.csv' has changed"),
        (other_settings, "settings.selection.weights was [0.5, 2.0] and is [0.5]"),
    ],
)
@pytest.mark.parametrize("finished", [True, False])
def test_a_change_since_is_noticed(
    again: Path, change: Callable[[Path], None], said: str, finished: bool
) -> None:
    if not finished:
        shutil.rmtree(again / "out")
        with pytest.raises(KeyboardInterrupt):
            run(again, listener=Stop(12))
    before = files(again / "out")
    change(again)
    with pytest.raises(ArdchoiceError) as error:
        run(again, resume=True)
    assert said in str(error.value)
    assert "--force" in str(error.value)
    assert files(again / "out") == before


def test_a_change_in_a_table_of_many_files_is_noticed(tmp_path: Path) -> None:
    settings = write_study(tmp_path, TOML.replace('"trips.csv"', '"trips"'))
    (tmp_path / "trips").mkdir()
    for name in ("a.parquet", "b.parquet"):
        (tmp_path / "trips" / name).write_text(name)
    before = fingerprint(settings, tmp_path)
    (tmp_path / "trips" / ".cache").write_text("not of the table")
    assert fingerprint(settings, tmp_path) == before
    (tmp_path / "trips" / "b.parquet").write_text("other")
    (tmp_path / "trips" / "c.parquet").write_text("new")
    now = fingerprint(settings, tmp_path)
    found = changes(before, now)
    assert found[0] == "the table 'trips'.b.parquet has changed"
    assert found[1].startswith("the table 'trips'.c.parquet was None and is")
    assert len(found) == 2


# -- What is not overwritten -----------------------------------------------------------------------


def test_what_is_there_is_not_overwritten(again: Path, tmp_path: Path) -> None:
    before = files(again)
    with pytest.raises(ArdchoiceError, match=r"not empty.*--force"):
        run(again)
    with pytest.raises(ArdchoiceError, match="give one of the two"):
        run(again, resume=True, force=True)
    assert files(again) == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    for options in ({}, {"resume": True}):
        with pytest.raises(ArdchoiceError, match="not empty"):
            run(again, "../mine", **options)
    with pytest.raises(ArdchoiceError, match="is a file"):
        run(again, "../mine/thesis.txt", force=True)
    assert files(tmp_path / "mine") == {"thesis.txt": b"mine"}


def test_forced_results_replace_ours_and_spare_others(again: Path) -> None:
    (again / "out" / "tables" / "mine.csv").write_text("mine")
    (again / "out" / "notes.txt").write_text("mine")
    other_settings(again)
    text = (again / "study.toml").read_text()
    text = text.replace('"biogeme", ', "").replace("stability_pairs = 1", "")
    (again / "study.toml").write_text(text)
    run(again, force=True)
    names = set(files(again / "out"))
    assert {"tables/mine.csv", "notes.txt", "exports/model.txt"} <= names
    assert not {"exports/model_biogeme.py", "tables/stability.csv", "figures/stability.svg"} & names
    assert not any(name.startswith("checkpoints") for name in names)
    assert len([name for name in names if name.startswith("study/")]) == 2


def test_old_results_stay_until_there_are_new_ones(again: Path) -> None:
    before = files(again / "out")
    with pytest.raises(KeyboardInterrupt):
        run(again, force=True, listener=Stop(12))
    after = files(again / "out")
    assert {name for name in before if after[name] != before[name]} == {"run.json"}
    with pytest.raises(ArdchoiceError, match="interrupted"):
        run(again)
    events: list[Event] = []
    run(again, resume=True, listener=events.append)
    assert "report" in {event.phase for event in events}


def test_what_is_wrong_with_new_settings_costs_no_old_results(again: Path) -> None:
    before = files(again / "out")
    (again / "study.toml").write_text(TOML.replace('covariates = ["G"]', 'covariates = ["GG"]'))
    with pytest.raises(ArdchoiceError, match="GG"):
        run(again, force=True)
    (again / "study.toml").write_text(TOML)
    assert files(again / "out") == before
    (again / "out" / "run.json").write_text('{"state": "finished", "files": 7, "made_from": []}')
    with pytest.raises(ArdchoiceError, match="made from something else"):
        run(again, resume=True)


def test_a_table_that_is_missing_is_said(tmp_path: Path) -> None:
    write_study(tmp_path)
    (tmp_path / "trips.csv").unlink()
    with pytest.raises(ArdchoiceError, match=r"trips\.csv"):
        run(tmp_path)

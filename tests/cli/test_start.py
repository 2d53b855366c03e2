"""From a table to a study file, untouched to a report."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import click
import pytest
from cli_support import (
    command,
    german,
    installed,
    lines_of,
    mode_choice,
    parquet,
    swissmetro_raw,
    unlabelled,
)
from click.testing import CliRunner

import ardchoice as ac
from ardchoice.cli.app import cli
from ardchoice.cli.console import Console
from ardchoice.cli.run import print_report_path
from ardchoice.cli.start import doubts
from ardchoice.settings import read_settings
from tests_support import small_data

WIDTH = 80
FILES = ("report.html", "specification.txt", "estimates.csv", "relevance.csv")


@pytest.mark.parametrize("table", [swissmetro_raw, mode_choice, parquet, unlabelled])
def test_init_check_run_untouched_end_with_a_report(
    table: Callable[[Path], Path], tmp_path: Path
) -> None:
    path, study = table(tmp_path), tmp_path / "study.toml"
    assert command("init", path, "--out", study).stdout.strip() == str(study)
    told = command("check", study).stdout
    assert "how long it may take" in told
    assert max(map(len, told.splitlines())) <= WIDTH
    open_guesses = table is swissmetro_raw
    if open_guesses:  # nothing says which code is which mode
        refused = command("run", study, "--quiet", code=3).stderr
        assert "data.alternatives: is a guess" in refused
        assert "line 2" in refused
        assert "To be confirmed before a run: data.alternatives" in " ".join(told.split())
    accepted = ["--accept-guesses"] if open_guesses else []
    done = command("run", study, "--quiet", *accepted)
    # What the data have that is worth knowing is no progress.
    assert all(line.startswith("ardchoice: note:") for line in lines_of(done.stderr))
    printed = done.stdout
    assert lines_of(printed)[-1] == str(tmp_path / "results" / "report.html")
    assert max(map(len, lines_of(printed)[:-1])) <= WIDTH
    for name in FILES:
        assert (tmp_path / "results" / name).stat().st_size > 0
    kept = ac.load(tmp_path / "results")
    assert kept.fit.converged
    assert len(kept.specification)


def test_the_installed_command_does_it_with_semicolons_and_decimal_commas(tmp_path: Path) -> None:
    table = german(tmp_path)
    done = installed("init", table.name, cwd=tmp_path)
    assert done.stdout.strip() == "study.toml"
    assert "ardchoice check study.toml" in done.stderr
    assert "wege.csv" in (tmp_path / "study.toml").read_text(encoding="utf-8")
    done = installed("run", "study.toml", "--json", cwd=tmp_path)
    result = json.loads(done.stdout)
    assert (tmp_path / result["report"]).is_file()
    assert result["converged"]
    events = [json.loads(line) for line in done.stderr.splitlines()]
    phases = [e["phase"] for e in events if e["event"] == "progress"]
    wanted = ["read", "relevance", "search", "estimate", "evaluate", "report"]
    assert list(dict.fromkeys(phases)) == wanted


@pytest.mark.parametrize(
    ("solver", "code"), [(ac.Dsvi(max_epochs=2), 4), (ac.Newton(), 0)], ids=["hurried", "usual"]
)
def test_what_did_not_converge_ends_with_four_after_all_is_written(
    solver: ac.Newton | ac.Dsvi, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    data = small_data()
    study = ac.specify(data, ac.SearchSpace(data), solver=solver, rule=ac.LambdaAbove())
    with pytest.raises(click.exceptions.Exit) if code else nullcontext() as caught:
        print_report_path(Console(), study, Path("results"))
    out, err = capsys.readouterr()
    assert out == f"{Path('results') / 'report.html'}\n"
    assert ("Relevance did not converge" in err) == bool(code)
    assert caught is None or caught.value.exit_code == code


def test_quiet_and_json_exclude_one_another(tmp_path: Path) -> None:
    said = command("run", tmp_path / "study.toml", "--quiet", "--json", code=2).stderr
    assert "exclude one another" in said


def test_a_study_file_is_not_overwritten_and_its_table_is_found_from_it(tmp_path: Path) -> None:
    table = german(tmp_path)
    (tmp_path / "studies").mkdir()
    study = tmp_path / "studies" / "study.toml"
    command("init", table, "--out", study)
    before = study.read_bytes()
    assert "--force" in command("init", table, "--out", study, code=3).stderr
    assert study.read_bytes() == before
    command("init", table, "--out", study, "--force")
    assert read_settings(study).data.table == "../wege.csv"
    command("check", study)


def test_the_example_is_a_study_file(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    command("init", "--example", "--out", study)
    read_settings(study)
    assert command("init", "--example", "--out", "-").stdout == study.read_text(encoding="utf-8")
    assert "Name a table" in command("init", code=2).stderr
    assert "Name a table" in command("init", "a.csv", "--example", code=2).stderr


def test_asked_it_takes_answers_for_guesses(tmp_path: Path) -> None:
    table, study = german(tmp_path), tmp_path / "study.toml"
    words = ["init", str(table), "--out", str(study), "--ask"]
    # The layout as guessed, then a choice that is no column, then one that is; the rest as guessed.
    done = CliRunner().invoke(cli, words, input="\nWal\nWahl\n" + "\n" * 10)
    assert done.exit_code == 0, done.output
    assert "Did you mean 'Wahl'" in done.stderr
    assert done.stdout.strip() == str(study)
    assert read_settings(study).data.choice == "Wahl"
    # A person who says no.
    done = CliRunner().invoke(cli, [*words, "--force"], input="\n\n\n-\n" + "\n" * 10)
    assert done.exit_code == 0, done.output
    assert read_settings(study).data.person is None


def test_nobody_to_ask_is_an_interruption(tmp_path: Path) -> None:
    words = ["init", str(german(tmp_path)), "--out", str(tmp_path / "study.toml"), "--ask"]
    done = CliRunner().invoke(cli, words, input="\n")
    assert done.exit_code == 130
    assert not (tmp_path / "study.toml").exists()


def test_what_the_file_asks_to_be_looked_at_is_told(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    done = command("init", swissmetro_raw(tmp_path), "--out", study)
    asked = doubts(study.read_text(encoding="utf-8"))
    assert asked
    for doubt in asked:
        assert f"ardchoice: note: {doubt}\n" in done.stderr
    assert doubts("[data]\n# ! not at the top") == []


def test_a_table_that_is_not_there_is_told_before_a_study_file_that_is(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text("")
    told = command("init", tmp_path / "no.csv", "--out", tmp_path / "study.toml", code=None)
    assert told.exit_code
    assert "There is no file" in told.stderr
    assert "no.csv" in told.stderr


def test_tables_and_studies_that_are_not_there_are_told(tmp_path: Path) -> None:
    assert "no-such.csv" in command("init", tmp_path / "no-such.csv", code=3).stderr
    for word in ("check", "run"):
        assert "no-such.toml" in command(word, tmp_path / "no-such.toml", code=3).stderr

"""The demo: from data to report by the same way as everybody's study."""

import re
from pathlib import Path

import numpy as np
from cli_support import command, lines_of

import ardchoice as ac
from ardchoice.cli.demo import (
    DEMO_SETTINGS,
    MIXED_SETTINGS,
    TASTES_TOO,
    must_be_ours,
    prepared,
)
from ardchoice.settings import parse_settings

WIDTH = 80
README = Path(__file__).parents[2] / "README.md"
TUTORIAL = README.parent / "docs" / "tutorial.md"
README_PART = re.compile(r"^```text\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_it_shows_what_was_found_and_ends_with_the_path_of_a_report(tmp_path: Path) -> None:
    folder = tmp_path / "ardchoice-demo"
    printed = command("demo", "--out", folder).stdout
    last = lines_of(printed)[-1]
    assert last == str(folder / "results" / "report.html")
    assert "log1p" in Path(last).read_text(encoding="utf-8")
    assert "15,433.3" in printed  # the published R6 on the same coding, for comparison
    assert "Value of travel time (positive: for an hour saved)" in printed
    # That holders of a season ticket pay nothing for a trip is said wherever one may look.
    for text in (printed, DEMO_SETTINGS, TUTORIAL.read_text(encoding="utf-8")):
        assert "pay nothing for a trip" in " ".join(text.replace("#", " ").split())
    assert max(map(len, lines_of(printed)[:-1])) <= WIDTH
    # README shows a part of it.
    for line in README_PART.search(README.read_text(encoding="utf-8"))[1].splitlines():  # type: ignore[index]
        assert line in printed
    # It is a study like any other.
    again = command("run", folder / "study.toml", "--resume")
    assert "15,305.4" in again.stdout
    assert "finished before: there was nothing to do" in again.stderr


def test_terms_and_tastes_are_one_option_away(tmp_path: Path) -> None:
    assert (
        parse_settings(DEMO_SETTINGS % "TRAIN: ASC" + MIXED_SETTINGS).model.make_family()
        == ac.Mixed()
    )
    for line in TASTES_TOO.splitlines():
        assert len(line) <= WIDTH
    shown = command("demo", "--help").stdout
    assert "--mixed" in shown
    assert "--mixed" in TASTES_TOO


def test_its_table_holds_the_published_data(tmp_path: Path) -> None:
    prepared().to_csv(tmp_path / "swissmetro.csv", index=False)
    ours = parse_settings(DEMO_SETTINGS % "TRAIN: ASC").read_choices(tmp_path)
    theirs = ac.datasets.swissmetro_choices("real")
    assert (ours.available == theirs.available).all()
    assert (ours.chosen() == theirs.chosen()).all()
    # But for the cost of a trip of those who hold a season ticket.
    ticket = ours.covariates["GA"]
    holds = ticket.values == (ticket.levels or ()).index("yes")
    for j, name in enumerate(("TRAIN", "SM", "CAR")):
        costs, theirs_costs = (d.attributes["CO"].values[j] for d in (ours, theirs))
        paid = holds & (name != "CAR")
        assert np.array_equal(costs, np.where(paid, 0.0, theirs_costs), equal_nan=True)
    for name in ("TT", "HE"):
        assert np.array_equal(
            ours.attributes[name].values, theirs.attributes[name].values, equal_nan=True
        )
    for name in ("GA", "AGE", "PURPOSE"):
        assert (ours.covariates[name].values == theirs.covariates[name].values).all()


def test_an_earlier_demo_is_overwritten_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "ardchoice-demo"
    folder.mkdir()
    must_be_ours(folder, DEMO_SETTINGS, force=False)
    study = folder / "study.toml"
    study.write_text(DEMO_SETTINGS, encoding="utf-8")
    (folder / "swissmetro.csv").write_text("", encoding="utf-8")
    must_be_ours(folder, DEMO_SETTINGS, force=False)
    study.write_text(DEMO_SETTINGS + "# mine\n", encoding="utf-8")
    assert "has been changed" in command("demo", "--out", folder, code=3).stderr
    assert study.read_text(encoding="utf-8").endswith("# mine\n")
    (folder / "swissmetro.csv").unlink()
    assert "no demo" in command("demo", "--out", folder, code=3).stderr
    assert [p.name for p in folder.iterdir()] == ["study.toml"]


def test_the_raw_table_can_be_had(tmp_path: Path) -> None:
    out = tmp_path / "swissmetro.csv"
    assert command("demo", "--raw", out).stdout.strip() == str(out)
    assert len(out.read_text().splitlines()) == 1 + 10_728
    assert "--force" in command("demo", "--raw", out, code=3).stderr

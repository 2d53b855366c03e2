"""A small study file, and what two runs of it must have in common."""

from dataclasses import replace
from pathlib import Path

import ardchoice as ac
from ardchoice.run import run_study
from ardchoice.settings import StudySettings, read_settings
from selection.selection_support import table, usual

TOML = """
[data]
table = "trips.csv"
alternatives = ["A", "B", "C"]
choice = "PICK"
person = "ID"
attributes = {TT = "{alt}_TT", CO = "{alt}_CO"}
covariates = ["G"]

[space]
transforms = {TT = ["linear", "log1p"]}
by = ["G"]

[selection]
rule = "held-out"
folds = 2
weights = [0.5, 2.0]

[output]
folds = 2
stability_pairs = 1
exports = ["biogeme", "text"]
compare = {"by hand" = "A: ASC + TT"}
"""


def write_study(folder: Path, toml: str = TOML, n: int = 240, seed: int = 1) -> StudySettings:
    """A table and a study file in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    table(n, seed, usual).to_csv(folder / "trips.csv", index=False)
    (folder / "study.toml").write_text(toml)
    return read_settings(folder / "study.toml")


def run(base: Path, out: str = "out", **options: object) -> ac.Study:
    settings = read_settings(base / "study.toml")
    return run_study(settings, base / out, base=base, **options)  # type: ignore[arg-type]


def timeless(study: ac.Study) -> ac.Study:
    """Without what no two runs share."""
    trace = tuple(replace(step, seconds=0.0) for step in study.fit.trace)
    return replace(study, seconds=0.0, fit=replace(study.fit, seconds=0.0, trace=trace))


def files(folder: Path) -> dict[str, bytes]:
    """Relative name -> content."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


SAME = ["specification.txt", "estimates.csv", "relevance.csv", "tables/path.csv"]
"""Files without a word on time."""

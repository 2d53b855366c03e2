"""`ardchoice demo`: the whole job on the Swissmetro data that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

import ardchoice as ac
from ardchoice.cli.console import Console
from ardchoice.cli.places import command_line, new_file, new_folder, write_or_print
from ardchoice.cli.run import print_report_path
from ardchoice.errors import ArdchoiceError
from ardchoice.files import write

if TYPE_CHECKING:
    import pandas as pd

TABLE_FILE, STUDY_FILE, RESULTS_FOLDER = "swissmetro.csv", "study.toml", "results"
MODE_NAMES = {1: "TRAIN", 2: "SM", 3: "CAR"}
LEVEL_NAMES = {
    "GA": {0: "no", 1: "yes"},
    "AGE": {1: "to 24", 2: "25 to 39", 3: "40 to 54", 4: "55 to 65", 5: "over 65"},
    "PURPOSE": dict.fromkeys((1, 3, 5, 7), "work")
    | dict.fromkeys((2, 6), "shopping")
    | dict.fromkeys((4, 8), "leisure"),
}
BEST_PUBLISHED = "R6, the best published"
SEASON_TICKET_COST = """\
Holders of a season ticket (GA) pay nothing for a trip by TRAIN or SM: here
their cost is zero, not the price of the ticket, which the survey recorded."""

DEMO_SETTINGS = """\
# Written by ardchoice demo. Change what you like, then: ardchoice run study.toml --force

[data]
table = "swissmetro.csv"            # nine answers of each of 1,188 travellers
alternatives = ["TRAIN", "SM", "CAR"]   # SM is the Swissmetro, a train that was only planned
choice = "CHOICE"
availability = "{alt}_AV"
person = "ID"

[data.attributes]
TT = "{alt}_TT"                     # travel time, hours
CO = "{alt}_CO"                     # cost, hundreds of francs
# Holders of a season ticket (GA) pay nothing for a trip by TRAIN or SM: their cost is zero here,
# not the price of the ticket, which the survey recorded and the paper used.
HE = {TRAIN = "TRAIN_HE", SM = "SM_HE"}   # headway, hours

[data.covariates]                   # the last level is the reference
GA = {levels = ["no", "yes"]}       # season ticket
AGE = {levels = ["to 24", "25 to 39", "40 to 54", "55 to 65", "over 65"]}
PURPOSE = {levels = ["work", "shopping", "leisure"]}

[space]                             # what could matter
transforms = ["linear", "log1p"]
by = ["GA", "AGE", "PURPOSE"]
base = "CAR"

[structure.signs]                   # utility must not increase with time or cost
TT = "-"
CO = "-"

[output]
folder = "results"
search_in_folds = true              # search again in each fold, without held-out persons
exports = ["biogeme", "pylogit", "xlogit", "apollo", "text", "latex"]

[scenarios]                         # what would happen if
"trains 20%% slower" = {changes = ["TRAIN: TT * 1.2"], by = ["PURPOSE"]}
"Swissmetro 20%% cheaper" = "SM: CO * 0.8"

[output.compare]
# Without its terms CO x GA of TRAIN and SM: where season tickets cost nothing, they equal CO.
"R6, the best published" = '''
%s
'''
"""

MIXED_SETTINGS = """
[model]                             # which differences between persons are explained by what we
family = "mixed"                    # know of them, and which are not
"""
TASTES_TOO = """\
Travellers differ beyond what these terms say. Which terms and which tastes, one
given the other: ardchoice demo --mixed --out ardchoice-demo-mixed"""


@click.command(short_help="The whole job on the Swissmetro data.")
@click.option("--out", type=new_folder, default="ardchoice-demo", show_default=True)
@click.option("--raw", type=new_file, help="Only write the raw table to this CSV, to try init on.")
@click.option("--mixed", is_flag=True, help="Decide terms and tastes together (mixed logit).")
@click.option("--force", is_flag=True, help="Overwrite a demo that was changed.")
@click.pass_obj
def demo(console: Console, out: Path, raw: Path | None, mixed: bool, force: bool) -> None:
    """Do the whole job on the Swissmetro data: train, the planned Swissmetro, or car.

    Writes a table and a study file of its own, and runs it as `ardchoice run` would.

    \b
    Examples:
      ardchoice demo
      ardchoice demo --out elsewhere
      ardchoice demo --mixed --out ardchoice-demo-mixed
      ardchoice demo --raw swissmetro.csv
    """  # noqa: D301 - click reads the backspace
    from ardchoice.progress import show_progress
    from ardchoice.run import run_study
    from ardchoice.settings import read_settings

    if raw is not None:
        write_or_print(raw, ac.datasets.swissmetro().to_csv(index=False), force)
        return
    settings = DEMO_SETTINGS % best_published() + (MIXED_SETTINGS if mixed else "")
    must_be_ours(out, settings, force)
    write(out / TABLE_FILE, prepared().to_csv(index=False))
    write(out / STUDY_FILE, settings)
    console.resume_command = command_line("run", out / STUDY_FILE, "--resume")
    with show_progress() as listener:
        study = run_study(
            read_settings(out / STUDY_FILE),
            out / RESULTS_FOLDER,
            base=out,
            force=True,
            listener=listener,
            command=command_line("run", out / STUDY_FILE),
        )
    parts = [str(study), _beside_published(study), _value_of_time(study)]
    if not mixed:
        parts.append(TASTES_TOO)
    console.echo("\n\n".join(parts) + "\n")
    print_report_path(console, study, out / RESULTS_FOLDER)


def best_published() -> str:
    """R6 on the coding of the demo: without what season tickets at no cost leave unidentified."""
    published = ac.parse_specification(ac.datasets.swissmetro_specification("R6"))
    kept = [t for t in published.terms if not (t.what == "CO" and "GA" in t.by)]
    return ac.Specification(tuple(kept)).to_text()


def must_be_ours(out: Path, settings: str, force: bool) -> None:
    """Refuse to overwrite a folder that is not an unchanged earlier demo."""
    if not out.exists() or force or not any(out.iterdir()):
        return
    study = out / STUDY_FILE
    if study.is_file() and study.read_text(encoding="utf-8", errors="replace") == settings:
        return
    if study.is_file() and (out / TABLE_FILE).is_file():
        raise ArdchoiceError(
            f"'{study}' has been changed since the demo wrote it. Run it with\n"
            f"  {command_line('run', study, '--force')}\n"
            "or overwrite it with --force, or write elsewhere with --out."
        )
    raise ArdchoiceError(
        f"'{out}' exists already and is no demo. Choose another folder with --out."
    )


def prepared() -> pd.DataFrame:
    """The rows and units of Rodrigues et al., levels in words, season tickets without cost."""
    import pandas as pd

    raw = ac.datasets.swissmetro()
    raw = raw[(raw["CHOICE"] != 0) & (raw["AGE"] != 6) & (raw["PURPOSE"] != 9)]
    table = pd.DataFrame({"ID": raw["ID"], "CHOICE": raw["CHOICE"].map(MODE_NAMES)})
    for mode in MODE_NAMES.values():
        table[f"{mode}_AV"] = raw[f"{mode}_AV"]
        table[f"{mode}_TT"] = raw[f"{mode}_TT"] / 60
        pays = 1 if mode == "CAR" else raw["GA"] == 0
        table[f"{mode}_CO"] = raw[f"{mode}_CO"] * 0.01 * pays
        if mode != "CAR":
            table[f"{mode}_HE"] = raw[f"{mode}_HE"] / 60
    return table.assign(**{name: raw[name].map(names) for name, names in LEVEL_NAMES.items()})


def _beside_published(study: ac.Study) -> str:
    evaluation = study.evaluation
    if evaluation is None or evaluation.comparisons is None:
        return ""
    bic = evaluation.comparisons.set_index("model")["bic"][BEST_PUBLISHED]
    published = f"{BEST_PUBLISHED} specification of these data: {bic:,.1f}"
    return f"BIC {study.result.bic:,.1f}; {published}"


def _value_of_time(study: ac.Study) -> str:
    """TT is in hours and CO in hundreds of francs."""
    wtp = study.result.wtp("TT", "CO", by=[]).set_index("alternative")
    francs = (wtp[["estimate", "std_err"]] * 100).round(1)
    return (
        "Value of travel time (positive: for an hour saved), francs\n"
        f"{francs.to_string(index_names=False)}\n{SEASON_TICKET_COST}"
    )

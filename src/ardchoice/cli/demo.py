"""`ardchoice demo`: the whole job on the Swissmetro data that come with the package."""

from __future__ import annotations

from pathlib import Path

import click
import pandas as pd

import ardchoice as ac
from ardchoice.cli.console import Console, say
from ardchoice.cli.places import command_line, new_file, new_folder, write_or_print
from ardchoice.cli.run import end_of
from ardchoice.errors import ArdchoiceError
from ardchoice.files import write
from ardchoice.progress import listening
from ardchoice.run import run_study
from ardchoice.settings import read_settings

TABLE, STUDY, RESULTS = "swissmetro.csv", "study.toml", "results"
MODES = {1: "TRAIN", 2: "SM", 3: "CAR"}
SEASON_TICKET = {0: "no", 1: "yes"}
AGES = {1: "to 24", 2: "25 to 39", 3: "40 to 54", 4: "55 to 65", 5: "over 65"}
PURPOSES = {1: "work", 3: "work", 5: "work", 7: "work", 2: "shopping", 6: "shopping"} | {
    4: "leisure",
    8: "leisure",
}
R6 = "R6, the best published"
AS_RECORDED = """\
Costs are as recorded, as in the paper: holders of a season ticket (GA) have its
price, about 3,000 francs, as the cost of a trip, so theirs would mean nothing."""

SETTINGS = """\
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
# Costs are as recorded, as in the paper: holders of a season ticket (GA) have its price, about
# 3,000 francs, as the cost of a trip by TRAIN or SM, so that their values of time mean nothing.
HE = {TRAIN = "TRAIN_HE", SM = "SM_HE"}   # headway, hours

[data.covariates]                   # the last level is the reference
GA = {levels = ["no", "yes"]}       # season ticket
AGE = {levels = ["to 24", "25 to 39", "40 to 54", "55 to 65", "over 65"]}
PURPOSE = {levels = ["work", "shopping", "leisure"]}

[space]                             # what could matter
transforms = ["linear", "log1p"]
by = ["GA", "AGE", "PURPOSE"]
base = "CAR"

[structure.signs]                   # nobody likes to travel longer or to pay more
TT = "-"
CO = "-"

[output]
folder = "results"
search_in_folds = true              # persons left out have no say in the terms either
exports = ["biogeme", "pylogit", "xlogit", "apollo", "text", "latex"]

[output.compare]
"R6, the best published" = '''
%s
'''
"""


@click.command(short_help="The whole job on the Swissmetro data.")
@click.option("--out", type=new_folder, default="ardchoice-demo", show_default=True)
@click.option("--raw", type=new_file, help="Only write the raw table to this CSV, to try init on.")
@click.option("--force", is_flag=True, help="Begin anew in a folder that is no demo any more.")
@click.pass_obj
def demo(voice: Console, out: Path, raw: Path | None, force: bool) -> None:
    """Do the whole job on the Swissmetro data: train, the planned Swissmetro, or car.

    Writes a table and a study file of its own, and runs it as `ardchoice run` would.

    \b
    Examples:
      ardchoice demo
      ardchoice demo --out elsewhere
      ardchoice demo --raw swissmetro.csv
    """  # noqa: D301 - click reads the backspace
    if raw is not None:
        write_or_print(raw, ac.datasets.swissmetro().to_csv(index=False), force)
        return
    settings = SETTINGS % ac.datasets.swissmetro_specification("R6")
    must_be_ours(out, settings, force)
    write(out / TABLE, prepared().to_csv(index=False))
    write(out / STUDY, settings)
    voice.resume = command_line("run", out / STUDY, "--resume")
    with listening("auto") as listener:
        study = run_study(
            read_settings(out / STUDY),
            out / RESULTS,
            base=out,
            force=True,
            listener=listener,
            command=command_line("run", out / STUDY),
        )
    say(f"{study}\n\n{_beside_published(study)}\n\n{_value_of_time(study)}\n")
    end_of(voice, study, out / RESULTS)


def must_be_ours(out: Path, settings: str, force: bool) -> None:
    """A folder that is there is overwritten only if it is an earlier demo as it was written."""
    if not out.exists() or force or not any(out.iterdir()):
        return
    study = out / STUDY
    if study.is_file() and study.read_text(encoding="utf-8", errors="replace") == settings:
        return
    if study.is_file() and (out / TABLE).is_file():
        raise ArdchoiceError(
            f"'{study}' has been changed since the demo wrote it. Run it with\n"
            f"  {command_line('run', study, '--force')}\n"
            "or begin anew with --force, or elsewhere with --out."
        )
    raise ArdchoiceError(
        f"'{out}' is there already and is no demo. --out says where to write instead."
    )


def prepared() -> pd.DataFrame:
    """The rows and units of Rodrigues et al., levels in words."""
    raw = ac.datasets.swissmetro()
    raw = raw[(raw["CHOICE"] != 0) & (raw["AGE"] != 6) & (raw["PURPOSE"] != 9)]
    table = pd.DataFrame({"ID": raw["ID"], "CHOICE": raw["CHOICE"].map(MODES)})
    for mode in MODES.values():
        table[f"{mode}_AV"] = raw[f"{mode}_AV"]
        table[f"{mode}_TT"] = raw[f"{mode}_TT"] / 60
        table[f"{mode}_CO"] = raw[f"{mode}_CO"] * 0.01
        if mode != "CAR":
            table[f"{mode}_HE"] = raw[f"{mode}_HE"] / 60
    words = {"GA": SEASON_TICKET, "AGE": AGES, "PURPOSE": PURPOSES}
    return table.assign(**{name: raw[name].map(levels) for name, levels in words.items()})


def _beside_published(study: ac.Study) -> str:
    evaluation = study.evaluation
    if evaluation is None or evaluation.comparisons is None:
        return ""
    bic = evaluation.comparisons.set_index("model")["bic"]
    return f"BIC {study.result.bic:,.1f}; {R6} specification of these data: {bic[R6]:,.1f}"


def _value_of_time(study: ac.Study) -> str:
    """Of those who pay by the trip; TT is in hours and CO in hundreds of francs."""
    ticket = study.data.covariates["GA"]
    paying = study.data.take(ticket.values == (ticket.levels or ()).index("no"))
    worth = study.result.wtp("TT", "CO", by=[], data=paying).set_index("alternative")
    francs = (worth[["estimate", "std_err"]] * 100).round(1)
    return (
        "Value of time without a season ticket, francs an hour\n"
        f"{francs.to_string(index_names=False)}\n{AS_RECORDED}"
    )

"""`ardchoice predict`, `export` and `report`: what can be done with a saved study."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import click
import numpy as np
import pandas as pd

import ardchoice as ac
from ardchoice.cli.places import STDOUT, force_option, must_be_free, new_file, write_or_print
from ardchoice.errors import ArdchoiceError
from ardchoice.export import FILE_NAMES, PACKAGES, SCRIPTS, companions, write_latex, write_text
from ardchoice.progress import PhaseProgress, listening
from ardchoice.report import strip_control_characters

DIGITS = 10
"""Of probabilities: more than any use of them needs."""

READABLE = {"text": write_text, "latex": write_latex}
"""What can be printed: scripts say where the table is, seen from where they stand."""

study_argument = click.argument("study", type=click.Path(path_type=Path))


@click.command(short_help="Probabilities of other choice situations.")
@study_argument
@click.argument("table", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--out", type=new_file, default=STDOUT, help="A CSV file; printed unless told.")
@force_option
def predict(study: Path, table: Path, out: Path, force: bool) -> None:
    """Probabilities of the choice situations in TABLE, by a saved STUDY.

    STUDY is the folder that `ardchoice run` wrote. TABLE has the columns that the study's own table
    has, as far as its model uses them; what was chosen need not be in it. Every row comes out, with
    empty cells and a note where it cannot be predicted.

    \b
    Examples:
      ardchoice predict results new.csv
      ardchoice predict results new.parquet --out probabilities.csv
    """  # noqa: D301 - click reads the backspace
    if str(out) != STDOUT:
        if out.exists() and table.exists() and out.samefile(table):
            raise ArdchoiceError(f"'{out}' is the table itself; --out says where to write instead.")
        must_be_free(out, force)
    write_or_print(out, probabilities(ac.load(study), table), force)


def probabilities(study: ac.Study, table: Path) -> str:
    """As CSV: the id of the situation, or the number of its row, and a column per alternative."""
    found = study.predict(table)
    source = study.data.source
    ids = source.situation if source is not None and source.situation else "row"
    ids = ids if isinstance(ids, str) else " / ".join(ids)
    return _csv(ids, found.index.tolist(), found)


def _csv(ids: str, first: list[object], frame: pd.DataFrame) -> str:
    buffer = io.StringIO()
    lines = csv.writer(buffer, lineterminator="\n")
    lines.writerow([strip_control_characters(str(name)) for name in (ids, *frame.columns)])
    for which, row in zip(first, frame.to_numpy(), strict=True):
        shown = strip_control_characters(which) if isinstance(which, str) else which
        lines.writerow([shown, *("" if np.isnan(p) else f"{p:.{DIGITS}g}" for p in row)])
    return buffer.getvalue()


@click.command(short_help="The model as a script for another package.")
@study_argument
@click.argument("package", type=click.Choice(PACKAGES))
@click.option("--out", type=new_file, help="A file; named after PACKAGE if left.")
@force_option
def export(study: Path, package: str, out: Path | None, force: bool) -> None:
    """Write the model of a saved STUDY for another PACKAGE.

    A script reads your table, makes the transforms, estimates, and says which log-likelihood to
    expect. `text` and `latex` are the utility functions; --out - prints these.

    \b
    Examples:
      ardchoice export results biogeme
      ardchoice export results apollo --out model.R
      ardchoice export results text --out -
    """  # noqa: D301 - click reads the backspace
    out = Path(FILE_NAMES[package]) if out is None else out
    if str(out) != STDOUT:
        for path in (out, *companions(out)) if package in SCRIPTS else (out,):
            must_be_free(path, force)
        click.echo(ac.load(study).export(package, out))
        return
    if package not in READABLE:
        raise click.UsageError("A script is written to a file: it says where the table is.")
    click.echo(READABLE[package](ac.load(study).result))


@click.command(short_help="The report of a saved study.")
@study_argument
@click.option("--out", type=new_file, default="report.html", show_default=True)
@force_option
def report(study: Path, out: Path, force: bool) -> None:
    """Write the report of a saved STUDY: one HTML file that needs nothing else.

    \b
    Examples:
      ardchoice report results
      ardchoice report results --out talk.html
    """  # noqa: D301 - click reads the backspace
    if str(out) == STDOUT:
        raise click.UsageError("A report is written to a file.")
    must_be_free(out, force)
    with listening("auto") as listener:
        PhaseProgress("report", listener)(0, 0, str(out))
        ac.load(study).report(out)
    click.echo(out)

"""`ardchoice predict`, `export` and `report`: what can be done with a saved study."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import click

import ardchoice as ac
from ardchoice.cli.places import (
    STANDARD_OUTPUT,
    force_option,
    is_standard_output,
    must_be_free,
    new_file,
    write_or_print,
)
from ardchoice.errors import ArdchoiceError
from ardchoice.formats import FORMATS

PROBABILITY_DIGITS = 10
"""Significant digits: more than any use of probabilities needs."""

study_argument = click.argument("study", type=click.Path(path_type=Path))


@click.command(short_help="Probabilities of other choice situations.")
@study_argument
@click.argument("table", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--out", type=new_file, default=STANDARD_OUTPUT, help="A CSV file. Default: printed.")
@force_option
def predict(study: Path, table: Path, out: Path, force: bool) -> None:
    """Probabilities of the choice situations in TABLE, by a saved STUDY.

    STUDY is the folder that `ardchoice run` wrote, or one of a model saved from Python. TABLE has
    the columns that the study's own table has, as far as its model uses them; what was chosen need
    not be in it. Every row comes out, with empty cells and a note where it cannot be predicted.

    \b
    Examples:
      ardchoice predict results new.csv
      ardchoice predict results new.parquet --out probabilities.csv
    """  # noqa: D301 - click reads the backspace
    if not is_standard_output(out):
        if out.exists() and table.exists() and out.samefile(table):
            raise ArdchoiceError(f"'{out}' is the table itself; choose another place with --out.")
        must_be_free(out, force)
    write_or_print(out, probabilities(saved_result(study), table), force)


def saved_result(folder: Path) -> ac.Result:
    """The model of a saved study, or a saved model."""
    found = ac.load(folder)
    return found if isinstance(found, ac.Result) else found.result


def probabilities(result: ac.Result, table: Path) -> str:
    """As CSV: the id of the situation, or the number of its row, and a column per alternative."""
    from ardchoice.estimation import predict_table
    from ardchoice.report import strip_control_characters

    found, source = predict_table(result, result.data, table), result.data.source
    ids = source.situation if source is not None and source.situation else "row"
    head = [ids if isinstance(ids, str) else " / ".join(ids), *map(str, found.columns)]
    buffer = io.StringIO()
    lines = csv.writer(buffer, lineterminator="\n")
    lines.writerow(map(strip_control_characters, head))
    for first, row in zip(found.index.tolist(), found.to_numpy().tolist(), strict=True):
        label = strip_control_characters(first) if isinstance(first, str) else first
        # A row that cannot be predicted has no numbers, which are unequal to themselves.
        lines.writerow([label, *(f"{p:.{PROBABILITY_DIGITS}g}" if p == p else "" for p in row)])
    return buffer.getvalue()


@click.command(short_help="The model as a script for another package.")
@study_argument
@click.argument("package", type=click.Choice(list(FORMATS)))
@click.option("--out", type=new_file, help="The file to write. Default: named after PACKAGE.")
@force_option
def export(study: Path, package: str, out: Path | None, force: bool) -> None:
    """Write the model of a saved STUDY for another PACKAGE.

    A script reads your table, makes the transforms, estimates, and compares the log-likelihood
    with ours. `text` and `latex` are the utility functions; --out - prints these.

    \b
    Examples:
      ardchoice export results biogeme
      ardchoice export results apollo --out model.R
      ardchoice export results text --out -
    """  # noqa: D301 - click reads the backspace
    from ardchoice.exports import companions, readable_text

    form = FORMATS[package]
    out = Path(form.file_name) if out is None else out
    if not is_standard_output(out):
        for path in (out, *companions(out)) if form.is_script else (out,):
            must_be_free(path, force)
        click.echo(ac.load(study).export(package, out))
        return
    if form.is_script:
        raise click.UsageError("A script is written to a file: it has the path of the table.")
    click.echo(readable_text(saved_result(study), package))


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
    from ardchoice.progress import PhaseProgress, show_progress

    if is_standard_output(out):
        raise click.UsageError("A report is written to a file.")
    must_be_free(out, force)
    with show_progress() as listener:
        PhaseProgress("report", listener)(0, 0, str(out))
        ac.load(study).report(out)
    click.echo(out)

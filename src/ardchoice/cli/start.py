"""`ardchoice init` and `check`: from a table to a study file, and what to expect of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ardchoice.cli.console import Console, strip_control_characters
from ardchoice.cli.places import (
    command_line,
    force_option,
    is_standard_output,
    must_be_free,
    new_file,
    write_or_print,
)
from ardchoice.errors import ArdchoiceError

if TYPE_CHECKING:
    from ardchoice.settings import Finding

NO_COLUMN = "-"
"""How a user answers that a role has no column."""


@click.command(short_help="Look at a table, write a study file.")
@click.argument("table", required=False, type=click.Path(path_type=Path))
@click.option("--out", type=new_file, default="study.toml", show_default=True)
@force_option
@click.option("--ask", is_flag=True, help="Ask about every role, the guess being the default.")
@click.option("--example", is_flag=True, help="Write a study file with every setting instead.")
@click.option(
    "--from",
    "script",
    type=click.Path(path_type=Path),
    metavar="SCRIPT",
    help="Take the roles from a script for Biogeme, PyLogit, xlogit or Apollo.",
)
@click.pass_obj
def init(
    console: Console,
    table: Path | None,
    out: Path,
    force: bool,
    ask: bool,
    example: bool,
    script: Path | None,
) -> None:
    """Look at TABLE and write a study file that guesses the roles of its columns.

    TABLE is a CSV, TSV, Parquet, Excel, Stata or SPSS file; separator, encoding and decimal sign
    are detected. Every guess is written with its reason and its alternatives. --out - prints
    the file.

    --from SCRIPT takes the roles of the columns from a script for Biogeme, PyLogit, xlogit or
    Apollo, which is read and never executed, and adds its specification to compare with. Without
    TABLE it is the file that the script names.

    \b
    Examples:
      ardchoice init choices.csv
      ardchoice init choices.csv --from b01logit.py
      ardchoice init choices.parquet --out trips.toml --ask
      ardchoice init --example --out example.toml
    """  # noqa: D301 - click reads the backspace
    from ardchoice.data import must_exist
    from ardchoice.settings import example_settings, guess_settings

    if script is not None and (example or ask):
        raise click.UsageError("--from leaves nothing to ask, and is no example.")
    if script is not None:
        init_from_script(console, script, table, out, force)
        return
    if example == (table is not None):
        raise click.UsageError("Name a table to look at, or use --example.")
    if table is not None:
        must_exist(table)
    if not is_standard_output(out):
        must_be_free(out, force)
    if table is None:
        write_or_print(out, example_settings(), force)
        return
    answers = ask_roles(table) if ask else {}
    text = guess_settings(table, answers, folder=Path() if is_standard_output(out) else out.parent)
    write_or_print(out, text, force)
    for doubt in doubts(text):
        console.warning(doubt)
    if not is_standard_output(out):
        console.note(f"Look through it, then: {command_line('check', out)}")


def init_from_script(
    console: Console, script: Path, table: Path | None, out: Path, force: bool
) -> None:
    """Write a study file with the roles and the specification of a script."""
    from ardchoice.data import must_exist
    from ardchoice.scripts import read_specification, study_file

    model = read_specification(script)
    if table is None and model.table is None:
        raise click.UsageError("The script does not say which file it reads: name the table.")
    found = table if table is not None else script.parent / Path(str(model.table)).name
    must_exist(found)
    if not is_standard_output(out):
        must_be_free(out, force)
    text = study_file(model, script.name, found, Path() if is_standard_output(out) else out.parent)
    write_or_print(out, text, force)
    for doubt in doubts(text):
        console.warning(doubt)
    if not is_standard_output(out):
        console.note(f"Look through it, then: {command_line('check', out)}")


@click.command(short_help="What is in the data, what is wrong, how long it takes.")
@click.argument("study", type=click.Path(path_type=Path))
@click.pass_obj
def check(console: Console, study: Path) -> None:
    """What is in the data of a STUDY file, what is wrong, how large the space, how long it takes.

    \b
    Examples:
      ardchoice check study.toml
    """  # noqa: D301 - click reads the backspace
    from ardchoice.settings import check_study

    console.echo(check_study(study))


def doubts(text: str) -> list[str]:
    """The guesses that a study file asks to be confirmed, a sentence or two each."""
    found: list[str] = []
    for line in text.splitlines():
        if line.startswith("# ! "):
            found.append(line[4:].strip())
        elif found and line.startswith("#   "):
            found[-1] += " " + line[4:].strip()
        elif not line.startswith("#"):
            break
    return found


def ask_roles(table: Path) -> dict[str, str]:
    """Role -> the user's answer; later guesses take earlier answers into account."""
    from ardchoice.settings import guess_findings

    answers: dict[str, str] = {}
    click.echo(f"Return takes the guess, {NO_COLUMN} stands for none.", err=True)
    while True:
        open_roles = {r: f for r, f in guess_findings(table, answers).items() if r not in answers}
        if not open_roles:
            return answers
        role, finding = next(iter(open_roles.items()))
        answers[role] = _ask(table, role, finding, answers)


def _ask(table: Path, role: str, finding: Finding, answers: dict[str, str]) -> str:
    """Ask until the answer can be used."""
    from ardchoice.settings import guess_findings

    why = f"{finding.why[:1].upper()}{finding.why[1:]}."
    also = f" Could also be: {', '.join(finding.instead)}." if finding.instead else ""
    click.echo(f"\n{strip_control_characters(why + also)}", err=True)
    while True:
        guess = finding.value or NO_COLUMN
        typed = click.prompt(
            f"{role} [{strip_control_characters(guess)}]", guess, show_default=False, err=True
        )
        answer = "" if typed == NO_COLUMN else str(typed)
        try:
            guess_findings(table, {**answers, role: answer})
        except ArdchoiceError as error:
            click.echo(strip_control_characters(str(error)), err=True)
        else:
            return answer

"""`ardchoice simulate`: what a saved model predicts after changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ardchoice.cli.console import Console
from ardchoice.cli.places import (
    STANDARD_OUTPUT,
    force_option,
    is_standard_output,
    new_file,
    write_or_print,
)
from ardchoice.cli.study import saved_result

if TYPE_CHECKING:
    from ardchoice.estimation import Scenario


@click.command(short_help="Shares and surplus after changes.")
@click.argument("study", type=click.Path(path_type=Path))
@click.argument("changes", nargs=-1, required=True)
@click.option("--by", multiple=True, help="A categorical covariate to segment by; repeatable.")
@click.option("--where", help="A condition that limits all changes to some situations.")
@click.option("--cost", help="What the surplus is measured in. Default: recognised by its name.")
@click.option(
    "--table",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Other situations to change, with the study's columns. Default: the study's own.",
)
@click.option("--out", type=new_file, help="Write the shares to this CSV file.")
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON.")
@force_option
@click.pass_obj
def simulate(
    console: Console,
    study: Path,
    changes: tuple[str, ...],
    by: tuple[str, ...],
    where: str | None,
    cost: str | None,
    table: Path | None,
    out: Path | None,
    as_json: bool,
    force: bool,
) -> None:
    """What a saved STUDY predicts after CHANGES: shares, surplus, diversion.

    A change is an attribute of an alternative with * / + - = and a number, the availability of an
    alternative, or a covariate by its name. Several changes are made one after the other.

    \b
    Examples:
      ardchoice simulate results "TRAIN: CO * 1.1"
      ardchoice simulate results "*: TT - 5" "SM: unavailable" --by INCOME
      ardchoice simulate results "TRAIN: CO + 10%" --where "PURPOSE == 1"
    """  # noqa: D301 - click reads the backspace
    result = saved_result(study)
    data = None
    if table is not None:
        from ardchoice.data import read_like

        data = read_like(table, result.data, observed=False)
    scenario = result.scenario(*changes, by=by, where=where, data=data, cost=cost)
    if out is not None and not is_standard_output(out):
        write_or_print(out, scenario.shares.to_csv(index=False), force)
    elif as_json:
        click.echo(json.dumps(_content(scenario)))
    elif str(out) == STANDARD_OUTPUT:
        click.echo(scenario.shares.to_csv(index=False), nl=False)
    else:
        console.echo(str(scenario))


def _content(scenario: Scenario) -> dict[str, object]:
    from ardchoice.errors import SpecificationError

    notes = list(scenario.notes)
    content: dict[str, object] = {"changes": [str(change) for change in scenario.changes]}
    tables = {"shares": scenario.shares, "diversion": scenario.diversion}
    try:
        tables["surplus"] = scenario.surplus
        notes += [scenario.surplus_note] if scenario.surplus_note else []
    except SpecificationError as error:
        notes.append(str(error))
    for name, frame in tables.items():
        # What is not a number is null in JSON.
        content[name] = json.loads(frame.to_json(orient="records"))
    return {**content, "notes": notes}

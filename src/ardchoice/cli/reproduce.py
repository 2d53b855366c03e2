"""`ardchoice reproduce`: the published tables and figures, computed again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ardchoice.cli.console import Console
from ardchoice.cli.places import command_line, new_folder

if TYPE_CHECKING:
    from ardchoice.reproduce import JobsStep

ITEM_NAMES = "specifications, medium, large, convergence, extreme, heldout, real, ours, times"


@click.command(short_help="Compute the published tables and figures again.")
@click.option(
    "--out",
    default="reproduction",
    show_default=True,
    type=new_folder,
    help="Folder to write; what is finished there is not computed again.",
)
@click.option("--only", multiple=True, metavar="ITEM", help=f"One of: {ITEM_NAMES}.")
@click.option("--quick", is_flag=True, help="Fewer draws and splits; a few minutes.")
@click.option("--workers", type=click.IntRange(min=1), help="Parallel fits. Default: all cores.")
@click.pass_obj
def reproduce(
    console: Console, out: Path, only: tuple[str, ...], quick: bool, workers: int | None
) -> None:
    """Compute the published tables and figures again, ours beside theirs.

    \b
    Examples:
      ardchoice reproduce --quick
      ardchoice reproduce --out paper --only real --only ours
    """  # noqa: D301 - click reads the backspace
    from ardchoice.progress import duration
    from ardchoice.reproduce import reproduce as run_reproduction

    again = [word for item in only for word in ("--only", item)]
    again += ["--quick"] if quick else []
    again += [] if workers is None else ["--workers", str(workers)]
    console.resume_command = command_line("reproduce", "--out", out, *again)

    def show(step: JobsStep) -> None:
        left = f"about {duration(step.seconds_left)} left"
        click.echo(f"{step.done:4} of {step.of}  {left:24}  {step.last[:44]}", err=True)

    click.echo(run_reproduction(out, only=only, quick=quick, workers=workers, progress=show))

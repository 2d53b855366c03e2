"""`ardchoice reproduce`: the published tables and figures anew."""

from __future__ import annotations

from pathlib import Path

import click

from ardchoice.cli.console import Console
from ardchoice.cli.places import command_line
from ardchoice.progress import duration
from ardchoice.reproduce import ITEMS, JobsStep
from ardchoice.reproduce import reproduce as run_reproduction


@click.command(short_help="The published tables and figures anew.")
@click.option(
    "--out",
    default="reproduction",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write; what is done there already is not done again.",
)
@click.option("--only", multiple=True, metavar="ITEM", help=f"One of: {', '.join(ITEMS)}.")
@click.option("--quick", is_flag=True, help="Fewer draws and splits; a few minutes.")
@click.option("--workers", type=click.IntRange(min=1), help="Fits side by side; all cores if left.")
@click.pass_obj
def reproduce(
    voice: Console, out: Path, only: tuple[str, ...], quick: bool, workers: int | None
) -> None:
    """Make the published tables and figures anew, ours beside theirs.

    \b
    Examples:
      ardchoice reproduce --quick
      ardchoice reproduce --out paper --only real --only ours
    """  # noqa: D301 - click reads the backspace
    again = [word for item in only for word in ("--only", item)]
    again += ["--quick"] if quick else []
    again += [] if workers is None else ["--workers", str(workers)]
    voice.resume = command_line("reproduce", "--out", out, *again)

    def tell(step: JobsStep) -> None:
        left = f"about {duration(step.seconds_left)} left"
        click.echo(f"{step.done:4} of {step.of}  {left:24}  {step.last[:44]}", err=True)

    click.echo(run_reproduction(out, only=only, quick=quick, workers=workers, progress=tell))

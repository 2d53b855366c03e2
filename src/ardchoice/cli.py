"""The command line."""

from __future__ import annotations

import sys
from pathlib import Path

import click

import ardchoice as ac
from ardchoice.reproduce import reproduce as run_reproduction
from ardchoice.reproduce.items import ITEMS
from ardchoice.reproduce.jobs import JobsStep

BAD_INPUT, NOT_CONVERGED, INTERRUPTED = 3, 4, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(ac.__version__, prog_name="ardchoice")
def cli() -> None:
    """Find, estimate and explain the utility functions of discrete choice models."""


@cli.command()
def demo() -> None:
    """Find, estimate and explain a specification on the Swissmetro data of the package."""
    data = ac.datasets.swissmetro_choices("real")
    space = ac.swissmetro_space(data, "medium")
    click.echo("Swissmetro: train, the planned Swissmetro (SM), or car?\n", err=True)
    click.echo(f"{data}\n\nWhat could matter:\n{space}\n")
    # Nobody likes to travel longer or to pay more.
    structure = ac.Structure(signs={"TT": "-", "CO": "-"})
    study = ac.specify(data, space, structure=structure, progress=sys.stderr.isatty())
    click.echo(f"{study}\n")
    published = ac.fit_mnl(data, ac.datasets.swissmetro_specification("R6"))
    click.echo(
        f"BIC {study.result.bic:,.1f}; the best published specification of these data (R6): "
        f"{published.bic:,.1f}\n"
    )
    # TT is in hours and CO in hundreds of francs.
    result = study.result
    worth = result.wtp("TT", "CO", by=[]).set_index("alternative")[["estimate", "std_err"]] * 100
    click.echo("value of time, francs an hour")
    click.echo(worth.round(1).to_string(index_names=False))
    if not (study.fit.converged and result.converged):
        sys.exit(NOT_CONVERGED)


@cli.command()
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
def reproduce(out: Path, only: tuple[str, ...], quick: bool, workers: int | None) -> None:
    """Make the published tables and figures anew, ours beside theirs.

    \b
    ardchoice reproduce --quick
    ardchoice reproduce --out paper --only real --only ours
    """  # noqa: D301 - click reads the backspace

    def tell(step: JobsStep) -> None:
        left = f"{step.seconds_left:.0f} s left"
        if step.seconds_left > 90:
            left = f"about {step.seconds_left / 60:.0f} min left"
        click.echo(f"{step.done:4} of {step.of}  {left:20}  {step.last[:44]}", err=True)

    try:
        page = run_reproduction(out, only=only, quick=quick, workers=workers, progress=tell)
    except KeyboardInterrupt:
        click.echo(f"What is done is kept; the same command goes on from {out}.", err=True)
        raise
    click.echo(page)


def main() -> None:
    """Run the command line; what a user can mend is told without a traceback."""
    try:
        cli(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except ac.ArdchoiceError as error:
        click.echo(f"ardchoice: {error}", err=True)
        sys.exit(BAD_INPUT)
    except (click.Abort, KeyboardInterrupt):
        click.echo("ardchoice: interrupted", err=True)
        sys.exit(INTERRUPTED)

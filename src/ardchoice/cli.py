"""The command line."""

from __future__ import annotations

import sys

import click

import ardchoice as ac

BAD_INPUT, NOT_CONVERGED, INTERRUPTED = 3, 4, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(ac.__version__, prog_name="ardchoice")
def cli() -> None:
    """Find, estimate and explain the utility functions of discrete choice models."""


@cli.command()
def demo() -> None:
    """Estimate a published model on the Swissmetro data that come with the package."""
    data = ac.datasets.swissmetro_choices("real")
    specification = ac.parse_specification(ac.datasets.swissmetro_specification("R6"))
    click.echo("Swissmetro: train, the planned Swissmetro (SM), or car?\n", err=True)
    result = ac.fit_mnl(data, specification)
    click.echo(f"{data}\n\n{specification}\n\n{result.summary()}\n")
    # TT is in hours and CO in hundreds of francs.
    worth = result.wtp("TT", "CO", by=[]).set_index("alternative")[["estimate", "std_err"]] * 100
    click.echo("value of time, francs an hour")
    click.echo(worth.round(1).to_string(index_names=False))
    if not result.converged:
        sys.exit(NOT_CONVERGED)


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

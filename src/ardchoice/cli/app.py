"""The group of all commands."""

from __future__ import annotations

from typing import Any

import click

import ardchoice as ac
from ardchoice.cli.completion import completion
from ardchoice.cli.console import Console
from ardchoice.cli.demo import demo
from ardchoice.cli.exit_codes import ending
from ardchoice.cli.reproduce import reproduce
from ardchoice.cli.run import run
from ardchoice.cli.start import check, init
from ardchoice.cli.study import export, predict, report

NAME = "ardchoice"


class Commands(click.Group):
    """A group whose commands end with a code and a sentence, in the order they were added."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        ctx.obj = Console()
        with ending(ctx.obj):
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of a study, not of the alphabet."""
        return list(self.commands)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(ac.__version__, prog_name=NAME)
def cli() -> None:
    """Find, estimate and explain the utility functions of discrete choice models.

    \b
    ardchoice init choices.csv      look at a table, write study.toml
    ardchoice check study.toml      what is in it, what is wrong, how long
    ardchoice run study.toml        the whole job, ends with a report

    \b
    Exit codes: 0 done, 2 wrong usage, 3 something wrong with the data or the
    study file, 4 did not converge, 130 interrupted. Results go to standard
    output, progress to standard error.
    """  # noqa: D301 - click reads the backspace


for command in (init, check, run, predict, export, report, demo, reproduce, completion):
    cli.add_command(command)


def main() -> None:
    """Run the command line."""
    cli(prog_name=NAME)

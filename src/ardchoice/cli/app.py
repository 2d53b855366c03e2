"""The group of all commands.

Modules of commands import at their top only what declares a command, and the rest in its function:
`--help` and shell completion load every module, and must not load NumPy or pandas.
"""

from __future__ import annotations

from typing import Any

import click

from ardchoice.cli.completion import completion
from ardchoice.cli.console import Console
from ardchoice.cli.demo import demo
from ardchoice.cli.exit_codes import errors_as_exit_codes
from ardchoice.cli.reproduce import reproduce
from ardchoice.cli.run import run
from ardchoice.cli.simulate import simulate
from ardchoice.cli.start import check, init
from ardchoice.cli.study import export, predict, report

COMMAND_NAME = "ardchoice"


class Commands(click.Group):
    """A group whose commands end with an exit code and a sentence, listed as they were added."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        ctx.obj = Console()
        with errors_as_exit_codes(ctx.obj):
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of a study, not of the alphabet."""
        return list(self.commands)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ardchoice", prog_name=COMMAND_NAME)
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


for command in (init, check, run, predict, simulate, export, report, demo, reproduce, completion):
    cli.add_command(command)

"""`ardchoice completion`: a script that makes a shell complete commands, options and files."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

VARIABLE = "_ARDCHOICE_COMPLETE"


@click.command(short_help="Make your shell complete what you type.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that makes SHELL complete what you type.

    \b
    Examples:
      ardchoice completion bash >> ~/.bashrc
      ardchoice completion zsh  >> ~/.zshrc
      ardchoice completion fish > ~/.config/fish/completions/ardchoice.fish
    """  # noqa: D301 - click reads the backspace
    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    click.echo(made(ctx.find_root().command, {}, "ardchoice", VARIABLE).source())

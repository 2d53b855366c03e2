"""`ardchoice completion`: a script that makes a shell complete commands, options and files."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

COMPLETION_VARIABLE = "_ARDCHOICE_COMPLETE"


@click.command(short_help="Shell completion of commands, options and files.")
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
    completer = get_completion_class(shell)
    if completer is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    click.echo(completer(ctx.find_root().command, {}, "ardchoice", COMPLETION_VARIABLE).source())

"""Where commands read and write: nothing is overwritten without --force."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from ardchoice.errors import ArdchoiceError
from ardchoice.files import write

STANDARD_OUTPUT = "-"

new_file = click.Path(dir_okay=False, allow_dash=True, path_type=Path)
new_folder = click.Path(file_okay=False, path_type=Path)

force_option = click.option("--force", is_flag=True, help="Overwrite what is there.")


def is_standard_output(path: Path) -> bool:
    """Whether a path is the dash that stands for standard output."""
    return str(path) == STANDARD_OUTPUT


def must_be_free(path: Path, force: bool) -> None:
    """Refuse to overwrite a file without --force."""
    if path.exists() and not force:
        raise ArdchoiceError(
            f"'{path}' exists already. Overwrite it with --force, or choose another place with "
            "--out."
        )


def write_or_print(path: Path, content: str, force: bool) -> None:
    """Write a file and print its path; or print the content, where the path is a dash."""
    if is_standard_output(path):
        click.echo(content, nl=not content.endswith("\n"))
        return
    must_be_free(path, force)
    write(path, content)
    click.echo(path)


def command_line(*words: object) -> str:
    """A command to be typed again, quoted where need be."""
    return shlex.join(["ardchoice", *map(str, words)])

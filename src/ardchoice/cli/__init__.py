"""The command line."""

from ardchoice.cli.app import cli, main

__all__ = [
    "cli",
    "main",
]

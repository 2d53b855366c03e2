"""The command line; its entry point handles Ctrl-C before it imports anything."""

import os

INTERRUPTED_EXIT_CODE = 130
"""As shells report a program that Ctrl-C ended."""


def main() -> None:
    """Run the command line."""
    try:
        import signal

        # Commands replace this handler by one that ends them gracefully, and restore it afterwards:
        # it covers the imports before them and the interpreter's shutdown after them.
        signal.signal(signal.SIGINT, lambda signum, frame: os._exit(INTERRUPTED_EXIT_CODE))
    except KeyboardInterrupt:
        os._exit(INTERRUPTED_EXIT_CODE)
    from ardchoice.cli.app import COMMAND_NAME, cli

    cli(prog_name=COMMAND_NAME)

"""Exit codes: a command ends with a code and a sentence, never with a traceback."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from types import FrameType
from typing import NoReturn

import click

from ardchoice.cli import INTERRUPTED_EXIT_CODE
from ardchoice.cli.console import Console, warnings_as_notes
from ardchoice.errors import ArdchoiceError

GRACE_SECONDS = 1.2
"""What an interrupted command has to end by itself, files closed and cursor restored."""
SHOW_CURSOR = b"\x1b[?25h"
IMPORT_SYSTEM = "<frozen importlib._bootstrap>"
NO_MEMORY = (
    "There is not enough memory. Use fewer transforms or interactions in the space, or a part of "
    "the table."
)


class Code(IntEnum):
    """Exit codes."""

    DONE = 0
    BUG = 1
    USAGE = 2
    BAD_INPUT = 3
    NOT_CONVERGED = 4
    INTERRUPTED = INTERRUPTED_EXIT_CODE


@contextmanager
def errors_as_exit_codes(console: Console) -> Iterator[None]:
    """End the block with an exit code and, where something is wrong, a sentence."""
    _open_closed_streams()
    try:
        with _interruptible(console), warnings_as_notes(console):
            yield
            sys.stdout.flush()
        return
    except (click.ClickException, click.exceptions.Exit, SystemExit):
        raise
    except BrokenPipeError:
        _discard_output()
        raise click.exceptions.Exit(Code.DONE) from None
    except (click.Abort, KeyboardInterrupt):
        code, message = Code.INTERRUPTED, _interrupted(console)
    except ArdchoiceError as error:
        code, message = Code.BAD_INPUT, str(error)
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        code, message = (
            Code.BAD_INPUT,
            f"Cannot read or write{where}: {error.strerror or error}.",
        )
    except MemoryError:
        code, message = Code.BAD_INPUT, NO_MEMORY
    except Exception as error:
        code, message = Code.BUG, _bug_report(error)
    console.error(message, code)
    raise click.exceptions.Exit(code)


def _interrupted(console: Console) -> str:
    if console.resume_command is None:
        return "interrupted."
    return f"interrupted. Finished steps are saved; resume with:\n  {console.resume_command}"


def _bug_report(error: Exception) -> str:
    """A sentence on a bug, and the file that its traceback was written to."""
    import platform
    import tempfile
    import traceback
    from importlib.metadata import version

    summary = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    head = (
        f"ardchoice {version('ardchoice')}, Python {platform.python_version()}, "
        f"{platform.platform()}\n{' '.join(sys.argv)}\n\n"
    )
    message = f"Something went wrong that should not have: {summary}."
    try:
        handle, path = tempfile.mkstemp(prefix="ardchoice-error-", suffix=".txt")
        with open(handle, "w", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - a handle
            file.write(head + "".join(traceback.format_exception(error)))
    except OSError:
        return message
    return f"{message}\nThe full traceback is in {path}; please report it with that file."


def _open_closed_streams() -> None:
    """Where a shell closed standard output or error (`>&-`), what is written goes nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115


def _discard_output() -> None:
    """Nobody reads any more (`| head`): what is still to be flushed goes nowhere, quietly."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# -- Signals -------------------------------------------------------------------------------------


@contextmanager
def _interruptible(console: Console) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the block by a KeyboardInterrupt, and the process if that hangs.

    Python handles signals between its own instructions only. A long call into a numerical library
    would delay them, so a thread that is woken at once waits for a moment and then exits: files
    are written whole or not at all, so nothing is lost.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    finished, interrupted = threading.Event(), threading.Event()

    def interrupt(signum: int, frame: FrameType | None) -> None:
        # Where a module is imported, an exception may be swallowed, or printed with a traceback.
        if interrupted.is_set() or _is_importing(frame):
            _exit_at_once(console)
        interrupted.set()
        raise KeyboardInterrupt

    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    handlers = {s: signal.signal(s, interrupt) for s in (signal.SIGINT, signal.SIGTERM)}
    wakeup = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(receiver, finished, console), daemon=True).start()
    try:
        yield
    finally:
        finished.set()
        signal.set_wakeup_fd(wakeup)
        for signum, handler in handlers.items():
            signal.signal(signum, handler)
        sender.close()


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_filename != IMPORT_SYSTEM:
        frame = frame.f_back
    return frame is not None


def _watch(receiver: socket.socket, finished: threading.Event, console: Console) -> None:
    with receiver:
        while (signum := receiver.recv(1)) and signum[0] not in (signal.SIGINT, signal.SIGTERM):
            pass
    if signum and not finished.wait(GRACE_SECONDS):
        _exit_at_once(console)


def _exit_at_once(console: Console) -> NoReturn:
    with suppress(Exception):
        console.error(_interrupted(console), Code.INTERRUPTED)
        if sys.stderr.isatty():
            os.write(2, SHOW_CURSOR)
    os._exit(Code.INTERRUPTED)

"""How a command ends: every way out has a code and a sentence, and none of them is a traceback."""

from __future__ import annotations

import os
import platform
import signal
import socket
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from importlib.metadata import version
from types import FrameType

import click

from ardchoice.cli.console import Console, telling_warnings
from ardchoice.errors import ArdchoiceError

GRACE = 1.2
"""Seconds an interrupted command has to end by itself, files closed and cursor restored."""
SHOW_CURSOR = b"\x1b[?25h"


class Code(IntEnum):
    """Exit codes."""

    DONE = 0
    BUG = 1
    USAGE = 2
    BAD_INPUT = 3
    NOT_CONVERGED = 4
    INTERRUPTED = 130


@contextmanager
def ending(voice: Console) -> Iterator[None]:
    """Whatever happens in the block ends with a code and, where something is wrong, a sentence."""
    code = Code.DONE
    try:
        with _stopping(voice), telling_warnings(voice):
            yield
            sys.stdout.flush()
        return
    except (click.ClickException, click.exceptions.Exit, SystemExit):
        raise
    except BrokenPipeError:
        _forget_output()
    except (click.Abort, KeyboardInterrupt):
        code = Code.INTERRUPTED
        voice.error(_interrupted(voice), code)
    except ArdchoiceError as error:
        code = Code.BAD_INPUT
        voice.error(str(error), code)
    except OSError as error:
        code = Code.BAD_INPUT
        where = f" {error.filename}" if error.filename else ""
        voice.error(f"Cannot read or write{where}: {error.strerror or error}.", code)
    except MemoryError:
        code = Code.BAD_INPUT
        voice.error(
            "There is not enough memory. Use fewer forms or interactions in the space, or a part "
            "of the table.",
            code,
        )
    except Exception as error:
        code = Code.BUG
        voice.error(_unexpected(error), code)
    raise click.exceptions.Exit(code)


def _interrupted(voice: Console) -> str:
    if voice.resume is None:
        return "interrupted."
    return f"interrupted. What is done is kept; go on with:\n  {voice.resume}"


def _unexpected(error: Exception) -> str:
    """A sentence on a bug, and where all of it was written."""
    said = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    head = (
        f"ardchoice {version('ardchoice')}, Python {platform.python_version()}, "
        f"{platform.platform()}\n{' '.join(sys.argv)}\n\n"
    )
    full = head + "".join(traceback.format_exception(error))
    message = f"Something went wrong that should not have: {said}."
    try:
        handle, path = tempfile.mkstemp(prefix="ardchoice-error-", suffix=".txt")
        with open(handle, "w", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - a handle
            file.write(full)
    except OSError:
        return message
    return f"{message}\nWhere, in full, is in {path}; please report it with that file."


def _forget_output() -> None:
    """Nobody reads any more (`| head`): what is still to be flushed goes nowhere, quietly."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())


# -- Signals -------------------------------------------------------------------------------------


@contextmanager
def _stopping(voice: Console) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the block by a KeyboardInterrupt, and the process if that hangs.

    Python hears signals between its own instructions only. A long call into a numerical library
    would delay them, so a thread that is woken at once waits for a moment and then ends it all:
    files are written whole or not at all, so nothing is lost.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    over = threading.Event()
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    before = {s: signal.signal(s, _interrupt) for s in (signal.SIGINT, signal.SIGTERM)}
    woken = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(ours, over, voice), daemon=True).start()
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(woken)
        for which, handler in before.items():
            signal.signal(which, handler)
        theirs.close()


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _watch(pipe: socket.socket, over: threading.Event, voice: Console) -> None:
    stops = {int(signal.SIGINT), int(signal.SIGTERM)}
    with pipe:
        while heard := pipe.recv(1):
            if heard[0] in stops:
                break
        else:
            return
    if over.wait(GRACE):
        return
    with suppress(OSError, ValueError):
        voice.error(_interrupted(voice), Code.INTERRUPTED)
        if sys.stderr.isatty():
            os.write(2, SHOW_CURSOR)
    os._exit(Code.INTERRUPTED)

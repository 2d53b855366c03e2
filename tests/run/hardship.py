"""Runs under hardship: children that are killed, interrupted, or have nowhere to write.

A process of its own that imports everything once and forks: `python hardship.py FOLDER WAY ...`
prints a line of JSON for every way.
"""

import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

import ardchoice as ac
from ardchoice.errors import ArdchoiceError
from ardchoice.progress import PHASES
from ardchoice.report import drawing, figures
from run.run_support import SAME, TOML, files, run, timeless, write_study
from saved.saved_support import differences

del drawing  # imported, so that children need not
figures.FORMATS = ("svg",)  # pictures take longer than all the rest, and one kind will do
KILLS = 20
INTERRUPTS = 3
PATIENCE = 60.0
"""Seconds after which a child hangs."""


def fork(work: Callable[[], object]) -> int:
    """Work in a child that ends with it: 0, or 3 and a message where it says what is wrong."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except ArdchoiceError as error:
        print(error, flush=True)
        code = 3
    except KeyboardInterrupt:
        code = 130
    finally:
        os._exit(code)


def ended(child: int) -> int:
    """The exit code of a child, which must not hang."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    raise AssertionError("it hangs")


@dataclass(frozen=True)
class Case:
    """A study file, and the run of it that nothing happened to."""

    base: Path
    study: ac.Study
    files: dict[str, bytes]

    @classmethod
    def in_folder(cls, base: Path) -> "Case":
        write_study(base, TOML.replace("stability_pairs = 1", ""))
        return cls(base, run(base), files(base / "out"))

    def must_be_the_end(self, out: str) -> None:
        """Specification, estimates, evaluation, texts: all as if nothing had happened."""
        found = files(self.base / out)
        assert differences(timeless(self.study), timeless(ac.load(self.base / out))) == []
        assert {name: found[name] for name in SAME} == {name: self.files[name] for name in SAME}
        assert names(found) == names(self.files)


def names(found: dict[str, bytes]) -> set[str]:
    """Of files; that of the arrays has their checksum in it, and times are among them."""
    return {name for name in found if "arrays-" not in name}


ENDS = {".html": b"</html>", ".svg": b"</svg>", ".pdf": b"%%EOF", ".png": b"IEND\xaeB`\x82"}


def must_be_whole(out: Path) -> None:
    """No file that has a name is half-written; a journal may be in its last line."""
    for path in out.rglob("*") if out.exists() else ():
        if not path.is_file() or path.name.startswith(".") or path.suffix == ".journal":
            continue
        raw = path.read_bytes()
        if path.suffix == ".json":
            json.loads(raw)
        elif path.suffix == ".npz":
            with zipfile.ZipFile(path) as archive:
                assert archive.testzip() is None
        elif path.suffix == ".stage":
            assert raw[:64].decode() == hashlib.sha256(raw[65:]).hexdigest()
        else:
            assert raw.rstrip(b"\n").endswith(ENDS.get(path.suffix, b"")), path
            assert path.suffix in ENDS or raw.endswith(b"\n"), path
    if (out / "study" / "study.json").exists():
        ac.load(out)


# -- Stopped ---------------------------------------------------------------------------------------


def stopped(case: Case, out: str, how: int, rng: np.random.Generator) -> str | None:
    """Go on with a run to a random moment; the phase it was in, None where it came to its end."""
    ours, theirs = os.pipe()

    def work() -> None:
        os.close(ours)
        phase = {name: bytes([i]) for i, name in enumerate(PHASES)}
        run(case.base, out, resume=True, listener=lambda e: os.write(theirs, phase[e.phase]))

    child = fork(work)
    os.close(theirs)
    # Phases report so differently often that a phase is drawn, and a few events in it.
    heard, phase = b"\0", int(rng.integers(0, len(PHASES)))
    while heard[0] < phase and (one := os.read(ours, 1)):
        heard = one
    for _ in range(int(rng.integers(0, 6))):
        heard = os.read(ours, 1) or heard
    time.sleep(float(rng.uniform(0.0, 0.03)))
    os.kill(child, how)
    code = ended(child)
    os.close(ours)
    if code == 0:
        return None
    assert code in (-signal.SIGKILL, 130), code
    return PHASES[heard[0]]


def killed(case: Case, how: int = signal.SIGKILL, times: int = KILLS) -> dict[str, object]:
    """At random moments, and on again; each time everything is whole, and the end is the same."""
    rng, phases, ends = np.random.default_rng(int(how)), Counter[str](), 0
    out = f"{how}-{ends}"
    while sum(phases.values()) < times:
        phase = stopped(case, out, how, rng)
        must_be_whole(case.base / out)
        if phase is not None:
            phases[phase] += 1
        else:
            case.must_be_the_end(out)
            ends += 1
            out = f"{how}-{ends}"
    run(case.base, out, resume=True)
    case.must_be_the_end(out)
    return {"stopped": phases, "ends": ends + 1}


def interrupted(case: Case) -> dict[str, object]:
    """The same by Ctrl-C."""
    return killed(case, signal.SIGINT, INTERRUPTS)


# -- Nowhere to write ------------------------------------------------------------------------------


def told(work: Callable[[], object]) -> str:
    """What a child that cannot write says."""
    ours, theirs = os.pipe()

    def speak() -> None:
        os.dup2(theirs, 1)
        work()

    child = fork(speak)
    os.close(theirs)
    code = ended(child)
    with os.fdopen(ours) as pipe:
        said = pipe.read()
    assert code == 3, (code, said)
    return said


def limited(case: Case) -> dict[str, object]:
    """Files may not become larger than so much: the same as a full disk, for anybody to try."""
    out = case.base / "out"

    def work(limit: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        run(case.base, force=True)

    messages = []
    for limit in (10, 4_000, 40_000):
        said = told(partial(work, limit))
        assert "Cannot write" in said, said
        assert str(out) in said, said
        assert names(case.files) <= set(files(out))
        assert differences(timeless(case.study), timeless(ac.load(out))) == []
        must_be_whole(out)
        messages.append(said)
    run(case.base, resume=True)
    case.must_be_the_end("out")
    return {"messages": messages}


def full(case: Case) -> dict[str, object]:
    """A disk that is full, then less so."""
    disk = case.base / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o"]
    try:
        subprocess.run([*mount, "size=16k", "tmpfs", disk], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return {"skipped": "no disk can be mounted here"}
    messages = []
    try:
        for size in (16, 128, 512):
            command = [*mount, f"remount,size={size}k", "tmpfs", disk]
            subprocess.run(command, check=True, capture_output=True)
            said = told(lambda: run(case.base, "disk/out", resume=True))
            assert "No space left on device" in said, said
            must_be_whole(disk / "out")
            messages.append(said)
        subprocess.run([*mount, "remount,size=64m", "tmpfs", disk], check=True)
        run(case.base, "disk/out", resume=True)
        case.must_be_the_end("disk/out")
    finally:
        subprocess.run(["umount", disk], check=True)
    return {"messages": messages}


def forbidden(case: Case) -> dict[str, object]:
    """A folder in which nothing may be changed."""
    before = files(case.base / "out")
    everything = [case.base, *case.base.rglob("*")]
    for path in everything:
        path.chmod(0o555 if path.is_dir() else 0o444)

    def as_anybody(work: Callable[[], object]) -> Callable[[], object]:
        def inside() -> None:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            work()

        return inside

    ways: list[Callable[[], object]] = [
        lambda: run(case.base, force=True),
        lambda: run(case.base, "new"),
        lambda: case.study.save(case.base / "out" / "study"),
        lambda: case.study.save(case.base / "another"),
    ]
    messages = [told(as_anybody(way)) for way in ways]
    for path in everything:
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert files(case.base / "out") == before
    return {"messages": messages}


if __name__ == "__main__":
    known = {f.__name__: f for f in (killed, interrupted, limited, full, forbidden)}
    one_case = Case.in_folder(Path(sys.argv[1]))
    for name in sys.argv[2:]:
        print(json.dumps(known[name](one_case)), flush=True)

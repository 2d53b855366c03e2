"""`Checkpoint`: stages of a run, saved as they are done, for a run that resumes later.

A stage is one file that is put in place whole; a journal grows line by line, each with a checksum.
What is damaged or unfinished counts as not there and is made again. A fingerprint says what all of
it was made from: with other data, settings or another version nothing is taken over.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ardchoice.errors import ArdchoiceError
from ardchoice.files import cannot_write, remove_stale_temporaries, write
from ardchoice.saved.arrays import read_arrays, write_arrays
from ardchoice.saved.decode import Decoder
from ardchoice.saved.encode import Encoder
from ardchoice.saved.plain import plain, to_json
from ardchoice.text import shorten

FINGERPRINT_FILE = "fingerprint.json"
STAGE_SUFFIX, JOURNAL_SUFFIX = ".stage", ".journal"
MAX_SHOWN_CHANGES, MAX_SHOWN_CHARACTERS = 8, 60
_CONTENT = "content"
_LINE_CHECKSUM_CHARACTERS = 16
_STAGE_NAME = re.compile(r"[A-Za-z0-9-]+")
_CHECKSUM = re.compile(r"[0-9a-f]{64}")

T = TypeVar("T")


class Checkpoint:
    """The stages of one run; a `Checkpointer`.

    Parameters
    ----------
    folder
        Made if it is not there.
    fingerprint
        What the stages are made from: texts, numbers and mappings of them.

    Raises
    ------
    ArdchoiceError
        The folder has stages that were made from something else; the message shows the changes.
    """

    def __init__(self, folder: Path, fingerprint: Mapping[str, Any]) -> None:
        self.folder, self.seconds_saved = folder, 0.0
        must_fit(folder, fingerprint)
        if not (folder / FINGERPRINT_FILE).exists():
            clear(folder)
            write(folder / FINGERPRINT_FILE, to_json(fingerprint))
        remove_stale_temporaries(folder)

    # -- Stages --------------------------------------------------------------------------------

    def stage(self, name: str, make: Callable[[], T], *references: object) -> T:
        """The checkpoint of a name; or else what `make` makes, which is saved under it."""
        found = self.get(name, *references)
        if found is not None:
            value, seconds = found
            self.seconds_saved += seconds
            return value  # type: ignore[no-any-return]
        started = time.perf_counter()
        made = make()
        self.put(name, made, *references, seconds=time.perf_counter() - started)
        return made

    def put(self, name: str, value: object, *references: object, seconds: float = 0.0) -> None:
        """Save a stage: what `Encoder` can encode without a declaration."""
        encoder, out = Encoder(references), io.BytesIO()
        content = {"seconds": seconds, "value": encoder.encode(value, "value", declared=False)}
        text = np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)
        write_arrays(out, {_CONTENT: text, **encoder.arrays})
        raw = out.getvalue()
        write(self._path(name, STAGE_SUFFIX), _signature(raw) + raw)

    def get(self, name: str, *references: object) -> tuple[Any, float] | None:
        """A stage and the seconds it took; None where it is not there, or not whole."""
        try:
            signed = self._path(name, STAGE_SUFFIX).read_bytes()
        except OSError:
            return None
        raw = signed[signed.find(b"\n") + 1 :]
        if signed != _signature(raw) + raw:
            return None
        try:
            arrays = read_arrays(io.BytesIO(raw))
            content = json.loads(arrays.pop(_CONTENT).tobytes())
            value = Decoder(arrays, references).decode(content["value"], object, "value")
            return value, float(content["seconds"])
        except (ValueError, LookupError, TypeError):
            return None

    # -- Journals ------------------------------------------------------------------------------

    def journal(self, name: str) -> FileJournal:
        """The journal of a name, with what is in it."""
        return FileJournal(self._path(name, JOURNAL_SUFFIX))

    def _path(self, name: str, suffix: str) -> Path:
        if not _STAGE_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a stage")
        return self.folder / f"{name}{suffix}"


def _signature(raw: bytes) -> bytes:
    return hashlib.sha256(raw).hexdigest().encode() + b"\n"


class FileJournal:
    """A journal in a file, a line per entry; a line that is not whole ends it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: list[Mapping[str, Any]] = []
        raw = path.read_bytes() if path.exists() else b""
        good = 0
        for line in raw.splitlines(keepends=True):
            entry = _entry(line)
            if entry is None:
                break
            self.entries.append(entry)
            good += len(line)
        if good < len(raw):
            write(path, raw[:good])

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, at: int) -> Mapping[str, Any]:
        return self.entries[at]

    def append(self, entry: Mapping[str, Any]) -> None:
        """One more line, at once on the way to the disk."""
        body = json.dumps(plain(entry)).encode()
        line = _line_checksum(body) + b" " + body + b"\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab", buffering=0) as file:
                if file.write(line) != len(line):
                    raise OSError(0, "the disk took only a part")
        except OSError as error:
            raise cannot_write(self.path, error) from None
        self.entries.append(json.loads(body))


def _entry(line: bytes) -> Mapping[str, Any] | None:
    digest, _, body = line.rstrip(b"\n").partition(b" ")
    if not line.endswith(b"\n") or digest != _line_checksum(body):
        return None
    try:
        entry = json.loads(body)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None


def _line_checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:_LINE_CHECKSUM_CHARACTERS].encode()


# -- Fingerprints ----------------------------------------------------------------------------------


def clear(folder: Path) -> None:
    """Remove the stages, and the folder if nothing else is in it."""
    if not folder.is_dir():
        return
    remove_stale_temporaries(folder)
    ours = [path for path in folder.iterdir() if path.suffix in (STAGE_SUFFIX, JOURNAL_SUFFIX)]
    # The fingerprint last: while there are stages it says what they were made from.
    for path in (*ours, folder / FINGERPRINT_FILE):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(path, error) from None
    with suppress(OSError):
        folder.rmdir()


def must_fit(folder: Path, fingerprint: Mapping[str, Any]) -> None:
    """Raise where the stages of a folder were made from something else."""
    path = folder / FINGERPRINT_FILE
    if not path.exists():
        return
    try:
        before = json.loads(path.read_bytes())
    except (ValueError, OSError, RecursionError):
        before = None
    if not isinstance(before, dict):
        before = {f"'{path.name}'": "unreadable"}
    if changes := differences(before, json.loads(to_json(fingerprint))):
        raise changed(folder, changes)


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What changed between two fingerprints, a few words each."""
    old, new = dict(_flat(before)), dict(_flat(now))
    out = []
    for key in dict.fromkeys([*old, *new]):
        was, is_now = old.get(key), new.get(key)
        if was == is_now:
            continue
        checksums = _CHECKSUM.fullmatch(str(was)) and _CHECKSUM.fullmatch(str(is_now))
        shown = [shorten(repr(value), MAX_SHOWN_CHARACTERS) for value in (was, is_now)]
        out.append(f"{key} has changed" if checksums else f"{key} was {shown[0]} and is {shown[1]}")
    return out


def changed(folder: Path, changes: list[str]) -> ArdchoiceError:
    """A run cannot resume from what was made from something else."""
    shown = changes[:MAX_SHOWN_CHANGES]
    if len(changes) > MAX_SHOWN_CHANGES:
        shown.append(f"and {len(changes) - MAX_SHOWN_CHANGES} more")
    return ArdchoiceError(
        f"What is in '{folder}' was made from something else:\n"
        + "".join(f"  {change}\n" for change in shown)
        + "Results of the two are not mixed. Undo the change to resume it, or start again with "
        "--force (force=True), or in another folder."
    )


def _flat(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for name, inside in value.items():
            yield from _flat(inside, f"{key}.{name}" if key else str(name))
    else:
        yield key, value

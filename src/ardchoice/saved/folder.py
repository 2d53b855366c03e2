"""A study in a folder: `study.json` and plain arrays, checked when loaded, written whole or not.

`study.json` names the array file and its checksum, and is put in place last, in one move: whoever
looks sees the earlier study or the new one. The name of an array file follows from its content, so
that it never replaces arrays that are still referred to.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from ardchoice._types import AnyArray
from ardchoice.errors import ArdchoiceError
from ardchoice.estimation import Result
from ardchoice.files import atomic_write, checksum, remove_stale_temporaries, write
from ardchoice.record import StudyRecord
from ardchoice.saved.arrays import digest_of, read_arrays, write_arrays
from ardchoice.saved.decode import Decoder
from ardchoice.saved.encode import Encoder
from ardchoice.saved.plain import to_json
from ardchoice.saved.upgrades import SCHEMA_VERSION, upgraded
from ardchoice.settings import settings_if_any

FORMAT_NAME, RESULT_FORMAT = "ardchoice study", "ardchoice result"
INDEX_FILE = "study.json"
FOLDER_IN_RUN = "study"
"""Where `ardchoice run` puts a study in its folder."""
T = TypeVar("T")
_UNSIGNED = "0" * 64
_ARRAY_FILE = re.compile(r"arrays-[0-9a-f]{16}\.npz")
_CHECKSUM = re.compile(rb'"checksum": "([0-9a-f]{64})"')


def save_record(record: StudyRecord, folder: str | Path) -> Path:
    """Save a study; one that was saved in the same folder before is replaced.

    Parameters
    ----------
    record
        A study.
    folder
        Made if it is not there.

    Returns
    -------
    Path
        The folder.
    """
    folder, encoder = Path(folder), Encoder()
    if folder.exists() and not folder.is_dir():
        raise ArdchoiceError(f"A study is saved to a folder, and '{folder}' is a file.")
    if is_saved_result(folder):
        raise ArdchoiceError(f"'{folder}' has a saved result: save the study to another folder.")
    whole = StudyRecord(**{f.name: getattr(record, f.name) for f in fields(StudyRecord)})
    study, settings = encoder.encode(whole, "study"), settings_if_any(record)
    # Loading does without the settings, which are for readers of the file: they may be checked
    # more closely one day, and a study must load.
    head = {"format": FORMAT_NAME, "settings": settings and settings.model_dump(mode="json")}
    _write_index(folder, encoder, head, {"study": study})
    return folder


def save_result(result: Result, folder: str | Path) -> Path:
    """Save a model that was estimated by hand, with its data, as a study is saved."""
    folder, encoder = Path(folder), Encoder()
    if folder.exists() and not folder.is_dir():
        raise ArdchoiceError(f"A result is saved to a folder, and '{folder}' is a file.")
    if (folder / INDEX_FILE).exists() and not is_saved_result(folder):
        raise ArdchoiceError(f"'{folder}' has a study: save the result to another folder.")
    encoded = encoder.encode(result, "result")
    _write_index(folder, encoder, {"format": RESULT_FORMAT}, {"study": encoded})
    return folder


def _write_index(
    folder: Path, encoder: Encoder, head: dict[str, Any], body: dict[str, Any]
) -> None:
    """Arrays under a name that nothing else has, then the index that names them."""
    name = f"arrays-{digest_of(encoder.arrays)[:16]}.npz"
    with atomic_write(folder / name) as new:
        write_arrays(new, encoder.arrays)
    content = {
        **head,
        "schema": SCHEMA_VERSION,
        "checksum": _UNSIGNED,
        "version": version("ardchoice"),
        "files": {name: checksum(folder / name)},
        **body,
    }
    text = to_json(content)
    write(
        folder / INDEX_FILE, text.replace(_UNSIGNED, hashlib.sha256(text.encode()).hexdigest(), 1)
    )
    for path in folder.iterdir():
        if _ARRAY_FILE.fullmatch(path.name) and path.name != name:
            with suppress(OSError):
                path.unlink()
    remove_stale_temporaries(folder)


def is_saved_result(folder: str | Path) -> bool:
    """Whether a folder has a model that was estimated by hand, not a study."""
    index = Path(folder) / INDEX_FILE
    try:
        content = json.loads(index.read_bytes()) if index.is_file() else None  # a pipe would wait
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("format") == RESULT_FORMAT


def load_result(folder: str | Path) -> Result:
    """Load what `Result.save` saved; nothing in it is executed or unpickled."""
    place = _SavedFolder(Path(folder), RESULT_FORMAT)
    content = place.content()
    arrays = place.arrays(content)
    try:
        result: Result = Decoder(arrays).decode(content["study"], Result, "result")
    except (ValueError, RecursionError) as error:
        raise place.not_a_study(str(error)) from None
    return result


def load_record(folder: str | Path) -> StudyRecord:
    """Load a saved study, of this version or of an earlier one.

    Parameters
    ----------
    folder
        Where it was saved, or that of `ardchoice run`, which has it in a folder of its own.
    """
    place = _SavedFolder.find(Path(folder))
    content = place.content()
    arrays = place.arrays(content)
    try:
        record: StudyRecord = Decoder(arrays).decode(content["study"], StudyRecord, "study")
    except (ValueError, RecursionError) as error:
        raise place.not_a_study(str(error)) from None
    return record


@dataclass(frozen=True)
class _SavedFolder:
    """The folder of a saved study, and what can be wrong with it."""

    folder: Path
    expected: str = FORMAT_NAME

    @classmethod
    def find(cls, given: Path) -> _SavedFolder:
        """The folder that is meant: of the file itself, or inside that of a run."""
        if given.name == INDEX_FILE and given.is_file():
            given = given.parent
        if not (given / INDEX_FILE).exists() and (given / FOLDER_IN_RUN / INDEX_FILE).exists():
            given = given / FOLDER_IN_RUN
        if not (given / INDEX_FILE).is_file():
            missing = f"{INDEX_FILE} is missing" if given.is_dir() else "there is no such folder"
            missing = "it is a file of another kind" if given.is_file() else missing
            raise ArdchoiceError(
                f"There is no saved study in '{given}': {missing}. Studies are saved with "
                "study.save(folder), and by ardchoice run in the folder it writes."
            )
        return cls(given)

    def content(self) -> dict[str, Any]:
        """Of the index, as this version writes it."""
        raw = self._read(INDEX_FILE, Path.read_bytes)
        try:
            content: dict[str, Any] = json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise self._damaged(INDEX_FILE, f"it is not JSON any more ({error})") from None
        if not isinstance(content, dict) or content.get("format") != self.expected:
            raise self.not_a_study(f'it does not say "format": "{self.expected}"')
        if not _is_signed(raw):
            raise self._damaged(INDEX_FILE, "its checksum does not fit what is in it")
        schema = content.get("schema")
        if not isinstance(schema, int) or schema < 1:
            raise self.not_a_study(f"its schema is {schema!r}")
        if schema > SCHEMA_VERSION:
            raise ArdchoiceError(
                f"'{self.folder / INDEX_FILE}' was saved by ardchoice {content.get('version')}, in "
                f"schema {schema}; this is ardchoice {version('ardchoice')}, which knows schemas up"
                f" to {SCHEMA_VERSION}. A newer version reads it: pip install --upgrade ardchoice."
            )
        if not isinstance(content.get("files"), dict) or "study" not in content:
            raise self.not_a_study("it lacks 'files' or 'study'")
        try:
            return upgraded(content, schema)
        except (LookupError, TypeError, AttributeError) as error:
            raise self.not_a_study(f"it is not as schema {schema} has it ({error!r})") from None

    def arrays(self, content: dict[str, Any]) -> dict[str, AnyArray]:
        """Of all files, each checked."""
        out: dict[str, AnyArray] = {}
        for name, digest in content["files"].items():
            if not _ARRAY_FILE.fullmatch(name):
                raise self.not_a_study(f"it names a file {name!r}")
            if self._read(name, checksum) != digest:
                raise self._damaged(name, f"its checksum is not the one in {INDEX_FILE}")
            try:
                out |= read_arrays(self.folder / name)
            except ValueError as error:
                raise self._damaged(name, f"its arrays cannot be read ({error})") from None
        return out

    def _read(self, name: str, read: Callable[[Path], T]) -> T:
        path = self.folder / name
        if path.exists() and not path.is_file():
            raise self._damaged(name, "it is no file but a folder, a pipe or a device")
        try:
            return read(path)
        except FileNotFoundError:
            raise self._damaged(name, "it is missing") from None
        except OSError as error:
            raise ArdchoiceError(f"Cannot read '{path}': {error.strerror or error}.") from None

    def _damaged(self, name: str, what: str) -> ArdchoiceError:
        return ArdchoiceError(
            f"'{self.folder / name}' is not as it was saved: {what}. Copy the whole folder again "
            "from where it is still good, or make the study again and save it."
        )

    def not_a_study(self, why: str) -> ArdchoiceError:
        """The file is whole, but not what it should be."""
        return ArdchoiceError(
            f"'{self.folder / INDEX_FILE}' is not a study that can be loaded: {why}. It is "
            "written by study.save and not meant to be changed by hand; copy the folder again "
            "from where it is still good, or make the study again and save it."
        )


def _is_signed(raw: bytes) -> bool:
    """Whether the checksum in a text is that of the text without it."""
    found = _CHECKSUM.search(raw)
    if not found:
        return False
    without = raw[: found.start(1)] + _UNSIGNED.encode() + raw[found.end(1) :]
    return hashlib.sha256(without).hexdigest() == found[1].decode()

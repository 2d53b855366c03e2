"""A study in a folder: `study.json` and plain arrays, checked when loaded, written whole or not.

`study.json` names the array file and its checksum, and is put in place last, in one move: whoever
looks sees the study from before or the new one. The name of an array file is told by what is in it,
so that others never take the place of arrays that are still pointed to.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numpy.typing as npt
from pydantic import ValidationError

from ardchoice.errors import ArdchoiceError, SpecificationError, first_few
from ardchoice.files import beside, checksum, sweep, write
from ardchoice.record import StudyRecord
from ardchoice.saved.arrays import digest_of, read_arrays, write_arrays
from ardchoice.saved.plain import to_json
from ardchoice.saved.shelf import Archive
from ardchoice.saved.study import SavedRecord
from ardchoice.settings import settings_if_any

FORMAT = "ardchoice study"
SCHEMA = 1
"""Of files that are written; all up to this can be read."""
INDEX = "study.json"
INSIDE = "study"
"""Where `ardchoice run` puts a study in its folder."""
MOST_PROBLEMS = 5
T = TypeVar("T")
_UNSIGNED = "0" * 64
_ARRAYS = re.compile(r"arrays-[0-9a-f]{16}\.npz")
_CHECKSUM = re.compile(rb'"checksum": "([0-9a-f]{64})"')

UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""Schema -> what turns the content of a file of it into that of the next; nothing for most."""


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
    folder, shelf = Path(folder), Archive()
    if folder.exists() and not folder.is_dir():
        raise ArdchoiceError(f"A study is saved to a folder, and '{folder}' is a file.")
    study = SavedRecord.of(record, shelf)
    # 1 · Arrays, under a name that nothing else has.
    name = f"arrays-{digest_of(shelf.arrays)[:16]}.npz"
    with beside(folder / name) as new:
        write_arrays(new, shelf.arrays)
    # 2 · The index: from now on it is this study.
    content = {
        "format": FORMAT,
        "schema": SCHEMA,
        "checksum": _UNSIGNED,
        "version": version("ardchoice"),
        "settings": _settings(record),
        "files": {name: checksum(folder / name)},
        "study": study,
    }
    write(folder / INDEX, _signed(to_json(content)))
    # 3 · What nothing points to any more.
    for path in folder.iterdir():
        if _ARRAYS.fullmatch(path.name) and path.name != name:
            with suppress(OSError):
                path.unlink()
    sweep(folder)
    return folder


def load_record(folder: str | Path) -> StudyRecord:
    """Load a saved study, of this version or of an earlier one.

    Parameters
    ----------
    folder
        Where it was saved, or that of `ardchoice run`, which has it in a folder of its own.
    """
    place = _Place.of(Path(folder))
    content = place.content()
    shelf = Archive(arrays=place.arrays(content))
    try:
        return SavedRecord.model_validate(content["study"]).restore(shelf)
    except ValidationError as error:
        raise place.not_a_study(_problems(error)) from None
    except SpecificationError as error:
        raise ArdchoiceError(
            f"'{place.index}' has a term that cannot be read here. {error}\nA transform of your "
            "own must be registered before loading: TRANSFORMS[name] = lambda arguments: ... "
            "(from ardchoice.space.transforms import TRANSFORMS)."
        ) from None
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise place.not_a_study(str(error)) from None


@dataclass(frozen=True)
class _Place:
    """The folder of a saved study, and what can be wrong with it."""

    folder: Path

    @classmethod
    def of(cls, given: Path) -> _Place:
        """The folder that is meant: of the file itself, or inside that of a run."""
        if given.name == INDEX and given.is_file():
            given = given.parent
        if not (given / INDEX).exists() and (given / INSIDE / INDEX).exists():
            given = given / INSIDE
        if not (given / INDEX).is_file():
            missing = f"{INDEX} is missing" if given.is_dir() else "there is no such folder"
            raise ArdchoiceError(
                f"There is no saved study in '{given}': {missing}. Studies are saved with "
                "study.save(folder), and by ardchoice run in the folder it writes."
            )
        return cls(given)

    @property
    def index(self) -> Path:
        """The file that says what is where."""
        return self.folder / INDEX

    def content(self) -> dict[str, Any]:
        """Of the index, as this version writes it."""
        raw = self._try(INDEX, Path.read_bytes)
        try:
            content: dict[str, Any] = json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise self._damaged(INDEX, f"it is not JSON any more ({error})") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise self.not_a_study(f'it does not say "format": "{FORMAT}"')
        if not _is_signed(raw):
            raise self._damaged(INDEX, "its checksum does not fit what is in it")
        schema = content.get("schema")
        if not isinstance(schema, int) or schema < 1:
            raise self.not_a_study(f"its schema is {schema!r}")
        if schema > SCHEMA:
            raise ArdchoiceError(
                f"'{self.index}' was saved by ardchoice {content.get('version')}, in schema "
                f"{schema}; this is ardchoice {version('ardchoice')}, which knows schemas up to "
                f"{SCHEMA}. A newer version reads it: pip install --upgrade ardchoice."
            )
        for step in range(schema, SCHEMA):
            if step in UPGRADES:
                content = UPGRADES[step](content)
        if not isinstance(content.get("files"), dict) or "study" not in content:
            raise self.not_a_study("it lacks 'files' or 'study'")
        return content

    def arrays(self, content: dict[str, Any]) -> dict[str, npt.NDArray[Any]]:
        """Of all files, each checked."""
        out: dict[str, npt.NDArray[Any]] = {}
        for name, digest in content["files"].items():
            if not _ARRAYS.fullmatch(name):
                raise self.not_a_study(f"it names a file {name!r}")
            if self._try(name, checksum) != digest:
                raise self._damaged(name, f"its checksum is not the one in {INDEX}")
            try:
                out |= read_arrays(self.folder / name)
            except ValueError as error:
                raise self._damaged(name, f"its arrays cannot be read ({error})") from None
        return out

    def _try(self, name: str, read: Callable[[Path], T]) -> T:
        path = self.folder / name
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
            f"'{self.index}' is not a study that can be loaded: {why}. It is written by study.save "
            "and not meant to be changed by hand; copy the folder again from where it is still "
            "good, or make the study again and save it."
        )


def _settings(record: StudyRecord) -> dict[str, Any] | None:
    """For readers of the file: what would make such a study, where that can be said.

    Loading does without it: settings may be checked more closely one day, and a study must load.
    """
    found = settings_if_any(record)
    return None if found is None else found.model_dump(mode="json")


def _signed(text: str) -> bytes:
    """The text with its own checksum, taken while there was none in it."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    return text.replace(_UNSIGNED, digest, 1).encode()


def _is_signed(raw: bytes) -> bool:
    found = _CHECKSUM.search(raw)
    if not found:
        return False
    without = raw[: found.start(1)] + _UNSIGNED.encode() + raw[found.end(1) :]
    return hashlib.sha256(without).hexdigest() == found[1].decode()


def _problems(error: ValidationError) -> str:
    """What is wrong, and where."""
    found = error.errors(include_url=False, include_input=False)
    return first_few(
        (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found), MOST_PROBLEMS
    )

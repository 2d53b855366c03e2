"""A folder with a study is loaded whole or refused with what is wrong, where, and what to do."""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ardchoice as ac
from ardchoice.errors import ArdchoiceError
from ardchoice.saved import is_saved_result
from ardchoice.saved.upgrades import SCHEMA_VERSION
from saved.saved_support import differences, plain_study

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def study() -> ac.Study:
    return plain_study()


@pytest.fixture
def place(study: ac.Study, tmp_path: Path) -> Path:
    return study.save(tmp_path / "study")


def files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def signed(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what the index says and sign it anew, as somebody with bad intentions would."""
    path = folder / "study.json"
    content = json.loads(path.read_text())
    change(content)
    content["checksum"] = "0" * 64
    text = json.dumps(content, indent=1)
    digest = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(text.replace("0" * 64, digest, 1))


def refuses(folder: Path, *said: str) -> str:
    with pytest.raises(ArdchoiceError) as error:
        ac.load(folder)
    message = str(error.value)
    for text in said:
        assert text in message, message
    return message


# -- Damage ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", [0, 1], ids=["arrays", "index"])
def test_a_flipped_byte_anywhere_is_noticed(place: Path, which: int) -> None:
    path = place / files(place)[which]
    whole = path.read_bytes()
    rng = np.random.default_rng(which)
    for at in {0, len(whole) - 1, *rng.integers(len(whole), size=60).tolist()}:
        changed = bytearray(whole)
        changed[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(changed))
        refuses(place, str(path))
    path.write_bytes(whole)
    ac.load(place)


@pytest.mark.parametrize("which", [0, 1], ids=["arrays", "index"])
def test_a_truncated_or_longer_file_is_noticed(place: Path, which: int) -> None:
    path = place / files(place)[which]
    whole = path.read_bytes()
    for share in (0.0, 0.3, 0.99):
        path.write_bytes(whole[: int(share * len(whole))])
        message = refuses(place, str(path), "make the study again")
        assert "Copy the whole folder" in message or "copy the folder" in message
    path.write_bytes(whole + b"\n")
    refuses(place, str(path))


def test_a_missing_file_is_named(place: Path, tmp_path: Path) -> None:
    arrays, index = files(place)
    (place / arrays).rename(tmp_path / "elsewhere")
    refuses(place, arrays, "missing")
    (place / index).unlink()
    refuses(place, index, "missing", "study.save(folder)")
    refuses(tmp_path / "nowhere", "no such folder")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1, 2]", "format"),
        ('{"a": 1}', "format"),
        ('"text"', "format"),
        ("\x00\x01", "not JSON"),
    ],
)
def test_what_is_no_study_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "study.json").write_text(text)
    refuses(tmp_path, said, str(tmp_path / "study.json"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.update(schema="one"), "schema"),
        (lambda c: c.pop("files"), "'files'"),
        (lambda c: c.pop("study"), "'study'"),
        (lambda c: c.update(files={"../../etc/passwd": "0"}), "passwd"),
        (lambda c: c["study"].pop("rule"), "rule: Field required"),
        (lambda c: c["study"].update(more=1), "more: Extra"),
        (lambda c: c["study"].update(seed="x"), "seed: Input should be a valid integer"),
        (lambda c: c["study"]["rule"].update({"class": "Guess"}), "'Guess' is none of Bic"),
        (lambda c: c["study"]["fit"].update(data=17), "17 points to nothing"),
        (lambda c: c["study"]["fit"].update(lam="nothing"), "'nothing' is missing"),
        (lambda c: c["study"]["space"].update(terms=["A: TT +"]), "A: TT +"),
        (lambda c: c["study"]["structure"].update(signs={"TT": "?"}), "signs"),
    ],
)
def test_what_is_whole_but_wrong_is_said(
    place: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    signed(place, change)
    refuses(place, said, str(place / "study.json"))


def test_a_later_schema_asks_for_a_later_version(place: Path) -> None:
    signed(place, lambda c: c.update(schema=SCHEMA_VERSION + 1, version="9.9"))
    refuses(place, "ardchoice 9.9", "pip install --upgrade ardchoice")


def test_a_changed_index_is_refused_even_where_it_makes_sense(place: Path) -> None:
    path = place / "study.json"
    path.write_text(path.read_text().replace('"seed": 0', '"seed": 1'))
    refuses(place, str(path), "checksum")


class Bomb:
    """Leaves a trace when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.trace,))


@pytest.mark.parametrize("kind", ["npz", "npy", "pickle"])
def test_nothing_is_ever_unpickled(place: Path, tmp_path: Path, kind: str) -> None:
    trace = tmp_path / "trace"
    bombs = np.array([Bomb(trace)], dtype=object)
    out = io.BytesIO()
    if kind == "npz":
        np.savez(out, **{"study/data/available": bombs})
    elif kind == "npy":
        np.save(out, bombs, allow_pickle=True)
    else:
        bombs.dump(out)
    np.load(io.BytesIO(out.getvalue()), allow_pickle=True)[
        "study/data/available" if kind == "npz" else ...
    ]
    assert trace.exists()  # it would have gone off
    trace.unlink()
    arrays = files(place)[0]
    (place / arrays).write_bytes(out.getvalue())
    digest = hashlib.sha256(out.getvalue()).hexdigest()
    signed(place, lambda c: c.update(files={arrays: digest}))
    refuses(place, arrays)
    assert not trace.exists()


def bomb(bytes_of_zeros: int, shape: tuple[int, ...]) -> bytes:
    """An .npz file of one array that declares a shape, and has so many zeros."""
    header, out = io.BytesIO(), io.BytesIO()
    about = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, about)
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("study/data/available.npy", "w", force_zip64=True) as file,
    ):
        file.write(header.getvalue())
        for _ in range(bytes_of_zeros >> 20):
            file.write(bytes(1 << 20))
    return out.getvalue()


@pytest.mark.parametrize(
    ("megabytes", "numbers", "said"),
    [(70, 70 << 17, "bytes unpack to 73,400,"), (1, 1 << 40, "cannot be read")],
)
def test_arrays_that_unpack_or_declare_too_much_are_refused(
    place: Path, megabytes: int, numbers: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ardchoice.saved.arrays.LARGE_BYTES", 64 << 20)
    arrays, content = files(place)[0], bomb(megabytes << 20, (numbers,))
    assert len(content) < 100_000
    (place / arrays).write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    signed(place, lambda c: c.update(files={arrays: digest}))
    refuses(place, arrays, said)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("which", [0, -1])
def test_a_named_pipe_in_place_of_a_file_is_refused_without_waiting(
    place: Path, which: int
) -> None:
    name = files(place)[which]
    (place / name).unlink()
    os.mkfifo(place / name)
    assert not is_saved_result(place)
    refuses(place, name)


# -- Where to look ---------------------------------------------------------------------------------


def test_the_folder_of_a_run_and_the_index_itself_lead_to_the_study(
    study: ac.Study, place: Path
) -> None:
    for given in (place, place.parent, place / "study.json", str(place)):
        assert str(ac.load(given)) == str(study)


def test_a_file_in_the_way_is_said(study: ac.Study, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ArdchoiceError, match="is a file"):
        study.save(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


def test_saving_again_replaces_and_leaves_nothing_behind(
    study: ac.Study, place: Path, tmp_path: Path
) -> None:
    data = study.data.take(np.arange(150))
    other = ac.specify(data, ac.SearchSpace(data))
    (place / "notes.txt").write_text("mine")
    (place / f".{2**22 + 1}.study.json").write_text('{"half')
    other.save(place)
    assert len(files(place)) == 3
    assert (place / "notes.txt").read_text() == "mine"
    assert differences(other, ac.load(place)) == []


# -- A study saved today loads in every later version ----------------------------------------------


def test_a_study_of_schema_1_loads() -> None:
    folder = HERE / "schema_1"
    study = ac.load(folder)
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    assert study.specification.to_text() == expected["specification"]
    assert study.result.loglik == expected["loglik"]
    assert study.result.estimates.to_dict() == expected["estimates"]
    assert study.fit.lam.tolist() == [float(x) for x in expected["lambda"]]
    assert study.version == expected["version"]
    # What is worked out anew may round otherwise on another machine.
    assert study.result.score().loglik == pytest.approx(expected["loglik"], rel=1e-9)
    assert study.evaluation is not None
    assert study.evaluation.folds == 2
    assert re.search("selected by", str(study))
    assert sum(p.stat().st_size for p in folder.iterdir()) < 200_000


def test_a_study_of_schema_1_that_lacks_a_part_is_refused(tmp_path: Path) -> None:
    for name in ("study.json", *(p.name for p in (HERE / "schema_1").glob("*.npz"))):
        (tmp_path / name).write_bytes((HERE / "schema_1" / name).read_bytes())
    ac.load(tmp_path)
    signed(tmp_path, lambda c: c["study"]["fit"].pop("recalled"))
    refuses(tmp_path, "not as schema 1 has it", "recalled", str(tmp_path / "study.json"))


# -- Killed while saving ---------------------------------------------------------------------------

SAVE_AND_KILL = """
import os, signal, sys, time
import numpy as np
import ardchoice as ac

folder, other, kills = sys.argv[1], sys.argv[2], int(sys.argv[3])
studies = [ac.load(folder), ac.load(other)]
known = set(map(str, studies))
rng = np.random.default_rng(0)
for _ in range(kills):
    child = os.fork()
    while not child:
        for study in studies:
            study.save(folder)
    time.sleep(float(rng.uniform(0.0, 0.05)))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert str(ac.load(folder)) in known
print("all whole")
"""
KILLS = 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_any_moment_there_is_a_whole_study(study: ac.Study, tmp_path: Path) -> None:
    data = study.data.take(np.arange(150))
    study.save(tmp_path / "a")
    ac.specify(data, ac.SearchSpace(data)).save(tmp_path / "b")
    # One process that forks, so that ardchoice is imported once.
    command = [sys.executable, "-c", SAVE_AND_KILL, tmp_path / "a", tmp_path / "b", str(KILLS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "all whole\n", done.stderr
    # What the killed left is swept up by the next to save.
    study.save(tmp_path / "a")
    assert len(files(tmp_path / "a")) == 2

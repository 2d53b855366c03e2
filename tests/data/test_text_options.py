"""How a text table is written can be given; what is detected is told."""

import gzip
import os
import time
from pathlib import Path

import pytest
from data_support import assert_same, read_table, says, the_refusal, wide_table

import ardchoice as ac


def written(tmp_path: Path, content: bytes, name: str = "t.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


def test_comment_lines_and_lines_before_the_header_are_left_out(tmp_path: Path) -> None:
    lines = wide_table().to_csv(index=False).splitlines()
    lines = ["A survey, of 2024", "", lines[0], "# pilot, not used", *lines[1:4], "#", *lines[4:]]
    path = written(tmp_path, "\n".join(lines).encode())
    for stream in (False, True):
        data = read_table(path, comment="#", skip_rows=2, stream=stream)
        assert_same(data, read_table())
    assert data.source is not None
    assert (data.source.comment, data.source.skip_rows) == ("#", 2)


def test_separator_encoding_and_decimal_sign_can_be_given(tmp_path: Path) -> None:
    text = wide_table().to_csv(index=False, sep="~", decimal=",")
    path = written(tmp_path, text.encode("cp437"))
    data = read_table(path, separator="~", encoding="cp437", decimal=",")
    assert_same(data, read_table())


def test_a_detected_encoding_is_told_as_a_note_without_a_warning(tmp_path: Path) -> None:
    path = written(tmp_path, wide_table().to_csv(index=False).encode("cp1252"))
    data = read_table(path)  # warnings are errors in tests
    (note,) = (p for p in data.warnings if p.code == "encoding")
    assert note.severity == "note"
    says(str(data), "notes", "read as Windows-1252 (cp1252), not as UTF-8")
    assert not [p for p in read_table(path, encoding="cp1252").warnings if p.code == "encoding"]


def test_mixed_encodings_are_an_error_that_names_the_lines(tmp_path: Path) -> None:
    lines = wide_table().to_csv(index=False).splitlines()
    encoded = [line.encode("cp1252" if i == 3 else "utf-8") for i, line in enumerate(lines)]
    message = the_refusal(lambda: read_table(written(tmp_path, b"\n".join(encoded))))
    says(message, "mixes encodings: 3 lines are UTF-8 and 1 are not", "Line 4 is in another")


def test_text_that_is_not_in_the_given_encoding_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, wide_table().to_csv(index=False).encode("cp1252"))
    says(the_refusal(lambda: read_table(path, encoding="utf-8")), "not in the encoding utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"separator": ";;"}, "separator is one character, not ';;'"),
        ({"decimal": "-"}, "decimal is '.' or ',', not '-'"),
        ({"decimal": ",", "separator": ","}, "separator and decimal are both ','"),
        ({"comment": "//"}, "comment is one character"),
        ({"skip_rows": -1}, "skip_rows is a number of lines, not -1"),
        ({"encoding": "utf-9"}, "There is no encoding 'utf-9'"),
    ],
)
def test_text_options_are_checked(words: dict, message: str) -> None:
    says(the_refusal(lambda: read_table(**words)), message)


def test_missing_values_of_one_column_only() -> None:
    table = wide_table()
    table["CAR_TT"] = table["CAR_TT"].replace(33.0, -1)
    table["CLASS"] = [-1, -1, 1, 1, 2, 2, 3, 3]
    table["CAR_AV"] = [1, 1, 1, 1, 1, 0, 1, 0]
    table["CHOICE"] = [1, 2, 3, 2, 2, 3, 1, 1]
    data = read_table(table, missing_values={"TT": [-1]})
    assert data.covariates["CLASS"].levels == ("-1", "1", "2", "3")
    with pytest.raises(ac.DataError, match=r"CLASS .* is missing: 2 rows"):
        read_table(table, missing_values={"CLASS": [-1]})
    with pytest.raises(ac.DataError, match=r"CLASS .* is missing: 2 rows"):
        read_table(table, missing_values={"TT": [-9], "*": [-1]})
    says(
        the_refusal(lambda: read_table(table, missing_values={"CLAS": [-1]})),
        "missing_values names 'CLAS'", "Did you mean 'CLASS'",
    )  # fmt: skip


def test_a_packed_bomb_is_refused_quickly(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(200):
            file.write(b"0,1\n" * (1 << 18))
    started = time.perf_counter()
    says(the_refusal(lambda: read_table(path)), "unpacks to more than", "Unpack it and look")
    assert time.perf_counter() - started < 5


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    says(the_refusal(lambda: read_table(pipe)), "is not a file", "pipe")

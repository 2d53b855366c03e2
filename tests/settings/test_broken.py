"""Whatever is wrong with a study file or a table is told with its place; nothing hangs."""

import re
import signal
from itertools import islice

import pytest
from broken import study_candidates, table_candidates
from settings_support import STUDY, write_study

import ardchoice as ac
from ardchoice.settings import check_study, guess_settings

STUDIES, TABLES = 100, 50
LONGEST = 60
"""Seconds after which something hangs."""


@pytest.fixture(autouse=True)
def no_hang():
    """Anything that hangs ends with an exception that is no ArdchoiceError."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def refusal(path):
    """The error that a check ends with; None where the study can be run."""
    signal.alarm(LONGEST)
    try:
        check_study(path)
    except ac.ArdchoiceError as error:
        return error
    return None


WHOLE = re.compile("nothing in it|nested too deep|too many digits|no study file")
"""What is wrong with a file as a whole, where no line is better than another."""


def place(error):
    """Whether the message says where: lines and keys, a column, rows, or the file of the table."""
    if isinstance(error, ac.SettingsError):
        return error.name == "study.toml" and all(
            m.line or m.key or WHOLE.search(m.message) for m in error.mistakes
        )
    return re.search(r"[Cc]olumns? |rows? \(|\bt\.(csv|parquet)", str(error)) is not None


def test_a_hundred_broken_study_files_are_refused_with_the_place(tmp_path):
    path = write_study(tmp_path)
    broken = []
    for name, content in islice(study_candidates(STUDY), 1000):
        path.write_bytes(content)
        error = refusal(path)
        if error is None:
            continue
        assert isinstance(error, (ac.SettingsError, ac.DataError)), name
        assert place(error), (name, str(error))
        assert len(str(error)) < 20_000, name
        broken.append(name)
        if len(broken) == STUDIES:
            break
    assert len(broken) == STUDIES
    assert len(set(broken)) > 20


def test_most_mistakes_of_a_file_are_told_with_their_line(tmp_path):
    path = write_study(tmp_path)
    told = 0
    for _, content in islice(study_candidates(STUDY, seed=1), 15, 75):
        path.write_bytes(content)
        error = refusal(path)
        if isinstance(error, ac.SettingsError):
            assert all(m.line for m in error.mistakes if m.key), str(error)
            told += 1
    assert told > 30


def test_fifty_broken_tables_are_refused_with_the_place(tmp_path):
    table = ac.datasets.swissmetro().head(180).reset_index(drop=True)
    path = tmp_path / "study.toml"
    broken = []
    for name, file, content in islice(table_candidates(table), 400):
        (tmp_path / file).write_bytes(content)
        text = STUDY.replace("swissmetro.csv", file).replace("drop_invalid = true", "")
        path.write_text(text, encoding="utf-8")
        error = refusal(path)
        (tmp_path / file).unlink()
        if error is None:
            continue
        assert place(error), (name, str(error))
        assert len(str(error)) < 20_000, name
        broken.append(name)
        if len(broken) == TABLES:
            break
    assert len(broken) == TABLES


def test_guessing_of_broken_tables_ends_with_a_file_or_a_refusal(tmp_path):
    table = ac.datasets.swissmetro().head(120).reset_index(drop=True)
    for name, file, content in islice(table_candidates(table, seed=2), 80):
        (tmp_path / file).write_bytes(content)
        signal.alarm(LONGEST)
        try:
            text = guess_settings(tmp_path / file)
        except ac.ArdchoiceError as error:
            assert place(error), (name, str(error))
        else:
            (tmp_path / "study.toml").write_text(text, encoding="utf-8")
            refused = refusal(tmp_path / "study.toml")
            assert refused is None or place(refused), (name, str(refused))

"""A run that was broken off anywhere ends as if it had not been; nothing foreign is mixed in."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.errors import ArdchoiceError
from ardchoice.progress import Event
from ardchoice.saved import Checkpoint
from ardchoice.saved.checkpoint import clear
from ardchoice.selection.refits import RefitCache
from saved.saved_support import differences
from selection.selection_support import made, usual

MADE_FROM = {"ardchoice": "0.1.0", "table": "a" * 64, "settings": {"selection": {"rule": "ebic"}}}


@pytest.fixture(scope="module")
def data() -> ac.ChoiceData:
    return made(300, 1, usual)


@pytest.fixture(scope="module")
def space(data: ac.ChoiceData) -> ac.SearchSpace:
    return ac.SearchSpace(data, {"TT": ["linear", "log1p"]}, by=["G"])


def timeless(study: ac.Study) -> ac.Study:
    """Without what no two runs share."""
    trace = tuple(replace(step, seconds=0.0) for step in study.fit.trace)
    return replace(study, seconds=0.0, fit=replace(study.fit, seconds=0.0, trace=trace))


class Stop:
    """Breaks off at one event."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, event: Event) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def lines(folder: Path) -> int:
    return len((folder / "refits.journal").read_bytes().splitlines())


WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "honest": {"honest": True, "seed": 3},
    "held out": {"rule": ac.HeldOut(folds=2, weights=(0.5, 2.0)), "seed": 1},
    "threshold": {"rule": ac.LambdaAbove(), "solver": ac.Dsvi(seed=2)},
}


@pytest.mark.parametrize("way", WAYS)
def test_broken_off_at_any_event_it_ends_the_same(
    data: ac.ChoiceData, space: ac.SearchSpace, tmp_path: Path, way: str
) -> None:
    events: list[Event] = []
    expected = timeless(ac.specify(data, space, progress=events.append, **WAYS[way]))
    for at in np.unique(np.linspace(1, len(events), 4 if way == "held out" else 6).astype(int)):
        folder = tmp_path / str(at)
        with pytest.raises(KeyboardInterrupt):
            keep = Checkpoint(folder, MADE_FROM)
            ac.specify(data, space, keep=keep, progress=Stop(int(at)), **WAYS[way])
        keep = Checkpoint(folder, MADE_FROM)
        ended = ac.specify(data, space, keep=keep, **WAYS[way])
        assert differences(expected, timeless(ended)) == []
        assert ended.fit.space is space
        assert (ended.fit.data is data) == (way != "honest")


def test_what_is_done_is_not_done_again(
    data: ac.ChoiceData, space: ac.SearchSpace, tmp_path: Path
) -> None:
    first = ac.specify(data, space, keep=Checkpoint(tmp_path, MADE_FROM))
    refits = lines(tmp_path)
    assert refits > 5
    events: list[Event] = []
    keep = Checkpoint(tmp_path, MADE_FROM)
    again = ac.specify(data, space, keep=keep, progress=events.append)
    assert {event.phase for event in events} == {"estimate"}
    assert differences(timeless(first), timeless(again)) == []
    assert 0 < keep.seconds_saved < again.seconds
    assert lines(tmp_path) == refits


def test_a_search_goes_on_with_the_refits_it_has(
    data: ac.ChoiceData, space: ac.SearchSpace, tmp_path: Path
) -> None:
    ac.specify(data, space, keep=Checkpoint(tmp_path, MADE_FROM))
    path, stage = tmp_path / "refits.journal", tmp_path / "search.stage"
    whole, search = path.read_bytes(), stage.read_bytes()
    kept = whole.splitlines(keepends=True)[:4]
    # Whatever stands after the last whole line is not taken for a refit.
    for torn in (b"", b"3", b'0123456789abcdef {"terms": [1]}\n', b"\xff\xfe\n"):
        stage.unlink()
        path.write_bytes(b"".join(kept) + torn)
        again = Checkpoint(tmp_path, MADE_FROM)
        ac.specify(data, space, keep=again)
        assert path.read_bytes() == whole
        assert _timeless_bytes(again, "search") == _timeless_bytes(again, "search", search)


def test_a_refit_that_is_in_the_journal_is_believed(
    data: ac.ChoiceData, space: ac.SearchSpace, tmp_path: Path
) -> None:
    fit = ac.fit_ard(data, space)
    journal = Checkpoint(tmp_path, MADE_FROM).journal("refits")
    models = RefitCache.of(fit, journal)
    fitted = [models.refit(frozenset({0, i})) for i in (1, 2)]
    forged = Checkpoint(tmp_path, MADE_FROM).journal("forged")
    forged.append({**journal[0], "loglik": -1.25, "below": -np.inf})
    forged.append(journal[1])
    models = RefitCache.of(fit, forged)
    first = models.refit(frozenset({0, 1}))
    assert (first.loglik, first.below) == (-1.25, -np.inf)
    np.testing.assert_array_equal(first.beta, fitted[0].beta)
    # Asked for another set than the journal has, it fits that set.
    other = models.refit(frozenset({0, 3}))
    assert other.loglik == RefitCache.of(fit).refit(frozenset({0, 3})).loglik
    assert models.refits == 2
    assert len(forged) == 2


def _timeless_bytes(keep: Checkpoint, name: str, instead: bytes | None = None) -> str:
    if instead is not None:
        (keep.folder / "other.stage").write_bytes(instead)
        name = "other"
    found = keep.get(name)
    assert found is not None
    return repr(found[0])


@pytest.mark.parametrize("name", ["relevance", "search", "estimates"])
def test_a_damaged_stage_is_made_again(
    data: ac.ChoiceData, space: ac.SearchSpace, tmp_path: Path, name: str
) -> None:
    expected = timeless(ac.specify(data, space, keep=Checkpoint(tmp_path, MADE_FROM)))
    path = tmp_path / f"{name}.stage"
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    broken = [b"", whole[:10], whole[:-1], whole + b"x"]
    for at in rng.integers(len(whole), size=5):
        broken.append(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
    for raw in broken:
        path.write_bytes(raw)
        keep = Checkpoint(tmp_path, MADE_FROM)
        assert keep.get(name, data, space, expected.specification) is None
    ended = timeless(ac.specify(data, space, keep=Checkpoint(tmp_path, MADE_FROM)))
    assert differences(expected, ended) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"table": "b" * 64}, ["table has changed"]),
        ({"ardchoice": "0.2.0"}, ["ardchoice was '0.1.0' and is '0.2.0'"]),
        (
            {"settings": {"selection": {"rule": "bic"}, "more": 1}},
            ["settings.selection.rule was 'ebic' and is 'bic'", "settings.more was None and is 1"],
        ),
    ],
)
def test_what_was_made_from_something_else_is_not_taken(
    tmp_path: Path, change: dict[str, Any], said: list[str]
) -> None:
    keep = Checkpoint(tmp_path, MADE_FROM)
    keep.put("one", 1)
    with pytest.raises(ArdchoiceError) as error:
        Checkpoint(tmp_path, MADE_FROM | change)
    for text in [*said, str(tmp_path), "--force"]:
        assert text in str(error.value)
    assert Checkpoint(tmp_path, MADE_FROM).get("one") == (1, 0.0)


def test_stages_without_a_readable_fingerprint_are_not_taken(tmp_path: Path) -> None:
    Checkpoint(tmp_path, MADE_FROM).put("one", 1)
    (tmp_path / "fingerprint.json").write_text('{"half')
    with pytest.raises(ArdchoiceError, match="unreadable"):
        Checkpoint(tmp_path, MADE_FROM)
    (tmp_path / "fingerprint.json").unlink()
    assert Checkpoint(tmp_path, MADE_FROM).get("one") is None


def test_clearing_leaves_what_is_not_ours(tmp_path: Path) -> None:
    keep = Checkpoint(tmp_path / "c", MADE_FROM)
    keep.put("one", 1)
    keep.journal("two").append({"a": 1})
    (tmp_path / "c" / "mine.txt").write_text("mine")
    clear(tmp_path / "c")
    assert [p.name for p in (tmp_path / "c").iterdir()] == ["mine.txt"]
    (tmp_path / "c" / "mine.txt").unlink()
    Checkpoint(tmp_path / "c", MADE_FROM)
    clear(tmp_path / "c")
    clear(tmp_path / "c")
    assert not (tmp_path / "c").exists()


VALUES: list[object] = [
    (1, 2.5, float("inf"), "é\n", None, True, [1, (2,)], ()),
    (np.arange(4.0), np.array([True])),
    pd.DataFrame({"a": [1.5, np.nan], "b": ["x", None], "c": [1, 2]}),
    float("-inf"),
]


@pytest.mark.parametrize("value", VALUES, ids=["tuple", "arrays", "frame", "number"])
def test_what_is_put_is_got(tmp_path: Path, value: object) -> None:
    keep = Checkpoint(tmp_path, MADE_FROM)
    keep.put("a", value)
    found = keep.get("a")
    assert found is not None
    assert differences(value, found[0]) == []
    assert keep.get("b") is None


def test_what_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    keep = Checkpoint(tmp_path, MADE_FROM)
    with pytest.raises(TypeError, match="set"):
        keep.put("a", {1})
    for name in ("../a", "", "a b"):
        with pytest.raises(ValueError, match="no name"):
            keep.put(name, 1)


@pytest.mark.parametrize(
    "use",
    [
        lambda folder: Checkpoint(folder, MADE_FROM),
        lambda folder: Checkpoint(folder / "deeper", MADE_FROM),
    ],
)
def test_a_file_in_the_way_is_said(tmp_path: Path, use: Callable[[Path], Checkpoint]) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ArdchoiceError, match="Cannot write"):
        use(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"

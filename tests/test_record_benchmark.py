"""The record of numbers: the quick items agree with the reference, and differences are found."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

REFERENCE = Path(__file__).parents[1] / "benchmarks" / "record.json"
MADE_BY = {"numpy": "2.0.0", "blas": "0.3.30 Haswell"}


@pytest.fixture
def record(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("record")


def some_numbers(record: ModuleType, **changes: Any) -> Any:
    """One estimate near zero, one that diverges; one λ that is not shrunk, one of almost zero."""
    numbers = record.Numbers(
        persons=False,
        converged=True,
        terms=["a: ASC", "*: x"],
        loglik=-100.0,
        estimates={"a: ASC": 1e-9, "*: x": 30.0},
        variances={"classical": [0.04, math.nan], "robust": [0.05, math.nan]},
        log_evidence=-110.0,
        lambdas={"a: ASC": math.inf, "*: x": 2.0, "*: y": 1e-12},
    )
    return replace(numbers, **changes)


def test_quick_items_agree_with_the_reference(
    record: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    new = tmp_path / "new.json"
    assert record.main(["make", str(new), "--quick"]) == 0
    code = record.main(["compare", str(REFERENCE), str(new), "--partial"])
    shown = capsys.readouterr().out
    assert code == 0, shown
    quick = [item.name for item in record.all_items() if item.quick]
    assert list(record.read_record(new).items) == quick
    assert f"{len(quick)} of {len(quick)} items agree" in shown


def test_the_reference_has_every_item_and_names_its_commit(record: ModuleType) -> None:
    reference = record.read_record(REFERENCE)
    assert list(reference.items) == [item.name for item in record.all_items()]
    commit = reference.made_by["commit"]
    assert len(commit) == 40 and set(commit) <= set("0123456789abcdef")


def test_a_record_is_read_back_to_the_last_bit(record: ModuleType, tmp_path: Path) -> None:
    numbers = some_numbers(record, loglik=-1 / 3)
    path = tmp_path / "record.json"
    record.write_record(record.Record(MADE_BY, {"one": numbers}), path)
    again = record.read_record(path).items["one"]
    assert again.loglik == -1 / 3
    found = record.compare_item("one", numbers, again)
    assert found.passed and set(found.differences) == {0.0}


@pytest.mark.parametrize(
    ("changes", "kind", "expected"),
    [
        ({"estimates": {"a: ASC": 2e-9, "*: x": 30.0}}, "estimates", 1e-9 / 0.2),
        ({"estimates": {"a: ASC": 1e-9, "*: x": 33.0}}, "estimates", 0.1),
        ({"variances": {"classical": [0.04, math.nan], "robust": [0.2, math.nan]}}, "se", 1.0),
        ({"variances": {"classical": [0.04, 1.0], "robust": [0.05, 1.0]}}, "se", math.inf),
        ({"variances": {"classical": [0.04, math.nan]}}, "se", math.inf),
        ({"lambdas": {"a: ASC": math.inf, "*: x": 2.0, "*: y": 2e-12}}, "lambda", 1e-12 / 2e-6),
        ({"lambdas": {"a: ASC": 5.0, "*: x": 2.0, "*: y": 1e-12}}, "lambda", math.inf),
        ({"lambdas": {"a: ASC": math.inf, "*: x": 2.0}}, "lambda", math.inf),
        ({"log_evidence": -111.1}, "evidence", 0.01),
        ({"log_evidence": None}, "evidence", math.inf),
        ({"loglik": -101.0}, "loglik", 0.01),
    ],
)
def test_differences_are_relative_to_what_is_known_of_a_number(
    record: ModuleType, changes: dict[str, Any], kind: str, expected: float
) -> None:
    old, new = some_numbers(record), some_numbers(record, **changes)
    found = record.compare_item("one", old, new)
    kinds = dict(
        zip(("estimates", "se", "lambda", "evidence", "loglik"), found.differences, strict=True)
    )
    assert kinds.pop(kind) == pytest.approx(expected, rel=1e-6)
    assert set(kinds.values()) == {0.0}
    assert found.passed == (expected <= record.SAME_ORDER_LIMIT)


def test_other_terms_and_lost_convergence_fail(record: ModuleType) -> None:
    old = some_numbers(record)
    assert record.compare_item("one", old, replace(old, terms=old.terms[::-1])).passed
    assert not record.compare_item("one", old, replace(old, terms=["a: ASC"])).passed
    other = replace(old, estimates={"a: ASC": 1e-9, "*: z": 30.0})
    assert not record.compare_item("one", old, other).passed
    assert not record.compare_item("one", old, replace(old, converged=False)).passed
    assert record.compare_item("one", replace(old, converged=False), old).passed


def test_the_limit_is_wider_where_sums_are_added_in_another_order(record: ModuleType) -> None:
    old = some_numbers(record)
    new = replace(old, loglik=-100.0 * (1 + 1e-8))

    def passed(one: Any, two: Any, **made_by: str) -> bool:
        records = record.Record(MADE_BY, {"a": one}), record.Record(MADE_BY | made_by, {"a": two})
        return bool(record.compare_records(*records)[0].passed)

    assert not passed(old, new, commit="other")
    assert passed(replace(old, persons=True), replace(new, persons=True))
    assert passed(old, new, blas="0.3.30 SkylakeX")
    assert passed(old, new, numpy="2.1.0")
    assert not passed(old, replace(old, loglik=-100.001), numpy="2.1.0")


def test_a_known_difference_is_named_and_not_counted_as_agreement(
    record: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = some_numbers(record)
    files = [str(tmp_path / name) for name in ("old", "new")]

    def compared(**changes: Any) -> int:
        for file, numbers in zip(files, (old, replace(old, **changes)), strict=True):
            named = {"long in memory": numbers}
            record.write_record(record.Record(MADE_BY, named), Path(file))
        return int(record.main(["compare", *files]))

    lambdas = old.lambdas
    assert compared(lambdas=lambdas | {"*: x": 2.0 * (1 + 1.6e-10)}) == 0
    assert "0 of 1 items agree.\nDiffer for a known reason: long in memory." in (
        capsys.readouterr().out
    )
    assert compared(lambdas=lambdas | {"*: x": 2.0 * (1 + 3e-10)}) == 1
    assert compared(loglik=old.loglik * (1 + 1.6e-10)) == 1


def test_comparing_ends_with_one_where_something_differs_or_is_missing(
    record: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers = some_numbers(record)

    def write(name: str, **items: Any) -> str:
        path = tmp_path / name
        record.write_record(record.Record(MADE_BY, items), path)
        return str(path)

    both, one = write("both", a=numbers, b=numbers), write("one", a=numbers)
    other = write("other", a=numbers, b=replace(numbers, loglik=-99.0))
    assert record.main(["compare", both, both]) == 0
    assert record.main(["compare", both, one]) == 1
    assert "Only in the old record: b." in capsys.readouterr().out
    assert record.main(["compare", both, one, "--partial"]) == 0
    assert record.main(["compare", one, both, "--partial"]) == 1
    assert record.main(["compare", both, other]) == 1
    assert "FAIL" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        record.main(["make", one, "--items", "R8"])

"""Every registered family, estimated wherever its choices are, in whatever order, and kept."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from lapse_logit import Lapse

import ardchoice as ac
from ardchoice.data import ChoiceData, whole_person_ranges
from ardchoice.design import Block, Design
from ardchoice.design.remote import Workers
from ardchoice.families import FAMILIES, Family, family_pass
from ardchoice.formats import PACKAGES
from ardchoice.saved import Decoder, Encoder
from ardchoice.saved.arrays import read_arrays, write_arrays

SPEC = "TRAIN: ASC + TT + CO x GA\nSM: ASC + TT\n*: CO"
N_PERSONS, BLOCK_ROWS, SHARD_ROWS = 400, 500, 700
SAME_LOGLIK, SAME_ESTIMATE = 1e-10, 1e-6
"""Relative: sums are added in another order, and Newton's method stops elsewhere."""
OPTIONS: dict[str, Family] = {
    "lapse": Lapse(most=0.05),
    "latent": ac.LatentClass(2, starts=2),
    "nested": ac.Nested({"existing": ["TRAIN", "CAR"]}),
    "mixed": ac.Mixed({"*: CO": "normal"}),
}
"""Options that fit SPEC and these choices."""


def table(*, shuffled: bool = False) -> pd.DataFrame:
    """Unbalanced panels: every person answers one to nine times."""
    full = ac.datasets.swissmetro().query("CHOICE != 0")
    full = full[full["ID"].isin(full["ID"].unique()[:N_PERSONS])].reset_index(drop=True)
    some = full[full.groupby("ID").cumcount() < full["ID"] % 9 + 1]
    return some.sample(frac=1, random_state=1) if shuffled else some


def read(source: pd.DataFrame | Path, *, stream: bool = False, order: str = "TSC") -> ChoiceData:
    codes = {"T": ("TRAIN", 1), "S": ("SM", 2), "C": ("CAR", 3)}
    return ac.read_wide(
        source,
        alternatives=dict(codes[letter] for letter in order),
        choice="CHOICE",
        attributes={"TT": "{alt}_TT", "CO": "{alt}_CO"},
        covariates=["GA"],
        availability="{alt}_AV",
        person="ID",
        stream=stream,
    )


class Case(NamedTuple):
    """A family, estimated in memory from a sorted table, in one block."""

    family: Family
    data: ChoiceData
    result: ac.Result


@pytest.fixture(scope="module", params=sorted(FAMILIES))
def case(request: pytest.FixtureRequest) -> Case:
    family = OPTIONS[request.param] if request.param in OPTIONS else FAMILIES[request.param]()
    data = read(table())
    return Case(family, data, ac.fit(data, SPEC, family=family))


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    pytest.importorskip("distributed")
    with ac.local_cluster(1) as found:
        found.wait_for_workers(1, timeout=60)
        yield found


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks of few rows."""
    monkeypatch.setattr("ardchoice.design.design.FEWEST_ROWS", BLOCK_ROWS)
    monkeypatch.setattr("ardchoice.design.design.BLOCK_BYTES", 1)


def assert_same(result: ac.Result, expected: ac.Result) -> None:
    """The same estimates, covariances and fit, by the names of parameters."""
    assert result.family == expected.family
    assert result.loglik == pytest.approx(expected.loglik, rel=SAME_LOGLIK)
    for kind in ("classical", "robust", "cluster"):
        found, wanted = result.to_frame(kind), expected.to_frame(kind)
        found = found.loc[wanted.index]
        for column in ("estimate", "std_err"):
            np.testing.assert_allclose(
                found[column], wanted[column], rtol=SAME_ESTIMATE, atol=1e-7, err_msg=kind
            )


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("where", ["memory", "disk"])
def test_shuffled_rows_in_small_blocks_give_the_same(
    case: Case, where: str, tmp_path: Path
) -> None:
    mixed = table(shuffled=True)
    if where == "disk":
        mixed.to_csv(tmp_path / "mixed.csv", index=False)
        data = read(tmp_path / "mixed.csv", stream=True)
    else:
        data = read(mixed)
    result = ac.fit(data, SPEC, family=case.family)
    assert_same(result, case.result)
    # Predictions keep the order of the table.
    place = pd.Series(np.arange(len(mixed)), table().index)[mixed.index]
    expected = case.result.predict(case.data).to_numpy()[place]
    np.testing.assert_allclose(result.predict(data).to_numpy(), expected, rtol=1e-5)
    assert result.score(data).loglik == pytest.approx(case.result.score(case.data).loglik, rel=1e-8)


def test_alternatives_in_another_order_give_the_same(case: Case) -> None:
    data = read(table(), order="CTS")
    if any(parameter.kind == "sd" for parameter in case.result.layout.parameters):
        # Integration nodes belong to columns in their order; at the same θ only they differ.
        pytest.skip("the nodes of simulated integrals move with the columns")
    assert_same(ac.fit(data, SPEC, family=case.family), case.result)


def test_workers_of_a_cluster_give_the_same(case: Case, client: Any) -> None:
    shuffled = read(table(shuffled=True))
    with_workers = Workers(client, rows=SHARD_ROWS)
    assert_same(ac.fit(shuffled, SPEC, family=case.family, executor=with_workers), case.result)


def test_blocks_of_any_size_add_up_to_the_same_sums(case: Case) -> None:
    design = Design(case.data, case.result.encoding)
    order = case.result.layout.permutation(design.order)
    layout = case.result.layout.reordered(design.order)
    theta = case.result.coefficients[order]
    family = case.result.family

    whole = family_pass(family, layout, theta, list(design.blocks()))
    for rows in (1, 50):
        blocks: list[Block] = [design.block(r) for r in whole_person_ranges(case.data, rows)]
        assert len(blocks) > 10
        parts = family_pass(family, layout, theta, blocks)
        assert parts.loglik == pytest.approx(whole.loglik, rel=1e-12)
        size = np.abs(whole.curvature).max()
        np.testing.assert_allclose(parts.curvature, whole.curvature, atol=1e-9 * size)


def test_a_result_is_saved_and_loaded_to_the_last_bit(case: Case) -> None:
    references = (case.data,)
    encoder, out = Encoder(references), io.BytesIO()
    text = json.dumps(encoder.encode(case.result, "result"), allow_nan=False)
    write_arrays(out, encoder.arrays)
    arrays = read_arrays(io.BytesIO(out.getvalue()))
    loaded = Decoder(arrays, references).decode(json.loads(text), ac.Result, "result")
    pd.testing.assert_frame_equal(loaded.to_frame(), case.result.to_frame(), check_exact=True)
    assert loaded.family == case.result.family
    np.testing.assert_array_equal(loaded.predict(case.data), case.result.predict(case.data))


@pytest.mark.parametrize("package", PACKAGES)
def test_a_model_is_exported_or_refused_in_one_sentence(
    case: Case, package: str, tmp_path: Path
) -> None:
    try:
        written = ac.export(case.result, package, tmp_path / "model.txt")
    except ac.ArdchoiceError as error:
        assert case.family.title.lower() in str(error).lower()
        assert str(error).count(". ") <= 1
        assert not list(tmp_path.iterdir())
    else:
        # All parameters are in it, with their estimates.
        found = np.array(re.findall(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?", written.read_text()), float)
        for value in case.result.to_frame()["estimate"].abs():
            assert np.isclose(found, value, rtol=0.01).any(), value


def test_held_out_persons_are_predicted_by_the_family(case: Case) -> None:
    found = ac.held_out(case.data, SPEC, family=case.family, folds=2, seed=1)
    expected = []
    for train, test in case.data.folds(2, seed=1):
        expected.append(ac.fit(train, SPEC, family=case.family).score(test).loglik)
    assert found.loglik == pytest.approx(sum(expected), abs=0.05)
    assert found.loglik > sum(len(test) for _, test in case.data.folds(2, seed=1)) * -np.log(3)

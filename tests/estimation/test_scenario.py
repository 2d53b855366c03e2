"""Scenarios against prediction on tables changed by hand, and logsums computed independently."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.estimation import Result, parse_changes

sys.path.insert(0, str(Path(__file__).parents[1] / "families"))
from lapse_logit import Lapse

SPEC = """
TRAIN: ASC + TT + CO + log1p(TT) x GA + CO x INCOME
SM: ASC + TT + CO + HE
CAR: TT + log1p(CO)
"""
SHARE_TOLERANCE = 1e-12
SURPLUS_TOLERANCE = 1e-10


def read(table: pd.DataFrame, choice: str | None = "CHOICE") -> ac.ChoiceData:
    return ac.read_wide(
        table,
        alternatives={"TRAIN": 1, "SM": 2, "CAR": 3},
        choice=choice,
        attributes={"TT": "{alt}_TT", "CO": "{alt}_CO", "HE": {"TRAIN": "TRAIN_HE", "SM": "SM_HE"}},
        covariates={
            "GA": ac.Categorical(levels=[0, 1]),
            "INCOME": ac.Categorical(levels=[0, 1, 2, 3, 4]),
        },
        availability="{alt}_AV",
        person="ID",
    )


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    raw = ac.datasets.swissmetro()
    raw = raw[(raw["CHOICE"] != 0) & (raw["AGE"] != 6) & (raw["PURPOSE"] != 9)].copy()
    names = [c for c in raw if c.endswith(("_TT", "_CO", "_HE"))]
    raw[names] = raw[names].astype(float) / 100
    # Season-ticket holders pay nothing: costs deter, as they should.
    raw.loc[raw["GA"] == 1, ["TRAIN_CO", "SM_CO"]] = 0.0
    return raw


@pytest.fixture(scope="module")
def data(table: pd.DataFrame) -> ac.ChoiceData:
    data = read(table)
    return replace(data, weight=np.random.default_rng(1).uniform(0.5, 2, len(data)))


@pytest.fixture(scope="module")
def result(data: ac.ChoiceData) -> Result:
    return ac.fit_mnl(data, SPEC)


@pytest.fixture(scope="module")
def generic(data: ac.ChoiceData) -> Result:
    return ac.fit_mnl(data, "TRAIN: ASC\nSM: ASC\n*: TT + CO")


@pytest.fixture(scope="module", params=["mnl", "lapse"])
def any_family(request: pytest.FixtureRequest, data: ac.ChoiceData) -> Result:
    family = {"mnl": ac.Mnl(), "lapse": Lapse()}[request.param]
    return ac.fit(data, SPEC, family=family)


def by_hand(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Scenarios, and the table that each makes of the one observed."""
    fare, hours, closed, poor, some = (table.copy() for _ in range(5))
    fare["TRAIN_CO"] *= 1.1
    for name in ("TRAIN_TT", "SM_TT", "CAR_TT"):
        hours[name] = np.maximum(hours[name] - 0.05, -10)
    closed["SM_AV"] = 0
    poor["INCOME"] = 1
    rows = (some["GA"] == 0) & (some["TRAIN_TT"] > 1.5)
    some.loc[rows, "SM_CO"] = 2.0
    both = fare.copy()
    both["INCOME"] = 1
    return {
        "TRAIN: CO * 1.1": fare,
        "*: TT - 0.05": hours,
        "SM: unavailable": closed,
        "INCOME = 1": poor,
        "SM: CO = 2 where GA == 0 and TRAIN.TT > 1.5": some,
        "TRAIN: CO + 10%; INCOME = 1": both,
    }


@pytest.mark.filterwarnings("ignore::ardchoice.errors.ArdchoiceWarning")
def test_shares_are_those_of_prediction_on_a_table_changed_by_hand(
    any_family: Result, data: ac.ChoiceData, table: pd.DataFrame
) -> None:
    for changes, changed in by_hand(table).items():
        expected = any_family.predict(read(changed, choice=None))
        scenario = any_family.scenario(changes, by="GA")
        found = scenario.predict()
        np.testing.assert_allclose(found, expected, rtol=0, atol=SHARE_TOLERANCE, err_msg=changes)
        for segment, rows in {"all": None, "GA=0": 0, "GA=1": 1}.items():
            use = np.ones(len(table), bool) if rows is None else table["GA"].to_numpy() == rows
            shares = np.average(expected.to_numpy()[use], axis=0, weights=data.weights[use])
            frame = scenario.shares[scenario.shares["segment"] == segment]
            np.testing.assert_allclose(frame["scenario"], shares, rtol=0, atol=SHARE_TOLERANCE)


def test_base_shares_counts_and_changes_fit_together(result: Result) -> None:
    scenario = result.scenario("TRAIN: CO * 1.1")
    frame, counts = scenario.shares, scenario.counts
    assert list(frame) == ["alternative", "base", "scenario", "change", "low", "high"]
    np.testing.assert_allclose(frame["base"], result.shares(), atol=SHARE_TOLERANCE)
    np.testing.assert_allclose(frame["change"].sum(), 0, atol=1e-12)
    np.testing.assert_allclose(counts["base"] / result.data.total_weight, frame["base"])
    flow = scenario.diversion
    for name, change in zip(frame["alternative"], frame["change"], strict=True):
        gained = flow.loc[flow["to"] == name, "share"].sum()
        lost = flow.loc[flow["from"] == name, "share"].sum()
        assert gained - lost == pytest.approx(change, abs=1e-12)
    assert flow.groupby("to")["of_gain"].sum().to_numpy() == pytest.approx(1)


def test_diversion_of_a_logit_is_in_proportion_to_shares(generic: Result) -> None:
    data = generic.data.take(generic.data.available.all(axis=0)).take(np.arange(1))
    scenario = generic.scenario("SM: unavailable", data=data)
    base = generic.probabilities(data)[:, 0]
    flow = scenario.diversion.set_index("to")["share"]
    for name, j in (("TRAIN", 0), ("CAR", 2)):
        assert flow[name] == pytest.approx(base[1] * base[j] / (base[0] + base[2]), abs=1e-12)


def test_intervals_are_those_of_gradients_by_differences(any_family: Result) -> None:
    scenario = any_family.scenario("TRAIN: CO * 1.1", by="GA")
    gradient = np.empty((9, any_family.n_parameters))
    for k, value in enumerate(any_family.coefficients):
        step = 1e-5 * max(abs(value), 1e-2)
        moved = []
        for sign in (1, -1):
            theta = any_family.coefficients.copy()
            theta[k] += sign * step
            there = replace(any_family, coefficients=theta)
            moved.append(there.scenario("TRAIN: CO * 1.1", by="GA").totals)
        up, down = (((m.scenario - m.base).ravel()) for m in moved)
        gradient[:, k] = (up - down) / (2 * step)
    weight = np.repeat(scenario._segments.total, 3)
    variance = np.einsum("ij,jk,ik->i", gradient, any_family.covariance().to_numpy(), gradient)
    half = 1.959963984540054 * np.sqrt(variance) / weight
    frame = scenario.shares
    np.testing.assert_allclose(frame["high"] - frame["change"], half, rtol=1e-4)
    np.testing.assert_allclose(frame["change"] - frame["low"], half, rtol=1e-4)


def test_surplus_is_the_difference_of_logsums_in_money(
    generic: Result, data: ac.ChoiceData, table: pd.DataFrame
) -> None:
    beta = generic.estimates
    assert beta["*: CO"] < 0

    def logsum(frame: pd.DataFrame) -> np.ndarray:
        total = np.zeros(len(frame))
        for name, constant in (("TRAIN", "TRAIN: ASC"), ("SM", "SM: ASC"), ("CAR", None)):
            v = beta["*: TT"] * frame[f"{name}_TT"] + beta["*: CO"] * frame[f"{name}_CO"]
            v = v + (beta[constant] if constant else 0.0)
            total += np.where(frame[f"{name}_AV"] == 1, np.exp(v), 0.0)
        return np.log(total)

    for changes, changed in by_hand(table).items():
        gain = (logsum(changed) - logsum(table)) / -beta["*: CO"]
        found = generic.scenario(changes, by="GA").surplus
        assert set(found["unit"]) == {"CO"}
        for row, use in zip(
            found.itertuples(), (table["GA"] >= 0, table["GA"] == 0, table["GA"] == 1), strict=True
        ):
            w = np.where(use, data.weights, 0.0)
            assert row.n == use.sum()
            assert row.total == pytest.approx(w @ gain, rel=SURPLUS_TOLERANCE, abs=1e-9)
            assert row.estimate == pytest.approx(w @ gain / w.sum(), rel=1e-10, abs=1e-12)


def test_the_surplus_of_a_cost_increase_for_all_is_minus_that_increase(generic: Result) -> None:
    surplus = generic.scenario("*: CO + 0.5").surplus
    assert surplus["estimate"].iloc[0] == pytest.approx(-0.5, abs=1e-10)
    # Whatever the coefficients are: there is nothing to be unsure of.
    assert surplus["std_err"].iloc[0] < 1e-8


def test_surplus_errors_are_those_of_the_delta_method(result: Result) -> None:
    change = "TRAIN: TT * 0.8"
    found = result.scenario(change).surplus.iloc[0]
    gradient = np.empty(result.n_parameters)
    for k, value in enumerate(result.coefficients):
        step = 1e-4 * max(abs(value), 1e-2)
        ends = []
        for sign in (1, -1):
            theta = result.coefficients.copy()
            theta[k] += sign * step
            there = replace(result, coefficients=theta).scenario(change).surplus
            ends.append(float(there["estimate"].iloc[0]))
        gradient[k] = (ends[0] - ends[1]) / (2 * step)
    variance = gradient @ result.covariance().to_numpy() @ gradient
    assert found["std_err"] == pytest.approx(np.sqrt(variance), rel=1e-4)


def test_surplus_is_in_utility_where_costs_do_not_deter(data: ac.ChoiceData) -> None:
    flipped = {**data.attributes}
    cost = data.attributes["CO"]
    flipped["CO"] = replace(cost, values=-np.asarray(cost.values, dtype=float))
    result = ac.fit_mnl(replace(data, attributes=flipped), "TRAIN: ASC\nSM: ASC\n*: TT + CO")
    scenario = result.scenario("SM: TT * 1.1")
    assert set(scenario.surplus["unit"]) == {"utility"}
    assert "does not fall with CO" in scenario.surplus_note
    assert scenario.surplus["estimate"].iloc[0] < 0


def test_a_family_without_logsums_says_so(data: ac.ChoiceData) -> None:
    scenario = ac.fit(data, "*: TT + CO", family=Lapse()).scenario("TRAIN: CO * 2")
    with pytest.raises(ac.SpecificationError, match="no formula for the expected maximum"):
        scenario.surplus  # noqa: B018 - computes
    assert "Lapse logit has no formula" in str(scenario)


def test_arc_elasticities_tend_to_point_elasticities(result: Result) -> None:
    point = result.elasticities("CO").set_index(["changed", "alternative"])["estimate"]
    arc = result.scenario("TRAIN: CO * 1.0001").arc_elasticities()
    for row in arc.itertuples():
        assert row.changed == "TRAIN"
        assert row.estimate == pytest.approx(point["TRAIN", row.alternative], rel=1e-4)
    with pytest.raises(ac.SpecificationError, match="by one attribute"):
        result.scenario("SM: unavailable").arc_elasticities()


def test_scenarios_stand_side_by_side_and_share_one_design(
    result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = result.scenarios({"dearer": "TRAIN: CO + 10%", "closed": ["SM: unavailable"]})
    assert list(both.table) == ["alternative", "base", "dearer", "closed"]
    assert both.shares["name"].tolist() == ["dearer"] * 3 + ["closed"] * 3
    np.testing.assert_allclose(both.table["dearer"], both["dearer"].shares["scenario"])
    expanded: list[int] = []
    from ardchoice.design import design as module

    plan = module._plan

    def counted(*given: object) -> object:
        plans = plan(*given)
        expanded.append(sum(len(p.pieces) for p in plans))
        return plans

    monkeypatch.setattr(module, "_plan", counted)
    for k in range(100):
        result.scenario(f"TRAIN: CO * {1 + k / 100}").totals  # noqa: B018 - computes
    # Only the two terms with a train's cost are expanded again.
    assert expanded == [2] * 100


def test_a_curve_runs_through_scenarios(result: Result) -> None:
    curve = result.curve("TRAIN: CO", [0.8, 1.0, 1.2])
    frame = curve.frame.set_index(["value", "alternative"])
    np.testing.assert_allclose(frame.loc[1.0, "share"], result.shares(), atol=1e-12)
    dearer = result.scenario("TRAIN: CO * 1.2").shares
    np.testing.assert_allclose(frame.loc[1.2, "share"], dearer["scenario"], atol=1e-12)
    fixed = result.curve("SM: TT =", [1, 2]).frame
    expected = result.scenario("SM: TT = 2").shares["scenario"]
    np.testing.assert_allclose(fixed[fixed["value"] == 2]["share"], expected, atol=1e-12)


def test_a_change_outside_the_observed_range_is_said(result: Result) -> None:
    (note,) = result.scenario("TRAIN: CO * 100").notes
    assert note.startswith("CO of TRAIN runs from 0 to ")
    assert "It extrapolates in " in note
    assert result.scenario("TRAIN: CO * 0.999").notes == ()
    assert "HE is not in" not in str(result.scenario("SM: HE * 1").notes)
    with pytest.raises(ac.SpecificationError, match="CAR becomes available in 1,665 situations"):
        result.scenario("CAR: available")
    notes = result.scenario("CAR: available", "CAR: TT = 2", "CAR: CO = 1").notes
    assert any("becomes available in 1,665" in n for n in notes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("", "no change"),
        ("TRAIN CO * 2", r"expected \*, /, \+, - or ="),
        ("TRAIN: travel-time * 2", r"number after '-'\. A name with .* back quotes"),
        ("TRAIN: fee [EUR] * 2", r"after 'fee'.* in back quotes"),
        ("TRAIN: CO", r"expected \*, /"),
        ("TRAIN: CO * ", "expected a number"),
        ("TRAIN: CO / 0", "divided by zero"),
        ("TRAIN: CO ** 2", "one '\\*'"),
        ("TRAIN: CO == 2", "one '='"),
        ("TRAIN: CO * 1e300", "numbers up to"),
        ("TRAIN: CO * 2 3", "expected the end"),
        ("TRAIN: CO = 5%", "added or subtracted"),
        ("BUS: CO * 2", "no alternative 'BUS'"),
        ("TRAIN: COST * 2", "no attribute 'COST'"),
        ("TRAIN: INCOME = 2", "write 'INCOME = 2'"),
        ("CO * 2", r"write '\*: CO \* 2'"),
        ("CAR: HE * 2", "CAR has no HE"),
        ("INCOME * 2", "is categorical"),
        ("INCOME = 9", "no level '9'"),
        ("INCOME = rich", "no level 'rich'"),
        ("TRAIN: CO = cheap", "is a number"),
        ("TRAIN+TRAIN: CO * 2", "named twice"),
        ("*: unavailable", "Nothing is left to choose"),
        ("TRAIN: CO * 2 where INCOME == 77", "holds in none"),
        ("TRAIN: CO * 2 where BUS.TT > 1", "There is no covariate 'BUS.TT'"),
        ("TRAIN: CO * 2 where", "expression is empty"),
        ("TRAIN: CO * 2; ; ;", None),
    ],
)
def test_wrong_changes_have_clear_messages(
    result: Result, change: str, message: str | None
) -> None:
    if message is None:
        assert len(result.scenario(change).changes) == 1
        return
    with pytest.raises(ac.ArdchoiceError, match=message):
        result.scenario(change)


def test_a_level_without_quotes_in_a_condition_is_shown_with_them() -> None:
    table = pd.DataFrame(
        {
            "my choice": ["a", "b"] * 20,
            "a_x": np.linspace(0, 1, 40),
            "b_x": np.linspace(1, 0, 40) ** 2,
            "home town": ["Bern", "Basel", "Basel", "Bern"] * 10,
        }
    )
    data = ac.read_wide(
        table,
        alternatives=["a", "b"],
        choice="my choice",
        attributes={"x": "{alt}_x"},
        covariates=["home town"],
    )
    result = ac.fit_mnl(data, "a: ASC\n*: x")
    with pytest.raises(ac.ArdchoiceError, match="text stands in quotes, as in `home town` == 'Be"):
        result.scenario("a: x * 2", where="`home town` == Bern")
    assert result.scenario("a: x * 2", where="`home town` == 'Bern'").changes


def test_changes_print_in_the_grammar_and_parse_back() -> None:
    texts = [
        "TRAIN: CO * 1.1",
        "*: TT - 5",
        "TRAIN+SM: unavailable",
        "INCOME = 3",
        "`my bus`: CO = `very low`",
        "SM: CO / 2 where GA == 0 and INCOME in (1, 2)",
    ]
    for text in texts:
        (change,) = parse_changes(text)
        assert str(change) == text
        assert str(parse_changes(str(change))[0]) == text
    assert [str(c) for c in parse_changes("TRAIN: CO - 20%; SM: TT * 110%")] == [
        "TRAIN: CO * 0.8",
        "SM: TT * 1.1",
    ]


def test_mutated_scenarios_end_in_a_result_or_a_clear_error(result: Result) -> None:
    rng = np.random.default_rng(0)
    seeds = ["TRAIN: CO * 1.1", "*: TT + 5", "SM: unavailable", "INCOME = 3 where GA == 0"]
    odd = "*:;+-=/`'\"%()., \n\t[]{}$#@x0123456789AéTRAINCO"
    signs = [*odd, *"0123456789  ", "where", "__import__", "1e9"]
    data = result.data.take(np.arange(0, 9_000, 150))
    kinds = {"result": 0, "error": 0}
    for _ in range(1000):
        text = seeds[rng.integers(len(seeds))]
        for _ in range(rng.integers(1, 3)):
            at, sign = rng.integers(len(text) + 1), signs[rng.integers(len(signs))]
            text = text[:at] + sign + text[at + rng.integers(0, 2) :]
        try:
            shares = result.scenario(text, data=data).totals.scenario
        except ac.ArdchoiceError as error:
            assert str(error)
            kinds["error"] += 1
        else:
            assert np.isfinite(shares).all(), text
            kinds["result"] += 1
    assert min(kinds.values()) > 50


def test_a_scenario_shows_as_text_html_and_figure(result: Result) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    scenario = result.scenario("TRAIN: CO * 1.1", by="GA", name="<dearer>")
    assert max(map(len, str(scenario).splitlines())) <= 80
    assert "&lt;dearer&gt;" in scenario._repr_html_()
    assert "<dearer>" not in scenario._repr_html_()
    assert scenario.plot().get_title(loc="left") == "<dearer>"
    assert "GA=1" in scenario.plot(segment="GA=1").get_title(loc="left")
    with pytest.raises(ac.SpecificationError, match="no segment"):
        scenario.plot(segment="GA=7")
    assert result.scenarios({"a": "TRAIN: CO * 2"}).plot().get_ylabel() == "share in %"
    assert result.curve("TRAIN: CO", [1, 2]).plot().get_ylabel() == "share in %"
    shown = str(result.curve("TRAIN: CO"))
    assert "Note: " in shown
    assert max(map(len, shown.splitlines())) <= 80

"""What levels and classes are worth, against ratios of coefficients taken by hand."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.estimation import Result

BRANDS = {"A": 0.0, "B": 1.0, "C": -0.5}
PRICE = -0.4


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """A conjoint: two products without names, brand and price, men and women."""
    rng = np.random.default_rng(0)
    n = 1500
    columns: dict[str, object] = {"ID": np.arange(n) // 3}
    value = rng.gumbel(size=(2, n))
    woman = rng.integers(0, 2, n // 3).repeat(3)
    for j in (1, 2):
        brand = rng.choice(list(BRANDS), n)
        columns[f"brand{j}"], columns[f"price{j}"] = brand, rng.uniform(1, 9, n).round(1)
        value[j - 1] += np.array([BRANDS[b] for b in brand]) + PRICE * np.asarray(
            columns[f"price{j}"]
        )
        value[j - 1] += 0.8 * woman * (brand == "B")
    columns["sex"] = np.where(woman, "f", "m")
    columns["pick"] = value.argmax(axis=0) + 1
    return pd.DataFrame(columns)


def read(table: pd.DataFrame, **options: Any) -> ac.ChoiceData:
    return ac.read_wide(
        table,
        alternatives=[1, 2],
        choice="pick",
        attributes={
            "brand": ac.Categorical("brand{alt}", reference="A"),
            "price": "price{alt}",
        },
        covariates={"sex": ac.Categorical(reference="m")},
        person="ID",
        **options,
    )


def by_hand(result: Result, over: list[str], under: str) -> tuple[float, float]:
    """-Σβ / β and its standard error."""
    b, cov = result.estimates, result.covariance()
    top, bottom = float(b[over].sum()), float(b[under])
    g = pd.Series(0.0, index=b.index)
    g[over] = -1 / bottom
    g[under] += top / bottom**2
    return -top / bottom, float(np.sqrt(g @ cov @ g))


def test_a_level_is_worth_what_one_would_pay_for_it_instead_of_the_reference(
    table: pd.DataFrame,
) -> None:
    result = ac.fit_mnl(read(table), "*: brand + price")
    found = result.wtp("brand", "price")
    assert list(found.columns) == [
        *("alternative", "segment", "level", "n", "estimate", "std_err", "low", "high")
    ]
    assert found["level"].tolist() == ["B", "C"]
    assert set(found["n"]) == {1500}
    for level, estimate, std_err in found[["level", "estimate", "std_err"]].to_numpy():
        expected = by_hand(result, [f"*: brand [{level}]"], "*: price")
        assert (estimate, std_err) == pytest.approx(expected, rel=1e-8)
    # B pleases and C displeases.
    assert found["estimate"][0] > 0 > found["estimate"][1]
    assert "level" not in result.wtp("price", "price")


def test_levels_by_segment_add_the_interaction(table: pd.DataFrame) -> None:
    result = ac.fit_mnl(read(table), "*: brand + brand x sex + price")
    found = result.wtp("brand", "price").set_index(["segment", "level"])
    for level in "BC":
        main, more = f"*: brand [{level}]", f"*: brand x sex [{level}, f]"
        for segment, over in (("sex=m", [main]), ("sex=f", [main, more])):
            row = found.loc[(segment, level)]
            expected = by_hand(result, over, "*: price")
            assert (row["estimate"], row["std_err"]) == pytest.approx(expected, rel=1e-8)
    share = (table["sex"] == "f").mean()
    b = result.estimates
    everybody = result.wtp("brand", "price", by=[]).set_index("level")["estimate"]
    mean = b["*: brand [B]"] + share * b["*: brand x sex [B, f]"]
    assert everybody["B"] == pytest.approx(-mean / b["*: price"], rel=1e-9)


def test_classes_are_worth_something_as_levels_are(table: pd.DataFrame) -> None:
    data = ac.read_wide(
        table.assign(speed1=table["price1"][::-1].to_numpy(), speed2=table["price2"] ** 0.5),
        alternatives=[1, 2],
        choice="pick",
        attributes={"speed": "speed{alt}", "price": "price{alt}"},
    )
    result = ac.fit_mnl(data, "*: quantiles(speed, 3) + price")
    found = result.wtp("speed", "price")
    assert found["level"].tolist() == ["1", "2"]
    expected = by_hand(result, ["*: quantiles(speed, 3) [2]"], "*: price")
    assert found["estimate"][1] == pytest.approx(expected[0], rel=1e-9)


def test_an_infinite_level_spoils_the_errors_of_what_depends_on_it_only(
    table: pd.DataFrame,
) -> None:
    # Nobody chooses Z: as well might it not have been on offer.
    z = table["brand2"].where(table.index % 10 != 0, "Z")
    hated = table.assign(brand2=z, pick=table["pick"].where(z != "Z", 1), on2=(z != "Z") * 1)
    result = ac.fit_mnl(read(hated), "*: brand + price\n2: ASC", separation="allow")
    assert result.is_infinite.sum() == 1
    with pytest.warns(ac.ArdchoiceWarning, match="Only one alternative"):
        without = read(hated, availability={"2": "on2"})
    gone = ac.fit_mnl(without, "*: brand + price\n2: ASC")
    for cross in (False, True):
        ours, theirs = (r.elasticities("price", cross=cross) for r in (result, gone))
        assert ours["std_err"].notna().all()
        np.testing.assert_allclose(ours["estimate"], theirs["estimate"], rtol=1e-5)
        np.testing.assert_allclose(ours["std_err"], theirs["std_err"], rtol=1e-4)
    worth = result.wtp("brand", "price").set_index("level")["std_err"]
    assert worth.isna().to_dict() == {"B": False, "C": False, "Z": True}


def test_what_would_be_paid_for_is_positive_a_unit_less_of_time_a_unit_more_of_the_rest() -> None:
    rng = np.random.default_rng(5)
    columns: dict[str, Any] = {}
    value = rng.gumbel(size=(2, 900))
    for j in (1, 2):
        each = {name: rng.uniform(1, 9, 900) for name in ("time", "price", "range")}
        columns |= {f"{name}{j}": values for name, values in each.items()}
        value[j - 1] += 0.5 * each["range"] - 0.4 * each["time"] - 0.3 * each["price"]
    columns["pick"] = value.argmax(axis=0) + 1
    names = ("time", "price", "range")
    data = ac.read_wide(
        pd.DataFrame(columns),
        alternatives=[1, 2],
        choice="pick",
        attributes={name: f"{name}{{alt}}" for name in names},
    )
    result = ac.fit_mnl(data, "*: time + price + range")
    b = result.estimates
    saved, more = (
        float(result.wtp(name, "price")["estimate"].iloc[0]) for name in ("time", "range")
    )
    assert saved == pytest.approx(b["*: time"] / b["*: price"], rel=1e-9)
    assert more == pytest.approx(-b["*: range"] / b["*: price"], rel=1e-9)
    assert min(saved, more) > 0

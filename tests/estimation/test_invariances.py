"""The same choices told differently give the same model."""

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.estimation import Result

SAME_DATA = 1e-10  # wide and long hold the very same numbers
ROUNDING = 1e-8  # sums in another order

MODES = ("bike", "bus", "car")
SPECIFICATION = """
    bike: ASC + time
    bus:  ASC + time + log1p(cost) x club
    car:  time x age
    bus+car: cost
    *:    comfort
"""


def make_table(seed: int = 0, n: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"id": np.arange(n), "person": np.arange(n) // 3})
    for mode in MODES:
        table[f"time_{mode}"] = rng.uniform(5, 60, n)
        table[f"comfort_{mode}"] = rng.normal(size=n)
        table[f"av_{mode}"] = (rng.random(n) < 0.85).astype(int)
        if mode != "bike":
            table[f"cost_{mode}"] = rng.uniform(0, 10, n)
    table["av_car"] = 1
    table.loc[table["av_bus"] == 0, "av_bike"] = 1
    table["club"] = rng.choice(["gold", "silver", "none"], n)
    table["age"] = rng.uniform(18, 80, n).round(1)
    table["w"] = rng.integers(1, 4, n)
    v = np.stack(
        [
            0.3 - 0.05 * table["time_bike"] + 0.5 * table["comfort_bike"],
            0.8 - 0.04 * table["time_bus"] + 0.5 * table["comfort_bus"] - 0.2 * table["cost_bus"],
            -0.03 * table["time_car"] + 0.5 * table["comfort_car"] - 0.2 * table["cost_car"],
        ]
    )
    v[np.stack([table[f"av_{m}"] for m in MODES]) == 0] = -np.inf
    table["mode"] = np.array(MODES)[(v + rng.gumbel(size=v.shape)).argmax(axis=0)]
    return table


def read(table: pd.DataFrame, *, modes: tuple[str, ...] = MODES, weight: str | None = None, **how):
    return ac.read_wide(
        table,
        alternatives=modes,
        choice="mode",
        attributes={
            "time": "time_{alt}",
            "comfort": "comfort_{alt}",
            "cost": {"bus": "cost_bus", "car": "cost_car"},
        },
        covariates={"club": ac.Categorical(reference="none"), "age": ac.Numeric()},
        availability="av_{alt}",
        person="person",
        weight=weight,
        **how,
    )


def melt(table: pd.DataFrame) -> pd.DataFrame:
    """The same choices in long form, by hand."""
    rows = []
    for record in table.to_dict("records"):
        for mode in MODES:
            if record[f"av_{mode}"]:
                rows.append(
                    {
                        "id": record["id"],
                        "person": record["person"],
                        "alt": mode,
                        "chosen": record["mode"] == mode,
                        "time": record[f"time_{mode}"],
                        "comfort": record[f"comfort_{mode}"],
                        "cost": record.get(f"cost_{mode}", np.nan),
                        "club": record["club"],
                        "age": record["age"],
                        "w": record["w"],
                    }
                )
    return pd.DataFrame(rows)


def assert_same(a: Result, b: Result, tolerance: float, kinds: tuple[str, ...]) -> None:
    assert b.loglik == pytest.approx(a.loglik, rel=tolerance)
    np.testing.assert_allclose(b.estimates[list(a.names)], a.coefficients, rtol=tolerance)
    for kind in kinds:
        std_err = b.to_frame(kind).loc[list(a.names), "std_err"]
        np.testing.assert_allclose(std_err, a.to_frame(kind)["std_err"], rtol=tolerance)


EVERY_KIND = ("classical", "robust", "cluster")


def test_wide_and_long_give_the_same_fit() -> None:
    table = make_table()
    wide = ac.fit_mnl(read(table), SPECIFICATION)
    long = ac.read_long(
        melt(table),
        situation="id",
        alternative="alt",
        chosen="chosen",
        attributes=["time", "comfort", "cost"],
        covariates={"club": ac.Categorical(reference="none"), "age": ac.Numeric()},
        person="person",
    )
    assert_same(wide, ac.fit_mnl(long, SPECIFICATION), SAME_DATA, EVERY_KIND)


def test_integer_weights_equal_repeated_rows() -> None:
    table = make_table()
    weighted = ac.fit_mnl(read(table, weight="w", weight_kind="frequency"), SPECIFICATION)
    repeated = ac.fit_mnl(read(table.loc[table.index.repeat(table["w"])]), SPECIFICATION)
    assert_same(weighted, repeated, ROUNDING, EVERY_KIND)
    assert weighted.null_loglik == pytest.approx(repeated.null_loglik, rel=ROUNDING)
    assert weighted.constants_loglik == pytest.approx(repeated.constants_loglik, rel=ROUNDING)


def test_the_order_of_rows_does_not_matter() -> None:
    table = make_table()
    shuffled = table.sample(frac=1, random_state=1)
    a, b = ac.fit_mnl(read(table), SPECIFICATION), ac.fit_mnl(read(shuffled), SPECIFICATION)
    assert_same(a, b, ROUNDING, EVERY_KIND)


def test_the_order_of_alternatives_does_not_matter() -> None:
    table = make_table()
    a = ac.fit_mnl(read(table), SPECIFICATION)
    b = ac.fit_mnl(read(table, modes=("car", "bike", "bus")), SPECIFICATION)
    assert_same(a, b, ROUNDING, EVERY_KIND)


def test_a_unit_rescales_its_coefficient_and_nothing_else() -> None:
    table = make_table()
    hours = table.copy()
    for mode in MODES:
        hours[f"time_{mode}"] /= 60
    a, b = ac.fit_mnl(read(table), SPECIFICATION), ac.fit_mnl(read(hours), SPECIFICATION)
    assert b.loglik == pytest.approx(a.loglik, rel=ROUNDING)
    for name in a.names:
        factor = 60 if "time" in name else 1
        assert b.estimates[name] == pytest.approx(factor * a.estimates[name], rel=ROUNDING)


def test_columns_of_wildly_different_scale_are_no_trouble() -> None:
    table = make_table()
    tiny = table.copy()
    for mode in MODES:
        tiny[f"time_{mode}"] *= 1e-9
        tiny[f"comfort_{mode}"] *= 1e6
    a = ac.fit_mnl(read(table), SPECIFICATION)
    with pytest.warns(ac.ArdchoiceWarning, match="change a unit"):
        data = read(tiny)
    b = ac.fit_mnl(data, SPECIFICATION)
    assert b.loglik == pytest.approx(a.loglik, rel=ROUNDING)
    assert b.converged

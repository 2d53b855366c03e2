"""The page of a model estimated by hand: distributions of tastes, and what forbids its use."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.report.sections.families import _correlations


def simulated(cost: float, spread: float = 0.0) -> ChoiceData:
    """Persons who differ in time, and whose cost coefficient is given."""
    rng = np.random.default_rng(3)
    n, t = 150, 6
    columns: dict[str, object] = {"ID": np.repeat(np.arange(n), t)}
    time = -1.0 + 1.0 * np.repeat(rng.standard_normal(n), t)
    value = rng.gumbel(size=(2, n * t))
    costs = cost + spread * np.repeat(np.random.default_rng(4).standard_normal(n), t)
    for j, name in enumerate("AB"):
        tt, co = rng.uniform(0, 3, (2, n * t))
        columns |= {f"{name}_TT": tt, f"{name}_CO": co}
        value[j] += time * tt + costs * co
    columns["CHOICE"] = np.where(value.argmax(axis=0) == 0, "A", "B")
    return ac.read_wide(
        pd.DataFrame(columns),
        alternatives=["A", "B"],
        choice="CHOICE",
        attributes={"TT": "{alt}_TT", "CO": "{alt}_CO"},
        person="ID",
    )


def page(data: ChoiceData, family: ac.Family, folder: Path) -> str:
    result = ac.fit(data, "A: ASC\n*: TT + CO", family=family)
    return result.report(folder / "model.html").read_text(encoding="utf-8")


def test_a_mixed_logit_shows_how_tastes_are_distributed(tmp_path: Path) -> None:
    text = page(simulated(-1.0), ac.Mixed({"*: TT": "normal"}), tmp_path)
    assert 'aria-label="How tastes and willingness to pay are distributed' in text
    assert "*: TT / CO" in text
    assert "The sign of some persons is wrong" in text  # one in six, as simulated
    assert "Wrong sign" not in text


def test_wtp_space_says_who_would_have_to_be_paid_for_time_saved(tmp_path: Path) -> None:
    family = ac.Mixed({"*: TT": "normal"}, space="wtp", cost="CO")
    text = page(simulated(-1.0), family, tmp_path)
    note = text[text.index("The sign of some persons is wrong") :][:200]
    share = float(re.search(r"TT / CO is negative for (\d+) % of persons", note)[1])
    # A mean of one and a standard deviation of one, as simulated: 16 %.
    assert 12 < share < 20
    positive = ac.Mixed({"*: TT": "lognormal"}, space="wtp", cost="CO")
    assert "The sign of some persons" not in page(simulated(-1.0), positive, tmp_path)


@pytest.mark.parametrize("family", [ac.Mnl(), ac.Mixed({"*: TT": "normal"})], ids=["mnl", "mixed"])
def test_a_cost_that_is_liked_is_crossed_out_at_the_top(family: ac.Family, tmp_path: Path) -> None:
    text = page(simulated(0.7), family, tmp_path)
    assert text.index("Wrong sign") < text.index('id="estimates"')
    assert "Utility rises with CO of A (whole sample)" in text
    note = text[text.index("Wrong sign") - 300 : text.index("Wrong sign")]
    assert "✗" in note or "bad" in note


def test_correlations_are_a_matrix_of_few_and_a_list_of_many() -> None:
    data = simulated(-1.0, 0.8)
    family = ac.Mixed({"*: TT": "normal", "*: CO": "normal"}, correlated=True)
    result = ac.fit(data, "A: ASC\n*: TT + CO", family=family)
    (table,) = _correlations(result)
    assert table.head == ["", "*: TT", "*: CO"]
    assert table.rows[1][1:] == [pytest.approx(result.estimates["cor(*: CO, *: TT)"]), 1.0]
    assert _correlations(ac.fit_mnl(data, "*: TT + CO")) == []

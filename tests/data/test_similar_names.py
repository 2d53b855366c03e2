"""Slips in names are found, and names that are merely alike are not."""

import numpy as np
import pandas as pd
import pytest
from data_support import says, the_warning

import ardchoice as ac
from ardchoice.data.similar_names import NearMiss, near_misses


@pytest.mark.parametrize(
    ("rare", "often", "found"),
    [
        ("Acmee", "Acme", True),
        ("a", "A", True),
        ("none ", "None", True),
        ("first_class", "first class", True),
        ("Zurich", "Zürich", True),
        ("b", "a", False),
        ("male", "female", False),
        ("18-26", "18-25", False),
        ("11", "1", False),
        ("bus", "bis", False),
        ("Genève", "Bern", False),
    ],
)
def test_a_rare_name_near_a_common_one(rare: str, often: str, found: bool) -> None:
    wanted = [NearMiss(rare, 1, often)] if found else []
    assert near_misses([rare, often, "other"], np.array([1, 100, 50])) == wanted
    assert near_misses([rare, often], np.array([40, 100])) == []
    assert near_misses([rare, often], np.array([1, 5])) == []


def test_slips_in_levels_and_alternatives_are_warned_of() -> None:
    n = 60
    table = pd.DataFrame(
        {
            "s": np.repeat(np.arange(n), 2),
            "alt": ["A", "B"] * n,
            "y": [1, 0, 0, 1] * (n // 2),
            "brand": ["Acme", "Best", "Best", "Acme"] * (n // 2),
            "x": np.arange(2 * n) % 7,
        }
    )
    how = {"situation": "s", "alternative": "alt", "chosen": "y", "attributes": ["x", "brand"]}
    ac.read_long(table, **how)
    table.loc[0, "brand"] = "Acmee"
    problem = the_warning("near-miss", lambda: ac.read_long(table, **how))
    says(problem, "brand has level 'Acmee' in 1 row; did you mean 'Acme'?")
    says(problem, "merge={'Acme': ['Acmee']}")
    role = ac.Categorical(merge={"Acme": ["Acmee"]})
    fixed = ac.read_long(table, **(how | {"attributes": {"x": "x", "brand": role}}))
    assert fixed.attributes["brand"].levels == ("Acme", "Best")
    table.loc[0, ["brand", "alt"]] = ["Acme", "a"]
    # The same but for a capital letter is the same, and noted.
    (note,) = [p for p in ac.read_long(table, **how).warnings if p.code == "spelling"]
    says(note, "Column 'alt'", "'a' as 'A'")

"""Alternatives in several spellings are one, with a note; the choice is no covariate."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.errors import DataError

ROWS = 60
NAMES = ("bus", "car", "rail")


def wide() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({f"time_{a}": rng.uniform(5, 60, ROWS).round(1) for a in NAMES})
    frame["pick"] = rng.choice(NAMES, ROWS)
    frame["sex"] = rng.choice(["f", "m"], ROWS)
    return frame


def long() -> pd.DataFrame:
    frame = wide()
    parts = [
        pd.DataFrame(
            {
                "trip": np.arange(ROWS),
                "mode": a,
                "time": frame[f"time_{a}"],
                "chosen": (frame["pick"] == a) * 1,
            }
        )
        for a in NAMES
    ]
    return pd.concat(parts).sort_values("trip", kind="stable").reset_index(drop=True)


def read(frame: pd.DataFrame, covariates: list[str] | None = None) -> ac.ChoiceData:
    return ac.read_wide(
        frame,
        alternatives=NAMES,
        choice="pick",
        attributes={"time": "time_{alt}"},
        covariates=covariates,
    )


def read_long(table: object, **how: object) -> ac.ChoiceData:
    names = {"situation": "trip", "alternative": "mode", "chosen": "chosen"}
    return ac.read_long(table, **names, attributes=["time"], **how)


def test_a_choice_with_blanks_or_capital_letters_is_the_same_choice() -> None:
    frame = wide()
    other = frame.copy()
    other.loc[3:6, "pick"] = [f" {name.upper()} " for name in frame.loc[3:6, "pick"]]
    data = read(other)
    np.testing.assert_array_equal(data.chosen(), read(frame).chosen())
    (note,) = data.warnings
    assert (note.severity, note.code) == ("note", "spelling")
    assert "Column 'pick' has alternatives in several spellings, read as one" in note.message


@pytest.mark.parametrize("listed", [None, NAMES])
def test_alternatives_of_a_long_table_are_one_whatever_their_spelling(
    listed: tuple[str, ...] | None,
) -> None:
    frame = long()
    other = frame.copy()
    other.loc[10:14, "mode"] = [name + " " for name in frame.loc[10:14, "mode"]]
    other.loc[40:44, "mode"] = [name.upper() for name in frame.loc[40:44, "mode"]]
    one, same = (read_long(t, alternatives=listed) for t in (frame, other))
    assert same.alternatives == one.alternatives
    np.testing.assert_array_equal(same.available, one.available)
    np.testing.assert_array_equal(same.chosen(), one.chosen())
    assert [p.code for p in same.warnings] == ["spelling"]


def test_codes_that_differ_by_capital_letters_only_stay_two() -> None:
    frame = wide().assign(pick=np.where(np.arange(ROWS) % 2, "a", "A"))
    frame["time_x"], frame["time_y"] = frame["time_bus"], frame["time_car"]
    data = ac.read_wide(
        frame, alternatives={"x": "a", "y": "A"}, choice="pick", attributes={"time": "time_{alt}"}
    )
    np.testing.assert_array_equal(data.chosen(), np.arange(ROWS) % 2 == 0)


def test_a_spelling_of_nothing_is_an_error_still() -> None:
    with pytest.raises(DataError, match="'tram', the code of no alternative"):
        read(wide().assign(pick="tram"))


@pytest.mark.parametrize("name", ["pick", "recoded"])
def test_the_choice_is_no_covariate_under_any_name(name: str) -> None:
    frame = wide()
    frame["recoded"] = frame["pick"].map({"bus": 3, "car": 1, "rail": 2})
    with pytest.raises(DataError, match=rf"Covariate {name} .* is the choice itself, or a recod"):
        read(frame, ["sex", name])
    assert list(read(frame, ["sex"]).covariates) == ["sex"]


def test_what_the_chosen_alternative_takes_is_no_covariate(tmp_path: Path) -> None:
    frame = wide()
    each = {a: frame[f"time_{a}"] for a in NAMES}
    frame["taken"] = [each[a][i] for i, a in enumerate(frame["pick"])]
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    how = {
        "alternatives": NAMES,
        "choice": "pick",
        "attributes": {"time": "time_{alt}"},
        "covariates": {"taken": ac.Numeric()},
    }
    for table, stream in ((frame, False), (path, True)):
        with pytest.raises(DataError, match=r"Covariate taken .* is time of the chosen alternat"):
            ac.read_wide(table, **how, stream=stream)
    # In one row it is something else.
    other = frame.assign(taken=frame["taken"].where(frame.index > 0, frame["taken"] + 0.5))
    assert list(ac.read_wide(other, **how).covariates) == ["taken"]


def test_spellings_are_one_in_a_file_that_is_read_part_by_part(tmp_path: Path) -> None:
    frame = wide()
    frame.loc[5, "pick"] = frame.loc[5, "pick"].upper()
    frame.to_csv(tmp_path / "t.csv", index=False)
    how = {"alternatives": NAMES, "choice": "pick", "attributes": {"time": "time_{alt}"}}
    chosen = [ac.read_wide(tmp_path / "t.csv", **how, stream=s).chosen() for s in (False, True)]
    np.testing.assert_array_equal(*chosen)


def test_an_attribute_that_is_another_in_other_units_is_named() -> None:
    frame = wide()
    for a in NAMES:
        frame[f"seconds_{a}"] = 60 * frame[f"time_{a}"]
    data = ac.read_wide(
        frame,
        alternatives=NAMES,
        choice="pick",
        attributes={"time": "time_{alt}", "seconds": "seconds_{alt}"},
    )
    study = ac.specify(data, ac.SearchSpace(data, generic=True, specific=False))
    said = "*: seconds is the same as '*: time': excluded."
    assert said in study.explain()
    assert said in study.summary()

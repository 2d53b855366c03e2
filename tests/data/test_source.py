"""What was read is remembered well enough to read it again."""

from __future__ import annotations

import numpy as np
import pandas as pd

import ardchoice as ac
from ardchoice.data.source import Source


def wide_file(folder):
    table = pd.DataFrame(
        {
            "picked": [1, 2, 1, 2],
            "t_bus": [1.5, 2, 3, 4],
            "t_car": [2, 1, 2.5, 1],
            "av_bus": [1, 1, 1, 1],
            "av_car": [1, 1, 1, 1],
            "sex": ["f", "m", "m", "f"],
            "who": [7, 7, 8, 8],
        }
    )
    path = folder / "trips.csv"
    table.to_csv(path, index=False, sep=";", decimal=",")
    return path


def test_a_wide_file_is_remembered_with_every_pattern_resolved(tmp_path):
    path = wide_file(tmp_path)
    sex = ac.Categorical(reference="f")
    data = ac.read_wide(
        path,
        alternatives={"bus": 1, "car": 2},
        choice="picked",
        attributes={"time": "t_{alt}"},
        covariates={"gender": ac.Categorical("sex", reference="f")},
        availability="av_{alt}",
        person="who",
    )
    source = data.source
    assert isinstance(source, Source)
    assert (source.layout, source.path) == ("wide", str(path))
    assert source.text is not None
    assert (source.text.separator, source.text.decimal) == (";", ",")
    assert source.alternatives == {"bus": "1", "car": "2"}
    assert source.attributes == {"time": {"bus": "t_bus", "car": "t_car"}}
    assert source.covariates == {"gender": "sex"}
    assert source.roles["gender"].reference == sex.reference
    assert source.availability == {"bus": "av_bus", "car": "av_car"}
    assert (source.choice, source.person, source.weight) == ("picked", "who", None)
    assert data.take(np.array([0, 1])).source is source


def test_a_long_frame_is_remembered_without_a_path():
    table = pd.DataFrame(
        {
            "trip": [1, 1, 2, 2, 3, 3],
            "mode": ["bus", "car"] * 3,
            "chosen": [1, 0, 0, 1, 1, 0],
            "time": [3.0, 2.0, 1.0, 2.0, 4.0, 1.0],
            "wait": [3.0, np.nan, 1.0, np.nan, 4.0, np.nan],
        }
    )
    data = ac.read_long(
        table,
        situation="trip",
        alternative="mode",
        chosen="chosen",
        attributes=["time", "wait"],
    )
    source = data.source
    assert source is not None
    assert (source.layout, source.path, source.text) == ("long", None, None)
    assert (source.situation, source.alternative, source.choice) == ("trip", "mode", "chosen")
    assert source.attributes == {"time": {"bus": "time", "car": "time"}, "wait": {"bus": "wait"}}

"""Settings, study files and Python objects are three ways to say the same."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from settings_support import STUDY, write_study

import ardchoice as ac
from ardchoice.data import Source
from ardchoice.saved import Decoder, Encoder
from ardchoice.settings import StudySettings, parse_settings, read_settings, settings_of, to_toml
from ardchoice.space.terms import quoted
from tests_support import small_data

NASTY = [
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    'quo"te',
    "apos'trophe",
    "back`tick",
    "new\nline",
    "carriage\r\nreturn",
    "tab\tul\x7f\x00ator",
    "Zürich → 日本 🚆",
    "back\\slash\\",
    "a.b",
    "{alt}",
    "#",
    '"""',
    "",
    " ",
]


def record_of(study, data):
    """A record as a run with these settings would make it, but for the long search."""
    space = study.make_space(data)
    small = ac.SearchSpace(small_data(60), base="b")
    fit = ac.fit_ard(small_data(60), small)
    done = ac.specify(small_data(60), small, seed=study.selection.seed)
    return replace(
        done,
        data=data,
        space=space,
        fit=replace(fit, solver=study.make_solver()),
        structure=study.make_structure(),
        rule=study.make_rule(),
        honest=study.selection.honest,
        evaluation=None,
    )


def round_trip(study, folder):
    data = study.read_choices(folder)
    return settings_of(record_of(study, data), folder)


SECTIONS = {
    "plain": "",
    "dsvi": '[solver]\nmethod = "dsvi"\nbatches = 3\ntolerance = 0.1\n',
    "paper": '[solver]\nmethod = "dsvi-paper"\nsteps = 10\ndecay = 0.5\n[structure]\nrules = false',
    "held out": """[selection]
rule = "held-out"
seed = 4
folds = 3
weights = [1, 2]
honest = true""",
    "evidence": """[selection]
rule = "evidence"
above = 2
[space]
generic = true
specific = false""",
    "rules": """[structure]
heredity = false
one_form = "everywhere"
linear_unless = 0
constants = false
signs = { TT = "-" }
force = ["*: TT"]
forbid = "SM: CO"
exclusive = [["TRAIN: TT", "TRAIN: CO"], "*: segments(*)"]
together = [["TRAIN: TT", "SM: TT"]]
max_terms = 12
max_coefficients = 40
[selection]
rule = "ebic"
gamma = 0.5""",
    "space": """[space]
transforms = { TT = ["linear", "boxcox(1)"], "SM: CO" = ["piecewise(100, 200.5)"] }
attributes = ["TT", "CO"]
by = ["GA"]
depth = 1
constants = false
generic = ["CO"]
interact_classes = true
add = ["TRAIN+SM: log1p(CO) x GA"]
remove = ["SM: TT*", "*: * x AGE"]
force = ["TRAIN: TT"]""",
}


@pytest.mark.parametrize("section", SECTIONS)
def test_settings_to_objects_and_back(tmp_path, section):
    write_study(tmp_path)
    head = STUDY[: STUDY.index("[space]")]
    study = parse_settings(head + SECTIONS[section])
    assert round_trip(study, tmp_path) == study
    assert parse_settings(to_toml(study)) == study
    assert StudySettings.model_validate(study.model_dump(mode="json")) == study
    assert StudySettings.model_validate_json(study.model_dump_json()) == study


def test_a_study_of_long_data_comes_back(tmp_path):
    table = pd.DataFrame(
        {
            "trip": np.repeat([1, 2, 3, 4], 2),
            "mode": ["bus", "car"] * 4,
            "picked": [1, 0, 0, 1, 1, 0, 0, 1],
            "time": [3.0, 2, 1, 2, 4, 1, 2, 2],
            "colour": ["r", "g", "g", "r", "r", "b", "b", "r"],
            "rich": np.repeat([0, 1, 1, 0], 2),
        }
    )
    table.to_csv(tmp_path / "long.csv", index=False)
    study = parse_settings("""
[data]
table = "long.csv"
layout = "long"
alternatives = ["bus", "car"]
situation = "trip"
alternative = "mode"
chosen = "picked"
covariates = ["rich"]
[data.attributes]
time = "time"
paint = { column = "colour", merge = { other = ["g", "b"] } }
""")
    again = round_trip(study, tmp_path)
    assert again == study
    assert settings_of(record_of(study, study.read_choices(tmp_path))).data.table == str(
        tmp_path / "long.csv"
    )


def test_a_study_of_a_data_frame_has_everything_but_a_table():
    data = ac.datasets.swissmetro_choices("real")
    study = ac.specify(small_data(80), ac.SearchSpace(small_data(80)))
    told = settings_of(replace(study, data=data, space=ac.swissmetro_space(data, "large")))
    assert told.data.table is None
    assert told.data.attributes["TT"].column == "{alt}_TT"
    assert told.data.attributes["HE"].column == {"TRAIN": "TRAIN_HE", "SM": "SM_HE"}
    assert told.data.covariates["PURPOSE"].merge["1"] == ("1", "3", "5", "7")
    assert [str(t) for t in told.make_space(data)] == [
        str(t) for t in ac.swissmetro_space(data, "large")
    ]
    assert parse_settings(to_toml(told), complete=False) == told
    made_otherwise = settings_of(replace(study, data=replace(data, source=None)))
    assert made_otherwise.data == StudySettings().data


def test_held_out_folds_follow_the_seed_of_the_study():
    data = small_data(80)
    study = ac.specify(data, ac.SearchSpace(data, base="b"), rule=ac.HeldOut(folds=2), seed=3)
    assert study.rule.seed == 3
    told = settings_of(study).selection
    assert (told.seed, told.fold_seed) == (3, 0)


def test_another_table_is_read_the_same_way_for_prediction(tmp_path):
    path = write_study(tmp_path)
    study = read_settings(path)
    data = study.read_choices(tmp_path)
    new = ac.datasets.swissmetro().iloc[1000:1050].drop(columns="CHOICE")
    later = study.read_choices(tmp_path, table=new, like=data, observed=False)
    assert later.choice is None
    assert later.covariates["AGE"].levels[: len(data.covariates["AGE"].levels)] == (
        data.covariates["AGE"].levels
    )


def nasty_study(one, two, three):
    """Settings in which every name is an odd one."""
    term = str(ac.Term((one,), three))
    data = {
        "table": f"{one}.csv",
        "alternatives": {one: one, two: "2"},
        "choice": two,
        "attributes": {three: {"column": {one: one, two: three}}, f"{three}2": "x_{alt}"},
        "covariates": {
            two: {"kind": "categorical", "merge": {one: [two, "3"]}, "missing": three},
            one: {"column": three, "edges": [1, 2.5], "labels": [f"{one}{i}" for i in range(3)]},
        },
    }
    return StudySettings.model_validate(
        {
            "data": data,
            "space": {"by": [two], "base": one, "add": [term], "transforms": {three: ["log"]}},
            "structure": {"signs": {three: "-"}},
            "output": {"compare": {one: term, two: f"{term}\n{term} x {quoted(two)}"}},
        }
    )


@pytest.mark.parametrize("one", NASTY)
@pytest.mark.parametrize("three", NASTY[::3])
def test_nasty_names_survive_the_file(one, three):
    study = nasty_study(f"a{one}", f"b{one}", f"c{three}")
    text = to_toml(study)
    assert parse_settings(text, complete=False).model_dump() == study.model_dump()
    text.encode("utf-8")


TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)


@settings(max_examples=60, deadline=None)
@given(TEXT, TEXT, st.dictionaries(TEXT, TEXT, min_size=2, max_size=4))
def test_any_text_survives_the_file(one, two, columns):
    study = StudySettings.model_validate(
        {
            "data": {
                "table": one,
                "choice": two,
                "person": one,
                "alternatives": {name: f"x{i}" for i, name in enumerate(columns)},
                "attributes": {one: {"column": columns}},
                "covariates": {f"{one}!": {"levels": [one, f"{one}."], "reference": two}},
            },
            "space": {"by": [f"{one}!"]},
        }
    )
    assert parse_settings(to_toml(study), complete=False) == study


def test_situations_of_two_columns_are_told_and_saved(tmp_path):
    rows = [(p, t, a) for p in "ab" for t in (1, 2) for a in ("bus", "car")]
    table = pd.DataFrame(rows, columns=["who", "task", "mode"])
    table = table.assign(x=range(8), y=[0, 1, 1, 0] * 2)
    table.to_csv(tmp_path / "long.csv", index=False)
    text = (
        '[data]\ntable = "long.csv"\nlayout = "long"\nsituation = ["who", "task"]\n'
        'alternative = "mode"\nchosen = "y"\nattributes = ["x"]\n'
    )
    study = parse_settings(text)
    assert study.data.situation == ("who", "task")
    assert parse_settings(to_toml(study)) == study
    source = study.read_choices(tmp_path).source
    encoded = json.loads(json.dumps(Encoder().encode(source, "source")))
    assert Decoder({}).decode(encoded, Source, "source") == source
    again = round_trip(study, tmp_path)
    assert again.data.situation == ("who", "task")
    assert parse_settings(text.replace('["who", "task"]', '["who"]')).data.situation == "who"
    with pytest.raises(ac.SettingsError, match="'tusk' is not in"):
        parse_settings(text.replace('"task"', '"tusk"')).read_choices(tmp_path)
    with pytest.raises(ac.SettingsError, match="a list of them"):
        parse_settings(text.replace('["who", "task"]', "3"))

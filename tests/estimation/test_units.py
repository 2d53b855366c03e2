"""Units and labels: read, shown, saved, exported; and what is put per hour."""

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.data import hours_in

EVIL = "<img src=x onerror=alert(1)> & $x_1$"
UNITS = {"TT": "min", "CO": "CHF", "HE": "min"}
LABELS = {"TT": "travel time", "GA": EVIL}


def read(**more):
    return ac.read_wide(
        ac.datasets.swissmetro(),
        alternatives={"TRAIN": 1, "SM": 2, "CAR": 3},
        choice="CHOICE",
        attributes={
            "TT": "{alt}_TT",
            "CO": "{alt}_CO",
            "HE": {"TRAIN": "TRAIN_HE", "SM": "SM_HE"},
        },
        covariates=["GA"],
        availability="{alt}_AV",
        person="ID",
        derive={f"{alt}_CO": f"{alt}_CO * (GA == 0)" for alt in ("TRAIN", "SM")},
        where="PURPOSE in (1, 3) and CHOICE != 0 and ID <= 120",
        **more,
    )


@pytest.fixture(scope="module")
def data():
    return read(units=UNITS, labels=LABELS)


@pytest.fixture(scope="module")
def result(data):
    return ac.fit_mnl(data, "TRAIN: ASC + ASC x GA\nSM: ASC\n*: TT + CO")


@pytest.mark.parametrize(
    ("unit", "hours"),
    [
        *(("min", 1 / 60), ("minutes", 1 / 60), ("h", 1.0), ("Hours", 1.0), ("s", 1 / 3600)),
        *(("100 min", 100 / 60), ("0.5 h", 0.5), ("day", 24.0)),
        *((unit, None) for unit in ("CHF", "", "km", "min/km", "m", "0 min", "min.s", "1e3 h")),
    ],
)
def test_units_of_time_are_known(unit, hours):
    assert hours_in(unit) == (None if hours is None else pytest.approx(hours))


def test_value_of_time_per_hour_is_sixty_times_that_per_minute(result):
    minute, hour = result.wtp("TT", "CO"), result.wtp("TT", "CO", per="hour")
    b = result.estimates
    assert hour["estimate"].iloc[0] == pytest.approx(60 * b["*: TT"] / b["*: CO"], rel=1e-12)
    for column in ("estimate", "std_err", "low", "high"):
        assert np.allclose(hour[column], 60 * minute[column], rtol=1e-12)
    assert np.allclose(result.wtp("TT", "CO", per="minute").iloc[:, 3:], minute.iloc[:, 3:])


def test_per_hour_needs_a_unit_of_time(result):
    with pytest.raises(ac.ArdchoiceError, match="CO has the unit 'CHF', which is none of time"):
        result.wtp("CO", "TT", per="hour")
    with pytest.raises(ac.ArdchoiceError, match=r"TT has no unit: .*\[data.units\]"):
        ac.fit_mnl(read(), "*: TT + CO").wtp("TT", "CO", per="hour")
    with pytest.raises(ac.ArdchoiceError, match="per is one of second, minute, hour, day"):
        result.wtp("TT", "CO", per="week")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"units": {"TI": "min"}}, "units: there is no attribute or covariate 'TI'. "),
        ({"units": {"TT": ""}}, "units: 'TT' needs a text"),
        ({"units": {"TT": 5}}, "units: 'TT' needs a text, not 5"),
        ({"units": "min"}, "units is a dict"),
        ({"labels": {"TT": "a\nb"}}, "line breaks"),
        ({"labels": {"TT": "a" * 61}}, "a text of 61 characters; at most 60"),
    ],
)
def test_what_is_no_unit_is_refused(given, says):
    with pytest.raises(ac.ArdchoiceError, match=re.escape(says)):
        read(**given)


def test_tables_show_units_and_labels(data, result):
    text = str(data)
    assert "TT (min)" in text and "CO (CHF)" in text and "TT: travel time" in text
    assert "Units and labels: GA: " in result.summary()
    assert "TT: travel time (min); CO: CHF." in " ".join(result.summary().split())
    assert max(map(len, f"{text}\n{result.summary()}".splitlines())) <= 80
    assert "change of the surplus in CHF" in str(result.scenario("TRAIN: CO * 1.1"))


def test_the_report_puts_time_per_hour_and_escapes_labels(data, tmp_path):
    space = ac.SearchSpace(data, by=["GA"], generic=True, specific=False, base="CAR")
    study = ac.specify(data, space, structure=ac.Structure(force=("*: TT", "*: CO")))
    figure = study.plot.wtp()
    assert figure.axes[0].get_xlabel() == "travel time, CHF per hour, with 95 % intervals"
    drawn = [
        float(line.get_xdata()[0]) for line in figure.axes[0].lines if len(line.get_xdata()) == 1
    ]
    frame = study.result.wtp("TT", "CO", by=[], per="hour")
    assert any(np.isclose(x, frame["estimate"].iloc[0]) for x in drawn)
    page = study.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "CHF per hour" in page and "travel time (min)" in page
    assert "<img src=x" not in page and "&lt;img src=x" in page
    assert "an hour saved" in str(study)
    for shown in (data, study.result, study):
        assert "<img src=x" not in shown._repr_html_()


def test_exports_say_them_without_breaking(result, tmp_path):
    text = " ".join(result.export("text", tmp_path / "model.txt").read_text().split())
    assert "TT: travel time (min)" in text
    tex = result.export("latex", tmp_path / "model.tex").read_text()
    assert "travel time (min)" in tex and "$x_1$" not in tex and r"\$x\_1\$" in tex
    script = result.export("biogeme", tmp_path / "model_b.py")
    assert "TT: travel time (min)" in script.read_text()
    compile(script.read_text(), str(script), "exec")


def test_saved_results_and_new_tables_have_them(result, tmp_path):
    loaded = ac.load(result.save(tmp_path / "saved"), result=True)
    assert loaded.data.described("TT") == "travel time (min)"
    assert loaded.summary() == result.summary()
    new = ac.read_wide(
        ac.datasets.swissmetro().head(20),
        alternatives={"TRAIN": 1, "SM": 2, "CAR": 3},
        choice=None,
        attributes={"TT": "{alt}_TT", "CO": "{alt}_CO"},
        covariates=["GA"],
        like=result.data,
    )
    assert result.predict(new).shape == (20, 3)


STUDY = """
[data]
table = "table.csv"
choice = "CHOICE"
person = "ID"
covariates = ["GA"]
where = "PURPOSE in (1, 3) and CHOICE != 0"

[data.units]
TT = "min"
CO = "CHF"

[data.labels]
TT = "travel time"

[data.alternatives]
TRAIN = 1
SM = 2
CAR = 3

[data.attributes]
TT = "{alt}_TT"
CO = "{alt}_CO"

[space]
generic = true
specific = false

[structure]
force = ["*: TT", "*: CO"]

[output]
folds = 0
"""


def command(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "ardchoice", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_study_file_gives_them(tmp_path):
    table = ac.datasets.swissmetro()
    table[table["ID"] <= 120].to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY)
    ran = command(tmp_path, "run", "study.toml", "--out", "out")
    assert ran.returncode == 0, ran.stderr
    assert "an hour saved" in ran.stdout
    study = ac.load(next(p.parent for p in tmp_path.glob("**/study.json")))
    assert study.data.described("TT") == "travel time (min)"
    written = (next(tmp_path.glob("out/**/report.html"))).read_text(encoding="utf-8")
    assert "[data.units]" in written


def test_a_wrong_name_in_a_study_file_is_found_with_its_line(tmp_path):
    table = ac.datasets.swissmetro()
    table[table["ID"] <= 20].to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY.replace('CO = "CHF"', 'COST = "CHF"\nGA = ""'))
    ran = command(tmp_path, "check", "study.toml")
    assert ran.returncode == 3
    assert "COST" in ran.stderr and "line 11" in ran.stderr
    assert "needs a text" in ran.stderr


def test_long_tables_have_them_too():
    table = pd.DataFrame(
        {
            "id": np.repeat(np.arange(40), 2),
            "alt": ["a", "b"] * 40,
            "x": np.random.default_rng(0).normal(size=80),
            "chosen": [1, 0, 0, 1] * 20,
        }
    )
    data = ac.read_long(
        table,
        situation="id",
        alternative="alt",
        chosen="chosen",
        attributes=["x"],
        units={"x": "km"},
    )
    assert data.described("x") == "x (km)"

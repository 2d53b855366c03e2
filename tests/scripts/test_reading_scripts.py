"""What is understood of a script, and what is said of the rest."""

from __future__ import annotations

import gc
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from foreign_scripts import APOLLO, PYLOGIT, XLOGIT

import ardchoice as ac
from ardchoice.cli.app import cli
from ardchoice.scripts import ScriptModel
from ardchoice.scripts.r_language import parse_r
from ardchoice.settings import read_settings

HEAD = """
from biogeme.expressions import Beta, Variable, bioDraws, MonteCarlo, log, exp
from biogeme import models
TT1, TT2 = Variable('TT_BUS') / 60, Variable('TT_CAR') / 60
CO1, CO2 = Variable('CO_BUS'), Variable('CO_CAR')
INC = Variable('INC')
ASC = Beta('ASC_BUS', 0.5, None, None, 0)
B = Beta('B_TT', 0, None, None, 0)
C = Beta('B_CO', 0, None, None, 0)
"""
TAIL = "\nlogprob = models.loglogit({1: V_BUS, 2: V_CAR}, {1: 1, 2: 1}, Variable('CHOICE'))\n"


def biogeme(lines: str) -> ScriptModel:
    return ac.read_specification(HEAD + lines + TAIL)


def terms(model: ScriptModel) -> set[str]:
    return {str(term) for term in model.specification}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("V_BUS = ASC + B * TT1 + C * CO1\nV_CAR = B * TT2 + C * CO2",
         {"BUS: ASC", "*: TT", "*: CO"}),
        ("V_BUS = ASC + B * log(TT1)\nV_CAR = B * log(TT2)", {"BUS: ASC", "*: log(TT)"}),
        ("V_BUS = ASC + B * CO1 / INC\nV_CAR = B * CO2 / INC", {"BUS: ASC", "*: CO / INC"}),
        ("V_BUS = (ASC + B * INC) + C * CO1\nV_CAR = C * CO2",
         {"BUS: ASC", "BUS: ASC x INC", "*: CO"}),
        ("V_BUS = ASC + (B + C * INC) * TT1\nV_CAR = (B + C * INC) * TT2",
         {"BUS: ASC", "*: TT", "*: TT x INC"}),
        ("V_BUS = ASC + B * TT1 * CO1\nV_CAR = B * TT2 * CO2", {"BUS: ASC", "*: TT x CO"}),
        ("V_BUS = ASC + B * CO1 ** 2 * log(INC)\nV_CAR = 0",
         {"BUS: ASC", "BUS: square(CO) x log(INC)"}),
        ("V_BUS = ASC + B * TT1\nV_CAR = C * CO2", {"BUS: ASC", "BUS: TT1", "CAR: CO"}),
    ],
)  # fmt: skip
def test_utilities_become_terms(lines: str, expected: set[str]) -> None:
    model = biogeme(lines)
    assert terms(model) == expected
    assert model.not_understood == ()
    assert model.start == {"BUS: ASC": 0.5}


def test_the_same_is_estimated_as_by_hand() -> None:
    rng = np.random.default_rng(0)
    names = ("TT_BUS", "TT_CAR", "CO_BUS", "CO_CAR", "INC")
    table = pd.DataFrame({name: rng.uniform(1, 90, 400) for name in names})
    table["CHOICE"] = rng.integers(1, 3, 400)
    model = biogeme("V_BUS = ASC + (B + C * INC) * TT1 / CO1\nV_CAR = (B + C * INC) * TT2 / CO2")
    table["X_BUS"] = table["TT_BUS"] / 60 / table["CO_BUS"]
    table["X_CAR"] = table["TT_CAR"] / 60 / table["CO_CAR"]
    data = ac.read_wide(
        table,
        alternatives={"BUS": 1, "CAR": 2},
        choice="CHOICE",
        attributes={"X": "X_{alt}"},
        covariates={"INC": ac.Numeric()},
    )
    by_hand = ac.fit_mnl(data, "BUS: ASC\n*: X + X x INC")
    found = model.fit(model.read(table))
    assert found.loglik == pytest.approx(by_hand.loglik, abs=1e-9)


def test_what_is_not_linear_is_said_with_its_line_and_the_rest_is_read() -> None:
    lines = "V_BUS = ASC + B * C * TT1\nV_CAR = C * CO2 + mystery(CO2)"
    model = biogeme(lines)
    assert terms(model) == {"BUS: ASC", "CAR: CO"}
    said = " ".join(map(str, model.not_understood))
    assert "line 10: utility of V_BUS: B_CO * B_TT is not linear in the parameters" in said
    (line,) = [d.line for d in model.not_understood if "mystery" in d.reason]
    assert (HEAD + lines).splitlines()[line - 1].startswith("V_CAR")
    assert "mystery" in str(model)


def test_fixed_parameters_are_kept_where_they_are_not_zero() -> None:
    model = biogeme(
        "F = Beta('F', -1, None, None, 1)\nZ = Beta('Z', 0, None, None, 1)\n"
        "V_BUS = ASC + F * CO1 + Z\nV_CAR = F * CO2 + B * TT2"
    )
    assert model.fixed == {"*: CO": -1.0}
    assert "Z" not in model.names


def test_random_coefficients_of_biogeme() -> None:
    model = biogeme(
        "S = Beta('S', 1, None, None, 0)\nR = Beta('R', 1, None, None, 0)\n"
        "BR = B + S * bioDraws('b', 'NORMAL_HALTON2')\n"
        "CR = -exp(C + R * bioDraws('c', 'NORMAL'))\n"
        "V_BUS = ASC + BR * TT1 + CR * CO1\nV_CAR = BR * TT2 + CR * CO2"
    )
    assert model.random == {"*: TT": "normal", "*: CO": "-lognormal"}
    assert isinstance(model.family, ac.Mixed)
    assert model.not_understood == ()


def test_box_cox_with_a_known_and_with_an_estimated_exponent_is_read() -> None:
    fixed = biogeme(
        "V_BUS = ASC + B * models.boxcox(TT1, 0.5)\nV_CAR = B * models.boxcox(TT2, 0.5)"
    )
    assert fixed.not_understood == ()
    assert "** 0.5 - 1) / 0.5" in str(fixed.reading["derive"])
    free = biogeme("V_BUS = ASC + B * models.boxcox(CO1, C)\nV_CAR = B * models.boxcox(CO2, C)")
    assert "*: boxcox(CO)" in terms(free)
    assert free.not_understood == ()
    given = biogeme(
        "L = Beta('L', 0.5, None, None, 1)\n"
        "V_BUS = ASC + B * models.boxcox(TT1, L)\nV_CAR = B * models.boxcox(TT2, L)"
    )
    assert given.reading["derive"] == fixed.reading["derive"]


def test_exponents_that_forms_share_are_said() -> None:
    both = "V_BUS = ASC + B * models.boxcox(TT1, L) + C * models.boxcox(CO1, {0})\n"
    both += "V_CAR = B * models.boxcox(TT2, L) + C * models.boxcox(CO2, {0})"
    two = "L = Beta('L', 1, None, None, 0)\nM = Beta('M', 1, None, None, 0)\n" + both
    assert biogeme(two.format("M")).not_understood == ()
    assert "are 1 there (L), and 2 here" in str(biogeme(two.format("L")))


@pytest.mark.parametrize(
    "line",
    [
        "database.remove(f(INC))",
        "database.scale_column('TT_BUS', 0.01)",
        "df.loc[f(df.INC), 'TT_BUS'] = 5",
        "df['TT_BUS'][df.INC == 3] = 0",
        "df['TT_BUS'].mask(df.INC == 3, 0, inplace=True)",
        "df.eval('TT_BUS = 2 * TT_BUS', inplace=True)",
        "df.columns = [c.upper() for c in df.columns]",
        "database = db.Database('t', df.iloc[:100])",
        "globals()['B'] = f()",
        "df.dropna(inplace=True)",
        "df.fillna(0, inplace=True)",
        "for k in f():\n    V[k] = V[k] + C * CO1",
        "while f():\n    V[2] = V[2] + C * CO1",
        "match f():\n    case 1:\n        V[2] = V[2] + C * CO1",
        "if f():\n    V[2] = V[2] + C * CO1",
        "if f():\n    df['TT_BUS'] = df['TT_BUS'] / 60",
        "V.update(f())",
        "V.popitem()",
        "exec('V[2] = 0')",
    ],
)
def test_what_was_not_followed_and_changes_the_model_is_said(line: str) -> None:
    assert model_of(line).not_understood


@pytest.mark.parametrize(
    "line",
    [
        "df.describe()",
        "df.to_csv('x.csv')",
        "print(df.head(), V)",
        "f(df)",
        "if f():\n    print(df)",
        "for k in f():\n    print(k)",
        "while f():\n    n = 2",
    ],
)
def test_what_changes_nothing_of_the_model_is_not_said(line: str) -> None:
    assert model_of(line).not_understood == ()


def model_of(line: str) -> ScriptModel:
    """A script with a table and a dict of utilities, and a line that may change them."""
    table = "df = pd.read_csv('t.csv')\ndatabase = db.Database('t', df)\n"
    utilities = "V = {1: ASC + B * Variable('TT_BUS'), 2: B * Variable('TT_CAR')}\n"
    end = "\nlogprob = models.loglogit(V, {1: 1, 2: 1}, Variable('CHOICE'))\n"
    end += "BIOGEME(database, logprob)\n"
    return ac.read_specification(HEAD + table + utilities + line + end)


@pytest.mark.parametrize(
    "line",
    ["names(database)[3] = 'TT2'", "colnames(database) = f()", "database$TT1[f(database)] = 5"],
)
def test_what_changes_the_table_of_an_apollo_script_is_said(line: str) -> None:
    start = "apollo_probabilities"
    assert start in APOLLO
    before = set(ac.read_specification(APOLLO).not_understood)
    after = ac.read_specification(APOLLO.replace(start, f"{line}\n{start}", 1)).not_understood
    assert any(line in doubt.text for doubt in set(after) - before)


def test_tables_that_are_changed_in_place_are_changed() -> None:
    assert model_of("df.query('INC == 1', inplace=True)").reading["where"] == "INC == 1"
    dropped = model_of("df.drop(df[df.INC == 1].index, inplace=True)")
    assert "INC == 1" in dropped.reading["where"]
    filled = model_of("df['TT_BUS'].fillna(0, inplace=True)")
    assert "is_missing(TT_BUS)" in str(filled.reading["derive"])
    assert filled.not_understood == ()


def test_loops_that_are_left_or_skip_a_round_are_followed() -> None:
    loop = "for k in [1, 2]:\n    if k == {0}:\n        {1}\n    V[k] = V[k] + C * CO1"
    assert terms(model_of(loop.format(1, "continue"))) >= {"2: CO_BUS"}
    assert "CO" not in str(model_of(loop.format(1, "break")).specification)
    assert "2: CO_BUS" not in terms(model_of(loop.format(2, "break")))
    assert terms(model_of("del V[2]")) == {"1: TT_BUS"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_or_a_device_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "script.py")
    with pytest.raises(ac.SpecificationError, match="a pipe or a device"):
        ac.read_specification(tmp_path / "script.py")


def test_a_long_script_of_r_takes_time_in_proportion_to_its_length() -> None:
    def seconds(lines: int) -> float:
        text = "\n".join(f"x{i} = b_tt * tt_{i} + 3 {' ' * 60}" for i in range(lines))
        each = []
        gc.collect()
        gc.disable()  # its time depends on what other tests have left in memory
        try:
            for _ in range(3):
                begun = time.thread_time()
                parse_r(text)
                each.append(time.thread_time() - begun)
        finally:
            gc.enable()
        return min(each)

    # Ten times the lines; a hundred times the time where every token copies what follows it.
    assert seconds(10_000) < 40 * max(seconds(1_000), 0.01)


def test_piecewise_functions() -> None:
    model = biogeme(
        "V_BUS = ASC + models.piecewise_formula('CO_BUS', [0, 10, None], [B, C])\nV_CAR = 0"
    )
    assert model.not_understood == ()
    derived = set(model.reading["derive"].values())
    assert derived == {"max(min(CO_BUS, 10), 0)", "max(CO_BUS, 10) - 10"}


def test_a_censored_normal_of_xlogit_is_said_not_to_be_ours() -> None:
    model = ac.read_specification(
        "import pandas as pd\nfrom xlogit import MixedLogit\ndf = pd.read_csv('fishing.csv')\n"
        "m = MixedLogit()\nm.fit(X=df[['price', 'catch']], y=df['choice'], "
        "varnames=['price', 'catch'], alts=df['alt'], ids=df['id'], randvars={'catch': 'tn'})\n"
    )
    assert list(model.random.values()) == ["+truncated"]
    assert any("censored" in str(doubt) for doubt in model.not_understood)


def test_random_coefficients_of_xlogit_and_its_alternatives() -> None:
    text = """
import pandas as pd
from xlogit import MixedLogit
df = pd.read_csv("fishing_long.csv")
varnames = ['price', 'catch', 'income']
model = MixedLogit()
model.fit(X=df[varnames], y=df['choice'], varnames=varnames, alts=df['alt'], ids=df['id'],
          isvars=['income'], randvars={'price': 'n', 'catch': 'ln'}, fit_intercept=True,
          panels=df['person'])
"""
    with pytest.raises(ac.SpecificationError, match=r"pass the table or alternatives="):
        ac.read_specification(text)
    model = ac.read_specification(text, alternatives=["beach", "boat", "charter"])
    assert terms(model) == {
        *("boat: ASC", "charter: ASC", "boat: ASC x income", "charter: ASC x income"),
        *("*: price", "*: catch"),
    }
    assert model.random == {"*: price": "normal", "*: catch": "+lognormal"}
    assert model.reading["person"] == "person"
    assert model.layout == "long"
    assert model.table == "fishing_long.csv"


def test_random_coefficients_of_apollo() -> None:
    model = ac.read_specification(
        """
apollo_control = list(indivID="ID", mixing=TRUE)
apollo_beta = c(asc = 0, mu_tt = -3, sigma_tt = 0, b_cost = 0, gamma = 0)
apollo_fixed = c()
database = read.csv("modes.csv")
database$mean_income = database$income / 1000
apollo_draws = list(interDrawsType="halton", interNDraws=100, interNormDraws=c("draws_tt"))
apollo_randCoeff = function(apollo_beta, apollo_inputs){
  randcoeff = list()
  randcoeff[["b_tt"]] = -exp(mu_tt + sigma_tt * draws_tt)
  return(randcoeff)
}
apollo_probabilities = function(apollo_beta, apollo_inputs, functionality="estimate"){
  b_cost_value = b_cost + gamma * mean_income
  V = list()
  V[['car']] = asc + b_tt * time.car + b_cost_value * cost.car
  V[['rail']] = b_tt * time.rail + b_cost_value * cost.rail
  mnl_settings = list(alternatives = c(car=1, rail=2), avail = 1, choiceVar = choice, V = V)
  P[["model"]] = apollo_mnl(mnl_settings, functionality)
  return(P)
}
"""
    )
    assert terms(model) == {"car: ASC", "*: time", "*: cost", "*: cost x mean_income"}
    assert model.random == {"*: time": "-lognormal"}
    assert model.reading["derive"] == {"mean_income": "income / 1000"}
    assert model.reading["person"] == "ID"
    assert model.not_understood == ()


def test_a_wrong_package_or_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(ac.ArdchoiceError, match="Did you mean 'biogeme'"):
        ac.read_specification("x\n", package="biogem")
    with pytest.raises(ac.SpecificationError, match="cannot be read"):
        ac.read_specification(tmp_path / "none.py")
    with pytest.raises(ac.SpecificationError, match="which package"):
        ac.read_specification("x = 1\n")
    with pytest.raises(ac.SpecificationError, match="line 2 is no Python"):
        ac.read_specification("import biogeme\nx = = 1\n")
    with pytest.raises(ac.SpecificationError, match="create_choice_model"):
        ac.read_specification("import pylogit\n")


@pytest.mark.parametrize(("name", "text"), [("a.py", PYLOGIT), ("b.py", XLOGIT), ("c.R", APOLLO)])
def test_a_study_file_is_written_from_a_script(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ac.datasets.swissmetro().to_csv(tmp_path / "swissmetro.csv", index=False)
    (tmp_path / name).write_text(text)
    done = CliRunner().invoke(cli, ["init", "swissmetro.csv", "--from", name])
    assert done.exit_code == 0, done.output
    settings = read_settings(tmp_path / "study.toml")
    comments = (tmp_path / "study.toml").read_text(encoding="utf-8").split("\n[data]")[0]
    assert 'transforms = ["linear", "log1p"]' in comments
    assert ('person = "..."' in comments) == (settings.data.person is None)
    data = settings.read_choices(tmp_path)
    model = ac.read_specification(tmp_path / name)
    expected = model.fit(model.read(ac.datasets.swissmetro()))
    found = ac.fit_mnl(data, settings.output.compare[name])
    assert found.loglik == pytest.approx(expected.loglik, abs=1e-9)


def test_loops_lists_and_older_spellings_are_followed() -> None:
    model = ac.read_specification(
        """
from biogeme.expressions import *
from biogeme.models import *
from headers import *
B = {m: Beta(f"B_TT_{m}", 0, None, None, 0) for m in ("A", "C")}
V = {}
for i, m in enumerate(["A", "C"], 1):
    V[i] = B[m] * Variable(f"{m}_TT") + (Beta("ASC_A", 0, None, None, 0) if i == 1 else 0)
prob = bioLogLogit(V, {1: A_AV, 2: 1}, CHOICE)
"""
    )
    assert terms(model) == {"1: TT", "1: ASC", "2: C_TT"}
    assert model.reading["availability"] == {"1": "A_AV"}
    assert "covariates" not in model.reading
    assert model.not_understood == ()


def test_the_package_is_the_one_that_a_script_imports() -> None:
    compared = "\n".join(f"# Biogeme finds {i} with loglogit in biogeme" for i in range(60))
    assert ac.read_specification(PYLOGIT + compared).package == "pylogit"
    assert ac.read_specification(XLOGIT + compared).package == "xlogit"
    assert ac.read_specification(APOLLO + compared).package == "apollo"


def test_a_simulation_of_probabilities_has_no_choice_to_read() -> None:
    each = "\n".join(f"p{i} = models.logit(V, {{1: 1, 2: 1}}, {i})" for i in (1, 2))
    model = ac.read_specification(f"{HEAD}\nV = {{1: ASC + B * TT1, 2: B * TT2}}\n{each}")
    (doubt,) = model.not_understood
    assert "2 is no column" in doubt.reason
    assert terms(model) == {"1: ASC", "*: TT"}
    with pytest.raises(ac.ArdchoiceError, match=r"choice=\.\.\."):
        model.read(pd.DataFrame())


def test_availability_made_of_constants_needs_no_column() -> None:
    made = 'wide["open_{}".format(i)] = 1\n'
    script = f"""
import pandas as pd
import pylogit as pl
wide = pd.read_csv("wide.csv")
for i in (1, 2, 3):
    {made}
wide["open_3"] = wide["rich"] > 0
long = pl.convert_wide_to_long(
    wide, ["rich"], {{"price": {{1: "p1", 2: "p2", 3: "p3"}}}},
    {{i: f"open_{{i}}" for i in (1, 2, 3)}}, "obs", "choice", new_alt_id_name="alt")
model = pl.create_choice_model(
    data=long, alt_id_col="alt", obs_id_col="obs", choice_col="choice",
    specification={{"price": [[1, 2, 3]]}}, model_type="MNL", names={{"price": ["price"]}})
"""
    model = ac.read_specification(script)
    assert model.not_understood == ()
    rng = np.random.default_rng(1)
    table = pd.DataFrame({f"p{i}": rng.gamma(2, 1, 200) for i in (1, 2, 3)})
    table["rich"] = np.arange(200) % 2
    table["choice"] = np.where(rng.random(200) < 0.6, 1, 2 + table["rich"])
    data = model.read(table.assign(obs=np.arange(200)))
    assert data.available.sum(axis=1).tolist() == [200, 200, 100]


def test_which_of_several_models_is_read_is_said() -> None:
    again = XLOGIT[XLOGIT.index("model = ") :]
    (doubt,) = ac.read_specification(f"{XLOGIT}\n{again}").not_understood
    assert "2 models; the last is read" in doubt.reason
    loop = "for start in (1, 2):\n" + "".join(f"    {line}\n" for line in again.splitlines())
    script = XLOGIT[: XLOGIT.index("model = ")] + loop
    assert ac.read_specification(script).not_understood == ()

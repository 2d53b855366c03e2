"""What is understood of a script, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from foreign_scripts import APOLLO, PYLOGIT, XLOGIT

import ardchoice as ac
from ardchoice.cli.app import cli
from ardchoice.scripts import ScriptModel
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


def test_box_cox_with_a_fixed_exponent_is_read_and_an_estimated_one_is_said() -> None:
    fixed = biogeme(
        "V_BUS = ASC + B * models.boxcox(TT1, 0.5)\nV_CAR = B * models.boxcox(TT2, 0.5)"
    )
    assert fixed.not_understood == ()
    assert "** 0.5 - 1) / 0.5" in str(fixed.reading["derive"])
    free = biogeme("V_BUS = ASC + B * models.boxcox(CO1, C)\nV_CAR = B * models.boxcox(CO2, C)")
    assert "*: boxcox(CO)" in terms(free)
    assert "the exponent B_CO is estimated" in str(free)


def test_piecewise_functions() -> None:
    model = biogeme(
        "V_BUS = ASC + models.piecewise_formula('CO_BUS', [0, 10, None], [B, C])\nV_CAR = 0"
    )
    assert model.not_understood == ()
    derived = set(model.reading["derive"].values())
    assert derived == {"max(min(CO_BUS, 10), 0)", "max(CO_BUS, 10) - 10"}


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

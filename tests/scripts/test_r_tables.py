"""Tables in scripts for Apollo: where they come from, and which rows and columns are left."""

from __future__ import annotations

import pytest

import ardchoice as ac
from ardchoice.scripts import ScriptModel

MODEL = """
apollo_beta = c(asc_bus = 0, b_t = 0)
apollo_fixed = c()
apollo_probabilities = function(apollo_beta, apollo_inputs, functionality = "estimate") {
  V = list()
  V[["car"]] = b_t * time_car
  V[["bus"]] = asc_bus + b_t * time_bus
  settings = list(alternatives = c(car = 1, bus = 2), avail = list(car = 1, bus = av_bus),
                  choiceVar = choice, V = V)
  P[["model"]] = apollo_mnl(settings, functionality)
  return(P)
}
"""
ESTIMATE = "model = apollo_estimate(apollo_beta, apollo_fixed, apollo_probabilities, inputs)\n"


def read(lines: str, after: str = "") -> ScriptModel:
    return ac.read_specification(f"library(apollo)\n{lines}\n{MODEL}{ESTIMATE}{after}")


@pytest.mark.parametrize(
    "lines",
    [
        "database = apollo_modeChoiceData\ndatabase = subset(database, database$SP == 1)",
        'data("apollo_modeChoiceData")\n'
        "database = apollo_modeChoiceData[apollo_modeChoiceData$SP == 1, ]",
        'load("x.RData")\ndatabase = subset(database, SP == 1)',
        "database <- subset(answers, SP == 1)",
        'database <- read_csv("x.csv") %>% filter(SP == 1)',
        'database <- readRDS("x.rds") |> dplyr::filter(SP == 1) |> arrange(ID)',
        'database <- read.csv("x.csv")\ndatabase <- database[which(database$SP == 1), ]',
    ],
)
def test_the_rows_of_a_table_are_filtered_wherever_it_comes_from(lines: str) -> None:
    model = read(lines)
    assert model.not_understood == ()
    assert model.reading["where"] == "SP == 1"


@pytest.mark.parametrize(
    "lines",
    [
        "database = d %>% mutate(hours = time_car / 60, time_car = hours * 2)",
        "database = transform(d, time_car = time_car / 60 * 2)\n",
        'database = read.csv("d")\ndatabase$time_car = with(database, time_car / 60 * 2)',
    ],
)
def test_columns_made_of_columns_are_followed(lines: str) -> None:
    model = read(lines)
    assert model.not_understood == ()
    assert list(model.reading["derive"].values()) == ["time_car / 60 * 2"]


def test_several_conditions_and_names_of_the_script() -> None:
    model = read("least <- 3\ndatabase <- filter(d, SP == 1, RP != 1 | x > least)")
    assert model.reading["where"] == "SP == 1 and (RP != 1 or x > 3)"


def test_changes_after_the_estimation_are_not_part_of_the_model() -> None:
    later = "database$time_bus = 1.1 * database$time_bus\ndatabase = subset(database, SP == 2)\n"
    model = read("database = apollo_modeChoiceData", after=later)
    assert model.not_understood == ()
    assert model.reading.get("derive") is None
    assert model.reading.get("where") is None


@pytest.mark.parametrize("call", ["na.omit(d)", "merge(d, other)", "d %>% slice(1:10)"])
def test_what_may_change_the_rows_is_said(call: str) -> None:
    (doubt,) = read(f"d = read.csv('x.csv')\ndatabase = {call}").not_understood
    assert "may change the rows" in doubt.reason

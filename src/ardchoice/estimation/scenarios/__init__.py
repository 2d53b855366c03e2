"""Use a model: shares, surplus, diversion and curves after changes."""

from ardchoice.estimation.scenarios.apply import apply_changes
from ardchoice.estimation.scenarios.changes import Change, ScenarioOptions, parse_changes
from ardchoice.estimation.scenarios.curve import Curve, make_curve
from ardchoice.estimation.scenarios.scenario import Scenario, Scenarios, make_scenario
from ardchoice.estimation.scenarios.simulator import Simulator

__all__ = [
    "Change",
    "Curve",
    "Scenario",
    "ScenarioOptions",
    "Scenarios",
    "Simulator",
    "apply_changes",
    "make_curve",
    "make_scenario",
    "parse_changes",
]

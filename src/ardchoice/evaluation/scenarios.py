"""The scenarios of a study, as tables that are saved with it."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from ardchoice.data import ChoiceData
from ardchoice.errors import ArdchoiceError, SpecificationError
from ardchoice.estimation import ALL, Result, ScenarioOptions, apply_changes, parse_changes
from ardchoice.record import ScenarioRecord


def check_scenario(options: ScenarioOptions, data: ChoiceData) -> None:
    """Raise where a scenario does not fit the data, before anything is estimated."""
    apply_changes(data, parse_changes(options.changes, where=options.where))
    for name in options.by:
        if name not in data.covariates or not data.covariates[name].is_categorical:
            known = [c.name for c in data.covariates.values() if c.is_categorical]
            raise ArdchoiceError(
                f"by: there is no categorical covariate {name!r}. There are: {', '.join(known)}."
            )


def study_scenarios(
    result: Result, given: Mapping[str, ScenarioOptions]
) -> tuple[ScenarioRecord, ...]:
    """What the model predicts after the changes of every scenario."""
    return tuple(_record(result, name, options) for name, options in given.items())


def _record(result: Result, name: str, options: ScenarioOptions) -> ScenarioRecord:
    scenario = result.scenario(*options.changes, by=options.by, where=options.where, name=name)
    shares = pd.DataFrame(scenario.shares).assign(choices=scenario.counts["change"].to_numpy())
    if not options.by:
        shares.insert(0, "segment", ALL)
    notes, surplus = list(scenario.notes), None
    try:
        surplus = pd.DataFrame(scenario.surplus)
        notes += [scenario.surplus_note] if scenario.surplus_note else []
    except SpecificationError as error:
        notes.append(str(error))
    return ScenarioRecord(
        name, options.changes, options.by, options.where, shares, surplus, tuple(notes)
    )

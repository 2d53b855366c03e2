"""What a family says of every person, given the person's own choices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ardchoice._types import Floats
from ardchoice.data import ChoiceData, grouped_by_person
from ardchoice.design import Block
from ardchoice.errors import ArdchoiceError
from ardchoice.estimation.model import Model
from ardchoice.families import Family, Individuals, ParameterLayout
from ardchoice.numerics import map_reduce


def individuals(model: Model, data: ChoiceData) -> pd.DataFrame:
    """A row per person, by their ids (per situation without persons), in the order of the data."""
    inside = model.on(grouped_by_person(data))
    measure = _IndividualMeasure(inside.family, inside.layout, inside.theta)
    found = map_reduce(measure, inside.design.passing())
    values = np.concatenate(found.values)
    if data.person is None:
        index = pd.Index(data.situation, name="situation")
    else:
        persons = np.concatenate([p for p in found.persons if p is not None])
        index = pd.Index(data.ids_of(persons), name="person")
    return pd.DataFrame(values, index=index, columns=list(found.columns))


@dataclass(frozen=True, eq=False)
class _IndividualMeasure:
    """Of a block; can be sent to another process."""

    family: Family
    layout: ParameterLayout
    theta: Floats

    def __call__(self, block: Block) -> Individuals:
        found = self.family.individual(self.theta, block, self.layout)
        if found is None:
            raise ArdchoiceError(
                f"In a {self.family.title.lower()} all persons have the same coefficients: there "
                "is nothing individual. Estimate with family=ac.Mixed({...}) or "
                "ac.LatentClass(2)."
            )
        return found

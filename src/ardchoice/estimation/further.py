"""`Result.score_further`: new persons, and further answers of persons who are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ardchoice._types import Bools
from ardchoice.data import ChoiceData, grouped_by_person
from ardchoice.errors import ArdchoiceError
from ardchoice.estimation.display import DisplayFrame
from ardchoice.estimation.model import prediction
from ardchoice.families import family_pass

if TYPE_CHECKING:
    from ardchoice.estimation.result import Result


def score_further(result: Result, data: ChoiceData, share: float) -> pd.DataFrame:
    """A row for new persons and one for known ones; see `Result.score_further`."""
    if data.person is None:
        raise ArdchoiceError("The data have no person ids: nobody is known. Read with person=...")
    if not 0 < share < 1:
        raise ArdchoiceError(f"The share of answers that are known lies between 0 and 1: {share}.")
    is_known = _first_answers(np.asarray(data.person), share)
    later = data.take(~is_known)
    if not len(later):
        raise ArdchoiceError("Every person answered once: there are no further answers.")
    alone = prediction(result.model, later)
    # log p(later | earlier) = log p(all) - log p(earlier).
    if result.family.panel:
        known = _loglik(result, data) - _loglik(result, data.take(is_known))
    else:
        known = alone.loglik
    rows = [
        ("new persons, each answer by itself", len(later), alone.loglik),
        ("persons whose earlier answers are known", len(later), known),
    ]
    frame = pd.DataFrame(rows, columns=["of", "n", "loglik"])
    frame["mean_loglik"] = frame["loglik"] / alone.weight
    return DisplayFrame(frame)


def _first_answers(person: np.ndarray, share: float) -> Bools:
    """The first answers of every person, in the order of the rows; at least one."""
    rank = pd.Series(person).groupby(person).cumcount().to_numpy()
    count = np.bincount(person)[person]
    return np.asarray(rank < np.maximum(1, np.floor(share * count)))


def _loglik(result: Result, data: ChoiceData) -> float:
    inside = result.model.on(grouped_by_person(data))
    blocks = inside.design.blocks()
    return family_pass(inside.family, inside.layout, inside.theta, blocks, 0).loglik

"""The search spaces of Rodrigues, Ortelli, Bierlaire and Pereira on the Swissmetro data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ardchoice.data import NOISE_PREFIX, ChoiceData
from ardchoice.errors import ArdchoiceError
from ardchoice.space.search import SearchSpace
from ardchoice.space.terms import Term

Size = Literal["medium", "large", "extreme"]

SURVEY_ATTRIBUTES = ("TT", "CO", "HE")
MEDIUM_BY = ("GA", "AGE", "PURPOSE")
LARGE_BY = ("GA", "AGE", "PURPOSE", "WHO", "LUGGAGE", "INCOME")
MEDIUM_TRANSFORMS = ("linear", "log1p")
LARGE_TRANSFORMS = ("linear", "log1p", "boxcox(1)", "segments(4)", "segments(8)")


def swissmetro_space(data: ChoiceData, size: Size = "medium") -> SearchSpace:
    """A published search space.

    Parameters
    ----------
    data
        From `datasets.swissmetro_choices`, or with choices drawn again; for the extreme space with
        noise columns, `datasets.swissmetro_choices(noise_to=1000)`.
    size
        ``"medium"``: 72 terms, 252 columns. ``"large"``: 178 terms, 602 columns. ``"extreme"``: the
        large one and every noise column, each a term of its own.
    """
    if size == "medium":
        return SearchSpace(data, MEDIUM_TRANSFORMS, MEDIUM_BY, "CAR", attributes=SURVEY_ATTRIBUTES)
    if size not in ("large", "extreme"):
        raise ArdchoiceError(f"The spaces are 'medium', 'large' and 'extreme', not {size!r}.")
    noise = [a for a in data.attributes.values() if a.name.startswith(NOISE_PREFIX)]
    if size == "extreme" and not noise:
        raise ArdchoiceError(
            "The extreme space needs noise: ac.datasets.swissmetro_choices(noise_to=1000)."
        )
    forms: dict[str, Sequence[str]] = {
        "TT": LARGE_TRANSFORMS,
        "CO": LARGE_TRANSFORMS,
        "SM: CO": LARGE_TRANSFORMS[:3],
        "HE": MEDIUM_TRANSFORMS,
    }
    # Noise stands alone; only what the survey asked is interacted.
    alone = [Term((data.alternatives[a.alternatives[0]],), a.name) for a in noise]
    add = alone if size == "extreme" else ()
    return SearchSpace(data, forms, LARGE_BY, "CAR", attributes=SURVEY_ATTRIBUTES, add=add)

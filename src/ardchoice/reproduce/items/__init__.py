"""The items of the reproduction, in the order of the paper."""

from ardchoice.reproduce.items.convergence import CONVERGENCE
from ardchoice.reproduce.items.extreme import EXTREME
from ardchoice.reproduce.items.heldout import HELD_OUT
from ardchoice.reproduce.items.ours import OURS
from ardchoice.reproduce.items.real import REAL_CHOICES
from ardchoice.reproduce.items.relevance import LARGE_SPACE, MEDIUM_SPACE
from ardchoice.reproduce.items.times import TIMES
from ardchoice.reproduce.items.truth import SPECIFICATIONS

ITEMS = {
    item.name: item
    for item in (
        SPECIFICATIONS,
        MEDIUM_SPACE,
        LARGE_SPACE,
        CONVERGENCE,
        EXTREME,
        HELD_OUT,
        REAL_CHOICES,
        OURS,
        TIMES,
    )
}

__all__ = ["ITEMS"]

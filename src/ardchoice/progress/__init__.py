"""How far a run is: events, and the ways to tell them to a person or a program."""

from ardchoice.progress.event import (
    PHASES,
    Event,
    Listener,
    Phase,
    Telling,
    tell_relevance,
    tell_search,
)
from ardchoice.progress.listening import KINDS, Kind, Progress, listening, listening_to

__all__ = [
    "KINDS",
    "PHASES",
    "Event",
    "Kind",
    "Listener",
    "Phase",
    "Progress",
    "Telling",
    "listening",
    "listening_to",
    "tell_relevance",
    "tell_search",
]

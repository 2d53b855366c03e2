"""How far a run is: events, and the ways to tell them to a person or a program."""

from ardchoice.progress.callbacks import KINDS, Kind, Progress, listening, progress_callback
from ardchoice.progress.event import (
    PHASES,
    Event,
    Listener,
    Phase,
    PhaseProgress,
    relevance_callback,
    search_callback,
)
from ardchoice.progress.views import duration

__all__ = [
    "KINDS",
    "PHASES",
    "Event",
    "Kind",
    "Listener",
    "Phase",
    "PhaseProgress",
    "Progress",
    "duration",
    "listening",
    "progress_callback",
    "relevance_callback",
    "search_callback",
]

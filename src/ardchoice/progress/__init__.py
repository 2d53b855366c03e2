"""Progress of a run: events, and the ways to show them to a person or a program."""

from ardchoice.progress.callbacks import KINDS, Kind, Progress, progress_callback, show_progress
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
    "progress_callback",
    "relevance_callback",
    "search_callback",
    "show_progress",
]

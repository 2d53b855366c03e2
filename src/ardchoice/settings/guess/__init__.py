"""`guess_settings`: look at a table and write a commented study file."""

from ardchoice.settings.guess.guess import ROLE_NAMES, guess_findings, guess_settings
from ardchoice.settings.guess.roles import Finding

__all__ = ["ROLE_NAMES", "Finding", "guess_findings", "guess_settings"]

"""`guess_settings`: look at a table and write a commented study file."""

from ardchoice.settings.guess.guess import ROLES, guess_findings, guess_settings
from ardchoice.settings.guess.roles import Finding

__all__ = ["ROLES", "Finding", "guess_findings", "guess_settings"]

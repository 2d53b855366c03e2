"""The settings of a study: one schema for study.toml, Python objects and saved studies."""

from ardchoice.settings.check import check_study
from ardchoice.settings.example import example_settings
from ardchoice.settings.guess import guess_findings, guess_settings
from ardchoice.settings.reading import parse_settings, read_settings
from ardchoice.settings.schema import PACKAGES, StudySettings
from ardchoice.settings.told import settings_of
from ardchoice.settings.writing import to_toml

__all__ = [
    "PACKAGES",
    "StudySettings",
    "check_study",
    "example_settings",
    "guess_findings",
    "guess_settings",
    "parse_settings",
    "read_settings",
    "settings_of",
    "to_toml",
]

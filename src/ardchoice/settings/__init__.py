"""The settings of a study: one schema for study.toml, Python objects and saved studies."""

from ardchoice.settings.check import agree, check_study, must_be_confirmed, telling_lines
from ardchoice.settings.example import example_settings
from ardchoice.settings.from_study import settings_if_any, settings_of
from ardchoice.settings.guess.guess import guess_findings, guess_settings
from ardchoice.settings.guess.roles import Finding
from ardchoice.settings.reading import parse_settings, read_settings
from ardchoice.settings.schema import StudySettings
from ardchoice.settings.values import transform_text
from ardchoice.settings.writing import to_toml

__all__ = [
    "Finding",
    "StudySettings",
    "agree",
    "check_study",
    "example_settings",
    "guess_findings",
    "guess_settings",
    "must_be_confirmed",
    "parse_settings",
    "read_settings",
    "settings_if_any",
    "settings_of",
    "telling_lines",
    "to_toml",
    "transform_text",
]

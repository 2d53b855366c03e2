"""Specifications read from scripts for Biogeme, PyLogit, xlogit and Apollo; never executed."""

from ardchoice.scripts.model import ScriptModel
from ardchoice.scripts.read import PACKAGES, read_specification
from ardchoice.scripts.study_file import study_file
from ardchoice.scripts.values import Doubt

__all__ = ["PACKAGES", "Doubt", "ScriptModel", "read_specification", "study_file"]

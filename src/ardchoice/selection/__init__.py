"""The specification: structure, rules, and a search over valid sets of terms."""

from ardchoice.selection.heldout import held_out
from ardchoice.selection.path import Path, selection_path
from ardchoice.selection.rules import Bic, Ebic, Evidence, FalseDiscovery, HeldOut, LambdaAbove
from ardchoice.selection.select import select
from ardchoice.selection.stability import stability
from ardchoice.selection.structure import Structure

__all__ = [
    "Bic",
    "Ebic",
    "Evidence",
    "FalseDiscovery",
    "HeldOut",
    "LambdaAbove",
    "Path",
    "Structure",
    "held_out",
    "select",
    "selection_path",
    "stability",
]

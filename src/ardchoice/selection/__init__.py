"""The specification: structure, rules, and a search over valid sets of terms."""

from ardchoice.selection.compile import compile_structure, with_family_rules
from ardchoice.selection.constraints import Constraints, TermSet
from ardchoice.selection.inclusion import Inclusion, inclusion
from ardchoice.selection.joint import (
    Confirmed,
    JointSelection,
    RandomCandidate,
    confirm,
    not_worse_than_mnl,
    select_jointly,
    with_exact_signs,
)
from ardchoice.selection.prices import criterion_of, design_effects
from ardchoice.selection.refits import RefitCache
from ardchoice.selection.rules import (
    Bic,
    Ebic,
    Evidence,
    FalseDiscovery,
    HeldOut,
    LambdaAbove,
    Rule,
    must_be_rule,
)
from ardchoice.selection.search import SearchStep
from ardchoice.selection.select import select
from ardchoice.selection.signs import (
    SignRules,
    WrongSign,
    check_signs,
    recognised_signs,
    with_expected_signs,
)
from ardchoice.selection.structure import RECOGNISED_SIGNS, Sign, Signs, Structure, listed

__all__ = [
    "RECOGNISED_SIGNS",
    "Bic",
    "Confirmed",
    "Constraints",
    "Ebic",
    "Evidence",
    "FalseDiscovery",
    "HeldOut",
    "Inclusion",
    "JointSelection",
    "LambdaAbove",
    "RandomCandidate",
    "RefitCache",
    "Rule",
    "SearchStep",
    "Sign",
    "SignRules",
    "Signs",
    "Structure",
    "TermSet",
    "WrongSign",
    "check_signs",
    "compile_structure",
    "confirm",
    "criterion_of",
    "design_effects",
    "inclusion",
    "listed",
    "must_be_rule",
    "not_worse_than_mnl",
    "recognised_signs",
    "select",
    "select_jointly",
    "with_exact_signs",
    "with_expected_signs",
    "with_family_rules",
]

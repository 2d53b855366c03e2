"""Terms and random coefficients decided together."""

from ardchoice.selection.joint.alternate import Alternation, Joint
from ardchoice.selection.joint.compared import not_worse_than_mnl
from ardchoice.selection.joint.exact import Confirmed, confirm
from ardchoice.selection.joint.exact_signs import with_exact_signs
from ardchoice.selection.joint.refits import TasteRefits
from ardchoice.selection.joint.select import JointSelection, select_jointly
from ardchoice.selection.joint.tastes import RandomCandidate, Taste

__all__ = [
    "Alternation",
    "Confirmed",
    "Joint",
    "JointSelection",
    "RandomCandidate",
    "Taste",
    "TasteRefits",
    "confirm",
    "not_worse_than_mnl",
    "select_jointly",
    "with_exact_signs",
]

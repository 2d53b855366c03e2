"""Terms and random coefficients chosen together."""

from ardchoice.selection.joint.alternate import Alternation, Joint
from ardchoice.selection.joint.refits import TasteRefits
from ardchoice.selection.joint.tastes import Taste

__all__ = ["Alternation", "Joint", "Taste", "TasteRefits"]

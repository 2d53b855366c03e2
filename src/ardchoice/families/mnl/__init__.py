"""The multinomial logit."""

from ardchoice.families.mnl.family import Mnl

__all__ = ["Mnl"]

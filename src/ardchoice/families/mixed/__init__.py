"""The mixed logit: coefficients that differ between persons."""

from ardchoice.families.mixed.family import Mixed

__all__ = ["Mixed"]

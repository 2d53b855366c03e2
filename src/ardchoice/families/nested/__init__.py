"""The nested and the cross-nested logit."""

from ardchoice.families.nested.family import Nested

__all__ = ["Nested"]

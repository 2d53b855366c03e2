"""Every table and figure of the paper, ours beside theirs."""

from ardchoice.reproduce.reproduce import reproduce

__all__ = ["reproduce"]

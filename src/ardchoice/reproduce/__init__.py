"""Every table and figure of the paper, ours beside theirs."""

from ardchoice.reproduce.items import ITEMS
from ardchoice.reproduce.jobs import JobsStep
from ardchoice.reproduce.reproduce import reproduce

__all__ = [
    "ITEMS",
    "JobsStep",
    "reproduce",
]

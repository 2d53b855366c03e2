"""From terms to numbers, block by block."""

from ardchoice.design.design import Design
from ardchoice.design.encoding import Encoding, TermColumns, learn_encoding

__all__ = ["Design", "Encoding", "TermColumns", "learn_encoding"]

"""Relevance: the ARD prior, evidence maximisation, and the solvers."""

from ardchoice.ard.dsvi import Dsvi, DsviPaper
from ardchoice.ard.fit import Prior, fit_ard
from ardchoice.ard.memory import Memory
from ardchoice.ard.newton import Newton
from ardchoice.ard.result import ArdFit
from ardchoice.ard.trace import Step

__all__ = ["ArdFit", "Dsvi", "DsviPaper", "Memory", "Newton", "Prior", "Step", "fit_ard"]

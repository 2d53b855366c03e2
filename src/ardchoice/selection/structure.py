"""`Structure`: what a modeller demands of a specification before looking at the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ardchoice.errors import SpecificationError

Sign = Literal["-", "+"]
RECOGNISED_SIGNS: Literal["recognised"] = "recognised"
Signs = Mapping[str, Sign] | Literal["recognised"]
Patterns = str | Sequence[str]


@dataclass(frozen=True)
class Structure:
    """Rules that every selected specification obeys; each can be switched off.

    Patterns are terms in the grammar with ``*`` for anything: ``"TRAIN: log1p(*) x *"``,
    ``"*: segments(*)"``.

    Attributes
    ----------
    heredity
        An interaction needs its main term, and one of two covariates needs both one-way ones.
    one_form
        One functional form per attribute and alternative: not ``TT`` and ``log(TT)`` together.
        ``"everywhere"``: the same form in all alternatives.
    one_coefficient
        One coefficient per attribute, form and alternative: generic or alternative-specific, not
        both together. Interactions may still be specific where the main term is generic.
    linear_unless
        How much better, in the criterion, a transformed attribute must be than the attribute as it
        is: where the data can hardly tell, the simpler form stays. 0 for no preference.
    constants
        Constants stay.
    signs
        Attribute -> ``"-"`` where utility must not increase with it, ``"+"`` where it must not
        decrease:
        asked of every alternative and of every segment that interactions create.
    force
        Patterns of terms that must be in.
    forbid
        Patterns of terms that must not be in.
    exclusive
        Each entry some patterns; terms that fit different ones exclude each other. An entry that is
        a single pattern: at most one of the terms that fit it.
    together
        Each entry some patterns: the terms that fit any of them are all in or all out.
    max_terms, max_coefficients
        The most a specification may have, constants included.
    """

    heredity: bool = True
    one_form: bool | Literal["everywhere"] = True
    one_coefficient: bool = True
    linear_unless: float = 2.0
    constants: bool = True
    signs: Signs = field(default_factory=dict, hash=False)
    force: Patterns = ()
    forbid: Patterns = ()
    exclusive: Sequence[Patterns] = ()
    together: Sequence[Patterns] = ()
    max_terms: int | None = None
    max_coefficients: int | None = None

    def __post_init__(self) -> None:
        if self.signs != RECOGNISED_SIGNS and not isinstance(self.signs, Mapping):
            raise SpecificationError(
                'signs is a dict, such as {"TT": "-", "CO": "-"}, or "recognised".'
            )
        for name in ("force", "forbid"):
            _check_patterns(name, getattr(self, name))
        for name in ("exclusive", "together"):
            if isinstance(getattr(self, name), str):
                raise SpecificationError(f"{name} is a list of groups: [('A: TT', 'A: CO')].")
            for entry in getattr(self, name):
                _check_patterns(name, entry)
        for attribute, sign in self.given_signs.items():
            if sign not in ("-", "+"):
                raise SpecificationError(
                    f"signs: {attribute!r} has {sign!r}; a sign is '-' (utility must not "
                    "increase with it) or '+' (it must not decrease)."
                )
        if self.one_form not in (True, False, "everywhere"):
            raise SpecificationError(
                f"one_form is True, False or 'everywhere', not {self.one_form!r}."
            )
        if not isinstance(self.linear_unless, (int, float)) or not (
            0 <= self.linear_unless < np.inf
        ):
            raise SpecificationError(
                "linear_unless is a difference of criteria, zero or more, "
                f"not {self.linear_unless}."
            )
        for name in ("max_terms", "max_coefficients"):
            most = getattr(self, name)
            if most is not None and not (isinstance(most, (int, np.integer)) and most >= 0):
                raise SpecificationError(f"{name} is a whole number, not {most!r}.")

    @property
    def given_signs(self) -> Mapping[str, Sign]:
        """Signs given by name; none where they are recognised."""
        return {} if isinstance(self.signs, str) else self.signs

    @classmethod
    def none(cls) -> Structure:
        """No rules at all."""
        return cls(
            heredity=False,
            one_form=False,
            one_coefficient=False,
            linear_unless=0.0,
            constants=False,
        )


def _check_patterns(rule: str, patterns: object) -> None:
    texts = [patterns] if isinstance(patterns, str) else patterns
    if not isinstance(texts, Sequence) or not all(isinstance(p, str) for p in texts):
        raise SpecificationError(
            f"{rule}: patterns are text, such as 'TRAIN: log1p(*)', or a list of texts; "
            f"not {patterns!r}."
        )


def listed(patterns: Patterns) -> tuple[str, ...]:
    """One pattern or several, as several."""
    return (patterns,) if isinstance(patterns, str) else tuple(patterns)

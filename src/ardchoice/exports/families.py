"""What templates of families show beside utilities: nests, and classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ardchoice.errors import ArdchoiceError
from ardchoice.estimation import Result
from ardchoice.exports.description import Coefficient, Description
from ardchoice.exports.mixed import mixed_context, must_have_words_for_tastes
from ardchoice.exports.names import Names, words
from ardchoice.exports.quoting import number
from ardchoice.families import LatentClass, Mixed, Nested


@dataclass(frozen=True)
class Member:
    """An alternative (by number, from 1) of a nest, and the code of its allocation."""

    number: int
    allocation: str


@dataclass(frozen=True)
class Nest:
    """A nest.

    Attributes
    ----------
    name
        Legal in every package.
    text
        As the user called it.
    scale
        The name of its scale; empty for an alternative alone.
    members
    """

    name: str
    text: str
    scale: str
    members: tuple[Member, ...]


@dataclass(frozen=True)
class LatentClassPart:
    """A class.

    Attributes
    ----------
    number
        From 0.
    membership
        Products of parameters and columns that add up to its membership utility; none for the
        first.
    """

    number: int
    membership: tuple[str, ...]


def family_context(result: Result, model: Description) -> dict[str, Any]:
    """Nests of a nested logit, classes of a latent class logit; and what it is called."""
    title = result.family.title
    out: dict[str, Any] = {"family": f"{title[:1].lower()}{title[1:]}"}
    if isinstance(result.family, Nested):
        out["nests"] = _nests(result.family, result.encoding.alternatives, model)
        out["is_cross"] = result.family.cross
        out["n_scales"] = result.family.arrays(result.encoding.alternatives).n_scales
    if isinstance(result.family, Mixed):
        out |= mixed_context(result, model)
    if isinstance(result.family, LatentClass):
        out["classes"] = _classes(result.family.classes or 1, model)
    return out


def must_be_expressible(result: Result, package: str) -> None:
    """Refuse what a package has no words for, though it has the family."""
    if isinstance(result.family, Mixed):
        must_have_words_for_tastes(result, package)
    if not isinstance(result.family, Nested):
        return
    if package == "apollo" and result.family.cross:
        raise ArdchoiceError(
            "Cross-nested logits are not written for Apollo: export to 'biogeme', 'text' or "
            "'latex'."
        )
    if package != "pylogit":
        return
    if result.family.cross:
        raise ArdchoiceError(
            "PyLogit has no cross-nested logit: export to 'biogeme', 'text' or 'latex'."
        )
    if result.family.equal and len(result.family.nests or {}) > 1:
        raise ArdchoiceError(
            "PyLogit cannot give several nests one scale: export to 'biogeme', or estimate with "
            "equal=False."
        )
    if result.data.weight is not None:
        raise ArdchoiceError(
            "PyLogit's nested logit takes no weights: export to 'biogeme', 'text' or 'latex'."
        )


def _nests(family: Nested, alternatives: tuple[str, ...], model: Description) -> tuple[Nest, ...]:
    """Those with a scale first, then alternatives alone."""
    arrays = family.arrays(alternatives)
    scales = [extra.name for extra in model.extras[: arrays.n_scales]]
    free = [extra.name for extra in model.extras[arrays.n_scales :]]
    shares = [
        _share(base, slopes, free)
        for base, slopes in zip(
            arrays.allocation_base.tolist(), arrays.allocation_slopes.tolist(), strict=True
        )
    ]
    # Apollo has nests and alternatives in one tree, so their names differ.
    free_names = Names(alternative.name for alternative in model.alternatives)
    legal = [free_names.new("NEST", text) for text in words(arrays.names, "NEST").values()]
    out = []
    for k in range(arrays.n_nests):
        members = tuple(
            Member(int(arrays.alternative[r]) + 1, shares[r])
            for r in range(len(arrays.nest))
            if arrays.nest[r] == k
        )
        if k < len(legal):
            scale = scales[arrays.scale_of[k]]
            out.append(Nest(legal[k], arrays.names[k], scale, members))
        else:
            alone = model.alternatives[members[0].number - 1]
            out.append(Nest(f"ALONE_{alone.name}", alone.text, "", members))
    return tuple(out)


def _share(base: float, slopes: list[float], free: list[str]) -> str:
    """α = base + slopes a as code."""
    terms = [f"{'-' if slope < 0 else '+'} {free[i]}" for i, slope in enumerate(slopes) if slope]
    if not terms:
        return number(base)
    text = " ".join(terms) if not base else " ".join([number(base), *terms])
    return text.removeprefix("+ ")


def _classes(n_classes: int, model: Description) -> tuple[LatentClassPart, ...]:
    def membership(extras: list[Coefficient]) -> tuple[str, ...]:
        columns = ("", *model.membership)
        return tuple(
            f"{extra.name} * {column}" if column else extra.name
            for extra, column in zip(extras, columns, strict=True)
        )

    parts = []
    for q in range(n_classes):
        own = [extra for extra in model.extras if extra.classes == (q,)]
        parts.append(LatentClassPart(q, membership(own) if own else ()))
    return tuple(parts)

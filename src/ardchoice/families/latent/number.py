"""One class more at a time, each from the classes before; their number by BIC over persons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import log
from typing import TYPE_CHECKING, cast

import numpy as np

from ardchoice._types import Floats
from ardchoice.design import CachedBlocks, Design, StreamedBlocks
from ardchoice.families.family import family_pass
from ardchoice.families.latent.estimate import (
    ClassPasses,
    Starts,
    drawn_starts,
    run_starts,
    split_starts,
    taste_root,
    taste_start,
)
from ardchoice.families.latent.kernel import ClassArrays, class_arrays
from ardchoice.families.latent.membership import select_membership
from ardchoice.families.mnl import Mnl
from ardchoice.families.records import Information, Resolved
from ardchoice.numerics import NewtonFit, maximise, seeded

if TYPE_CHECKING:
    from ardchoice.families.latent.family import LatentClass

MOST_CLASSES = 8
"""That are tried."""
PATIENCE_CLASSES = 2
"""Numbers of classes that BIC may rise for before the search ends."""
FEWEST_PERSONS = 10
"""Of a class on average: with fewer there is nothing to estimate."""


@dataclass(frozen=True, eq=False)
class Rung:
    """The classes of one step of the ladder.

    Attributes
    ----------
    classes
    n_parameters
    starts
    arrays
    """

    classes: int
    n_parameters: int
    starts: Starts
    arrays: ClassArrays


def plain_fit(design: Design, blocks: CachedBlocks | StreamedBlocks) -> NewtonFit:
    """The multinomial logit of the same columns."""
    mnl = Mnl()
    layout = mnl.layout(design.encoding).reordered(design.order)
    return maximise(
        lambda beta, last: family_pass(mnl, layout, beta, blocks), np.zeros(design.n_columns)
    )


def ladder(
    family: LatentClass,
    design: Design,
    blocks: CachedBlocks | StreamedBlocks,
    near: NewtonFit,
    most: int,
) -> Iterator[Rung]:
    """Estimates with 1, 2, ... classes.

    Half of the starts cut a class of the step before in two, half are drawn around the
    multinomial logit; where coefficients are absent from classes, all are drawn.
    """
    rng = seeded(family.seed)
    persons = design.data.n_persons or len(design.data)
    root = taste_root(near.curvature, persons)
    before: Rung | None = None
    first = most if family.absent else 1
    for classes in range(first, most + 1):
        here = replace(family, classes=classes)
        layout = here.layout(design.encoding).reordered(design.order)
        arrays, size = class_arrays(layout, classes), len(layout.parameters)
        passes = ClassPasses(blocks, arrays)
        if classes == 1:
            sums = passes.exact(near.beta)
            found = Starts(near.beta, (sums.loglik,), sums.complete, np.ones(1))
        else:
            count = here.n_starts
            cut: list[Floats] = []
            if before is not None:
                halves = -(-count // 2)
                cut = split_starts(
                    before.starts.best, before.arrays, arrays, root, size, halves, rng
                )
            draw = partial(taste_start, near.beta, root, arrays, size, rng)
            drawn = drawn_starts(passes.for_em, draw, count - len(cut))
            found = run_starts(here, layout, passes, [*cut, *drawn])
        before = Rung(classes, size, found, arrays)
        yield before


def resolve_classes(family: LatentClass, design: Design) -> Resolved:
    """The family with its number of classes, by BIC over persons, and its membership covariates.

    The number is chosen without covariates where those are to be selected too.
    """
    if not family.selects_membership:
        return _resolve_number(family, design)
    number = _resolve_number(replace(family, membership=None), design)
    chosen = cast("LatentClass", number.family)
    if chosen.classes == 1:
        return number
    blocks = design.blocks()
    rung = top_rung(chosen, design, blocks, plain_fit(design, blocks))
    found = select_membership(chosen, design, rung.starts, rung.arrays)
    if not found.covariates:
        tried = ", ".join(found.dropped) or "none"
        note = f"No covariate improves the membership of classes (tried: {tried})."
        return Resolved(chosen, (*number.notes, Information(note)))
    with_covariates = replace(chosen, membership=found.covariates)
    inside = design.with_covariates(found.covariates)
    step = Rung(rung.classes, found.n_parameters, found.starts, found.arrays)
    inside.data.cached(_key(with_covariates, inside), lambda: step)
    note = f"Membership depends on {', '.join(found.covariates)}, selected by BIC over persons"
    note += f"; not on {', '.join(found.dropped)}." if found.dropped else "."
    if found.varying:
        note += f" Not constant within persons, so not considered: {', '.join(found.varying)}."
    return Resolved(with_covariates, (*number.notes, Information(note)))


def _resolve_number(family: LatentClass, design: Design) -> Resolved:
    """The family with its number of classes, by BIC over persons where it is not given."""
    if family.classes is not None:
        return Resolved(family)
    design = design.with_covariates(family.covariates)
    blocks = design.blocks()
    persons = design.data.n_persons or len(design.data)
    most = max(1, min(MOST_CLASSES, persons // FEWEST_PERSONS))
    curve: dict[int, float] = {}
    rungs: dict[int, Rung] = {}
    for rung in ladder(family, design, blocks, plain_fit(design, blocks), most):
        rungs[rung.classes] = rung
        curve[rung.classes] = -2 * rung.starts.loglik + rung.n_parameters * log(persons)
        best = min(curve, key=curve.__getitem__)
        if rung.classes - best >= PATIENCE_CLASSES:
            break
    shown = ", ".join(f"{classes}: {value:,.1f}" for classes, value in curve.items())
    note = f"BIC over {persons:,} persons by number of classes: {shown}. The lowest is at {best}."
    if best == most and best > 1:
        note += (
            " It still falls at the largest number that is tried: tastes may vary continuously, as "
            "in a mixed logit."
        )
    chosen = replace(
        family, classes=best, curve={str(classes): value for classes, value in curve.items()}
    )
    # What has been found is at hand when the family is estimated next.
    design.data.cached(_key(chosen, design), lambda: rungs[best])
    return Resolved(chosen, (Information(note),))


def top_rung(
    family: LatentClass,
    design: Design,
    blocks: CachedBlocks | StreamedBlocks,
    near: NewtonFit,
) -> Rung:
    """The estimates of a given number of classes, before classes are sorted."""

    def climb_up() -> Rung:
        *_, last = ladder(family, design, blocks, near, family.classes or 1)
        return last

    return design.data.cached(_key(family, design), climb_up)


def _key(family: LatentClass, design: Design) -> object:
    return ("latent classes", family, design.encoding)

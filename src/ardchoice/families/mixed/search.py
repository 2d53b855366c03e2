"""Which coefficients are random: evidence on per-person quadratics, confirmed by exact fits.

Every person's log-likelihood is expanded as a quadratic, tastes are integrated out in closed form,
and sets are compared by -2F + |S| (ln(persons) + ln(candidates)): add, drop, swap. Quadratics are
then made again at the modes of the persons' tastes. The set that stands is confirmed by maximum
simulated likelihood: its neighbours are fitted too, and the best of them is taken.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ardchoice._types import Floats, Ints
from ardchoice.data import ChoiceData
from ardchoice.design import CachedBlocks, Design, Encoding, StreamedBlocks
from ardchoice.families.family import Family, family_pass
from ardchoice.families.mixed.estimate import Warm, maximise_simulated, warm_start
from ardchoice.families.mixed.evidence import TasteEvidence, TasteSet
from ardchoice.families.mixed.options import constants_without_term
from ardchoice.families.mixed.persons import Component, persons_of
from ardchoice.families.mixed.quadratics import PersonQuadratics, person_quadratics
from ardchoice.families.mixed.structure import structure_of
from ardchoice.families.parameters import ParameterLayout
from ardchoice.families.records import EstimationTask, Information, Maximum
from ardchoice.numerics import Sums

MOST_PERSONS = 4_000
"""Persons that the search looks at: a sample where there are more. The estimates use all."""
EXPANSIONS = 3
"""Times that quadratics are made: about common coefficients, then at the persons' modes."""
CONFIRMING_NODES = 64
"""Per person, of the fits that confirm."""
MOST_CONFIRMING_FITS = 24
HOPELESS_CRITERION = 15.0
"""Criterion above the lowest at which a set is no longer estimated exactly."""
CERTAIN_WALD = 10.0
"""z of a standard deviation above which no fit without it is needed. One that stands in for another
has a z of six, however much better the log-likelihood is without it."""
EXCHANGED_WALD = 6.0
"""z below which others are tried in its place."""
ADDED = 3
"""Candidates that are fitted as additions."""
TYPICAL_INFORMATION = 0.2
"""Of a choice on the coefficient of a column of unit spread."""
SHRUNKEN = 1.7
"""How much larger than in the quadratics the variances of exact fits usually are."""
FIRST_VARIANCES = (0.02, 4.0)
"""Smallest and largest variance of a taste on a column of unit spread that a fit starts from: not
zero, and not one that makes all choices of a person certain, where the likelihood is flat."""


@dataclass(frozen=True)
class Candidate:
    """A coefficient that may be random.

    Attributes
    ----------
    key
        As in `Mixed.random`: the name of the coefficient or of the error component.
    column
        Of the design in block order; None for an error component.
    alternatives
        Of an error component.
    is_constant
        Whether it is a random constant of one alternative.
    """

    key: str
    column: int | None
    alternatives: tuple[int, ...] = ()
    is_constant: bool = False


@dataclass(frozen=True)
class Rival:
    """A set of random coefficients that was fitted.

    Attributes
    ----------
    random
        Their names.
    loglik
    ebic
        -2 LL + |random| (ln(persons) + ln(candidates)): BIC over persons, with a price for the
        size of the search. Other parameters, the same in all sets, are not counted.
    """

    random: tuple[str, ...]
    loglik: float
    ebic: float


@dataclass(frozen=True, eq=False)
class RandomSearch:
    """What was found.

    Attributes
    ----------
    random
        Names of the random coefficients.
    rivals
        All sets that were fitted, the best first.
    n_candidates, n_persons
        Looked at.
    is_sample
        Whether these were a sample of the persons.
    """

    random: tuple[str, ...]
    rivals: tuple[Rival, ...]
    n_candidates: int
    n_persons: int
    is_sample: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided and why, a sentence or two each."""
        best = self.rivals[0]
        looked = f"{self.n_candidates} candidates, {self.n_persons:,} persons"
        if self.is_sample:
            looked += " (a sample)"
        if not self.random:
            out = [f"No coefficient is random by EBIC over persons ({looked})."]
        else:
            named = ", ".join(self.random)
            out = [f"Random by EBIC over persons: {named} ({looked})."]
        each = [
            f"{_change(best, rival)}: EBIC +{rival.ebic - best.ebic:.1f}" for rival in self.rivals
        ]
        if len(each) > 1:
            out.append(f"Sets that were fitted too: {'; '.join(each[1:6])}.")
        return tuple(map(Information, out))


def _change(best: Rival, rival: Rival) -> str:
    """What sets a rival apart."""
    more = [name for name in rival.random if name not in best.random]
    less = [name for name in best.random if name not in rival.random]
    parts = [f"with {', '.join(more)}"] * bool(more) + [f"without {', '.join(less)}"] * bool(less)
    return " and ".join(parts)


def search_random(design: Design, seed: int) -> RandomSearch:
    """Which coefficients of a design are random.

    Parameters
    ----------
    design
        Of whole persons.
    seed
        Of the nodes, and of the sample where persons are many.
    """
    data = design.data
    sample = _sample(data, seed)
    if sample is not data:
        design = Design(sample, design.encoding)
    work = _Search(design, seed)
    found = work.by_evidence()
    best, rivals = work.confirmed(found)
    names = tuple(work.candidates[k].key for k in best)
    return RandomSearch(names, rivals, len(work.candidates), work.persons, sample is not data)


def _sample(data: ChoiceData, seed: int) -> ChoiceData:
    """At most `MOST_PERSONS` persons."""
    persons = data.n_persons if data.person is not None else len(data)
    if not persons or persons <= MOST_PERSONS:
        return data
    rng = np.random.default_rng(seed)
    chosen = np.zeros(persons, dtype=bool)
    chosen[rng.choice(persons, MOST_PERSONS, replace=False)] = True
    rows = chosen if data.person is None else chosen[np.asarray(data.person)]
    return data.take(np.flatnonzero(rows))


def candidates_of(encoding: Encoding, position: Ints) -> tuple[Candidate, ...]:
    """Coefficients without interactions, and error components of alternatives without a constant.

    Parameters
    ----------
    encoding
    position
        Where every coefficient stands in blocks; shape (D,).
    """
    out = []
    for t in encoding.terms:
        if t.term.by:
            continue
        is_constant = t.term.what is None and len(t.term.where) == 1
        for k, name in enumerate(t.names):
            out.append(Candidate(name, int(position[t.start + k]), (), is_constant))
    for j in constants_without_term(encoding):
        out.append(Candidate(f"{encoding.alternatives[j]}: ASC", None, (j,), True))
    return tuple(out)


class _Search:
    """The work on one design."""

    def __init__(self, design: Design, seed: int) -> None:
        self.design, self.seed = design, seed
        self.blocks: CachedBlocks | StreamedBlocks = design.blocks()
        self.n_alternatives = len(design.encoding.alternatives)
        every = candidates_of(design.encoding, design.position)
        self.layout, self.task = self._task(())
        self.mnl: Maximum = warm_start(self.task, structure_of(self.layout)).maximum
        quadratics = self._quadratics(every, None)
        self.persons = len(quadratics.weight)
        diagonal = quadratics.weight @ np.einsum("uee->ue", quadratics.information)
        own = diagonal[_columns(every, design.n_columns)]
        # Nothing is random that says nothing.
        kept = own > 1e-9 * max(float(diagonal.max(initial=0.0)), 1e-300)
        self.candidates = tuple(c for c, is_kept in zip(every, kept, strict=True) if is_kept)
        # BIC over persons, and what it costs to have chosen among so many.
        searched = max(len(self.candidates), 1)
        self.price = float(np.log(max(self.persons, 2)) + np.log(searched))
        choices = max(len(design.data), 1)
        self.scale = np.sqrt(own[kept] / (TYPICAL_INFORMATION * choices))
        self.fits: dict[tuple[int, ...], _Fit] = {}

    # -- Quadratics -----------------------------------------------------------------------------

    def _quadratics(
        self, candidates: Sequence[Candidate], shift: Floats | None
    ) -> PersonQuadratics:
        """Of all columns and error components; written about the multinomial logit."""
        components = tuple(Component(c.alternatives) for c in candidates if c.column is None)
        beta, each, first = self.mnl.fit.beta, [], 0
        for block in self.blocks:
            here = None
            if shift is not None:
                here = shift[first : first + len(persons_of(block, components).code)]
            found = person_quadratics(block, beta, components, here)
            each.append(found if here is None else found.about(here))
            first += len(found.weight)
        return functools.reduce(operator.add, each)

    def by_evidence(self) -> TasteSet:
        """Rounds of search, each on quadratics at the modes that the last one found."""
        d = self.design.n_columns
        at = _columns(self.candidates, d)
        n_components = sum(c.column is None for c in self.candidates)
        shift: Floats | None = None
        found: TasteSet | None = None
        start: tuple[int, ...] = ()
        variance: Floats | None = None
        seen: set[tuple[int, ...]] = set()
        for _ in range(EXPANSIONS):
            q = self._quadratics(self.candidates, shift).columns(np.append(np.arange(d), at))
            size = np.append(np.ones(d), self.scale)
            scaled = PersonQuadratics(
                q.value, q.score / size, q.information / np.multiply.outer(size, size), q.weight
            )
            evidence = TasteEvidence(scaled, d)
            found = evidence.search(start, self.price, self._is_allowed, variance)
            if found.chosen in seen:
                break
            seen.add(found.chosen)
            start, variance = found.chosen, found.variance if found.chosen else None
            shift = np.zeros((self.persons, d + n_components))
            shift[:, :d] = found.shift
            for i, k in enumerate(found.chosen):
                shift[:, at[k]] += found.tastes[:, i] / self.scale[k]
        assert found is not None  # noqa: S101 - there is a first round
        return found

    def _is_allowed(self, chosen: Sequence[int]) -> bool:
        """Not the constants of all alternatives: one of their variances is not identified."""
        constants = sum(self.candidates[k].is_constant for k in chosen)
        return constants < max(self.n_alternatives, 2)

    # -- Exact fits -----------------------------------------------------------------------------

    def confirmed(self, found: TasteSet) -> tuple[tuple[int, ...], tuple[Rival, ...]]:
        """The best set among the neighbours that were fitted, and all of them."""
        guess = dict(zip(found.chosen, found.variance, strict=True))
        guess |= {
            k: float(found.first_variance[k])
            for k in range(len(self.candidates))
            if k not in guess and len(found.first_variance)
        }
        best = self._fit(found.chosen, guess)
        while len(self.fits) < MOST_CONFIRMING_FITS:
            better = self._better(best, guess, found)
            if better is None:
                break
            best = better
        order = sorted(self.fits.values(), key=lambda fit: fit.criterion)
        return best.chosen, tuple(
            Rival(tuple(self.candidates[k].key for k in fit.chosen), fit.loglik, fit.criterion)
            for fit in order
        )

    def _better(self, best: _Fit, guess: dict[int, float], found: TasteSet) -> _Fit | None:
        """A neighbour with a lower criterion: simpler sets first, they are the quickest to fit."""
        drops, adds, swaps = self._moves(best, found)
        for move in drops:
            simpler = self._fit(move, guess, best)
            if simpler.criterion < best.criterion:
                return simpler
        for moves in (adds, swaps):
            room = max(MOST_CONFIRMING_FITS - len(self.fits), 0)
            options = [self._fit(move, guess, best) for move in moves[:room]]
            better = min(options, key=lambda fit: fit.criterion, default=best)
            if better.criterion < best.criterion:
                return better
        return None

    def _moves(self, fit: _Fit, found: TasteSet) -> tuple[list[tuple[int, ...]], ...]:
        """Sets with one coefficient less, one more, one exchanged."""
        spreads = sorted(zip(fit.wald, fit.chosen, strict=True))

        def without(largest: float) -> list[tuple[int, ...]]:
            weak = [k for z, k in spreads if z < largest]
            return [tuple(k for k in fit.chosen if k != gone) for gone in weak]

        order = [int(k) for k in np.argsort(-found.statistic, kind="stable")]
        new = [k for k in order if k not in fit.chosen]
        new = (new + [k for k in found.chosen if k not in fit.chosen])[:ADDED]
        adds = [(*fit.chosen, k) for k in new]
        swaps = [(*drop, k) for drop in without(EXCHANGED_WALD) for k in new]
        return tuple(
            [move for move in moves if self._is_allowed(move)]
            for moves in (without(CERTAIN_WALD), adds, swaps)
        )

    def _fit(
        self, chosen: Sequence[int], guess: dict[int, float], near: _Fit | None = None
    ) -> _Fit:
        key = tuple(sorted(chosen))
        if key not in self.fits:
            self.fits[key] = self._fitted(tuple(chosen), guess, near)
        return self.fits[key]

    def _fitted(self, chosen: tuple[int, ...], guess: dict[int, float], near: _Fit | None) -> _Fit:
        if not chosen:
            loglik, beta = self.mnl.fit.loglik, self.mnl.fit.beta
            return _Fit((), loglik, -2 * loglik, (), beta)
        layout, task = self._task(chosen)
        scaled = np.clip([SHRUNKEN * guess.get(k, 1.0) for k in chosen], *FIRST_VARIANCES)
        variance = scaled / self.scale[list(chosen)] ** 2
        persons = max(self.persons, 1)
        information = self.scale[list(chosen)] ** 2 * TYPICAL_INFORMATION
        scale = np.sqrt(information * len(self.design.data) / persons)
        warm = Warm(self.mnl, variance, scale)
        start = None
        if near is not None and near.chosen:
            known = dict(zip(near.chosen, near.theta[layout.n_columns :], strict=True))
            sd = [known.get(k) or first for k, first in zip(chosen, np.sqrt(variance), strict=True)]
            start = np.append(near.theta[: layout.n_columns], sd)
        lowest = min((fit.criterion for fit in self.fits.values()), default=np.inf)
        wanted = 0.5 * (self.price * len(chosen) - lowest - HOPELESS_CRITERION)
        found = maximise_simulated(
            task, CONFIRMING_NODES, self.seed, warm, start=start, is_final=False, wanted=wanted
        )
        sums = found.sums
        spreads = found.theta[layout.n_columns :]
        error = np.sqrt(np.maximum(np.diag(np.linalg.pinv(sums.curvature)), 0))
        error = error[layout.n_columns :]
        wald = tuple(float(s / e) if s and e else 0.0 for s, e in zip(spreads, error, strict=True))
        return _Fit(
            chosen, sums.loglik, -2 * sums.loglik + self.price * len(chosen), wald, found.theta
        )

    def _task(self, chosen: Sequence[int]) -> tuple[ParameterLayout, EstimationTask]:
        """What the estimation of a set needs."""
        from ardchoice.families.mixed.family import Mixed

        random = {self.candidates[k].key: "normal" for k in chosen}
        family: Family = Mixed(random) if random else Mixed(None)
        layout = family.layout(self.design.encoding).reordered(self.design.order)

        def evaluate(theta: Floats, last: bool) -> Sums:
            return family_pass(family, layout, theta, self.blocks)

        def finish(ending: Family, theta: Floats) -> Sums:
            return family_pass(ending, layout, theta, self.blocks)

        return layout, EstimationTask(
            design=self.design,
            blocks=self.blocks,
            layout=layout,
            evaluate=evaluate,
            null_loglik=0.0,
            tolerance=1e-8,
            max_iterations=60,
            separation="allow",
            finish=finish,
        )


@dataclass(frozen=True, eq=False)
class _Fit:
    """An exact fit of a set: its log-likelihood, criterion, z of every standard deviation, θ."""

    chosen: tuple[int, ...]
    loglik: float
    criterion: float
    wald: tuple[float, ...]
    theta: Floats


def _columns(candidates: Sequence[Candidate], d: int) -> Ints:
    """Of quadratics, error components behind the D columns."""
    extra = iter(range(d, d + len(candidates)))
    return np.array(
        [next(extra) if c.column is None else c.column for c in candidates], dtype=np.intp
    )

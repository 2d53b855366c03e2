"""`select_jointly`: terms and random coefficients decided together, with a reason for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ardchoice._types import Floats
from ardchoice.ard import ArdFit
from ardchoice.checkpoints import NOTHING, Checkpointer
from ardchoice.design import running
from ardchoice.errors import ArdchoiceError
from ardchoice.families import Family, Mixed, Mnl
from ardchoice.numerics import single_blas_thread
from ardchoice.selection.compile import compile_structure
from ardchoice.selection.joint.alternate import Alternation, Joint
from ardchoice.selection.joint.prices import design_effects_left
from ardchoice.selection.joint.refits import TasteRefits
from ardchoice.selection.joint.tastes import RandomCandidate, Taste
from ardchoice.selection.neighbours import neighbours
from ardchoice.selection.prices import criterion_of
from ardchoice.selection.reasons import explain_search
from ardchoice.selection.rules import Bic, Ebic, Rule, Searched
from ardchoice.selection.search import Found, Problem, SearchStep
from ardchoice.selection.signs import SignRules, with_expected_signs
from ardchoice.selection.structure import Structure
from ardchoice.selection.surrogate import Surrogate
from ardchoice.space import Specification


@dataclass(frozen=True, eq=False)
class JointSelection:
    """Terms and random coefficients, decided together.

    Attributes
    ----------
    specification
        The terms, with a reason for every candidate.
    mnl
        What the multinomial logit selects by itself.
    candidates
        For random coefficients.
    explained
        Terms of the multinomial logit that random coefficients explain -> which.
    design_effect, design_effect_left
        Median over interactions (over all terms where no candidate is one), in the multinomial
        logit and with the random coefficients: about one where these explain how much alike the
        answers of a person are.
    rounds
        Of the alternation.
    persons
        Whose answers were used.
    start
        Coefficients and standard deviations by Laplace's approximation, by name: where exact
        estimates start.
    """

    specification: Specification
    mnl: Specification
    candidates: tuple[RandomCandidate, ...]
    explained: Mapping[str, str]
    design_effect: float
    design_effect_left: float
    rounds: int
    persons: int
    start: Mapping[str, float] = field(default_factory=dict, repr=False)

    @property
    def random(self) -> dict[str, str]:
        """Name -> distribution of the random coefficients, as `Mixed` takes them."""
        return {c.name: c.distribution for c in self.candidates if c.selected}

    @property
    def medians_of(self) -> str:
        """What the design effects are medians over: ``"interactions"`` or ``"terms"``."""
        return "interactions" if any(t.by for t in self.specification.reasons) else "terms"

    def family_of(self, asked: Mixed) -> Family:
        """With the random coefficients; the multinomial logit where there are none."""
        return asked.with_random(self.random) if self.random else Mnl()


def select_jointly(
    fit: ArdFit,
    mnl: Specification,
    rule: Rule | None = None,
    *,
    structure: Structure | None = Structure(),  # noqa: B008 - frozen
    progress: Callable[[SearchStep], None] | None = None,
    keep: Checkpointer = NOTHING,
) -> JointSelection:
    """Decide which terms are in and which coefficients are random, one given the other.

    Parameters
    ----------
    fit
        How relevant each candidate is.
    mnl
        What was selected without random coefficients.
    rule
        `Ebic()` (the default) or `Bic()`.
    structure
        What every specification must obey.
    progress
        Called after every round of a search.
    keep
        Where refits are saved.
    """
    rule = Ebic() if rule is None else rule
    if not isinstance(rule, Ebic | Bic):
        raise ArdchoiceError(
            f"Terms and random coefficients are decided together by a criterion: rule=ac.Ebic() or "
            f"ac.Bic(), not {rule.name}."
        )
    structure = with_expected_signs(structure, fit.data, fit.terms)
    constraints = compile_structure(structure, fit.space)
    signs = SignRules({} if structure is None else structure.given_signs, fit.encoding, fit.data)
    place = {term: t for t, term in enumerate(fit.terms)}
    selected = frozenset(place[t] for t in mnl.terms)
    with running(fit.execution), single_blas_thread():
        refits = TasteRefits.with_tastes(fit, journal=keep.journal("joint-refits"))
        plain = criterion_of(_independent(rule), fit, refits.n, constraints)
        alternation = Alternation(fit, constraints, plain, signs, refits, progress)
        if not fit.persons_repeat:
            return _no_repetition(fit, mnl, alternation)
        joint = alternation.run(selected)
        return _explained(fit, mnl, alternation, joint)


def _independent(rule: Searched) -> Searched:
    """Prices by design effect are for models without random coefficients."""
    return replace(rule, cluster=False)


def _no_repetition(fit: ArdFit, mnl: Specification, alternation: Alternation) -> JointSelection:
    note = (
        "No person answers more than once: random coefficients are hardly identified, and none "
        "was looked for."
    )
    specification = replace(mnl, notes=(*mnl.notes, note))
    return JointSelection(specification, mnl, (), {}, 1.0, 1.0, 0, alternation.persons)


def _explained(
    fit: ArdFit, mnl: Specification, alternation: Alternation, joint: Joint
) -> JointSelection:
    """With reasons, and what tastes explain of the multinomial logit."""
    refits, problem = alternation.refits, joint.problem
    marginal = refits.marginal(joint.fitted, meat=True)
    quadratic = refits.quadratic_of(marginal.marginal, joint.fitted)
    surrogate = Surrogate(quadratic, refits.columns)
    specification = _with_reasons(problem, joint, surrogate)
    interaction = np.array([bool(t.by) for t in fit.terms])
    start = _start(joint, refits)
    before = fit.tests.design_effect
    some = interaction if interaction.any() else ~interaction
    explained = _explained_terms(mnl, specification, joint.tastes, marginal.lost_by, refits)
    reasons = dict(specification.reasons)
    for term in mnl.terms:
        if str(term) in explained:
            reasons[term] = reasons[term].replace(
                "dropped: ", f"dropped: explained by {explained[str(term)]}; ", 1
            )
    formula = _formula(problem, alternation, joint)
    narrow = alternation.narrowed(joint)
    found = refits.marginal(narrow, meat=True)
    curvature = refits.quadratic_of(found.marginal, narrow).curvature
    left = design_effects_left(curvature, found.meat, refits.columns, narrow.selected)
    return JointSelection(
        replace(specification, reasons=reasons, formula=formula),
        mnl,
        alternation.explained_candidates(narrow),
        explained,
        float(np.median(np.maximum(before, 0.0)[some])),
        float(np.median(left[some])),
        joint.rounds,
        alternation.persons,
        start,
    )


def _start(joint: Joint, refits: TasteRefits) -> dict[str, float]:
    """Estimates by name, in the user's units."""
    beta = refits.raw(joint.fitted.beta)
    out: dict[str, float] = {}
    for t in sorted(joint.fitted.selected):
        encoded = refits.encoding.terms[t]
        values = beta[encoded.start : encoded.columns.stop].tolist()
        out |= dict(zip(encoded.names, values, strict=True))
    for taste, variance in zip(joint.tastes, joint.variance, strict=True):
        out[f"sd({taste.name})"] = float(np.sqrt(variance)) / taste.scale
    return out


def _with_reasons(problem: Problem, joint: Joint, surrogate: Surrogate) -> Specification:
    """A reason for every candidate term, given the random coefficients."""
    fitted = joint.fitted
    around = neighbours(
        fitted.selected, surrogate, problem.constraints, problem.criterion, thorough=True
    )
    score = problem.score(fitted)
    found = Found(
        best=fitted,
        score=score,
        tried={fitted.selected: score},
        surrogate=surrogate,
        around=around,
        rounds=joint.rounds,
        refits=problem.models.refits,
    )
    return explain_search(problem, found)


def _explained_terms(
    mnl: Specification,
    specification: Specification,
    tastes: tuple[Taste, ...],
    lost_by: Floats,
    refits: TasteRefits,
) -> dict[str, str]:
    """Interactions of the MNL that are out -> the taste that takes most of their information."""
    if not tastes:
        return {}
    place = {t.term: k for k, t in enumerate(refits.encoding.terms)}
    out = {}
    for term in mnl.terms:
        if term.by and term not in specification.terms:
            lost = lost_by[refits.columns[place[term]]].sum(axis=0)
            out[str(term)] = tastes[int(lost.argmax())].in_words
    return out


def _formula(problem: Problem, alternation: Alternation, joint: Joint) -> str:
    """The criterion in words."""
    criterion, persons = problem.criterion, alternation.persons
    rows = joint.rows[alternation.constraints.columns > 0]
    return (
        f"{criterion.name} = -2 LL + Σ K ln n_t + q ln {persons:,} for q random coefficients and "
        "terms t of K columns, n_t the number of independent answers that the information of the "
        f"term is worth once tastes are integrated out: {rows.min():,.0f} to {rows.max():,.0f} "
        f"of {alternation.refits.n:,}; log-likelihood by Laplace's approximation."
    )

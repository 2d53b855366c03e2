"""`Stages`: the steps of `specify`, each saved once it is done and reporting its progress."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ardchoice.ard import ArdFit, Solver, fit_ard
from ardchoice.checkpoints import Checkpointer
from ardchoice.data import ChoiceData
from ardchoice.design import learn_encoding
from ardchoice.errors import IdentificationError
from ardchoice.estimation import Result, fit_anyway
from ardchoice.evaluation import compare_families
from ardchoice.families import Family, Mixed, Mnl, Nested
from ardchoice.progress import Listener, PhaseProgress, relevance_callback, search_callback
from ardchoice.record import FamilyComparison, PersonDifferences, TermsAndTastes
from ardchoice.selection import (
    Confirmed,
    JointSelection,
    Rule,
    Structure,
    confirm,
    not_worse_than_mnl,
    select,
    select_jointly,
    with_exact_signs,
)
from ardchoice.space import SearchSpace, Specification

MOST_ANSWERS = 1_000_000
"""Beyond them the test is made only where it is asked for: it takes products of all columns."""
STRONGEST_NAMED = 2
"""Coefficients that are named where persons differ."""
Estimated = tuple[Result, tuple[str, ...]]
"""Estimates, and notes on them."""


@dataclass(frozen=True)
class Stages:
    """The steps of `specify`.

    Attributes
    ----------
    keep
        Where outcomes are saved; what is there already is not computed again.
    listener
        Called with the progress.
    """

    keep: Checkpointer
    listener: Listener | None

    def find_relevance(
        self, data: ChoiceData, space: SearchSpace, family: Family, solver: Solver
    ) -> ArdFit:
        """How relevant every candidate is; in the MNL where that fails in a nested logit.

        With all candidates in it, its scale may run to a bound though the nest is right.
        """

        def work() -> ArdFit:
            progress = relevance_callback(self.listener, solver)
            found = fit_ard(data, space, family=family, solver=solver, progress=progress)
            if not isinstance(found.family, Nested) or _is_usable(found):
                return found
            return fit_ard(data, space, family=Mnl(), solver=solver, progress=progress)

        return self.keep.stage("relevance", work, data, space)

    def search(self, relevance: ArdFit, rule: Rule, structure: Structure | None) -> Specification:
        """The specification that the data support among those that obey the structure."""

        def work() -> Specification:
            progress = search_callback(self.listener)
            return select(relevance, rule, structure=structure, progress=progress, keep=self.keep)

        return self.keep.stage("search", work, relevance)

    def decide_jointly(
        self,
        relevance: ArdFit,
        mnl: Specification,
        rule: Rule,
        structure: Structure | None,
        family: Mixed,
    ) -> Confirmed:
        """Terms and random coefficients by quadratics; those in doubt confirmed by exact fits."""

        def decide() -> JointSelection:
            progress = search_callback(self.listener)
            return select_jointly(
                relevance, mnl, rule, structure=structure, progress=progress, keep=self.keep
            )

        decided = self.keep.stage("joint", decide, relevance, mnl)

        def check() -> Confirmed:
            confirmed = confirm(relevance.data, decided, family=family)
            confirmed = with_exact_signs(relevance, confirmed, family=family, structure=structure)
            return not_worse_than_mnl(relevance.data, confirmed, family=family, structure=structure)

        return self.keep.stage("confirmed", check, relevance.data, relevance, mnl, decided)

    def estimate_terms_of_mnl(self, data: ChoiceData, joint: JointSelection) -> TermsAndTastes:
        """What the multinomial logit selects by itself, estimated too."""

        def work() -> Estimated:
            return fit_anyway(data, joint.mnl, Mnl())

        return TermsAndTastes(joint, self.keep.stage("mnl-beside", work, data, joint.mnl)[0])

    def differences(self, result: Result) -> PersonDifferences | None:
        """Whether persons differ beyond a multinomial logit; None where that cannot be known."""
        people, answers = result.n_persons, len(result.data)
        is_mnl = isinstance(result.family, Mnl) and len(result.names) > 0
        if not is_mnl or people is None or people == answers or answers > MOST_ANSWERS:
            return None

        def work() -> PersonDifferences | None:
            try:
                frame = result.heterogeneity()
            except np.linalg.LinAlgError:
                # Columns that are all but collinear: nothing can be said.
                return None
            joint = frame.iloc[-1]
            first = frame.iloc[:-1].dropna(subset="z").head(STRONGEST_NAMED)
            strongest = tuple(
                (str(name), float(z))
                for name, z in zip(first["coefficient"], first["z"], strict=True)
            )
            each = answers / people
            effect = max(result.person_effect or 1.0, 1.0)
            return PersonDifferences(float(joint["p"]), strongest, each, each / effect)

        return self.keep.stage("differences", work, result)

    def compare_families(
        self, data: ChoiceData, specification: Specification, seed: int
    ) -> FamilyComparison:
        """The specification in several families."""
        return compare_families(
            data, specification, seed=seed, listener=self.listener, keep=self.keep
        )

    def estimate(
        self,
        data: ChoiceData,
        specification: Specification,
        family: Family,
        *,
        honest: bool,
        known: Estimated | None = None,
    ) -> Estimated:
        """Maximum likelihood; with `honest`, on persons that did not select.

        What was estimated while it was decided is not estimated again.
        """

        def work() -> Estimated:
            if known is not None and not honest:
                return known
            try:
                return fit_anyway(data, specification, family)
            except IdentificationError as error:
                raise _of_one_half(error) if honest else error from None

        result, notes = self.keep.stage("estimates", work, data, specification)
        done = f"{result.n_parameters} coefficients, log-likelihood {result.loglik:,.1f}"
        PhaseProgress("estimate", self.listener)(1, 1, done)
        return result, notes

    def estimate_as_selected(
        self, data: ChoiceData, specification: Specification, family: Family
    ) -> Result:
        """The same on the persons that selected, to be set beside."""

        def work() -> Estimated:
            return fit_anyway(data, specification, family)

        return self.keep.stage("selecting", work, data, specification)[0]


def _is_usable(fit: ArdFit) -> bool:
    """Whether relevance converged where the family is admissible."""
    layout = fit.family.layout(fit.encoding)
    theta = np.concatenate([np.zeros(layout.n_columns), layout.extra_values(fit.extras)])
    return fit.converged and not fit.family.inadmissible(theta, layout)


def searched_with(family: Family, relevance: ArdFit) -> tuple[str, ...]:
    """A note where terms were not searched with the family that was to search them."""
    if not isinstance(family, Nested) or relevance.family == family:
        return ()
    return (
        f"Terms were searched with the {relevance.family.title.lower()}: with all candidates in "
        f"it, the {family.title.lower()} is inadmissible or does not converge.",
    )


def family_left(
    family: Family, data: ChoiceData, specification: Specification
) -> tuple[Family, tuple[str, ...]]:
    """The family with those of the terms it names that the search kept, and a note on others."""
    if not family.named_terms:
        return family, ()
    left = family.for_terms(learn_encoding(data, specification.terms))
    gone = [name for name in family.named_terms if name not in left.named_terms]
    if not gone:
        return family, ()
    instead = [name for name in left.named_terms if name not in family.named_terms]
    text = f"Of the terms that the {family.title.lower()} names, the search dropped "
    text += ", ".join(gone)
    text += f"; in another form: {', '.join(instead)}." if instead else "."
    if not left.named_terms and type(left) is not type(family):
        text += f" Nothing is left of it: this is a {left.title.lower()}."
    return left, (text,)


def _of_one_half(error: IdentificationError) -> IdentificationError:
    """What to do where half of the persons do not identify what the other half selected."""
    return IdentificationError(
        f"The persons left for estimating cannot identify all coefficients. {error} Pool rare "
        "levels when reading, or split the persons with another seed."
    )

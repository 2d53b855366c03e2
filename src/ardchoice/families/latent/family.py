"""`LatentClass`: persons belong to classes with tastes of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ardchoice._types import Floats, Ints
from ardchoice.data import ChoiceData
from ardchoice.design import Block, Design, Encoding
from ardchoice.errors import SpecificationError, did_you_mean
from ardchoice.families.estimate import climb_task
from ardchoice.families.family import Family, family_pass
from ardchoice.families.latent.diagnose import (
    class_notes,
    converged_apart,
    diverging_directions,
)
from ardchoice.families.latent.estimate import Starts, class_pass
from ardchoice.families.latent.kernel import (
    ABSENT,
    ClassArrays,
    class_arrays,
    class_state,
    evaluate,
    evaluate_with_scores,
    membership_utilities,
)
from ardchoice.families.latent.number import resolve_classes, top_rung
from ardchoice.families.mnl import Mnl
from ardchoice.families.mnl.kernel import choice_probabilities, utilities
from ardchoice.families.parameters import (
    Parameter,
    ParameterLayout,
    coefficient_parameters,
    term_like,
)
from ardchoice.families.records import (
    EstimationTask,
    Individuals,
    Logsum,
    Maximum,
    Resolved,
    Scores,
    TasteKind,
)
from ardchoice.families.registry import register_family
from ardchoice.numerics import NewtonFit, Order, Sums

MANY_CLASSES = 4
"""From so many classes on, likelihoods have more maxima."""
MANY_STARTS_FACTOR = 2
"""Times as many starts then."""
MEMBERSHIP_PREFIX = "class"
AUTO = "auto"
"""In place of covariates: the data decide."""


@register_family
@dataclass(frozen=True)
class LatentClass(Family):
    """The latent class logit: each person is in one of a few classes, unknown which.

    L_n = Σ_q π_nq Π_t P_t(y_nt | β_q), with π_nq = softmax_q(γ_q0 + w_n'γ_q). Without person ids
    every choice is a person of its own. Random coefficients within classes are not supported: use
    Mixed.

    Attributes
    ----------
    classes
        How many; None: by BIC over persons. Default: None.
    membership
        Covariates of the person that membership depends on; ``"auto"``: those that improve BIC
        over persons. Default: none.
    shared
        Terms whose coefficients are the same in all classes. Default: none.
    absent
        Class, from "1", -> terms whose coefficients are zero there (attribute non-attendance).
        Classes are sorted by share unless it is given. Default: none.
    starts
        How many estimations are started; twice as many from four classes on. Default: 8.
    seed
        Of the starts. Default: 0.
    curve
        Set by estimation where the number of classes was chosen: number -> BIC over persons.
    known
        Set where the model is estimated again on nearly the same choices: name of a parameter ->
        where the only start is.

    Examples
    --------
    >>> import ardchoice as ac
    >>> ac.LatentClass(2, membership=["INCOME"]).covariates
    ('INCOME',)
    """

    classes: int | None = None
    membership: Sequence[str] | None = None
    shared: Sequence[str] = ()
    absent: Mapping[str, Sequence[str]] | None = None
    starts: int = 8
    seed: int = 0
    curve: Mapping[str, float] | None = field(
        default=None, compare=False, repr=False, metadata={"internal": True}
    )
    known: Mapping[str, float] | None = field(
        default=None, compare=False, repr=False, metadata={"internal": True}
    )

    tag: ClassVar[str] = "latent"
    title: ClassVar[str] = "Latent class logit"
    panel: ClassVar[bool] = True
    assumption: ClassVar[str] = (
        "The model is a latent class logit: every person belongs to one of a few classes, tastes "
        "are the same within a class, and within a class the choices of a person are independent."
    )
    formula: ClassVar[str] = (
        "Choice probabilities are those of the classes, P = exp V / Σ exp V over the available "
        "alternatives, weighted by the shares of the classes; V is shown with the mean of their "
        "coefficients."
    )

    def __post_init__(self) -> None:
        if self.classes is not None and (not isinstance(self.classes, int) or self.classes < 1):
            raise SpecificationError(
                f"The number of classes is 1 or more, or None to choose it by BIC, not "
                f"{self.classes!r}."
            )
        if self.starts < 1:
            raise SpecificationError(f"At least one start is needed, not {self.starts}.")
        if self.membership == AUTO:
            object.__setattr__(self, "membership", (AUTO,))
        if isinstance(self.membership, str) or isinstance(self.shared, str):
            raise SpecificationError("membership and shared are lists of names: ['INCOME'].")
        if self.membership is not None:
            object.__setattr__(self, "membership", tuple(self.membership))
        object.__setattr__(self, "shared", tuple(self.shared))
        if self.absent is not None:
            absent = {str(q): tuple(terms) for q, terms in self.absent.items()}
            known = [str(q + 1) for q in range(self.classes or 0)]
            for q in absent:
                if q not in known:
                    raise SpecificationError(
                        f"absent: there is no class {q!r}. Classes are {', '.join(known)}."
                        if known
                        else "absent needs the number of classes: LatentClass(2, absent=...)."
                    )
            object.__setattr__(self, "absent", absent)

    def __hash__(self) -> int:
        absent = tuple((self.absent or {}).items())
        return hash((self.classes, self.membership, self.shared, absent, self.starts, self.seed))

    @property
    def selects_membership(self) -> bool:
        """Whether the data decide what membership depends on."""
        return self.membership == (AUTO,)

    @property
    def covariates(self) -> tuple[str, ...]:
        """What membership depends on; none while that is to be selected."""
        return () if self.selects_membership else tuple(self.membership or ())

    @property
    def named_terms(self) -> tuple[str, ...]:
        """Shared ones, and those that are absent from classes."""
        absent = (name for terms in (self.absent or {}).values() for name in terms)
        return tuple(dict.fromkeys((*self.shared, *absent)))

    @property
    def for_selection(self) -> Family:
        """The multinomial logit: classes are looked for once the terms are known."""
        return Mnl()

    @property
    def details(self) -> str:
        """How many classes, and what membership depends on."""
        if self.classes is None:
            return "number of classes by BIC"
        text = f"{self.classes} class{'es' if self.classes > 1 else ''}"
        if self.membership:
            text += f", membership by {', '.join(self.membership)}"
        if self.shared:
            text += f", {len(self.shared)} shared term{'s' if len(self.shared) > 1 else ''}"
        return text

    @property
    def n_starts(self) -> int:
        """Starts for this number of classes."""
        many = self.classes is not None and self.classes >= MANY_CLASSES
        return self.starts * (MANY_STARTS_FACTOR if many else 1)

    # -- Parameters ---------------------------------------------------------------------------

    def must_fit(self, candidates: Encoding, data: ChoiceData) -> None:
        """Refuse membership by no covariate, and shared or absent terms like no candidate."""
        super().must_fit(candidates, data)
        known = [str(t.term) for t in candidates.terms]
        for name in self.named_terms:
            if name not in known:
                raise SpecificationError(
                    f"{self.title}: {name!r} is no candidate of the space. "
                    f"{did_you_mean(name, known)}"
                )

    def resolve(self, design: Design) -> Resolved:
        """The number of classes, where it is to be chosen."""
        return resolve_classes(self, design)

    def layout(self, encoding: Encoding) -> ParameterLayout:
        """Coefficients of the first class (or all), of the others, and membership."""
        n_classes = self._n_classes
        own: list[Parameter] = []
        others: list[Parameter] = []
        for parameter in coefficient_parameters(encoding):
            having = self._classes_with(parameter, encoding)
            if str(parameter.term) in self._shared(encoding) or n_classes == 1:
                classes = () if len(having) == n_classes else tuple(having)
                own.append(replace(parameter, classes=classes))
                continue
            named = [
                replace(parameter, name=f"{parameter.name} (class {q + 1})", classes=(q,))
                for q in having
            ]
            own.append(named[0])
            others += named[1:]
        others.sort(key=lambda p: p.classes)
        parameters = (*own, *others, *self._membership_parameters(encoding))
        return ParameterLayout(parameters, encoding.n_columns, encoding.alternatives)

    def _classes_with(self, parameter: Parameter, encoding: Encoding) -> list[int]:
        """The classes in which a coefficient is not zero."""
        absent = self._absent(encoding)
        having = [q for q in range(self._n_classes) if str(parameter.term) not in absent[q]]
        if not having:
            raise SpecificationError(
                f"'{parameter.term}' is absent from every class: remove it from the specification."
            )
        return having

    def _membership_parameters(self, encoding: Encoding) -> list[Parameter]:
        names = ["constant", *(n for p in encoding.persons for n in p.names)]
        return [
            Parameter(f"{MEMBERSHIP_PREFIX} {q + 1}: {name}", "class", classes=(q,))
            for q in range(1, self._n_classes)
            for name in names
        ]

    @property
    def _n_classes(self) -> int:
        if self.classes is None:
            raise SpecificationError(
                "The number of classes is still to be found: estimate with ac.fit(data, spec, "
                "family=ac.LatentClass(None)), and use result.family."
            )
        return self.classes

    def _shared(self, encoding: Encoding) -> set[str]:
        return {_known_term(name, encoding, "shared") for name in self.shared}

    def _absent(self, encoding: Encoding) -> list[set[str]]:
        given = self.absent or {}
        return [
            {_known_term(name, encoding, "absent") for name in given.get(str(q + 1), ())}
            for q in range(self._n_classes)
        ]

    def start(self, layout: ParameterLayout, near: Floats | None = None) -> Floats:
        """Classes around the multinomial logit, a little apart from it and equally large."""
        theta = layout.starts.copy()
        if near is None:
            return theta
        arrays = self._arrays(layout)
        n = arrays.n_classes
        for q, place in enumerate(arrays.place):
            free = place >= 0
            theta[place[free]] = (near * (1 + 0.4 * (q - (n - 1) / 2)))[free]
        return theta

    def _arrays(self, layout: ParameterLayout) -> ClassArrays:
        return class_arrays(layout, self._n_classes)

    # -- Likelihood -----------------------------------------------------------------------------

    def evaluate(
        self,
        theta: Floats,
        block: Block,
        layout: ParameterLayout,
        order: Order = 2,
        *,
        single_precision: bool = False,
    ) -> Sums:
        """Log-likelihood, gradient, Hessian."""
        return evaluate(theta, block, self._arrays(layout), order)

    def scores(self, theta: Floats, block: Block, layout: ParameterLayout) -> Scores:
        """The same with the gradient of every person."""
        return Scores(*evaluate_with_scores(theta, block, self._arrays(layout)))

    def probabilities(self, theta: Floats, block: Block, layout: ParameterLayout) -> Floats:
        """Σ_q π_q P(j | q); shape (J, B)."""
        shares, p = self._classes(theta, block, layout)
        return np.asarray(sum(share * one for share, one in zip(shares, p, strict=True)))

    def response(
        self, theta: Floats, block: Block, layout: ParameterLayout, alternative: int
    ) -> Floats:
        """∂P_j/∂V_i = Σ_q π_q P_qj (1[i = j] - P_qi); shape (J, B)."""
        own = np.zeros((block.shape[0], 1))
        own[alternative] = 1.0
        shares, p = self._classes(theta, block, layout)
        return np.asarray(
            sum(s * one * (own - one[alternative]) for s, one in zip(shares, p, strict=True))
        )

    def logsums(self, theta: Floats, block: Block, layout: ParameterLayout) -> tuple[Logsum, ...]:
        """Expected maximum utility in every class."""
        shares = self.class_shares(theta, block, layout)
        return tuple(
            Logsum(choice_probabilities(utilities(beta, block), block.available).log_total, beta, s)
            for beta, s in zip(self._arrays(layout).betas(theta), shares, strict=True)
        )

    def mean_coefficients(self, theta: Floats, block: Block, layout: ParameterLayout) -> Floats:
        """Σ_q π_q β_q; shape (D, B)."""
        return self._arrays(layout).betas(theta).T @ self.class_shares(theta, block, layout)

    def class_shares(self, theta: Floats, block: Block, layout: ParameterLayout) -> Floats:
        """π of every class for every row; shape (Q, B)."""
        ones = np.ones((1, block.shape[1]))
        w = ones if block.covariates is None else np.concatenate([ones, block.covariates])
        eta = membership_utilities(theta, w, self._arrays(layout))
        e = np.exp(eta - eta.max(axis=0))
        return np.asarray(e / e.sum(axis=0))

    def taste_kinds(self, theta: Floats, layout: ParameterLayout) -> tuple[TasteKind, ...]:
        """Those of every class."""
        arrays, kinds = self._arrays(layout), []
        if arrays.n_classes == 1:
            return ()
        for q, (place, beta) in enumerate(zip(arrays.place, arrays.betas(theta), strict=True), 1):
            gradient = np.zeros((layout.n_columns, len(theta)))
            free = np.flatnonzero(place != ABSENT)
            gradient[free, place[free]] = 1.0
            kinds.append(TasteKind(f"{MEMBERSHIP_PREFIX} {q}", beta, gradient))
        return tuple(kinds)

    def class_coefficients(self, theta: Floats, layout: ParameterLayout) -> Floats:
        """β of every class; shape (Q, D)."""
        return self._arrays(layout).betas(theta)

    def _classes(
        self, theta: Floats, block: Block, layout: ParameterLayout
    ) -> tuple[Floats, list[Floats]]:
        betas = self._arrays(layout).betas(theta)
        p = [choice_probabilities(utilities(beta, block), block.available).p for beta in betas]
        return self.class_shares(theta, block, layout), p

    def individual(self, theta: Floats, block: Block, layout: ParameterLayout) -> Individuals:
        """The probability of every class given the person's choices."""
        state = class_state(theta, block, self._arrays(layout))
        person = None
        if block.person is not None:
            person = np.asarray(block.person[state.rows.first_rows], dtype=np.intp)
        columns = tuple(f"class {q + 1}" for q in range(self._n_classes))
        return Individuals((person,), columns, (state.posterior.T,))

    # -- Estimation -----------------------------------------------------------------------------

    def maximise(self, task: EstimationTask) -> Maximum:
        """Several starts of EM and Newton's method; classes are then sorted by share."""
        near = self._plain_maximum(task)
        arrays = self._arrays(task.layout)
        if self.known is not None:
            theta = np.array([self.known[name] for name in task.layout.names])
            ended = class_pass(task.blocks, arrays, theta)
            found = Starts(theta, (ended.loglik,), ended.complete, ended.share)
        else:
            found = top_rung(self, task.design, task.blocks, near).starts
            theta = found.best if self.absent else self.sorted_by_share(found, task.layout)
        fit = climb_task(self, task, theta)
        at_zero = class_pass(task.blocks, arrays, np.zeros(len(theta))).complete
        diverging = diverging_directions(fit.curvature, at_zero)
        if diverging is not None:
            fit = converged_apart(fit, diverging, task.tolerance)
        notes = class_notes(self._n_classes, fit.beta, arrays, task, found, diverging)
        return Maximum(fit, diverging, notes)

    def _plain_maximum(self, task: EstimationTask) -> NewtonFit:
        """The multinomial logit, which also shows what is not identified."""
        mnl = Mnl()
        plain = mnl.layout(task.design.encoding).reordered(task.design.order)

        def evaluate_mnl(theta: Floats, last: bool) -> Sums:
            return family_pass(mnl, plain, theta, task.blocks)

        return mnl.maximise(replace(task, layout=plain, evaluate=evaluate_mnl)).fit

    def sorted_by_share(self, found: Starts, layout: ParameterLayout) -> Floats:
        """θ with the classes in the order of their shares, the largest first."""
        return self.relabelled(found.best, layout, np.argsort(-found.share, kind="stable"))

    def for_terms(self, encoding: Encoding) -> Family:
        """The same with those of the shared and absent terms that there are."""

        def kept(names: Sequence[str]) -> tuple[str, ...]:
            found = (term_like(name, encoding) for name in names)
            return tuple(dict.fromkeys(name for name in found if name is not None))

        absent = {q: kept(names) for q, names in (self.absent or {}).items()}
        return replace(
            self,
            shared=kept(self.shared),
            absent={q: names for q, names in absent.items() if names} or None,
        )

    # -- Estimation again on nearly the same choices ----------------------------------------------

    def started_at(self, estimates: Mapping[str, float]) -> Family:
        """The same, started from these estimates only."""
        return replace(self, known=dict(estimates))

    @property
    def n_exchangeable(self) -> int:
        """All classes, unless some coefficients are absent from some."""
        return 0 if self.absent else self._n_classes

    def relabelled(self, theta: Floats, layout: ParameterLayout, order: Ints) -> Floats:
        """θ with the class `order[q]` in the place of class q."""
        arrays, out = self._arrays(layout), theta.copy()
        for q, place in enumerate(arrays.place):
            out[place] = theta[arrays.place[order[q]]]
        gamma = np.vstack([np.zeros((1, arrays.membership.shape[1])), theta[arrays.membership]])
        gamma = gamma[order] - gamma[order[0]]
        out[arrays.membership] = gamma[1:]
        return out


def _known_term(name: str, encoding: Encoding, option: str) -> str:
    known = [str(t.term) for t in encoding.terms]
    if name not in known:
        raise SpecificationError(
            f"{option}: there is no term {name!r}. {did_you_mean(name, known)}"
        )
    return name

"""`ArdFit`: how relevant each candidate is."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ardchoice._types import Bools, Floats
from ardchoice.ard.clustered import (
    TermTests,
    clustered_meat,
    clustered_tests,
    design_effect_shares,
    restricted_estimate,
)
from ardchoice.ard.groups import Groups
from ardchoice.ard.likelihood import FamilyLikelihood
from ardchoice.ard.mixed import taste_meat
from ardchoice.ard.online_state import OnlineState, draw_memory
from ardchoice.ard.quadratic import (
    Quadratic,
    SparsityQuality,
    nothing,
    posterior,
    sparsity_quality,
)
from ardchoice.ard.relevance import gain
from ardchoice.ard.spreads import SpreadRelevance, spread_candidates
from ardchoice.ard.standardization import ColumnMoments, Standardization
from ardchoice.ard.trace import Step
from ardchoice.data import ChoiceData, grouped_by_person
from ardchoice.design import Design, Encoding, Execution, running
from ardchoice.families import Family, Mnl
from ardchoice.notebook import block, html_table, paragraph
from ardchoice.numerics import adjusted_p_values, seeded, single_blas_thread
from ardchoice.space import SearchSpace, Term
from ardchoice.text import WIDTH, brief, p_value, table

if TYPE_CHECKING:
    from ardchoice.ard.fit import Prior
    from ardchoice.ard.solving import Solver

SPREAD_HEAD = ["term", "lambda", "evidence", "p", "lambda sd", "evidence sd", "p sd"]
RELEVANCE_HEAD = ["term", "columns", "lambda", "evidence", "statistic", "p"]
ASSUMED_DESIGN_EFFECT = 4.0
"""Where persons have several answers, until it is known."""
START_PRICE_SHARE = 0.5
"""Of the price of a main term, above which its statistic puts it into the model that tests start
from."""


@dataclass(frozen=True, eq=False, repr=False)
class ArdFit:
    """Relevance of every candidate term; T terms, D standardised columns.

    Attributes
    ----------
    space
        The candidates.
    encoding
        How data become columns.
    centre, scale
        What standardised them, (x - centre) / scale; shape (D,) each.
    spread
        Of the columns before that, earlier data included.
    prior, solver
        What was fitted, and how.
    lam
        λ of every term, infinite where it is not shrunk; shape (T,).
    mean, sd
        Posterior of every standardised coefficient; shape (D,) each, zero where λ is zero.
    quadratic
        The log-likelihood around the mean, over all candidates.
    log_evidence
        Laplace's approximation at these λ, up to a constant for columns that are not shrunk.
    trace
        Objective, active terms and λ by iteration.
    converged, reason
        Whether the solver may claim so, and why it stopped.
    moving
        Terms that still moved when it stopped.
    passes
        Over the data: (all of it in units of whole passes).
    seconds, version, n_situations
    data
        The choices it was fitted to.
    recalled
        Choice situations of earlier data processed again.
    earlier
        What was remembered of data that count too; None where these are all.
    family
    extras
        Parameters of the family besides coefficients, by name, at their best at the mean.
    execution
        The executor and threads it was given, for what follows from it.
    spreads
        Of a mixed logit: how relevant it is that the coefficients of a term differ between persons.
    """

    space: SearchSpace
    encoding: Encoding
    centre: Floats
    scale: Floats
    spread: ColumnMoments
    prior: Prior
    solver: Solver
    lam: Floats
    mean: Floats
    sd: Floats
    quadratic: Quadratic
    log_evidence: float
    trace: tuple[Step, ...] = field(repr=False)
    converged: bool
    reason: str
    moving: tuple[Term, ...]
    passes: float
    seconds: float
    version: str
    n_situations: int
    data: ChoiceData = field(repr=False)
    revisited: int = 0
    earlier: OnlineState | None = field(default=None, repr=False)
    family: Family = field(default_factory=Mnl)
    extras: dict[str, float] = field(default_factory=dict)
    execution: Execution = field(default=Execution(), repr=False)
    spreads: SpreadRelevance | None = None

    @property
    def terms(self) -> tuple[Term, ...]:
        """The candidates."""
        return self.space.terms

    @property
    def seed(self) -> int | None:
        """Seed of a stochastic solver."""
        return getattr(self.solver, "seed", None)

    @property
    def continues(self) -> bool:
        """Whether earlier data count too."""
        return self.earlier is not None

    def memory(self, share: float = 1.0, *, seed: int = 0) -> OnlineState:
        """What going on with new data needs of this fit: `fit_ard(new, space, previous=...)`.

        Parameters
        ----------
        share
            Of the rows that are remembered (these data, and what was remembered of earlier ones).
            All: as if all were fitted together. None: only a quadratic around the mean. In
            between, rows are drawn, those that say most about larger moves of the mean first.
        seed
            Of that draw.
        """
        standard, before = Standardization(self.centre, self.scale), self.earlier
        base = nothing(len(self.mean)) if before is None else before.base_on(standard)
        whole = OnlineState(
            terms=self.terms,
            encoding=self.encoding,
            spread=self.spread,
            standard=standard,
            mean=self.mean,
            quadratic=self.quadratic,
            base=base,
            rows=(*(() if before is None else before.rows), self.data),
        )
        with single_blas_thread():
            post = posterior(self.quadratic, self.term_groups, self.lam)
            return draw_memory(whole, post, share, seeded(seed))

    @cached_property
    def term_groups(self) -> Groups:
        """The columns of every term together."""
        counts = [t.n_columns for t in self.encoding.terms]
        return Groups(np.repeat(np.arange(len(counts)), counts), len(counts))

    @property
    def persons_repeat(self) -> bool:
        """Whether some person has several answers, so that they cannot count as independent."""
        persons = self.data.n_persons
        return persons is not None and persons < len(self.data)

    @cached_property
    def tests(self) -> TermTests:
        """Score tests and design effects of all terms, clustered by person; one pass.

        At the estimates of a model of terms that are clearly worth their price, and given such
        terms: shrunk ones that may be noise have no part in it. Where noise is in the model, the
        scores of rare levels are too small.
        """
        groups = self.term_groups
        with running(self.execution), single_blas_thread():
            design = Design(grouped_by_person(self.data), self.encoding)
            likelihood = FamilyLikelihood(design, self.centre, self.scale, self.family, self.extras)
            tastes = None if self.spreads is None else spread_candidates(self.family, self.encoding)
            n, weight = len(self.data), self.data.total_weight / len(self.data)
            interaction = np.array([bool(t.by) for t in self.terms])
            strong = self.statistic > START_PRICE_SHARE * groups.sizes * np.log(max(n, 2))

            def tested(quadratic: Quadratic, meat: Floats, start: Bools, n: int) -> TermTests:
                return clustered_tests(
                    quadratic.scaled(1 / weight),
                    meat,
                    groups,
                    start,
                    ~np.isfinite(self.lam),
                    design_effect_shares(self.terms),
                    n,
                    _parents(self.terms),
                    _rivals(self.terms),
                )

            # 1 · Which terms are clearly worth their price, before design effects are known.
            effect = ASSUMED_DESIGN_EFFECT if self.persons_repeat else 1.0
            guess = effect * self.quadratic.curvature / weight
            start = (self.lam > 0) & ~interaction & strong
            clear = tested(self.quadratic, guess, start, n).in_model
            # 2 · Scores at their estimates.
            at = restricted_estimate(self.quadratic, groups, clear)
            if tastes is None or self.spreads is None:
                meat, quadratic = clustered_meat(likelihood, at)
            else:
                tau = tastes.of_names(self.spreads)
                meat, quadratic = taste_meat(design, likelihood.blocks, tastes, tau, at)
            if self.continues:
                # Scores of earlier data are gone: as clustered as these.
                ratio = np.trace(self.quadratic.curvature) / np.trace(quadratic.curvature)
                meat, quadratic, n = float(ratio) * meat, self.quadratic, round(float(ratio) * n)
            return tested(quadratic, meat / weight**2, clear, n)

    @cached_property
    def _sparsity(self) -> SparsityQuality:
        with single_blas_thread():
            post = posterior(self.quadratic, self.term_groups, self.lam)
            return sparsity_quality(self.quadratic, self.term_groups, self.lam, post)

    @cached_property
    def statistic(self) -> Floats:
        """q'S⁻¹q of every term given the shrunk others; shape (T,). It ranks, it is no χ²."""
        return self._sparsity.statistic()

    @cached_property
    def evidence(self) -> Floats:
        """Log evidence lost without every term, NaN where it is not shrunk; shape (T,)."""
        finite, lever = np.isfinite(self.lam), self._sparsity
        lost = gain(np.where(finite, self.lam, 0.0), lever.s, lever.q)
        return np.where(finite, lost, np.nan)

    def relevance(self) -> pd.DataFrame:
        """A row per term in the order of the space; `table` sorts it."""
        tests = self.tests
        columns = np.array([t.n_columns for t in self.encoding.terms])
        p = tests.p_value
        means = [self.mean[t.columns] for t in self.encoding.terms]
        sds = [self.sd[t.columns] for t in self.encoding.terms]
        return pd.DataFrame(
            {
                "term": [str(t) for t in self.terms],
                "alternative": [t.place for t in self.terms],
                "columns": columns,
                "lambda": self.lam,
                "evidence": self.evidence,
                "statistic": tests.statistic,
                "p_value": p,
                "p_adjusted": adjusted_p_values(p),
                "design_effect": tests.design_effect,
                "mean": means,
                "sd": sds,
            }
        )

    def table(self) -> pd.DataFrame:
        """A row per term, most relevant first.

        Columns: term, alternative, columns, lambda (on the standardised scale; infinite where not
        shrunk), evidence (log evidence lost without the term), statistic and p_value (score test
        clustered by person: χ² with `columns` degrees of freedom when the term is noise),
        p_adjusted (false discovery rate over all candidates), design_effect (variance of the score
        of the term, clustered by person, over that of independent answers), mean and sd (posterior
        of its standardised coefficients). λ and evidence count all answers as independent.

        Of a mixed logit also, of the variance between persons: lambda_sd, evidence_sd, statistic_sd
        and p_value_sd (see `SpreadRelevance`), and a row for every error component, which has no
        mean. λ and evidence of means are then those with tastes integrated out.
        """
        frame = self.relevance()
        frame = frame.sort_values(["lambda", "statistic"], ascending=False, kind="stable")
        if self.spreads is not None:
            frame = self._with_spreads(frame, self.spreads)
        return frame.reset_index(drop=True)

    def _with_spreads(self, frame: pd.DataFrame, spreads: SpreadRelevance) -> pd.DataFrame:
        """The rows of terms with what is known of their spreads, and those of error components."""
        known = spreads.table()
        names = ["lambda_sd", "evidence_sd", "statistic_sd", "p_value_sd"]
        of_terms = known[spreads.terms >= 0].set_index("term")[names]
        components = known[spreads.terms < 0]
        return pd.concat([frame.join(of_terms, on="term"), components], ignore_index=True)

    def coefficients(self) -> pd.DataFrame:
        """Posterior mean and standard deviation of every coefficient, in the user's units."""
        return pd.DataFrame(
            {"mean": self.mean / self.scale, "sd": self.sd / self.scale},
            index=pd.Index(self.encoding.names, name="coefficient"),
        )

    def _repr_html_(self) -> str:
        active = int((self.lam > 0).sum())
        verdict = "converged" if self.converged else "NOT CONVERGED"
        head = f"Relevance: {active} of {len(self.lam)} terms active, {verdict}"
        return block(
            head,
            html_table(*self._shown(max(active, 1))),
            paragraph(f"{self.solver.name}: {self.reason}. {self._assumptions}"),
        )

    def __repr__(self) -> str:
        verdict = "converged" if self.converged else "NOT CONVERGED"
        active = int((self.lam > 0).sum())
        return f"<ArdFit: {active} of {len(self.lam)} terms active, {verdict}>"

    def __str__(self) -> str:
        active = int((self.lam > 0).sum())
        verdict = "converged" if self.converged else "NOT CONVERGED"
        head = (
            f"Relevance of {len(self.lam)} terms ({len(self.mean)} columns) from "
            f"{self.n_situations:,} choice situations\n"
            f"{self.solver.name}: {verdict}, {self.reason}; {self.passes:.0f} passes, "
            f"{self.seconds:.1f} s\n"
            f"log evidence {self.log_evidence:,.3f}; {active} active terms"
        )
        if self.moving:
            shown = ", ".join(map(str, self.moving[:5]))
            more = f" and {len(self.moving) - 5} more" if len(self.moving) > 5 else ""
            head += f"\nstill moving: {shown}{more}"
        return (
            f"{head}\n\n{table(*self._shown(max(active, 1)))}\n"
            f"{textwrap.fill(self._assumptions, WIDTH)}"
        )

    def _shown(self, most: int) -> tuple[list[list[str]], list[str]]:
        """The most relevant terms as text, and what their columns are called."""
        frame = self.table()
        if self.spreads is None:
            names = ["lambda", "evidence", "statistic", "p_value"]
            cells = frame.head(most)[names].to_numpy(dtype=float)
            each = zip(frame["term"], frame["columns"], cells, strict=False)
            return [
                [term, str(k), brief(lam), brief(lost), f"{chi:.1f}", p_value(p)]
                for term, k, (lam, lost, chi, p) in each
            ], RELEVANCE_HEAD
        active = (frame["lambda"].fillna(0) > 0) | (frame["lambda_sd"].fillna(0) > 0)
        names = ["lambda", "evidence", "p_value", "lambda_sd", "evidence_sd", "p_value_sd"]
        cells = frame[active][names].to_numpy(dtype=float)

        def text(k: int, value: float) -> str:
            if np.isnan(value):
                return "."
            return p_value(value) if names[k].startswith("p_value") else brief(value)

        return [
            [term, *(text(k, v) for k, v in enumerate(row))]
            for term, row in zip(frame[active]["term"], cells, strict=True)
        ], SPREAD_HEAD

    @property
    def _assumptions(self) -> str:
        """What the table counts as independent."""
        if self.spreads is not None:
            return (
                "sd: the variance of a coefficient between persons; its λ is zero where choices do "
                "not support that they differ. Tastes are integrated out, persons are independent."
            )
        if not self.persons_repeat:
            return "p: score test with robust variances; λ and evidence assume the model is right."
        typical = float(np.median(self.tests.design_effect))
        return (
            f"p: score test clustered by person. λ and evidence count the answers of one person as "
            f"independent; scores vary {typical:.1f} times as much as they would then (median "
            "design effect), so that too many terms have λ > 0."
        )


def _parents(terms: tuple[Term, ...]) -> list[frozenset[int]]:
    """Of every interaction, the candidates at the same place with a part of its covariates."""
    by_form: dict[Term, list[int]] = {}
    for t, term in enumerate(terms):
        by_form.setdefault(term.main, []).append(t)
    return [
        frozenset(u for u in by_form[term.main] if set(terms[u].by) < set(term.by))
        for term in terms
    ]


def _rivals(terms: tuple[Term, ...]) -> list[frozenset[int]]:
    """Of every interaction, the others with its covariates at a place in common."""
    by_covariates: dict[frozenset[str], list[int]] = {}
    for t, term in enumerate(terms):
        if term.by:
            by_covariates.setdefault(frozenset(term.by), []).append(t)

    def meet(a: Term, b: Term) -> bool:
        return not (a.where and b.where) or bool(set(a.where) & set(b.where))

    return [
        frozenset(
            u for u in by_covariates.get(frozenset(term.by), ()) if u != t and meet(term, terms[u])
        )
        for t, term in enumerate(terms)
    ]

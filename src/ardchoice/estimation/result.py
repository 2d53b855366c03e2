"""`Result`: the estimates of any family, with everything that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ardchoice._types import Floats
from ardchoice.data import PERIODS, ChoiceData, hours_in, must_be_choice_data
from ardchoice.errors import ArdchoiceError
from ardchoice.estimation.bootstrap import Bootstrap, bootstrap
from ardchoice.estimation.calibrate import Calibration, calibrated
from ardchoice.estimation.constraints import Constraints
from ardchoice.estimation.cost_names import cost_of
from ardchoice.estimation.display import DisplayFrame
from ardchoice.estimation.elasticities import (
    Estimate,
    attribute_terms,
    elasticities,
    marginal_effects,
)
from ardchoice.estimation.estimates import Covariance, Estimates, estimate_columns
from ardchoice.estimation.further import score_further
from ardchoice.estimation.heterogeneity import heterogeneity
from ardchoice.estimation.individual import individuals
from ardchoice.estimation.model import Model, prediction, probabilities
from ardchoice.estimation.nests import nests, own_nests
from ardchoice.estimation.prediction_intervals import count_intervals, probability_intervals
from ardchoice.estimation.scenarios import (
    Change,
    Curve,
    Scenario,
    Scenarios,
    Simulator,
    make_curve,
    make_scenario,
    parse_changes,
)
from ardchoice.estimation.summary import result_html, summarise
from ardchoice.estimation.taste_distributions import ResultPlots, tastes
from ardchoice.estimation.tastes import (
    class_profiles,
    wtp_of_kinds,
)
from ardchoice.estimation.wtp import willingness_to_pay
from ardchoice.families import Nested

MOST_CROSS = 10
"""Up to this many alternatives, cross elasticities are given by default."""


@dataclass(frozen=True)
class Score:
    """How well a model predicts some data.

    Attributes
    ----------
    n
        Choice situations.
    loglik
        (Weighted) log-likelihood.
    mean_loglik
        Per (weighted) situation.
    accuracy
        Share of situations whose most likely alternative was chosen.
    shares
        Alternative -> observed and predicted share.
    """

    n: int
    loglik: float
    mean_loglik: float
    accuracy: float
    shares: pd.DataFrame

    def __str__(self) -> str:
        return (
            f"{self.n:,} situations: log-likelihood {self.loglik:.3f} ({self.mean_loglik:.4f} "
            f"each), accuracy {100 * self.accuracy:.1f}%\n{self.shares.round(4).to_string()}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Result(Estimates):
    """A model estimated by maximum likelihood, with everything that follows from it.

    Its estimates and their statistics are those of `Estimates`.
    """

    def summary(self, cov: Covariance | None = None) -> str:
        """Fit and estimates as a page of text."""
        return summarise(self, cov or self.default_cov)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return result_html(self)

    def __repr__(self) -> str:
        return (
            f"<Result: {self.family.title}, {self.n_parameters} parameters, "
            f"log-likelihood {self.loglik:.3f}, {self.n_situations} situations>"
        )

    # -- Saved, reported, exported ----------------------------------------------------------

    def save(self, folder: str | Path) -> Path:
        """Save the model with its data to a folder; `ac.load` has it back."""
        return _room("saved").save_result(self, folder)  # type: ignore[no-any-return]

    def report(self, path: str | Path) -> Path:
        """Write the model as one HTML page: utilities, estimates, WTP, elasticities."""
        return _room("report").write_result_report(self, path)  # type: ignore[no-any-return]

    def export(self, package: str, path: str | Path) -> Path:
        """Write the model for another package; see `ardchoice.export`."""
        return _room("exports").export(self, package, path)  # type: ignore[no-any-return]

    # -- Prediction -------------------------------------------------------------------------

    def probabilities(self, data: ChoiceData | None = None) -> Floats:
        """P of every alternative in every situation, zero where unavailable; shape (J, N)."""
        return probabilities(self.model, self.data if data is None else data)

    def predict(self, data: ChoiceData | None = None) -> pd.DataFrame:
        """Probabilities, a row per situation and a column per alternative."""
        data = self.data if data is None else data
        p = self.probabilities(data)
        index = pd.Index(data.situation, name="situation")
        return pd.DataFrame(p.T, index=index, columns=list(self.encoding.alternatives))

    def prediction_intervals(
        self,
        data: ChoiceData | None = None,
        *,
        each: bool = False,
        cov: Covariance | None = None,
        level: float = 0.95,
    ) -> pd.DataFrame:
        """How sure predictions are.

        Parameters
        ----------
        data
            What is predicted. Default: what the model was estimated on.
        each
            Every probability instead of numbers of choices.
        cov, level
            Which covariance, and the level of the intervals.

        Returns
        -------
        DataFrame
            A row per alternative: expected (weighted number of choices), std_err, low, high, and
            prediction_low and prediction_high, between which the number itself will lie when
            choices are independent given the attributes; answers of one person that resemble each
            other make it vary more. With `each` a row per situation and alternative: probability,
            std_err, low, high.

        Examples
        --------
        >>> import ardchoice as ac
        >>> data = ac.datasets.swissmetro_choices("real")
        >>> found = ac.fit_mnl(data, "*: TT + CO").prediction_intervals()
        >>> bool((found["prediction_high"] > found["high"]).all())
        True
        """
        data = self.data if data is None else data
        must_be_choice_data(data)
        make = probability_intervals if each else count_intervals
        return make(self.model, data, self._uncertainty(cov, level))

    def shares(self, data: ChoiceData | None = None) -> pd.Series:
        """Predicted (weighted) market shares."""
        data = self.data if data is None else data
        found = prediction(self.model, data)
        share = found.shares / found.weight
        return pd.Series(share, index=list(self.encoding.alternatives), name="share")

    def score(self, data: ChoiceData | None = None) -> Score:
        """Log-likelihood, accuracy and shares on any data with observed choices."""
        data = self.data if data is None else data
        must_be_choice_data(data)
        observed = data.shares()
        found = prediction(self.model, data)
        predicted = found.shares / found.weight
        return Score(
            n=len(data),
            loglik=found.loglik,
            mean_loglik=found.loglik / found.weight,
            accuracy=found.hits / found.weight,
            shares=pd.DataFrame({"observed": observed, "predicted": predicted}),
        )

    # -- Scenarios --------------------------------------------------------------------------

    @cached_property
    def _simulators(self) -> dict[int, Simulator]:
        return {}

    def _simulator(self, data: ChoiceData | None) -> Simulator:
        """For the latest data that scenarios were asked for: they share one design."""
        data = self.data if data is None else data
        must_be_choice_data(data)
        if id(data) not in self._simulators:
            self._simulators.clear()
            self._simulators[id(data)] = Simulator(self.model, data, self.data)
        return self._simulators[id(data)]

    def scenario(
        self,
        *changes: str | Change,
        by: str | Sequence[str] = (),
        where: str | None = None,
        data: ChoiceData | None = None,
        cost: str | None = None,
        cov: Covariance | None = None,
        level: float = 0.95,
        name: str | None = None,
    ) -> Scenario:
        """What the model predicts after changes: shares, surplus, diversion, counts.

        Parameters
        ----------
        changes
            Such as ``"TRAIN: CO * 1.1"``, ``"*: TT - 5"``, ``"SM: unavailable"``,
            ``"INCOME = 3"``; attributes with ``* / + - =``, covariates without a place. A change
            may end in a condition of its own: ``"TRAIN: CO + 10% where INCOME == 3"``.
        by
            Categorical covariates to segment by.
        where
            A condition that limits all changes to some situations, such as ``"PURPOSE == 1"`` or
            ``"TRAIN.TT > 2"``.
        data
            Situations to change. Default: those of the estimation.
        cost
            The attribute that the surplus is measured in. Default: one that is called like a cost.
        cov, level
            Which covariance, and the level of the intervals.
        name
            For tables and figures. Default: the changes.

        Examples
        --------
        >>> import ardchoice as ac
        >>> data = ac.datasets.swissmetro_choices("real")
        >>> result = ac.fit_mnl(data, "*: TT + CO")
        >>> sc = result.scenario("SM: unavailable", by="GA")
        >>> list(sc.shares)
        ['segment', 'alternative', 'base', 'scenario', 'change', 'low', 'high']
        """
        return make_scenario(
            self._simulator(data),
            parse_changes(*changes, where=where),
            self._uncertainty(cov, level),
            by=(by,) if isinstance(by, str) else tuple(by),
            cost=self._cost(cost),
            name=name,
        )

    def scenarios(
        self,
        changes: Mapping[str, str | Sequence[str | Change]],
        *,
        by: str | Sequence[str] = (),
        where: str | None = None,
        data: ChoiceData | None = None,
        cost: str | None = None,
        cov: Covariance | None = None,
        level: float = 0.95,
    ) -> Scenarios:
        """Several scenarios side by side.

        Parameters
        ----------
        changes
            Name -> change or changes, as in `scenario`.
        by, where, data, cost, cov, level
            As in `scenario`.

        Examples
        --------
        >>> import ardchoice as ac
        >>> data = ac.datasets.swissmetro_choices("real")
        >>> result = ac.fit_mnl(data, "*: TT + CO")
        >>> both = result.scenarios({"dearer": "TRAIN: CO + 10%", "closed": "SM: unavailable"})
        >>> list(both.table)
        ['alternative', 'base', 'dearer', 'closed']
        """
        if not isinstance(changes, Mapping) or not changes:
            raise ArdchoiceError(
                "Give each scenario a name: result.scenarios({'dearer': 'TRAIN: CO * 1.1'})."
            )
        each = {
            str(label): self.scenario(
                *([one] if isinstance(one, str) else one),
                by=by,
                where=where,
                data=data,
                cost=cost,
                cov=cov,
                level=level,
                name=str(label),
            )
            for label, one in changes.items()
        }
        return Scenarios(each)

    def curve(
        self,
        what: str,
        grid: Sequence[float] | None = None,
        *,
        where: str | None = None,
        data: ChoiceData | None = None,
        cov: Covariance | None = None,
        level: float = 0.95,
    ) -> Curve:
        """Shares as an attribute runs over a grid: a price curve.

        Parameters
        ----------
        what
            Such as ``"TRAIN: CO"``, which is multiplied by the values of the grid, or with an
            operator at its end, ``"TRAIN: CO ="``, to set, add or subtract them.
        grid
            Values. Default: factors from 0.5 to 1.5.
        where, data, cov, level
            As in `scenario`.

        Examples
        --------
        >>> import ardchoice as ac
        >>> data = ac.datasets.swissmetro_choices("real")
        >>> curve = ac.fit_mnl(data, "*: TT + CO").curve("TRAIN: CO", [0.9, 1.0, 1.1])
        >>> len(curve.frame)
        9
        """
        simulator, uncertainty = self._simulator(data), self._uncertainty(cov, level)
        return make_curve(simulator, what, grid, uncertainty, where)

    def _cost(self, cost: str | None) -> str | None:
        """What a surplus is measured in, checked where it was given."""
        if cost is None:
            return cost_of(self.encoding)
        attribute_terms(self.encoding, cost)
        return cost

    def bootstrap(
        self,
        n: int = 200,
        *,
        seed: int = 0,
        n_threads: int = 1,
        folder: str | Path | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Bootstrap:
        """Estimate again on resampled persons (on resampled situations, without persons).

        Parameters
        ----------
        n
            Replications.
        seed
            Of the draws. Replication r is the same for every n and number of threads.
        n_threads
            Replications at a time.
        folder
            Where replications are saved as they are done, so that a bootstrap that was interrupted
            is resumed. Default: nowhere.
        progress
            Called with how many replications are done, and n.

        Examples
        --------
        >>> import ardchoice as ac
        >>> data = ac.datasets.swissmetro_choices("real").take(range(900))
        >>> boot = ac.fit_mnl(data, "*: TT + CO").bootstrap(20, seed=0)
        >>> list(boot.to_frame())
        ['estimate', 'std_err', 'low', 'high']
        >>> wtp = boot.result.wtp("TT", "CO", cov="bootstrap")
        """
        from ardchoice.estimation.maximum_likelihood import estimate

        def refit(result: Result, data: ChoiceData) -> Result:
            return estimate(
                data,
                result.specification,
                result.family.started_at(
                    dict(zip(result.names, result.coefficients.tolist(), strict=True))
                ),
                constraints=result.constraints or Constraints(),
            )

        return bootstrap(
            self, n, seed, refit, n_threads=n_threads, folder=folder, progress=progress
        )

    def individual(self, data: ChoiceData | None = None) -> pd.DataFrame:
        """What is known of every person given their choices; a row per person.

        Conditional means and standard deviations of random coefficients, or class probabilities.

        Parameters
        ----------
        data
            With observed choices. Default: what the model was estimated on.
        """
        data = self.data if data is None else data
        must_be_choice_data(data)
        data.chosen()
        return individuals(self.model, data)

    def tastes(
        self, cost: str | None = None, *, cov: Covariance | None = None, level: float = 0.95
    ) -> pd.DataFrame:
        """How tastes and willingness to pay are distributed over persons, in a mixed logit.

        Parameters
        ----------
        cost
            The attribute that willingness to pay (WTP) is measured in. Default: one that is called
            like a cost. Attributes in interactions, or not in linear form, have no row for WTP.
        cov, level
            Which covariance, and the level of the interval.

        Returns
        -------
        DataFrame
            taste, kind (taste or WTP), distribution, mean, sd, p10, median, p90; opposite, the
            share of persons whose sign is not that of the median, with its interval low, high. Mean
            and sd are missing where they do not exist: a ratio whose cost may be near zero, in any
            distribution but the lognormal.

        Examples
        --------
        >>> import ardchoice as ac
        >>> data = ac.datasets.swissmetro_choices("real").take(range(900))
        >>> result = ac.fit(data, "*: TT + CO", family=ac.Mixed({"*: TT": "normal"}))
        >>> result.tastes()["taste"].tolist()
        ['*: TT', '*: TT / CO']
        """
        return tastes(self, cost, level, self._covariance(cov))

    @property
    def plot(self) -> ResultPlots:
        """Figures: ``result.plot.tastes()``."""
        return ResultPlots(self)

    def score_further(self, data: ChoiceData | None = None, *, share: float = 0.5) -> pd.DataFrame:
        """How well later answers are predicted, of new persons and of known ones.

        The first answers of every person are taken as known and the others are predicted: once as
        if nothing were known of the person, and once given the earlier answers. In a mixed or
        latent class logit these tell about the person's tastes. Use choices of persons that the
        model was not estimated on.

        Parameters
        ----------
        data
            With persons. Default: those of the estimation.
        share
            Of every person's answers that are known.

        Returns
        -------
        DataFrame
            of, n (answers that are predicted), loglik, mean_loglik.

        Examples
        --------
        >>> import ardchoice as ac
        >>> data = ac.datasets.swissmetro_choices("real").take(range(900))
        >>> result = ac.fit(data, "*: TT + CO", family=ac.Mixed({"*: TT": "normal"}))
        >>> new, known = result.score_further()["loglik"]
        >>> bool(known > new)
        True
        """
        data = self.data if data is None else data
        must_be_choice_data(data)
        data.chosen()
        return score_further(self, data, share)

    def heterogeneity(self) -> pd.DataFrame:
        """Which coefficients vary between persons: score tests of no heterogeneity, in one pass.

        Each asks whether the likelihood would rise if one coefficient more had a variance between
        persons, with all choices of a person together. At a multinomial logit the constants of
        alternatives without one are tested too, as error components; in a mixed logit the
        coefficients that are not random yet, in a latent class logit those within classes.

        The tests say reliably *that* persons differ. As most of them rise together, they say less
        about *which* coefficients do: ``ac.Mixed()`` searches for those.

        Returns
        -------
        DataFrame
            coefficient, kind, z, p (one-sided), p_adjusted (Bonferroni), sd (between persons, after
            one step, in the units of the coefficient); a row per coefficient, the largest z first.
            The last row is the joint test of all of them against any non-negative variances.

        Examples
        --------
        >>> import ardchoice as ac
        >>> data = ac.datasets.swissmetro_choices("real")
        >>> tests = ac.fit_mnl(data, ["TRAIN: ASC", "CAR: ASC", "*: TT"]).heterogeneity()
        >>> bool(tests["p"].iloc[-1] < 0.001)
        True
        """
        return heterogeneity(self)

    def classes(self, data: ChoiceData | None = None) -> pd.DataFrame:
        """Who is in the classes of a latent class logit: shares and covariates, class by class.

        Persons count for every class with their probability of it given their choices.

        Parameters
        ----------
        data
            With observed choices. Default: what the model was estimated on.

        Returns
        -------
        DataFrame
            A column per class, and ``all``. The first row is the share of the class; then the
            share of every level of a categorical covariate, the mean of a numeric one.

        Examples
        --------
        >>> import numpy as np
        >>> import ardchoice as ac
        >>> data = ac.datasets.swissmetro_choices("real").take(np.arange(900))
        >>> result = ac.fit(data, "*: TT + CO", family=ac.LatentClass(2))
        >>> list(result.classes())
        ['class 1', 'class 2', 'all']
        """
        if self.family.tag != "latent":
            raise ArdchoiceError(
                f"A {self.family.title.lower()} has no classes: estimate with "
                "family=ac.LatentClass(2), or LatentClass(None) to choose their number."
            )
        data = self.data if data is None else data
        return class_profiles(self.individual(data), data)

    def nests(self, largest: int | None = None) -> pd.DataFrame:
        """Every candidate nest of a multinomial logit, screened in one pass.

        Of a nested logit, its own nests. Of a multinomial logit, a score test of the scale of each
        nest against 1, clustered by person. Estimate the promising ones with
        ``family=ac.Nested({...})``, or let ``ac.Nested(None)`` search.

        Parameters
        ----------
        largest
            Most alternatives of a nest. Default: all but one with up to ten alternatives; with
            more, pairs only.

        Returns
        -------
        DataFrame
            alternatives, z, p (one-sided), p_adjusted (Bonferroni), admissible (whether μ would
            rise above 1), mu (after one Newton step) and gain (the log-likelihood that step
            promises); a row per nest, the largest z first. Of a nested logit: nest, alternatives,
            mu, std_err, low, high, lambda (1/μ), correlation (1 - 1/μ²), p (against μ = 1) and
            admissible (1 ≤ μ, and not diverging).

        Examples
        --------
        >>> import ardchoice as ac
        >>> data = ac.datasets.swissmetro_choices("real")
        >>> ac.fit_mnl(data, "*: TT + CO").nests().loc[0, "alternatives"]
        'TRAIN, CAR'
        """
        return own_nests(self) if isinstance(self.family, Nested) else nests(self, largest)

    # -- What if ----------------------------------------------------------------------------

    def wtp(
        self,
        attribute: str,
        cost: str,
        *,
        by: Sequence[str] | None = None,
        data: ChoiceData | None = None,
        per: str | None = None,
        cov: Covariance | None = None,
        level: float = 0.95,
    ) -> pd.DataFrame:
        """Willingness to pay: how much cost a unit or a level of the attribute is worth.

        The ratio of the mean marginal utilities of `attribute` and `cost` over the situations
        where the alternative is available, with delta-method standard errors. It is positive for
        what is wanted: of attributes that are called like money, time, waiting or changes, a unit
        less (the value of travel time saved); of any other, such as quality, a unit more. Negative:
        it would have to be compensated.

        Where the cost enters in a form that is not linear, such as a logarithm, it is the mean over
        situations of the ratio in each: of what each would pay. Situations in which the cost is
        exactly zero (holders of a season ticket) are excluded, as nobody trades money there; `n` is
        how many remain. So are situations in which what would be saved is exactly zero, where its
        form is not linear. A cost divided by a covariate, such as income, is linear: the result is
        what one with the harmonic mean of income would pay. Where more money does not have utility
        of one sign in all of them, it is the ratio of means again.

        An attribute with levels, such as a brand, or in classes has a row for each but the
        reference: how much more cost one would bear to have it instead of the reference,
        -β_level / β_cost. It is positive for what one would pay for, negative for what one would
        have to be paid for.

        Parameters
        ----------
        attribute, cost
            Such as ``"TT"`` and ``"CO"``.
        by
            Categorical covariates to segment by. Default: those that either is interacted
            with, or the classes of a latent class logit. ``[]`` for none.
        data
            Situations to average over. Default: those of the estimation.
        per
            ``"second"``, ``"minute"``, ``"hour"`` or ``"day"``, for an attribute whose unit is one
            of time: the value of time in cost per hour. Default: per unit of the attribute.
        cov, level
            Which covariance, and the level of the interval.

        Returns
        -------
        DataFrame
            alternative, segment, n, estimate, std_err, low, high; behind segment, level where the
            attribute has levels or classes.
        """
        data = self.data if data is None else data

        def compute(model: Model) -> list[Estimate]:
            found = willingness_to_pay(model, data, attribute, cost, by)
            if by is None:
                kinds = model.family.taste_kinds(model.theta, self.layout)
                found += wtp_of_kinds(kinds, model.encoding, data, attribute, cost)
            return found

        found = self._with_shape_gradients(compute)
        if per is not None:
            factor = _units_in(per, attribute, self.data.unit(attribute))
            found = [
                replace(e, value=factor * e.value, gradient=factor * e.gradient) for e in found
            ]
        keys = ["alternative", "segment", *(["level"] if found[0].level else []), "n"]
        return self._derived(found, keys, cov, level)

    def elasticities(
        self,
        attribute: str,
        *,
        by: Sequence[str] = (),
        cross: bool | None = None,
        data: ChoiceData | None = None,
        cov: Covariance | None = None,
        level: float = 0.95,
    ) -> pd.DataFrame:
        """Aggregate point elasticities of demand, by sample enumeration.

        Parameters
        ----------
        attribute
            What changes by one percent.
        by
            Categorical covariates to segment by.
        cross
            Also the elasticities of other alternatives; default: with up to ten alternatives.
        data
            Situations to sum over. Default: those of the estimation.
        cov, level
            Which covariance, and the level of the interval.

        Returns
        -------
        DataFrame
            changed (whose attribute), alternative (whose demand), segment, n, estimate, std_err,
            low, high.
        """
        data, cross = self._responding(data, cross)
        found = self._with_shape_gradients(
            lambda model: elasticities(model, data, attribute, by, cross=cross)
        )
        return self._derived(found, ["changed", "alternative", "segment", "n"], cov, level)

    def marginal_effects(
        self,
        attribute: str,
        *,
        by: Sequence[str] = (),
        cross: bool | None = None,
        data: ChoiceData | None = None,
        cov: Covariance | None = None,
        level: float = 0.95,
    ) -> pd.DataFrame:
        """Average marginal effects: change of shares per unit of an attribute.

        Parameters
        ----------
        attribute
            What changes by one unit.
        by
            Categorical covariates to segment by.
        cross
            Also the effects on other alternatives; default: with up to ten alternatives.
        data
            Situations to average over. Default: those of the estimation.
        cov, level
            Which covariance, and the level of the interval.

        Returns
        -------
        DataFrame
            changed (whose attribute), alternative (whose share), segment, n, estimate, std_err,
            low, high. Effects of one change sum to zero over alternatives.

        Examples
        --------
        >>> import ardchoice as ac
        >>> data = ac.datasets.swissmetro_choices("real")
        >>> result = ac.fit_mnl(data, "*: TT + CO")
        >>> effects = result.marginal_effects("TT")
        >>> len(effects), bool(abs(effects["estimate"].sum()) < 1e-9)
        (9, True)
        """
        data, cross = self._responding(data, cross)
        found = self._with_shape_gradients(
            lambda model: marginal_effects(model, data, attribute, by, cross=cross)
        )
        return self._derived(found, ["changed", "alternative", "segment", "n"], cov, level)

    def _responding(self, data: ChoiceData | None, cross: bool | None) -> tuple[ChoiceData, bool]:
        """Defaults of what responds to an attribute: where, and whether other alternatives do."""
        few = len(self.encoding.alternatives) <= MOST_CROSS
        return self.data if data is None else data, few if cross is None else cross

    def calibrate(
        self,
        shares: Mapping[str, float],
        *,
        data: ChoiceData | None = None,
        method: Calibration = "prediction",
    ) -> Result:
        """The same model with constants that meet given shares, such as those of a market.

        All other parameters stay. Constants become functions of them, and the covariances say so:
        predicted shares have no standard error any more. Log-likelihoods are those before.

        Parameters
        ----------
        shares
            Alternative -> share, all of them; they sum to one.
        data
            Situations whose predicted (weighted) shares are met. Default: those of the estimation.
        method
            ``"prediction"``: predicted shares equal `shares`. ``"choice-based"``: the sample was
            drawn by choices, with other shares than the population's `shares`; each constant of a
            multinomial logit is corrected by minus the logarithm of their ratio (Manski and
            Lerman).

        Raises
        ------
        SpecificationError
            More than one alternative has no constant of its own.

        Examples
        --------
        >>> import ardchoice as ac
        >>> data = ac.datasets.swissmetro_choices("real")
        >>> result = ac.fit_mnl(data, ["TRAIN: ASC", "SM: ASC", "*: TT + CO"])
        >>> result.calibrate({"TRAIN": 0.15, "SM": 0.55, "CAR": 0.30}).shares().round(6).tolist()
        [0.15, 0.55, 0.3]
        """
        data = self.data if data is None else data
        must_be_choice_data(data)
        found = calibrated(self.model, self.covariances, data, self.data, shares, method)
        return replace(
            self,
            coefficients=found.theta,
            covariances=found.covariances,
            shapes=None if self.shapes is None else replace(self.shapes, covariances={}),
            notes=(*self.notes, found.note),
        )

    def _with_shape_gradients(self, compute: Callable[[Model], list[Estimate]]) -> list[Estimate]:
        """What follows from the model, with gradients by exponents and thresholds too."""
        found = compute(self.model)

        def values(model: Model) -> Floats:
            return np.array([one.value for one in compute(model)])

        gradients = self.model.with_shapes(np.stack([one.gradient for one in found]), values)
        return [replace(one, gradient=row) for one, row in zip(found, gradients, strict=True)]

    def _derived(
        self, found: list[Estimate], keys: list[str], cov: Covariance | None, level: float
    ) -> pd.DataFrame:
        """Values and their delta-method errors, behind what they belong to."""
        gradients = np.stack([e.gradient for e in found])
        std_err = self._uncertainty(cov, level).std_err(gradients)
        values = np.array([e.value for e in found])
        # The question is how large, not whether zero; and it prints in 80 columns.
        columns = estimate_columns(values, std_err, level)
        shown = {name: columns[name] for name in ("estimate", "std_err", "low", "high")}
        return DisplayFrame({key: [getattr(e, key) for e in found] for key in keys} | shown)


def _units_in(per: str, attribute: str, unit: str) -> float:
    """How many units of an attribute of time there are in an hour, or another period."""
    if per not in PERIODS:
        raise ArdchoiceError(f"per is one of {', '.join(PERIODS)}, not {per!r}.")
    hours = hours_in(unit)
    if hours is None:
        said = f"has the unit {unit!r}, which is none of time" if unit else "has no unit"
        raise ArdchoiceError(
            f"{attribute} {said}: per={per!r} needs one such as 'min', given when the table is "
            f"read: units={{{attribute!r}: 'min'}} in Python, [data.units] in a study file."
        )
    return PERIODS[per] / hours


def _room(name: str) -> Any:
    """A room to the right, which no room to its left may import: it is found when asked for."""
    return import_module(f"ardchoice.{name}")

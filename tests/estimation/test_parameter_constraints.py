"""Fixed and equal parameters, bounds and starts: against profiles, shared columns, brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.estimation import Result

SPEC = ["TRAIN: ASC + TT + CO", "SM: ASC + TT + CO", "CAR: TT + CO"]


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    data = ac.datasets.swissmetro_choices("real").take(np.arange(0, 9_000, 2))
    return replace(data, weight=np.random.default_rng(0).uniform(0.5, 2, len(data)))


@pytest.fixture(scope="module")
def free(data: ChoiceData) -> Result:
    return ac.fit_mnl(data, SPEC)


def test_a_fixed_coefficient_gives_the_profile_likelihood(data: ChoiceData, free: Result) -> None:
    value = 0.5 * free.estimates["SM: TT"]
    fixed = ac.fit_mnl(data, SPEC, fixed={"SM: TT": value})
    assert fixed.estimates["SM: TT"] == value
    # The same, as an offset: a column of its own whose coefficient is one.
    offset = np.zeros((3, len(data)))
    offset[1] = value * data.attributes["TT"].of(1)
    attribute = replace(data.attributes["TT"], name="OFFSET", values=offset)
    more = replace(data, attributes={**data.attributes, "OFFSET": attribute})
    other = ac.fit_mnl(
        more,
        ["TRAIN: ASC + TT + CO", "SM: ASC + CO", "CAR: TT + CO", "*: OFFSET"],
        fixed={"*: OFFSET": 1},
    )
    assert fixed.loglik == pytest.approx(other.loglik, abs=1e-8)
    for name in other.names[:-1]:
        assert fixed.estimates[name] == pytest.approx(other.estimates[name], abs=1e-7)
    # The profile has the slope of the score at its maximum over the others: differences agree.
    step = 1e-4
    ends = [ac.fit_mnl(data, SPEC, fixed={"SM: TT": value + s * step}) for s in (1, -1)]
    score = _score(fixed)[free.names.index("SM: TT")]
    assert (ends[0].loglik - ends[1].loglik) / (2 * step) == pytest.approx(score, rel=1e-5)


def _score(result: Result) -> np.ndarray:
    """By differences of the log-likelihood."""
    out = []
    for k in range(len(result.coefficients)):
        move = np.zeros(len(result.coefficients))
        move[k] = 1e-5
        up, down = (
            replace(result, coefficients=result.coefficients + s * move).score().loglik
            for s in (1, -1)
        )
        out.append((up - down) / 2e-5)
    return np.array(out)


def test_fixing_at_the_estimate_changes_nothing_but_the_error(
    data: ChoiceData, free: Result
) -> None:
    fixed = ac.fit_mnl(data, SPEC, fixed={"SM: TT": free.estimates["SM: TT"]})
    assert fixed.loglik == pytest.approx(free.loglik, abs=1e-8)
    np.testing.assert_allclose(fixed.coefficients, free.coefficients, atol=1e-7)
    frame, k = fixed.to_frame(), free.names.index("SM: TT")
    assert frame["std_err"].isna().sum() == 1
    assert np.isnan(frame["std_err"]["SM: TT"])
    assert fixed.n_parameters == free.n_parameters - 1
    # The inverse of the Hessian without the row and column of what is fixed.
    keep = np.delete(np.arange(len(free.names)), k)
    hessian = np.linalg.inv(free.covariances["classical"])
    expected = np.linalg.inv(hessian[np.ix_(keep, keep)])
    found = fixed.covariances["classical"][np.ix_(keep, keep)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert "SM: TT" in fixed.summary()
    clustered = fixed.covariances["cluster"][np.ix_(keep, keep)]
    effect = np.trace(np.linalg.solve(found, clustered)) / len(keep)
    assert fixed.design_effect == pytest.approx(effect, rel=1e-9)


def test_equal_coefficients_are_the_shared_column(data: ChoiceData) -> None:
    equal = ac.fit_mnl(
        data, SPEC, equal=[["TRAIN: TT", "SM: TT", "CAR: TT"], ["TRAIN: CO", "CAR: CO"]]
    )
    shared = ac.fit_mnl(data, ["TRAIN: ASC", "SM: ASC + CO", "*: TT", "TRAIN+CAR: CO"])
    assert equal.loglik == pytest.approx(shared.loglik, abs=1e-9)
    assert equal.n_parameters == shared.n_parameters == 5
    assert equal.bic == pytest.approx(shared.bic)
    pairs = {"TRAIN: TT": "*: TT", "CAR: TT": "*: TT", "CAR: CO": "TRAIN+CAR: CO"}
    for kind in ("classical", "robust", "cluster"):
        one, other = equal.to_frame(kind), shared.to_frame(kind)
        for name in ("TRAIN: ASC", *pairs):
            expected = other.loc[pairs.get(name, name), ["estimate", "std_err"]]
            np.testing.assert_allclose(
                one.loc[name, ["estimate", "std_err"]].astype(float),
                expected.astype(float),
                rtol=1e-7,
            )
    assert equal.design_effect == pytest.approx(shared.design_effect, rel=1e-8)
    share = equal.scenario("TRAIN: TT * 1.1").shares
    np.testing.assert_allclose(share["low"], shared.scenario("TRAIN: TT * 1.1").shares["low"])


def test_bounds_hold_and_the_rest_is_estimated_as_if_fixed_there(
    data: ChoiceData, free: Result
) -> None:
    assert free.estimates["SM: CO"] > 0
    bounded = ac.fit_mnl(data, SPEC, bounds={"SM: CO": (None, 0.0), "SM: TT": (-50, 50)})
    fixed = ac.fit_mnl(data, SPEC, fixed={"SM: CO": 0.0})
    assert bounded.estimates["SM: CO"] == 0
    assert bounded.loglik == pytest.approx(fixed.loglik, abs=1e-8)
    assert np.isnan(bounded.to_frame()["std_err"]["SM: CO"])
    assert any("at its bound" in note for note in bounded.notes)
    assert not bounded.is_infinite.any()
    others = [name for name in free.names if name != "SM: CO"]
    np.testing.assert_allclose(
        bounded.to_frame()["std_err"][others], fixed.to_frame()["std_err"][others], rtol=1e-6
    )
    loose = ac.fit_mnl(data, SPEC, bounds={"SM: CO": (-100, 100)})
    np.testing.assert_allclose(loose.coefficients, free.coefficients, atol=1e-7)


def test_starts_do_not_change_a_maximum(data: ChoiceData, free: Result) -> None:
    started = ac.fit_mnl(data, SPEC, start={"SM: ASC": 0.5, "CAR: TT": -2})
    np.testing.assert_allclose(started.coefficients, free.coefficients, atol=1e-7)
    assert started.n_parameters == free.n_parameters


def test_constraints_identify_and_what_they_leave_unidentified_is_named(data: ChoiceData) -> None:
    every = ["TRAIN: ASC", "SM: ASC", "CAR: ASC", "*: TT"]
    with pytest.raises(ac.IdentificationError):
        ac.fit_mnl(data, every)
    fixed = ac.fit_mnl(data, every, fixed={"CAR: ASC": 0.7})
    plain = ac.fit_mnl(data, ["TRAIN: ASC", "SM: ASC", "*: TT"])
    assert fixed.loglik == pytest.approx(plain.loglik, abs=1e-8)
    assert fixed.estimates["SM: ASC"] == pytest.approx(plain.estimates["SM: ASC"] + 0.7, abs=1e-6)
    with pytest.raises(ac.IdentificationError, match=r"TRAIN: ASC.*SM: ASC.*CAR: ASC"):
        ac.fit_mnl(data, every, fixed={"*: TT": -1})


def test_separation_is_said_and_a_bound_ends_it() -> None:
    data = ac.datasets.swissmetro_choices("real").take(np.arange(900))
    chosen = np.where(data.covariates["GA"].values == 1, 0, data.chosen())
    one = data.with_choice(chosen).take(data.available[0])
    spec = ["TRAIN: ASC + ASC x GA", "SM: ASC", "*: TT"]
    with pytest.raises(ac.SeparationError, match="ASC x GA"):
        ac.fit_mnl(one, spec, fixed={"*: TT": -1})
    allowed = ac.fit_mnl(one, spec, fixed={"*: TT": -1}, separation="allow")
    assert allowed.is_infinite.sum() == 2
    bounded = ac.fit_mnl(one, spec, bounds={"TRAIN: ASC": (None, 4)})
    assert bounded.estimates["TRAIN: ASC"] == 4
    # Tied to a constant that is finite, the diverging one is finite too.
    assert ac.fit_mnl(one, spec, equal=[["TRAIN: ASC", "SM: ASC"]]).converged


@pytest.mark.parametrize(
    "family",
    [
        ac.Nested({"existing": ["TRAIN", "CAR"]}),
        ac.Mixed({"*: TT": "normal"}),
        ac.LatentClass(2, starts=2),
    ],
    ids=lambda family: family.tag,
)
def test_every_family_is_constrained(family: ac.families.Family) -> None:
    data = ac.datasets.swissmetro_choices("real").take(np.arange(1800))
    spec = ["TRAIN: ASC", "SM: ASC", "*: TT + CO + HE"]
    free = ac.fit(data, spec, family=family)
    name = next(n for n in free.names if n.startswith("SM: ASC"))
    other = next(n for n in free.names if n.startswith("*: HE"))
    same = ac.fit(data, spec, family=family, fixed={name: free.estimates[name]})
    assert same.loglik == pytest.approx(free.loglik, abs=1e-3)
    np.testing.assert_allclose(same.coefficients, free.coefficients, rtol=2e-3, atol=2e-3)
    moved = ac.fit(data, spec, family=family, fixed={name: free.estimates[name] + 0.5, other: 0.0})
    assert moved.estimates[name] == free.estimates[name] + 0.5
    assert moved.estimates[other] == 0
    assert moved.converged
    assert moved.loglik < free.loglik - 0.1
    assert moved.n_parameters == free.n_parameters - 2
    assert np.isnan(moved.to_frame()["std_err"]).sum() == 2


def test_reduction_to_the_logit_is_a_constraint(data: ChoiceData, free: Result) -> None:
    family = ac.Nested({"existing": ["TRAIN", "CAR"]})
    nested = ac.fit(data, SPEC, family=family, fixed={"mu(existing)": 1.0})
    assert nested.loglik == pytest.approx(free.loglik, abs=1e-8)
    np.testing.assert_allclose(nested.coefficients[:-1], free.coefficients, atol=1e-6)


def test_tests_count_free_parameters_and_know_the_constraints(
    data: ChoiceData, free: Result
) -> None:
    value = free.estimates["SM: TT"] + 0.1
    fixed = ac.fit_mnl(data, SPEC, fixed={"SM: TT": value}, equal=[["TRAIN: CO", "CAR: CO"]])
    ratio = ac.likelihood_ratio_test(fixed, free, cluster=False)
    assert ratio.df == 2
    assert ratio.statistic == pytest.approx(2 * (free.loglik - fixed.loglik))
    wald = ac.wald_test(fixed, free, cov="cluster")
    b, cov = free.estimates, free.covariance("cluster")
    rows = np.zeros((2, len(free.names)))
    rows[0, free.names.index("SM: TT")] = 1
    rows[1, free.names.index("TRAIN: CO")] = 1
    rows[1, free.names.index("CAR: CO")] = -1
    gap = rows @ b.to_numpy() - np.array([value, 0])
    expected = gap @ np.linalg.solve(rows @ cov.to_numpy() @ rows.T, gap)
    assert wald.df == 2
    assert wald.statistic == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fixed": {"*: CO": 1}}, "no parameter '\\*: CO'"),
        ({"fixed": {"SM: CO": "1"}}, "is a number"),
        ({"fixed": {"SM: CO": np.inf}}, "is finite"),
        ({"equal": ["SM: CO", "SM: TT"]}, "list of groups"),
        ({"equal": [["SM: CO"]]}, "two parameters or more"),
        ({"fixed": {"SM: CO": 1}, "equal": [["SM: CO", "CAR: CO"]]}, "is fixed"),
        ({"bounds": {"SM: CO": (1, 0)}}, "leaves no room"),
        ({"bounds": {"SM: CO": 0}}, "smallest and a largest"),
        (
            {
                "bounds": {"SM: CO": (None, 0), "CAR: CO": (1, None)},
                "equal": [["SM: CO", "CAR: CO"]],
            },
            "No value lies within",
        ),
        (
            {
                "fixed": dict.fromkeys(["TRAIN: ASC", "SM: ASC"], 0.0)
                | {f"{a}: {v}": 0.0 for a in ("TRAIN", "SM", "CAR") for v in ("TT", "CO")}
            },
            "nothing to estimate",
        ),
        ({"start": 3}, "is a dict"),
    ],
)
def test_wrong_constraints_have_clear_messages(
    data: ChoiceData, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ac.SpecificationError, match=message):
        ac.fit_mnl(data, SPEC, **options)  # type: ignore[arg-type]


def test_a_constrained_result_is_calibrated_and_predicts(data: ChoiceData) -> None:
    result = ac.fit_mnl(data, SPEC, fixed={"SM: TT": -1.0}, equal=[["TRAIN: CO", "CAR: CO"]])
    effects = result.marginal_effects("TT")
    assert np.isfinite(effects["std_err"]).all()
    market = result.calibrate({"TRAIN": 0.2, "SM": 0.5, "CAR": 0.3})
    assert market.shares()["TRAIN"] == pytest.approx(0.2, abs=1e-9)

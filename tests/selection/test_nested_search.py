"""Terms searched in a nested logit; where it is inadmissible with all candidates, in the MNL."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ardchoice as ac
from ardchoice._types import Floats
from ardchoice.ard.settle import safe_pass
from ardchoice.numerics import Sums
from ardchoice.settings import settings_of

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from nest_search import draw_sample


def test_terms_of_a_right_nest_are_searched_in_the_nested_logit() -> None:
    sample = draw_sample(1001, 1)
    [nest] = [sorted(members) for members in sample.nests]
    family = ac.Nested({"n": nest})
    space = ac.SearchSpace(sample.data, ["linear"], generic=True)
    study = ac.specify(sample.data, space, family=family)
    assert study.fit.family == study.result.family == family
    # The scale of relevance is near that of estimation.
    assert study.fit.extras["mu(n)"] == pytest.approx(study.result.estimates["mu(n)"], rel=0.1)
    generic = {str(t) for t in study.specification.terms if not t.where}
    assert generic == {"*: t", "*: c"}
    assert not study.notes


def test_where_all_candidates_make_the_nest_inadmissible_the_mnl_searches(tmp_path: Path) -> None:
    data = ac.datasets.swissmetro_choices("real").take(np.arange(1800))
    space = ac.SearchSpace(data, by=["GA"], base="CAR", generic=True)
    family = ac.Nested({"new": ["SM", "CAR"]})
    words = "Terms were searched with the multinomial logit"
    with pytest.warns(ac.ArdchoiceWarning, match=words):
        study = ac.specify(data, space, family=family)
    plain = ac.specify(data, space)
    assert study.fit.family == ac.Mnl()
    assert study.specification.terms == plain.specification.terms
    assert study.result.family == family
    assert settings_of(ac.load(study.save(tmp_path / "study"))).make_family() == family
    assert words in re.sub(r"\s+", " ", study.summary())


class _Fallen:
    """One coefficient: -10 + x / 10 - x²."""

    def sums(self, beta: Floats, *, rough: bool = False) -> Sums:
        x = float(beta[0])
        return Sums(-10 + 0.1 * x - x * x, np.array([0.1 - 2 * x]), np.array([[2.0]]))


def test_a_step_from_a_mean_that_lost_its_columns_goes_back_to_what_is_known() -> None:
    """The log-likelihood is -10 at the known mean of zero, and far below at the old one."""
    log: Any = SimpleNamespace(passes=0)
    groups: Any = SimpleNamespace(precision=lambda lam: np.zeros(1))
    likelihood: Any = _Fallen()
    old, new, known = np.array([5.0]), np.array([6.0]), np.zeros(1)
    _, at, loglik = safe_pass(likelihood, old, new, np.ones(1), groups, None, log, -10.0, known)
    assert loglik >= -10 - 0.01
    assert abs(at[0]) < 0.2
    assert log.passes > 10

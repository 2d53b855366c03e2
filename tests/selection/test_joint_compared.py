"""Terms decided together are never worse, by BIC over persons, than those of the MNL."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_joint import decided, frame, read

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.selection import JointSelection, confirm, not_worse_than_mnl
from ardchoice.space import Specification


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return read(frame(persons=150))


@pytest.fixture(scope="module")
def found(data: ChoiceData) -> JointSelection:
    return decided(data)


def bic(result: ac.Result) -> float:
    return -2 * result.loglik + result.n_parameters * np.log(result.n_persons)


def with_terms(found: JointSelection, out: str) -> JointSelection:
    """The same without a term."""
    own = found.specification
    rest = tuple(t for t in own.terms if str(t) != out)
    reasons = {t: r for t, r in own.reasons.items() if str(t) != out}
    return replace(found, specification=replace(own, terms=rest, reasons=reasons))


def test_terms_that_lack_a_true_one_give_way_to_those_of_the_mnl(data, found):
    family = ac.Mixed(nodes=32)
    # An MNL that selected the joint terms, and a joint decision that lost one of them.
    found = replace(found, mnl=found.specification)
    random = {name.partition(": ")[2] for name in found.random}
    lost = next(str(t) for t in found.mnl.terms if t.what is not None and t.what not in random)
    poor = confirm(data, with_terms(found, lost), family=family)
    guarded = not_worse_than_mnl(data, poor, family=family, structure=None)
    assert set(guarded.selection.specification.terms) == set(found.mnl.terms)
    result, _ = guarded.estimated
    assert bic(result) < bic(poor.estimated[0])
    (note,) = guarded.selection.specification.notes[-1:]
    assert f"{bic(result):,.1f}" in note
    # The same fit by hand.
    again = ac.fit(data, Specification(found.mnl.terms), family=result.family)
    assert bic(again) == pytest.approx(bic(result), abs=1e-3)


def test_terms_that_are_as_good_stay(data, found):
    family = ac.Mixed(nodes=32)
    confirmed = confirm(data, found, family=family)
    guarded = not_worse_than_mnl(data, confirmed, family=family, structure=None)
    random = dict(confirmed.selection.random)
    terms = {str(t) for t in found.mnl.terms}
    random = {k: v for k, v in random.items() if k in terms or k.endswith("ASC")}
    other = ac.fit(data, Specification(found.mnl.terms), family=ac.Mixed(random, nodes=32))
    assert bic(confirmed.estimated[0]) < bic(other)
    assert guarded is confirmed


def test_a_mixed_study_says_that_inclusion_is_the_multinomial_logits(data):
    space = ac.SearchSpace(data, base="C")
    study = ac.specify(data, space, family=ac.Mixed(nodes=32)).evaluated(folds=3)
    assert isinstance(study.result.family, ac.Mixed)
    assert set(study.inclusion()["model"]) == {"multinomial logit"}
    text = " ".join(study.summary().split())
    assert "Inclusion probabilities in the multinomial logit:" in text
    if study.evaluation.predictors is not None:
        assert "all of the multinomial logit" in text
    plain = ac.specify(data, space)
    assert "model" not in plain.inclusion()

"""Random coefficients in doubt: decided by quick fits that agree with those that go to the end."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from test_joint import decided, frame, read, space_of

import ardchoice as ac
from ardchoice.families import QuickFits
from ardchoice.progress import Event
from ardchoice.saved import Checkpoint
from ardchoice.selection import JointSelection, confirm

QUICK_TOLERANCE = 0.3
"""Of the log-likelihood: a twentieth of what a random coefficient costs."""


@pytest.fixture(scope="module")
def data() -> ac.ChoiceData:
    return read(frame(persons=150))


@pytest.fixture(scope="module")
def found(data: ac.ChoiceData) -> JointSelection:
    return decided(data)


def with_random(selection: JointSelection, name: str, *, selected: bool) -> JointSelection:
    """The same with a candidate in, or out and promising."""
    gain, z = (1.0, np.nan) if selected else (np.nan, 9.0)
    candidates = tuple(
        replace(c, selected=selected, gain=gain, z=z) if c.name == name else c
        for c in selection.candidates
    )
    return replace(selection, candidates=candidates)


def test_quick_fits_have_the_log_likelihood_of_fits_to_the_end(data, found):
    terms = found.specification.terms
    fits = QuickFits(data, terms, nodes=32, seed=0)
    first = fits.fit(found.random, found.start)
    again = fits.fit({**found.random, "A: ASC": "normal"}, first.values)
    for quick in (first, again):
        family = ac.Mixed(quick.random, nodes=32)
        full = ac.fit(data, ac.Specification(terms), family=family)
        assert quick.loglik == pytest.approx(full.loglik, abs=QUICK_TOLERANCE)
    assert again.z["A: ASC"] < 3.0 < min(z for k, z in again.z.items() if k in found.random)


def test_a_random_coefficient_that_is_noise_leaves_and_a_true_one_comes_in(data, found):
    family = ac.Mixed(nodes=32)
    noisy = with_random(found, "A: ASC", selected=True)
    assert confirm(data, noisy, family=family).selection.random == found.random
    taste = next(name for name in found.random if ": TT" in name)
    blind = with_random(found, taste, selected=False)
    confirmed = confirm(data, blind, family=family)
    assert confirmed.selection.random == found.random
    (reason,) = [c.reason for c in confirmed.selection.candidates if c.name == taste]
    assert "exact fits" in reason


def test_weights_that_are_all_alike_decide_alike(data, found):
    heavy = replace(data, weight=np.full(len(data), 9.0))
    noisy = with_random(found, "A: ASC", selected=True)
    assert confirm(heavy, noisy, family=ac.Mixed(nodes=32)).selection.random == found.random


def test_what_decided_is_what_a_fit_from_scratch_finds(data, found):
    confirmed = confirm(data, found, family=ac.Mixed(nodes=32))
    assert confirmed.estimated is not None
    result, notes = confirmed.estimated
    assert notes == ()
    family = ac.Mixed(confirmed.selection.random, nodes=32)
    scratch = ac.fit(data, ac.Specification(found.specification.terms), family=family)
    assert result.loglik == pytest.approx(scratch.loglik, abs=0.05)
    errors = scratch.to_frame()["std_err"]
    apart = (result.estimates - scratch.estimates).abs() / errors
    assert apart.max() < 0.1


class Stop:
    """Breaks off at one event."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, event: Event) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


@pytest.mark.parametrize("share", [0.5, 0.9, 1.0])
def test_a_mixed_study_that_is_interrupted_resumes_to_the_same_end(data, tmp_path, share):
    space = space_of(data)
    events: list[Event] = []
    family = ac.Mixed(nodes=16)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)
        whole = ac.specify(data, space, family=family, progress=events.append)
        stop = Stop(max(1, int(share * len(events))))
        made_from = {"ardchoice": "0.1.0", "table": "a" * 64, "settings": {}}
        with pytest.raises(KeyboardInterrupt):
            keep = Checkpoint(tmp_path / "run", made_from)
            ac.specify(data, space, family=family, keep=keep, progress=stop)
        keep = Checkpoint(tmp_path / "run", made_from)
        ended = ac.specify(data, space, family=family, keep=keep)
    assert ended.joint.selection.random == whole.joint.selection.random
    assert ended.specification.terms == whole.specification.terms
    assert ended.result.loglik == pytest.approx(whole.result.loglik, abs=0.01)
    assert ended.joint.mnl_result.loglik == pytest.approx(whole.joint.mnl_result.loglik)


def test_reasons_of_random_coefficients_are_numbers(found):
    gains = [c.gain for c in found.candidates if c.selected]
    assert gains
    assert np.isfinite(gains).all()
    assert (np.array(gains) > 0).all()
    assert 0.8 < found.design_effect_left < 1.2

"""Published figures in our grammar, against the reference that the tests hold."""

from __future__ import annotations

import json
from pathlib import Path

import ardchoice as ac
from ardchoice.reproduce.published import (
    LARGE_SPECIFICATIONS,
    MEDIUM_SPECIFICATIONS,
    published,
    published_lambda,
    to_term,
)

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference" / "paper.json").read_text(encoding="utf-8")
)


def test_the_package_carries_the_published_figures_unchanged() -> None:
    ours = published()
    for key in ("published_lambda", "published_heldout", "literature_baselines"):
        assert ours[key] == REFERENCE[key]
    assert ours["real_results"]["rows"] == REFERENCE["real_results"]["rows"]
    assert ours["R6_coefficients"]["rows"] == REFERENCE["R6_coefficients"]["rows"]


def test_every_published_term_is_a_candidate_of_its_space() -> None:
    data = ac.datasets.swissmetro_choices()
    for space, names in (("medium", MEDIUM_SPECIFICATIONS), ("large", LARGE_SPECIFICATIONS)):
        candidates = {str(t) for t in ac.swissmetro_space(data, space).terms}
        for name in names:
            assert set(published_lambda(space, name)) <= candidates
            text = ac.datasets.swissmetro_specification(name)
            true = {str(t) for t in ac.parse_specification(text).terms}
            theirs = {
                to_term(place, what)
                for place in ("TRAIN", "SM", "CAR")
                for what in REFERENCE["true_specifications"][name][place]
            }
            assert true == theirs <= candidates


def test_a_published_term_is_written_in_our_grammar() -> None:
    assert to_term("TRAIN", "box(TT) x ga") == "TRAIN: boxcox(TT, 1) x GA"
    assert to_term("CAR", "seg(CO, 4)") == "CAR: segments(CO, 4)"
    assert to_term("SM", "log(HE)") == "SM: log1p(HE)"

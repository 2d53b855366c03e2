"""`Specification`: an ordered set of terms that prints as utility functions."""

from ardchoice.space import Specification, Term, parse_specification
from ardchoice.text import WIDTH


def test_places_stand_under_each_other():
    spec = parse_specification("TRAIN: ASC + TT\nSM: ASC\nTRAIN+SM: CO\n*: HE x GA")
    assert spec.to_text() == (
        "TRAIN:    ASC + TT\n"
        "SM:       ASC\n"
        "TRAIN+SM: CO\n"
        "*:        HE x GA"
    )  # fmt: skip


def test_terms_of_a_place_are_printed_together():
    spec = parse_specification("A: TT\nB: TT\nA: CO")
    assert spec.to_text() == "A: TT + CO\nB: TT"


def test_a_long_line_is_broken_before_a_plus_and_read_back_the_same():
    spec = Specification(tuple(Term(("TRAIN",), f"ATTRIBUTE_{i}") for i in range(20)))
    lines = spec.to_text().split("\n")
    assert len(lines) > 1
    assert all(line.strip().startswith("+ ") for line in lines[1:])
    assert max(map(len, lines)) <= WIDTH
    # No line is broken too early: the next term would not have fitted.
    firsts = [line.split("+ ")[1].split(" + ")[0] for line in lines[1:]]
    assert all(
        len(line) + len(" + ") + len(first.strip()) > WIDTH
        for line, first in zip(lines[:-1], firsts, strict=True)
    )
    assert parse_specification(spec.to_text()) == spec


def test_a_line_of_exactly_the_width_is_not_broken():
    room = WIDTH - len("A: TT + ")
    fits = Specification((Term(("A",), "TT"), Term(("A",), "C" * room)))
    assert fits.to_text() == f"A: TT + {'C' * room}"
    broken = Specification((Term(("A",), "TT"), Term(("A",), "C" * (room + 1))))
    assert broken.to_text() == f"A: TT\n + {'C' * (room + 1)}"


def test_it_is_a_sized_hashable_iterable_of_its_terms():
    spec = parse_specification("A: ASC + TT")
    assert len(spec) == 2
    assert list(spec) == list(spec.terms) == [Term(("A",)), Term(("A",), "TT")]
    assert hash(spec) == hash(Specification(spec.terms, reasons={spec.terms[0]: "constants stay"}))


def test_reasons_do_not_show_in_the_text():
    terms = parse_specification("A: ASC + TT").terms
    assert Specification(terms, {terms[0]: "because"}).to_text() == "A: ASC + TT"

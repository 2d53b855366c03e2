"""For any names and arguments: what is printed is read back, and nothing else ever goes wrong."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ardchoice.errors import SpecificationError
from ardchoice.space import (
    BoxCox,
    Linear,
    Log,
    Log1p,
    Piecewise,
    Quantiles,
    Segments,
    Specification,
    Sqrt,
    Square,
    Term,
    parse_specification,
    parse_term,
)
from ardchoice.space.pieces import MAX_CLASSES
from ardchoice.space.transforms import LARGEST_SHIFT
from ardchoice.text import WIDTH

calmly = settings(deadline=None)  # cores may be shared, so the time of one example says nothing

SIGNS = "`\\\n\r\t#x×*+:,.()- \u2028\u0085\u00a0\x1c"
WORDS = [
    "ASC",
    "x",
    "*",
    "+",
    ":",
    "#",
    "",
    " ",
    "log",
    "linear",
    "1",
    "1e5",
    "-1",
    ".",
    "a.b",
    "é",
]

names = st.one_of(
    st.sampled_from(WORDS),
    st.text(max_size=8),
    st.text(alphabet=SIGNS, max_size=8),
    st.text(alphabet=st.one_of(st.characters(), st.sampled_from(SIGNS + "ASCx")), max_size=8),
)
finite = st.floats(allow_nan=False, allow_infinity=False)
shifts = st.floats(-LARGEST_SHIFT, LARGEST_SHIFT)
classes = st.integers(2, MAX_CLASSES)
transforms = st.one_of(
    st.sampled_from([Linear(), Log(), Log1p(), Sqrt(), Square(), BoxCox()]),
    st.builds(BoxCox, shifts),
    st.builds(Segments, classes),
    st.builds(Quantiles, classes),
    st.builds(Piecewise, st.sets(finite, min_size=1, max_size=5).map(lambda k: tuple(sorted(k)))),
)
several = st.lists(names, max_size=4, unique=True).map(tuple)
constants = st.builds(Term, several, st.none(), st.just(Linear()), several)
terms = st.one_of(constants, st.builds(Term, several, names, transforms, several))


def identity(term: Term) -> object:
    return frozenset(term.where), term.what, term.how, frozenset(term.by)


specifications = st.lists(terms, min_size=1, max_size=8, unique_by=identity).map(
    lambda t: Specification(tuple(t))
)


@given(terms)
@settings(calmly, max_examples=300)
@example(Term(("\\", "`"), "\\n", Piecewise((5e-324, 1e308)), ("x", "ASC", "*")))
@example(Term(("a\u2028b",), "#", Segments(MAX_CLASSES), ("", " ")))
@example(Term((), "x", Linear(), ("x",)))
def test_a_term_prints_on_one_line_and_parses_back_to_itself(term):
    assert "\n" not in str(term)
    assert parse_term(str(term)) == term


@given(terms)
@calmly
def test_comments_and_blanks_around_a_term_change_nothing(term):
    assert parse_term(f"# a: b\n\t {term}  \t# c: d ` \\") == term


@given(st.lists(terms, min_size=2, max_size=2, unique_by=identity))
@calmly
def test_different_terms_print_differently(pair):
    assert str(pair[0]) != str(pair[1])


@given(specifications)
@calmly
def test_a_specification_prints_and_parses_back_place_by_place(spec):
    text = spec.to_text()
    back = parse_specification(text)
    places = list(dict.fromkeys(t.where for t in spec))
    assert list(back) == [t for where in places for t in spec if t.where == where]
    assert back.to_text() == text == str(spec)


@given(specifications)
@calmly
def test_a_printed_line_is_too_long_only_when_one_term_is(spec):
    place = max(len(t.place) for t in spec)
    longest = max(len(t.content) for t in spec)
    allowed = max(WIDTH, place + len(": ") + longest)
    assert all(len(line) <= allowed for line in spec.to_text().split("\n"))


TOKENS = [
    *("TRAIN", "SM", "ASC", "TT", "x", " x ", "×", "log", "log(", "segments(TT, ", "piecewise("),
    *("boxcox(", ":", ": ", "+", " + ", "*", "(", ")", ",", "`", "\\", "#", "\n", "\n+", " ", "\t"),
    *("1", "2.5", "1e999", "-", "e", ".", "\r\n", "\u2028", "é", "٣", "²", "\x00"),
]


@given(st.one_of(st.text(), st.lists(st.sampled_from(TOKENS), max_size=25).map("".join)))
@settings(calmly, max_examples=500)
@example("A: segments(TT, 1e999)")
@example("A: segments(TT, " + "9" * 400 + ")")
@example("A: piecewise(TT, ٣)")
def test_any_text_is_a_specification_that_round_trips_or_a_specification_error(text):
    try:
        spec = parse_specification(text)
    except SpecificationError as error:
        assert str(error)
    else:
        assert set(parse_specification(spec.to_text())) == set(spec)

"""What the grammar reads, what it refuses, and how it says so."""

import pytest

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
from ardchoice.space.grammar import as_specification


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("TRAIN: ASC", Term(("TRAIN",))),
        ("TRAIN: TT", Term(("TRAIN",), "TT")),
        ("*: TT", Term((), "TT")),
        ("*: ASC", Term(())),
        ("TRAIN+SM: CO x INCOME", Term(("TRAIN", "SM"), "CO", by=("INCOME",))),
        ("  TRAIN  +  SM  :CO", Term(("TRAIN", "SM"), "CO")),
        ("A: linear(TT)", Term(("A",), "TT", Linear())),
        ("A: log(TT)", Term(("A",), "TT", Log())),
        ("A: log1p(TT) x GA", Term(("A",), "TT", Log1p(), ("GA",))),
        ("A: sqrt( TT )", Term(("A",), "TT", Sqrt())),
        ("A: square(TT)", Term(("A",), "TT", Square())),
        ("A: boxcox(TT)", Term(("A",), "TT", BoxCox())),
        ("A: boxcox(TT, 0.5)", Term(("A",), "TT", BoxCox(0.5))),
        ("A: segments(TT, 4)", Term(("A",), "TT", Segments(4))),
        ("A: quantiles(TT,5)", Term(("A",), "TT", Quantiles(5))),
        ("A: piecewise(TT, -1.5e-3, .5, 60)", Term(("A",), "TT", Piecewise((-1.5e-3, 0.5, 60)))),
        ("A: TT x GA x AGE x INCOME", Term(("A",), "TT", by=("GA", "AGE", "INCOME"))),
        ("A: TT × GA", Term(("A",), "TT", by=("GA",))),
        ("A: x x x", Term(("A",), "x", by=("x",))),
        ("A: TT x`my age`x`GA`", Term(("A",), "TT", by=("my age", "GA"))),
        ("`ASC`: `ASC`", Term(("ASC",), "ASC")),
        ("ASC: ASC x ASC", Term(("ASC",), None, by=("ASC",))),
        ("`*`: log(`ASC`)", Term(("*",), "ASC", Log())),
        ("A: log", Term(("A",), "log")),
        ("A: `log`", Term(("A",), "log")),
        ("1: 2 x 3", Term(("1",), "2", by=("3",))),
        ("Zürich.HB: temps_été", Term(("Zürich.HB",), "temps_été")),
        ("``: `a # b`", Term(("",), "a # b")),
        (r"`a\`b\\c\nd\te\rf`: TT", Term(("a`b\\c\nd\te\rf",), "TT")),
    ],
)
def test_a_term_is_read_as_written(text, term):
    assert parse_term(text) == term


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (Term(("TRAIN",)), "TRAIN: ASC"),
        (Term(("TRAIN",), "TT", Log(), ("GA",)), "TRAIN: log(TT) x GA"),
        (Term(("TRAIN", "SM"), "CO"), "TRAIN+SM: CO"),
        (Term((), "HE"), "*: HE"),
        (Term(("A",), "TT", Segments(4)), "A: segments(TT, 4)"),
        (Term(("A",), "TT", Piecewise((60.0, 0.1 + 0.2 + 60))), "A: piecewise(TT, 60, 60.3)"),
        (Term(("A",), "TT", Piecewise((0.1 + 0.2,))), "A: piecewise(TT, 0.30000000000000004)"),
        (Term(("A",), "TT", Piecewise((-1e22, 1e14))), "A: piecewise(TT, -1e+22, 100000000000000)"),
        (Term(("A",), "TT", BoxCox(1.0)), "A: boxcox(TT, 1)"),
        (Term(("the train",), "ASC", by=("a`b",)), "`the train`: `ASC` x `a\\`b`"),
    ],
)
def test_a_term_prints_in_the_grammar(term, text):
    assert str(term) == text


def test_the_parts_of_a_term_make_up_its_text():
    term = parse_term("TRAIN+SM: log(TT) x GA x AGE")
    assert (term.place, term.form, term.content) == ("TRAIN+SM", "log(TT)", "log(TT) x GA x AGE")
    assert term.main == parse_term("TRAIN+SM: log(TT)")


def test_the_specification_of_the_api_is_read_in_order_without_its_comments():
    spec = parse_specification("""
        # by hand
        TRAIN: ASC + TT + CO + log1p(TT) x GA
        SM:    ASC + TT + CO

        CAR:   TT + CO
        *:     HE                     # one coefficient shared by every alternative that has HE
        TRAIN+SM: CO x INCOME         # shared by the two
    """)
    assert [str(t) for t in spec] == [
        *("TRAIN: ASC", "TRAIN: TT", "TRAIN: CO", "TRAIN: log1p(TT) x GA"),
        *("SM: ASC", "SM: TT", "SM: CO", "CAR: TT", "CAR: CO", "*: HE", "TRAIN+SM: CO x INCOME"),
    ]


def test_a_line_that_begins_with_plus_goes_on_from_the_one_before():
    text = "A: ASC\n  + TT # more\n\n# between\n+ CO + HE\r\nB: TT"
    assert parse_specification(text).terms == parse_specification("A: ASC+TT+CO+HE\nB: TT").terms


# -- Errors ------------------------------------------------------------------------------------


def caret(error: pytest.ExceptionInfo[SpecificationError]) -> str:
    """The rest of the line from where the caret points."""
    _, line, under = str(error.value).split("\n")
    assert under.strip() == "^"
    return line[under.index("^") :]


@pytest.mark.parametrize(
    ("text", "says", "points_at"),
    [
        ("A: TT + lgo(CO)", "Line 1, column 9: there is no transform 'lgo'. Did you m", "lgo("),
        ("A: LOG(CO)", "Did you mean 'log'", "LOG("),
        ("A: ASC(CO)", "no transform 'ASC'", "ASC("),
        ("A: log(TT, 2)", "log takes nothing besides the attribute", "log("),
        ("A: sqrt(TT, 2, 3)", "sqrt takes nothing besides the attribute", "sqrt("),
        ("A: segments(TT)", "segments takes the number of classes", "segments("),
        ("A: quantiles(TT, 4, 5)", "quantiles takes the number of classes", "quantiles("),
        ("A: segments(TT, 2.5)", "segments takes the number of classes", "segments("),
        ("A: segments(TT, 1)", "from 2 to 100", "segments("),
        ("A: segments(TT, 101)", "from 2 to 100", "segments("),
        ("A: segments(TT, 1e999)", "segments takes the number of classes", "segments("),
        ("A: boxcox(TT, 1, 2)", "boxcox takes at most a shift", "boxcox("),
        ("A: boxcox(TT, 1e999)", "finite shift", "boxcox("),
        ("A: boxcox(TT, 1e308)", "at most 1,000,000,000,000 either way, not 1e+308", "boxcox("),
        ("A: boxcox(TT, 1000000000000.0001)", "either way, not 1000000000000.0001", "boxcox("),
        ("A: piecewise(TT)", "piecewise needs ascending knots", "piecewise("),
        ("A: piecewise(TT, 2, 1)", "piecewise needs ascending knots", "piecewise("),
        ("A: piecewise(TT, 1, 1)", "piecewise needs ascending knots", "piecewise("),
        ("A: piecewise(TT, 1, 1e999)", "piecewise needs ascending knots", "piecewise("),
        ("A: piecewise(TT, six)", "expected a number", "six)"),
        ("A: piecewise(TT, 6six)", "expected a number", "6six)"),
        ("A: log(TT", "expected ',' or ')'", ""),
        ("A: log(  ASC)", "a constant cannot be transformed", "ASC)"),
        ("A: log()", "expected an attribute", ")"),
        ("A+B+ A: TT", "an alternative is named twice", "A: TT"),
        ("A: TT x GA x AGE x GA", "a covariate is named twice", "GA"),
        ("A: TT x `GA` x GA", "a covariate is named twice", "GA"),
        ("A: TT CO", "expected '+', ' x ' or the end of the line", "CO"),
        ("A: TT xGA", "expected '+', ' x ' or the end of the line", "xGA"),
        ("A: TT x ", "expected a covariate", ""),
        ("A: TT +", "expected ASC, an attribute or a transform of one", ""),
        ("A:", "expected ASC, an attribute or a transform of one", ""),
        ("A: TT + # more", "expected ASC, an attribute or a transform of one", "# more"),
        ("A TT", "expected ':' after the alternative", "TT"),
        ("A+: TT", "expected an alternative", ": TT"),
        ("*+A: TT", "expected ':' after the alternative", "+A"),
        (": TT", "expected an alternative, or * for all", ": TT"),
        ("+ TT", "needs one before it", "TT"),
        ("A: `TT", "needs a second back quote", "`TT"),
        ("A: TT-CO", "expected '+'", "-CO"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_and_pointed_at(text, says, points_at):
    with pytest.raises(SpecificationError) as error:
        parse_specification(text)
    assert says in str(error.value)
    assert caret(error).startswith(points_at)
    assert points_at or not caret(error).strip("^ ")


def test_a_mistake_is_found_on_its_own_line_even_behind_tabs():
    with pytest.raises(SpecificationError) as error:
        parse_specification("A: TT\n\n\tB:\tlog2(TT)")
    first, line, under = str(error.value).split("\n")
    assert first.startswith("Line 3, column 5:")
    assert (line, under) == ("  \tB:\tlog2(TT)", "  \t  \t^")


@pytest.mark.parametrize("text", ["", "  \n\t\n", "# nothing but a comment"])
def test_an_empty_specification_is_refused(text):
    with pytest.raises(SpecificationError, match="The specification is empty"):
        parse_specification(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("A: TT + TT", "'A: TT' is given twice."),
        ("A: TT\nB: TT\nA: linear(TT)", "'A: TT' is given twice."),
        ("A+B: TT\nB+A: TT", r"'B\+A: TT' is given twice, first as 'A\+B: TT'."),
        ("A: TT x G x H + TT x H x G", "'A: TT x H x G' is given twice, first as 'A: TT x G x H'."),
    ],
)
def test_a_term_given_twice_is_refused_however_it_is_written(text, says):
    with pytest.raises(SpecificationError, match=says):
        parse_specification(text)


def test_parse_term_wants_one_term():
    with pytest.raises(SpecificationError, match="is 2 terms; one was expected"):
        parse_term("A: TT + CO")


@pytest.mark.parametrize(
    "code",
    [
        "__import__('os').system('touch {path}')",
        "A: __import__('os').system('touch {path}')",
        "A: log(__import__('os').system('touch {path}'))",
        "A: piecewise(TT, __import__('os').system('touch {path}'))",
        "A: segments(TT, (lambda: open('{path}', 'w'))())",
        "A: eval(open('{path}', 'w'))",
        "A: TT x {{open('{path}', 'w')}}",
        "A: TT; import os",
        "A: f'{{1}}'",
        "A: TT**2",
        "A: I(TT)",
    ],
)
def test_nothing_is_ever_evaluated(code, tmp_path):
    path = tmp_path / "touched"
    with pytest.raises(SpecificationError):
        parse_specification(code.format(path=path))
    assert not path.exists()


def test_code_in_back_quotes_is_only_a_name():
    assert parse_term("A: `__import__('os')`") == Term(("A",), "__import__('os')")


# -- Made by hand ------------------------------------------------------------------------------


def test_as_specification_takes_what_users_pass():
    spec = parse_specification("A: ASC + TT")
    assert as_specification(spec) is spec
    assert as_specification("A: ASC + TT") == spec
    assert as_specification(["A: ASC", Term(("A",), "TT")]) == spec
    assert as_specification(t for t in spec) == spec
    assert as_specification(Term(("A",), "TT")) == parse_specification("A: TT")


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ([], "has no terms"),
        (["A: TT", 3], "int is not a term"),
        (3, "int is not a term"),
        (None, "NoneType is not a term"),
        (["A: TT", "A: TT"], "given twice"),
    ],
)
def test_as_specification_refuses_anything_else(spec, says):
    with pytest.raises(SpecificationError, match=says):
        as_specification(spec)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Term(("A", "B", "A"), "TT"), "alternative 'A' is named twice in 'A[+]B[+]A: TT'"),
        (lambda: Term(("A",), "TT", by=("G", "G")), "The covariate 'G' is named twice"),
        (lambda: Term(("A",), None, Log()), "A constant cannot be transformed by log"),
        (lambda: Term("TRAIN", "TT"), "alternatives of a term are a tuple of names"),
        (lambda: Term(("A",), "TT", by="GA"), "covariates of a term are a tuple of names"),
        (lambda: Segments(1), "whole number of classes"),
        (lambda: Segments(2.5), "whole number of classes"),
        (lambda: Quantiles(float("nan")), "whole number of classes"),
        (lambda: Quantiles(10**400), "whole number of classes"),
        (lambda: Piecewise((1.0, float("nan"))), "ascending knots"),
        (lambda: BoxCox(float("inf")), "finite shift"),
        (lambda: Specification((Term(("A",)),) * 2), "'A: ASC' is given twice"),
    ],
)  # fmt: skip
def test_a_term_that_would_not_print_and_parse_cannot_be_made(make, says):
    with pytest.raises(SpecificationError, match=says):
        make()


def test_a_specification_may_be_a_dict_or_a_list_of_lines() -> None:
    text = as_specification("A: ASC + TT\nB: TT")
    assert as_specification({"A": "ASC + TT", "B": "TT"}) == text
    assert as_specification(["A: ASC + TT", "B: TT"]) == text


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("A: TT*AGE", "TT x AGE"),
        ("A: TT:AGE", "TT x AGE"),
        ("A: TT^2", "square"),
        ("A: ASC - TT", "Signs are estimated"),
        ("A: ASC x exp(AGE)", "Functions of a covariate are log"),
        ("new bus: TT", "back quotes"),
    ],
)
def test_signs_of_other_notations_get_a_hint(text: str, hint: str) -> None:
    with pytest.raises(SpecificationError, match=hint):
        parse_specification(text)

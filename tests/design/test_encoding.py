"""Terms meet data: what they need, what they learn, and how they treat other data."""

from dataclasses import replace

import numpy as np
import pytest
from design_cases import TERMS, dense, random_choices, with_values

from ardchoice.data import Attribute, ChoiceData, Covariate
from ardchoice.design import Design, Encoding, learn_encoding
from ardchoice.errors import SpecificationError, TransformError
from ardchoice.space import parse_specification, parse_term


def learn(data: ChoiceData, *texts: str) -> Encoding:
    return learn_encoding(data, [parse_term(text) for text in texts])


@pytest.fixture
def data() -> ChoiceData:
    return random_choices(60, seed=1)


# -- What a term finds -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "alternatives"),
    [
        ("SM: TT", (1,)),
        ("CAR+TRAIN: TT", (0, 2)),
        ("*: TT", (0, 1, 2)),
        ("*: HE", (0, 2)),
        ("*: ASC", (0, 1, 2)),
    ],
)
def test_a_term_enters_the_alternatives_it_names_or_all_that_have_the_attribute(
    data, text, alternatives
):
    assert learn(data, text).terms[0].alternatives == alternatives


def test_columns_stand_behind_each_other_and_are_named_after_term_and_levels(data):
    encoding = learn(
        data, "TRAIN: ASC", "SM: ASC x AGE", "CAR: COMFORT x GA", "SM: CO x PURPOSE x INCOME x AGE"
    )
    assert encoding.names == (
        "TRAIN: ASC",
        "SM: ASC x AGE [young]",
        "SM: ASC x AGE [middle]",
        "CAR: COMFORT x GA [low, yes]",
        "CAR: COMFORT x GA [high, yes]",
        "SM: CO x PURPOSE x INCOME x AGE [work, young]",
        "SM: CO x PURPOSE x INCOME x AGE [work, middle]",
        "SM: CO x PURPOSE x INCOME x AGE [, young]",
        "SM: CO x PURPOSE x INCOME x AGE [, middle]",
        "SM: CO x PURPOSE x INCOME x AGE [3, young]",
        "SM: CO x PURPOSE x INCOME x AGE [3, middle]",
    )
    assert encoding.n_columns == len(encoding.names)
    assert [t.columns for t in encoding.terms] == [
        *(slice(0, 1), slice(1, 3), slice(3, 5), slice(5, 11))
    ]


def test_a_level_without_a_name_gives_no_two_columns_the_same_name(data):
    levels = ("", "b", "c")
    codes = np.arange(60, dtype=np.int32) % 3
    both = {name: Covariate(name, codes, levels, 2) for name in ("G", "H")}
    names = learn(replace(data, covariates=both), "SM: ASC x G x H").names
    assert len(set(names)) == 4


def test_what_is_learned_comes_from_the_rows_where_the_alternatives_are_available(data):
    encoding = learn(
        data, "SM: quantiles(TT, 2)", "*: quantiles(TT, 2)", "CAR+SM: quantiles(TT, 2)"
    )
    values = data.attributes["TT"].values
    for term in encoding.terms:
        places = list(term.alternatives)
        assert term.parameters == (np.median(values[places][data.available[places]]),)


def test_terms_of_the_same_form_and_place_learn_the_same():
    data = random_choices(60, all_available=True)
    encoding = learn(data, "SM: boxcox(TT)", "SM: boxcox(TT) x GA", "CAR: boxcox(TT)")
    first, second, other = (term.parameters for term in encoding.terms)
    assert first == second != other


# -- What does not fit the data ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("TRIAN: TT", "'TRIAN: TT': there is no alternative 'TRIAN'. Did you mean 'TRAIN'"),
        ("TRAIN+BUS: TT", "no alternative 'BUS'. There are: TRAIN, SM, CAR."),
        ("SM: HEE", "'SM: HEE': there is no attribute 'HEE'. Did you mean 'HE'"),
        ("*: WAIT", "no attribute 'WAIT'. There are: TT, CO, HE, COMFORT."),
        ("SM: TT x AGEE", "'SM: TT x AGEE': there is no covariate 'AGEE'. Did you mean 'AGE'"),
        ("SM: HE", "'SM: HE': SM has no HE. Alternatives with it: TRAIN, CAR."),
        ("SM+TRAIN: HE x GA", "SM has no HE. Alternatives with it: TRAIN, CAR."),
        ("SM: AGE", "It is a covariate, .* interact a constant with it: 'SM: ASC x AGE'."),
        ("SM: log(AGE) x GA", "interact a constant with it: 'SM: ASC x AGE x GA'."),
        ("SM: AGE x GA", "interact a constant with it: 'SM: ASC x AGE x GA'."),
        ("SM: AGE x AGE", "interact a constant with it: 'SM: ASC x AGE'."),
        ("SM: TT x TT", "TT times TT is written square"),
        ("SM: ASC x CO", "a constant times CO is written CO"),
        ("SM: log(COMFORT)", "COMFORT is categorical and takes no transform; write 'SM: COMFORT'"),
        ("SM: segments(COMFORT, 2) x GA", "takes no transform; write 'SM: COMFORT x GA'"),
    ],
)
def test_what_a_term_needs_and_the_data_lack_is_named_with_the_nearest(data, text, says):
    with pytest.raises(SpecificationError, match=says):
        learn(data, text)


def test_several_alternatives_without_the_attribute_are_named_together(data):
    only = replace(
        data.attributes["HE"], alternatives=(2,), values=data.attributes["HE"].values[:1]
    )
    fewer = replace(data, attributes={"HE": only})
    with pytest.raises(
        SpecificationError, match=r"TRAIN, SM have no HE. Alternatives with it: CAR"
    ):
        learn(fewer, "CAR+TRAIN+SM: HE")


def test_the_hint_can_be_pasted_even_for_an_odd_name(data):
    odd = {"my age": replace(data.covariates["AGE"], name="my age")}
    with pytest.raises(SpecificationError, match="'SM: ASC x `my age`'"):
        learn(replace(data, covariates=odd), "SM: `my age`")


def test_a_variable_with_one_level_is_refused(data):
    single = Covariate("G", np.zeros(60, dtype=np.int32), ("only",), 0)
    with pytest.raises(SpecificationError, match="'SM: TT x G': G has one level only, 'only'"):
        learn(replace(data, covariates={"G": single}), "SM: TT x G")


def test_an_alternative_that_is_never_available_has_nothing_to_learn_from(data):
    available = data.available.copy()
    available[1] = False
    with pytest.raises(SpecificationError, match="'SM: TT': SM is never available"):
        learn(replace(data, available=available), "SM: TT")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("SM: log(CO)", r"'SM: log\(CO\)': log needs positive values .*, but \d+ of \d+"),
        ("SM: segments(HE0, 4)", r"'SM: segments\(HE0, 4\)': segments cannot make 4 classes of 3"),
        ("SM: quantiles(HE0, 4)", "quantiles cannot make 4 classes of 3 distinct values"),
    ],
)
def test_a_transform_that_does_not_suit_the_values_names_its_term(data, text, says):
    few = Attribute("HE0", (1,), np.tile([10.0, 30.0, 60.0], (1, 20)))
    with pytest.raises(TransformError, match=says):
        learn(replace(data, attributes={**data.attributes, "HE0": few}), text)


def test_only_values_of_available_alternatives_are_held_to_a_domain(data):
    values = data.attributes["TT"].values.copy()
    values[~data.available] = -5.0
    Design(with_values(data, "TT", values), [parse_term("*: log(TT)"), parse_term("*: boxcox(TT)")])
    i = np.flatnonzero(data.available[1])[0]
    values[1, i] = -5.0
    bad = with_values(data, "TT", values)
    Design(bad, [parse_term("CAR: log(TT)")])
    with pytest.raises(TransformError, match=r"1 of .* smallest is -5"):
        Design(bad, [parse_term("SM: log(TT)")])


# -- New data ----------------------------------------------------------------------------------


def relabelled(variable, order):
    """The same values with the levels listed in another order (or fewer of them)."""
    codes = {variable.levels.index(level): i for i, level in enumerate(order)}
    values = np.vectorize(lambda c: codes.get(c, 99))(variable.values).astype(np.int32)
    return replace(variable, values=values, levels=tuple(order), reference=0)


def test_levels_are_matched_by_label_whatever_their_order_and_reference():
    data = random_choices(80, seed=2)
    design = Design(data, TERMS)
    other = replace(
        data,
        attributes={
            **data.attributes,
            "COMFORT": relabelled(data.attributes["COMFORT"], ("high", "low", "mid")),
        },
        covariates={
            **data.covariates,
            "AGE": relabelled(data.covariates["AGE"], ("old", "young", "middle")),
            "PURPOSE": relabelled(data.covariates["PURPOSE"], ("3", "", "leisure, other", "work")),
        },
    )
    again = Design(other, design.encoding)
    assert again.names == design.names
    np.testing.assert_array_equal(dense(again), dense(design))


def test_data_that_lack_some_levels_keep_all_columns():
    data = random_choices(80, seed=3)
    design = Design(data, TERMS)
    rows = np.flatnonzero(
        (data.covariates["AGE"].values != 0)
        & ((data.attributes["COMFORT"].values != 2) | ~data.available).all(axis=0)
    )
    part = data.take(rows)
    fewer = replace(
        part,
        attributes={
            **part.attributes,
            "COMFORT": relabelled(part.attributes["COMFORT"], ("mid", "low")),
        },
        covariates={
            **part.covariates,
            "AGE": relabelled(part.covariates["AGE"], ("old", "middle")),
        },
    )
    np.testing.assert_array_equal(dense(Design(fewer, design.encoding)), dense(design)[:, :, rows])


def test_new_values_are_transformed_with_what_was_learned_at_first():
    first, new = random_choices(80, seed=4), random_choices(30, seed=5)
    encoding = Design(first, TERMS).encoding
    own = Design(new, TERMS).encoding
    learned = [t.parameters for t in encoding.terms if t.parameters]
    assert learned != [t.parameters for t in own.terms if t.parameters]
    both = dense(Design(new, encoding))
    assert Design(new, encoding).encoding is encoding
    codes = next(t for t in encoding.terms if str(t.term) == "*: segments(CO, 4)")
    values, there = new.attributes["CO"].values, new.available
    expected = np.digitize(np.where(there, values, 0), codes.parameters)
    for c in range(3):
        np.testing.assert_array_equal(both[codes.start + c], (expected == c) & there)


def with_new_level(variable, level, cells):
    values = variable.values.copy()
    values[cells] = len(variable.levels)
    return replace(variable, values=values, levels=(*variable.levels, level))


def test_a_covariate_level_never_seen_is_named_with_its_rows_and_the_known_ones(data):
    encoding = learn(data, "SM: ASC x GA", "SM: TT x AGE")
    age = with_new_level(data.covariates["AGE"], "ancient", [3, 7])
    new = replace(data, covariates={**data.covariates, "AGE": age})
    with pytest.raises(SpecificationError) as error:
        Design(new, encoding)
    assert str(error.value).startswith(
        "AGE has a level that the model has never seen: 'ancient' in 2 rows (1003, 1007). "
        "It knows: young, middle, old."
    )


def test_an_attribute_level_never_seen_matters_only_where_available(data):
    encoding = learn(data, "*: COMFORT")
    there = [tuple(cell) for cell in np.argwhere(data.available)[:2]]
    gone = [tuple(cell) for cell in np.argwhere(~data.available)[:2]]
    comfort = data.attributes["COMFORT"]
    harmless = with_new_level(comfort, "luxury", tuple(np.array(gone).T))
    np.testing.assert_array_equal(
        dense(Design(replace(data, attributes={"COMFORT": harmless}), encoding)),
        dense(Design(data, encoding)),
    )
    harmful = with_new_level(comfort, "luxury", tuple(np.array(there).T))
    situations = sorted({1000 + i for _, i in there})
    listed = ", ".join(map(str, situations))
    with pytest.raises(
        SpecificationError, match=rf"'luxury' in {len(situations)} rows? \({listed}\)"
    ):
        Design(replace(data, attributes={"COMFORT": harmful}), encoding)


def test_several_new_levels_are_all_named(data):
    encoding = learn(data, "SM: ASC x GA")
    ga = with_new_level(
        with_new_level(data.covariates["GA"], "maybe", [0]), "half", [1, 2, 3, 4, 5]
    )
    with pytest.raises(SpecificationError, match=r"levels .*: 'maybe', 'half' in 6 rows \(1000, "):
        Design(replace(data, covariates={"GA": ga}), encoding)


def without(data, name):
    return replace(
        data,
        attributes={n: a for n, a in data.attributes.items() if n != name},
        covariates={n: c for n, c in data.covariates.items() if n != name},
    )


def changed(data, name):
    """The same data with a number made a category, or the reverse."""
    if name in data.covariates:
        old = data.covariates[name]
        levels = ("a", "b") if old.levels is None else None
        values = np.zeros(len(data), dtype=np.int32 if levels else float)
        new = replace(old, values=values, levels=levels)
        return replace(data, covariates={**data.covariates, name: new})
    old = data.attributes[name]
    levels = ("a", "b") if old.levels is None else None
    values = np.zeros(old.values.shape, dtype=np.int32 if levels else float)
    return replace(
        data, attributes={**data.attributes, name: replace(old, values=values, levels=levels)}
    )


@pytest.mark.parametrize(
    ("name", "new", "says"),
    [
        ("TT", without, "'SM: TT x AGE' needs the attribute 'TT', which these data do not have."),
        ("AGE", without, "'SM: TT x AGE' needs the covariate 'AGE', which .* There are: GA, "),
        ("INCOME", without, "'SM: COMFORT x INCOME' needs the covariate 'INCOME', which these"),
        ("TT", changed, "'TT' to be numeric, as it was at first; in these data it is categorical"),
        ("COMFORT", changed, "'COMFORT' to be categorical, .*; in these data it is numeric"),
        ("AGE", changed, "'AGE' to be categorical, .*; in these data it is numeric"),
        ("INCOME", changed, "'INCOME' to be numeric, .*; in these data it is categorical"),
    ],
)
def test_new_data_without_what_the_model_needs_are_refused(data, name, new, says):
    encoding = learn(data, "SM: TT x AGE", "SM: COMFORT x INCOME")
    with pytest.raises(SpecificationError, match=says):
        Design(new(data, name), encoding)


def test_new_data_whose_alternatives_lack_an_attribute_are_refused(data):
    encoding = learn(data, "*: HE")
    he = data.attributes["HE"]
    fewer = replace(data, attributes={"HE": replace(he, alternatives=(2,), values=he.values[1:])})
    with pytest.raises(
        SpecificationError, match=r"'\*: HE' needs the attribute 'HE' of TRAIN, which"
    ):
        Design(fewer, encoding)


def test_new_values_outside_the_domain_are_refused_by_term(data):
    encoding = learn(data, "SM: log(TT)")
    zero = with_values(data, "TT", np.zeros((3, 60)))
    with pytest.raises(TransformError, match=r"'SM: log\(TT\)': log needs positive values"):
        Design(zero, encoding)


def test_a_specification_can_be_encoded_as_it_is(data):
    spec = parse_specification("SM: TT + CO")
    assert Design(data, spec).names == ("SM: TT", "SM: CO")

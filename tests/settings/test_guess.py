"""Guesses of the roles of columns, heuristic by heuristic and on whole tables."""

import tomllib
import warnings
from pathlib import Path

import made_up
import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.data.tables import open_table
from ardchoice.settings import check_study, guess_findings, guess_settings, parse_settings, to_toml
from ardchoice.settings.guess.families import attribute_name, family_of, find_families, pattern_of
from ardchoice.settings.guess.guess import guess_roles
from ardchoice.settings.guess.long import find_layouts, same_within, two_columns
from ardchoice.settings.guess.people import covariate, find_person, find_weight, why_not
from ardchoice.settings.guess.profile import named, profile_table
from ardchoice.settings.guess.wide import best_order, match_codes
from ardchoice.settings.guess.words import CHOICE_WORDS, pieces, says, unlike_others, words

MODE_CHOICE = Path(__file__).parents[1] / "reference" / "modechoice.csv"


def profiles(table):
    return profile_table(open_table(table))


def roles_of(table, **answers):
    return guess_roles(profiles(table), answers)


def column(values, name="x"):
    [one] = profiles(pd.DataFrame({name: values}))
    return one


def written(table, folder, name="table.csv", **how):
    path = folder / name
    if name.endswith(".parquet"):
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False, **how)
    return path


def unwrapped(text):
    """Comments as if they were on one line."""
    return " ".join(text.replace("\n#", " ").split())


def settings_from(path):
    """What the guessed file says, and the data and space it makes."""
    settings = parse_settings(guess_settings(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ac.ArdchoiceWarning)
        data = settings.read_choices(path.parent)
    return settings, data, settings.make_space(data)


# -- Names ---------------------------------------------------------------------------------------


def test_names_are_cut_into_words_numbers_and_separators():
    assert pieces("TRAIN_TT") == ["TRAIN", "_", "TT"]
    assert pieces("price.alt12") == ["price", ".", "alt", "12"]
    assert pieces("travelTimeCar") == ["travel", "Time", "Car"]
    assert words("Person-ID") == ["person", "id"]
    assert words("Verfügbar_Zug") == ["verfugbar", "zug"]


def test_a_name_is_in_a_vocabulary_as_a_whole_or_by_a_word():
    assert says("CHOICE", CHOICE_WORDS) == says("Chosen_Alt", CHOICE_WORDS) == 2
    assert says("my_choice", CHOICE_WORDS) == 1
    assert says("voice", CHOICE_WORDS) == 0


@pytest.mark.parametrize(
    ("names", "alternatives", "patterns"),
    [
        (["A_TT", "B_TT", "A_CO", "B_CO"], ("A", "B"), ["{alt}_TT", "{alt}_CO"]),
        (["tt_a", "tt_b", "co_a", "co_b"], ("a", "b"), ["tt_{alt}", "co_{alt}"]),
        (["time1", "time2", "cost1", "cost2"], ("1", "2"), ["time{alt}", "cost{alt}"]),
        (["p.1.eur", "p.2.eur"], ("1", "2"), ["p.{alt}.eur"]),
        (["costCar", "costBus"], ("Car", "Bus"), ["cost{alt}"]),
    ],
)
def test_alternatives_are_found_before_after_and_amid_the_attribute(names, alternatives, patterns):
    families = find_families(names)
    found = [f for f in families if f.alternatives == alternatives]
    assert found
    assert [pattern_of(t) for t in found[0].templates] == patterns


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("pattern", ["{what}_{alt}", "{alt}_{what}", "{what} {alt}"])
def test_an_alternative_keeps_its_brackets(pattern, coded):
    rng, names = np.random.default_rng(0), ["Bus (express)", "Car", "Train [IC]"]
    n = 600
    table = pd.DataFrame(
        {"id": np.repeat(np.arange(n // 6), 6), "task": np.tile(range(1, 7), n // 6)}
    )
    time = rng.uniform(10, 60, (3, n))
    for j, name in enumerate(names):
        for what, values in (("time", time[j]), ("cost", rng.uniform(1, 9, n))):
            table[pattern.format(what=what, alt=name)] = values
    picked = (rng.gumbel(size=(3, n)) - 0.05 * time).argmax(axis=0)
    table["choice"] = picked + 1 if coded else np.array(names)[picked]
    roles = roles_of(table)
    assert roles.findings["choice"].value == "choice"
    codes = ["1", "2", "3"] if coded else names
    assert roles.alternatives == dict(zip(names, codes, strict=True))
    assert {variable.name for variable in roles.attributes} == {"time", "cost"}


def test_alternatives_in_brackets_are_named_without_them():
    families = find_families(["time (bus)", "time (car)", "cost (bus)", "cost (car)"])
    [found] = [f for f in families if f.alternatives == ("bus", "car")]
    assert [attribute_name(t) for t in found.templates] == ["time", "cost"]


def test_alternatives_come_in_the_order_of_most_attributes_not_of_availability():
    names = ["A_AV", "C_AV", "B_AV", "A_TT", "B_TT", "C_TT", "A_CO", "B_CO", "C_CO", "B_X"]
    family = family_of(["A", "B", "C"], names)
    assert family.alternatives == ("A", "B", "C")
    assert family.templates["", "_X"] == {"B": "B_X"}


@pytest.mark.parametrize(
    ("names", "numbered", "apart"),
    [
        (["1", "2", "3"], True, ()),
        (["alt1", "alt2", "none"], True, ("none",)),
        (["A", "B", "status quo"], True, ("status quo",)),
        (["car", "bus", "none"], False, ("none",)),
    ],
)
def test_numbered_alternatives_are_told_from_named_ones_and_none_stands_apart(
    names, numbered, apart
):
    assert unlike_others(names) == (numbered, apart)


def test_attributes_are_named_without_separators_and_numbering_words():
    assert attribute_name(("", "_TT")) == "TT"
    assert attribute_name(("price_", "")) == "price"
    assert attribute_name(("alt", "_price")) == "price"
    assert attribute_name(("p.", ".eur")) == "p_eur"


# -- The choice ----------------------------------------------------------------------------------


def test_codes_are_matched_by_name_by_number_and_by_order():
    family = family_of(["Car", "Bus"], ["t_Car", "t_Bus"])
    by_name = match_codes(family, column(["bus", "CAR", "bus"], "choice"))
    assert (by_name.how, by_name.codes) == ("name", {"Car": "CAR", "Bus": "bus"})
    by_order = match_codes(family, column([1, 2, 2], "choice"))
    assert (by_order.how, by_order.codes) == ("order", {"Car": "1", "Bus": "2"})
    from_zero = match_codes(family, column([0, 1, 1], "choice"))
    assert from_zero.codes == {"Car": "0", "Bus": "1"}
    numbered = family_of(["alt1", "alt2", "alt3"], ["alt1_p", "alt2_p", "alt3_p"])
    by_number = match_codes(numbered, column([3, 1, 2], "choice"))
    assert (by_number.how, by_number.codes["alt3"]) == ("number", "3")
    assert match_codes(family, column([1, 2, 3, 4, 5, 6], "choice")) is None


def test_a_code_that_fits_no_alternative_is_kept_apart():
    family = family_of(["A", "B"], ["x_A", "x_B"])
    match = match_codes(family, column([0] + [1, 2] * 50, "choice"))
    assert match.codes == {"A": "1", "B": "2"}
    assert list(match.extra) == ["0"]


def test_availability_tells_which_code_is_which():
    nobody = np.array([[0.0, 0.0, 0.9], [0.8, 0.0, 0.0], [0.0, 0.5, 0.0]])
    assert best_order(np.zeros((3, 3))) is None
    assert best_order(np.array([[0.0, 0.5], [0.0, 0.0]])) == (0, 1)
    assert best_order(np.array([[0.5, 0.0], [0.0, 0.0]])) == (1, 0)
    order = best_order(nobody)
    assert all(nobody[i, a] == 0 for i, a in enumerate(order))
    assert best_order(np.full((2, 2), 0.5)) is None


def test_the_choice_is_told_from_columns_with_the_same_codes_by_its_name():
    table = made_up.mode_choice()
    table["class"] = np.random.default_rng(1).integers(1, 5, len(table))
    assert roles_of(table).column("choice") == "choice"
    assert roles_of(table, choice="class").column("choice") == "class"


def test_a_choice_without_a_telling_name_is_a_doubtful_guess():
    table = made_up.mode_choice().rename(columns={"choice": "v17"})
    finding = roles_of(table).findings["choice"]
    assert finding.value == "v17"
    assert not finding.sure


# -- People --------------------------------------------------------------------------------------


def test_an_id_that_repeats_is_a_person_and_one_that_does_not_is_not():
    repeated = profiles(pd.DataFrame({"resp_id": np.repeat(np.arange(30), 3), "x": 1.5}))
    assert find_person(repeated, None, {}).value == "resp_id"
    once = profiles(pd.DataFrame({"ID": np.arange(90), "x": 1.5}))
    finding = find_person(once, None, {})
    assert finding.value is None
    assert "differs in every choice" in finding.why
    assert find_person(once, None, {"person": "x"}).value == "x"
    assert find_person(repeated, None, {"person": ""}).value is None


def test_weights_are_found_by_name_and_must_not_be_negative():
    table = pd.DataFrame({"weight": [1.0, 2.0], "w": [0.3, 0.4]})
    assert find_weight(profiles(table), {}).value == "weight"
    table["weight"] = [-1.0, 2.0]
    assert find_weight(profiles(table), {}).value is None


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 1] * 50, "categorical"),
        (["f", "m"] * 50, "categorical"),
        (list(range(100)), "numeric"),
        (np.linspace(0, 1, 100), "numeric"),
        ([1.5, 2.5] * 50, "numeric"),
        ([*np.linspace(0, 1, 95), *[None] * 5], "cut"),
        ([*np.linspace(0, 1, 99), None], "numeric"),
    ],
)
def test_few_whole_values_are_codes_and_others_quantities(values, kind):
    assert covariate(column(values)).how["kind"] == kind


def test_missing_and_rare_levels_are_provided_for():
    missing = covariate(column([*["a", "b"] * 50, *[None] * 5]))
    assert missing.how["missing"] == "unknown"
    # A level of a single row would run to infinity.
    once = covariate(column([*["a", "b"] * 50, None]))
    assert "missing" not in once.how
    assert "missing in 0.99%: such rows are dropped" in once.why
    rare = covariate(column([*["a", "b"] * 50, "c", "d", "e"]))
    assert rare.how["pool_below"] == 0.02
    # Rare levels are never dropped: those that are too few even together join another.
    tiny = covariate(column([*["1", "2"] * 500, "6"]))
    assert tiny.how["merge"] == {"1": ["1"], "2 or 6": ["2", "6"]}
    text = covariate(column([*["a", "b", "b"] * 300, "c", "d"]))
    assert text.how["merge"] == {"a": ["a"], "b or c, d": ["b", "c", "d"]}


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("a", [1] * 40, "one value"),
        ("a", [None] * 40, "empty"),
        ("a", np.arange(40), "numbers something"),
        ("task", [1, 2] * 20, "bookkeeping"),
        ("origin", [*range(20)] * 2, "places"),
        ("a", [None] * 30 + [1.5, 2.5] * 5, "missing in 75%"),
        ("a", [1, 2, 3, 3] * 10, "explain the choice by itself"),
        ("a", [1, 1, 2, 1] * 10, None),
        ("a", [f"t{i % 35}" for i in range(200)], "35 different values"),
    ],
)
def test_columns_that_cannot_explain_are_left_out(name, values, reason):
    choice = column(([1, 2, 3, 3] * 50)[: len(values)], "choice")
    said = why_not(column(values, name), choice, None)
    assert (reason is None and said is None) or reason in said


def test_what_counts_the_choices_of_a_person_is_bookkeeping():
    table = made_up.mode_choice().rename(columns={"task": "trip"})
    roles = roles_of(table)
    assert roles.left_out["trip"] == "numbers the choices of every ID"
    assert "trip" not in [c.name for c in roles.covariates]
    # Gaps are left by choices that were taken out; what falls again counts nothing.
    assert "trip" in roles_of(table.drop(index=[1, 40])).left_out
    backwards = table.assign(trip=np.where(table["ID"] == 1, 4 - table["trip"], table["trip"]))
    assert "trip" in [c.name for c in roles_of(backwards).covariates]


def test_covariates_of_two_values_are_not_crowded_out(tmp_path):
    settings, _, _ = settings_from(written(made_up.swissmetro(), tmp_path))
    assert {"GA", "MALE", "INCOME", "AGE"} <= set(settings.space.by)


def test_a_table_in_place_of_a_study_file_is_told_so(tmp_path):
    path = written(made_up.mode_choice(), tmp_path, "survey.csv")
    with pytest.raises(ac.ArdchoiceError, match=r"is a table.*`ardchoice init .*survey\.csv`"):
        check_study(path)


# -- Long tables ---------------------------------------------------------------------------------


def test_a_long_table_is_known_by_one_chosen_row_in_every_situation():
    best = find_layouts(profiles(MODE_CHOICE), {})[0]
    assert (best.situation.name, best.alternative.name, best.chosen.name) == (
        "individual",
        "mode",
        "choice",
    )
    assert not find_layouts(profiles(made_up.mode_choice()), {})


def test_a_constant_of_one_alternative_is_not_taken_for_the_choice():
    layouts = find_layouts(profiles(made_up.health_long()), {})
    assert {one.chosen.name for one in layouts} == {"chosen"}


def test_what_is_the_same_within_a_situation_is_seen():
    columns = profiles(pd.DataFrame({"s": [1, 1, 2, 2], "x": [5, 5, 6, 6], "y": [1, 2, 3, 3]}))
    assert same_within(columns[0], columns[1])
    assert not same_within(columns[0], columns[2])


def test_the_roles_of_a_health_experiment():
    roles = roles_of(made_up.health_long())
    assert roles.layout.value == "long"
    assert roles.column("situation") == "chid"
    assert roles.column("person") == "patient_id"
    assert [a.name for a in roles.attributes] == ["risk", "wait"]
    assert [c.name for c in roles.covariates] == ["age"]
    assert "a constant says as much" in roles.left_out["asc_sq"]
    assert not roles.labelled
    assert roles.apart == ("status quo",)


def test_situations_that_only_two_columns_number_are_written_as_a_list(tmp_path):
    table = made_up.health_long().drop(columns="chid")
    one, two, layout = two_columns(profiles(table), {})
    assert (one, two) == ("patient_id", "task")
    assert (layout.alternative.name, layout.chosen.name) == ("alt", "chosen")
    path = written(table, tmp_path)
    text = guess_settings(path)
    assert 'situation = ["patient_id", "task"]' in text
    assert "Only patient_id and task together number the choice situations" in unwrapped(text)
    (tmp_path / "study.toml").write_text(text)
    assert "240 choice situations of 40 persons" in check_study(tmp_path / "study.toml")
    told = parse_settings(text).data
    assert told.person == "patient_id"
    assert "task" not in told.covariates
    # Whoever is asked about it may answer with both.
    found = guess_findings(path, {"layout": "long", "situation": "patient_id, task"})
    assert found["situation"].value == "patient_id, task"


def test_a_covariate_that_is_missing_once_costs_a_row_and_no_level(tmp_path):
    table = made_up.mode_choice().astype({"female": object})
    table.loc[7, "female"] = None
    settings, data, _ = settings_from(written(table, tmp_path))
    assert settings.data.drop_invalid
    assert data.covariates["female"].levels == ("0", "1")
    assert len(data) == len(table) - 1


def test_values_that_look_like_codes_for_missing_are_told_with_the_remedy(tmp_path):
    table = made_up.mode_choice()
    assert "missing_values" not in guess_settings(written(table, tmp_path))
    table.loc[[105, 109], "time_bus"] = 99999
    table.loc[table["av_car"] == 0, "cost_car"] = 9999  # cannot be chosen: no matter
    table.loc[:40, "female"] = -9
    table["female"] = table["female"].replace({0: 5})
    text = guess_settings(path := written(table, tmp_path))
    top = unwrapped(text.partition("[data]")[0])
    assert "time of bus is 99999 in 2 rows, which looks like a code for 'missing'" in top
    assert "female is -9 in 41 rows" in top
    assert "9999 in" not in top.replace("99999 in", "")
    assert "\n# missing_values = [-9, 99999]\n" in text
    text = text.replace("# missing_values", "missing_values").replace(
        "drop_invalid = false", "drop_invalid = true"
    )
    with pytest.warns(ac.ArdchoiceWarning, match="dropped"):
        data = parse_settings(text).read_choices(path.parent)
    assert len(data) == 300 - 2 - 41
    settings = parse_settings(text)
    assert "missing_values = [-9, 99999]" in to_toml(settings)
    assert parse_settings(to_toml(settings)) == settings


# -- Whole tables --------------------------------------------------------------------------------


def test_swissmetro_untouched(tmp_path):
    path = written(made_up.swissmetro(), tmp_path)
    settings, data, space = settings_from(path)
    told = settings.data
    assert told.alternatives == {"TRAIN": "1", "SM": "2", "CAR": "3"}
    assert (told.choice, told.person, told.availability) == ("CHOICE", "ID", "{alt}_AV")
    assert {n: a.column for n, a in told.attributes.items()} == {
        "TT": "{alt}_TT",
        "CO": "{alt}_CO",
        "HE": {"TRAIN": "TRAIN_HE", "SM": "SM_HE"},
        "SEATS": {"SM": "SM_SEATS"},
    }
    assert told.drop_invalid
    assert data.n_situations == 10_719
    assert 50 < space.n_columns < 500
    text = guess_settings(path)
    assert "is '0', the code of no alternative: 9 rows" in unwrapped(text)
    assert "CHECK the codes" in text
    assert "SP: one value only" in text


@pytest.mark.parametrize("name", ["table.csv", "table.parquet"])
def test_mode_choice_of_statsmodels_untouched(tmp_path, name):
    path = written(pd.read_csv(MODE_CHOICE, sep=";"), tmp_path, name)
    settings, data, space = settings_from(path)
    assert settings.data.layout == "long"
    assert list(data.attributes) == ["ttme", "invc", "invt", "gc"]
    assert list(data.covariates) == ["hinc", "psize"]
    assert len(data) == 210
    study = ac.specify(data, space)
    assert study.result.converged
    assert "give them names" in guess_settings(path)


def test_semicolons_latin_1_and_decimal_commas_untouched(tmp_path):
    path = written(made_up.german(), tmp_path, sep=";", decimal=",", encoding="latin-1")
    settings, data, space = settings_from(path)
    told = settings.data
    assert told.alternatives == {"Zug": "ZUG", "Fernbus": "FERNBUS", "Auto": "AUTO"}
    assert told.attributes["Preis"].column == "{alt}.Preis"
    assert (told.choice, told.weight, told.person) == ("Wahl", "Gewicht", None)
    assert data.covariates["Geschlecht"].levels == ("männlich", "weiblich")
    assert ac.specify(data, space).result.converged


def test_two_hundred_unlabelled_alternatives_untouched(tmp_path):
    path = written(made_up.many(), tmp_path)
    settings, data, space = settings_from(path)
    assert len(data.alternatives) == 200
    assert settings.data.attributes["price"].column == "price_{alt}"
    said = settings.space
    assert (said.specific, said.generic, said.constants) == (False, True, False)
    assert {t.place for t in space} == {"*"}
    assert ac.specify(data, space).result.converged


def test_an_apollo_table_untouched(tmp_path):
    settings, data, space = settings_from(written(made_up.mode_choice(), tmp_path))
    told = settings.data
    assert told.alternatives == {"car": "1", "bus": "2", "air": "3", "rail": "4"}
    assert (told.availability, told.person) == ("av_{alt}", "ID")
    assert told.attributes["access"].column == {
        mode: f"access_{mode}" for mode in ("bus", "air", "rail")
    }
    assert set(data.covariates) == {"female", "income"}
    assert settings.space.base == "rail"
    assert len(space) > 20


def test_a_conjoint_with_none_of_these_untouched(tmp_path):
    path = written(made_up.conjoint(), tmp_path)
    settings, data, space = settings_from(path)
    assert settings.data.alternatives == {"1": "1", "2": "2", "3": "3", "none": "4"}
    assert data.attributes["brand"].levels == ("Alpha", "Beta", "Gamma")
    assert (settings.data.choice, settings.data.person) == ("answer", "respondent")
    assert "none: ASC" in map(str, space)
    assert "without attributes" in guess_settings(path)
    assert ac.specify(data, space).result.converged


def test_a_table_without_choices_is_told_so(tmp_path):
    table = pd.DataFrame({"x": np.linspace(0, 1, 50), "y": np.linspace(1, 2, 50)})
    path = written(table, tmp_path)
    text = guess_settings(path)
    assert "does not look like choices" in unwrapped(text)
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(ac.SettingsError, match=r"data\.choice: is missing"):
        check_study(tmp_path / "study.toml")


def test_names_that_could_break_the_file_do_not(tmp_path):
    odd = {"income": 'in"co\nme]', "female": "=cmd|' /C calc'!A0", "cost_car": "<script>_car"}
    odd |= {f"cost_{m}": f"<script>_{m}" for m in ("bus", "air", "rail")}
    path = written(made_up.mode_choice().rename(columns=odd), tmp_path)
    settings, data, _ = settings_from(path)
    assert 'in"co\nme]' in data.covariates
    assert "=cmd|' /C calc'!A0" in data.covariates
    assert settings.data.attributes["script"].column == "<script>_{alt}"


def test_a_column_that_is_covariate_and_attribute_gets_two_names(tmp_path):
    table = made_up.mode_choice().assign(cost=np.random.default_rng(0).integers(0, 2, 300))
    settings, _, _ = settings_from(written(table, tmp_path))
    assert "cost" in settings.data.covariates
    assert settings.data.attributes["cost_alt"].column == "cost_{alt}"


def test_many_rows_left_out_are_a_doubt(tmp_path):
    table = made_up.mode_choice()
    table["cost_bus"] = table["cost_bus"].where(table.index % 2 == 0)
    text = unwrapped(guess_settings(written(table, tmp_path)))
    assert "50% of the choice situations are dropped" in text


def test_answers_replace_guesses_and_are_checked(tmp_path):
    path = written(made_up.mode_choice(), tmp_path)
    found = guess_findings(path)
    assert list(found) == ["layout", "choice", "availability", "person", "weight"]
    assert all(f.why for f in found.values())
    settings = parse_settings(guess_settings(path, {"person": "", "availability": ""}))
    assert settings.data.person is None
    assert settings.data.availability is None
    assert "av" not in settings.data.attributes
    assert parse_settings(guess_settings(path, {"choice": ""})).data.choice == "choice"
    with pytest.raises(ac.ArdchoiceError, match="fits the pattern 'AVAIL_"):
        guess_settings(path, {"availability": "AVAIL_{alt}"})
    with pytest.raises(ac.ArdchoiceError, match="is a pattern such as"):
        guess_settings(path, {"availability": "av_car"})
    with pytest.raises(ac.ArdchoiceError, match="Did you mean 'choice'"):
        guess_settings(path, {"choice": "chioce"})
    with pytest.raises(ac.ArdchoiceError, match="no role 'perso'"):
        guess_settings(path, {"perso": "ID"})
    with pytest.raises(ac.ArdchoiceError, match="'wide' or 'long'"):
        guess_settings(path, {"layout": "tall"})


def test_what_a_user_says_of_a_long_table_is_not_doubted(tmp_path):
    table = made_up.health_long()
    table.loc[table["task"] == 1, "chosen"] = False
    path = written(table, tmp_path)
    said = {"layout": "long", "situation": "chid", "alternative": "alt", "chosen": "chosen"}
    text = guess_settings(path, said)
    assert 'situation = "chid"' in text
    assert "No alternative is marked as chosen" in unwrapped(text)
    table = pd.DataFrame({"x": np.linspace(0, 1, 50), "y": np.linspace(1, 2, 50)})
    text = guess_settings(written(table, tmp_path), {"choice": "x"})
    assert 'choice = "x"' in text


def test_the_table_is_named_relative_to_the_file(tmp_path):
    (tmp_path / "raw").mkdir()
    path = written(made_up.mode_choice(), tmp_path / "raw")
    assert 'table = "table.csv"' in guess_settings(path)
    assert 'table = "raw/table.csv"' in guess_settings(path, folder=tmp_path)


def test_profiles_know_marks_and_missing_values():
    columns = profiles(pd.DataFrame({"a": ["yes", "no", "yes"], "b": [1.5, None, 2.0]}))
    assert columns[0].is_mark
    assert columns[0].marked.tolist() == [True, False, True]
    assert (columns[1].missing, columns[1].whole, columns[1].low) == (1, False, 1.5)
    assert named(columns, "b") is columns[1]
    assert named(columns, "c") is None


# -- Roles by evidence from names and values -------------------------------------------------------


def survey(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Modes with glued names, items of a questionnaire, and a code for no answer."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"ID": np.arange(n), "TimePT": rng.integers(10, 90, n)})
    frame["CostPT"] = rng.uniform(1, 20, n).round(2)
    frame["CostCar"] = rng.uniform(1, 20, n).round(2)
    frame["TimeCar"] = rng.integers(10, 90, n)
    for name, count in (("Envir", 6), ("Mobil", 9), ("Resid", 6)):
        for i in range(1, count + 1):
            frame[f"{name}{i:02d}"] = rng.integers(1, 6, n)
    frame["NbCar"] = rng.integers(0, 4, n)
    frame["Income"] = np.where(rng.random(n) < 0.1, -1, rng.integers(2_000, 9_000, n))
    frame["hmzone"] = rng.integers(1, 60, n)
    value = -0.05 * frame[["TimePT", "TimeCar"]] + rng.gumbel(size=(n, 2))
    frame["Choice"] = np.where(rng.random(n) < 0.1, -1, value.to_numpy().argmax(axis=1))
    return frame


def test_items_of_a_questionnaire_are_no_alternatives_and_minus_one_no_choice(tmp_path):
    path = written(survey(), tmp_path)
    settings, data, _ = settings_from(path)
    text = guess_settings(path)
    assert settings.data.alternatives == {"PT": "0", "Car": "1"}
    assert set(settings.data.attributes) == {"Time", "Cost"}
    assert {"NbCar", "Income", "Envir01"} <= set(settings.data.covariates)
    assert settings.data.guesses == ("alternatives",)
    assert settings.structure.signs == {"Time": "-", "Cost": "-"}
    assert "Recognised by name: Time (time), Cost (money)" in unwrapped(text)
    assert settings.space.generic is True
    assert "hmzone" not in settings.space.by
    # An income of -1 is not known; it is no number.
    income = settings.data.covariates["Income"]
    assert (income.kind, income.edges[0], income.labels[0]) == ("cut", 0.0, "unknown")
    assert data.n_situations == int((survey()["Choice"] >= 0).sum())


def test_a_named_index_is_columns(tmp_path):
    rng = np.random.default_rng(1)
    index = pd.MultiIndex.from_product([range(60), (1, 2, 3)], names=["case_id", "alt_id"])
    chosen = np.zeros((60, 3), dtype=int)
    chosen[np.arange(60), rng.integers(0, 3, 60)] = 1
    columns = {"chosen": chosen.ravel(), "price": rng.uniform(1, 9, 180)}
    path = tmp_path / "table.parquet"
    pd.DataFrame(columns, index=index).to_parquet(path)
    settings, data, _ = settings_from(path)
    assert (settings.data.situation, settings.data.alternative) == ("case_id", "alt_id")
    assert data.n_situations == 60
    # Unlabelled: constants of positions are candidates, not kept.
    assert settings.space.add == ("1: ASC", "2: ASC")
    assert settings.structure.constants is False
    assert (settings.space.constants, settings.space.specific) == (False, False)


def test_a_total_beside_its_parts_is_not_used(tmp_path):
    table = made_up.mode_choice()
    for mode in ("car", "bus", "air", "rail"):
        table[f"extra_{mode}"] = np.random.default_rng(3).uniform(1, 9, len(table))
        table[f"total_{mode}"] = table[f"time_{mode}"] + table[f"extra_{mode}"]
    path = written(table, tmp_path)
    settings, _, _ = settings_from(path)
    text = guess_settings(path)
    assert "extra" in settings.data.attributes
    assert "total" not in settings.data.attributes
    assert "total is time + extra" in unwrapped(text)


def test_codes_written_with_a_word_are_numbers_of_columns(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {f"{a}{j}": rng.uniform(1, 5, 200) for a in ("price", "size") for j in (1, 2, 3)}
    )
    frame["hsg2"] = rng.integers(0, 2, 200)
    frame["choice"] = [f"choice{i}" for i in rng.integers(1, 4, 200)]
    settings, _, _ = settings_from(written(frame, tmp_path))
    assert settings.data.alternatives == {"1": "choice1", "2": "choice2", "3": "choice3"}
    assert settings.data.guesses == ()
    assert set(settings.data.attributes) == {"price", "size"}
    assert "hsg2" in settings.data.covariates


def test_money_of_single_alternatives_is_one_attribute(tmp_path):
    frame = survey().rename(columns={"CostPT": "MarginalCostPT", "CostCar": "CostCarCHF"})
    settings, _, _ = settings_from(written(frame, tmp_path))
    cost = settings.data.attributes["MarginalCost"].column
    assert cost == {"PT": "MarginalCostPT", "Car": "CostCarCHF"}


def test_suggested_signs_name_no_clock_times_stays_or_absent_attributes(tmp_path):
    table = made_up.mode_choice()
    modes = ("car", "bus", "air", "rail")
    names = {f"time_{m}": f"depTime_{m}" for m in modes} | {f"cost_{m}": f"stay_{m}" for m in modes}
    path = written(table.rename(columns=names), tmp_path)
    settings, _, _ = settings_from(path)
    text = guess_settings(path)
    assert not {"depTime", "stay", "COST"} & set(settings.structure.signs)
    assert "COST" not in text


@pytest.mark.parametrize("slip", ["3x", "l", "2024-01-02", "25:99", "0,0", "\\\\"])
def test_a_typing_error_among_codes_is_a_level_that_a_common_one_takes_in(tmp_path, slip):
    table = made_up.mode_choice()
    table["purpose"] = np.random.default_rng(0).integers(1, 5, len(table)).astype(object)
    table.loc[3, "purpose"] = slip
    _, data, _ = settings_from(written(table, tmp_path))
    assert data.n_situations == len(table)
    assert len(data.covariates["purpose"].levels) == 4


def glued(n=200):
    """Fishing trips: a letter before each alternative, and what the chosen one costs."""
    rng = np.random.default_rng(7)
    names = np.array(["pier", "boat", "shore"])
    frame = {f"{a}{j}": rng.uniform(1, 50, n).round(2) for a in "pc" for j in names}
    value = rng.gumbel(size=(3, n)) - 0.1 * np.array([frame[f"p{j}"] for j in names])
    picked = value.argmax(axis=0)
    frame["mode"] = names[picked]
    for a, name in (("p", "price"), ("c", "catch")):
        each = np.array([frame[f"{a}{j}"] for j in names])
        frame[name] = each[picked, np.arange(n)]
    return pd.DataFrame(frame | {"income": rng.uniform(10, 99, n).round(1)})


def test_alternatives_without_a_separator_are_found_by_what_the_choice_holds(tmp_path):
    path = tmp_path / "fishing.csv"
    glued().to_csv(path, index=False)
    text = guess_settings(path)
    data = tomllib.loads(text)["data"]
    assert data["choice"] == "mode"
    assert data["alternatives"] == {"pier": "pier", "boat": "boat", "shore": "shore"}
    assert data["attributes"] == {"price": "p{alt}", "catch": "c{alt}"}
    assert tomllib.loads(text)["structure"]["signs"] == {"price": "-"}


def test_an_attribute_of_the_chosen_alternative_is_no_covariate(tmp_path):
    path = tmp_path / "fishing.csv"
    frame = glued().rename(columns={"price": "paid"})
    frame.to_csv(path, index=False)
    text = guess_settings(path)
    settings = tomllib.loads(text)
    assert list(settings["data"]["covariates"]) == ["income"]
    assert "#   paid: p of the chosen alternative: it would explain the choice by" in text
    # As soon as it differs in a few rows it may be anything.
    frame.loc[:3, "paid"] += 5
    frame.to_csv(path, index=False)
    assert "paid" in tomllib.loads(guess_settings(path))["data"]["covariates"]


def test_what_numbers_the_purchases_of_a_household_is_no_person():
    rng = np.random.default_rng(1)
    household = np.repeat(np.arange(60), rng.integers(1, 9, 60))
    number = pd.Series(household).groupby(household).cumcount() + 1
    for name in ("hid", "id2", "person"):
        columns = profiles(pd.DataFrame({"id": number, name: household + 7}))
        assert find_person(columns, None, {}).value == name


def test_other_spellings_of_an_alternative_are_no_alternatives(tmp_path):
    frame = glued(300).drop(columns=["price", "catch"])
    frame.columns = [c if c in ("mode", "income") else f"{c[0]}_{c[1:]}" for c in frame]
    odd = frame["mode"].where(frame.index % 9 > 0, frame["mode"].str.upper() + " ")
    settings, data, _ = settings_from(written(frame.assign(mode=odd), tmp_path))
    names = {"pier": "pier", "boat": "boat", "shore": "shore"}
    assert settings.data.alternatives == names
    assert settings.data.guesses == ()
    assert data.n_situations == len(frame)


def test_other_spellings_of_an_alternative_of_a_long_table_are_none(tmp_path):
    table = pd.read_csv(MODE_CHOICE, sep=";", skipinitialspace=True)
    names = table["mode"].map({1: "air", 2: "train", 3: "bus", 4: "car"})
    table["mode"] = names.where(np.arange(len(table)) % 11 > 0, " " + names.str.title())
    settings, data, _ = settings_from(written(table, tmp_path))
    assert set(settings.data.alternatives) == {"air", "train", "bus", "car"}
    assert len(data.alternatives) == 4


def parking(codes, alternatives):
    """A survey whose columns have signs in their names, and whose choice says more than a name."""
    rng = np.random.default_rng(1)
    table = {"Resp": np.repeat(np.arange(40), 5), "Chosen parking": rng.choice(codes, 200)}
    for name in alternatives:
        table[f"Fee {name} [EUR]"] = rng.integers(0, 5, 200)
        table[f"search-time.{name}"] = rng.integers(1, 20, 200)
    return pd.DataFrame(table)


@pytest.mark.parametrize("alternatives", [["street", "garage", "lot"], ["lot", "garage", "street"]])
def test_codes_with_the_name_of_an_alternative_in_them_are_sure(alternatives):
    roles = roles_of(parking(["On street", "garage (P+R)", "priv. lot"], alternatives))
    assert roles.alternatives == {
        "street": "On street",
        "garage": "garage (P+R)",
        "lot": "priv. lot",
    }
    assert roles.findings["alternatives"].value == "word"
    assert roles.findings["alternatives"].confidence >= 0.8
    assert [a.name for a in roles.attributes] == ["Fee_EUR", "search_time"]


def test_codes_with_the_name_of_two_alternatives_or_of_none_are_a_guess():
    for codes in (["street lot", "big garage", "a lot"], ["On street", "covered", "priv. lot"]):
        roles = roles_of(parking(codes, ["street", "garage", "lot"]))
        assert roles.findings["alternatives"].value == "order"
        assert roles.findings["alternatives"].confidence < 0.8


def test_attributes_have_names_that_terms_and_scenarios_take_without_quotes(tmp_path):
    table = parking(["On street", "garage (P+R)", "priv. lot"], ["street", "garage", "lot"])
    _, data, _ = settings_from(written(table, tmp_path))
    result = ac.fit_mnl(data, "street: ASC\ngarage: ASC\n*: Fee_EUR + search_time")
    assert len(result.scenario("street: Fee_EUR + 1", "lot: search_time * 2").changes) == 2


def test_a_level_that_is_always_that_of_one_mode_is_left_to_its_constant(tmp_path):
    rng, n = np.random.default_rng(0), 600
    frame = pd.DataFrame({f"time_{m}": rng.uniform(5, 60, n).round(1) for m in ("bus", "car")})
    frame["fuel_car"] = rng.choice(["diesel", "electric", "petrol"], n)
    frame["fuel_bus"] = "none"
    value = -0.08 * frame[["time_bus", "time_car"]].to_numpy() + rng.gumbel(size=(n, 2))
    value[:, 1] += 1.5 * (frame["fuel_car"] == "electric")
    frame["choice"] = np.array(["bus", "car"])[value.argmax(axis=1)]
    path = written(frame, tmp_path)
    settings, data, space = settings_from(path)
    assert settings.data.attributes["fuel"].column == {"car": "fuel_car"}
    assert "bus is always none, as its constant says" in unwrapped(guess_settings(path))
    # Else the level and the constant of the bus could not be told apart, after the whole search.
    assert "car: fuel" in map(str, ac.specify(data, space).specification.terms)

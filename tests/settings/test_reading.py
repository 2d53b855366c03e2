"""A study file is read, or every mistake in it is told with its place."""

import os

import pytest
from settings_support import STUDY, write_study

import ardchoice as ac
from ardchoice.errors import SettingsError
from ardchoice.settings import StudySettings, parse_settings, read_settings


def told(text, **changes):
    """The mistakes of a text, as (line, key, message)."""
    with pytest.raises(SettingsError) as caught:
        parse_settings(text, **changes)
    return [(m.line, m.key, m.message) for m in caught.value.mistakes]


def changed(*pairs):
    text = STUDY
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def test_a_file_becomes_settings_and_objects(tmp_path):
    path = write_study(tmp_path)
    settings = read_settings(path)
    data = settings.read_choices(tmp_path)
    assert data.alternatives == ("TRAIN", "SM", "CAR")
    assert [data.alternatives[j] for j in data.attributes["HE"].alternatives] == ["TRAIN", "SM"]
    assert data.covariates["AGE"].levels == ("young", "old")
    assert data.covariates["income"].levels == ("none", "some", "much")
    space = settings.make_space(data)
    assert space.base == "CAR"
    assert "TRAIN: segments(TT, 4)" in map(str, space)
    assert "TRAIN: sqrt(TT)" in map(str, space)
    assert settings.make_structure() == ac.Structure(signs={"TT": "-", "CO": "-"})
    assert settings.make_solver() == ac.Newton()
    assert settings.make_rule() == ac.Bic()
    assert settings.output.compare == {"plain": "TRAIN: ASC + TT\nCAR: TT"}


def test_every_mistake_is_told_at_once_with_line_key_and_the_nearest_name():
    text = changed(
        ('person = "ID"', 'persn = "ID"'),
        ('kind = "numeric"', 'kind = "number"'),
        ("edges = [2, 3]", "edges = [3, 2]"),
        ('by = ["GA", "AGE"]', 'by = ["GA", "AEG"]\ndepth = "two"'),
        ('base = "CAR"', 'base = "car"'),
        ("sqrt(TT)", "sqrt(TTT)"),
        ('TT = "-"', 'TX = "-"'),
        ('posterior = "diagonal"', "batches = 3"),
        ('rule = "bic"', 'rule = "bik"'),
    )
    found = {(line, ".".join(map(str, key))): message for line, key, message in told(text)}
    expected = {
        (7, "data.persn"): "Did you mean 'person'",
        (17, "data.attributes.CO.kind"): "numeric",
        (23, "data.covariates.income"): "ascend",
        (28, "space.by.1"): "Did you mean 'AGE'",
        (29, "space.depth"): "whole number is wanted here, not the text 'two'",
        (30, "space.base"): "Did you mean 'CAR'",
        (31, "space.add"): "'TTT'",
        (34, "structure.signs.TX"): "no attribute 'TX'",
        (37, "solver.batches"): "There are: method, posterior, max_passes, start",
        (40, "selection.rule"): "Did you mean 'bic'",
    }
    assert set(found) == set(expected)
    for place, words in expected.items():
        assert words in found[place]


def test_lines_are_told_in_the_order_of_the_file():
    lines = [
        line for line, _, _ in told(changed(('choice = "CHOICE"', ""), ('TT = "-"', 'TTT = "-"')))
    ]
    assert lines == sorted(lines)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a == 1", 1, "a value is wanted here"),
        ("x = 1\nchoice = CHOICE", 2, 'text stands in quotes: "CHOICE"'),
        ("x = True", 1, "write true"),
        ("x = 1\n\ny = [1,\n", 3, "a value is wanted"),
        ('x = "a', 1, "second quote is missing"),
        ("x = 'a", 1, "second quote is missing"),
        ("x = 1\nx = 2\n", 2, "set twice"),
        ("[data]\n[data]\n", 2, "set twice"),
        ("x = 1 y = 2", 1, "left over"),
        ("[data\nx = 1", 1, "closed by ']'"),
        ("x", 1, "followed by '='"),
        ("x = {a = 1", 1, "'}' is missing"),
        ('x = "C:\\data"', 1, "backslash"),
        ("x = \x00", 1, "a value is wanted"),
    ],
)
def test_a_slip_of_toml_is_told_in_plain_words_with_line_and_column(text, line, words):
    [(where, key, message)] = told(text)
    assert (where, key) == (line, ())
    assert words in message
    assert message.startswith("column ")


@pytest.mark.parametrize("text", ["x = " + "9" * 5000, "x = " + "[" * 5000])
def test_what_tomllib_itself_gives_up_on_is_a_mistake_too(text):
    assert len(told(text)) == 1


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('table = "swissmetro.csv"', "table = 5", "text in quotes is wanted here, not 5"),
        ('layout = "wide"', 'layout = "wild"', "Did you mean 'wide'"),
        ("drop_invalid = true", 'drop_invalid = "yes"', "true or false is wanted"),
        ("SM = 2", "SM = 1", "the same code"),
        ("SM = 2", "SM = [2]", "a name or a code"),
        ('by = ["GA", "AGE"]', 'by = ["GA", "GA"]', "listed twice"),
        ('by = ["GA", "AGE"]', "by = {}", "a list in square brackets"),
        ('"log1p"', '"lgo1p"', "Did you mean 'log1p'"),
        ('"log1p"', "3", "is text, not 3"),
        ('"linear", "log1p", "segments( 4 )"', "", "empty"),
        ('signs = { TT = "-", CO = "-" }', 'signs = "-"', "or a table attribute"),
        ('CO = "-"', 'CO = "minus"', "there is no 'minus' here"),
        ('posterior = "diagonal"', "max_passes = 0", "at least 1"),
        ('posterior = "diagonal"', "start = nan", "finite"),
        ('posterior = "diagonal"', 'method = "newtn"', "Did you mean 'newton'"),
        (
            'posterior = "diagonal"',
            'posterior = "diagonal"\nheredity = true',
            "belongs in [structure]",
        ),
        ('exports = ["biogeme"]', 'exports = ["bigeme"]', "Did you mean 'biogeme'"),
        ('exports = ["biogeme"]', "folds = 1", "0 for none"),
        ("TRAIN: ASC + TT\n", "TRAIN: ASC + * TT\n", "expected"),
        ("TRAIN: ASC + TT\n", "TRAIN: ASC + TT x GAA\n", "no covariate 'GAA'"),
        ('GA = { kind = "categorical" }', 'GA = { kind = "numeric", levels = [1] }', "belongs to"),
        ('GA = { kind = "categorical" }', 'GA = { kind = "cut" }', "either edges"),
        ('GA = { kind = "categorical" }', "GA = 3", "a column or a table"),
        ('"{alt}_AV"', '"AV"', "no '{alt}' in it"),
        ('SM = "SM_HE"', 'BUS = "SM_HE"', "BUS"),
        ('add = ["TRAIN: sqrt(TT)"]', 'remove = ["TRAIN sqrt"]', "not a pattern"),
        ("[structure]", "[structure]\nrules = false", "no rules at all"),
        ('choice = "CHOICE"', 'choice = "CHOICE"\nchosen = "x"', "not for the layout 'wide'"),
        ('WHO = "WHO"', 'TT = "WHO"', "both an attribute and a covariate"),
        ("[space]", "[spaces]", "Did you mean 'space'"),
        ("[selection]", "[selection]\ngamma = 1", "no key 'gamma'"),
    ],
)
def test_a_wrong_value_is_explained(old, new, words):
    messages = [message for _, _, message in told(changed((old, new)))]
    assert any(words in message for message in messages), messages


def test_what_was_misspelt_is_not_also_said_to_be_unknown_elsewhere():
    assert len(told(changed(('AGE = { missing = "none",', "AGE = { missing = 3,")))) == 1
    assert len(told(changed(("TRAIN = 1\n", "TRAIN = []\n")))) == 1


def test_a_long_layout_needs_its_own_roles():
    keys = {key for _, key, _ in told('[data]\nlayout = "long"\nattributes = ["x"]')}
    assert keys == {("data", k) for k in ("table", "situation", "alternative", "chosen")}


def test_files_that_are_no_study_files_are_refused(tmp_path):
    with pytest.raises(ac.ArdchoiceError, match="no study file"):
        read_settings(tmp_path / "study.toml")
    (tmp_path / "study.toml").write_bytes(b"[data]\nx = '\xff\xfe'")
    with pytest.raises(SettingsError, match=r"line 2: is not UTF-8"):
        read_settings(tmp_path / "study.toml")
    with pytest.raises(ac.ArdchoiceError, match=r"Did you mean 'study.toml'"):
        read_settings(tmp_path / "stdy.toml")
    with pytest.raises(ac.ArdchoiceError, match="is a folder"):
        read_settings(tmp_path)
    (tmp_path / "study.toml").write_bytes(b"")
    with pytest.raises(SettingsError, match="nothing in it"):
        read_settings(tmp_path / "study.toml")
    (tmp_path / "study.toml").write_bytes(b"#" * 6_000_000)
    with pytest.raises(SettingsError, match="no study file"):
        read_settings(tmp_path / "study.toml")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_no_study_file(tmp_path):
    os.mkfifo(tmp_path / "study.toml")
    with pytest.raises(ac.ArdchoiceError, match="is not a file but a pipe"):
        read_settings(tmp_path / "study.toml")


def test_a_byte_order_mark_is_no_mistake(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8-sig")
    assert read_settings(tmp_path / "study.toml") == parse_settings(STUDY)


def test_columns_that_are_not_in_the_table_are_told_at_once(tmp_path):
    write_study(tmp_path, 20)
    text = changed(('"CHOICE"', '"CHOICES"'), ('"{alt}_TT"', '"{alt}_TIME"'), ('"WHO"', '"WOH"'))
    with pytest.raises(SettingsError) as caught:
        parse_settings(text).read_choices(tmp_path)
    keys = [m.key for m in caught.value.mistakes]
    assert keys == [("data", "choice"), ("data", "covariates", "WHO"), ("data", "attributes", "TT")]
    assert "Did you mean 'WHO'" in str(caught.value)


def test_settings_of_a_data_frame_say_that_a_file_must_be_named():
    with pytest.raises(SettingsError, match=r"data\.table: there is no table"):
        StudySettings().read_choices()


def test_defaults_are_those_of_the_python_objects():
    settings = StudySettings()
    assert settings.make_structure() == ac.Structure(signs="recognised")
    assert settings.space.generic is True
    assert settings.make_solver() == ac.Newton()
    assert settings.make_rule() == ac.Ebic()
    solvers = {"newton": ac.Newton(), "dsvi": ac.Dsvi(), "dsvi-paper": ac.Dsvi.paper()}
    for method, solver in solvers.items():
        assert parsed("solver", method=method).make_solver() == solver
    rules = {
        "bic": ac.Bic(),
        "held-out": ac.HeldOut(),
        "lambda-above": ac.LambdaAbove(),
        "evidence": ac.Evidence(),
        "false-discovery": ac.FalseDiscovery(),
    }
    for name, rule in rules.items():
        assert parsed("selection", rule=name).make_rule() == rule


def parsed(section, **keys):
    return StudySettings.model_validate({section: keys})


def test_a_file_with_thousands_of_mistakes_is_told_the_first_of_them():
    head = "[data]\ntable = 't.csv'\nchoice = 'c'\nalternatives = ['a', 'b']\ncovariates = ['q']\n"
    keys = "".join(f"k{i} = 1\n" for i in range(20_000))
    names = "[space]\nby = [" + ", ".join(f"'n{i}'" for i in range(20_000)) + "]\n"
    for text in (head + keys, head + names, "".join(f"[k{i}]\n" for i in range(20_000))):
        with pytest.raises(SettingsError, match="and 70 more") as caught:
            parse_settings(text)
        assert len(caught.value.mistakes) == 100

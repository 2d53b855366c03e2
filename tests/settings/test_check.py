"""`check_study` tells what is in the data, what is wrong, the size of the space and the time."""

import pytest
from settings_support import STUDY, write_study

import ardchoice as ac
from ardchoice.settings import check_study, read_settings
from ardchoice.settings.check import OVERHEAD_SECONDS, RUN_PASSES, _seconds, measure


@pytest.fixture
def path(tmp_path):
    return write_study(tmp_path)


def change(path, *pairs):
    text = STUDY
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def test_a_good_study_is_told_in_80_columns(path):
    text = check_study(path)
    assert max(map(len, text.split("\n"))) <= 80
    for part in ("900 choice situations", "what could matter", "all", "how long it may take"):
        assert part in text
    assert "exists already" not in text
    (path.parent / "results").mkdir()
    assert "--force" in check_study(path)


def test_mistakes_of_the_file_and_columns_that_are_missing_are_told_together(path):
    change(
        path,
        ('choice = "CHOICE"', 'choice = "CHOISE"'),
        ('"WHO"', '"WOH"'),
        ('rule = "bic"', 'rule = "bci"'),
        ('base = "CAR"', 'base = "Car"'),
    )
    with pytest.raises(ac.SettingsError) as caught:
        check_study(path)
    told = [(m.line, m.key[-1]) for m in caught.value.mistakes]
    assert told == [(5, "choice"), (24, "WHO"), (29, "base"), (39, "rule")]


def test_a_table_that_is_not_there_is_told_with_its_line(path):
    change(path, ("swissmetro.csv", "swissmetre.csv"))
    with pytest.raises(ac.SettingsError, match=r"line 3, data\.table: .* mean 'swissmetro.csv'"):
        check_study(path)


def test_rules_that_contradict_and_comparisons_that_cannot_be_are_told_together(path):
    change(
        path,
        ("[structure]", '[structure]\nforce = ["TRAIN: TT"]\nforbid = ["TRAIN: TT"]'),
        ("TRAIN: ASC + TT\n", "TRAIN: ASC + log(TT)\nCAR: HE\n"),
    )
    with pytest.raises(ac.SettingsError) as caught:
        check_study(path)
    assert [m.key for m in caught.value.mistakes] == [
        ("structure",),
        ("output", "compare", "plain"),
    ]
    assert all(m.line for m in caught.value.mistakes)


def test_comparisons_that_could_only_fail_after_the_search_are_told_before(path):
    change(path, ("TRAIN: ASC + TT\n", "TRAIN: ASC\nSM: ASC\nCAR: ASC\n"))
    with pytest.raises(
        ac.SettingsError, match=r"(?s)output\.compare\.plain: .*only differences count"
    ):
        check_study(path)
    change(path, ("plain = ", '"plain linear" = '))
    with pytest.raises(ac.SettingsError, match="always shown; choose another"):
        check_study(path)


def test_what_is_wrong_with_the_data_is_told(path):
    table = (path.parent / "swissmetro.csv").read_text().replace("\n2,0,1,1,", "\n2,0,1,,", 1)
    assert table != (path.parent / "swissmetro.csv").read_text()
    (path.parent / "swissmetro.csv").write_text(table)
    change(path, ("drop_invalid = true", "drop_invalid = false"))
    with pytest.raises(ac.DataError, match="person id"):
        check_study(path)


def test_a_run_takes_as_many_passes_as_are_said(path):
    settings = read_settings(path)
    data = settings.read_choices(path.parent)
    space = settings.make_space(data)
    took = measure(data, space)
    assert took.low == pytest.approx(OVERHEAD_SECONDS + RUN_PASSES[0] * took.one_pass)
    assert took.high == pytest.approx(OVERHEAD_SECONDS + RUN_PASSES[1] * took.one_pass)
    assert 0 < took.one_pass < took.low < took.high


def test_repeated_searches_and_slow_solvers_are_mentioned(path):
    change(
        path,
        ('rule = "bic"', 'rule = "held-out"'),
        ('exports = ["biogeme"]', "stability_pairs = 5\nsearch_in_folds = true"),
        ('posterior = "diagonal"', 'method = "dsvi"'),
    )
    text = " ".join(check_study(path).split())
    for part in (
        "5 folds 4 times",
        "repeated in 5 folds",
        "5 pairs of halves",
        "many times longer",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0123, "12 ms"), (0.5, "0.5 s"), (42.1, "42 s"), (600, "10 min"), (9000, "2.5 hours")],
)
def test_times_are_written_shortly(seconds, text):
    assert _seconds(seconds) == text


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ('family = "nested"\nnests = { land = ["TRAIN", "CARR"] }', "Did you mean 'CAR'"),
        ('family = "latent"\nclasses = 2\nmembership = ["GAA"]', "Did you mean 'GA'"),
        ('family = "latent"\nclasses = 2\nshared = ["TRAIN: TTT"]', "'TRAIN: TTT' is no candidate"),
        ('family = "mixed"\nrandom = { "*: COST" = "normal" }', "'\\*: COST' is no term"),
        ('family = "mixed"\nspace = "wtp"\ncost = "HE"', "'\\*: HE' is not among the candidate"),
    ],
)
def test_options_of_a_family_that_fit_no_candidate_are_told_before_a_run(path, model, problem):
    path.write_text(f"{STUDY}\n[model]\n{model}\n", encoding="utf-8")
    with pytest.raises(ac.SettingsError, match=f"model: .*{problem}"):
        check_study(path)


@pytest.mark.parametrize("family", ["mixed", "latent", "auto"])
def test_a_family_of_differences_between_persons_needs_persons(path, family):
    model = f'\n[model]\nfamily = "{family}"\n'
    path.write_text(STUDY + model, encoding="utf-8")
    assert "more than once" not in check_study(path)
    path.write_text(STUDY.replace('person = "ID"\n', "") + model, encoding="utf-8")
    text = check_study(path)
    assert "nobody answers more than once here" in text
    assert 'person = "..."' in text
    assert max(map(len, text.split("\n"))) <= 80

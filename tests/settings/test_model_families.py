"""`[model]` of a study file: every family with its options, there and back."""

from __future__ import annotations

import pytest

import ardchoice as ac
from ardchoice.errors import SettingsError
from ardchoice.families import Family
from ardchoice.settings import parse_settings, to_toml

DATA = """
[data]
table = "t.csv"
choice = "c"
person = "who"
alternatives = ["a", "b", "c"]
[data.attributes]
x = "{alt}_x"
[model]
"""
FAMILIES: list[tuple[str, Family | str]] = [
    ('family = "mnl"', ac.Mnl()),
    ('family = "nested"', ac.Nested(None)),
    (
        'family = "nested"\nequal = true\n[model.nests]\nab = ["a", "b"]',
        ac.Nested({"ab": ["a", "b"]}, equal=True),
    ),
    (
        'family = "nested"\ncross = true\n[model.nests]\none = ["a", "b"]\ntwo = ["b", "c"]\n'
        "[model.allocation]\nb = { one = 0.4, two = 0.6 }",
        ac.Nested(
            {"one": ["a", "b"], "two": ["b", "c"]},
            cross=True,
            allocation={"b": {"one": 0.4, "two": 0.6}},
        ),
    ),
    ('family = "latent"\nmembership = "auto"', ac.LatentClass(None, membership="auto")),
    (
        'family = "latent"\nclasses = 3\nmembership = ["g"]\nshared = ["*: x"]\nstarts = 12',
        ac.LatentClass(3, membership=["g"], shared=["*: x"], starts=12),
    ),
    (
        'family = "latent"\nclasses = 2\nabsent = { 1 = ["*: x"] }',
        ac.LatentClass(2, absent={"1": ["*: x"]}),
    ),
    (
        'family = "mixed"\ncorrelated = true\nrandom = { "*: x" = "normal", "a: ASC" = "normal" }',
        ac.Mixed({"*: x": "normal", "a: ASC": "normal"}, correlated=True),
    ),
    ('family = "auto"', "auto"),
]


@pytest.mark.parametrize(("text", "family"), FAMILIES)
def test_a_family_is_read_and_written(text: str, family: Family | str) -> None:
    settings = parse_settings(DATA + text, complete=False)
    assert settings.make_family() == family
    again = parse_settings(to_toml(settings), complete=False)
    assert again.make_family() == family


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('family = "nestet"', "Did you mean 'nested'?"),
        ('family = "latent"\nclases = 3', "line 11, model.clases: .* Did you mean 'classes'?"),
        ('family = "nested"\nnests = ["a", "b"]', "model.nests: a table is wanted here"),
        ('family = "latent"\nclasses = "many"', "model.classes: a whole number is wanted here"),
    ],
)
def test_mistakes_are_named(text: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        parse_settings(DATA + text, complete=False)


def test_draws_of_other_packages_are_nodes_here() -> None:
    with pytest.raises(SettingsError, match=r"no key 'draws' here: .* nodes = 64"):
        parse_settings(DATA + 'family = "mixed"\ndraws = 500', complete=False)

"""Every key is found on its line."""

import tomllib

import pytest

from ardchoice.settings.lines import key_lines, line_of

TEXT = r"""# a comment with [brackets] and "quotes"

top = 1
[a]
  b = "x # no comment"   # a comment = 5
c.d = QQQ
[not.a.section]
x = "5" \"\"\"
QQQ
e = [
  1, # one, two ]
  [2, 3],
  { f = "]", g = [4,
     5] },
]
"odd key \u00e9" = 'it is'
[ a . "x.y" ]
z = 1979-05-27 07:32:00
[[many]]
k = 1
[many.inner]
l = 2
[[many]]
k = MMM
twoMMM
last = {}
""".replace("QQQ", '"' * 3).replace("MMM", "'" * 3)

WHERE = {
    ("top",): 3,
    ("a",): 4,
    ("a", "b"): 5,
    ("a", "c"): 6,
    ("a", "c", "d"): 6,
    ("a", "e"): 10,
    ("a", "e", 0): 11,
    ("a", "e", 1): 12,
    ("a", "e", 1, 1): 12,
    ("a", "e", 2, "f"): 13,
    ("a", "e", 2, "g", 1): 14,
    ("a", "odd key é"): 16,
    ("a", "x.y"): 17,
    ("a", "x.y", "z"): 18,
    ("many",): 19,
    ("many", 0): 19,
    ("many", 0, "k"): 20,
    ("many", 0, "inner", "l"): 22,
    ("many", 1): 23,
    ("many", 1, "k"): 24,
    ("many", 1, "last"): 26,
}


def keys_of(value, path=()):
    """Every key and entry of what a TOML text says."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for name, one in inside:
        yield (*path, name)
        if isinstance(one, (dict, list)):
            yield from keys_of(one, (*path, name))


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_every_key_is_found_on_its_line(ends):
    lines = key_lines(TEXT.replace("\n", ends))
    assert {key: lines.get(key) for key in WHERE} == WHERE
    assert set(lines) == set(keys_of(tomllib.loads(TEXT)))


def test_a_key_that_is_not_there_is_told_with_the_section_that_would_hold_it():
    lines = key_lines(TEXT)
    assert line_of(lines, ("a", "nowhere")) == 4
    assert line_of(lines, ("nowhere",)) is None


@pytest.mark.parametrize(
    "text", ["a = [1, 2", "a = {b", "a", '"a', "[[", "[a", "a = '", "]", "a = [}", '"\\q" = 1']
)
def test_a_text_that_is_no_toml_ends_the_scan(text):
    assert key_lines("x = 1\n" + text)["x",] == 1

"""Any text makes a legal name, and a literal that stands for that text alone."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

from hostile_model import LEVELS, NAMES
from hypothesis import given, settings
from hypothesis import strategies as st
from test_apollo import RSCRIPT, needs_r

from ardchoice.exports.names import RESERVED, Names, words
from ardchoice.exports.quoting import one_line, python, r, tex


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(), unique=True))
def test_different_texts_make_different_words(texts: list[str]) -> None:
    made = words(texts, "X")
    assert len(set(made.values())) == len(texts)
    assert all(re.fullmatch(r"[A-Z0-9_]+", word) for word in made.values())


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(["A", "A_2", "1", "T", "CHOICE", "A_2_2", "a"])))
def test_no_name_is_given_twice_or_is_taken(parts: list[str]) -> None:
    names = Names()
    made = [names.new(part.upper()) for part in parts]
    assert len(set(made)) == len(made)
    assert not set(made) & RESERVED
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]*", name) for name in made)


nested = st.recursive(
    st.none() | st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
)


@settings(deadline=None, max_examples=60)
@given(nested)
def test_a_python_literal_reads_back_to_the_same(value: object) -> None:
    literal = python(value)
    assert ast.literal_eval(literal) == value
    assert "\n" not in literal


@settings(deadline=None, max_examples=60)
@given(st.text())
def test_a_comment_stays_on_its_line_and_shows_all_it_holds(text: str) -> None:
    line = one_line(text)
    assert line.isprintable()
    assert line.splitlines() in ([line], [])


@settings(deadline=None, max_examples=60)
@given(st.text())
def test_latex_of_a_text_has_no_command_but_ours(text: str) -> None:
    ours = r"\\text\w+\{\}|\\[{}$&#%_]|\{-\}"
    assert not re.search(r"[\\{}$&#%_^~]", re.sub(ours, "", tex(text)))


@needs_r
def test_an_r_literal_is_the_text(tmp_path: Path) -> None:
    texts = [*NAMES, *LEVELS, "\t\r\n\x0b\x7f\x85\u2028", "\U0001f686", "%s %d"]
    lines = [f"cat(utf8ToInt(enc2utf8({r(text)})), '\\n')" for text in texts]
    script = tmp_path / "texts.R"
    script.write_text("\n".join(lines), encoding="ascii")
    done = subprocess.run([str(RSCRIPT), str(script)], capture_output=True, text=True, check=True)
    shown = [[int(code) for code in line.split()] for line in done.stdout.splitlines()]
    assert shown == [[ord(c) for c in text] for text in texts]

"""Mutated scripts end in a model or a clear error, and nothing of them is executed."""

from __future__ import annotations

import os
import random
import re
import sys
import threading
import time
from pathlib import Path

import pytest
from export_models import MODECHOICE_SPECIFICATION, modechoice
from foreign_scripts import APOLLO, BIOGEME, BIOGEME_DATA, PYLOGIT, XLOGIT

import ardchoice as ac

COUNT = int(os.environ.get("ARDCHOICE_MUTATED_SCRIPTS", "1000"))
"""How many; 1,000 take about ten seconds."""
SLOWEST = 5.0
"""Seconds that one script may take; most take hundredths of one."""
HARMFUL = (
    "__import__('os').system('touch harm')",
    "open('harm', 'w').write('x')",
    'eval(\'open("harm", "w")\')',
    "exec('import os')",
    "().__class__.__base__.__subclasses__()",
    "pd.read_pickle('harm.pkl')",
    "import harm",
    "system('touch harm')",
    "source('harm.R')",
    "9 ** 9 ** 9 ** 9",
    "'x' * 10 ** 9",
    "[0] * 10 ** 9",
    "while True: pass",
    "def f(): return f()\nf()",
    "for i in range(10 ** 9): pass",
    "x = x + x",
    "database.remove(database)",
    "V[['a']] = V",
    "V = {1: V}",
)
NOISE = ("(", ")", "[", "]", "{", "}", ",", "=", "==", "*", "**", "/", ":", "'", '"', "\\", "\n",
         "None", "-", "<-", "$", "%", "@", "lambda: 0", "\x00", "é", "1e999", "0", "NA", "NULL",
         "_", ".", "#", "if", "else", "not", "in", "def", "return", "function(", "~")  # fmt: skip
EVENTS = ("exec", "os.", "subprocess.", "socket.", "shutil.", "pickle.", "ctypes.")
seen: list[str] = []
watching = 0
"""The thread that is watched."""


def watch(event: str, arguments: tuple[object, ...]) -> None:
    """What Python did while a script was read, and not what other tests' threads go on with."""
    if watching != threading.get_ident():
        return
    if arguments[:1] == ("<unknown>",):
        return  # Python looks for the line of a syntax error
    if event.startswith(EVENTS) or event == "open":
        seen.append(f"{event}{arguments!r:.200}")


sys.addaudithook(watch)


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """Package and text of scripts that are read without a doubt."""
    folder = tmp_path_factory.mktemp("scripts")
    both = BIOGEME_DATA + re.sub(r"from swissmetro_data import \([^)]*\)", "", BIOGEME)
    texts = [("biogeme", both), ("pylogit", PYLOGIT), ("xlogit", XLOGIT), ("apollo", APOLLO)]
    result = ac.fit_mnl(modechoice(), MODECHOICE_SPECIFICATION)
    for package in ("biogeme", "xlogit", "apollo"):
        texts.append((package, ac.export(result, package, folder).read_text()))
    for package, text in texts:
        assert not ac.read_specification(text, package=package).not_understood
    return texts


def mutated(text: str, rng: random.Random) -> str:
    """Words exchanged, pieces removed or doubled, or replaced by noise and harm."""
    pieces = re.split(r"(\W)", text)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at, other = rng.randrange(len(pieces)), rng.randrange(len(pieces))
        kind = rng.choice(("word", "word", "word", "cut", "noise", "double", "harm", "line"))
        if kind == "word":
            words = [i for i, piece in enumerate(pieces) if re.fullmatch(r"\w+", piece)]
            pieces[rng.choice(words)] = pieces[rng.choice(words)]
        elif kind == "cut":
            del pieces[at : at + rng.randint(1, 5)]
        elif kind == "noise":
            pieces.insert(at, rng.choice(NOISE))
        elif kind == "double":
            pieces.insert(at, pieces[other])
        else:
            lines = "".join(pieces).split("\n")
            place = rng.randrange(len(lines))
            lines[place : place + (kind == "line")] = (
                [rng.choice(HARMFUL)] if kind == "harm" else []
            )
            pieces = re.split(r"(\W)", "\n".join(lines))
    return "".join(pieces)


def outcome(package: str, text: str) -> ac.ScriptModel | None:
    """A model, or None after an error that says something."""
    global watching
    watching = threading.get_ident()
    started = time.perf_counter()
    try:
        model = ac.read_specification(text + "\n", package=package)
    except ac.SpecificationError as error:
        assert len(str(error)) > 20
        assert len(str(error)) < 4000
        return None
    finally:
        watching = 0
        assert time.perf_counter() - started < SLOWEST
    return model


def test_a_result_or_a_clear_error(
    originals: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = random.Random(7)
    models = 0
    for _ in range(COUNT):
        package, text = rng.choice(originals)
        model = outcome(package, mutated(text, rng))
        if model is not None:
            models += 1
            assert len(model.specification) > 0
            assert all(len(line) <= 80 for line in str(model).splitlines())
    assert models > COUNT / 5
    assert not seen
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("harm", HARMFUL)
def test_harm_in_a_script_is_not_done(
    harm: str, originals: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for package, text in originals[:4]:
        lines = text.strip("\n").split("\n")
        for place in (0, len(lines) // 2, len(lines)):
            outcome(package, "\n".join([*lines[:place], harm, *lines[place:]]))
    assert not seen
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "V = 1\n" * 3,
        "from biogeme.expressions import Beta\n",
        "import biogeme\n" + "(" * 5000 + "\n",
        "import biogeme\nx = " + "-" * 5000 + "1\n",
        "import biogeme\nx = " + "a + " * 5000 + "1\n",
        "import biogeme\nx = " + "[" * 300 + "]" * 300 + "\n",
        "apollo_beta = c(" + "c(" * 500 + "\n",
        "apollo_x = " + "-" * 5000 + "1\n",
        "apollo_x = " + "if (x) " * 5000 + "1\n",
        "apollo_x <- function(x) { " * 400 + "\n",
        "from biogeme.expressions import Beta\nb = Beta('b', 0, None, None, 0)\n"
        + "b = b * b\n" * 30
        + "logit({1: b, 2: 0}, None, c)\n",
        "from biogeme.expressions import Variable, Beta\nx = Variable('x')\n"
        + "x = x + x * x\n" * 40
        + "logit({1: Beta('b', 0, None, None, 0) * x, 2: 0}, None, c)\n",
    ],
)
def test_what_is_no_script_or_explodes_is_refused_or_said(text: str) -> None:
    package = "apollo" if text.startswith("apollo") else "biogeme"
    model = outcome(package, text)
    assert model is None or model.not_understood

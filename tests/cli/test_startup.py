"""What start-up imports, and Ctrl-C at any import of it."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import pytest

import ardchoice as ac

HEAVY_MODULES = ("numpy", "scipy", "pandas", "matplotlib", "pydantic", "rich", "jinja2", "narwhals")
LIST_HEAVY = f"""
import atexit, sys
loaded = lambda: sys.stderr.write(str([m for m in {HEAVY_MODULES} if m in sys.modules]))
atexit.register(loaded)
"""
ENTRY_POINTS = {
    "console script": "from ardchoice.cli import main; main()",
    "python -m": "import runpy; runpy.run_module('ardchoice', run_name='__main__', alter_sys=True)",
}
COMMANDS = (["--help"], ["--version"], ["run", "--help"], ["completion", "bash"])
COMPLETION = {
    "_ARDCHOICE_COMPLETE": "bash_complete",
    "COMP_WORDS": "ardchoice e",
    "COMP_CWORD": "1",
}
# An interruption at the n-th import after the entry point has begun; without n, their number.
INTERRUPT_AT_IMPORT = """
import os, signal, sys
at, entry = int(sys.argv.pop(1)), sys.argv.pop(1)
count = -1
def hook(event, args):
    global count
    if event != "import":
        return
    if count < 0 and args[0] != "ardchoice.cli.app":
        return
    count += 1
    if count == at:
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(hook)
try:
    exec(entry)
finally:
    if at < 0:
        print("imports", count)
"""
TRIES = 24
"""Of each entry point, spread evenly over all imports; `benchmarks/startup.py` tries delays."""


def python(code: str, *words: str, **extra: str) -> subprocess.CompletedProcess[str]:
    import os

    return subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | extra,
    )


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("entry", ENTRY_POINTS.values(), ids=list(ENTRY_POINTS))
def test_light_commands_load_no_numerical_library(entry: str, words: list[str]) -> None:
    done = python(LIST_HEAVY + entry, *words)
    assert (done.returncode, done.stderr) == (0, "[]")
    assert done.stdout


def test_shell_completion_loads_no_numerical_library() -> None:
    done = python(LIST_HEAVY + ENTRY_POINTS["console script"], **COMPLETION)
    assert (done.stdout, done.stderr) == ("plain,export\n", "[]")


def test_importing_the_package_loads_no_numerical_library() -> None:
    done = python(LIST_HEAVY + "import ardchoice; ardchoice.__version__; dir(ardchoice)")
    assert (done.returncode, done.stderr) == (0, "[]")


def test_public_names_are_complete() -> None:
    assert set(ac.__all__) <= set(dir(ac))
    everything: dict[str, object] = {}
    exec("from ardchoice import *", everything)
    for name in ac.__all__:
        assert everything[name] is getattr(ac, name)
    with pytest.raises(AttributeError, match="no attribute 'fit_mln'"):
        ac.fit_mln  # noqa: B018


def test_type_checkers_see_the_same_names() -> None:
    import ast
    from pathlib import Path

    tree = ast.parse(Path(str(ac.__file__)).read_text(encoding="utf-8"))
    seen = {
        alias.asname: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    assert sorted(seen) == ac.__all__
    for name, module in seen.items():
        assert getattr(import_module(str(module)), name) is getattr(ac, name)


@pytest.mark.parametrize("entry", ENTRY_POINTS.values(), ids=list(ENTRY_POINTS))
def test_ctrl_c_at_any_import_ends_with_130_and_no_traceback(entry: str) -> None:
    words = ["check", "no-such-study.toml"]
    count = int(python(INTERRUPT_AT_IMPORT, "-1", entry, *words).stdout.split()[-1])
    assert count > TRIES
    places = [count * i // TRIES for i in range(TRIES)]
    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(lambda n: python(INTERRUPT_AT_IMPORT, str(n), entry, *words), places))
    for done in ends:
        assert done.returncode == 130, done.stderr
        assert "Traceback" not in done.stderr

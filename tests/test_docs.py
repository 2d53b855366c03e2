"""Every block of README and docs runs as it stands, in order, in a folder of its own.

Python blocks are executed. In console blocks, what stands after ``$`` is run by a shell, and every
line shown below it must be among what it prints (``...`` stands for the rest). A TOML block that
begins with ``# study.toml`` is that file. `modechoice.csv` is at hand.
"""

import os
import re
import shutil
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|console|toml)\n(.*?)^```", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# ([\w-]+\.toml)\n")
TABLES = [ROOT / "tests" / "reference" / "modechoice.csv"]
TIMES = re.compile(r"\b(\d+(\.\d+)? s|\d+ min \d+ s)\b")
WIDTH = 80


@dataclass(frozen=True)
class DisplayFrame:
    """A command of a console block, and what the page shows of its output."""

    command: str
    lines: tuple[str, ...]


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def runs(page: Path) -> bool:
    return any(kind != "toml" or FILE.match(text) for kind, text in blocks(page))


def commands(block: str) -> list[DisplayFrame]:
    """Commands may go on after a backslash."""
    made: list[tuple[str, list[str]]] = []
    for line in block.replace("\\\n", " ").splitlines():
        if line.startswith("$ "):
            made.append((line[2:], []))
        elif made and line.strip() not in ("", "..."):
            made[-1][1].append(line)
    return [DisplayFrame(command, tuple(lines)) for command, lines in made]


def without_times(text: str) -> str:
    """Times are not the same twice, nor is the space that they leave."""
    return " ".join(TIMES.sub("_", text).split())


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [p for p in PAGES if runs(p)], ids=name)
def test_blocks_of_the_page_run(
    page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for table in TABLES:
        shutil.copy(table, tmp_path)
    names: dict[str, object] = {}
    for kind, block in blocks(page):
        if kind == "toml":
            found = FILE.match(block)
            if found:
                (tmp_path / found[1]).write_text(block, encoding="utf-8")
        elif kind == "console":
            run_console(block)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # pages may show data with something worth knowing
                exec(compile(block, str(page), "exec"), names)
    # Messages of errors are sentences, for the terminal to wrap; everything else fits.
    shown = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("  1. ")]
    assert max(map(len, shown), default=0) <= WIDTH


def run_console(block: str) -> None:
    """Run every command; what is shown must be printed. ``# exit 3`` says how one ends."""
    scripts = str(Path(sys.executable).parent)
    environment = os.environ | {
        "PATH": scripts + os.pathsep + os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
    }
    for one in commands(block):
        ends = re.search(r"# exit (\d+)$", one.command)
        done = subprocess.run(
            ["bash", "-c", one.command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            timeout=300,
            check=False,
        )
        assert done.returncode == (int(ends[1]) if ends else 0), f"{one.command}\n{done.stdout}"
        printed = without_times(done.stdout)
        for line in one.lines:
            for piece in filter(None, map(without_times, line.split("..."))):
                assert piece in printed, f"{one.command}\nshows: {line}\nprints:\n{done.stdout}"


def test_what_is_shown_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_console("$ echo one; echo two 3.5 s\none\n...\ntwo  12 s\n$ exit 3  # exit 3\n")
    with pytest.raises(AssertionError, match="shows: three"):
        run_console("$ echo one\nthree\n")
    with pytest.raises(AssertionError, match="exit 1"):
        run_console("$ exit 1\n")


def test_the_readme_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.index("make demo") < text.index("## ")
    assert text.index("make test") < text.index("## ")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_console_blocks_fit_a_terminal(page: Path) -> None:
    for kind, block in blocks(page):
        if kind == "console":
            assert max(map(len, block.splitlines())) <= WIDTH


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        links = re.findall(r"\]\(([^)#:]+)", page.read_text(encoding="utf-8"))
        waiting += [(page.parent / link).resolve() for link in links]
    assert not set(PAGES) - seen


def test_shared_coefficients_of_time_and_cost_have_signs_one_can_believe() -> None:
    page = ROOT / "docs" / "howto" / "generic-coefficients.md"
    names: dict[str, object] = {}
    first = next(text for kind, text in blocks(page) if kind == "python")
    exec(compile(first, str(page), "exec"), names)
    estimates = names["result"].estimates  # type: ignore[attr-defined]
    disliked = [name for name in estimates.index if name.split(": ")[1] in ("TT", "CO", "HE")]
    assert len(disliked) == 4
    assert (estimates[disliked] < 0).all()

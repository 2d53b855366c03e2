"""Tables and figures as files: they read back to what they say, and do nothing else."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from ardchoice.report import write_figures, write_tables
from ardchoice.report.document import Table
from ardchoice.report.figures import FIGURES, as_bytes, draw
from ardchoice.report.findings import Findings
from ardchoice.report.latex import escape, latex_table
from ardchoice.report.sections import contents
from ardchoice.report.tables import FORMULA_STARTS as STARTS
from ardchoice.report.tables import strip_control_characters, to_csv
from report.report_support import DOLLAR, FORMULA, SCRIPT, WIDE, hostile_study, plain_study

COMMANDS = re.compile(
    r"\\(text[a-z]+|ensuremath|infty|lambda|rho|chi|leq|geq|bar|dots|begin|end|caption|label|"
    r"toprule|midrule|bottomrule|endhead|endfoot|centering|small|linewidth|usepackage)\b"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables")
    write_tables(plain_study(), path)
    return path


def test_every_table_is_there_twice(folder: Path) -> None:
    names = {t.name for s in contents(Findings(plain_study())) for t in s.tables}
    assert {p.name for p in folder.iterdir()} == {f"{n}.{k}" for n in names for k in ("csv", "tex")}
    assert {"estimates", "relevance", "fit", "heldout", "wtp", "dropped", "selected"} <= names


def test_estimates_come_back_to_the_last_digit(folder: Path) -> None:
    frame = pd.read_csv(folder / "estimates.csv", index_col=0)
    wanted = plain_study().result.to_frame()
    assert list(frame.index) == list(wanted.index)
    assert np.array_equal(frame["estimate"], wanted["estimate"])
    assert np.array_equal(frame["std. error"], wanted["std_err"])
    assert np.array_equal(frame["97.5 %"], wanted["high"])


def test_relevance_comes_back_with_what_is_infinite_or_missing(folder: Path) -> None:
    frame = pd.read_csv(folder / "relevance.csv")
    wanted = plain_study().fit.table()
    assert list(frame["term"]) == list(wanted["term"])
    assert np.array_equal(frame["λ"], wanted["lambda"])
    assert np.array_equal(frame["evidence"], wanted["evidence"], equal_nan=True)


def test_no_cell_is_a_formula() -> None:
    for section in contents(Findings(hostile_study())):
        for table in section.tables:
            text = to_csv(table)
            cells = pd.read_csv(io.StringIO(text), header=None, dtype=str, keep_default_na=False)
            for r, row in enumerate(cells.to_numpy()):
                for c, cell in enumerate(row):
                    raw = table.rows[r - 1][c] if r else table.head[c]
                    if isinstance(raw, str):
                        assert not cell.startswith(STARTS)
    assert strip_control_characters(FORMULA) == f"'{FORMULA}"
    assert [strip_control_characters(t) for t in ("-1", "+1", "@x", "\tx", " =1", "a-1", "1")] == [
        *("'-1", "'+1", "'@x", "'\tx", "' =1", "a-1", "1")
    ]
    assert to_csv(Table("t", "", ["n"], [".1f"], [[-1.5], [None]])) == 'n\n-1.5\n""\n'


@pytest.mark.parametrize("name", [SCRIPT, FORMULA, DOLLAR, WIDE, "a\\b", "--", "?`", "[x]*", "\\"])
def test_latex_takes_nothing_for_its_own(name: str) -> None:
    text = COMMANDS.sub("", escape(name))
    text = re.sub(r"\\[{}$&#_%]", "", text)
    assert "\\" not in text
    assert not set(text) & set("$&#_%^~<>|")
    assert text.count("{") == text.count("}")


def test_latex_tables_have_as_many_cells_as_columns() -> None:
    for study in (plain_study(), hostile_study()):
        for section in contents(Findings(study)):
            for table in section.tables:
                lines = latex_table(table).splitlines()
                rows = [line for line in lines if line.endswith(r" \\") and "caption" not in line]
                assert len(rows) == len(table.rows) + 1
                for row in rows:
                    assert len(re.findall(r"(?<!\\)&", row)) == len(table.head) - 1


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX here")
def test_latex_compiles(folder: Path, tmp_path: Path) -> None:
    inputs = "\n".join(rf"\input{{{p.as_posix()}}}" for p in sorted(folder.glob("*.tex")))
    (tmp_path / "all.tex").write_text(
        "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{booktabs,longtable,textcomp}"
        f"\\begin{{document}}{inputs}\\end{{document}}",
        encoding="utf-8",
    )
    subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        timeout=120,
    )


def test_figures_are_there_in_three_kinds_and_names_in_them_are_text(tmp_path: Path) -> None:
    made = write_figures(hostile_study(), tmp_path)
    heads = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}
    assert set(made) == set(tmp_path.iterdir())
    # This study is a multinomial logit, and compared no families and no scenarios.
    others = ("families", "classes", "tastes", "scenarios")
    drawn = [name for name in FIGURES if name not in others]
    assert {p.name for p in made} == {f"{n}.{k}" for n in drawn for k in heads}
    for path in made:
        assert path.read_bytes().startswith(heads[path.suffix[1:]])
    for path in tmp_path.glob("*.svg"):
        root = ElementTree.fromstring(path.read_bytes())
        assert "script" not in {element.tag.rpartition("}")[2] for element in root.iter()}
    root = ElementTree.fromstring((tmp_path / "relevance.svg").read_bytes())
    text = " ".join("".join(e.itertext()) for e in root.iter("{http://www.w3.org/2000/svg}text"))
    assert "$" in text  # not taken for mathematics
    assert "<script>" in text


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_the_same_study_gives_the_same_figure(kind: str) -> None:
    pictures = [draw("calibration", Findings(plain_study())) for _ in range(2)]
    first, second = (as_bytes(p, kind) for p in pictures if p is not None)
    assert first == second

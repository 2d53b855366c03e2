"""Names and levels that hold anything give scripts that are correct, and that do nothing else."""

from __future__ import annotations

import ast
import keyword
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from export_support import PYTHON, check_scripts, namespace
from hostile_model import ALTERNATIVES, hostile, read, terms
from test_apollo import check as check_apollo
from test_apollo import needs_r

import ardchoice as ac


@pytest.fixture(params=["file", "frame"])
def result(request: pytest.FixtureRequest, tmp_path: Path) -> ac.Result:
    table = hostile()
    if request.param == "file":
        path = tmp_path / "it's \"#\\ odd\n.csv"
        table.to_csv(path, index=False)
        data = read(path)
    else:
        data = read(table)
    return ac.fit_mnl(data, terms())


@pytest.fixture(autouse=True)
def nothing_else_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    yield
    assert not (tmp_path / "canary").exists()


def test_python_scripts_are_correct_and_inert(result: ac.Result, tmp_path: Path) -> None:
    scripts = check_scripts(result, tmp_path)
    for script in scripts.values():
        made = namespace(script)
        names = [name for name in made["EXPECTED"] if name != "log-likelihood"]
        assert len(set(names)) == len(result.names)
        for name in (*names, *made["prepare"]().columns):
            assert re.fullmatch(r"[A-Z][A-Z0-9_]*", name)
            assert not keyword.iskeyword(name)
        assert list(made["ALTERNATIVES"].values()) == ALTERNATIVES


def test_user_text_is_only_ever_a_literal_or_a_comment(result: ac.Result, tmp_path: Path) -> None:
    plain = ac.fit_mnl(read(hostile()), terms())
    for package in PYTHON:
        trees = [
            ast.dump(_without_literals(ac.export(one, package, tmp_path / f"m{i}.py")))
            for i, one in enumerate((plain, result))
        ]
        # The same code whatever the text: only literals differ, and how the table is found.
        assert trees[0].count("Call(") == pytest.approx(trees[1].count("Call("), abs=2)
        text = (tmp_path / "m1.py").read_text(encoding="utf-8")
        assert not re.search(r"coding[:=]", "\n".join(text.splitlines()[:2]))
        assert all(c.isprintable() or c == "\n" for c in text)


def _without_literals(script: Path) -> ast.AST:
    tree = ast.parse(script.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.value = None
    return tree


@needs_r
def test_r_scripts_are_correct_and_inert(result: ac.Result, tmp_path: Path) -> None:
    text = check_apollo(result, tmp_path)
    assert text.isascii()
    assert all(c.isprintable() or c == "\n" for c in text)


def test_a_script_of_an_odd_name_is_correct_and_inert(result: ac.Result, tmp_path: Path) -> None:
    script = ac.export(result, "xlogit", tmp_path / "it's; touch canary\n\"é.py")
    assert len(namespace(script)["prepare"]()) == len(result.data)
    text = ac.export(result, "apollo", tmp_path / "\nquit()é.R").read_text(encoding="utf-8")
    assert text.isascii()
    assert not re.search(r"^quit", text, re.MULTILINE)


def test_tables_beside_a_script_hold_names_of_ours_and_numbers(
    result: ac.Result, tmp_path: Path
) -> None:
    ac.export(ac.fit_mnl(result.data.take(np.arange(300)[::-1]), terms()), "biogeme", tmp_path)
    for path in tmp_path.glob("model_*.csv"):
        header, *rows = path.read_text(encoding="utf-8").splitlines()
        assert re.fullmatch(r"[A-Za-z0-9_,]+", header)
        assert all(re.fullmatch(r"[-+0-9.e,]*", row) for row in rows)


def test_text_and_latex_keep_to_their_lines(result: ac.Result, tmp_path: Path) -> None:
    text = ac.export(result, "text", tmp_path).read_text(encoding="utf-8")
    assert all(c.isprintable() or c == "\n" for c in text)
    latex = ac.export(result, "latex", tmp_path).read_text(encoding="utf-8")
    assert all(c.isprintable() or c == "\n" for c in latex)
    assert r"\input" not in latex
    assert r"\textbackslash{}input\{/etc/passwd\}\$x\_1\textasciicircum{}2\$ \%\&" in latex
    assert latex.count(r"\begin{") == latex.count(r"\end{") == 3


def test_a_hostile_model_by_hand_is_saved_reported_exported_and_compared(
    result: ac.Result, tmp_path: Path
) -> None:
    result.save(tmp_path / "model")
    again = ac.load(tmp_path / "model", result=True)
    assert isinstance(again, ac.Result)
    assert again.names == result.names
    np.testing.assert_array_equal(again.coefficients, result.coefficients)
    page = result.report(tmp_path / "model.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    for package in ("biogeme", "pylogit", "xlogit", "apollo", "text", "latex"):
        assert result.export(package, tmp_path).exists()
    table = ac.compare([result, again], estimates=True)
    latex = table.to_latex()
    assert latex.count(r"\\") == len(table) + 1  # a row for each, and the header
    assert set(re.findall(r"\\[a-z]+", latex)) & {r"\input", r"\write"} == set()


def test_scripts_with_hostile_names_are_read_or_refused_without_a_trace(
    result: ac.Result, tmp_path: Path
) -> None:
    for package in ("biogeme", "pylogit", "xlogit", "apollo"):
        script = result.export(package, tmp_path)
        try:
            model = ac.read_specification(script)
        except ac.SpecificationError as error:
            assert len(str(error)) > 20
            continue
        assert model.package == package
        assert "\x1b" not in str(model)

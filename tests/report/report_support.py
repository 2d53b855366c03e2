"""Studies for the tests of reports, and a reader of pages."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pandas as pd

import ardchoice as ac
from ardchoice.evaluation import evaluate
from selection.selection_support import made, usual

SCRIPT = "<script>alert('x')</script>"
FORMULA = '=cmd|"/C calc"!A0'
DOLLAR = "$\\frac{1}{0}$ & 100% _^~#{}"
TURNED = "a\u202eb\x07\x00"
WIDE = "日本語 🚆 ëß"
LINES = "two\nlines\tand </script> -- <!--"
VOID = {"meta", "input", "br", "img", "hr", "link", "path", "use", "stop", "rect", "circle"}


@cache
def plain_study() -> ac.Study:
    """Three alternatives, three answers per person, signs, an interaction; evaluated."""
    data = made(600, 1, usual)
    space = ac.SearchSpace(data, ["linear", "log1p"], by=["G"])
    study = ac.specify(data, space, structure=ac.Structure(signs={"TT": "-", "CO": "-"}))
    return replace(study, evaluation=evaluate(study, folds=3, compare={"mine": "A: TT"}))


@cache
def hostile_study() -> ac.Study:
    """Every name is one that could break or script a page, a table or a picture."""
    rng = np.random.default_rng(0)
    n = 400
    alternatives = (SCRIPT, FORMULA, WIDE)
    columns: dict[str, object] = {"ID": np.arange(n) // 2}
    value = rng.gumbel(size=(3, n))
    for j in range(3):
        for k, weight in ((0, -2.0), (1, -1.0)):
            columns[f"c{j}{k}"] = rng.uniform(0.2, 2, n)
            value[j] += weight * np.asarray(columns[f"c{j}{k}"])
    group = rng.integers(0, 2, n)
    value[0] += 1.5 * group
    columns[TURNED] = np.array(["-1+1", '"><img src=x onerror=alert(1)>'])[group]
    columns["pick"] = np.array(alternatives)[value.argmax(axis=0)]
    data = ac.read_wide(
        pd.DataFrame(columns),
        alternatives=list(alternatives),
        choice="pick",
        attributes={
            DOLLAR: {name: f"c{j}0" for j, name in enumerate(alternatives)},
            f"cost {LINES}": {name: f"c{j}1" for j, name in enumerate(alternatives)},
        },
        covariates={TURNED: ac.Categorical()},
        person="ID",
    )
    space = ac.SearchSpace(data, ["linear", "log1p"], by=[TURNED])
    signs = {DOLLAR: "-", f"cost {LINES}": "-"}
    study = ac.specify(data, space, structure=ac.Structure(signs=signs))  # type: ignore[arg-type]
    given = {SCRIPT: ac.Specification(tuple(space.terms[:1]))}
    return replace(study, evaluation=evaluate(study, folds=2, compare=given, stability_pairs=1))


class Page(HTMLParser):
    """Tags, their attributes, the text between them, and whether every tag is closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.mistakes: list[str] = []
        self.text: list[str] = []
        self.cells: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        self.mistakes += [f"<{tag}> is never closed" for tag in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "td":
            self.cells.append("")
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self._open or self._open[-1] != tag:
            self.mistakes.append(f"</{tag}> closes <{self._open[-1] if self._open else ''}>")
        else:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self._open):
            self.text.append(data)
        if "td" in self._open:
            self.cells[-1] += data

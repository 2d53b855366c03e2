"""Notes of families in reports: what was decided is no warning, what is wrong is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from families_support import business

import ardchoice as ac
from ardchoice.data import ChoiceData

MARK = re.compile(r'<li class="(\w+)">(?:(?!</li>).)*?<strong>([^<]*)</strong>([^<]*)', re.DOTALL)


@pytest.fixture(scope="module")
def data() -> ChoiceData:
    return business()


def marks(result: ac.Result, path: Path) -> dict[str, str]:
    """Text of every note on the estimates -> its mark on the page of the result."""
    page = result.report(path).read_text(encoding="utf-8")
    return {text.strip(): mark for mark, title, text in MARK.findall(page) if "estimates" in title}


@pytest.mark.parametrize(
    ("family", "words"),
    [
        (ac.Nested({"existing": ["TRAIN", "CAR"]}), "correlation in the nest"),
        (ac.Nested(None), "Nests found by the data"),
        (ac.Mixed({"*: TT": "normal"}), "Simulated with 64 nodes"),
        (ac.LatentClass(2, starts=2), "Shares of classes"),
    ],
)
def test_what_was_found_is_no_warning(
    data: ChoiceData, tmp_path: Path, family: ac.families.Family, words: str
) -> None:
    result = ac.fit(data, "TRAIN: ASC\nCAR: ASC\n*: TT + CO", family=family)
    [note] = [note for note in result.notes if words in note]
    assert note in result.information
    found = marks(result, tmp_path / "page.html")
    assert [mark for text, mark in found.items() if words in text] == ["plain"]
    again = ac.load(result.save(tmp_path / "model"), result=True)
    assert (again.notes, again.information) == (result.notes, result.information)


def test_coefficients_of_classes_stand_under_their_class(data: ChoiceData, tmp_path: Path) -> None:
    family = ac.LatentClass(2, starts=2)
    result = ac.fit(data, "TRAIN: ASC\nCAR: ASC\n*: TT + CO", family=family)
    page = result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    table = page.split("Coefficients by class")[2].split("</table>")[0]
    head = re.findall(r"<th[^>]*>([^<]*)</th>", table)
    assert head == ["coefficient", "class 1", "class 2", "mean"]
    [row] = [row for row in table.split("<tr") if ">*: TT<" in row]
    cells = [float(c.replace("−", "-")) for c in re.findall(r"<td[^>]*>([−\d.]+)</td>", row)]
    by_class = [result.estimates[f"*: TT (class {q})"] for q in (1, 2)]
    share = result.individual()["class 1"].mean()
    mean = share * by_class[0] + (1 - share) * by_class[1]
    assert cells == pytest.approx([*by_class, mean], rel=1e-3)


def test_what_is_wrong_is_a_warning(data: ChoiceData, tmp_path: Path) -> None:
    family = ac.Nested({"wrong": ["SM", "CAR"]})
    result = ac.fit(data, "TRAIN: ASC\nCAR: ASC\n*: TT + CO", family=family)
    assert result.estimates["mu(wrong)"] < 1
    page = result.report(tmp_path / "page.html").read_text(encoding="utf-8")
    # Before everything else, and once.
    mark, title, text = MARK.findall(page)[0]
    assert (mark, title) == ("bad", "The model is inadmissible.")
    assert "A scale below 1 is inadmissible" in text
    assert not any("below 1" in text for text in marks(result, tmp_path / "page.html"))
    assert not result.information

"""Verdicts: what is wrong is said to be, what is right is not; and what counts as money."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.errors import Problem
from ardchoice.estimation import is_time
from ardchoice.evaluation import cost_attribute, elasticities, sign_checks, willingness_to_pay
from ardchoice.record import CONSTANTS_ONLY, Note
from ardchoice.report import drawing
from ardchoice.report.checks import convergence, sanity
from ardchoice.report.findings import Findings
from ardchoice.report.sections.answer import _predicts, answer
from ardchoice.report.sections.implied import willingness
from ardchoice.report.sections.model import estimates
from ardchoice.report.summary import summarise_record
from ardchoice.text import percent
from report.report_support import plain_study
from selection.selection_support import made, read, table, usual


def titles(notes: list[Note]) -> dict[str, str]:
    return {note.title: note.verdict for note in notes}


def with_model(study: ac.Study, spec: str, **options: object) -> ac.Study:
    result = ac.fit_mnl(study.data, spec, **options)  # type: ignore[arg-type]
    return replace(study, specification=result.specification, result=result)


def test_all_is_well_where_it_is() -> None:
    found = titles([*convergence(plain_study()), *sanity(plain_study())])
    assert found["Relevance converged"] == found["Estimation converged"] == "good"
    assert found["Signs as expected"] == found["Shares are met"] == "good"
    assert "bad" not in found.values()


def test_a_wrong_sign_is_found_in_its_segment() -> None:
    def strange(frame: pd.DataFrame) -> dict[str, object]:
        good = np.where(frame["G"] == "u", 2.0, -2.0)
        return {"A": good * frame["A_TT"] - frame["A_CO"]}

    data = made(900, 5, strange)  # type: ignore[arg-type]
    study = replace(plain_study(), data=data)
    wrong = with_model(study, "A: ASC + TT + TT x G + CO\nB: ASC")
    checks = {(c.alternative, c.attribute): c for c in sign_checks(wrong)}
    assert checks["A", "TT"].wrong == ("G u",)
    assert checks["A", "TT"].segments == 2
    assert checks["A", "CO"].wrong == ()
    assert titles(sanity(wrong))["Signs not as expected"] == "bad"


def test_values_that_look_like_codes_for_missing_are_marked() -> None:
    study = plain_study()
    assert "A value may stand for missing" not in titles(sanity(study))
    problems = tuple(Problem("warning", "sentinel", f"{x} is 99999 in 3 rows.") for x in "AB")
    coded = replace(study, data=replace(study.data, warnings=problems))
    [note] = [n for n in sanity(coded) if n.title == "A value may stand for missing"]
    assert note.verdict == "look"
    assert note.text == "A is 99999 in 3 rows. So it is in 1 more."


def test_shares_are_not_met_without_constants() -> None:
    assert (
        titles(sanity(with_model(plain_study(), "A: ASC\n*: TT")))["Shares are not met"] == "look"
    )
    assert titles(sanity(with_model(plain_study(), "*: TT")))["Shares are free"] == "plain"


def test_estimates_without_bounds_and_correlated_ones_are_named() -> None:
    frame = table(300, 1, usual)
    frame["G"] = np.where((frame["PICK"] == "A") & (frame.index % 7 == 0), "only", "rest")
    frame["B_CO"] = frame["B_TT"] + 0.001 * frame["C_CO"]
    data = read(frame, covariates={"G": ac.Categorical(reference="rest")})
    study = replace(plain_study(), data=data)
    spec = "A: ASC + ASC x G\nB: ASC + TT + CO"
    model = with_model(study, spec, separation="allow")
    found = titles([*convergence(model), *sanity(model)])
    # Said once, and nothing says that all is well.
    assert found["Estimated, apart from 1 coefficient that diverges"] == "look"
    assert sum("diverges (" in note.text + note.title for note in [*convergence(model)]) == 1
    assert "Estimation converged" not in found
    shown = titles(answer(Findings(model)).notes)
    assert "Converged" not in shown
    assert sum("apart from" in title for title in shown) == 1
    assert "apart from 1 coefficient that diverges" in model.result.summary()
    assert found["Some estimates are highly correlated"] == "look"


def test_what_did_not_converge_is_said_so() -> None:
    study = plain_study()
    broken = replace(
        study,
        fit=replace(study.fit, converged=False, moving=study.fit.terms[:2]),
        result=replace(study.result, converged=False, decrement=3.5),
    )
    notes = convergence(broken)
    assert {n.verdict for n in notes} == {"bad"}
    assert str(study.fit.terms[1]) in notes[0].text
    assert "3.5" in notes[1].text


@pytest.mark.parametrize("name", ["CO", "cost", "TRAVEL_COST", "fare", "Ticket price", "tc", "gc"])
def test_what_is_called_like_a_cost_is_money(name: str) -> None:
    frame = table(200, 1, usual)
    data = read(frame, attributes={name: "{alt}_CO", "quality": "{alt}_TT"})
    result = ac.fit_mnl(data, ac.Specification((ac.Term((), name), ac.Term((), "quality"))))
    study = replace(plain_study(), data=data, result=result, structure=None)
    assert cost_attribute(study)[0] == name
    found = willingness_to_pay(study).frame
    assert found is not None
    assert list(found["attribute"]) == ["quality"]


@pytest.mark.parametrize("name", ["income", "comfort", "seats", "recommended", "TT"])
def test_other_things_are_not(name: str) -> None:
    data = read(table(200, 1, usual), attributes={name: "{alt}_CO"})
    result = ac.fit_mnl(data, ac.Specification((ac.Term((), name),)))
    study = replace(plain_study(), data=data, result=result)
    cost, why = cost_attribute(study)
    assert cost is None
    assert "called like a cost" in why
    assert willingness_to_pay(study).frame is None


def test_times_are_known_by_their_names() -> None:
    assert all(map(is_time, ["TT", "travel time", "HE", "headway", "wait_time", "IVTT", "ttme"]))
    assert not any(map(is_time, ["CO", "seats", "quality", "hinc"]))


def test_wtp_has_whole_sample_first_and_then_segments() -> None:
    study = with_model(plain_study(), "A: ASC + TT + TT x G + CO\nB: ASC + TT + CO\nC: TT")
    found = willingness_to_pay(study).frame
    assert found is not None
    assert list(zip(found["alternative"], found["segment"], strict=True)) == [
        *(("A", "all"), ("A", "G=u"), ("A", "G=v"), ("B", "all"))
    ]
    whole_sample = study.result.wtp("TT", "CO", by=[])
    assert found["estimate"].iloc[0] == whole_sample["estimate"].iloc[0]


def conjoint(specification: str) -> ac.Study:
    frame = table(300, 1, usual)
    frame["A_brand"] = np.where(frame["A_TT"] > frame["A_TT"].median(), "<i>old</i>", "new")
    frame["B_brand"] = np.where(frame["B_TT"] > frame["B_TT"].median(), "<i>old</i>", "new")
    data = read(frame, attributes={"price": "{alt}_CO", "brand": {"A": "A_brand", "B": "B_brand"}})
    result = ac.fit_mnl(data, specification)
    more = {"data": data, "result": result, "specification": result.specification}
    return replace(plain_study(), structure=None, **more)  # type: ignore[arg-type]


def test_levels_have_a_price_in_report_and_summary() -> None:
    study = conjoint("*: price\nA+B: brand")
    found = willingness_to_pay(study).frame
    assert found is not None
    assert found["level"].tolist() == ["<i>old</i>, not new"]
    _, text, _, shown = willingness(Findings(study)).parts
    assert "instead of the reference" in text.text  # type: ignore[union-attr]
    assert shown.rows[0][0] == "brand: <i>old</i>, not new"
    assert "brand: <i>old</i>, not new" in summarise_record(study)
    assert drawing.wtp(Findings(study)) is not None


def test_willingness_to_pay_without_anything_to_pay_for_says_why() -> None:
    section = willingness(Findings(conjoint("*: price")))
    assert "price is the only attribute of the model" in section.parts[0].text


def test_attributes_in_classes_have_no_elasticity_and_no_price() -> None:
    study = with_model(plain_study(), "A: ASC + segments(TT, 3)\nB: ASC + segments(CO, 2)")
    found = elasticities(study)
    assert (found.frame, found.refused) == (None, {})
    assert willingness_to_pay(study).cost is None


def test_the_page_opens_with_what_a_newcomer_must_know() -> None:
    study = plain_study()
    top = answer(Findings(study))
    assert study.evaluation is not None
    frame = study.evaluation.comparisons
    assert frame is not None
    constants = frame.set_index("model").loc[CONSTANTS_ONLY, "accuracy"]
    assert f"constants only: {percent(constants)}" in {tile.detail for tile in top.tiles}
    assert top.lead.count("EBIC = −2 LL + penalty for coefficients") == 1
    assert any("independence from irrelevant alternatives" in note.text for note in top.notes)
    # In full at the top, in a word above the table.
    full = [note.text for note in top.notes if "conditional" in note.title]
    (again,) = [p.text for p in estimates(Findings(study)).parts if isinstance(p, Note)]
    assert "honest = true in [selection]" in full[0]
    assert "honest" not in again


def test_intervals_that_are_cut_off_have_an_arrow() -> None:
    study = with_model(plain_study(), "A: ASC + TT + CO\nB: ASC + TT + CO\nC: TT + CO")
    found = Findings(study)
    assert not arrows(found)
    frame = found.wtp.frame
    assert frame is not None
    frame.loc[0, ["low", "high"]] = [-1e6, 1e6]
    assert arrows(found) == ["<", ">"]


def arrows(found: Findings) -> list[str]:
    picture = drawing.wtp(found)
    assert picture is not None
    return sorted(m for line in picture.axes[0].lines if (m := line.get_marker()) in ("<", ">"))


def test_where_time_and_money_never_meet_sharing_is_proposed() -> None:
    apart = with_model(plain_study(), "A: ASC + TT\nB: ASC + CO")
    assert "generic = true in [space]" in willingness_to_pay(apart).refused["TT"]


def test_the_same_model_and_chance_are_not_called_better_predictors() -> None:
    study = plain_study()
    assert study.evaluation is not None
    frame = study.evaluation.comparisons
    assert frame is not None

    def title(**cells: float) -> str:
        other = frame.iloc[[0, 1]].copy()
        other.loc[other.index[1], list(frame.columns[1:])] = frame.iloc[0, 1:].to_numpy()
        for name, value in cells.items():
            other[name] = other[name].astype(float)
            other.loc[other.index[1], name] = value
        record = replace(study, evaluation=replace(study.evaluation, comparisons=other))
        notes = _predicts(Findings(record))
        return notes[0].title if notes else ""

    own = float(frame["held_out"].iloc[0])
    fewer = {"coefficients": 1.0, "held_out_se": 2.0}
    assert title() == ""
    assert "as well as" in title(held_out=own + 1.5, **fewer)
    assert "better" in title(held_out=own + 90, **fewer)

"""A study that was saved and loaded is the same study, and can do the same."""

import json
import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ardchoice as ac
from ardchoice.errors import ArdchoiceError, ArdchoiceWarning
from ardchoice.exports import PACKAGES
from ardchoice.report import write_report, write_tables
from ardchoice.settings import StudySettings, settings_of
from ardchoice.space import Linear
from ardchoice.space.transforms import TRANSFORMS, Transform
from saved.saved_support import ODD, STUDIES, differences, plain_study
from selection.selection_support import made, read, table, usual


@pytest.fixture(scope="module", params=list(STUDIES))
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[ac.Study, ac.Study]:
    """A study, and the same loaded from a folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArdchoiceWarning)
        before = STUDIES[request.param]()
    folder = tmp_path_factory.mktemp("saved") / "a study"
    before.save(folder)
    return before, ac.load(folder)


def test_every_number_and_text_is_the_same(pair: tuple[ac.Study, ac.Study]) -> None:
    before, after = pair
    assert type(after) is ac.Study
    assert differences(before, after) == []


def test_what_was_one_object_is_one_again(pair: tuple[ac.Study, ac.Study]) -> None:
    before, after = pair
    for name in ("fit", "result", "selection_result"):
        old, new = getattr(before, name), getattr(after, name)
        if old is not None:
            assert (old.data is before.data) == (new.data is after.data)
    assert after.result.specification is after.specification
    assert after.fit.space is after.space


WAYS: dict[str, Callable[[ac.Study], object]] = {
    "print": str,
    "summary": lambda s: s.result.summary(),
    "explain": lambda s: s.explain(),
    "data": lambda s: str(s.data),
    "space": lambda s: str(s.space),
    "relevance": lambda s: str(s.fit),
    "table": lambda s: s.fit.table(),
    "posterior": lambda s: s.fit.coefficients(),
    "estimates": lambda s: s.result.to_frame(),
    "classical": lambda s: s.result.to_frame("classical"),
    "predict": lambda s: s.result.predict(),
    "score": lambda s: s.result.score().shares,
    "constants": lambda s: s.result.constants_loglik,
    "elasticities": lambda s: s.result.elasticities(next(iter(s.data.attributes))),
    "path": lambda s: s.path(folds=2).frame,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_loaded_study_can_do_the_same(pair: tuple[ac.Study, ac.Study], way: str) -> None:
    outcomes = []
    for one in pair:
        try:
            outcomes.append(WAYS[way](one))
        except ArdchoiceError as error:  # not every study has all of it; then both say so
            outcomes.append(str(error))
    before, after = outcomes
    if isinstance(before, pd.DataFrame):
        pd.testing.assert_frame_equal(before, after, check_exact=True)
    else:
        assert before == after


def written(study: ac.Study, folder: Path) -> dict[str, str]:
    """Every table, the page and the exports, as text."""
    write_tables(study, folder / "tables")
    write_report(study, folder / "report.html")
    (folder / "exports").mkdir()
    for package in PACKAGES:
        with suppress(ArdchoiceError):  # not every package can have every model
            study.export(package, folder / "exports")
    return {p.name: p.read_text(encoding="utf-8") for p in folder.rglob("*") if p.is_file()}


def test_a_loaded_study_is_told_and_handed_on_the_same(
    pair: tuple[ac.Study, ac.Study], tmp_path: Path
) -> None:
    before, after = (written(study, tmp_path / str(i)) for i, study in enumerate(pair))
    assert len(before) > 20
    for name in before:
        assert without_time(before[name]) == without_time(after[name]), name
    assert set(before) == set(after)


def without_time(text: str) -> str:
    """Two pages are not written at the same minute, nor in the same folder."""
    text = re.sub(r"\d{4}-\d\d-\d\d|\d\d:\d\d(:\d\d)?|\d+ \w+ 20\d\d", "", text)
    return re.sub(r"test_a_loaded_study_is_told\S*?/[01]/", "", text)


def test_new_data_are_read_and_predicted_as_before(tmp_path: Path) -> None:
    frame = table(300, 1, usual)
    path = tmp_path / "trips.csv"
    frame.to_csv(path, index=False)
    data = read(path, covariates={"G": ac.Categorical(pool_below=0.2), "INC": ac.Cut(quantiles=3)})
    before = ac.specify(data, ac.SearchSpace(data, ["linear", "boxcox"], by=["INC"]))
    before.save(tmp_path / "study")
    after = ac.load(tmp_path / "study")
    assert differences(before, after) == []
    new = table(50, 9).drop(columns="PICK")
    predictions = [
        s.result.predict(read(new, choice=None, like=s.data, covariates=["G", "INC"]))
        for s in (before, after)
    ]
    pd.testing.assert_frame_equal(*predictions, check_exact=True)
    values = [s.result.wtp("TT", "CO", by=["INC"]) for s in (before, after)]
    pd.testing.assert_frame_equal(*values, check_exact=True)
    assert (new.shape[0], 3) == predictions[0].shape


def test_going_on_with_later_data_works_from_a_loaded_study(tmp_path: Path) -> None:
    early, late = made(300, 1, usual), made(300, 2, usual)
    space = ac.SearchSpace(early, by=["G"])
    first = ac.fit_ard(early, space)
    fit = ac.fit_ard(late, space, previous=first.memory(0.5))
    specification = ac.select(fit, ac.Evidence())
    before = replace(
        plain_study(), fit=fit, specification=specification, result=ac.fit_mnl(late, specification)
    )
    before.save(tmp_path)
    after = ac.load(tmp_path)
    assert differences(before, after) == []
    third = made(200, 3, usual)
    again = [ac.fit_ard(third, space, previous=f) for f in (fit, after.fit)]
    np.testing.assert_array_equal(again[0].lam, again[1].lam)


def test_saving_twice_writes_the_same_files(tmp_path: Path) -> None:
    before = plain_study()
    before.save(tmp_path / "1")
    ac.load(tmp_path / "1").save(tmp_path / "2")
    files = [{p.name: p.read_bytes() for p in (tmp_path / n).iterdir()} for n in "12"]
    assert files[0] == files[1]


def test_the_settings_are_told_in_the_file(pair: tuple[ac.Study, ac.Study], tmp_path: Path) -> None:
    before, after = pair
    after.save(tmp_path)
    told = json.loads((tmp_path / "study.json").read_text())["settings"]
    assert StudySettings.model_validate_json(json.dumps(told)) == settings_of(before)
    assert settings_of(after) == settings_of(before)


# -- Own transforms --------------------------------------------------------------------------------


class Cube(Transform):
    name = "cube"

    def apply(self, x: np.ndarray, parameters: tuple[float, ...]) -> np.ndarray:
        return (x**3)[None]

    def slope(self, x: np.ndarray, parameters: tuple[float, ...]) -> np.ndarray:
        return (3 * x**2)[None]


def cube_study() -> ac.Study:
    data = made(300, 1, usual)
    return ac.specify(data, ac.SearchSpace(data, [Linear(), Cube()]))


def test_own_transforms_load_where_they_are_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cube_study()
    with pytest.raises(ArdchoiceError, match=r"TRANSFORMS\['cube'\]"):
        before.save(tmp_path / "unregistered")
    assert not (tmp_path / "unregistered").exists()
    monkeypatch.setitem(TRANSFORMS, "cube", lambda arguments: Cube())
    before.save(tmp_path / "study")
    assert differences(before, ac.load(tmp_path / "study")) == []
    monkeypatch.delitem(TRANSFORMS, "cube")
    with pytest.raises(ArdchoiceError, match="no transform 'cube'") as error:
        ac.load(tmp_path / "study")
    assert "registered before loading" in str(error.value)
    assert str(tmp_path / "study") in str(error.value)


def test_odd_names_are_really_odd() -> None:
    kept = "".join(map(str, STUDIES["odd"]().specification.terms))
    assert "<script>" in kept
    assert "\\n" in kept
    assert ODD not in kept  # quoted, or else it would not read back

"""What a user asks of `export`, and what it says when it cannot."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from export_models import trips, wide
from export_support import namespace

import ardchoice as ac
from ardchoice.exports import FORMATS, PACKAGES, formats_of
from ardchoice.space import Transform
from tests_support import small_data


@pytest.fixture(scope="module")
def result() -> ac.Result:
    return ac.fit_mnl(small_data(), "a: ASC + x\nb: x")


def test_a_folder_gets_a_file_per_package(result: ac.Result, tmp_path: Path) -> None:
    written = [ac.export(result, package, tmp_path) for package in PACKAGES]
    assert [path.name for path in written] == [form.file_name for form in FORMATS.values()]
    assert all(path.stat().st_size > 300 for path in written)


def test_folders_of_the_path_are_made(result: ac.Result, tmp_path: Path) -> None:
    assert ac.export(result, "text", str(tmp_path / "new" / "m.txt")).exists()
    script = ac.export(result, "xlogit", tmp_path / "other" / "m.py")
    assert len(namespace(script)["prepare"]()) == len(result.data)


def test_a_study_exports_its_estimates(tmp_path: Path) -> None:
    data = small_data(400)
    space = ac.SearchSpace(data, ["linear"], base="b")
    for honest in (False, True):
        study = ac.specify(data, space, honest=honest)
        expected = namespace(study.export("biogeme", tmp_path / "m.py"))["EXPECTED"]
        assert list(expected.values()) == [study.result.loglik, *study.result.coefficients]


def test_the_header_says_what_to_expect_and_how_to_run_it(tmp_path: Path) -> None:
    trips().to_csv(tmp_path / "trips.csv", index=False)
    result = ac.fit_mnl(wide(tmp_path / "trips.csv"), "bus: ASC + log(time) x sex")
    for package, install in (
        ("biogeme", "pip install"),
        ("xlogit", "pip install"),
        ("apollo", "install.packages"),
    ):
        text = ac.export(result, package, tmp_path).read_text(encoding="utf-8")
        head = [line for line in text.splitlines() if line.startswith("#")]
        assert any(install in line for line in head)
        assert any(FORMATS[package].file_name in line for line in head)
        assert any(f"log-likelihood {result.loglik:.4f}" in line for line in head)
        assert any("bus: log(time) x sex [f]" in line for line in head)
        assert any("has moved, change DATA" in line for line in head)
        assert "B_LOG_TIME_BUS_SEX_F" in text


def test_the_table_that_was_read_is_never_written_over(tmp_path: Path) -> None:
    mine = tmp_path / "trips_choices.csv"
    trips().to_csv(mine, index=False)
    result = ac.fit_mnl(wide(mine), "bus: ASC + time")
    trips(seed=2).to_csv(mine, index=False)  # so that the script would need a table of its own
    before = mine.read_bytes()
    with pytest.raises(ac.ArdchoiceError, match="your own table"):
        ac.export(result, "biogeme", tmp_path / "trips.py")
    assert mine.read_bytes() == before
    ac.export(result, "biogeme", tmp_path / "model.py")
    assert (tmp_path / "model_choices.csv").exists()


def test_an_unknown_package_is_answered_with_the_known_ones(
    result: ac.Result, tmp_path: Path
) -> None:
    with pytest.raises(ac.ArdchoiceError, match="Did you mean 'biogeme'"):
        ac.export(result, "biogem", tmp_path)


def test_a_script_is_not_named_like_a_package(result: ac.Result, tmp_path: Path) -> None:
    for name in ("biogeme.py", "numpy.py", "random.py"):
        with pytest.raises(ac.ArdchoiceError, match=r"such as model_biogeme\.py"):
            ac.export(result, "biogeme", tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_only_estimated_models_are_exported(tmp_path: Path) -> None:
    with pytest.raises(ac.ArdchoiceError, match="Expected a study or the result of"):
        ac.export(small_data(), "biogeme", tmp_path)  # type: ignore[arg-type]


def test_estimates_at_infinity_are_told_without_an_error(tmp_path: Path) -> None:
    data = small_data(60)
    certain = data.with_choice(np.where(data.attributes["x"].of(0) > 0, 0, 1))
    result = ac.fit_mnl(certain, "a: ASC + x", separation="allow")
    text = ac.export(result, "text", tmp_path).read_text(encoding="utf-8")
    assert "(.)" in text
    assert " & . & . & . " in ac.export(result, "latex", tmp_path).read_text(encoding="utf-8")
    expected = namespace(ac.export(result, "pylogit", tmp_path))["EXPECTED"]
    assert list(expected.values())[1:] == list(result.coefficients)


@dataclass(frozen=True)
class Cubed(Transform):
    """A transform as a user may register it."""

    name = "cubed"

    def apply(self, x: np.ndarray, parameters: tuple[float, ...]) -> np.ndarray:
        return x[None] ** 3


def test_a_transform_of_the_user_is_named_in_text_and_refused_in_scripts(tmp_path: Path) -> None:
    result = ac.fit_mnl(small_data(), [ac.Term(("a",)), ac.Term(("a",), "x", Cubed())])
    assert "* cubed(x)" in ac.export(result, "text", tmp_path).read_text(encoding="utf-8")
    with pytest.raises(ac.ArdchoiceError, match="'a: cubed\\(x\\)': no script can make"):
        ac.export(result, "biogeme", tmp_path)


def test_a_model_without_coefficients_is_readable_and_no_script(tmp_path: Path) -> None:
    # The criterion may select no term at all, as where all alternatives are chosen alike.
    result = ac.fit_mnl(small_data(), ac.Specification(()))
    for package, form in FORMATS.items():
        if form.is_script:
            with pytest.raises(ac.ArdchoiceError, match="has no coefficients"):
                ac.export(result, package, tmp_path)
        else:
            written = ac.export(result, package, tmp_path).read_text(encoding="utf-8")
            assert f"{result.loglik:.3f}" in written


def test_what_to_know_of_the_estimates_is_said(tmp_path: Path) -> None:
    data = small_data(400)
    study = ac.specify(data, ac.SearchSpace(data, ["linear"], base="b"))
    study = replace(study, notes=("Something\nto know",))
    for package in PACKAGES:
        text = study.export(package, tmp_path).read_text(encoding="utf-8")
        assert "The terms were chosen on the choices" in text
        assert "Something\\nto know" in text.replace(r"\textbackslash{}", "\\")
    result_alone = ac.export(study.result, "text", tmp_path).read_text(encoding="utf-8")
    assert "too small" not in result_alone


def test_a_study_that_was_saved_exports_what_it_did_before(tmp_path: Path) -> None:
    trips().to_csv(tmp_path / "trips.csv", index=False)
    data = wide(tmp_path / "trips.csv")
    study = ac.specify(data, ac.SearchSpace(data, ["linear", "log1p"], ["sex"], base="car"))
    study.save(tmp_path / "study")
    again = ac.load(tmp_path / "study")
    for package in PACKAGES:
        before = study.export(package, tmp_path).read_text(encoding="utf-8")
        assert again.export(package, tmp_path).read_text(encoding="utf-8") == before
        assert (package in ("text", "latex")) != ("trips.csv" in before)


@dataclass(frozen=True)
class Own(ac.Mnl):
    """A family without templates."""

    tag: ClassVar[str] = "own"
    title: ClassVar[str] = "Own logit"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_family_without_a_template_is_refused_in_a_sentence(
    result: ac.Result, package: str, tmp_path: Path
) -> None:
    with pytest.raises(ac.ArdchoiceError) as caught:
        ac.export(replace(result, family=Own()), package, tmp_path)
    assert str(caught.value) == (
        f"The own logit cannot be exported to {FORMATS[package].title}: there is no template for "
        "it. Formats available for it: none."
    )
    assert not list(tmp_path.iterdir())


def test_the_multinomial_logit_has_every_format() -> None:
    assert formats_of(ac.Mnl()) == PACKAGES

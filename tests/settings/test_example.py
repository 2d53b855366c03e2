"""The example names every key, and every variant in it can be read."""

import re

import pytest

import ardchoice as ac
from ardchoice.settings import check_study, example_settings, parse_settings
from ardchoice.settings.reading import _members
from ardchoice.settings.schema import AttributeSettings, CovariateSettings, StudySettings


def blocks(section):
    """Sections that stand in the example as comments, to be used instead."""
    found = re.findall(rf"(?m)^# \[{section}\]\n(?:# .*\n)+", example_settings())
    return [re.sub("(?m)^# ", "", block) for block in found]


def without(section):
    return re.sub(rf"(?ms)^\[{section}\]\n.*?(?=^\[|\Z)", "", example_settings())


def models():
    yield from (AttributeSettings, CovariateSettings)
    for field in StudySettings.model_fields.values():
        yield from _members(field.annotation)


def test_every_key_of_the_schema_is_in_the_example():
    text = example_settings()
    for model in models():
        for key in model.model_fields:
            assert re.search(rf"(?m)(^|[{{,\[.] ?|# ){key}\b( = |\])", text), (model, key)


def test_the_example_can_be_read_and_checked(tmp_path):
    assert parse_settings(example_settings()).solver.method == "newton"
    ac.datasets.swissmetro().to_csv(tmp_path / "swissmetro.csv", index=False)
    (tmp_path / "study.toml").write_text(example_settings(), encoding="utf-8")
    assert "10,710 choice situations" in check_study(tmp_path / "study.toml")


@pytest.mark.parametrize(("section", "count"), [("solver", 2), ("selection", 5)])
def test_every_variant_in_the_example_can_be_read_and_has_the_usual_values(section, count):
    found = blocks(section)
    assert len(found) == count
    for block in found:
        settings = getattr(parse_settings(without(section) + "\n" + block), section)
        assert settings == type(settings)()


def test_values_that_the_example_calls_usual_are_the_defaults():
    settings, usual = parse_settings(example_settings()), StudySettings()
    told = ("transforms", "by", "base", "attributes", "add", "remove")
    assert settings.space.model_dump(exclude=set(told)) == usual.space.model_dump(exclude=set(told))
    told = ("signs", "forbid", "exclusive", "max_terms", "max_coefficients")
    assert settings.structure.model_dump(exclude=set(told)) == usual.structure.model_dump(
        exclude=set(told)
    )
    assert (settings.solver, settings.selection) == (usual.solver, usual.selection)
    assert settings.output.model_dump(exclude={"compare"}) == usual.output.model_dump(
        exclude={"compare"}
    )

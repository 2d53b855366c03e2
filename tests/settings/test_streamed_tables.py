"""A study file may name a folder of Parquet files, or a table too large for memory."""

import numpy as np
import pytest

import ardchoice as ac
from ardchoice.settings import check_study, guess_settings, read_settings


def test_a_folder_of_parquet_files_is_guessed_checked_and_read_as_one_file_is(tmp_path):
    table = ac.datasets.swissmetro()
    table = table[(table["ID"] <= 60) & (table["CHOICE"] != 0)].reset_index(drop=True)
    table.to_parquet(tmp_path / "whole.parquet")
    (tmp_path / "parts").mkdir()
    table[:250].to_parquet(tmp_path / "parts" / "a.parquet")
    table[250:].to_parquet(tmp_path / "parts" / "b.parquet")
    text = guess_settings(tmp_path / "whole.parquet")
    (tmp_path / "whole.toml").write_text(text, encoding="utf-8")
    in_parts = text.replace("whole.parquet", "parts")
    (tmp_path / "parts.toml").write_text(in_parts, encoding="utf-8")
    assert 'table = "parts"' in guess_settings(tmp_path / "parts")
    one, two = (
        read_settings(tmp_path / f"{name}.toml").read_choices(tmp_path)
        for name in ("whole", "parts")
    )
    assert not one.is_memory_mapped and two.is_memory_mapped
    assert str(one) == str(two)
    np.testing.assert_array_equal(one.choice, two.choice)
    assert f"{len(table):,} choice situations" in check_study(tmp_path / "parts.toml")


def test_a_column_that_no_part_has_is_told_with_its_key(tmp_path):
    (tmp_path / "parts").mkdir()
    table = ac.datasets.swissmetro()[:60]
    table.to_parquet(tmp_path / "parts" / "a.parquet")
    text = guess_settings(tmp_path / "parts").replace('person = "ID"', 'person = "IDD"')
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ac.ArdchoiceError, match="'IDD'"):
        read_settings(tmp_path / "study.toml").read_choices(tmp_path)

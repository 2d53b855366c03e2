"""The benchmark of scale, small: few passes find what full ones do."""

import json

import pytest


@pytest.fixture
def small(monkeypatch):
    """Everything counts as large."""
    # A sample must be of more persons, of nine answers each, than there are columns.
    monkeypatch.setattr("ardchoice.ard.sample.SAMPLE", 3000)
    monkeypatch.setattr("ardchoice.ard.sample.WORTH", 2)
    monkeypatch.setattr("ardchoice.ard.sample.KEEP_BYTES", 0)
    monkeypatch.setattr("ardchoice.design.design.KEEP_BYTES", 0)
    monkeypatch.setattr("ardchoice.data.batches.BATCH", 1000)


def test_few_passes_find_the_specification_of_full_ones(load, tmp_path, small):
    scale = load("scale")
    path = tmp_path / "choices"
    scale.write_table(path, 8000)
    few, full = scale.run(path, "few"), scale.run(path, "full")
    assert few.terms == full.terms
    assert few.loglik == pytest.approx(full.loglik, rel=1e-9)
    assert few.relevance_passes < full.relevance_passes
    assert sum(k * k for k in few.passes) < sum(k * k for k in full.passes)
    text = scale.report([few, full])
    assert "the same specification" in text and "peak memory" in text
    json.dumps(scale.asdict(few))

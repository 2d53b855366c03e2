"""Benchmarks of families run in their quick form, and draw what they say."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

Load = Callable[[str], ModuleType]


def test_times_of_families_are_measured(load: Load, capsys: pytest.CaptureFixture[str]) -> None:
    families = load("families")
    assert families.main(["--quick"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["nested", "latent"]
    slow = families.Times("nested", "biogeme", [1.0], -1.0)
    fast = families.Times("nested", "ardchoice", [0.1], -1.0)
    assert families.lines([fast, slow])[1] is False  # ten times is not enough


def test_samples_of_every_family_have_persons_who_repeat(load: Load) -> None:
    auto = load("auto")
    for family in auto.FAMILIES:
        data = auto.draw_sample(family, 3)
        assert data.n_persons == auto.PERSONS
        assert len(data) == auto.PERSONS * auto.CHOICES
        assert data.shares().min() > 0.05


def test_samples_of_classes_are_as_far_apart_as_they_say(load: Load) -> None:
    classes = load("classes")
    sample = classes.draw_sample(2, 3, depends=True)
    assert sample.classes == 3
    assert len(sample.membership) == 2
    tastes = classes._separated(np.random.default_rng(0), 4)
    apart = np.linalg.norm(tastes[:, None] - tastes, axis=2)[~np.eye(4, dtype=bool)]
    assert apart.min() >= classes.LEAST_APART

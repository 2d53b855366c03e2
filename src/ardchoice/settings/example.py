"""`example_settings`: a study file with every key."""

from __future__ import annotations

from importlib.resources import files


def example_settings() -> str:
    """A full study file, every key with a comment."""
    return (files(__package__) / "example.toml").read_text(encoding="utf-8")

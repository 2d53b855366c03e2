"""Families by their tag: what study files and saved studies name them by."""

from __future__ import annotations

from typing import TypeVar

from ardchoice.errors import ArdchoiceError
from ardchoice.families.family import Family

FAMILIES: dict[str, type[Family]] = {}
"""Tag -> class."""
Registered = TypeVar("Registered", bound=type[Family])


def register_family(cls: Registered) -> Registered:
    """Make a family known by its tag; a class decorator.

    Examples
    --------
    >>> from ardchoice.families import FAMILIES
    >>> FAMILIES["mnl"].title
    'Multinomial logit'
    """
    FAMILIES[cls.tag] = cls
    return cls


def must_be_family(family: object) -> Family:
    """The family itself; an error that names the known ones where it is none."""
    if isinstance(family, Family):
        return family
    calls = {tag: f"ac.{cls.__name__}()" for tag, cls in FAMILIES.items()}
    known = f"Known: {', '.join(calls.values())}."
    if isinstance(family, type) and issubclass(family, Family):
        hint = f"Write {family.__name__}(), with brackets."
    elif family == "auto":
        hint = 'Only ac.specify takes family="auto".'
    elif isinstance(family, str) and family.lower() in calls:
        hint = f"Write {calls[family.lower()]}."
    else:
        hint = known
    raise ArdchoiceError(f"A family is an object such as ac.Mnl(), not {family!r}. {hint}")

"""Segmentation in scripts for Biogeme: a coefficient for the reference, and differences from it."""

from __future__ import annotations

from typing import Any

from ardchoice.scripts.forms import (
    Form,
    Parameter,
    UnreadableError,
    add,
    combine,
    multiply,
    number,
    symbol,
)
from ardchoice.scripts.interpret import CallMade, Reader
from ardchoice.scripts.values import Record, as_form, later


def segmentation_tuple(reader: Reader, made: CallMade) -> Any:
    """``DiscreteSegmentationTuple(variable, mapping, reference)`` and ``generate_segmentation``."""
    variable = made.get(0, "variable")
    mapping, reference = made.get(1, "mapping"), made.get(2, "reference")
    if not isinstance(mapping, dict) or not mapping:
        raise UnreadableError("the segments are not known without the table")
    names = {value: str(name) for value, name in mapping.items()}
    if reference is None:
        reference = next(iter(names.values()))
    if reference not in names.values():
        raise UnreadableError(f"the reference {reference!r:.40} is no segment")
    column = later(variable) if isinstance(variable, str) else as_form(variable)
    return Record("segments", {"column": column, "names": names, "reference": reference})


def segmentation(reader: Reader, made: CallMade) -> Any:
    """``Segmentation(beta, segmentation_tuples)``, with its method ``segmented_beta``."""
    given = made.get(1, "segmentation_tuples", "segmentations")
    values = {"beta": made.get(0, "beta"), "segments": reader.items(given)}
    return Record("segmentation", values)


def segmented_beta(reader: Reader, made: CallMade) -> Any:
    """Both the method of a segmentation and the function of that name."""
    on = made.on if isinstance(made.on, Record) else segmentation(reader, made)
    if not isinstance(on, Record) or on.kind != "segmentation":
        return NotImplemented
    name = _name(on.values["beta"])
    total = _like(reader, name, f"{name}_ref")
    for one in on.values["segments"]:
        if not isinstance(one, Record) or one.kind != "segments":
            raise UnreadableError("the segments are not known")
        for value, category in one.values["names"].items():
            if category != one.values["reference"]:
                inside = combine("==", one.values["column"], number(float(value)))
                difference = _like(reader, name, f"{name}_diff_{category}")
                total = add(total, multiply(difference, inside))
    return total


def _name(beta: Any) -> str:
    """The name of a parameter."""
    if isinstance(beta, Form) and len(beta.monomials) == 1:
        (key,) = beta.monomials
        if len(key) == 1 and isinstance(key[0], Parameter):
            return key[0].name
    raise UnreadableError("only a parameter can be segmented")


def _like(reader: Reader, name: str, new: str) -> Form:
    """A parameter of another name with the same start."""
    if name in reader.parameters:
        reader.parameters[new] = reader.parameters[name]
    return symbol(Parameter(new))

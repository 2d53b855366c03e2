"""`ChoiceData`: what was observed, checked once, trusted by everything after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ardchoice.data.number_text import NumberFormat
from ardchoice.data.overview import choices_html, describe
from ardchoice.data.person_rows import person_codes
from ardchoice.data.recode import Recoding
from ardchoice.data.source import Source
from ardchoice.errors import ArdchoiceError, Problem, did_you_mean
from ardchoice.numerics import seeded

T = TypeVar("T")
Unit = Literal["person", "situation"]

EVERY = slice(None)
"""All rows."""
ROWS = 1 << 18
"""Rows that are looked at together where all would be too many."""


def pick(array: npt.NDArray[Any], places: Sequence[int], rows: slice = EVERY) -> npt.NDArray[Any]:
    """Some of the first axis and a range of the last, as a view where they follow each other."""
    first, last = places[0], places[-1]
    if last - first + 1 == len(places):
        return array[first : last + 1, rows]
    return np.asarray(array[:, rows][list(places)])


@dataclass(frozen=True, eq=False)
class Attribute:
    """One attribute of the alternatives that have it.

    Attributes
    ----------
    name
    alternatives
        Positions of the alternatives that have it, ascending; A of them.
    values
        Shape (A, N): numbers, or codes into `levels`. Anything where unavailable.
    levels, reference
        For a categorical attribute its levels and the position of the one without a column.
    recoding
        How the levels were made, to repeat it on other data.
    written
        How numbers are written as text in the table; None where they are plain numbers.
    """

    name: str
    alternatives: tuple[int, ...]
    values: npt.NDArray[Any]
    levels: tuple[str, ...] | None = None
    reference: int = 0
    recoding: Recoding | None = None
    written: NumberFormat | None = None

    def of(self, alternative: int, rows: slice = EVERY) -> npt.NDArray[Any]:
        """The values for one alternative, numbers as float64; shape (N,), or of some rows."""
        return np.asarray(self.at([self.alternatives.index(alternative)], rows)[0])

    def at(self, places: Sequence[int], rows: slice = EVERY) -> npt.NDArray[Any]:
        """The values at some places among its alternatives, numbers as float64; shape (A, N)."""
        values = pick(self.values, places, rows)
        return values if self.levels is not None else np.asarray(values, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Covariate:
    """One fact about the person or the situation, the same for every alternative.

    Attributes
    ----------
    name
    values
        Shape (N,): numbers, or codes into `levels`.
    levels, reference
        For a category its levels and the position of the one without a column; else None.
    recoding
        How the levels were made, to repeat it on other data.
    written
        How numbers are written as text in the table; None where they are plain numbers.
    """

    name: str
    values: npt.NDArray[Any]
    levels: tuple[str, ...] | None = None
    reference: int = 0
    recoding: Recoding | None = None
    written: NumberFormat | None = None

    def numbers(self, rows: slice = EVERY) -> npt.NDArray[np.float64]:
        """The values as float64; shape (N,), or of some rows."""
        return np.asarray(self.values[rows], dtype=np.float64)

    @property
    def is_categorical(self) -> bool:
        """Whether it has levels rather than numbers."""
        return self.levels is not None


@dataclass(frozen=True, eq=False)
class MappedFolder:
    """A folder that arrays are mapped from, and what must live as long as they do."""

    folder: str
    keep: object = None


@dataclass(frozen=True, eq=False, repr=False)
class ChoiceData:
    """N choice situations with J alternatives. Made by `read_wide` and `read_long`.

    Arrays over alternatives have them first, shape (J, N), because everything later works on one
    alternative at a time.

    Attributes
    ----------
    alternatives
        The J names.
    available
        Shape (J, N).
    choice
        Shape (N,), positions in `alternatives`; None for situations to be predicted.
    attributes, covariates
        By name.
    person
        Shape (N,), whole numbers from 0, one per person; None when each row is its own person.
    weight
        Shape (N,), of mean one; None when all count once.
    situation
        Shape (N,), the row number (wide) or the id (long) each situation had in its table.
    warnings
        What the checks found that does not stand in the way.
    source
        Where it was read from and how; None for data made otherwise.
    mapped_from
        The folder that the arrays are mapped from; None for data in memory.
    weight_scale
        By which the weights of the table were multiplied, so that their mean is one.
    person_ids
        The id that every person has in the table, by number; shape (persons,). None where only
        numbers are known.
    """

    alternatives: tuple[str, ...]
    available: npt.NDArray[np.bool_]
    choice: npt.NDArray[np.intp] | None
    attributes: Mapping[str, Attribute]
    covariates: Mapping[str, Covariate]
    person: npt.NDArray[np.intp] | None
    weight: npt.NDArray[np.float64] | None
    situation: npt.NDArray[Any]
    warnings: tuple[Problem, ...] = ()
    source: Source | None = None
    mapped_from: MappedFolder | None = None
    weight_scale: float = 1.0
    person_ids: npt.NDArray[Any] | None = None

    def __post_init__(self) -> None:
        arrays = [self.available, self.choice, self.person, self.weight, self.situation]
        arrays.append(self.person_ids)
        arrays += [a.values for a in self.attributes.values()]
        arrays += [c.values for c in self.covariates.values()]
        for array in arrays:
            if array is not None:
                array.setflags(write=False)

    def __len__(self) -> int:
        return int(self.available.shape[1])

    @property
    def n_situations(self) -> int:
        """Number of choice situations, N."""
        return len(self)

    @cached_property
    def n_persons(self) -> int | None:
        """Number of persons, or None when the data have no person ids."""
        return None if self.person is None else int(self.person.max(initial=-1)) + 1

    def ids_of(self, persons: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
        """The ids in the table of some persons; their numbers where no ids are known."""
        if self.person_ids is None or len(self.person_ids) != self.n_persons:
            return persons
        return np.asarray(self.person_ids[persons])

    @property
    def is_memory_mapped(self) -> bool:
        """Whether rows are read from disk as they are needed."""
        return self.mapped_from is not None

    @cached_property
    def _cache(self) -> dict[object, Any]:
        return {}

    def cached(self, key: object, compute: Callable[[], T]) -> T:
        """A fact about these rows, computed when it is first asked for."""
        if key not in self._cache:
            self._cache[key] = compute()
        found: T = self._cache[key]
        return found

    def ranges(self, size: int | None = None) -> Iterator[slice]:
        """All rows, some at a time."""
        step = ROWS if size is None else size
        return (slice(a, min(a + step, len(self))) for a in range(0, max(len(self), 1), step))

    def weights_of(self, rows: slice) -> npt.NDArray[np.float64]:
        """Weights of some rows, ones when there are none."""
        n = len(range(*rows.indices(len(self))))
        return np.ones(n) if self.weight is None else self.weight[rows]

    @cached_property
    def times_available(self) -> npt.NDArray[np.intp]:
        """In how many situations every alternative is available; shape (J,)."""
        return np.array([np.count_nonzero(row) for row in self.available], dtype=np.intp)

    def always(self, alternatives: Sequence[int]) -> bool:
        """Whether these alternatives are available in every situation."""
        times, n = self.times_available, len(self)
        return all(times[j] == n for j in alternatives)

    @cached_property
    def total_weight(self) -> float:
        """Of all situations."""
        return float(len(self)) if self.weight is None else float(self.weight.sum())

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """Weights, ones when there are none; shape (N,)."""
        return np.ones(len(self)) if self.weight is None else self.weight

    def chosen(self) -> npt.NDArray[np.intp]:
        """The choices, or an error when these are situations without choices; shape (N,)."""
        if self.choice is None:
            raise ArdchoiceError(
                "These situations have no observed choices: they were read without a choice "
                "column. They can be predicted, not fitted or scored."
            )
        return self.choice

    def weights_text(self) -> str:
        """Their range, and what they sum to in the table; empty without weights."""
        if self.weight is None:
            return ""
        text = f"weights from {self.weight.min():.4g} to {self.weight.max():.4g}"
        if self.weight_scale == 1.0:
            return f"{text}, sum {self.total_weight:,.6g}"
        total = self.total_weight / self.weight_scale
        return f"{text}, scaled to mean one (sum in the table: {total:,.6g})"

    def unit(self, name: str) -> str:
        """The unit of an attribute or covariate; empty where none was given."""
        return "" if self.source is None else self.source.units.get(name, "")

    def label(self, name: str) -> str:
        """What reports call an attribute or covariate: its label, else its name."""
        return name if self.source is None else self.source.labels.get(name, name)

    def described(self, name: str) -> str:
        """Label and unit, ``travel time (min)``; the name where neither was given."""
        label, unit = self.label(name), self.unit(name)
        return f"{label} ({unit})" if unit else label

    def units_text(self, names: Iterable[str] | None = None) -> str:
        """What names stand for, ``TT: travel time (min); CO: CHF``; empty where nothing is given.

        Parameters
        ----------
        names
            Which. Default: all that have a label or a unit.
        """
        parts = []
        for name in [*self.attributes, *self.covariates] if names is None else names:
            label, unit = self.label(name), self.unit(name)
            if label != name:
                parts.append(f"{name}: {self.described(name)}")
            elif unit:
                parts.append(f"{name}: {unit}")
        return "; ".join(parts)

    def times_chosen(self) -> npt.NDArray[np.float64]:
        """How often each alternative was chosen, weights counted; shape (J,)."""
        choice, counts = self.chosen(), np.zeros(len(self.alternatives))
        for rows in self.ranges():
            weight = None if self.weight is None else self.weight[rows]
            counts += np.bincount(choice[rows], weight, minlength=len(counts))
        return counts

    def shares(self) -> pd.Series:
        """Observed (weighted) share of each alternative."""
        counts = self.times_chosen()
        return pd.Series(counts / counts.sum(), index=list(self.alternatives), name="share")

    def alternative(self, name: str) -> int:
        """Position of an alternative, or an error that lists the nearest names."""
        if name not in self.alternatives:
            raise ArdchoiceError(
                f"There is no alternative {name!r}. {did_you_mean(name, self.alternatives)}"
            )
        return self.alternatives.index(name)

    def __str__(self) -> str:
        return describe(self)

    def _repr_html_(self) -> str:
        return choices_html(self)

    def __repr__(self) -> str:
        persons = "" if self.person is None else f", {self.n_persons} persons"
        return (
            f"<ChoiceData: {len(self)} situations{persons}, {len(self.alternatives)} alternatives>"
        )

    # -- Parts of the data ------------------------------------------------------------------

    def take(self, rows: npt.ArrayLike) -> ChoiceData:
        """The choice situations at these positions (or where a mask is true), in that order."""
        asked = np.atleast_1d(np.asarray(rows))
        asked = asked if asked.size else asked.astype(np.intp)
        try:
            index = np.arange(len(self))[asked]
        except IndexError as error:
            raise ArdchoiceError(
                f"Rows are taken by positions below {len(self)}, or by a mask of that length."
            ) from error
        if self.is_memory_mapped:
            from ardchoice.data.compact import take_from_disk

            return take_from_disk(self, index)
        return self._taken(index)

    def _taken(self, index: npt.NDArray[np.intp]) -> ChoiceData:
        person, ids = None, None
        if self.person is not None:
            before = self.person[index]
            person = person_codes(before)
            ids = None if self.person_ids is None else self.ids_of(np.unique(before))
        return replace(
            self,
            mapped_from=None,
            available=self.available[:, index],
            choice=None if self.choice is None else self.choice[index],
            attributes={
                n: replace(a, values=a.values[:, index]) for n, a in self.attributes.items()
            },
            covariates={n: replace(c, values=c.values[index]) for n, c in self.covariates.items()},
            person=person,
            weight=None if self.weight is None else self.weight[index],
            situation=self.situation[index],
            person_ids=ids,
        )

    def with_choice(self, choice: npt.ArrayLike) -> ChoiceData:
        """The same situations with other choices (positions in `alternatives`); shape (N,)."""
        picked = np.array(choice, dtype=np.intp)
        known = (picked >= 0) & (picked < len(self.alternatives))
        rows = np.arange(len(self))
        if (
            picked.shape != (len(self),)
            or not known.all()
            or not self.available[picked, rows].all()
        ):
            raise ArdchoiceError(
                "Every situation needs one choice among its available alternatives."
            )
        return replace(self, choice=picked)

    def split(
        self, test: float = 0.3, *, seed: int = 0, by: Unit | None = None
    ) -> tuple[ChoiceData, ChoiceData]:
        """Two parts, by person whenever there are persons: (the rest, a share `test`)."""
        if not 0 < test < 1:
            raise ArdchoiceError(f"The share held out must lie between 0 and 1, not {test}.")
        unit, count = self._units(by)
        cut = round(count * test)
        if not 0 < cut < count:
            unit_name = "situations" if self.person is None or by == "situation" else "persons"
            raise ArdchoiceError(f"{count} {unit_name} cannot be split with a share of {test}.")
        held_out = np.zeros(count, dtype=bool)
        held_out[seeded(seed).permutation(count)[:cut]] = True
        return self.take(~held_out[unit]), self.take(held_out[unit])

    def folds(
        self, k: int = 5, *, seed: int = 0, by: Unit | None = None
    ) -> Iterator[tuple[ChoiceData, ChoiceData]]:
        """K pairs (the rest, one fold), by person whenever there are persons."""
        unit, count = self._units(by)
        if not 2 <= k <= count:
            raise ArdchoiceError(f"Between 2 and {count} folds can be made, not {k}.")
        fold = np.empty(count, dtype=int)
        fold[seeded(seed).permutation(count)] = np.arange(count) % k
        for i in range(k):
            held_out = fold[unit] == i
            yield self.take(~held_out), self.take(held_out)

    def _units(self, by: Unit | None) -> tuple[npt.NDArray[np.intp], int]:
        if by not in (None, "person", "situation"):
            raise ArdchoiceError(f"Data are split by 'person' or 'situation', not by {by!r}.")
        if by == "person" and self.person is None:
            raise ArdchoiceError("The data have no person ids; read them with person=...")
        if self.person is None or by == "situation":
            return np.arange(len(self)), len(self)
        return self.person, self.n_persons or 0


def must_be_choice_data(data: object) -> None:
    """Raise when a table comes where choices are wanted: the likeliest mistake of all."""
    if not isinstance(data, ChoiceData):
        raise ArdchoiceError(
            f"Expected choices, got {type(data).__name__}. Read the table first: "
            "data = ac.read_wide(table, ...) or ac.read_long(table, ...). New situations to be "
            "predicted: study.predict(table) reads them as the study's own; or with like=data and "
            "choice=None."
        )

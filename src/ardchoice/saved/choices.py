"""Choices, how they were read, and the space of terms, as they stand in a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from ardchoice.data import (
    Attribute,
    Categorical,
    ChoiceData,
    Covariate,
    Cut,
    Layout,
    Numeric,
    Recoding,
    Role,
    Source,
    TextFormat,
)
from ardchoice.errors import Problem
from ardchoice.saved.plain import Saved, one_of
from ardchoice.saved.shelf import Archive, Key, SavedValues
from ardchoice.settings import transform_text
from ardchoice.space import Rival, SearchSpace, SpaceOptions, Specification, parse_transform

SavedRole = Annotated[Any, one_of(Numeric, Categorical, Cut)]


class SavedSource(Saved):
    """`Source`."""

    layout: Layout
    path: str | None
    text: TextFormat | None
    alternatives: dict[str, str]
    attributes: dict[str, dict[str, str]]
    covariates: dict[str, str]
    roles: dict[str, SavedRole]
    choice: str | None
    availability: dict[str, str]
    situation: str | tuple[str, ...] | None
    alternative: str | None
    person: str | None
    weight: str | None
    drop_invalid: bool
    missing_values: tuple[str, ...] = ()

    @classmethod
    def of(cls, source: Source) -> SavedSource:
        """To be written."""
        return cls(**{name: getattr(source, name) for name in cls.model_fields})

    def restore(self) -> Source:
        """As it was."""
        roles: dict[str, Role] = self.roles
        inside = {name: getattr(self, name) for name in type(self).model_fields}
        return Source(**inside | {"roles": roles})


class SavedVariable(Saved):
    """`Attribute`, or `Covariate` where there are no alternatives."""

    name: str
    alternatives: tuple[int, ...] | None
    values: Key
    levels: tuple[str, ...] | None
    reference: int
    recoding: Recoding | None

    @classmethod
    def of(cls, prefix: str, variable: Attribute | Covariate, shelf: Archive) -> SavedVariable:
        """To be written."""
        return cls(
            name=variable.name,
            alternatives=variable.alternatives if isinstance(variable, Attribute) else None,
            values=shelf.put(prefix, variable.values),
            levels=variable.levels,
            reference=int(variable.reference),
            recoding=variable.recoding,
        )

    def attribute(self, shelf: Archive) -> Attribute:
        """As it was."""
        return Attribute(
            self.name,
            self.alternatives or (),
            shelf.array(self.values),
            self.levels,
            self.reference,
            self.recoding,
        )

    def covariate(self, shelf: Archive) -> Covariate:
        """As it was."""
        return Covariate(
            self.name, shelf.array(self.values), self.levels, self.reference, self.recoding
        )


class SavedChoices(Saved):
    """`ChoiceData`."""

    alternatives: tuple[str, ...]
    available: Key
    choice: Key | None
    attributes: tuple[SavedVariable, ...]
    covariates: tuple[SavedVariable, ...]
    person: Key | None
    weight: Key | None
    situation: SavedValues
    warnings: tuple[Problem, ...]
    source: SavedSource | None

    @classmethod
    def of(cls, data: ChoiceData, shelf: Archive) -> SavedChoices:
        """To be written."""

        def put(name: str, array: Any) -> Key | None:
            return None if array is None else shelf.put(f"choices/{name}", array)

        def variables(kind: str, named: Any) -> tuple[SavedVariable, ...]:
            # By number: a name may hold whatever a file cannot.
            return tuple(
                SavedVariable.of(f"choices/{kind}/{i}", v, shelf)
                for i, v in enumerate(named.values())
            )

        return cls(
            alternatives=data.alternatives,
            available=shelf.put("choices/available", data.available),
            choice=put("choice", data.choice),
            attributes=variables("attribute", data.attributes),
            covariates=variables("covariate", data.covariates),
            person=put("person", data.person),
            weight=put("weight", data.weight),
            situation=SavedValues.of("choices/situation", data.situation, shelf),
            warnings=data.warnings,
            source=None if data.source is None else SavedSource.of(data.source),
        )

    def restore(self, shelf: Archive) -> ChoiceData:
        """As it was."""
        return ChoiceData(
            alternatives=self.alternatives,
            available=shelf.array(self.available),
            choice=None if self.choice is None else shelf.array(self.choice),
            attributes={v.name: v.attribute(shelf) for v in self.attributes},
            covariates={v.name: v.covariate(shelf) for v in self.covariates},
            person=None if self.person is None else shelf.array(self.person),
            weight=None if self.weight is None else shelf.array(self.weight),
            situation=self.situation.restore(shelf),
            warnings=self.warnings,
            source=None if self.source is None else self.source.restore(),
        )


Forms = tuple[str, ...]


class SavedTold(Saved):
    """`SpaceOptions`; transforms and terms as text."""

    transforms: Forms | dict[str, Forms]
    by: tuple[str, ...]
    base: str | None
    attributes: tuple[str, ...] | None
    depth: int
    constants: bool
    generic: bool | tuple[str, ...]
    specific: bool
    interact_classes: bool
    add: tuple[str, ...]
    remove: tuple[str, ...]
    force: tuple[str, ...]

    @classmethod
    def of(cls, told: SpaceOptions, shelf: Archive) -> SavedTold:
        """To be written."""
        words = {name: getattr(told, name) for name in cls.model_fields}
        forms = told.transforms
        words["transforms"] = (
            {name: tuple(map(transform_text, some)) for name, some in forms.items()}
            if isinstance(forms, Mapping)
            else tuple(map(transform_text, forms))
        )
        return cls(**words | {"add": shelf.texts(told.add), "force": shelf.texts(told.force)})

    def restore(self, shelf: Archive) -> SpaceOptions:
        """As it was."""
        words = {name: getattr(self, name) for name in type(self).model_fields}
        forms = self.transforms
        words["transforms"] = (
            {name: tuple(map(parse_transform, some)) for name, some in forms.items()}
            if isinstance(forms, dict)
            else tuple(map(parse_transform, forms))
        )
        return SpaceOptions(
            **words | {"add": shelf.terms(self.add), "force": shelf.terms(self.force)}
        )


class SavedSpace(Saved):
    """`SearchSpace`."""

    base: str
    alternatives: tuple[str, ...]
    terms: tuple[str, ...]
    forced: tuple[str, ...]
    dropped: dict[str, str]
    columns: tuple[int, ...]
    told: SavedTold

    @classmethod
    def of(cls, space: SearchSpace, shelf: Archive) -> SavedSpace:
        """To be written."""
        return cls(
            base=space.base,
            alternatives=space.alternatives,
            terms=shelf.texts(space.terms),
            forced=shelf.texts(space.forced),
            dropped={shelf.text(term): reason for term, reason in space.dropped.items()},
            columns=tuple(space.columns.tolist()),
            told=SavedTold.of(space.told, shelf),
        )

    def restore(self, shelf: Archive) -> SearchSpace:
        """As it was."""
        return SearchSpace.of_parts(
            base=self.base,
            alternatives=self.alternatives,
            terms=shelf.terms(self.terms),
            forced=shelf.terms(self.forced),
            dropped={shelf.term(text): reason for text, reason in self.dropped.items()},
            columns=self.columns,
            told=self.told.restore(shelf),
        )


class SavedRival(Saved):
    """`Rival`."""

    out: tuple[str, ...]
    into: tuple[str, ...]
    cost: float

    @classmethod
    def of(cls, rival: Rival, shelf: Archive) -> SavedRival:
        """To be written."""
        return cls(out=shelf.texts(rival.out), into=shelf.texts(rival.into), cost=rival.cost)

    def restore(self, shelf: Archive) -> Rival:
        """As it was."""
        return Rival(shelf.terms(self.out), shelf.terms(self.into), self.cost)


class SavedSpecification(Saved):
    """`Specification`."""

    terms: tuple[str, ...]
    reasons: dict[str, str]
    near_ties: tuple[SavedRival, ...]
    rivals: dict[str, SavedRival]
    notes: tuple[str, ...]
    criterion: float | None
    measure: str
    margins: dict[str, float]

    @classmethod
    def of(cls, specification: Specification, shelf: Archive) -> SavedSpecification:
        """To be written."""
        s = specification
        return cls(
            terms=shelf.texts(s.terms),
            reasons={shelf.text(term): reason for term, reason in s.reasons.items()},
            near_ties=tuple(SavedRival.of(rival, shelf) for rival in s.near_ties),
            rivals={shelf.text(t): SavedRival.of(rival, shelf) for t, rival in s.rivals.items()},
            notes=s.notes,
            criterion=s.criterion,
            measure=s.measure,
            margins={shelf.text(term): float(margin) for term, margin in s.margins.items()},
        )

    def restore(self, shelf: Archive) -> Specification:
        """As it was."""
        return Specification(
            terms=shelf.terms(self.terms),
            reasons={shelf.term(text): reason for text, reason in self.reasons.items()},
            near_ties=tuple(rival.restore(shelf) for rival in self.near_ties),
            rivals={shelf.term(text): rival.restore(shelf) for text, rival in self.rivals.items()},
            notes=self.notes,
            criterion=self.criterion,
            measure=self.measure,
            margins={shelf.term(text): margin for text, margin in self.margins.items()},
        )

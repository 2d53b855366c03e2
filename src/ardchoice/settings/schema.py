"""`StudySettings`: one schema for study.toml, for Python objects and for saved studies.

What is declared elsewhere is not declared again: the keys of [model], [space], [structure],
[solver], [selection], most of [data] and those of a role are the fields of the dataclasses that use
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from dataclasses import Field as DataclassField
from functools import cache, reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializeAsAny,
    create_model,
    model_validator,
)

from ardchoice.ard import Dsvi, DsviPaper, Newton, Solver
from ardchoice.data import (
    Categorical,
    ChoiceData,
    Cut,
    Numeric,
    ReadingOptions,
    Role,
    TextOptions,
)
from ardchoice.errors import did_you_mean
from ardchoice.estimation import ScenarioOptions
from ardchoice.families import FAMILIES, Family
from ardchoice.formats import FORMATS
from ardchoice.selection import (
    RECOGNISED_SIGNS,
    Bic,
    Ebic,
    Evidence,
    FalseDiscovery,
    HeldOut,
    LambdaAbove,
    Rule,
    Structure,
)
from ardchoice.settings.tables import read_choices
from ardchoice.settings.values import (
    FIELD_BOUNDS,
    FILE_TYPES,
    Alternatives,
    ColumnOrSeveral,
    Columns,
    Count,
    ExpectedSigns,
    Names,
    SpecificationText,
    YesOrNames,
    as_tuple,
    as_validation_error,
    file_value,
    require_unique,
    shown,
    validation_error,
)
from ardchoice.space import SearchSpace, SpaceOptions

ROLE_CLASSES: dict[str, type[Role]] = {"numeric": Numeric, "categorical": Categorical, "cut": Cut}
SOLVER_CLASSES: dict[str, type[Solver]] = {"newton": Newton, "dsvi": Dsvi, "dsvi-paper": DsviPaper}
RULE_CLASSES: dict[str, type[Rule]] = {
    "ebic": Ebic,
    "bic": Bic,
    "held-out": HeldOut,
    "lambda-above": LambdaAbove,
    "evidence": Evidence,
    "false-discovery": FalseDiscovery,
}
"""Name in a study file -> the class whose fields are its keys; the first is the default."""
FIELD_KEYS: dict[type, dict[str, str]] = {HeldOut: {"seed": "fold_seed"}}
"""Fields of a class that have another key, since the section has one of this name already."""


def options_of(cls: Any) -> list[DataclassField[Any]]:
    """The fields of a class that are settings: not what estimation sets."""
    return [f for f in fields(cls) if not f.metadata.get("internal")]


class Section(BaseModel):
    """A part of the settings: frozen, and nothing in it that is not known."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    def make(self, cls: type[Made]) -> Made:
        """An object of the class whose fields are keys of this section."""
        keys = FIELD_KEYS.get(cls, {})
        names = [f.name for f in options_of(cls)]
        return cls(**{name: getattr(self, keys.get(name, name)) for name in names})


Made = TypeVar("Made")


def section(name: str, *classes: type, base: type[Section] = Section, **own: Any) -> type[Section]:
    """A section with keys of its own and those that the fields of dataclasses are."""
    keys: dict[str, Any] = dict(own)
    for cls in classes:
        hints = get_type_hints(cls, include_extras=True)
        for field in options_of(cls):
            key = FIELD_KEYS.get(cls, {}).get(field.name, field.name)
            if key in base.model_fields:
                continue  # which the base declares in the words of the file
            hint = FILE_TYPES.get(hints[field.name], hints[field.name])
            default = file_value(field.default)
            if field.default_factory is not MISSING:
                default = Field(default_factory=field.default_factory)
            keys.setdefault(key, (FIELD_BOUNDS.get(field.name, hint), default))
    return create_model(name, __base__=base, __doc__=classes[0].__doc__, **keys)


def _variants(tag: str, classes: Mapping[str, type], **own: Any) -> Any:
    """A section that has the keys of the class that its tag names."""
    default = next(iter(classes))

    def with_tag(value: Any) -> Any:
        return {tag: default, **value} if isinstance(value, Mapping) else value

    models = [
        section(f"{cls.__name__}Settings", cls, **{**own, tag: (Literal[name], name)})
        for name, cls in classes.items()
    ]
    any_of = reduce(or_, models)
    return Annotated[any_of, Field(discriminator=tag), BeforeValidator(with_tag)]


# -- What was observed ---------------------------------------------------------------------------


class RoleSettings(Section):
    """How one attribute or covariate is read: a column, and the fields of its role."""

    column: Columns = None
    kind: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _infer_kind(cls, value: Any) -> Any:
        """A text is a column; keys that belong to one kind say which it is."""
        if isinstance(value, str):
            return {"column": value}
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise validation_error(
                f"a column or a table such as {{kind = ...}} is wanted here, not {shown(value)}."
            )
        owners: dict[str, list[str]] = {}
        for name, role in ROLE_CLASSES.items():
            keys = {f.name for f in fields(role)}
            for key in keys if keys <= set(cls.model_fields) else ():
                owners.setdefault(key, []).append(name)
        empty: tuple[Any, ...] = (None, (), [], {}, 0.0)
        given = [k for k in sorted(set(value) & set(owners) - {"column"}) if value[k] not in empty]
        kind = value.get("kind")
        if kind is None and given:
            is_cut = any(owners[k] == ["cut"] for k in given)
            return {**value, "kind": "cut" if is_cut else "categorical"}
        for key in sorted(given, key=lambda k: (len(owners[k]), owners[k] != ["cut"])):
            if len(owners[key]) == 1 and kind != owners[key][0]:
                raise validation_error(
                    f"{key} belongs to kind = {owners[key][0]!r}, and this is {kind!r}."
                )
            if kind == "numeric":
                raise validation_error(f"{key} belongs to a categorical or cut one.")
        return value

    @model_validator(mode="after")
    def _check_cut(self) -> RoleSettings:
        cut = self.role()
        if not isinstance(cut, Cut):
            return self
        edges, labels = list(cut.edges), cut.labels
        if bool(edges) == (cut.quantiles is not None):
            raise validation_error(
                "a cut needs either edges, such as [30, 60], or quantiles, such as 4."
            )
        if edges != sorted(set(edges)):
            raise validation_error(f"edges ascend, such as [30, 60]; here they are {edges}.")
        if edges and labels is not None and len(labels) != len(edges) + 1:
            raise validation_error(
                f"{len(edges)} edges make {len(edges) + 1} classes, but there are "
                f"{len(labels)} labels."
            )
        return self

    def role(self) -> Role | None:
        """The role for `read_wide` and `read_long`; None where the kind is to be guessed."""
        return None if self.kind is None else self.make(ROLE_CLASSES[self.kind])


if TYPE_CHECKING:
    AttributeSettings = RoleSettings
    CovariateSettings = RoleSettings
else:
    AttributeSettings = section(
        "AttributeSettings",
        Numeric,
        Categorical,
        base=RoleSettings,
        kind=(Literal["numeric", "categorical"] | None, None),
    )
    CovariateSettings = section(
        "CovariateSettings",
        Categorical,
        Cut,
        base=RoleSettings,
        column=(str | None, None),
        kind=(Literal[tuple(ROLE_CLASSES)] | None, None),
    )


def _each(value: Any) -> Any:
    """``["GA", "AGE"]`` for a table of names."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, (list, tuple)):
        if not all(isinstance(v, str) for v in value):
            raise validation_error("a list of columns holds texts only.")
        return {name: {} for name in require_unique(tuple(value))}
    if not isinstance(value, Mapping):
        raise validation_error(f"a list of columns or a table is wanted here, not {shown(value)}.")
    # A column of the same name need not be named.
    return {name: _without_own_name(name, how) for name, how in value.items()}


def _without_own_name(name: str, how: Any) -> Any:
    if isinstance(how, Mapping) and how.get("column") == name:
        return {k: v for k, v in how.items() if k != "column"}
    return {} if how == name else how


class TableSettings(Section):
    """What was observed: the table, and what its columns are.

    Attributes
    ----------
    table
        The file, relative to the folder of the settings; None for a data frame.
    layout
        One row per choice situation (wide), or one per situation and alternative (long).
    alternatives
        Name -> code in the table; Default, in a long table: those that occur.
    choice
        Wide: the column with the code of what was chosen.
    situation, alternative, chosen
        Long: columns with the id of the situation (a list where only several together number
        them), the alternative's code, and 1 where chosen.
    attributes
        Of the alternatives.
    covariates
        Of the person or the situation.
    availability
        Wide: a pattern, or alternative -> column; Default: all always available.
    person, weight
        Columns.
    guesses
        Keys of this section that `ardchoice init` guessed and nobody has confirmed yet:
        `ardchoice run` stops at them. Default: none.
    """

    table: str | None = None
    layout: Literal["wide", "long"] = "wide"
    alternatives: Alternatives = None
    choice: str | None = None
    situation: ColumnOrSeveral = None
    alternative: str | None = None
    chosen: str | None = None
    availability: Columns = None
    person: str | None = None
    weight: str | None = None
    guesses: Names = ()
    attributes: Annotated[dict[str, AttributeSettings], BeforeValidator(_each)] = Field(
        default_factory=dict
    )
    covariates: Annotated[dict[str, CovariateSettings], BeforeValidator(_each)] = Field(
        default_factory=dict
    )

    @model_validator(mode="before")
    @classmethod
    def _spell_out(cls, value: Any) -> Any:
        return columns_by_alternative(value) if isinstance(value, Mapping) else value

    @model_validator(mode="after")
    def _check_text_options(self) -> TableSettings:
        as_validation_error(lambda: self.make(TextOptions))
        return self


if TYPE_CHECKING:

    class DataSettings(TableSettings):
        """Also every option of reading."""

        def __getattr__(self, name: str) -> Any: ...

else:
    DataSettings = section("DataSettings", ReadingOptions, base=TableSettings)


def columns_by_alternative(data: Mapping[str, Any]) -> dict[str, Any]:
    """``HE = {TRAIN = "TRAIN_HE"}`` spelt out as ``HE = {column = {TRAIN = "TRAIN_HE"}}``."""
    attributes, alternatives = data.get("attributes"), data.get("alternatives")
    if not isinstance(attributes, Mapping) or not isinstance(alternatives, (list, Mapping)):
        return dict(data)
    names, words = set(map(str, alternatives)), set(AttributeSettings.model_fields)
    plain = {
        name: {"column": how}
        if isinstance(how, Mapping) and how and set(how) <= names and not set(how) <= words
        else how
        for name, how in attributes.items()
    }
    return {**data, "attributes": plain}


# -- What could matter, what must hold, how relevance is found, how many terms are enough ---------


class StructureSwitch(Section):
    """Whether there are rules; ``rules = false`` for none."""

    rules: bool = True

    @model_validator(mode="after")
    def _none_or_some(self) -> StructureSwitch:
        others = self.model_dump(exclude_defaults=True, exclude={"rules"})
        if others and not self.rules:
            raise validation_error(
                f"rules = false means no rules at all, and {', '.join(others)} would be one. "
                "Remove the one or the other."
            )
        return self


if TYPE_CHECKING:
    SpaceSettings = Any
    StructureSettings = Any
    AnySolver = Any
    AnySelection = Any
    Exports = tuple[str, ...]
else:
    # A study file has generic coefficients among its candidates: textbook models have them.
    SpaceSettings = section("SpaceSettings", SpaceOptions, generic=(YesOrNames, True))
    StructureSettings = section(
        "StructureSettings",
        Structure,
        base=StructureSwitch,
        signs=(ExpectedSigns, RECOGNISED_SIGNS),
    )
    AnySolver = _variants("method", SOLVER_CLASSES)
    AnySelection = _variants("rule", RULE_CLASSES, honest=(bool, False), seed=(Count, 0))
    Exports = Annotated[tuple[Literal[tuple(FORMATS)], ...], BeforeValidator(as_tuple)]


AUTO: Literal["auto"] = "auto"
"""In place of a family: several are compared."""


class ModelSettings(Section):
    """The family, by its tag; a section of a family has the family's options too.

    Families are registered as they are imported, also by users, so that sections are made when a
    file names one.
    """

    family: str = "mnl"

    def make_family(self) -> Family | Literal["auto"]:
        """The family with its options; or that families are to be compared."""
        return AUTO if self.family == AUTO else self.make(FAMILIES[self.family])

    @model_validator(mode="after")
    def _check_options(self) -> ModelSettings:
        as_validation_error(self.make_family)
        return self


@cache
def family_section(cls: type[Family]) -> type[ModelSettings]:
    """The section of a family: its tag, and the fields of its class."""
    if TYPE_CHECKING:
        return ModelSettings
    own = {"family": (Literal[cls.tag], cls.tag)}
    return section(f"{cls.__name__}Settings", cls, base=ModelSettings, **own)


def _read_family(value: Any) -> Any:
    if isinstance(value, ModelSettings):
        return value
    if not isinstance(value, Mapping):
        raise validation_error(f"a table is wanted here, not {shown(value)}.")
    tag = value.get("family", "mnl")
    if tag == AUTO:
        return ModelSettings.model_validate(dict(value))
    if not isinstance(tag, str) or tag not in FAMILIES:
        known = [*FAMILIES, AUTO]
        raise validation_error(f"there is no family {tag!r}. {did_you_mean(str(tag), known)}")
    return family_section(FAMILIES[tag]).model_validate(dict(value))


AnyFamily = Annotated[SerializeAsAny[ModelSettings], BeforeValidator(_read_family)]


# -- What is predicted -----------------------------------------------------------------------------


def _scenario(value: Any) -> Any:
    """A change, or a list of changes, for a table with them."""
    return {"changes": value} if isinstance(value, (str, list, tuple)) else value


if TYPE_CHECKING:
    AnyScenario = Any
else:
    AnyScenario = Annotated[
        section("ScenarioSettings", ScenarioOptions), BeforeValidator(_scenario)
    ]


# -- What is written -------------------------------------------------------------------------------


class OutputSettings(Section):
    """What is worked out and written besides the model.

    Attributes
    ----------
    folder
        Where `run` writes, relative to the folder of the settings.
    folds
        Of persons, for held-out figures; 0 for none.
    search_in_folds
        Whether the selection is repeated in every fold, or only the estimation.
    stability_pairs
        Pairs of halves of the persons on which the selection is repeated; 0 for none.
    exports
        Packages to write a script for.
    compare
        Name -> specification to compare with the selected one.
    """

    folder: Annotated[str, Field(min_length=1)] = "results"
    folds: Annotated[int, Field(ge=0, le=1000)] = 5
    search_in_folds: bool = False
    stability_pairs: Annotated[int, Field(ge=0, le=100_000)] = 0
    exports: Exports = tuple(FORMATS)
    compare: dict[str, SpecificationText] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _enough_folds(self) -> OutputSettings:
        if self.folds == 1:
            raise validation_error(
                "folds is 0 for none, or 2 and more; one fold leaves nothing to fit on."
            )
        return self


class StudySettings(Section):
    """Everything that says how a study is made.

    Made by `read_settings` from a file and by `settings_of` from a study; the methods make the
    Python objects.
    """

    data: DataSettings = Field(default_factory=DataSettings)
    model: AnyFamily = Field(default={}, validate_default=True)
    space: SpaceSettings = Field(default={}, validate_default=True)
    structure: StructureSettings = Field(default={}, validate_default=True)
    solver: AnySolver = Field(default={}, validate_default=True)
    selection: AnySelection = Field(default={}, validate_default=True)
    output: OutputSettings = Field(default_factory=OutputSettings)
    scenarios: dict[str, AnyScenario] = Field(default_factory=dict)

    def read_choices(
        self,
        folder: str | Path = ".",
        *,
        table: object = None,
        like: ChoiceData | None = None,
        observed: bool = True,
    ) -> ChoiceData:
        """Read the table.

        Parameters
        ----------
        folder
            Of the settings: the table's path is relative to it.
        table
            Another table (a path or a data frame) to be read the same way.
        like
            Earlier data whose recoding of levels is to be repeated (for prediction).
        observed
            Whether there are choices, or situations to be predicted.

        Returns
        -------
        ChoiceData
        """
        return read_choices(self.data, folder, table=table, like=like, observed=observed)

    def make_family(self) -> Family | Literal["auto"]:
        """How utilities become probabilities."""
        return self.model.make_family()

    def make_scenarios(self) -> dict[str, ScenarioOptions]:
        """Name -> what changes."""
        return {name: one.make(ScenarioOptions) for name, one in self.scenarios.items()}

    def make_space(self, data: ChoiceData) -> SearchSpace:
        """The search space on these data."""
        return SearchSpace(data, **dict(self.space))

    def make_structure(self) -> Structure | None:
        """What every specification must obey; None for no rules."""
        return self.structure.make(Structure) if self.structure.rules else None

    def make_solver(self) -> Solver:
        """The solver of relevance."""
        return self.solver.make(SOLVER_CLASSES[self.solver.method])  # type: ignore[no-any-return]

    def make_rule(self) -> Rule:
        """How many terms are enough."""
        return self.selection.make(RULE_CLASSES[self.selection.rule])  # type: ignore[no-any-return]

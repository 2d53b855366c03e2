"""`StudySettings`: one schema for study.toml, for Python objects and for saved studies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from ardchoice.ard import Solver
from ardchoice.data import ChoiceData, Role
from ardchoice.selection import Rule, Structure
from ardchoice.settings import to_python as make
from ardchoice.settings.values import (
    Above,
    Alternatives,
    ColumnOrSeveral,
    Columns,
    Count,
    Groups,
    Label,
    Labels,
    Merged,
    Names,
    Numbers,
    OneForm,
    Patterns,
    Positive,
    SpecificationText,
    Terms,
    Transforms,
    YesOrNames,
    as_tuple,
    once,
    shown,
    wrong,
)
from ardchoice.space import SearchSpace

Package = Literal["biogeme", "pylogit", "xlogit", "apollo", "text", "latex"]
PACKAGES: tuple[Package, ...] = ("biogeme", "pylogit", "xlogit", "apollo", "text", "latex")

OF_CATEGORIES = ("levels", "merge", "pool_below")
OF_CUTS = ("edges", "quantiles", "labels")
OF_LEVELS = ("reference", "missing")


class Section(BaseModel):
    """A part of the settings: frozen, and nothing in it that is not known."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


# -- What was observed ---------------------------------------------------------------------------


class AttributeSettings(Section):
    """How one attribute of the alternatives is read.

    Attributes
    ----------
    column
        A pattern such as ``"{alt}_TT"``, or alternative -> column; in a long table the column, the
        attribute's own name unless told.
    kind
        ``"numeric"`` or ``"categorical"``; by what the column looks like unless told.
    levels, reference, merge, pool_below, missing
        Of a categorical one, as in `Categorical`.
    """

    column: Columns = None
    kind: Literal["numeric", "categorical"] | None = None
    levels: Labels | None = None
    reference: Label | None = None
    merge: dict[str, Merged] = Field(default_factory=dict)
    pool_below: Annotated[float, Field(ge=0, lt=1)] = 0.0
    missing: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _infer_kind(cls, value: Any) -> Any:
        return _with_kind(value, {"categorical": (*OF_CATEGORIES, *OF_LEVELS)})

    def role(self) -> Role | None:
        """The role for `read_wide` and `read_long`; None where the kind is to be guessed."""
        return make.role(self)


class CovariateSettings(Section):
    """How one fact about the person is read.

    Attributes
    ----------
    column
        The covariate's own name unless told.
    kind
        ``"numeric"``, ``"categorical"`` or ``"cut"``; by what the column looks like unless told.
    levels, reference, merge, pool_below, missing
        As in `Categorical`.
    edges, quantiles, labels
        As in `Cut`.
    """

    column: str | None = None
    kind: Literal["numeric", "categorical", "cut"] | None = None
    levels: Labels | None = None
    reference: Label | None = None
    merge: dict[str, Merged] = Field(default_factory=dict)
    pool_below: Annotated[float, Field(ge=0, lt=1)] = 0.0
    missing: str | None = None
    edges: Numbers = ()
    quantiles: Annotated[int, Field(ge=2, le=100)] | None = None
    labels: Labels | None = None

    @model_validator(mode="before")
    @classmethod
    def _infer_kind(cls, value: Any) -> Any:
        of_kind = {"cut": OF_CUTS, "categorical": OF_CATEGORIES}
        return _with_kind(value, of_kind, OF_LEVELS)

    @model_validator(mode="after")
    def _check_cut(self) -> CovariateSettings:
        if self.kind != "cut":
            return self
        if bool(self.edges) == (self.quantiles is not None):
            raise wrong("a cut needs either edges, such as [30, 60], or quantiles, such as 4.")
        if list(self.edges) != sorted(set(self.edges)):
            raise wrong(f"edges ascend, such as [30, 60]; here they are {list(self.edges)}.")
        if self.edges and self.labels is not None and len(self.labels) != len(self.edges) + 1:
            raise wrong(
                f"{len(self.edges)} edges make {len(self.edges) + 1} classes, but there are "
                f"{len(self.labels)} labels."
            )
        return self

    def role(self) -> Role | None:
        """The role for `read_wide` and `read_long`; None where the kind is to be guessed."""
        return make.role(self)


def _with_kind(
    value: Any, of_kind: Mapping[str, tuple[str, ...]], of_both: tuple[str, ...] = ()
) -> Any:
    """A text is a column; keys that belong to one kind say which it is."""
    if isinstance(value, str):
        return {"column": value}
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise wrong(
            f"a column or a table such as {{kind = ...}} is wanted here, not {shown(value)}."
        )
    keys = {k for k in value if value[k] not in (None, (), [], {}, 0.0)}
    kind = value.get("kind")
    if kind is None:
        implied = [k for k, mine in of_kind.items() if keys & set(mine)]
        if not implied and keys & set(of_both):
            implied = ["categorical"]
        return {**value, "kind": implied[0]} if implied else value
    for other, mine in of_kind.items():
        stray = sorted(keys & set(mine))
        if stray and kind != other:
            raise wrong(f"{stray[0]} belongs to kind = {other!r}, and this is {kind!r}.")
    if kind == "numeric" and keys & set(of_both):
        raise wrong(f"{sorted(keys & set(of_both))[0]} belongs to a categorical or cut one.")
    return value


def _each(value: Any) -> Any:
    """``["GA", "AGE"]`` for a table of names."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, (list, tuple)):
        if not all(isinstance(v, str) for v in value):
            raise wrong("a list of columns holds texts only.")
        return {name: {} for name in once(tuple(value))}
    if not isinstance(value, Mapping):
        raise wrong(f"a list of columns or a table is wanted here, not {shown(value)}.")
    # A column of the same name need not be said.
    return {name: _without_own_name(name, how) for name, how in value.items()}


def _without_own_name(name: str, how: Any) -> Any:
    if isinstance(how, Mapping) and how.get("column") == name:
        return {k: v for k, v in how.items() if k != "column"}
    return {} if how == name else how


class DataSettings(Section):
    """What was observed.

    Attributes
    ----------
    table
        The file, relative to the folder of the settings; None for a data frame.
    layout
        One row per choice situation (wide), or one per situation and alternative (long).
    alternatives
        Name -> code in the table; in a long table those that occur unless told.
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
        Wide: a pattern, or alternative -> column; all always available unless told.
    person, weight
        Columns.
    drop_invalid
        Whether to leave out rows with errors.
    missing_values
        Values that stand for missing ones in attributes and covariates.
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
    drop_invalid: bool = False
    missing_values: Labels = ()
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


# -- What could matter, and what must hold -------------------------------------------------------


class SpaceSettings(Section):
    """What could matter: the words of `SearchSpace`, under the same names."""

    transforms: Transforms = ("linear",)
    by: Names = ()
    base: Label | None = None
    attributes: Names | None = None
    depth: Annotated[int, Field(ge=0, le=10)] = 1
    constants: bool = True
    generic: YesOrNames = False
    specific: bool = True
    interact_classes: bool = False
    add: Terms = ()
    remove: Patterns = ()
    force: Terms = ()


class StructureSettings(Section):
    """What every specification must obey: the words of `Structure`; ``rules = false`` for none."""

    rules: bool = True
    heredity: bool = True
    one_form: OneForm = True
    linear_unless: Annotated[float, Field(ge=0)] = 2.0
    constants: bool = True
    signs: dict[str, Literal["-", "+"]] = Field(default_factory=dict)
    force: Patterns = ()
    forbid: Patterns = ()
    exclusive: Groups = ()
    together: Groups = ()
    max_terms: Count | None = None
    max_coefficients: Count | None = None

    @model_validator(mode="after")
    def _none_or_some(self) -> StructureSettings:
        others = self.model_dump(exclude_defaults=True, exclude={"rules"})
        if not self.rules and others:
            raise wrong(
                f"rules = false means no rules at all, and {', '.join(others)} would be one. "
                "Remove the one or the other."
            )
        return self


# -- How relevance is found, and how many terms are enough -----------------------------------------


class NewtonSettings(Section):
    """The deterministic solver; see `Newton`."""

    method: Literal["newton"] = "newton"
    posterior: Literal["full", "diagonal"] = "diagonal"
    max_passes: Positive = 100
    start: Above = 0.1
    sample: Count | None = None


class DsviSettings(Section):
    """Stochastic variational inference; see `Dsvi`."""

    method: Literal["dsvi"] = "dsvi"
    max_epochs: Positive = 400
    batches: Positive = 20
    tolerance: Above = 0.05
    quiet: Positive = 3
    start: Above = 0.1
    seed: Count = 0


class DsviPaperSettings(Section):
    """The published algorithm and schedule; see `Dsvi.paper`."""

    method: Literal["dsvi-paper"] = "dsvi-paper"
    steps: Positive = 400_000
    batches: Positive = 20
    learning_rate: Above = 0.8
    scale_rate: Above = 0.1
    decay: Annotated[float, Field(gt=0, le=1)] = 0.95
    decay_every: Positive = 1000
    start_scale: Above = 0.1
    seed: Count = 0
    record_every: Positive = 100


class SelectionSettings(Section):
    """What all rules have: `honest` and `seed` of `specify`."""

    honest: bool = False
    seed: Count = 0


class EbicSettings(SelectionSettings):
    """The smallest extended BIC; see `Ebic`."""

    rule: Literal["ebic"] = "ebic"
    gamma: Annotated[float, Field(ge=0)] | None = None
    noise: Above = 0.1


class BicSettings(SelectionSettings):
    """The smallest BIC; see `Bic`."""

    rule: Literal["bic"] = "bic"
    weight: Above = 1.0


class HeldOutSettings(SelectionSettings):
    """The penalty that predicts other people best; see `HeldOut`.

    `fold_seed` is that of the folds; `seed` unless told.
    """

    rule: Literal["held-out"] = "held-out"
    folds: Annotated[int, Field(ge=2, le=1000)] = 5
    weights: Annotated[Numbers, Field(min_length=1)] = (0.25, 0.5, 1.0, 2.0)
    fold_seed: Count = 0

    @model_validator(mode="after")
    def _positive(self) -> HeldOutSettings:
        if min(self.weights) <= 0:
            raise wrong("weights of a penalty are positive.")
        return self


class LambdaAboveSettings(SelectionSettings):
    """Terms whose λ exceeds a threshold; see `LambdaAbove`."""

    rule: Literal["lambda-above"] = "lambda-above"
    threshold: Annotated[float, Field(ge=0)] = 0.002


class EvidenceSettings(SelectionSettings):
    """Terms without which the evidence falls; see `Evidence`."""

    rule: Literal["evidence"] = "evidence"
    above: float = 3.0


class FalseDiscoverySettings(SelectionSettings):
    """Terms found with a bound on the share of false ones; see `FalseDiscovery`."""

    rule: Literal["false-discovery"] = "false-discovery"
    q: Annotated[float, Field(gt=0, lt=1)] = 0.05


def _tagged(tag: str, default: str) -> BeforeValidator:
    """The first member of a union unless told which."""

    def tell(value: Any) -> Any:
        return {tag: default, **value} if isinstance(value, Mapping) else value

    return BeforeValidator(tell)


AnySolver = Annotated[
    NewtonSettings | DsviSettings | DsviPaperSettings,
    Field(discriminator="method"),
    _tagged("method", "newton"),
]
AnySelection = Annotated[
    EbicSettings
    | BicSettings
    | HeldOutSettings
    | LambdaAboveSettings
    | EvidenceSettings
    | FalseDiscoverySettings,
    Field(discriminator="rule"),
    _tagged("rule", "ebic"),
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
        Name -> specification to be set beside the one found.
    """

    folder: Annotated[str, Field(min_length=1)] = "results"
    folds: Annotated[int, Field(ge=0, le=1000)] = 5
    search_in_folds: bool = False
    stability_pairs: Annotated[int, Field(ge=0, le=100_000)] = 0
    exports: Annotated[tuple[Package, ...], BeforeValidator(as_tuple)] = PACKAGES
    compare: dict[str, SpecificationText] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _enough_folds(self) -> OutputSettings:
        if self.folds == 1:
            raise wrong("folds is 0 for none, or 2 and more; one fold leaves nothing to fit on.")
        return self


class StudySettings(Section):
    """Everything that says how a study is made.

    Made by `read_settings` from a file and by `settings_of` from a study; the methods make the
    Python objects.
    """

    data: DataSettings = Field(default_factory=DataSettings)
    space: SpaceSettings = Field(default_factory=SpaceSettings)
    structure: StructureSettings = Field(default_factory=StructureSettings)
    solver: AnySolver = Field(default_factory=NewtonSettings)
    selection: AnySelection = Field(default_factory=EbicSettings)
    output: OutputSettings = Field(default_factory=OutputSettings)

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
        return make.choices(self.data, folder, table=table, like=like, observed=observed)

    def make_space(self, data: ChoiceData) -> SearchSpace:
        """The search space on these data."""
        return make.space(self.space, data)

    def make_structure(self) -> Structure | None:
        """What every specification must obey; None for no rules."""
        return make.structure(self.structure)

    def make_solver(self) -> Solver:
        """The solver of relevance."""
        return make.solver(self.solver)

    def make_rule(self) -> Rule:
        """How many terms are enough."""
        return make.rule(self.selection)

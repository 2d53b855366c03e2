"""Whether the parts of the settings agree: roles of a layout, names of one part in another."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ardchoice.errors import ArdchoiceError, Mistake, did_you_mean
from ardchoice.settings.lines import Key
from ardchoice.space import Term, parse_specification, parse_term

if TYPE_CHECKING:
    from ardchoice.settings.schema import DataSettings, StudySettings

NEEDED_KEYS = {
    "wide": {
        "alternatives": "name = code of every alternative, such as {car = 1, bus = 2}",
        "choice": "the column with the code of what was chosen",
    },
    "long": {
        "situation": "the column with the id of the choice situation, or a list of columns",
        "alternative": "the column with the name or code of the alternative",
        "chosen": "the column with 1 in the row of the chosen alternative",
    },
}
"""Layout -> what must be said of its columns, and what that is."""
STRAY_KEYS = {"wide": ("situation", "alternative", "chosen"), "long": ("choice", "availability")}


def name_mistakes(
    settings: StudySettings, raw: Mapping[str, Any], complete: bool
) -> Iterator[Mistake]:
    """Every mistake between parts.

    Parameters
    ----------
    settings
        What could be read.
    raw
        What the file says, so that what was misspelt elsewhere is not said to be missing here.
    complete
        Whether a table and its roles must be given.
    """
    said = raw.get("data", {})
    if not isinstance(said, Mapping):
        return  # which is said elsewhere
    data = settings.data
    given = said.get("alternatives")
    if isinstance(given, (list, Mapping)) and len(given) != len(data.alternatives or ()):
        data = data.model_copy(update={"alternatives": None})  # some of them could not be read
    if complete:
        yield from (m for m in missing_mistakes(data) if m.key[1] not in said)
    yield from column_mistakes(data)
    if said.get("attributes") or said.get("covariates"):
        yield from _Names(data, said).mistakes(settings)


def missing_mistakes(data: DataSettings) -> Iterator[Mistake]:
    """What a layout needs and does not have."""
    if data.table is None:
        yield Mistake(("data", "table"), 'is missing: the path of the table, table = "..."')
    for key, what in NEEDED_KEYS[data.layout].items():
        if getattr(data, key) is None:
            yield Mistake(("data", key), f"is missing: {what}. The layout is {data.layout!r}.")


def column_mistakes(data: DataSettings) -> Iterator[Mistake]:
    """What a layout has and cannot use, and columns that are no columns of it."""
    for key in STRAY_KEYS[data.layout]:
        if getattr(data, key) is not None:
            needed = ", ".join(NEEDED_KEYS[data.layout])
            yield Mistake(
                ("data", key), f"is not for the layout {data.layout!r}, which has: {needed}."
            )
    both = sorted(set(data.attributes) & set(data.covariates))
    for name in both:
        yield Mistake(
            ("data", "covariates", name),
            'is both an attribute and a covariate; give one another name: new_name = "column".',
        )
    where = {name: a.column or name for name, a in data.attributes.items()}
    if data.layout == "long":
        for name, column in where.items():
            if isinstance(column, Mapping):
                said = "a long table has one column for an attribute, not one per alternative."
                yield Mistake(("data", "attributes", name), said)
        return
    for name, column in where.items():
        yield from _wide_column(("data", "attributes", name), name, column, data)
    if data.availability is not None:
        yield from _wide_column(("data", "availability"), "AV", data.availability, data)


def _wide_column(
    key: Key, name: str, column: str | Mapping[str, str], data: DataSettings
) -> Iterator[Mistake]:
    """A pattern needs its place for the alternative; a table needs alternatives that exist."""
    if isinstance(column, Mapping):
        for alternative in column:
            if data.alternatives is not None and alternative not in data.alternatives:
                hint = did_you_mean(alternative, data.alternatives)
                yield Mistake(key, f"there is no alternative {alternative!r}. {hint}")
    elif not isinstance(column, str) or "{alt}" not in column:
        said = "has no column" if column is None else f"{column!r} has no '{{alt}}' in it"
        yield Mistake(
            key,
            f'{said}. Write a pattern such as "{{alt}}_{name}", or a table alternative = '
            "column; what does not differ between alternatives is a covariate.",
        )


class _Names:
    """The names that the data section gives, for the other sections to use."""

    def __init__(self, data: DataSettings, said: Mapping[str, Any]) -> None:
        # A name counts as known even where what is said of it is wrong.
        self.attributes = dict.fromkeys([*data.attributes, *_strings(said.get("attributes"))])
        self.covariates = dict.fromkeys([*data.covariates, *_strings(said.get("covariates"))])
        self.alternatives = data.alternatives

    def mistakes(self, settings: StudySettings) -> Iterator[Mistake]:
        """Every name that is not known."""
        space = settings.space
        for i, name in enumerate(space.by):
            yield from self._covariate(("space", "by", i), name)
        if space.base is not None:
            yield from self._alternative(("space", "base"), space.base)
        for i, name in enumerate(space.attributes or ()):
            yield from self._attribute(("space", "attributes", i), name)
        for i, name in enumerate(() if isinstance(space.generic, bool) else space.generic):
            yield from self._attribute(("space", "generic", i), name)
        for name in settings.structure.signs:
            yield from self._attribute(("structure", "signs", name), name)
        if isinstance(space.transforms, Mapping):
            for name in space.transforms:
                yield from self._form(("space", "transforms", name), name)
        for key, terms in (("add", space.add), ("force", space.force)):
            for text in terms:
                yield from self._term(("space", key), parse_term(text))
        for name, text in settings.output.compare.items():
            for term in parse_specification(text).terms:
                yield from self._term(("output", "compare", name), term)

    def _form(self, key: Key, name: str) -> Iterator[Mistake]:
        if ":" not in name or name in self.attributes:
            yield from self._attribute(key, name)
            return
        try:
            yield from self._term(key, parse_term(name))
        except ArdchoiceError as error:
            yield Mistake(key, str(error))

    def _term(self, key: Key, term: Term) -> Iterator[Mistake]:
        for name in term.where:
            yield from self._alternative(key, name, f"in '{term}': ")
        if term.what is not None:
            yield from self._attribute(key, term.what, f"in '{term}': ")
        for name in term.by:
            yield from self._covariate(key, name, f"in '{term}': ")

    def _attribute(self, key: Key, name: str, where: str = "") -> Iterator[Mistake]:
        yield from _unknown(key, f"{where}there is no attribute {name!r}", name, self.attributes)

    def _covariate(self, key: Key, name: str, where: str = "") -> Iterator[Mistake]:
        yield from _unknown(key, f"{where}there is no covariate {name!r}", name, self.covariates)

    def _alternative(self, key: Key, name: str, where: str = "") -> Iterator[Mistake]:
        if self.alternatives is not None:
            said = f"{where}there is no alternative {name!r}"
            yield from _unknown(key, said, name, self.alternatives)


def _unknown(key: Key, said: str, name: str, known: Collection[str]) -> Iterator[Mistake]:
    if name not in known:
        yield Mistake(key, f"{said} in [data]. {did_you_mean(name, known)}")


def _strings(value: object) -> list[str]:
    if isinstance(value, (Mapping, list)):
        return [name for name in value if isinstance(name, str)]
    return []

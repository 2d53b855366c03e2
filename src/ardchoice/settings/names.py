"""Whether the parts of the settings agree: roles of a layout, names of one part in another."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ardchoice.data import LONGEST_LABEL, LONGEST_UNIT, text_mistake
from ardchoice.errors import ArdchoiceError, Mistake, did_you_mean
from ardchoice.settings.lines import Key
from ardchoice.space import Ratio, column_of, parse_specification, parse_term

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
        yield from _unknown_names(settings, data, said)


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


def _unknown_names(
    settings: StudySettings, data: DataSettings, said: Mapping[str, Any]
) -> Iterator[Mistake]:
    """Names in other sections that the data section does not give."""
    # A name counts as known even where what is said of it is wrong.
    known: dict[str, Collection[str] | None] = {
        "attribute": [*data.attributes, *_strings(said.get("attributes"))],
        "covariate": [*data.covariates, *_strings(said.get("covariates"))],
        "alternative": data.alternatives,
    }
    for key, kind, name, where in _names_used(settings, known["attribute"] or ()):
        names = known.get(kind)
        if kind == "mistake":
            yield Mistake(key, name)
        elif names is not None and name not in names:
            hint = did_you_mean(name, list(dict.fromkeys(names)))
            yield Mistake(key, f"{where}there is no {kind} {name!r} in [data]. {hint}")


def _names_used(
    settings: StudySettings, attributes: Collection[str]
) -> Iterator[tuple[Key, str, str, str]]:
    """Key, kind of name, name, and the term that it stands in."""
    space, structure = settings.space, settings.structure
    for key, most in (("units", LONGEST_UNIT), ("labels", LONGEST_LABEL)):
        for name, text in getattr(settings.data, key).items():
            refused = text_mistake(text, most)
            if refused:
                yield ("data", key, name), "mistake", refused, ""
            yield from _factor_used(settings, ("data", key, name), name, "", attributes)
    for i, name in enumerate(space.by):
        yield from _factor_used(settings, ("space", "by", i), name, "", attributes)
    if space.base is not None:
        yield ("space", "base"), "alternative", space.base, ""
    for key in ("attributes", "generic"):
        listed = getattr(space, key)
        for i, name in enumerate(listed if isinstance(listed, tuple) else ()):
            yield ("space", key, i), "attribute", name, ""
    for name in structure.signs if isinstance(structure.signs, Mapping) else ():
        yield ("structure", "signs", name), "attribute", name, ""
    texts: list[tuple[Key, str]] = []
    for name in space.transforms if isinstance(space.transforms, Mapping) else ():
        place: Key = ("space", "transforms", name)
        if ":" in name and name not in attributes:
            texts.append((place, name))
        else:
            yield place, "attribute", name, ""
    texts += [(("space", key), text) for key in ("add", "force") for text in getattr(space, key)]
    texts += [(("output", "compare", n), text) for n, text in settings.output.compare.items()]
    for place, text in texts:
        try:
            terms = (parse_term(text),) if place[0] == "space" else parse_specification(text).terms
        except ArdchoiceError as error:
            yield place, "mistake", str(error), ""
            continue
        for term in terms:
            where = f"in '{term}': "
            yield from ((place, "alternative", name, where) for name in term.where)
            if term.what is not None:
                yield place, "attribute", term.what, where
            for name in term.by:
                yield from _factor_used(settings, place, name, where, attributes)
            if isinstance(term.how, Ratio):
                yield place, "covariate", term.how.covariate, where


def _factor_used(
    settings: StudySettings, key: Key, text: str, where: str, attributes: Collection[str]
) -> Iterator[tuple[Key, str, str, str]]:
    """The column that an interaction is with: a covariate, unless it is an attribute."""
    name = column_of(text, settings.data.covariates)
    is_attribute = name in attributes and name not in settings.data.covariates
    yield key, "attribute" if is_attribute else "covariate", name, where


def _strings(value: object) -> list[str]:
    if isinstance(value, (Mapping, list)):
        return [name for name in value if isinstance(name, str)]
    return []

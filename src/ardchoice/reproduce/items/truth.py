"""Item 1: the true specifications and the sizes of the spaces."""

from __future__ import annotations

from collections.abc import Sequence

from ardchoice.data import NOISE_PREFIX, swissmetro_choices, swissmetro_specification
from ardchoice.report import Cell, Table
from ardchoice.reproduce.document import Section
from ardchoice.reproduce.jobs import Job
from ardchoice.reproduce.plan import Item, Plan, Results
from ardchoice.reproduce.published import LARGE_SPECIFICATIONS, MEDIUM_SPECIFICATIONS, published
from ardchoice.space import SearchSpace, Term, parse_specification, swissmetro_space

ALTERNATIVES = ("TRAIN", "SM", "CAR")


def _jobs(plan: Plan) -> list[Job]:
    return []


def _section(plan: Plan, results: Results) -> Section:
    data = swissmetro_choices()
    spaces = {
        "medium": swissmetro_space(data, "medium"),
        "large": swissmetro_space(data, "large"),
        "extreme": swissmetro_space(swissmetro_choices(noise_to=1000), "extreme"),
    }
    same = all(_is_published(name, space) for name, space in spaces.items())
    verdict = "All three sizes" if same else "NOT all sizes"
    text = [
        "Choices are drawn from each of nine true specifications fitted to the real choices, and a "
        "solver is asked to find its terms again among all of a space. log1p(x) is log(1 + x), "
        "boxcox(x, 1) a Box-Cox transform of 1 + x; an interaction has a column for every level of "
        "its covariate but the last.",
        f"{verdict} are the published ones, in total and by alternative.",
    ]
    return Section("specifications", "True specifications and search spaces", text, _tables(spaces))


def _tables(spaces: dict[str, SearchSpace]) -> list[Table]:
    rows: list[list[Cell]] = []
    for name in dict.fromkeys((*MEDIUM_SPECIFICATIONS, *LARGE_SPECIFICATIONS)):
        where = [
            s
            for s, names in (("medium", MEDIUM_SPECIFICATIONS), ("large", LARGE_SPECIFICATIONS))
            if name in names
        ]
        where += ["extreme"] if name == "S2" else []
        terms = parse_specification(swissmetro_specification(name)).terms
        rows.append([name, ", ".join(where), *(_side(terms, a) for a in ALTERNATIVES)])
    head = ["", "spaces", *ALTERNATIVES]
    truth = Table("specifications", "The nine true specifications", head, [""] * 5, rows)
    rows = []
    for name, space in spaces.items():
        theirs, counts = published()["spaces"][name], _by_alternative(space).values()
        noise = sum(str(t.what).startswith(NOISE_PREFIX) for t in space.terms)
        rows.append([name, len(space), noise, _columns(space), theirs["columns"], *counts])
    head = ["space", "terms", "of noise", "columns", "published", *ALTERNATIVES]
    sizes = Table("spaces", "Sizes of the search spaces", head, ["", *[",d"] * 7], rows)
    return [truth, sizes]


def _by_alternative(space: SearchSpace) -> dict[str, int]:
    return {
        a: sum(int(k) for k, t in zip(space.columns, space.terms, strict=True) if t.place == a)
        for a in ALTERNATIVES
    }


def _is_published(name: str, space: SearchSpace) -> bool:
    theirs = published()["spaces"][name]
    by_alternative = theirs.get("per_alternative_columns", _by_alternative(space))
    return (_columns(space), _by_alternative(space)) == (theirs["columns"], by_alternative)


def _columns(space: SearchSpace) -> int:
    return int(space.n_columns)


def _side(terms: Sequence[Term], alternative: str) -> str:
    return " + ".join(str(t).partition(": ")[2] for t in terms if t.place == alternative)


SPECIFICATIONS = Item("specifications", _jobs, _section)

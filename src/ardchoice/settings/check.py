"""`check_study`: what is in the data, what is wrong, how large the space, how long it may take."""

from __future__ import annotations

import textwrap
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ardchoice.data import ChoiceData, TextOptions, look_at, streams
from ardchoice.design import Design, learn_encoding, refuse_far_from_zero
from ardchoice.errors import ArdchoiceError, ArdchoiceWarning, Mistake, SettingsError
from ardchoice.evaluation import check_scenario
from ardchoice.families import must_be_identified, one_pass
from ardchoice.numerics import single_blas_thread
from ardchoice.record import RESERVED_MODEL_NAMES
from ardchoice.selection import check_signs, compile_structure, with_family_rules
from ardchoice.settings.reading import parse_partly, settings_text, with_lines
from ardchoice.settings.schema import StudySettings
from ardchoice.settings.tables import table_mistakes
from ardchoice.space import SearchSpace, parse_specification
from ardchoice.text import WIDTH

RUN_PASSES = (20, 130)
"""Passes' worth of time that relevance, search and estimation take; see benchmarks/README.md."""
OVERHEAD_SECONDS = 1.0
"""Seconds for everything that does not depend on the size of the data."""
TIMED_SITUATIONS = 20_000
"""Situations on which a pass is timed; it takes as much longer on all as there are more."""
SHORT_PASS_SECONDS = 0.05
"""A shorter pass is timed again, for the first one pays for fresh memory."""


def check_study(path: str | Path) -> str:
    """What a study file would do, without doing it.

    Parameters
    ----------
    path
        Of the study file.

    Returns
    -------
    str
        What is in the data, the size of the space, how long a run may take; in 80 columns.

    Raises
    ------
    ArdchoiceError
        Where a run could not go well, with everything that is wrong.
    """
    path = Path(path)
    text = settings_text(path)
    settings, data = _read(text, path)
    with telling_lines(path):
        space = agree(settings, data)
    parts = [str(data), _space_text(space), _time_text(settings, data, space)]
    parts += [_family_text(settings, data), _guesses_text(settings)]
    parts += [_output_text(settings, path.parent)]
    return "\n\n".join(part for part in parts if part)


def _read(text: str, path: Path) -> tuple[StudySettings, ChoiceData]:
    """Settings and data; mistakes of the file and of its columns together."""
    settings, mistakes = parse_partly(text, path.name)
    table: object = None
    if settings is not None and settings.data.table is not None:
        try:
            table = path.parent / settings.data.table
            seen = look_at(table, settings.data.make(TextOptions))
            table = table if streams(table, None) else seen
        except ArdchoiceError as error:
            mistakes.append(Mistake(("data", "table"), str(error)))
        else:
            mistakes += table_mistakes(settings.data, seen)
    if mistakes or settings is None:
        raise with_lines(mistakes, text, path.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ArdchoiceWarning)  # print(data) tells them
        return settings, settings.read_choices(path.parent, table=table)


@contextmanager
def telling_lines(path: str | Path) -> Iterator[None]:
    """Mistakes in settings that were read from a file are reported with their lines in it."""
    try:
        yield
    except SettingsError as error:
        path = Path(path)
        raise with_lines(error.mistakes, settings_text(path), path.name) from None


def must_be_confirmed(settings: StudySettings) -> None:
    """Raise where `ardchoice init` left guesses open that nobody has confirmed.

    Raises
    ------
    SettingsError
        With the line of every open guess.
    """
    mistakes = [
        Mistake(
            ("data", key),
            "is a guess. If it is right, remove it from data.guesses; or run with "
            "--accept-guesses.",
        )
        for key in settings.data.guesses
    ]
    if mistakes:
        raise SettingsError(mistakes, "the study")


def agree(settings: StudySettings, data: ChoiceData) -> SearchSpace:
    """The space, if rules and comparisons fit it and the data: whatever else could go wrong later.

    Raises
    ------
    SettingsError
        With every mistake.
    """
    mistakes: list[Mistake] = []
    space = None
    try:
        space = settings.make_space(data)
        if not len(space):
            raise ArdchoiceError("the space is empty: every candidate was excluded.")
        refuse_far_from_zero(data, learn_encoding(data, space.terms).terms)
    except ArdchoiceError as error:
        mistakes.append(Mistake(("space",), str(error)))
    structure, family = settings.make_structure(), settings.make_family()
    try:
        if space is not None and family != "auto":
            structure = with_family_rules(structure, family, data, space)
    except ArdchoiceError as error:
        mistakes.append(Mistake(("model",), str(error)))
    try:
        if space is not None:
            compile_structure(structure, space)
        if structure is not None:
            check_signs(structure.given_signs, data)
    except ArdchoiceError as error:
        mistakes.append(Mistake(("structure",), str(error)))
    for label, text in settings.output.compare.items():
        try:
            if label in RESERVED_MODEL_NAMES:
                raise ArdchoiceError("is the name of a model that is always shown; choose another.")
            must_be_identified(Design(data, parse_specification(text).terms))
        except ArdchoiceError as error:
            mistakes.append(Mistake(("output", "compare", label), str(error)))
    for label, options in settings.make_scenarios().items():
        try:
            check_scenario(options, data)
        except ArdchoiceError as error:
            mistakes.append(Mistake(("scenarios", label), str(error)))
    if mistakes or space is None:
        raise SettingsError(mistakes, "the study")
    return space


def _space_text(space: SearchSpace) -> str:
    lines = ["what could matter", "-" * 17]
    for line in str(space).split("\n"):
        lines += textwrap.wrap(line, WIDTH, subsequent_indent="  ") if len(line) > WIDTH else [line]
    return "\n".join(lines)


# -- How long it may take ------------------------------------------------------------------------


@dataclass(frozen=True)
class Duration:
    """How long a run may take.

    Attributes
    ----------
    one_pass
        Seconds of one pass over all data and candidates, measured.
    low, high
        Seconds of relevance, search and estimation.
    """

    one_pass: float
    low: float
    high: float


def measure(data: ChoiceData, space: SearchSpace, times: float = 1.0) -> Duration:
    """Time one pass over the data and all candidates, and multiply.

    Parameters
    ----------
    data, space
    times
        How often the search is made.
    """
    some = data if len(data) <= TIMED_SITUATIONS else data.take(np.arange(TIMED_SITUATIONS))
    design = Design(some, space.terms)
    seconds = np.inf
    with single_blas_thread():
        blocks, beta = list(design), np.zeros(design.n_columns)
        for _ in range(3):
            start = time.perf_counter()
            one_pass(beta, blocks)
            seconds = min(seconds, time.perf_counter() - start)
            if seconds > SHORT_PASS_SECONDS:
                break
    seconds *= len(data) / len(some)
    low, high = (OVERHEAD_SECONDS + times * units * seconds for units in RUN_PASSES)
    return Duration(seconds, low, high)


def _time_text(settings: StudySettings, data: ChoiceData, space: SearchSpace) -> str:
    output, selection = settings.output, settings.selection
    times = 1.0
    extra = []
    if selection.rule == "held-out":
        times += selection.folds * len(selection.weights)
        extra.append(f"the rule searches {selection.folds} folds {len(selection.weights)} times")
    if output.search_in_folds and output.folds:
        times += output.folds
        extra.append(f"the search is repeated in {output.folds} folds")
    if output.stability_pairs:
        times += 2 * output.stability_pairs
        extra.append(f"and in {output.stability_pairs} pairs of halves")
    took = measure(data, space, times)
    text = (
        f"A pass over {len(data):,} choices and {space.n_columns:,} columns takes "
        f"{_seconds(took.one_pass)}. Relevance, search and estimation take the time of "
        f"{RUN_PASSES[0]} to {RUN_PASSES[1]} of them, and a second: {_range(took.low, took.high)}"
    )
    text += f" ({', '.join(extra)})" if extra else ""
    text += ", and some seconds more for held-out figures and the report."
    if settings.solver.method != "newton":
        text += f" The solver {settings.solver.method!r} takes many times longer than 'newton'."
    return "\n".join(["how long it may take", "-" * 20, *textwrap.wrap(text, WIDTH)])


def _seconds(value: float) -> str:
    if value < 1:
        return f"{1000 * value:.2g} ms" if value < 0.0995 else f"{value:.1f} s"
    if value < 120:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} hours"


def _range(low: float, high: float) -> str:
    ends = [_seconds(low), _seconds(high)]
    return f"about {ends[0]}" if ends[0] == ends[1] else f"about {ends[0]} to {ends[1]}"


def _family_text(settings: StudySettings, data: ChoiceData) -> str:
    """What a family of differences between persons can find where nobody chooses twice."""
    family = settings.make_family()
    if data.n_persons not in (None, len(data)) or not (family == "auto" or family.panel):
        return ""
    asked = f'family = "{settings.model.family}": nobody answers more than once here, so that '
    if family == "auto":
        text = asked + "only the multinomial and the nested logit are compared."
    else:
        text = asked + "differences between persons are weakly identified."
    if data.n_persons is None:
        text += ' If persons chose more than once, name their column: person = "..." under [data].'
    return "\n".join(textwrap.wrap(text, WIDTH))


def _guesses_text(settings: StudySettings) -> str:
    if not settings.data.guesses:
        return ""
    text = (
        f"To be confirmed before a run: data.{', data.'.join(settings.data.guesses)}. Remove what "
        "is right from data.guesses, or run with --accept-guesses."
    )
    return "\n".join(textwrap.wrap(text, WIDTH))


def _output_text(settings: StudySettings, folder: Path) -> str:
    place = folder / settings.output.folder
    if not place.exists():
        return ""
    text = f"The folder {settings.output.folder} exists already: a run needs --force to replace it."
    return "\n".join(textwrap.wrap(text, WIDTH))

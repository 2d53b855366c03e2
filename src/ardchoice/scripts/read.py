"""`read_specification`: a model from a script of another package, which is never executed."""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ardchoice.errors import ArdchoiceError, SpecificationError, did_you_mean
from ardchoice.scripts.apollo import APOLLO, apollo_model
from ardchoice.scripts.biogeme import BIOGEME, biogeme_model
from ardchoice.scripts.build import build
from ardchoice.scripts.capture import Captured
from ardchoice.scripts.forms import Form, UnreadableError
from ardchoice.scripts.interpret import CallMade, Function, Reader
from ardchoice.scripts.long_tables import LONG, pylogit_model, xlogit_model
from ardchoice.scripts.model import ScriptModel
from ardchoice.scripts.own import is_own, own_long_model, own_model, own_reader
from ardchoice.scripts.r_language import parse_r
from ardchoice.scripts.r_tables import VERBS, given_tables

PACKAGES = ("biogeme", "pylogit", "xlogit", "apollo")
LARGEST = 2_000_000
"""Characters of a script."""
_MARKS = {
    "apollo": re.compile(r"\bapollo_\w+|\bV\[\[", re.IGNORECASE),
    "biogeme": re.compile(r"\bbiogeme\b|\bBeta\(|\bloglogit\b", re.IGNORECASE),
    "pylogit": re.compile(r"\bpylogit\b|\bcreate_choice_model\b"),
    "xlogit": re.compile(r"\bxlogit\b|\bMultinomialLogit\b|\bMixedLogit\b"),
}
_IMPORTS = {
    "apollo": re.compile(r"^\s*(?:library|require)\(\s*[\"']?apollo\b", re.MULTILINE),
    **{
        name: re.compile(rf"^\s*(?:import|from)\s+{name}\b", re.MULTILINE)
        for name in ("biogeme", "pylogit", "xlogit")
    },
}


def read_specification(
    script: str | os.PathLike[str],
    *,
    package: str | None = None,
    alternatives: Iterable[object] | None = None,
) -> ScriptModel:
    """Read the specification of a script for Biogeme, PyLogit, xlogit or Apollo.

    Utilities that are linear in the parameters are read, with derived columns, filters,
    availability, fixed parameters, starting values and random coefficients. What was not
    understood is listed with its line. Nothing of the script is executed, and no file is read but
    the script and modules of the user's own beside it.

    Parameters
    ----------
    script
        A path, or the text of a script.
    package
        ``"biogeme"``, ``"pylogit"``, ``"xlogit"`` or ``"apollo"``. Default: by what the script
        imports and calls.
    alternatives
        The codes of the alternatives of a long table, where the script does not name them.

    Returns
    -------
    ScriptModel
        With the `specification`, how to read the table, and `not_understood`.

    Raises
    ------
    SpecificationError
        Where no model was found in the script, or none of its terms was understood.
    """
    text, folder = _text(script)
    if package is None:
        package = _package(text)
    elif package not in PACKAGES:
        raise ArdchoiceError(
            f"Scripts for {package!r} are not read. {did_you_mean(str(package), PACKAGES)}"
        )
    codes = None if alternatives is None else list(alternatives)
    try:
        captured = _captured(text, package, folder, codes)
        if captured is None:
            raise SpecificationError(
                f"No model for {package} was found in the script: {_WANTED[package]}."
            )
        return build(captured)
    except UnreadableError as error:
        raise SpecificationError(f"The script cannot be read: {error}.") from None
    except RecursionError:
        raise SpecificationError(
            "The script cannot be read: its parts are nested too deep."
        ) from None


_WANTED = {
    "biogeme": "a call such as models.loglogit(V, av, CHOICE) was expected",
    "pylogit": "a call of create_choice_model was expected",
    "xlogit": "a call such as MultinomialLogit().fit(...) was expected",
    "apollo": "a function apollo_probabilities was expected",
}


def _text(script: object) -> tuple[str, Path | None]:
    """The text of a script, and the folder of its file."""
    if isinstance(script, str) and ("\n" in script or len(script) > 1000):
        text, folder = script, None
    elif isinstance(script, str | os.PathLike):
        path = Path(script)
        try:
            if path.exists() and not path.is_file() and not path.is_dir():  # it would never end
                raise SpecificationError(
                    f"'{path}' is not a file but a pipe or a device: write the script to a file."
                )
            if path.stat().st_size > LARGEST:
                raise SpecificationError(f"'{path}' is too large for a script.")
            text, folder = path.read_text(encoding="utf-8-sig", errors="replace"), path.parent
        except (OSError, ValueError) as error:
            raise SpecificationError(
                f"The script '{str(script)[:200]}' cannot be read: "
                f"{getattr(error, 'strerror', None) or error}."
            ) from None
    else:
        raise SpecificationError(f"A script is a path or its text, not {type(script).__name__}.")
    if len(text) > LARGEST:
        raise SpecificationError("The text is too long for a script.")
    return text, folder


def _package(text: str) -> str:
    """The package that a script is most probably for: the one it imports, else names most often.

    A script may compare its estimates with those of another package, and name that.
    """
    imported = [name for name, mark in _IMPORTS.items() if mark.search(text)]
    counts = {name: len(_MARKS[name].findall(text)) for name in imported or _MARKS}
    best = max(counts, key=lambda name: counts[name])
    if not counts[best]:
        raise SpecificationError(
            "It is not clear which package the script is for: it names none of "
            f"{', '.join(PACKAGES)}. Pass package=..."
        )
    return best


def _captured(
    text: str, package: str, folder: Path | None, alternatives: list[Any] | None
) -> Captured | None:
    if package == "apollo":
        reader = Reader(text, APOLLO)
        reader.verbs = VERBS
        reader.top.values |= given_tables(text)
        own_reader(reader, text)
        reader.follow(parse_r(text))
        captured = apollo_model(reader)
    else:
        reader = Reader(text, BIOGEME if package == "biogeme" else LONG, _modules(folder))
        own_reader(reader, text)
        reader.follow(_statements(text))
        _follow_uncalled(reader)
        captured = _of(package, reader, alternatives)
    if captured is None:
        return None
    _name_alternatives(captured, reader)
    captured.lines = {
        code: reader.line_of.get(captured.names.get(code, str(code)), 0)
        for code in captured.utilities
    }
    if is_own(text):
        own_model(captured, reader)
    captured.doubts += [d for d in reader.doubts if d not in captured.doubts]
    captured.assumed = reader.assumed
    return captured


def _of(package: str, reader: Reader, alternatives: list[Any] | None) -> Captured | None:
    if package == "biogeme":
        return biogeme_model(reader)
    if reader.known and (found := own_long_model(package, reader)) is not None:
        return found
    return (pylogit_model if package == "pylogit" else xlogit_model)(reader, alternatives)


def _statements(text: str) -> list[ast.stmt]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of the script, not ours
            return ast.parse(text).body
    except SyntaxError as error:
        raise UnreadableError(f"line {error.lineno or 0} is no Python ({error.msg})") from None
    except (ValueError, MemoryError, RecursionError):
        raise UnreadableError("it is no Python that can be read") from None


def _modules(folder: Path | None) -> Callable[[str], list[ast.stmt] | None]:
    """How modules of the user's own are found: beside the script."""

    def find(name: str) -> list[ast.stmt] | None:
        if folder is None or not re.fullmatch(r"\w+(\.\w+)*", name):
            return None
        path = folder.joinpath(*name.split(".")).with_suffix(".py")
        try:
            if not path.is_file() or path.stat().st_size > LARGEST:
                return None
            return _statements(path.read_text(encoding="utf-8-sig", errors="replace"))
        except (OSError, UnreadableError):
            return None

    return find


def _follow_uncalled(reader: Reader) -> None:
    """Functions that nothing calls, where the script has no model otherwise."""
    kinds = {"logit", "pylogit", "xlogit"}
    if kinds & {kind for kind, _ in reader.captured}:
        return
    for value in list(reader.top.values.values()):
        if isinstance(value, Function) and id(value) not in reader.called:
            reader.follow_function(value, CallMade("", None, (), {}, 0, ""))


def _name_alternatives(captured: Captured, reader: Reader) -> None:
    """Names of utilities: what the script calls the variables that they are in."""
    for code, form in captured.utilities.items():
        if code in captured.names:
            continue
        for name, value in reader.top.values.items():
            if isinstance(value, Form) and value is not None and value == form and form.monomials:
                captured.names[code] = name
                break

"""Model families: those that were compared, and what belongs to the one of the model."""

from __future__ import annotations

from math import isnan

import pandas as pd

from ardchoice.estimation import (
    Result,
    mean_of_classes,
    nest_allocations,
    taste_correlations,
)
from ardchoice.evaluation import expected_taste_signs
from ardchoice.record import FamilyComparison, Note
from ardchoice.report.document import (
    FIGURES,
    P_VALUE,
    Cell,
    Figure,
    Part,
    Section,
    Table,
    Text,
    bold,
    frame_table,
)
from ardchoice.report.findings import Findings

MAX_ROWS_SHOWN = 30
WRONG_PERSONS_PERCENT = 5.0
"""Persons with the wrong sign from which a page says so."""
MOST_IN_MATRIX = 7
"""Random coefficients up to which correlations are a matrix."""


def own(found: Findings) -> Section:
    """What belongs to the family of the model: its nests, its classes, or how tastes differ."""
    makers = {"nested": _nests, "latent": _classes, "mixed": _distributions}
    result = found.record.result
    parts = makers[result.family.tag](found) if result.family.tag in makers else []
    return Section("family", result.family.title, parts)


def _nests(found: Findings) -> list[Part]:
    frame = found.record.result.nests()
    columns = {
        "nest": ("nest", ""),
        "alternatives": ("alternatives", ""),
        "mu": ("scale μ", FIGURES),
        "std_err": ("std. error", FIGURES),
        "low": ("2.5 %", FIGURES),
        "high": ("97.5 %", FIGURES),
        "lambda": ("λ = 1/μ", FIGURES),
        "correlation": ("correlation", ".2f"),
        "p": ("p (μ = 1)", P_VALUE),
    }
    text = (
        "Alternatives of a nest share what is not observed: they substitute each other more than "
        "alternatives of different nests. μ is the scale in the nest, with 1 at the top; "
        "λ = 1/μ is what other programs call the logsum or dissimilarity parameter. At μ = 1 the "
        "model is the multinomial logit; below 1 the nest is inadmissible."
    )
    parts: list[Part] = [Text(text)]
    wrong = frame[~frame["admissible"]]
    for nest, members, mu in zip(
        wrong["nest"], wrong["alternatives"], wrong["mu"].tolist(), strict=True
    ):
        why = f"{members} do not belong together: μ = {mu:.3g} is below 1."
        if mu >= 1:
            why = f"The scale of {members} diverges: μ is at its bound, {mu:.3g}."
        parts.append(Note("bad", f"Nest {nest} is inadmissible", why))
    return [*parts, frame_table("nests", "Nests", frame, columns), *_allocations(found)]


def _allocations(found: Findings) -> list[Part]:
    """Of a cross-nested logit: the share of every alternative in every nest."""
    shares = nest_allocations(found.record.result)
    if shares.empty:
        return []
    rows: list[list[Cell]] = [
        [str(name), *map(float, values)]
        for name, values in zip(shares.index, shares.to_numpy(), strict=True)
    ]
    names = [str(name) for name in shares.columns]
    title = "Allocation of alternatives to nests"
    head, formats = ["alternative", *names], ["", *[".3f"] * len(names)]
    note = "α; they add up to 1 over the nests of an alternative."
    return [Table("allocations", title, head, formats, rows, shown=MAX_ROWS_SHOWN, note=note)]


def _classes(found: Findings) -> list[Part]:
    result = found.record.result
    profiles = result.classes()
    shown = profiles.reset_index()
    shown["covariate"] = [
        "share of persons" if not name else name if value == "mean" else f"{name} = {value}"
        for name, value in profiles.index
    ]
    numeric = [value == "mean" for _, value in profiles.index]
    names = list(profiles.columns)
    cells: list[list[Cell]] = [
        [str(label), *(f"{v:.4g}" if mean else f"{100 * v:.1f}%" for v in values)]
        for label, mean, values in zip(
            shown["covariate"], numeric, profiles.to_numpy().tolist(), strict=True
        )
    ]
    table = Table(
        "classes",
        "Who is in the classes",
        ["", *names],
        [""] * (1 + len(names)),
        cells,
        marks=bold([0]),
        shown=MAX_ROWS_SHOWN,
        note="Persons count for every class with its probability given their choices.",
    )
    parts: list[Part] = [_tastes(found), table]
    if found.class_curve:
        parts.insert(
            0, Figure("classes", "BIC over persons by number of classes; lower is better.")
        )
    return parts


def _distributions(found: Findings) -> list[Part]:
    """How tastes and willingness to pay are distributed over persons."""
    result = found.record.result
    frame = result.tastes()
    below = str(frame.attrs.get("below", ""))
    frame[["opposite", "low", "high"]] *= 100
    columns = {
        "taste": ("taste", ""),
        "distribution": ("distribution", ""),
        "mean": ("mean", FIGURES),
        "sd": ("std. deviation", FIGURES),
        "p10": ("10 %", FIGURES),
        "median": ("median", FIGURES),
        "p90": ("90 %", FIGURES),
        "other": ("% with the other sign", ""),
    }
    shares = frame[["opposite", "low", "high"]].to_numpy(float).tolist()
    other = [
        "–" if isnan(share) else f"{share:.1f} ({low:.1f} to {high:.1f})"
        for share, low, high in shares
    ]
    table = frame_table(
        "tastes",
        "Tastes and willingness to pay over persons",
        frame.assign(other=other),
        columns,
        shown=MAX_ROWS_SHOWN,
        note=(
            "Other sign: the share of persons whose coefficient has not the sign of the median, "
            "with its 95 % interval. A mean of a ratio whose cost may be zero does not exist. "
            + below
        ),
    )
    caption = (
        "How tastes and willingness to pay are distributed over persons (the middle 98 %); orange: "
        "persons with the other sign; the line is the median."
    )
    parts: list[Part] = [*_wrong_persons(found, frame), Figure("tastes", caption), table]
    return [*parts, *_correlations(result)]


def _correlations(result: Result) -> list[Part]:
    """Of tastes: a matrix of few, a list of many."""
    found = taste_correlations(result)
    if not found.pairs:
        return []
    names, pairs, q = found.names, found.pairs, len(found.names)
    title = "Correlations of tastes"
    if q > MOST_IN_MATRIX:
        listed: list[list[Cell]] = [[names[i], names[j], value] for i, j, value in pairs]
        head, formats = ["between", "and", "correlation"], ["", "", ".2f"]
        return [Table("correlations", title, head, formats, listed, shown=15)]
    known = {(i, j): value for i, j, value in pairs}
    rows: list[list[Cell]] = [
        [names[i], *(1.0 if i == j else known.get((i, j)) if j < i else "" for j in range(q))]
        for i in range(q)
    ]
    return [Table("correlations", title, ["", *names], ["", *[".2f"] * q], rows)]


def _wrong_persons(found: Findings, frame: pd.DataFrame) -> list[Part]:
    """Persons whose taste has the wrong sign, though the mean has not."""
    expected = expected_taste_signs(found.record.result, found.record.structure)
    texts = []
    numbers = frame[["median", "opposite", "low", "high"]].to_numpy(float).tolist()
    for name, (median, opposite, low, high) in zip(frame["taste"], numbers, strict=True):
        if name not in expected or opposite < WRONG_PERSONS_PERCENT:
            continue
        if (median > 0) == (expected[name] == "+"):
            side = "positive" if median < 0 else "negative"
            texts.append(
                f"{name} is {side} for {opposite:.0f} % of persons ({low:.0f} to {high:.0f} %)"
            )
    if not texts:
        return []
    text = (
        f"{'; '.join(texts)}. A normal distribution always has some on both sides of zero: a "
        "lognormal or truncated one keeps the sign for everyone, if its log-likelihood is as good."
    )
    return [Note("look", "The sign of some persons is wrong", text)]


def _tastes(found: Findings) -> Table:
    """The coefficients of every class beside the mean."""
    result = found.record.result
    names = [name for term in result.encoding.terms for name in term.names]
    kinds = result.taste_kinds
    columns = [*(kind.name for kind in kinds), "mean"]
    values = [*(kind.beta for kind in kinds), result.mean_coefficients]
    return Table(
        "class_coefficients",
        "Coefficients by class, and their mean over persons",
        ["coefficient", *columns],
        ["", *[FIGURES] * len(columns)],
        [[name, *(float(v[k]) for v in values)] for k, name in enumerate(names)],
        shown=MAX_ROWS_SHOWN,
        note=(
            "Standard errors are with the estimates; willingness to pay by class stands below. "
            f"{mean_of_classes(result)}"
        ).strip(),
    )


def comparison(found: Findings) -> Section:
    """With ``family = "auto"``: the families side by side, and why one of them was selected."""
    compared, title = found.record.families, "Which model family"
    if compared is None:
        return Section("families", title, [])
    parts: list[Part] = [Text(compared.reason)]
    if compared.folds and len(compared.frame) > 1:
        caption = (
            f"Log-likelihood of held-out {found.unit} against the number of parameters: higher is "
            "better. The star is the selected family. Bars: a standard error of the difference "
            "from the multinomial logit."
        )
        parts.append(Figure("families", caption))
    parts.append(_side_by_side(compared, found.unit))
    parts += [
        Text(f"{one.title}: {one.result.family.details}.")
        for one in compared.families
        if one.result.family.details
    ]
    parts += [Text(note) for note in compared.notes]
    text = (
        "The others are one argument away: study.families.results has the estimates of each, and "
        'family = "nested", "mixed" or "latent" under [model] of study.toml makes one of them the '
        "model of the study."
    )
    return Section("families", title, [*parts, Text(text)])


def _side_by_side(compared: FamilyComparison, unit: str) -> Table:
    columns = {
        "model": ("family", ""),
        "parameters": ("parameters", ",d"),
        "loglik": ("log-likelihood", ",.1f"),
        "bic": ("BIC", ",.1f"),
    }
    if compared.folds:
        columns |= {
            "held_out": (f"held-out {unit}", ",.1f"),
            "held_out_se": ("± of difference", ",.1f"),
            "each": ("single answers", ",.1f"),
            "each_se": ("± of difference", ",.1f"),
        }
    columns["seconds"] = ("seconds", ".1f")
    best = [k for k, tag in enumerate(compared.frame["family"]) if tag == compared.selected]
    note = f"BIC counts {compared.n_units:,} {unit}, for every family; lower is better."
    if compared.folds:
        note += (
            f" Held-out log-likelihood from {compared.folds}-fold cross-validation by {unit[:-1]}: "
            "coefficients were estimated without the held-out ones; terms, nests, random "
            "coefficients and the number of classes were found with them. ± of "
            "difference: standard error of the difference from the multinomial logit."
        )
    return frame_table(
        "families",
        "Families on the same terms",
        compared.frame,
        columns,
        marks=bold(best),
        note=note,
    )

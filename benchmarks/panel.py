"""Selection where persons answer more than once: noise, recovery, p-values, coverage, seconds.

`python benchmarks/panel.py [--quick] [--parts draws,noise,inclusion,...] [--seeds 100:105]
[--truths S1,S2,...] [--methods default,...] [--study FILE] [--out RUNS.jsonl]` draws choices of
persons whose tastes differ on the Swissmetro design (see `panel_draws.py`), shuffles covariates
between persons on the real answers, and prints one table. With --out, runs are written as they end,
and a second call resumes from there.

Columns: false interactions; precision, recall and F1 of all terms; Kullback-Leibler loss against
the true probabilities, as a ratio to that of the true terms re-estimated; seconds of processor time
with relevance. `sd` is that of constants and tastes; `1 row` means drawn per row, so that answers
are independent. Prices were chosen on seeds below 100 and on S1 to S3 and T1: report others.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import ardchoice as ac
from ardchoice.selection import Rule, confirm, select_jointly
from ardchoice.selection import inclusion as inclusion_of
from ardchoice.settings import read_settings
from ardchoice.space import Term
from panel_draws import MIXINGS, TRUTHS, Case, Draw, Unit, make

Floats = npt.NDArray[np.float64]

LEVELS: tuple[tuple[float, Unit], ...] = (
    (0.0, "person"),
    (1.0, "person"),
    (2.0, "person"),
    (1.0, "row"),
    (2.0, "row"),
)
PARTS = ("draws", "mixing", "noise", "inclusion", "intervals", "held-out")
REFERENCE = "true terms"
DIVISIONS, FOLDS = 3, 10
TRUE_TASTES = {"TRAIN: ASC", "SM: ASC", "TT", "CO"}
TRUE_TASTE = re.compile(r"^(TRAIN|SM): ASC$|\bTT\b|\bCO\b")
"""What differs between persons in the draws: constants, time and cost."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method returns.

    Attributes
    ----------
    terms
        Selected.
    probabilities
        Of all alternatives in all situations, averaged over tastes if they are random; (J, N).
    random
        Terms with random coefficients, if the method decides on them.
    shared
        Processor seconds that were spent before, once for several methods.
    """

    terms: Iterable[Term]
    probabilities: Floats
    random: tuple[str, ...] = ()
    shared: float = 0.0


Method = Callable[[Case], Outcome]


def by_rule(rule: Rule | None) -> Method:
    """Relevance, selection by a rule, and estimates: what `specify` does."""

    def specified(case: Case) -> Outcome:
        fit, seconds = case.timed_relevance
        found = ac.select(fit, rule)
        result = ac.fit_mnl(case.data, found, separation="allow")
        return Outcome(found.terms, result.probabilities(case.data), shared=seconds)

    return specified


def true_terms(case: Case) -> Outcome:
    """The best a multinomial logit with these terms can do."""
    result = ac.fit_mnl(case.data, ac.Specification(tuple(case.truth)), separation="allow")
    return Outcome(case.truth, result.probabilities(case.data))


def jointly(*, exact: bool) -> Method:
    """Terms and random coefficients together, before or after exact fits."""

    def decided(case: Case) -> Outcome:
        fit, seconds = case.timed_relevance
        found = select_jointly(fit, ac.select(fit))
        result = None
        if exact:
            confirmed = confirm(case.data, found, family=ac.Mixed())
            found = confirmed.selection
            result = confirmed.estimated[0] if confirmed.estimated else None
        spec = ac.Specification(found.specification.terms)
        result = result or ac.fit_mnl(case.data, spec, separation="allow")
        chance = result.probabilities(case.data)
        return Outcome(spec.terms, chance, tuple(found.random), shared=seconds)

    return decided


METHODS: dict[str, Method] = {
    REFERENCE: true_terms,
    "default": by_rule(None),
    "old default": by_rule(ac.Ebic(cluster=False)),
    "FDR 0.05": by_rule(ac.FalseDiscovery(0.05)),
    "HeldOut": by_rule(ac.HeldOut()),
    "Bic(2)": by_rule(ac.Bic(2.0)),
    "joint": jointly(exact=False),
    "joint exact": jointly(exact=True),
}
"""Name -> method; another one, such as a joint selection, is one more entry."""


@dataclass(frozen=True)
class Run:
    """One method on one draw, or other figures of a draw; see `what`.

    Attributes
    ----------
    what
        A method; or "p-values", "honest", "selected" for what `figures` hold.
    figures
        By name.
    """

    truth: str
    sd: float
    unit: str
    seed: int
    shuffled: bool
    what: str
    figures: dict[str, Any]
    mixing: str = "normal"


# -- Measuring -------------------------------------------------------------------------------------


def measured(case: Case, method: Method) -> dict[str, Any]:
    """One method on one case."""
    started = time.process_time()
    outcome = method(case)
    seconds = time.process_time() - started + outcome.shared
    found = set(outcome.terms)
    out: dict[str, Any] = {
        "terms": len(found),
        "interactions": sum(bool(t.by) for t in found),
        "false": sum(map(case.is_noise, found)),
        "seconds": seconds,
        "random": list(outcome.random),
    }
    if case.probabilities is not None:
        right = len(found & case.truth)
        out |= {
            "precision": right / max(len(found), 1),
            "recall": right / len(case.truth),
            "f1": 2 * right / (len(found) + len(case.truth)),
            "loss": loss(case.probabilities, outcome.probabilities),
            "missing": sorted(map(str, case.truth - found)),
            "extra": sorted(map(str, found - case.truth)),
        }
    return out


def loss(true: Floats, believed: Floats) -> float:
    """Σ P ln (P / Q): the expected log-likelihood lost by believing Q."""
    q = np.maximum(believed, 1e-300)
    return float(np.where(true > 0, true * np.log(np.where(true > 0, true, 1.0) / q), 0.0).sum())


def p_values(case: Case) -> dict[str, Any]:
    """How many p-values of interactions that are noise are small; and the discoveries."""
    p = case.relevance.tests.p_value
    noise = np.array([case.is_noise(t) for t in case.space.terms])
    return {
        "count": int(noise.sum()),
        "below_05": int((p[noise] < 0.05).sum()),
        "below_001": int((p[noise] < 0.001).sum()),
    }


def intervals(case: Case, *, honest: bool) -> dict[str, Any]:
    """How many 95 % intervals of the selected specification cover what they estimate.

    The coefficients that the selected specification has on the true probabilities.
    """
    study = ac.specify(case.data, case.space, honest=honest, seed=case.draw.seed)
    target = ac.fit_mnl(case.expected(), study.specification, separation="allow")
    frame, best = study.result.to_frame(), target.to_frame("classical")["estimate"]
    inside = (frame["low"] <= best) & (best <= frame["high"])
    return {"count": len(frame), "covered": int(inside.sum())}


def inclusion(case: Case) -> dict[str, Any]:
    """Inclusion probability of every candidate, and whether it is true."""
    started = time.process_time()
    fit = case.relevance
    found = inclusion_of(fit, ac.select(fit))
    pairs = zip(found.probabilities.tolist(), case.space.terms, strict=True)
    return {
        "pairs": [[round(p, 5), t in case.truth, bool(t.by)] for p, t in pairs],
        "seconds": time.process_time() - started,
    }


FIGURES: dict[str, Callable[[Case], dict[str, Any]]] = {
    "p-values": p_values,
    "honest": lambda case: intervals(case, honest=True),
    "inclusion": inclusion,
    "selected": lambda case: intervals(case, honest=False),
}


def held_out(data: ac.ChoiceData, space: ac.SearchSpace, seed: int) -> dict[str, Any]:
    """Held-out log-likelihood of the default less that of the old one, in every fold."""
    new = ac.held_out(data, space, folds=FOLDS, seed=seed)
    old = ac.held_out(data, space, folds=FOLDS, seed=seed, rule=ac.Ebic(cluster=False))
    apart = np.array(new.by_fold) - np.array(old.by_fold)
    terms = [np.mean([len(s) for s in score.specifications]) for score in (new, old)]
    error = float(np.sqrt(FOLDS) * apart.std(ddof=1))
    return {"difference": float(apart.sum()), "error": error, "terms": list(map(float, terms))}


# -- Running ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """What is run: draws with the methods and figures of each."""

    parts: tuple[str, ...]
    truths: tuple[str, ...]
    levels: tuple[tuple[float, Unit], ...]
    seeds: range
    shuffles: range
    methods: tuple[str, ...]

    def jobs(self) -> Iterator[tuple[Draw, tuple[str, ...]]]:
        """Draws, and what is measured on each."""
        if "draws" in self.parts:
            for seed, truth, (sd, unit) in product(self.seeds, self.truths, self.levels):
                yield Draw(truth, sd, unit, seed), (REFERENCE, *self.methods)
        if "mixing" in self.parts:
            for seed, truth, mixing in product(self.seeds, self.truths, MIXINGS):
                draw = Draw(truth, 1.0, seed=seed, mixing=mixing)
                yield draw, (REFERENCE, *self.methods)
        if "noise" in self.parts:
            for seed in self.shuffles:
                yield Draw("real", seed=seed, shuffled=True), (*self.methods, "p-values")
            for seed, (sd, unit) in product(self.seeds, self.levels):
                draw = Draw("S1", sd, unit, seed, shuffled=True)
                yield draw, (*self.methods, "p-values")
        if "intervals" in self.parts:
            for seed, truth, (sd, unit) in product(self.seeds, self.truths, self.levels):
                yield Draw(truth, sd, unit, seed), ("honest", "selected")
        if "inclusion" in self.parts:
            for seed, truth, (sd, unit) in product(self.seeds, self.truths, self.levels):
                yield Draw(truth, sd, unit, seed), ("inclusion",)


def runs(plan: Plan, done: Mapping[object, Run]) -> Iterator[Run]:
    """Everything that has not been done already."""
    for draw, wanted in plan.jobs():
        missing = [w for w in dict.fromkeys(wanted) if key(draw, w) not in done]
        if not missing:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ac.ArdchoiceWarning)  # separation, rare
            case = make(draw)
            for what in missing:
                figure = FIGURES.get(what)
                figures = measured(case, METHODS[what]) if figure is None else figure(case)
                yield Run(**asdict(draw), what=what, figures=figures)


def key(draw: Draw | Run, what: str) -> object:
    """What a run is known by."""
    return draw.truth, draw.sd, draw.unit, draw.seed, draw.shuffled, draw.mixing, what


# -- Showing ---------------------------------------------------------------------------------------


def show(done: Iterable[Run]) -> None:
    """All tables, in 80 columns."""
    everything = list(done)
    simulated = [r for r in everything if not r.shuffled]
    show_recovery([r for r in simulated if "f1" in r.figures])
    show_random([r for r in simulated if r.figures.get("random")])
    show_noise([r for r in everything if r.shuffled])
    show_inclusion([r for r in simulated if r.what == "inclusion"])
    show_intervals([r for r in everything if r.what in ("honest", "selected")])


def levels_of(some: Iterable[Run]) -> list[tuple[float, str]]:
    """Heterogeneity of some runs, between persons first."""
    return sorted({(r.sd, label_of(r)) for r in some}, key=lambda level: (level[1], level[0]))


def label_of(run: Run) -> str:
    """What differs between whom."""
    return run.unit if run.mixing == "normal" else run.mixing


def label(sd: float, unit: str) -> str:
    """How a level of heterogeneity is shown."""
    return f"{sd:g}" if unit == "person" else f"{sd:g} {unit}"


def show_recovery(some: list[Run]) -> None:
    """Recovery of the truth by method and heterogeneity."""
    if not some:
        return
    head = (
        f"{'sd':14}{'method':14}{'runs':>5}{'false':>7}{'prec.':>7}{'recall':>7}{'F1':>7}{'KL':>7}"
    )
    print(f"{head}{'sec':>6}\n{'-' * (len(head) + 6)}")
    for sd, unit in levels_of(some):
        here = [r for r in some if (r.sd, label_of(r)) == (sd, unit)]
        base = np.mean([r.figures["loss"] for r in here if r.what == REFERENCE] or [np.nan])
        for method in METHODS:
            mine = [r.figures for r in here if r.what == method]
            if not mine:
                continue
            names = ("false", "precision", "recall", "f1", "loss", "seconds")
            mean = {name: float(np.mean([f[name] for f in mine])) for name in names}
            print(
                f"{label(sd, unit):14}{method:14}{len(mine):5}{mean['false']:7.2f}"
                f"{mean['precision']:7.3f}{mean['recall']:7.3f}{mean['f1']:7.3f}"
                f"{mean['loss'] / base:7.2f}{mean['seconds']:6.1f}"
            )
    print()


def show_random(some: list[Run]) -> None:
    """Random coefficients that methods name, and how many of the true ones."""
    if not some:
        return
    head = f"{'sd':16}{'method':14}{'runs':>5}{'named':>7}{'right':>7}{'recall':>8}"
    print(f"{head}\n{'-' * len(head)}")
    for level in levels_of(some):
        for method in METHODS:
            mine = [r for r in some if (r.sd, label_of(r)) == level and r.what == method]
            named = [TRUE_TASTE.search(n) is not None for r in mine for n in r.figures["random"]]
            if not named:
                continue
            # A taste in another form, or of some alternatives only, is one of that attribute.
            kinds = [{kind_of(n) for n in r.figures["random"]} & TRUE_TASTES for r in mine]
            recall = np.mean([len(k) / len(TRUE_TASTES) for k in kinds]) if level[0] else np.nan
            print(
                f"{label(*level):16}{method:14}{len(mine):5}{len(named) / len(mine):7.2f}"
                f"{np.mean(named) if level[0] else 0.0:7.3f}{recall:8.3f}"
            )
    print()


def kind_of(name: str) -> str:
    """What a random coefficient is of: the constant of an alternative, or an attribute."""
    if name.endswith(": ASC"):
        return name
    return "TT" if "TT" in name else "CO" if "CO" in name else name


def show_noise(some: list[Run]) -> None:
    """Interactions that are noise, kept; and p-values."""
    if not some:
        return
    head = f"{'shuffled':10}{'sd':7}{'method':14}{'runs':>5}{'kept':>7}{'any':>6}{'share':>7}"
    print(f"{head}\n{'-' * len(head)}")
    for truth in sorted({r.truth for r in some}):
        for sd, unit in levels_of(r for r in some if r.truth == truth):
            here = [r for r in some if (r.truth, r.sd, label_of(r)) == (truth, sd, unit)]
            for method in METHODS:
                mine = [r.figures for r in here if r.what == method]
                if mine:
                    kept, terms = (np.array([f[n] for f in mine]) for n in ("false", "terms"))
                    print(
                        f"{truth:10}{label(sd, unit):7}{method:14}{len(mine):5}{kept.mean():7.2f}"
                        f"{(kept > 0).mean():6.0%}{kept.sum() / max(terms.sum(), 1):7.1%}"
                    )
            found = [r.figures for r in here if r.what == "p-values"]
            count = sum(f["count"] for f in found)
            if count:
                small = [sum(f[name] for f in found) / count for name in ("below_05", "below_001")]
                print(
                    f"{truth:10}{label(sd, unit):7}{count:,} p-values of noise: {small[0]:.1%} "
                    f"below .05, {small[1]:.2%} below .001"
                )
    print("kept: noise terms per run; share: of all terms kept.\n")


def show_inclusion(some: list[Run]) -> None:
    """Share of true terms by inclusion probability."""
    if not some:
        return
    head = f"{'sd':7}{'inclusion probability':>22}{'terms':>7}{'mean':>7}{'true':>7}"
    print(f"{head}\n{'-' * len(head)}")
    for sd, unit in levels_of(some):
        here = [r for r in some if (r.sd, label_of(r)) == (sd, unit)]
        pairs = [pair[:2] for r in here for pair in r.figures["pairs"]]
        each = np.array(pairs, dtype=float)
        for low in (0.0, 0.2, 0.4, 0.6, 0.8):
            last = low == 0.8
            inside = each[(each[:, 0] >= low) & ((each[:, 0] < low + 0.2) | last)]
            if len(inside):
                print(
                    f"{label(sd, unit):7}{f'{low:.1f} to {low + 0.2:.1f}':>22}"
                    f"{len(inside):7}{inside[:, 0].mean():7.3f}{inside[:, 1].mean():7.3f}"
                )
    print()


def show_intervals(some: list[Run]) -> None:
    """Coverage of 95 % intervals."""
    if not some:
        return
    print(f"{'sd':7}{'95 % intervals':18}{'runs':>5}{'count':>7}{'cover':>8}\n{'-' * 45}")
    for (sd, unit), what in product(levels_of(some), ("honest", "selected")):
        here = [r.figures for r in some if (r.sd, label_of(r), r.what) == (sd, unit, what)]
        count = sum(f["count"] for f in here)
        if count:
            share = sum(f["covered"] for f in here) / count
            print(f"{label(sd, unit):7}{what:18}{len(here):5}{count:7}{share:8.1%}")
    print()


def show_held_out(studies: Iterable[Path], divisions: int) -> None:
    """Real tables: the default compared with the old one."""
    real = ac.datasets.swissmetro_choices("real")
    tables = [("Swissmetro", real, ac.swissmetro_space(real, "medium"))]
    for path in studies:
        settings = read_settings(path)
        data = settings.read_choices(path.parent)
        tables.append((path.stem, data, settings.make_space(data)))
    print(
        f"{'held out, default - old':26}{'division':>9}{'difference':>12}{'s.e.':>8}{'terms':>14}"
    )
    for name, data, space in tables:
        for seed in range(divisions):
            found = held_out(data, space, seed)
            new, old = found["terms"]
            print(
                f"{name:26}{seed:9}{found['difference']:12.1f}{found['error']:8.1f}"
                f"{f'{new:.1f} / {old:.1f}':>14}",
                flush=True,
            )


def main(arguments: list[str] | None = None) -> list[Run]:
    """Run, print, and write as runs end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a draw or two of each kind")
    parser.add_argument("--parts", default=",".join(PARTS[:-1]))
    parser.add_argument("--truths", default=",".join(TRUTHS))
    parser.add_argument("--sds", default="0,1,2")
    parser.add_argument("--units", default="person,row")
    parser.add_argument("--seeds", default="100:105", help="first and one past the last")
    parser.add_argument("--shuffles", default="100:140", help="of the real answers")
    parser.add_argument("--methods", default=",".join(m for m in METHODS if m != REFERENCE))
    parser.add_argument("--study", type=Path, action="append", default=[], help="held-out part")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    plan = Plan(
        parts=tuple(options.parts.split(",")),
        truths=tuple(options.truths.split(",")),
        levels=tuple(
            level
            for level in LEVELS
            if f"{level[0]:g}" in options.sds.split(",") and level[1] in options.units.split(",")
        ),
        seeds=range(*map(int, options.seeds.split(":"))),
        shuffles=range(*map(int, options.shuffles.split(":"))),
        methods=tuple(options.methods.split(",")),
    )
    if options.quick:
        one, methods = range(100, 101), ("default", "old default")
        plan = Plan(plan.parts, ("S2",), ((2.0, "person"),), one, one, methods)
    done: dict[object, Run] = {}
    if options.out and options.out.exists():
        for text in options.out.read_text(encoding="utf-8").splitlines():
            run = Run(**json.loads(text))
            done[key(run, run.what)] = run
    for run in runs(plan, done):
        done[key(run, run.what)] = run
        print(f"{run.truth} {run.sd:g} {run.unit} {run.seed} {run.what}", file=sys.stderr)
        if options.out:
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(run)) + "\n")
    wanted = [done[key(d, w)] for d, all_of in plan.jobs() for w in dict.fromkeys(all_of)]
    wanted = list({key(run, run.what): run for run in wanted}.values())
    show(wanted)
    if "held-out" in plan.parts:
        show_held_out(options.study, 1 if options.quick else DIVISIONS)
    return wanted


if __name__ == "__main__":
    main()

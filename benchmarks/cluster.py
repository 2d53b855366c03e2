"""A cluster: two workers against one, what a pass costs, and workers that are killed.

    python benchmarks/cluster.py [--quick] [--situations 1000000] [--kills 10] [--out FILE.json]

Swissmetro travellers are drawn again and again, their times and costs shaken; the space is the
medium one (252 columns). Clusters of one and of two worker processes stand side by side and make
the same passes in turn, so that whatever else the machine does is in the way of both. Blocks are
expanded in every pass, as of data larger than memory. `apart` is what two processes can do on this
machine at most: the same Gram matrices by each on its own, without any Dask.

Then a worker is killed at a random moment of a fit, again and again, and the outcome compared with
that of an undisturbed one.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import dask
import numpy as np
from distributed import get_task_stream

import ardchoice as ac
from ardchoice.data import ChoiceData
from ardchoice.design import Execution
from ardchoice.design.remote import Workers
from ardchoice.design.shards import cut, shard_rows
from ardchoice.design.sources import Standardizer
from ardchoice.families.mnl.kernel import evaluate
from ardchoice.numerics.passes import single_blas_thread

SITUATIONS, QUICK_SITUATIONS = 1_000_000, 40_000
PASSES = 5
BAR = 1.6
SAME = 1e-9
KILL_SITUATIONS = 20_000
APART_SECONDS = 4.0


@dataclass(frozen=True)
class Pass:
    """One pass; seconds.

    Attributes
    ----------
    workers
    wall
        From the call to the sum.
    compute, transfer
        Of all workers together: measuring and adding; waiting for what others have.
    processor
        Processor time of all workers: less than `compute` where something else was in the way.
    """

    workers: int
    wall: float
    compute: float
    transfer: float
    processor: float

    @property
    def idle(self) -> float:
        """Of all workers together: waiting for tasks, or for the others to finish."""
        return self.workers * self.wall - self.compute - self.transfer


def simulated(n: int, seed: int = 0) -> ChoiceData:
    """Travellers drawn again, times and costs shaken."""
    rng = np.random.default_rng(seed)
    data = ac.datasets.swissmetro_choices("semi-artificial").take(rng.integers(0, 10_710, n))
    shaken = {
        name: replace(a, values=a.values * rng.uniform(0.8, 1.25, a.values.shape))
        for name, a in data.attributes.items()
    }
    return replace(data, attributes=shaken)


# -- Passes ----------------------------------------------------------------------------------------


def one_pass(client: Any, workers: int, blocks: Any, measure: Any) -> Pass:
    """A pass, and what the workers did meanwhile."""
    before = sum(client.run(time.process_time).values())
    with get_task_stream(client) as stream:
        started = time.perf_counter()
        blocks.map_reduce(measure)
        wall = time.perf_counter() - started
    spent = {"compute": 0.0, "transfer": 0.0}
    for task in stream.data:
        for part in task["startstops"]:
            if part["action"] in spent:
                spent[part["action"]] += part["stop"] - part["start"]
    processor = sum(client.run(time.process_time).values()) - before
    return Pass(workers, wall, spent["compute"], spent["transfer"], processor)


def passes(n: int, count: int) -> dict[str, Any]:
    """One and two workers in turn, and this process."""
    data = simulated(n)
    design = ac.Design(data, ac.swissmetro_space(data).terms)
    moments = design.moments(design.passing())
    scale = np.where(moments.sd > 0, moments.sd, 1.0)[design.order]
    standardise = Standardizer(np.zeros(len(scale)), scale)
    beta = np.random.default_rng(1).normal(scale=0.01, size=len(scale))
    measure = partial(evaluate, beta, order=2)
    found: list[Pass] = []
    with ac.local_cluster(1) as one, ac.local_cluster(2) as two:
        two.wait_for_workers(2)
        clients = {1: one, 2: two}
        blocks = {
            w: ac.Design(data, design.encoding, execution=Execution(Workers(c, keep=0))).blocks(
                standardise
            )
            for w, c in clients.items()
        }
        apart = {w: apart_rate(c, w) for w, c in clients.items()}
        first = {w: one_pass(c, w, blocks[w], measure).wall for w, c in clients.items()}
        sums = {w: blocks[w].map_reduce(measure) for w in clients}
        for _ in range(count):
            found += [one_pass(c, w, blocks[w], measure) for w, c in clients.items()]
    here = design.passing(standardise)
    here.threads = 1
    started = time.perf_counter()
    with single_blas_thread():
        alone = here.map_reduce(measure)
    seconds_here = time.perf_counter() - started
    shard = cut(data, slice(0, min(n, shard_rows(n))), "one")
    walls = {w: median(p.wall for p in found if p.workers == w) for w in clients}
    return {
        "situations": n,
        "columns": design.n_columns,
        "shards": -(-n // shard_rows(n)),
        "here": seconds_here,
        "first": first,
        "wall": walls,
        "ratio": walls[1] / walls[2],
        "apart": apart[2] / apart[1],
        "same_bits": bool(
            sums[1].loglik == sums[2].loglik
            and np.array_equal(sums[1].curvature, sums[2].curvature)
        ),
        "off_here": abs(sums[1].loglik / alone.loglik - 1),
        "passes": [asdict(p) | {"idle": p.idle} for p in found],
        "bytes_per_row": len(pickle.dumps(shard)) / shard.rows,
        "bytes_of_sums": len(pickle.dumps(sums[1])),
        "bytes_of_work": len(pickle.dumps(measure)),
    }


def apart_rate(client: Any, workers: int) -> float:
    """Gram matrices a second of all workers together, none of them waiting for another."""
    return float(sum(client.run(grams, APART_SECONDS).values()))


def grams(seconds: float) -> float:
    """Gram matrices a second of a block of the medium space."""
    x = np.random.default_rng(0).normal(size=(252, 2_000))
    ends, count = time.perf_counter() + seconds, 0
    while time.perf_counter() < ends:
        for _ in range(20):
            x @ (x * 1.000001).T
        count += 20
    return count / seconds


# -- Kills -----------------------------------------------------------------------------------------


def kills(n: int, count: int, seed: int = 0) -> list[dict[str, float]]:
    """A worker killed at a random moment of a fit, and how far the outcome is from that of none."""
    rng = np.random.default_rng(seed)
    data = simulated(n, seed=1)
    space = ac.swissmetro_space(data)
    out = []
    # Dask takes a local worker that dies twice within this time for lost.
    patient = {"distributed.deploy.lost-worker-timeout": "1 hour"}
    with dask.config.set(patient), ac.local_cluster(2) as client:
        client.wait_for_workers(2)
        started = time.perf_counter()
        calm = ac.fit_ard(data, space, executor=client)
        seconds = time.perf_counter() - started
        for _ in range(count):
            client.wait_for_workers(2, timeout=120)
            pids = sorted(client.run(os.getpid).values())
            moment, pid = float(rng.uniform(0, 0.9 * seconds)), int(rng.choice(pids))
            timer = threading.Timer(moment, os.kill, (pid, signal.SIGKILL))
            started = time.perf_counter()
            timer.start()
            fit = ac.fit_ard(data, space, executor=client)
            took = time.perf_counter() - started
            was_late = timer.is_alive()
            timer.cancel()
            finite = np.isfinite(calm.lam)
            out.append(
                {
                    "killed_after": moment,
                    "late": float(was_late),
                    "seconds": took,
                    "calm": seconds,
                    "evidence_off": abs(fit.log_evidence / calm.log_evidence - 1),
                    "mean_off": float(np.abs(fit.mean - calm.mean).max()),
                    "lambda_off": float(np.abs(fit.lam[finite] - calm.lam[finite]).max()),
                }
            )
            print(
                f"killed after {moment:5.2f} s: {took:5.2f} s instead of {seconds:.2f}, log "
                f"evidence off by {out[-1]['evidence_off']:.1e}, λ by {out[-1]['lambda_off']:.1e}"
                + (" (the fit was over)" if was_late else ""),
                flush=True,
            )
    return out


# -- All of it -------------------------------------------------------------------------------------


def tell(found: dict[str, Any]) -> None:
    """The passes as text."""
    n, wall = found["situations"], found["wall"]
    print(f"{n:,} situations, {found['columns']} columns, {found['shards']} shards")
    print(f"this process, one thread            {found['here']:8.2f} s")
    for w in (1, 2):
        print(f"{w} worker{'s' if w > 1 else ' '}, median of the passes      {wall[w]:8.2f} s")
    print(f"one worker / two workers            {found['ratio']:8.2f}   (bar {BAR})")
    print(f"the same without Dask, at most      {found['apart']:8.2f}")
    print(f"one / two, by processor time        {by_processor(found):8.2f}")
    print(f"sums the same to the last bit       {found['same_bits']!s:>8}")
    print("\nseconds of a pass, workers together")
    print("workers    wall   compute  processor  transfer   idle")
    for w in (1, 2):
        mine = [p for p in found["passes"] if p["workers"] == w]
        middle = {k: median(p[k] for p in mine) for k in mine[0]}
        print(
            f"{w:7d} {middle['wall']:7.2f} {middle['compute']:9.2f} {middle['processor']:10.2f} "
            f"{middle['transfer']:9.3f} {middle['idle']:6.2f}"
        )
    print(
        f"\nsent once: {found['bytes_per_row']:.0f} bytes a situation; every pass: "
        f"{found['bytes_of_work'] / 1e3:.1f} kB of coefficients out per shard, "
        f"{found['bytes_of_sums'] / 1e6:.2f} MB of sums per shard added up on the workers"
    )
    processor = median(p["processor"] for p in found["passes"] if p["workers"] == 2)
    print(f"{1e6 * processor / n:.2f} microseconds of a core per situation\n")


def by_processor(found: dict[str, Any]) -> float:
    """The ratio if nothing else ran: processor time for wall time, all other waiting as it was."""
    own = {
        w: median(
            p["wall"] - (p["compute"] - p["processor"]) / w
            for p in found["passes"]
            if p["workers"] == w
        )
        for w in (1, 2)
    }
    return float(own[1] / own[2])


def main(words: Sequence[str] | None = None) -> int:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="small, to see that it works")
    parser.add_argument("--situations", type=int)
    parser.add_argument("--kills", type=int)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(words)
    n = options.situations or (QUICK_SITUATIONS if options.quick else SITUATIONS)
    count = options.kills if options.kills is not None else (1 if options.quick else 10)
    warnings.simplefilter("ignore", ac.ArdchoiceWarning)
    found = passes(n, 2 if options.quick else PASSES)
    tell(found)
    killed = kills(2_000 if options.quick else KILL_SITUATIONS, count)
    worst = max((k["evidence_off"] for k in killed), default=0.0)
    print(f"{len(killed)} kills: log evidence off by {worst:.1e} at most (bar {SAME:g})")
    if options.out is not None:
        options.out.write_text(json.dumps({"passes": found, "kills": killed}, indent=1))
    return 0 if worst <= SAME else 1


if __name__ == "__main__":
    sys.exit(main())

"""What `test_forked.py` runs in a process of its own, which has no threads."""

from __future__ import annotations

import os
import signal
import sys
import time

import numpy as np

import ardchoice as ac
import ardchoice.design.design
from ardchoice.errors import ArdchoiceError
from ardchoice.numerics import ForkedPasses, may_fork


def pid_of(block: int) -> list[int]:
    """Which process measures a block; a list, so that they can be told apart."""
    return [os.getpid() + 0 * block]


def refuse_three(block: int) -> int:
    """An error of one block."""
    if block == 3:
        raise ArdchoiceError("three is too many")
    return block


def same() -> None:
    """Two processes give the digits of one, in the order of the blocks."""
    ardchoice.design.design.FEWEST_ROWS = 450
    ardchoice.design.design.BLOCK_BYTES = 1
    ardchoice.design.design.COSTLY_WORTH_THREADS = 0
    assert may_fork()
    data = ac.datasets.swissmetro_choices("real").take(np.arange(1800))
    spec = "TRAIN: ASC\nCAR: ASC\n*: TT + CO"
    family = ac.Mixed({"*: TT": "normal", "*: CO": "normal"}, nodes=16)
    counted: list[int] = []
    measured = ForkedPasses.measured

    def counting(self: ForkedPasses, measure: object) -> object:
        counted.append(1)
        return measured(self, measure)  # type: ignore[arg-type]

    ForkedPasses.measured = counting  # type: ignore[method-assign,assignment]
    one = ac.fit(data, spec, family=family, n_threads=1)
    assert not counted
    two = ac.fit(data, spec, family=family, n_threads=2)
    assert len(counted) > 3
    np.testing.assert_array_equal(one.coefficients, two.coefficients)
    assert one.loglik == two.loglik
    for kind, matrix in one.covariances.items():
        np.testing.assert_array_equal(matrix, two.covariances[kind])


def errors() -> None:
    """An error of a process is that of the pass, and the next pass is made."""
    passes = ForkedPasses([0, 1, 2, 3, 4], 2)
    pids = [one for (one,) in passes.measured(pid_of)]
    assert pids[0] == pids[2] == pids[4] != pids[1] == pids[3]
    assert os.getpid() not in pids
    try:
        passes.measured(refuse_three)
    except ArdchoiceError as error:
        assert "three is too many" in str(error)
    else:
        raise AssertionError("no error")
    assert [one for (one,) in passes.measured(pid_of)] == pids
    os.kill(pids[1], signal.SIGKILL)
    try:
        passes.measured(pid_of)
    except ArdchoiceError as error:
        assert "n_threads=1" in str(error)
    else:
        raise AssertionError("no error")


def wait() -> None:
    """Print the processes, and wait to be killed."""
    passes = ForkedPasses([0, 1, 2], 3)
    print(*(one for (one,) in passes.measured(pid_of)), flush=True)
    time.sleep(60)


if __name__ == "__main__":
    {"same": same, "errors": errors, "wait": wait}[sys.argv[1]]()

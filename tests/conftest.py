"""Shared by all tests: one BLAS thread per worker, and `import tests_support` from every folder."""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

# Before NumPy is imported: workers side by side would otherwise wait for one another's threads.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

sys.path.insert(0, str(Path(__file__).parent))


BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Import a benchmark by name."""
    if not BENCHMARKS.exists():
        pytest.skip("benchmarks are not installed")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module

"""Shared by all tests: one BLAS thread per worker, and `import tests_support` from every folder."""

import os
import sys
from pathlib import Path

# Before NumPy is imported: workers side by side would otherwise wait for one another's threads.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

sys.path.insert(0, str(Path(__file__).parent))

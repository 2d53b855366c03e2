"""Types of arrays, named once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]
AnyArray = npt.NDArray[Any]

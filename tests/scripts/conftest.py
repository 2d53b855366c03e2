"""The models of the tests of exports are those of the round trips as well."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "exports"))

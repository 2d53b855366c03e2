"""The same numbers as `scipy.stats`, which they spare from being imported."""

import subprocess
import sys

import numpy as np
from scipy import stats

from ardchoice.numerics import (
    adjusted_p_values,
    chi2_isf,
    chi2_sf,
    normal_quantile,
    normal_sf,
    t_quantile,
)

SAME = 1e-14


def test_tails_of_chi_squares_are_those_of_scipy() -> None:
    x, degrees = np.array([-1.0, 0.0, 1e-9, 0.5, 3.84, 40.0, 800.0, np.inf]), np.arange(1, 9)
    np.testing.assert_allclose(chi2_sf(x, degrees), stats.chi2.sf(x, degrees), rtol=SAME)
    p = np.array([0.0, 1e-300, 1e-12, 0.05, 0.5, 1.0])
    np.testing.assert_allclose(chi2_isf(p, 3), stats.chi2.isf(p, 3), rtol=SAME)


def test_normal_and_student_are_those_of_scipy() -> None:
    x = np.array([-np.inf, -9.0, -1.0, 0.0, 1.96, 12.0, np.inf])
    np.testing.assert_allclose(normal_sf(x), stats.norm.sf(x), rtol=SAME)
    p = np.array([0.0, 1e-20, 0.025, 0.5, 0.975, 1.0])
    np.testing.assert_allclose(normal_quantile(p), stats.norm.ppf(p), rtol=SAME)
    for degrees in (1, 4, 9, 200):
        inner = p[1:-1]
        np.testing.assert_allclose(t_quantile(inner, degrees), stats.t.ppf(inner, degrees))


def test_adjusted_p_values_are_those_of_scipy() -> None:
    p = np.random.default_rng(0).random(50) ** 3
    p[3] = p[4]
    np.testing.assert_allclose(adjusted_p_values(p), stats.false_discovery_control(p), rtol=SAME)
    assert adjusted_p_values(np.array([0.3])) == 0.3


def test_a_search_imports_no_statistics_package() -> None:
    """Importing `scipy.stats` takes as long as a search in a small table."""
    code = "import sys, ardchoice as ac; ac.specify; ac.fit_ard; import ardchoice.report"
    code += "; assert 'scipy.stats' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

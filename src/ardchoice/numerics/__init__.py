"""Numerical methods that know no model: the one pass over blocks, Newton's method."""

from ardchoice.numerics.distributions import (
    adjusted_p_values,
    chi2_isf,
    chi2_sf,
    normal_quantile,
    normal_sf,
    t_quantile,
)
from ardchoice.numerics.forked import ForkedPasses, may_fork
from ardchoice.numerics.newton import (
    NewtonFit,
    ascent_step,
    is_definite,
    maximise,
    newton_step,
)
from ardchoice.numerics.passes import (
    BlockSource,
    Measure,
    Measured,
    default_threads,
    map_reduce,
    ordered_map,
    single_blas_thread,
    total,
)
from ardchoice.numerics.profile import nearest_definite, profile, profile_out
from ardchoice.numerics.random import must_be_seed, seeded
from ardchoice.numerics.stacks import (
    stacked_cholesky,
    stacked_gram,
    stacked_inverse,
    stacked_solve,
)
from ardchoice.numerics.sums import Order, Sums, penalised

__all__ = [
    "BlockSource",
    "ForkedPasses",
    "Measure",
    "Measured",
    "NewtonFit",
    "Order",
    "Sums",
    "adjusted_p_values",
    "ascent_step",
    "chi2_isf",
    "chi2_sf",
    "default_threads",
    "is_definite",
    "map_reduce",
    "maximise",
    "may_fork",
    "must_be_seed",
    "nearest_definite",
    "newton_step",
    "normal_quantile",
    "normal_sf",
    "ordered_map",
    "penalised",
    "profile",
    "profile_out",
    "seeded",
    "single_blas_thread",
    "stacked_cholesky",
    "stacked_gram",
    "stacked_inverse",
    "stacked_solve",
    "t_quantile",
    "total",
]

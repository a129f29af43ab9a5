"""Tangents that prove a convex program infeasible, whatever numbers they come with."""

import numpy as np

from engiagent.formulations.classify import classify
from engiagent.solvers.convex.outer import has_no_point
from engiagent.solvers.result import SolveOptions
from tests.solvers.conformance.cases import FREE, INF, make

CONFLICT = [([0, 0], -INF, 1), ([1, 1], 3, INF)]
DISK = [(0, 0, 0, 1), (0, 1, 1, 1)]


def proves(start: list[float], **more: object) -> bool:
    program = make([1, 1], CONFLICT, squares=DISK, **more)
    return has_no_point(program, classify(program), np.array(start), SolveOptions())


def test_slopes_of_the_size_of_rounding_are_no_obstacle() -> None:
    """The tangent at such a point has a coefficient that HiGHS refuses to keep."""
    assert proves([1.2, 3e-13], bounds=[(-9, 9)] * 2)


def test_slopes_of_the_size_of_rounding_prove_nothing_without_bounds() -> None:
    assert proves([1.2, 3e-13], bounds=[FREE] * 2)  # by later tangents


def test_slopes_beyond_all_numbers_are_given_up() -> None:
    assert proves([1e16, 1.0], bounds=[FREE] * 2)  # by later ones


def test_a_program_with_a_point_is_never_called_empty() -> None:
    program = make([1, 1], [([0, 0], -INF, 1), ([1, 1], 1, INF)], squares=DISK, bounds=[FREE] * 2)
    for start in ([0.9, 2e-13], [2.0, 1e-12], [-3.0, 5.0]):
        assert not has_no_point(program, classify(program), np.array(start), SolveOptions())

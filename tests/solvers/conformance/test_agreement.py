"""All solvers that take a program agree on it: random programs of every class.

``ENGIAGENT_EXAMPLES=500`` sets how many programs of each class are tried; a few otherwise.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.formulations.classify import classify
from engiagent.formulations.program import Program
from engiagent.formulations.values import Atom, Form, Part, Term
from engiagent.solvers.feasibility import worst_violation
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.solving import solve
from tests.solvers.conformance.cases import ALL, make, the, why_not
from tests.solvers.conformance.test_conformance import gradient, jacobian
from tests.solvers.effort import examples

EXAMPLES = examples(3)
AGREE = 1e-5
CHOSEN = ("highs", "piqp", "clarabel", "ipopt", "scip")
"""What is chosen by itself must prove what it says; others may admit that they did not."""
ROOT = 3.0
"""A point that breaks curved rows by v may be better by this times the root of v, of the
objective's size: where points touch a row without room, as (x - 1)² <= 0 has none, x moves by the
root of what the row gives."""
PATIENCE, PYOMO = 30.0, 3.0
"""Seconds for one program: SCIP by way of Pyomo halves boxes around a cone for ever."""
LOWER, UPPER = -4, 5


class Draw:
    """Random numbers from one seed: programs shrink badly, but seeds reproduce them."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.n = int(self.random.integers(1, 6))
        self.m = int(self.random.integers(0, 5))

    def linear(self, **more: Any) -> Program:
        """Return a program around a planted point; one in eight may be infeasible."""
        r, n, m = self.random, self.n, self.m
        a = r.integers(-3, 4, (m, n)) * (r.random((m, n)) < 0.7)
        inside = r.integers(LOWER, UPPER + 1, n)
        activity = a @ inside + (0 if r.random() < 0.9 else r.integers(-9, 9, m))
        room = r.integers(0, 6, (2, m)).astype(float)
        kind = r.integers(0, 4, m)
        low = np.where(kind == 0, -np.inf, activity - np.where(kind == 3, 0, room[0]))
        high = np.where(kind == 1, np.inf, activity + np.where(kind == 3, 0, room[1]))
        rows = list(zip(a, low, high, strict=True))
        sense = "minimize" if r.random() < 0.5 else "maximize"
        given = {"sense": sense, "offset": float(r.integers(-5, 6))} | more
        return make(r.integers(-4, 5, n), rows, bounds=[(LOWER, UPPER)] * n, **given)

    def squares(self, row: int, sign: float = 1.0) -> list[tuple[int, int, int, float]]:
        """Return the entries of a convex form with integer data."""
        factor = self.random.integers(-2, 3, (self.n, int(self.random.integers(1, 3))))
        q = factor @ factor.T
        return [
            (row, i, j, sign * float(q[i, j] * (1 if i == j else 2)))
            for i in range(self.n)
            for j in range(i + 1)
            if q[i, j]
        ]

    def whole(self) -> list[int]:
        """Return at least one column."""
        return [0, *np.flatnonzero(self.random.random(self.n) < 0.5)]


def _sign(program: Program) -> float:
    return 1.0 if program.sense == "minimize" else -1.0


def lp(draw: Draw, **more: Any) -> Program:
    return draw.linear(**more)


def qp(draw: Draw, **more: Any) -> Program:
    sense = "minimize" if draw.random.random() < 0.5 else "maximize"
    sign = 1.0 if sense == "minimize" else -1.0
    return draw.linear(squares=draw.squares(-1, sign), sense=sense, **more)


def socp(draw: Draw, **more: Any) -> Program:
    """Return a program whose last row is an ellipsoid around the origin, which it may miss."""
    draw.m = max(1, draw.m)
    program = draw.linear(squares=draw.squares(draw.m - 1), **more)
    program.row_lower[-1] = -np.inf
    program.row_upper[-1] = float(draw.random.integers(2, 60))
    return program


def nlp(draw: Draw, **more: Any) -> Program:
    """Return a program with convex functions in the objective (a minimum) and in the last row."""
    draw.m = max(1, draw.m)
    program = draw.linear(sense="minimize", **more)
    program.row_lower[-1] = -np.inf
    program.row_upper[-1] = float(draw.random.integers(4, 40))
    parts = tuple(
        Part(np.array([row]), np.array([1.0]), _convex_function(draw, str(name)))
        for row, name in zip(
            (-1, draw.m - 1, -1),
            draw.random.choice(["exp", "square", "log", "norm"], 3),
            strict=True,
        )
    )
    return replace(program, nonlinear=parts)


def _affine(draw: Draw, constant: float) -> Form:
    weights = draw.random.integers(-2, 3, draw.n) / 4
    return Form(
        1,
        np.array(constant),
        (Term(np.zeros(draw.n, np.int64), np.arange(draw.n), weights.astype(float)),),
    )


def _convex_function(draw: Draw, name: str) -> Atom:
    inner = _affine(draw, float(draw.random.integers(-1, 2)))
    if name == "exp":
        return Atom("exp", 1, (inner,))
    if name == "square":
        return Atom("power", 1, (inner,), numbers=(np.array(2.0),))
    one = np.zeros(1, np.int64)
    if name == "norm":
        other = _affine(draw, 1.0)
        squared = Form(
            1,
            np.array(0.5),
            (),
            tuple(
                Part(one, np.ones(1), Atom("power", 1, (form,), numbers=(np.array(2.0),)))
                for form in (inner, other)
            ),
        )
        return Atom("sqrt", 1, (squared,))
    # -log of something safely positive, as 0 - log: an exponential of a concave logarithm.
    positive = _affine(draw, 15.0)
    negative_log = Form(1, np.zeros(()), (), (Part(one, -np.ones(1), Atom("log", 1, (positive,))),))
    return Atom("exp", 1, (negative_log,))


def nonconvex(draw: Draw, **more: Any) -> Program:
    """Return a program with products of any sign in the objective and in a row."""
    draw.m = max(1, draw.m)
    r, n = draw.random, draw.n
    pairs = {(int(r.integers(0, n)), int(r.integers(0, n))) for _ in range(3)}
    entries: dict[tuple[int, int, int], float] = {}
    for i, j in pairs:
        row = int(r.choice([-1, draw.m - 1]))
        entries[(row, max(i, j), min(i, j))] = float(r.integers(1, 4) * r.choice([-1, 1]))
    return draw.linear(squares=[(*key, value) for key, value in entries.items()], **more)


def _with_whole(build: Callable[..., Program]) -> Callable[[Draw], Program]:
    return lambda draw: build(draw, whole=draw.whole())


CLASSES: dict[str, Callable[[Draw], Program]] = {
    "LP": lp,
    "QP": qp,
    "SOCP": socp,
    "NLP": nlp,
    "nonconvex": nonconvex,
    "MILP": _with_whole(lp),
    "MIQP": _with_whole(qp),
    "MISOCP": _with_whole(socp),
    "MINLP": _with_whole(nlp),
    "nonconvex with whole numbers": _with_whole(nonconvex),
}


@pytest.mark.parametrize("name", list(CLASSES))
@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**32 - 1))
def test_solvers_agree(name: str, seed: int) -> None:
    _solvers_agree(name, seed)


def _solvers_agree(name: str, seed: int) -> None:
    program = CLASSES[name](Draw(seed))
    convex = classify(program).convexity == "convex"
    results = {
        backend: solve(program, _patient(backend), isolate=False)
        for backend in ALL
        if why_not(the(backend), program) is None
    }
    for backend, result in results.items():
        _check(backend, program, result, convex)
    proven = {
        backend: result
        for backend, result in results.items()
        if result.status in ("optimal", "infeasible")
        and (convex or "global" in the(backend).features)
    }
    assert proven, {backend: result.reason for backend, result in results.items()}
    told = {backend: (result.status, result.objective) for backend, result in results.items()}
    assert len({result.status for result in proven.values()}) == 1, told
    values = [result.objective for result in proven.values() if result.objective is not None]
    if values:
        room = AGREE * max(1.0, max(abs(value) for value in values))
        assert max(values) - min(values) <= room, told
        # No other point is better than what is proven to be the best.
        sign = _sign(program)
        best = min(sign * value for value in values)
        for result in results.values():
            if result.x is not None and result.objective is not None:
                broken = 0.0
                if result.status == "feasible" and result.gap is not None:
                    broken = worst_violation(program, result.x).amount
                more = max(1.0, ROOT * math.sqrt(broken) / AGREE)
                assert sign * result.objective >= best - more * room, told
            if result.bound is not None:
                assert sign * result.bound <= best + room, told


def _patient(backend: str) -> SolveOptions:
    """Return options with a limit at which whoever is still at it has to say so."""
    if "time_limit" not in the(backend).options:
        return SolveOptions(backend=backend)
    limit = PYOMO if backend.startswith("pyomo:") else PATIENCE
    return SolveOptions(backend=backend, time_limit=limit)


def _check(backend: str, program: Program, result: SolverResult, convex: bool) -> None:
    solver = the(backend)
    chosen = backend in CHOSEN and (backend != "highs" or program.is_linear)
    if convex and not program.is_mip and chosen:
        assert result.status in ("optimal", "infeasible"), (backend, result.reason)
    if result.x is None:
        return
    assert worst_violation(program, result.x).amount <= AGREE, backend
    assert result.objective == program.objective_at(result.x)
    whole = result.x[program.integrality]
    assert np.array_equal(whole, np.round(whole))
    if result.status == "optimal" and not program.is_mip:
        assert result.row_dual is not None or "duals" not in solver.features, backend
        if result.row_dual is not None:
            _check_duals(backend, program, result)


def _products(dual: Any, slack: Any, negligible: float) -> Any:
    """Return the products of what must not both be there; a side without a limit has no dual."""
    present = dual > negligible
    return dual[present] * slack[present]


def _check_duals(backend: str, program: Program, result: SolverResult) -> None:
    """Hold multipliers to their definition: signs, complementarity and reduced costs."""
    assert result.x is not None
    assert result.row_dual is not None, backend
    y, x = _sign(program) * result.row_dual, result.x
    size = max(1.0, float(np.max(np.abs(y), initial=0.0)))
    activity = program.activity_at(x)
    for slack, dual in (
        (activity - program.row_lower, np.maximum(y, 0.0)),
        (program.row_upper - activity, np.maximum(-y, 0.0)),
    ):
        product = _products(dual, slack, 1e-7 * size)
        assert float(np.max(product, initial=0.0)) <= 1e-3 * size, (backend, result.row_dual)
    if result.column_dual is None:
        return
    expected = gradient(program, x) - jacobian(program, x).T @ result.row_dual
    assert result.column_dual == pytest.approx(expected, abs=2e-4 * size), backend
    z = _sign(program) * result.column_dual
    for slack, dual in (
        (x - program.column_lower, np.maximum(z, 0.0)),
        (program.column_upper - x, np.maximum(-z, 0.0)),
    ):
        product = _products(dual, slack, 1e-6 * size)
        assert float(np.max(product, initial=0.0)) <= 1e-3 * size, (backend, result.column_dual)

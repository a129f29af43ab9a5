"""The class and the convexity of programs, against eigenvalues and against midpoints."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.formulations.classify import classify
from engiagent.formulations.curvature import Judge
from engiagent.formulations.program import Indicators, Products, Program, RowBlock
from engiagent.formulations.quadratic import positive_semidefinite
from engiagent.formulations.values import Atom, Form, Part, Term, applied, constant, variables
from tests.solvers.effort import examples
from tests.written import listing

INF = np.inf


def program(n: int, m: int = 0, **more: Any) -> Program:
    values: dict[str, Any] = {
        "sense": "minimize",
        "cost": np.zeros(n),
        "column_lower": np.zeros(n),
        "column_upper": np.full(n, 10.0),
        "integrality": np.zeros(n, dtype=bool),
        "row_starts": np.zeros(m + 1, np.int64),
        "row_columns": np.zeros(0, np.int64),
        "row_values": np.zeros(0),
        "row_lower": np.full(m, -INF),
        "row_upper": np.zeros(m),
        "rows": tuple(
            RowBlock(name=f"c{i}", constraint_id=f"C{i}", start=i, stop=i + 1, unit="1")
            for i in range(m)
        ),
    }
    return Program(**values | more)


def products(*entries: tuple[int, int, int, float]) -> Products:
    rows, first, second, values = zip(*sorted(entries), strict=True)
    return Products(np.array(rows), np.array(first), np.array(second), np.array(values))


WHOLE: dict[str, Any] = {"integrality": np.array([True, False, False])}
BELL = Part(np.array([0]), np.ones(1), Atom("exp", 1, (variables(np.array([1])),)))


@pytest.mark.parametrize(
    ("made", "kind", "convexity"),
    [
        (program(3), "LP", "convex"),
        (program(3, products=products((-1, 0, 0, 1.0))), "QP", "convex"),
        (program(3, products=products((-1, 0, 0, -1.0))), "QP", "nonconvex"),
        (program(3, products=products((-1, 1, 0, 1.0)), **WHOLE), "MIQP", "nonconvex"),
        (program(3, 1, products=products((0, 0, 0, 1.0))), "SOCP", "convex"),
        # x0² + x1² <= x2², x2 >= 0.
        # x0² <= x2 x1, a rotated cone, and the same with all signs turned.
        (program(3, 1, products=products((0, 0, 0, 1.0), (0, 2, 1, -3.0))), "SOCP", "convex"),
        (
            program(
                3,
                1,
                products=products((0, 0, 0, -1.0), (0, 2, 1, 3.0)),
                row_lower=np.ones(1),
                row_upper=np.full(1, INF),
            ),
            "SOCP",
            "convex",
        ),
        # The same with heads that may be negative, or with room on the right: no cone.
        (
            program(3, 1, products=products((0, 0, 0, 1.0), (0, 2, 2, -1.0)), row_upper=np.ones(1)),
            "NLP",
            "nonconvex",
        ),
        # A curved equation is no convex set.
        (
            program(3, 1, products=products((0, 0, 0, 1.0)), row_lower=np.zeros(1)),
            "NLP",
            "nonconvex",
        ),
        (program(3, 1, nonlinear=(BELL,)), "NLP", "convex"),
        (program(3, 1, nonlinear=(BELL,), row_lower=np.zeros(1)), "NLP", "nonconvex"),
        (program(3, sos1=(np.array([0, 1]),)), "MILP", "convex"),
        (
            program(
                3,
                1,
                indicators=Indicators(np.array([0]), np.array([0]), np.array([1])),
                products=products((-1, 1, 1, 1.0)),
            ),
            "MIQP",
            "convex",
        ),
    ],
)
def test_class_and_convexity(made: Program, kind: str, convexity: str) -> None:
    found = classify(made)
    assert (found.problem_class, found.convexity) == (kind, convexity), found.reasons


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.booleans())
def test_definite_is_what_the_eigenvalues_say(seed: int, n: int, turned: bool) -> None:
    random = np.random.default_rng(seed)
    factor = random.normal(size=(n, random.integers(1, n + 1))) * (random.random((n, 1)) < 0.8)
    matrix = factor @ factor.T
    if turned:
        matrix -= 1e-3 * np.outer(*[random.normal(size=n)] * 2) * np.diag(matrix).max()
    matrix *= np.outer(*[10.0 ** random.uniform(-3, 3, n)] * 2)
    values = np.linalg.eigvalsh(matrix)
    if -1e-9 * abs(values).max() < values[0] < -1e-13 * abs(values).max():
        return  # too close to tell
    first, second = np.nonzero(np.tril(matrix))
    entries = np.where(first == second, 1.0, 2.0) * matrix[first, second]
    expected = values[0] >= -1e-12 * abs(values).max()
    found = positive_semidefinite(np.zeros(len(first), np.int64), first, second, entries, 1)
    assert found.tolist() == [expected]


# --- shapes of functions against midpoints --------------------------------------------------------

X, Y = np.array([0]), np.array([1])


def _affine(draw: Any) -> Form:
    weights = np.array([draw(st.sampled_from([-2.0, -1.0, 0.5, 1.0, 3.0])) for _ in range(2)])
    count = draw(st.integers(0, 2))
    form = constant(draw(st.sampled_from([-1.0, 0.0, 0.5, 2.0, 9.0])), 1)
    for k in range(count):
        form = form + Form(1, np.zeros(()), (Term(None, np.array([k]), weights[k : k + 1]),))
    return form


@st.composite
def forms(draw: Any, depth: int = 2) -> Form:
    if depth == 0:
        return _affine(draw)
    inner: Form = draw(forms(depth - 1))
    name = draw(
        st.sampled_from(
            listing("""
                [affine, exp, log, sqrt, sin, cos, tanh, power, abs, max, min, product, square,
                  quotient, piecewise, sum]
            """)
        )
    )
    if name == "affine":
        return _affine(draw)
    if name == "sum":
        factor = draw(st.sampled_from([-1.0, 0.5, 2.0]))
        scaled: Form = inner * factor
        total: Form = scaled + draw(forms(depth - 1))
        return total
    if name in ("max", "min"):
        other = draw(forms(depth - 1))
        both = inner.scatter(np.array([0]), 2) + other.scatter(np.array([1]), 2)
        return applied(Atom(name, 1, (both,), groups=np.zeros(2, np.int64)))
    if name in ("product", "quotient"):
        return applied(Atom(name, 1, (inner, draw(forms(depth - 1)))))
    if name == "square":
        return applied(Atom("product", 1, (inner, inner)))
    if name == "power":
        exponent = draw(st.sampled_from([-2.0, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0, 3.0]))
        return applied(Atom("power", 1, (inner,), numbers=(np.array(exponent),)))
    if name == "piecewise":
        ys = np.array([draw(st.sampled_from([-1.0, 0.0, 2.0, 5.0])) for _ in range(3)])
        return applied(Atom("piecewise", 1, (inner,), numbers=(np.array([-4.0, 1.0, 7.0]), ys)))
    return applied(Atom(name, 1, (inner,)))


@settings(max_examples=examples(100))
@given(forms(), st.sampled_from([(0.0, 3.0), (-2.0, 2.0), (1.0, 2.0)]), st.integers(0, 2**32 - 1))
def test_what_is_called_convex_lies_below_its_chords(
    form: Form, box: tuple[float, float], seed: int
) -> None:
    lower, upper = np.full(2, box[0]), np.full(2, box[1])
    found = Judge(lower, upper).form(form)
    random = np.random.default_rng(seed)
    for _ in range(20):
        a, b = random.uniform(lower, upper), random.uniform(lower, upper)
        with np.errstate(all="ignore"):
            ends, middle = (form.at(a) + form.at(b)) / 2, form.at((a + b) / 2)
        if not np.isfinite(ends[0]):
            continue
        room = 1e-9 * (1 + abs(form.at(a)[0]) + abs(form.at(b)[0]))
        if found.convex[0]:
            assert middle[0] <= ends[0] + room  # also: defined between two points where it is
        if found.concave[0]:
            assert middle[0] >= ends[0] - room

"""Exact bounds, rays and violations against vertices and whole numbers counted out in fractions."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.blueprint.document import Blueprint
from engiagent.run.certify import certify
from engiagent.units.unit import parse_unit
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.exact import linear
from engiagent.verify.exact.addition import findings_of
from engiagent.verify.exact.bench import fraction, listed, read_off
from engiagent.verify.exact.linear import ExactProgramme, Linear, linear_of, programme_of
from engiagent.verify.levels.relaxed import weights_of
from engiagent.verify.schedule import Multipliers
from engiagent.verify.series import Series
from tests.verify import small

N, M, UPPER = 3, 2, 4
KILOWATT_HOUR = parse_unit("kWh").factor
tenths = st.integers(-40, 40).map(lambda n: n / 10)


def document(
    a: list[list[float]], b: list[float], c: list[float], op: str = ">=", kind: str = "continuous"
) -> Blueprint:
    """Return ``minimize c x`` over ``A x op b`` and ``0 <= x <= 4``."""
    rows = {str(i + 1): {str(j + 1): a[i][j] for j in range(N)} for i in range(len(b))}
    variable = {"name": "x", "index": ["j in J"], "unit": "kWh", "lower": 0, "upper": UPPER}
    text = f"sum(A[i, j]*x[j] for j in J) {op} b[i]"
    return small.document(
        [{**variable, "type": kind}],
        [{"constraint_id": "rows", "forall": ["i in I"], "expression": text}],
        {"sense": "minimize", "unit": "EUR", "expression": "sum(c[j]*x[j] for j in J)"},
        sets=[
            {"name": "I", "kind": "range", "start": 1, "stop": len(b)},
            {"name": "J", "kind": "range", "start": 1, "stop": N},
        ],
        parameters=[
            {"name": "A", "index": ["I", "J"], "value": rows, "unit": "1"},
            {"name": "b", "index": ["I"], "value": b, "unit": "kWh"},
            {"name": "c", "index": ["J"], "value": c, "unit": "EUR/kWh"},
        ],
    )


def exactly(blueprint: Blueprint, x: list[float]) -> tuple[ExactProgramme, Linear]:
    series = Series("x", np.array(x), parse_unit("kWh"), ("J",))
    bench = Bench(Declarations(blueprint.core, None), {"x": series})
    bench.evaluator.environment.symbol("x")
    goal = blueprint.core.objective_function
    assert goal is not None
    programme = programme_of(bench, blueprint.core, goal.expression, "minimize")
    assert len(programme.affine) == len(programme.rows)
    return programme, linear_of(programme)


# --- the second route: plain fractions ---------------------------------------------------------


def solved(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction] | None:
    """Return the solution of a square system by elimination, None when it has not just one."""
    rows = [[*row, end] for row, end in zip(matrix, right, strict=True)]
    for column in range(len(rows)):
        pivot = next((r for r in range(column, len(rows)) if rows[r][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for r in range(len(rows)):
            if r != column:
                factor = rows[r][column]
                rows[r] = [v - factor * w for v, w in zip(rows[r], rows[column], strict=True)]
    return [row[-1] for row in rows]


def vertices(a: list[list[float]], b: list[float]) -> Iterator[list[Fraction]]:
    """Yield every vertex of ``A x >= b`` and ``0 <= x <= 4``."""
    planes = [([fraction(v) for v in row], fraction(end)) for row, end in zip(a, b, strict=True)]
    for j in range(N):
        unit = [Fraction(int(k == j)) for k in range(N)]
        planes += [(unit, Fraction(0)), ([-v for v in unit], Fraction(-UPPER))]
    for chosen in combinations(planes, N):
        x = solved([list(row) for row, _ in chosen], [end for _, end in chosen])
        if x is not None and all(dot(row, x) >= end for row, end in planes):
            yield x


def dot(row: list[Fraction], x: list[Fraction]) -> Fraction:
    return sum((v * w for v, w in zip(row, x, strict=True)), Fraction(0))


def bound(programme: ExactProgramme, system: Linear, weights: Any, digits: int = 17) -> Fraction:
    """Return the exact bound in EUR for multipliers in EUR/kWh."""
    multipliers = {"rows": Multipliers(np.asarray(weights, float), parse_unit("EUR/kWh"))}
    y = weights_of(programme.rows, multipliers, None, 1)
    found = linear.dual_bound(system, read_off(y, digits), (system.lower, system.upper))
    assert found.value is not None
    return found.value


matrices = st.lists(st.lists(tenths, min_size=N, max_size=N), min_size=M, max_size=M)
vectors = st.lists(tenths, min_size=M, max_size=M)
costs = st.lists(tenths, min_size=N, max_size=N)


@settings(max_examples=60)
@given(matrices, vectors, costs, st.lists(st.floats(-50, 50), min_size=M, max_size=M))
def test_no_multipliers_prove_more_than_the_best_vertex_and_the_right_ones_all_of_it(
    a: list[list[float]], b: list[float], c: list[float], noise: list[float]
) -> None:
    programme, system = exactly(document(a, b, c), [1.5, 0.1, 3.0])
    best = min((dot([fraction(v) for v in c], x) for x in vertices(a, b)), default=None)
    claimed = bound(programme, system, noise)
    if best is None:
        found = linear.proposed_ray(system)
        assert found is not None
        ends = system.lower, system.upper
        margin = linear.dual_bound(system, read_off(found, 17), ends, ray=True).value
        assert margin is not None
        # A conflict by nothing but the last digit is beyond a ray in doubles, and said so.
        assert margin > 0 or abs(margin) < Fraction(1, 10**6)
        return
    assert claimed <= best
    assert programme.objective is not None
    proposed = linear.proposed(system)
    if proposed is not None:
        tight = bound(programme, system, proposed * float(KILOWATT_HOUR))
        assert tight <= best
        assert best - tight <= Fraction(1, 10**9) * (1 + abs(best))


@settings(max_examples=40)
@given(matrices, vectors, costs, st.lists(st.floats(-9, 9), min_size=M, max_size=M))
def test_the_bound_of_the_relaxation_is_one_of_whole_numbers_and_their_count_is_right(
    a: list[list[float]], b: list[float], c: list[float], weights: list[float]
) -> None:
    blueprint = document(a, b, c, kind="integer")
    exact_a = [[fraction(v) for v in row] for row in a]
    values = []
    for x in product(map(Fraction, range(UPPER + 1)), repeat=N):
        keeps = all(dot(row, list(x)) >= fraction(e) for row, e in zip(exact_a, b, strict=True))
        if keeps:
            values.append((dot([fraction(v) for v in c], list(x)), x))
    programme, system = exactly(
        blueprint, [float(v) for v in (values[0][1] if values else (0,) * N)]
    )
    if values:
        assert all(one.worst == 0 for one in findings_of(programme))
        best = min(values)[0]
        assert bound(programme, system, weights) <= best


@settings(max_examples=60)
@given(matrices, vectors, st.lists(st.integers(0, 4000), min_size=N, max_size=N))
def test_a_violation_is_the_fraction_that_plain_arithmetic_gives(
    a: list[list[float]], b: list[float], thousandths: list[int]
) -> None:
    x = [n / 1000 for n in thousandths]
    programme, _ = exactly(document(a, b, [0.0] * N), x)
    rows = next(one for one in findings_of(programme) if one.id == "rows")
    plain = [
        max(
            Fraction(0),
            fraction(end)
            - dot([fraction(v) for v in row], [Fraction(n, 1000) for n in thousandths]),
        )
        for row, end in zip(a, b, strict=True)
    ]
    assert rows.worst / KILOWATT_HOUR in plain
    assert (rows.worst == 0) == (max(plain) == 0)


def claim(blueprint: Blueprint, ray: list[float] | None = None) -> Any:
    found: dict[str, Any] = {"status": "infeasible"}
    if ray is not None:
        found["farkas__rows"] = np.array(ray)
    return certify(None, found, blueprint, folder=Path(), name="small", exact=True)


@pytest.mark.parametrize(("needed", "proven"), [(12.0, False), (12.000000001, True), (11.9, False)])
def test_a_conflict_by_a_billionth_is_one_and_none_by_nothing_is_none(
    needed: float, proven: bool
) -> None:
    blueprint = document([[1.0, 1, 1]], [needed], [1.0] * N)
    certificate = claim(blueprint, [1.0])
    section = certificate.levels["optimality"]["exact"]
    assert section["arithmetic"] == "exact"
    assert section["proven"] is proven
    assert (certificate.verdict == "proven infeasible") is proven
    if proven:
        assert Fraction(section["margin"]) / Fraction(section["size"]) == KILOWATT_HOUR / 10**9


def test_tenths_that_add_up_are_no_conflict_although_their_doubles_are() -> None:
    assert 0.1 + 0.2 > 0.3
    blueprint = document([[1.0, 1, 0], [-1.0, 0, 0], [0, -1.0, 0]], [0.3, -0.1, -0.2], [1.0] * N)
    assert claim(blueprint, [1.0, 1.0, 1.0]).levels["optimality"]["exact"]["proven"] is False
    programme, _ = exactly(blueprint, [0.1, 0.2, 0.0])
    assert all(one.worst == 0 for one in findings_of(programme))


def test_a_ray_of_the_wrong_sign_or_of_other_rows_proves_nothing() -> None:
    _, system = exactly(document([[1.0, 1, 1], [0, 0, 1]], [13.0, 1.0], [1.0] * N), [0.0] * N)
    ends = system.lower, system.upper
    for weights, proves in (([1, 0], True), ([-1, 0], False), ([0, 1], False), ([0, 0], False)):
        y = listed(Fraction(w) for w in weights)
        margin = linear.dual_bound(system, y, ends, ray=True).value
        assert margin is not None
        assert (margin > 0) is proves

"""Random programs as plain arrays, and what other readers make of a file."""

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from engiagent.formulations.program import ColumnBlock, Coordinate, Program, RowBlock

INF = float("inf")
TAME = st.one_of(st.integers(-40, 40).map(float), st.sampled_from([0.1, -1 / 3, 1.0, -1.0]))
WILD = st.one_of(TAME, st.sampled_from([1e-7, 2.5e6, -371.25000000000006]))


@st.composite
def programs(draw: DrawFn, whole: bool = True, wild: bool = False) -> Program:
    """Draw a program with bounded columns, so that every objective has an optimum or none at all.

    ``wild`` numbers are beyond the tolerances of solvers. Names clash, are keywords or
    look like exponents; bounds lie on either side of zero.
    """
    numbers = WILD if wild else TAME
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    heads = draw(st.permutations(["x", "free", "e1", "St", "flow_in"]))
    labels = np.array(["a b", "a-b", "ü"], dtype=object)
    n, m = sum(sizes), draw(st.integers(1, 5))
    lower, upper = _bounds(draw, n)
    integral = np.array([whole and draw(st.booleans()) for _ in range(n)])
    dense = np.array(
        [[draw(numbers) if draw(st.booleans()) else 0.0 for _ in range(n)] for _ in range(m)]
    )
    rows, columns = np.nonzero(dense)
    centre = np.clip(np.zeros(n), lower, upper)
    row_lower, row_upper = _sides(draw, dense @ centre)
    starts = np.cumsum([0, *sizes])
    return Program(
        sense=draw(st.sampled_from(["minimize", "maximize"])),
        cost=np.array([draw(numbers) if draw(st.booleans()) else 0.0 for _ in range(n)]),
        offset=draw(st.sampled_from([0.0, 7.5, -1e-3])),
        column_lower=lower,
        column_upper=upper,
        integrality=integral,
        row_starts=np.searchsorted(rows, np.arange(m + 1)),
        row_columns=columns,
        row_values=dense[rows, columns],
        row_lower=row_lower,
        row_upper=row_upper,
        columns=tuple(
            ColumnBlock(
                name=head,
                start=int(a),
                stop=int(b),
                unit="1",
                sets=("S",),
                shape=(3,),
                positions=np.arange(b - a),
            )
            for head, a, b in zip(heads, starts, starts[1:], strict=False)
        ),
        rows=(
            RowBlock(
                name="rows", constraint_id="C.1", start=0, stop=m, unit="1", sets=("K",), shape=(m,)
            ),
        ),
        coordinates={
            "S": Coordinate("S", "labels", labels),
            "K": Coordinate("K", "range", np.arange(m)),
        },
        objective_name="cost of it",
    )


def _bounds(draw: DrawFn, n: int) -> tuple[Any, Any]:
    ends = [sorted((draw(st.integers(-9, 9)), draw(st.integers(-9, 9)))) for _ in range(n)]
    pairs = np.array([draw(st.sampled_from([(0, 1), (0, 6), end])) for end in ends], dtype=float)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def _sides(draw: DrawFn, activity: Any) -> tuple[Any, Any]:
    lower, upper = activity.copy(), activity.copy()
    for row in range(len(activity)):
        kind = draw(st.sampled_from(["equal", "lower", "upper", "both", "narrow"]))
        lower[row] -= 0.0 if kind == "equal" else draw(st.sampled_from([0.0, 0.3, 5.0]))
        upper[row] = lower[row] if kind == "equal" else upper[row] + 1 / 3
        lower[row] = -INF if kind == "upper" else lower[row]
        upper[row] = INF if kind == "lower" else upper[row]
    return lower, upper


def highs_of(path: Path) -> Any:
    """Return HiGHS with a file read by its own reader."""
    import highspy

    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    return solver


def optimum(program: Program, cost: Any = None) -> float | None:
    """Return the least value of a linear cost over a linear program; None when infeasible.

    Minus infinity where there is none.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    sign = 1.0 if program.sense == "minimize" or cost is not None else -1.0
    matrix = csr_array(
        (program.row_values, program.row_columns, program.row_starts),
        shape=(program.row_count, program.column_count),
    )
    result = milp(
        sign * program.cost if cost is None else cost,
        integrality=program.integrality.astype(int),
        bounds=Bounds(program.column_lower, program.column_upper),
        constraints=[LinearConstraint(matrix, program.row_lower, program.row_upper)]
        if program.row_count
        else [],
    )
    assert result.status in (0, 2, 3), result.message
    if result.status == 2:
        return None
    if result.status == 3:
        return -sign * float("inf")
    return sign * result.fun + program.offset if cost is None else float(result.fun)

# ruff: noqa: E501 - matrices read best as they are written
"""Compiled matrices of small blueprints against matrices written by hand."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.program import Block, Program
from tests.blueprints import DAY, EDGES, UNITS, blueprint, constraint, parameter, variable
from tests.written import listing, mapping

INF = np.inf


def compiled(**core: Any) -> Program:
    return compile_blueprint(blueprint(**core))


def dense(program: Program) -> list[list[float]]:
    """Return the matrix as nested lists."""
    parts = (program.row_values, program.row_columns, program.row_starts)
    matrix = csr_array(parts, shape=(program.row_count, program.column_count))
    lists: list[list[float]] = matrix.toarray().tolist()
    return lists


def bounds(program: Program) -> list[tuple[float, float]]:
    """Return the bounds of the rows."""
    return list(zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True))


def layout(block: Block) -> tuple[str, int, int, str, tuple[str, ...], tuple[int, ...]]:
    """Return where a block stands and over what."""
    return block.name, block.start, block.stop, block.unit, block.sets, block.shape


SHORT = DAY | {"periods": 2}


def test_a_store_over_two_hours() -> None:
    """Columns: charge 0-1 [kW], discharge 2-3 [MW], soc 4-6 [kWh]."""
    program = compiled(
        sets=[SHORT, EDGES],
        parameters=[parameter("price", [50, -10], "EUR/MWh", "T")],
        decision_variables=[
            variable("charge", "t in T"),
            variable("discharge", "t in T", unit="MW", upper="20[kW]"),
            variable("soc", "i in I", unit="kWh", lower=1, upper=9),
        ],
        constraints=[
            constraint(
                "soc[t+1] == soc[t] + (90[%]*charge[t] - discharge[t]/0.8)*dt(t)",
                "t in T",
                name="storage",
            ),
            constraint("soc[first(I)] == 0.005[MWh]", constraint_id="C2"),
            constraint(
                "2 <= soc[i] <= 0.008[MWh]", "i in I", where="i != first(I)", constraint_id="C3"
            ),
        ],
        objective_function={
            "name": "profit",
            "sense": "maximize",
            "unit": "EUR",
            "expression": "sum(price[t]*(discharge[t] - charge[t])*dt(t) for t in T) - 3",
        },
    )
    step: list[float] = [-0.9, 0, 1250, 0, -1, 1, 0]
    wanted: list[list[float]] = [
        step,
        [0, -0.9, 0, 1250, 0, -1, 1],
        [0, 0, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, 0, 0, 1],
    ]
    assert np.allclose(dense(program), wanted)
    assert bounds(program) == [(0, 0), (0, 0), (5, 5), (2, 8), (2, 8)]
    assert [layout(b) for b in program.columns] == [
        ("charge", 0, 2, "kW", ("T",), (2,)),
        ("discharge", 2, 4, "MW", ("T",), (2,)),
        ("soc", 4, 7, "kWh", ("I",), (3,)),
    ]
    assert [layout(b) for b in program.rows] == [
        ("storage", 0, 2, "kWh", ("T",), (2,)),
        ("C2", 2, 3, "kWh", (), ()),
        ("C3", 3, 5, "kWh", ("I",), (3,)),
    ]
    assert program.rows[2].positions is not None
    assert program.rows[2].positions.tolist() == [1, 2]
    assert np.allclose(program.cost, [-0.05, 0.01, 50, -10, 0, 0, 0])
    # The bare 3 stands beside EUR/MWh*MW*h, which are EUR.
    assert (program.sense, program.objective_unit, program.objective_name) == (
        "maximize",
        "EUR",
        "profit",
    )
    assert program.offset == pytest.approx(-3)
    assert program.column_upper.tolist() == [10, 10, 0.02, 0.02, 9, 9, 9]


def test_terms_of_one_column_in_a_row_are_added_and_zeros_are_not_stored() -> None:
    program = compiled(
        sets=[SHORT],
        decision_variables=[variable("x", "t in T")],
        constraints=[
            constraint("x[t] + x[t] - 2*x[first(T)] <= x[last(T)]", "t in T"),
            constraint("sum(x[t] for t in T) - sum(x[t] for t in T) <= 1", constraint_id="C2"),
        ],
    )
    assert dense(program) == [[0, -1], [-2, 1], [0, 0]]
    assert program.nonzero_count == 3
    assert bounds(program) == [(-INF, 0), (-INF, 0), (-INF, 1)]


def test_comparisons_and_chains_become_rows_with_their_bounds() -> None:
    program = compiled(
        decision_variables=[variable(name) for name in "abc"],
        constraints=[
            constraint("a + 1 >= b", constraint_id="ge"),
            constraint("5 == a + b", constraint_id="eq"),
            constraint("1 <= a - b + 2 <= 9", constraint_id="range"),
            constraint("9 >= a >= 1", constraint_id="turned"),
            constraint("a <= b <= c", constraint_id="chain"),
            constraint("2 == a == 3", constraint_id="both"),
            constraint("9 >= a <= 3", constraint_id="mixed"),
        ],
    )
    assert [(b.constraint_id, b.start) for b in program.rows] == [
        ("ge", 0),
        ("eq", 1),
        ("range", 2),
        ("turned", 3),
        ("chain__1", 4),
        ("chain__2", 5),
        ("both__1", 6),
        ("both__2", 7),
        ("mixed__1", 8),
        ("mixed__2", 9),
    ]
    assert dense(program) == listing("""
        [[1, -1, 0], [-1, -1, 0], [1, -1, 0], [1, 0, 0], [1, -1, 0], [0, 1, -1], [-1, 0, 0],
          [1, 0, 0], [-1, 0, 0], [1, 0, 0]]
    """)
    assert bounds(program) == [
        (-1, INF),
        (-5, -5),
        (-1, 7),
        (1, 9),
        (-INF, 0),
        (-INF, 0),
        (-2, -2),
        (3, 3),
        (-9, INF),
        (-INF, 3),
    ]


def test_filtered_variables_have_columns_only_where_they_exist() -> None:
    program = compiled(
        sets=[DAY, UNITS],
        parameters=[
            parameter("on", {"G1": [1, 0, 0, 1], "G2": 0, "G3": [0, 1, 0, 0]}, "1", "G", "T")
        ],
        decision_variables=[
            variable("p", "g in G", "t in T", where="on[g, t] > 0", upper="10[kW]*(1 + pos(t))")
        ],
        constraints=[
            constraint("sum(p[g, t] for g in G if on[g, t] > 0) <= 5", "t in T"),
            constraint(
                "p[g, t] <= 2*pos(t)*1[kW]",
                "g in G",
                "t in T",
                where="on[g, t] == 1",
                constraint_id="C2",
            ),
        ],
    )
    block = program.columns[0]
    assert (block.size, block.shape) == (3, (3, 4))
    assert block.positions is not None
    assert block.positions.tolist() == [0, 3, 9]
    assert program.column_upper.tolist() == [10, 40, 20]
    assert dense(program)[:4] == [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 1, 0]]
    assert dense(program)[4:] == np.eye(3).tolist()
    assert bounds(program)[4:] == [(-INF, 0), (-INF, 6), (-INF, 2)]


def test_variables_over_tuples_and_subsets() -> None:
    program = compiled(
        sets=[
            UNITS,
            mapping("""
                {name: A, kind: tuples, of: [G, G], elements: [[G1, G2], [G2, G3], [G1, G3]]}
            """),
            {"name": "F", "kind": "subset", "of": "G", "elements": ["G3", "G1"]},
        ],
        decision_variables=[variable("f", "(i, j) in A"), variable("y", "g in F")],
        constraints=[
            constraint(
                "sum(f[i, j] for (i, j) in A if j == g) - sum(f[i, j] for (i, j) in A if i == g)"
                " == (y[g] if g in F else 0)",
                "g in G",
            )
        ],
    )
    # columns: f[G1,G2], f[G2,G3], f[G1,G3], y[G3], y[G1]
    assert dense(program) == [[-1, 0, -1, 0, -1], [1, -1, 0, 0, 0], [0, 1, 1, -1, 0]]
    assert program.coordinates["A"].values.tolist() == ["G1,G2", "G2,G3", "G1,G3"]
    assert program.coordinates["F"].values.tolist() == ["G3", "G1"]


def test_temperatures_convert_with_their_zero() -> None:
    """Columns: c [degC], f [degF]; a row is measured in the difference of its first side's scale."""
    program = compiled(
        decision_variables=[
            variable("c", unit="degC", lower=-20, upper=40),
            variable("f", unit="degF", lower="-4[degF]", upper="40[degC]"),
        ],
        constraints=[
            constraint("c >= 68[degF]", constraint_id="point"),
            constraint("c == f", constraint_id="scales"),
            constraint("f == c", constraint_id="turned"),
            constraint("c - f <= 5[K]", constraint_id="difference"),
            constraint("(c - 20[degC])*2[kW/K] <= 6[kW]", constraint_id="flow"),
            constraint("32[degF] <= c <= 95[degF]", constraint_id="range"),
        ],
    )
    rows: list[list[float]] = [[1, 0], [1, -5 / 9], [-1.8, 1], [1, -5 / 9], [2, 0], [1.8, 0]]
    assert np.allclose(dense(program), rows)
    zero = -160 / 9  # 0 degF in degC
    expected = [(20, INF), (zero, zero), (32, 32), (-INF, 5 + zero), (-INF, 46), (0, 63)]
    for (low, high), (want_low, want_high) in zip(bounds(program), expected, strict=True):
        assert (low, high) == pytest.approx((want_low, want_high))
    assert [block.unit for block in program.rows] == ["K", "K", "degF_diff", "K", "kW", "degF_diff"]
    assert program.column_upper.tolist() == pytest.approx([40, 104])


def test_named_expressions_are_reported_with_their_matrices() -> None:
    program = compiled(
        sets=[SHORT],
        decision_variables=[variable("x", "t in T"), variable("y")],
        expressions=listing("""
            - {name: net, index: [t in T], expression: "x[t] - 2*y + 5", unit: MW,
              quantity: site.net}
            - {name: rise, index: [t in T], where: "pos(t) > 0", expression: "x[t] - x[t-1]"}
        """),
        constraints=[constraint("net[t] <= 3[kW]", "t in T")],
    )
    point = np.array([4.0, 6.0, 1.0])
    net = program.expression_block("net")
    assert net.evaluate(point).tolist() == pytest.approx([0.007, 0.009])
    assert (net.unit, net.quantity, net.shape) == ("MW", "site.net", (2,))
    rise = program.expression_block("rise")
    assert rise.evaluate(point).tolist() == [2.0]
    assert rise.positions is not None
    assert rise.positions.tolist() == [1]
    assert np.allclose(dense(program), [[1e-3, 0, -2e-3], [0, 1e-3, -2e-3]])


def test_whole_numbers_and_binaries_keep_their_bounds() -> None:
    program = compiled(
        decision_variables=[
            variable("n", unit="1", type="integer", lower=-2, upper=7),
            {"name": "b", "type": "binary"},
            {"name": "c", "type": "binary", "lower": -5, "upper": 5},
            {"name": "free"},
        ]
    )
    assert program.integrality.tolist() == [True, True, True, False]
    assert program.column_lower.tolist() == [-2, 0, 0, -INF]
    assert program.column_upper.tolist() == [7, 1, 1, INF]


def test_coordinates_carry_time_in_utc_with_its_zone() -> None:
    spring = DAY | {"start": "2025-03-30T01:00", "periods": 2}
    program = compiled(sets=[spring], decision_variables=[variable("x", "t in T")])
    coordinate = program.coordinates["T"]
    assert coordinate.zone == "Europe/Berlin"
    assert coordinate.values.astype("M8[m]").astype(str).tolist() == [
        "2025-03-30T00:00",
        "2025-03-30T01:00",
    ]


def test_an_empty_blueprint_is_an_empty_program() -> None:
    program = compiled()
    assert (program.column_count, program.row_count, program.nonzero_count) == (0, 0, 0)


def test_an_empty_sum_is_zero_and_an_empty_filter_no_row() -> None:
    program = compiled(
        sets=[DAY],
        decision_variables=[variable("x", "t in T")],
        constraints=[
            constraint(
                "x[t] + sum(x[s] for s in T if pos(s) > 9) <= 3", "t in T", where="pos(t) > 2"
            ),
            constraint("x[t] <= 3", "t in T", where="pos(t) > 9", constraint_id="C2"),
        ],
    )
    assert dense(program) == [[0, 0, 0, 1]]
    assert program.row_block("C2").size == 0

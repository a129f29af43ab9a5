"""Graphs and C code give the values and derivatives that numpy gives."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.errors import EngiagentError
from engiagent.solvers.casadi import codegen
from engiagent.solvers.casadi.graph import graph
from engiagent.solvers.convex.derivatives import gradient, jacobian
from engiagent.solvers.convex.second_derivatives import lagrangian_hessian
from tests.solvers.casadi.problems import many_functions, tank
from tests.solvers.conformance.cases import CASES, Case
from tests.solvers.convex.programs import close

POINTS = [np.array([0.7, 1.3, 0.4]), np.array([0.3, 0.2, 1.9]), np.array([1.2, 1.9, 0.11])]
needs_compiler = pytest.mark.skipif(codegen.compiler() is None, reason="no C compiler")


@pytest.mark.parametrize("scalar", [True, False])
@pytest.mark.parametrize("x", POINTS)
def test_a_graph_is_the_program(scalar: bool, x: Any) -> None:
    import casadi

    program = many_functions()
    made = graph(program, scalar)
    slopes = [casadi.gradient(made.objective, made.x), casadi.jacobian(made.rows, made.x)]
    call = casadi.Function("f", [made.x], [made.objective, made.rows, *slopes])
    objective, rows, first, table = (np.array(part) for part in call(x))
    assert float(objective[0, 0]) == pytest.approx(program.objective_at(x), rel=1e-13)
    close(rows[:, 0], program.activity_at(x), rtol=1e-13, atol=1e-14)
    close(first[:, 0], gradient(program, x), rtol=1e-12, atol=1e-13)
    close(table, jacobian(program, x).toarray(), rtol=1e-12, atol=1e-13)


@needs_compiler
@pytest.mark.parametrize("parameters", [(), ("cost", "row_values", "products", "offset")])
def test_c_code_is_the_program(parameters: tuple[str, ...], tmp_path: Path) -> None:
    program = many_functions()
    code = codegen.codegen(program, "process", parameters)
    library = codegen.compiled(code, tmp_path)
    numbers = {
        "cost": program.cost,
        "offset": np.array([program.offset]),
        "row_values": program.row_values,
        "products": program.products.values,
    }
    given = [numbers[name] for name in code.arguments["rows"][1:]]
    assert len(given) == len(parameters)
    y = np.linspace(-1, 2, program.row_count)
    for x in POINTS:
        assert library.evaluate("objective", x, *given) == pytest.approx(
            [program.objective_at(x)], rel=1e-12
        )
        near: dict[str, float] = {"rtol": 1e-12, "atol": 1e-12}
        close(library.evaluate("rows", x, *given), program.activity_at(x), **near)
        close(library.evaluate("gradient", x, *given), gradient(program, x), **near)
        for name, extra, expected in (
            ("jacobian", (), jacobian(program, x)),
            ("hessian", (np.array([1.5]), y), lagrangian_hessian(program, x, y, 1.5)),
        ):
            pattern = code.patterns[name]
            table = np.zeros(pattern.shape)
            table[pattern.rows, pattern.columns] = library.evaluate(name, x, *given, *extra)
            close(table, expected.toarray(), **near)


@pytest.mark.parametrize("parameters", [(), ("cost", "row_values", "products", "offset")])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_programs_of_every_shape_become_functions(case: Case, parameters: tuple[str, ...]) -> None:
    program = case.program
    functions = codegen.codegen(program, "small", parameters).functions
    numbers = {
        "cost": program.cost,
        "offset": program.offset,
        "row_values": program.row_values,
        "products": program.products.values,
    }
    given = [numbers[name] for name in codegen.PARAMETERS if name in parameters]
    low = np.maximum(program.column_lower, -2.0)
    x = low + 0.4 * np.maximum(np.minimum(program.column_upper, 3.0) - low, 0.0)
    objective, rows = (functions[name](x, *given) for name in ("objective", "rows"))
    close(objective.nonzeros(), [program.objective_at(x)], rtol=1e-12, atol=1e-12)
    close(rows.nonzeros(), program.activity_at(x), rtol=1e-12, atol=1e-12)
    assert functions["gradient"](x, *given).shape == (program.column_count, 1)


@needs_compiler
def test_parameters_change_without_compiling_again(tmp_path: Path) -> None:
    program = tank(3)
    library = codegen.compiled(codegen.codegen(program, "tank", ("cost",)), tmp_path)
    x = np.linspace(0, 1, program.column_count)
    first = library.evaluate("objective", x, program.cost)
    second = library.evaluate("objective", x, program.cost + 1.0)
    assert second - first == pytest.approx([x.sum()], rel=1e-12)


def test_the_header_says_what_is_what() -> None:
    code = codegen.codegen(tank(3), "tank", ("cost",))
    assert "tank_jacobian(x, cost): 6 x 7, 15 nonzeros" in code.header
    assert "int tank_hessian(" in code.header
    assert "tank_hessian" in code.source


def test_without_a_compiler_the_files_are_there_and_the_way_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(EngiagentError, match=r"cc -O2 -fPIC -shared tank\.c"):
        codegen.compiled(codegen.codegen(tank(2), "tank"), tmp_path)
    assert (tmp_path / "tank.c").exists()
    assert (tmp_path / "tank.h").exists()


def test_bad_names_are_refused() -> None:
    with pytest.raises(EngiagentError, match="no C identifier"):
        codegen.codegen(tank(2), "my tank")
    with pytest.raises(EngiagentError, match="cannot be an argument"):
        codegen.codegen(tank(2), "tank", ("colour",))

"""A program as a CasADi graph, and C code of its functions that needs no library but ``libm``.

Sparse results come as their nonzeros, column by column; the header says what is what.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.program import OBJECTIVE, Program
from engiagent.formulations.values import ELEMENTARY
from engiagent.solvers.expressions import Algebra, Translator, curved_expressions, curved_rows

Symbol = Any
"""A ``casadi.SX`` or ``casadi.MX``; CasADi carries no types."""

SCALAR_LIMIT: Final = 200_000
"""Coefficients up to which each is a node of its own (SX), which evaluates fastest."""


@dataclass(frozen=True, eq=False)
class Graph:
    """Objective and rows as expressions of the columns."""

    x: Symbol  # the columns, (n, 1)
    objective: Symbol  # in the program's own sense, with its constant
    rows: Symbol  # the activities, (m, 1)


def graph(program: Program, scalar: bool | None = None) -> Graph:
    """Return the graph of a program, of scalar nodes (SX) or of vectors (MX); None is by size."""
    import casadi
    from scipy.sparse import csr_matrix

    size = program.nonzero_count + len(program.products.rows) + program.column_count
    kind = casadi.SX if (size <= SCALAR_LIMIT if scalar is None else scalar) else casadi.MX
    x = kind.sym("x", program.column_count)
    matrix = csr_matrix(
        (program.row_values, program.row_columns, program.row_starts),
        shape=(program.row_count, program.column_count),
    )
    curved = curved_rows(program)
    straight = np.ones(program.row_count)
    straight[[row for row in curved if row != OBJECTIVE]] = 0.0
    # Curved rows come whole, linear part and all.
    linear = csr_matrix(matrix.multiply(straight[:, None]))
    linear.eliminate_zeros()
    rows = casadi.DM(linear.tocsc()) @ x
    objective = casadi.dot(casadi.DM(program.cost), x) + program.offset
    functions = {name: getattr(casadi, name) for name in ELEMENTARY}
    algebra = Algebra(lambda constant, parts: sum(parts, start=kind(constant)), functions)
    whole = curved_expressions(program, Translator(casadi.vertsplit(x), algebra), curved)
    bent = dict(whole)
    if OBJECTIVE in bent:
        objective = objective + bent.pop(OBJECTIVE)
    if bent:
        numbers = list(bent)
        places = casadi.DM(
            csr_matrix(
                (np.ones(len(numbers)), (numbers, np.arange(len(numbers)))),
                shape=(program.row_count, len(numbers)),
            ).tocsc()
        )
        rows = rows + places @ casadi.vertcat(*bent.values())
    return Graph(x, objective, rows)


@dataclass(frozen=True, eq=False)
class Code:
    """C code of a program."""

    # prefix of the functions ``<name>_objective``, ``_rows``, ``_gradient``, ``_jacobian`` and
    # ``_hessian`` (of ``weight * objective - multipliers' rows``, both triangles)
    name: str
    # source, header: the text of the two files
    source: str
    header: str
    functions: Mapping[str, Any]  # the same functions in CasADi, to compare with

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write source and header into a folder and return their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        source, header = folder / f"{self.name}.c", folder / f"{self.name}.h"
        source.write_text(self.source, encoding="utf-8")
        header.write_text(self.header, encoding="utf-8")
        return source, header


def codegen(program: Program, name: str = "program") -> Code:
    """Return C code of objective, rows and derivatives; ``name``, a C identifier, is its prefix."""
    import casadi

    if not (name.isidentifier() and name.isascii()):
        raise EngiagentError(f"{name!r} is no C identifier; give one as prefix of the functions")
    made = graph(program, scalar=True)
    x, objective, rows = made.x, made.objective, made.rows
    y, weight = casadi.SX.sym("multipliers", rows.shape[0]), casadi.SX.sym("weight")
    lagrangian = weight * objective - casadi.dot(y, rows)
    outputs = {
        "objective": ([x], casadi.densify(objective)),
        "rows": ([x], casadi.densify(rows)),
        "gradient": ([x], casadi.densify(casadi.gradient(objective, x))),
        "jacobian": ([x], casadi.jacobian(rows, x)),
        "hessian": ([x, weight, y], casadi.hessian(lagrangian, x)[0]),
    }
    generator = casadi.CodeGenerator(f"{name}.c", {"with_header": True})
    functions = {}
    lines = [
        "/* Call as int f(const double** arg, double** res, long long int* iw, double* w, int mem)",
        " * with room as <f>_work says; arg holds one pointer per argument, res one to the",
        " * nonzeros, column by column.",
    ]
    for function, (arguments, result) in outputs.items():
        inputs = ["x", "weight", "multipliers"][: len(arguments)]
        functions[function] = casadi.Function(
            f"{name}_{function}", arguments, [result], inputs, ["value"]
        )
        generator.add(functions[function])
        shape = f"{result.shape[0]} x {result.shape[1]}, {result.nnz()} nonzeros"
        lines.append(f" * {name}_{function}({', '.join(inputs)}): {shape}")
    with tempfile.TemporaryDirectory() as folder:
        generator.generate(folder + "/")
        source = (Path(folder) / f"{name}.c").read_text(encoding="utf-8")
        header = (Path(folder) / f"{name}.h").read_text(encoding="utf-8")
    return Code(name, source, "\n".join([*lines, " */", header]), functions)

"""C code of a program's functions and derivatives, which needs no library but ``libm``.

Sparse results come as their nonzeros, column by column; the header says what is what.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Program
from engiagent.solvers.casadi.graph import graph


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

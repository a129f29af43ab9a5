"""C code of a program's functions and derivatives, and of arrays that change between solves.

The code needs no library but ``libm``. Sparse results come as their nonzeros, column by column; the
patterns stand beside them, in the header as a comment and here as arrays.
"""

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats, Ints
from engiagent.solvers.casadi.graph import graph

PARAMETERS: Final = ("cost", "offset", "row_values", "products")
"""What of a program may be an argument of the functions: ``products`` are their coefficients."""
COMPILERS: Final = ("cc", "gcc", "clang")
FUNCTIONS: Final = ("objective", "rows", "gradient", "jacobian", "hessian")
LIBRARY: Final = ".so"


@dataclass(frozen=True, eq=False)
class Pattern:
    """Row and column of every nonzero that a function returns, in its order; ``shape`` of all."""

    rows: Ints
    columns: Ints
    shape: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Code:
    """C code of a program.

    Attributes
    ----------
    name
        Prefix of the functions ``<name>_objective``, ``_rows``, ``_gradient``, ``_jacobian`` and
        ``_hessian`` (of ``weight * objective - multipliers' rows``, both triangles).
    source, header
        The text of the two files.
    arguments
        Names of each function's arguments, in order.
    patterns
        Of what each function returns.
    functions
        The same functions in CasADi, to compare with.
    """

    name: str
    source: str
    header: str
    arguments: Mapping[str, tuple[str, ...]]
    patterns: Mapping[str, Pattern]
    functions: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Compiled:
    """Functions of a compiled library: ``evaluate(name, *arguments)``."""

    path: Path
    code: Code
    _functions: Mapping[str, Any]

    def evaluate(self, function: str, *arguments: Floats) -> Floats:
        """Return the nonzeros that a function of :data:`FUNCTIONS` gives, shape (nnz,)."""
        found = self._functions[function](*[np.asarray(a, dtype=np.float64) for a in arguments])
        return np.array(found.nonzeros(), dtype=np.float64)


def codegen(program: Program, name: str = "program", parameters: Sequence[str] = ()) -> Code:
    """Return C code of a program's objective, rows and derivatives.

    Parameters
    ----------
    name
        Prefix of the functions, a C identifier.
    parameters
        Which of :data:`PARAMETERS` are arguments after the columns instead of numbers in the code,
        so that one compiled library serves all solves of a receding horizon.

    Raises
    ------
    EngiagentError
        When the name is no identifier or a parameter is unknown.
    """
    import casadi

    _check(name, parameters)
    x, symbols, objective, rows = _expressions(program, parameters)
    y, weight = casadi.SX.sym("multipliers", rows.shape[0]), casadi.SX.sym("weight")
    lagrangian = weight * objective - casadi.dot(y, rows)
    given = [x, *symbols.values()]
    names = ("x", *symbols)
    outputs = {
        "objective": (given, names, casadi.densify(objective)),
        "rows": (given, names, casadi.densify(rows)),
        "gradient": (given, names, casadi.densify(casadi.gradient(objective, x))),
        "jacobian": (given, names, casadi.jacobian(rows, x)),
        "hessian": (
            [*given, weight, y],
            (*names, "weight", "multipliers"),
            casadi.hessian(lagrangian, x)[0],
        ),
    }
    generator = casadi.CodeGenerator(f"{name}.c", {"with_header": True})
    functions, patterns = {}, {}
    for function, (arguments, inputs, result) in outputs.items():
        made = casadi.Function(f"{name}_{function}", arguments, [result], list(inputs), ["value"])
        generator.add(made)
        functions[function] = made
        places = result.sparsity().get_triplet()
        patterns[function] = Pattern(
            np.array(places[0], dtype=np.int64), np.array(places[1], dtype=np.int64), result.shape
        )
    labels = {function: tuple(part[1]) for function, part in outputs.items()}
    return Code(name, *_texts(generator, name, labels, patterns), labels, patterns, functions)


def write(code: Code, folder: Path) -> tuple[Path, Path]:
    """Write source and header into a folder and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    source, header = folder / f"{code.name}.c", folder / f"{code.name}.h"
    source.write_text(code.source, encoding="utf-8")
    header.write_text(code.header, encoding="utf-8")
    return source, header


def compiler() -> str | None:
    """Return the path of a C compiler, None when there is none."""
    for name in COMPILERS:
        found = shutil.which(name)
        if found is not None:
            return found
    return None


def compiled(code: Code, folder: Path) -> Compiled:
    """Compile the code into a shared library in a folder and load it.

    Raises
    ------
    EngiagentError
        When no compiler is installed, saying how to go on by hand, or when it fails.
    """
    import casadi

    source, _ = write(code, folder)
    # A process keeps the first library it loaded under a path, so other code has another name.
    digest = hashlib.sha256(code.source.encode()).hexdigest()[:12]
    library = folder.resolve() / f"{code.name}-{digest}{LIBRARY}"
    tool = compiler()
    command = ["-O2", "-fPIC", "-shared", source.name, "-o", library.name, "-lm"]
    if tool is None:
        raise EngiagentError(
            f"no C compiler was found ({', '.join(COMPILERS)}); {source.name} and "
            f"{code.name}.h are written, compile them elsewhere with: cc {' '.join(command)}"
        )
    done = subprocess.run([tool, *command], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise EngiagentError(f"{tool} could not compile {source.name}: {done.stderr[-400:]}")
    functions = {
        function: casadi.external(f"{code.name}_{function}", str(library)) for function in FUNCTIONS
    }
    return Compiled(library, code, functions)


def _check(name: str, parameters: Sequence[str]) -> None:
    if not (name.isidentifier() and name.isascii()):
        raise EngiagentError(f"{name!r} is no C identifier; give one as prefix of the functions")
    unknown = [parameter for parameter in parameters if parameter not in PARAMETERS]
    if unknown:
        raise EngiagentError(
            f"{unknown[0]!r} cannot be an argument of the code; choose of {', '.join(PARAMETERS)}"
        )


def _expressions(
    program: Program, parameters: Sequence[str]
) -> tuple[Any, dict[str, Any], Any, Any]:
    """Return the columns, the parameters as symbols, the objective and the rows."""
    import casadi

    numbers = {
        "cost": program.cost,
        "offset": np.array([program.offset]),
        "row_values": program.row_values,
        "products": program.products.values,
    }
    empty = np.zeros(0)
    rest = replace(
        program,
        cost=np.zeros_like(program.cost),
        offset=0.0,
        row_values=empty,
        row_columns=np.zeros(0, dtype=np.int64),
        row_starts=np.zeros(program.row_count + 1, dtype=np.int64),
        products=program.products.__class__(*(np.zeros(0, np.int64),) * 3, empty),
    )
    made = graph(rest, scalar=True)
    x = made.x
    symbols = {p: casadi.SX.sym(p, len(numbers[p])) for p in PARAMETERS if p in parameters}
    values = {p: symbols.get(p, casadi.DM(numbers[p])) for p in PARAMETERS}
    objective = made.objective + casadi.dot(values["cost"], x) + values["offset"]
    row_of = np.repeat(np.arange(program.row_count), np.diff(program.row_starts))
    terms: list[tuple[Any, Any]] = [(row_of, values["row_values"] * _taken(x, program.row_columns))]
    products = program.products
    pairs = values["products"] * _taken(x, products.first) * _taken(x, products.second)
    inside, goal = np.flatnonzero(products.rows >= 0), np.flatnonzero(products.rows < 0)
    if len(goal):
        objective = objective + casadi.sum1(_taken(pairs, goal))
    terms.append((products.rows[inside], _taken(pairs, inside)))
    rows = made.rows
    for places, parts in terms:
        if len(places):
            spread = casadi.DM.triplet(
                places.tolist(),
                list(range(len(places))),
                casadi.DM.ones(len(places)),
                program.row_count,
                len(places),
            )
            rows = rows + spread @ parts
    return x, symbols, objective, rows


def _taken(column: Any, places: Ints) -> Any:
    """Return some elements of a column as a column; of one with a single element it is none."""
    import casadi

    return casadi.reshape(column[places.tolist()], len(places), 1)


def _texts(
    generator: Any,
    name: str,
    arguments: Mapping[str, tuple[str, ...]],
    patterns: Mapping[str, Pattern],
) -> tuple[str, str]:
    """Return source and header, the latter with a comment that says what is what."""
    with tempfile.TemporaryDirectory() as folder:
        generator.generate(folder + "/")
        source = (Path(folder) / f"{name}.c").read_text(encoding="utf-8")
        header = (Path(folder) / f"{name}.h").read_text(encoding="utf-8")
    lines = [
        "/* Call as int f(const double** arg, double** res, long long int* iw, double* w, int mem)",
        " * with room as <f>_work says; arg holds one pointer per argument, res one to the",
        " * nonzeros, column by column.",
    ]
    for function, labels in arguments.items():
        pattern = patterns[function]
        shape = f"{pattern.shape[0]} x {pattern.shape[1]}, {len(pattern.rows)} nonzeros"
        lines.append(f" * {name}_{function}({', '.join(labels)}): {shape}")
    return source, "\n".join([*lines, " */", header])

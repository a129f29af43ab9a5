"""Blueprints of grids, put together from their parts.

Complex numbers are two real ones: the parameters ``NAME_re`` and ``NAME_im``, voltages ``e + jf``.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError, InfeasibleError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.program import Program
from engiagent.run.stages import solve_program
from engiagent.solvers.iis import in_words
from engiagent.solvers.result import SolveOptions
from engiagent.tools.grid.feeders import Floats

MOST_PAIRS: Final = 4_000_000
"""Of rows and entries of a matrix in one sum."""


class Parts:
    """Lists of a blueprint's core."""

    def __init__(self) -> None:
        self.sets: list[Any] = []
        self.parameters: list[Any] = []
        self.decision_variables: list[Any] = []
        self.expressions: list[Any] = []
        self.constraints: list[Any] = []

    def labels(self, name: str, elements: Iterable[str], of: str | None = None) -> None:
        """Add a set of labels, or a subset of one."""
        kind = {"kind": "labels"} if of is None else {"kind": "subset", "of": of}
        self.sets.append({"name": name, **kind, "elements": list(elements)})

    def numbered(self, name: str, count: int, **columns: Any) -> list[str]:
        """Add a set of so many labels, and parameters over it; return the labels."""
        labels = [f"{name.lower()}{k}" for k in range(count)]
        self.labels(name, labels)
        self.table(name, labels, **columns)
        return labels

    def tuples(self, name: str, of: str, elements: Sequence[tuple[str, ...]]) -> None:
        """Add a set of tuples of labels of some sets, as ``N N``."""
        listed = [list(element) for element in elements]
        self.sets.append({"name": name, "kind": "tuples", "of": of.split(), "elements": listed})

    def table(self, over: str, keys: Iterable[Any], unit: str = "1", **columns: Any) -> None:
        """Add parameters over a set, of complex values two each."""
        for name, values in columns.items():
            if np.iscomplexobj(values):
                both = {f"{name}_re": np.real(values), f"{name}_im": np.imag(values)}
                self.table(over, keys, unit, **both)
                continue
            given: dict[str, Any] = {}
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, str):
                    given[key] = float(value)
                else:
                    given.setdefault(key[0], {})[key[1]] = float(value)
            self.parameters.append({"name": name, "index": [over], "value": given, "unit": unit})

    def matrix(
        self, rows: str, names: Sequence[str], nodes: Sequence[str], name: str, entries: Any
    ) -> Iterator[tuple[str, str, tuple[str, str]]]:
        """Add admittances over rows and nodes: endings of names, sets and currents by its voltages.

        A sum is formed over all pairs for each row, so that a large matrix is taken in blocks.
        """
        count = 1 + len(names) * entries.nnz // MOST_PAIRS
        for k, own in enumerate(np.array_split(np.arange(len(names)), count)):
            end = f"_{k}" if count > 1 else ""
            if end:
                self.labels(f"{rows}{end}", [names[i] for i in own], rows)
            (first, second), kept = entries.coords, np.isin(entries.coords[0], own)
            ends = zip(first[kept], second[kept], strict=True)
            pairs = [(names[i], nodes[j]) for i, j in ends]
            self.tuples(f"{name}{end}", f"{rows} N", pairs)
            self.table(f"{name}{end}", pairs, **{f"{name}{end}": entries.data[kept]})
            yield end, f"{rows}{end}", currents(f"{name}{end}", rows.lower())

    def variable(
        self, names: str, binder: str, low: Any, high: Any, what: str = "", unit: str = "1"
    ) -> None:
        """Add variables over one set."""
        own = {"lower": low, "upper": high, "description": what, "unit": unit}
        for name in names.split():
            self.decision_variables.append({"name": name, "index": [binder], **own})

    def rule(self, name: str, binder: str, formula: str, where: str | None = None) -> None:
        """Add a constraint, over one set or none."""
        own: Any = {"constraint_id": name, "name": name.replace("_", " ")}
        own |= {"forall": [binder]} if binder else {}
        own |= {} if where is None else {"where": where}
        self.constraints.append({**own, "expression": formula})

    def bands(self, nodes: Sequence[str], low: Any, high: Any) -> None:
        """Add the lowest and highest voltages of nodes."""
        self.table("N", nodes, low=low, high=high)
        square = "e[n]*e[n] + f[n]*f[n]"
        self.rule("lowest", "n in N", f"{square} >= low[n]*low[n]")
        self.rule("highest", "n in N", f"{square} <= high[n]*high[n]")


def currents(table: str, row: str) -> tuple[str, str]:
    """Return both parts of a row of admittances, a set of pairs and its table, by the voltages."""
    products = (f"{table}_re[i, j]*{v} {sign} {table}_im[i, j]*{w}" for v, sign, w in _TIMES)
    real, imaginary = (f"sum({p} for (i, j) in {table} if i == {row})" for p in products)
    return real, imaginary


_TIMES = (("e[j]", "-", "f[j]"), ("f[j]", "+", "e[j]"))


def powers(e: str, f: str, real: str, imaginary: str) -> tuple[str, str]:
    """Return active and reactive power of a current at a voltage."""
    return f"{e}*{real} + {f}*{imaginary}", f"{f}*{real} - {e}*{imaginary}"


def solved(
    essence: str,
    parts: Parts,
    goal: Any,
    options: SolveOptions,
    start: Callable[[Program], Floats] | None = None,
) -> tuple[str, float, dict[str, Any]]:
    """Solve a blueprint of one snapshot of a grid: status, objective and series by variable.

    Raises InfeasibleError when there is no plan, EngiagentError when none is found.
    """
    document = {
        "schema": "engiagent-blueprint/1",
        "kind": "programme",
        "modeling_context": {"problem_essence": essence, "engineering_domain": "power grid"},
        "core_model_elements": {**vars(parts), "objective_function": goal},
    }
    program = compile_blueprint(Blueprint.from_dict(document), Path())
    if start is not None:
        options = replace(options, start=start(program))
    schedule, result = solve_program(program, options)
    if result.status == "infeasible":
        raise InfeasibleError(f"there is no plan: infeasible, {result.reason}{in_words(program)}")
    if result.x is None:
        why = result.reason.partition(", so start")[0]  # tools take neither starts nor solvers
        raise EngiagentError(f"there is no plan: {result.status}, {why}")
    series = {n: np.atleast_1d(np.asarray(schedule[n].values)) for n in schedule.data_vars}
    return result.status, float(result.objective or 0.0), series

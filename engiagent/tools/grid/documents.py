"""Blueprints of grids, put together from their parts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError, InfeasibleError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.program import Program
from engiagent.run.stages import solve_program
from engiagent.solvers.iis import in_words
from engiagent.solvers.result import SolveOptions
from engiagent.tools.grid.feeders import Floats


class Parts:
    """Lists of a blueprint's core."""

    def __init__(self) -> None:
        self.sets: list[Any] = []
        self.parameters: list[Any] = []
        self.decision_variables: list[Any] = []
        self.expressions: list[Any] = []
        self.constraints: list[Any] = []

    def labels(self, name: str, elements: Sequence[str], of: str | None = None) -> None:
        """Add a set of labels, or a subset of one."""
        kind = {"kind": "labels"} if of is None else {"kind": "subset", "of": of}
        self.sets.append({"name": name, **kind, "elements": list(elements)})

    def tuples(self, name: str, of: Sequence[str], elements: Sequence[tuple[str, ...]]) -> None:
        """Add a set of tuples of labels."""
        listed = [list(element) for element in elements]
        self.sets.append({"name": name, "kind": "tuples", "of": list(of), "elements": listed})

    def table(
        self,
        name: str,
        over: str,
        keys: Sequence[Any],
        values: Any,
        what: str,
        unit: str | None = None,
    ) -> None:
        """Add a parameter over a set."""
        given: dict[str, Any] = {}
        for key, value in zip(keys, values, strict=True):
            if isinstance(key, str):
                given[key] = float(value)
            else:
                given.setdefault(key[0], {})[key[1]] = float(value)
        own = {} if unit is None else {"unit": unit}
        source = {"kind": "assumption", "reason": "of the feeder's file or the question"}
        self.parameters.append(
            {"name": name, "index": [over], "value": given, "description": what, **own}
            | {"source_reference": source}
        )

    def variable(
        self,
        name: str,
        binder: str,
        limits: tuple[Any, Any],
        what: str,
        unit: str | None = None,
        role: str = "auxiliary",
    ) -> None:
        """Add a variable over one set."""
        own = {} if unit is None else {"unit": unit}
        self.decision_variables.append(
            {"name": name, "index": [binder], "lower": limits[0], "upper": limits[1]}
            | {"description": what, "role": role, **own}
        )

    def expression(self, name: str, binder: str, formula: str) -> None:
        """Add a named expression over one set."""
        self.expressions.append({"name": name, "index": [binder], "expression": formula})

    def rule(
        self, name: str, forall: Sequence[str], formula: str, kind: str, where: str | None = None
    ) -> None:
        """Add a constraint."""
        own = {} if where is None else {"where": where}
        self.constraints.append(
            {"constraint_id": name, "name": name.replace("_", " "), "forall": list(forall), **own}
            | {"expression": formula, "category": kind, "hard": True}
        )


def solved(
    essence: str,
    parts: Parts,
    goal: Mapping[str, Any],
    options: SolveOptions,
    start: Callable[[Program], Floats] | None = None,
) -> tuple[str, float, dict[str, Any]]:
    """Solve a blueprint of one snapshot of a grid: status, objective and series by variable.

    Raises InfeasibleError when there is no plan, EngiagentError when none is found.
    """
    document = {
        "schema": "engiagent-blueprint/1",
        "kind": "programme",
        "modeling_context": {
            "problem_essence": essence,
            "engineering_domain": "power grid",
            "modeling_paradigm": "optimisation of a power flow",
            "solution_scope": "one snapshot, to be executed by a power flow",
        },
        "core_model_elements": {**vars(parts), "objective_function": dict(goal)},
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

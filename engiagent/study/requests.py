"""What a study reads from each solution: named quantities, expressions and duals."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import ExpressionDef, ReportDef
from engiagent.blueprint.grammar import parse
from engiagent.blueprint.reporting import named_whole
from engiagent.errors import EngiagentError
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import Program
from engiagent.solvers.goals import goal_values
from engiagent.solvers.result import SolverResult
from engiagent.solvers.solution import to_dataset

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True)
class Value:
    """One number of a solution; a dual is called ``dual(name)``."""

    label: str
    # labels of its element by the names of their sets; empty for a single number
    index: Mapping[str, str]
    value: float
    unit: str


@dataclass(frozen=True)
class Requests:
    """What to read."""

    # for each request its text and the name of the variable or named expression that has its value
    names: tuple[tuple[str, str], ...]
    made: frozenset[str]  # of these names, those that are given to expressions here
    duals: tuple[str, ...]  # ids of constraints

    @classmethod
    def of(cls, blueprint: Blueprint, folder: Path | None) -> Self:
        """Return the requests of a blueprint's report; without one, none.

        Raises BlueprintError when the blueprint is wrong.
        """
        report = blueprint.core.report or ReportDef()
        checker = Elaboration(expand(blueprint).core, folder).checker()
        names: list[tuple[str, str]] = []
        made: set[str] = set()
        for number, text in enumerate(report.expressions, 1):
            try:
                name = named_whole(text, checker)
            except EngiagentError:
                name = text  # analysis says what is wrong
            if name is None:
                name = f"report__{number}"
                while name in checker.symbols:
                    name += "_"
                made.add(name)
            names.append((text, name))
        return cls(tuple(names), frozenset(made), report.duals)

    def added_to(self, blueprint: Blueprint, folder: Path | None) -> Blueprint:
        """Return a blueprint with a named expression for each request, in place of its report.

        What the blueprint cannot say, a case that has no storage any more, is left out.
        """
        elaboration = Elaboration(expand(blueprint).core, folder)
        more = []
        for text, name in self.names:
            try:
                if name in self.made:
                    elaboration.checker().number(parse(text), {})
                    more.append(ExpressionDef(name=name, expression=text, description=text))
            except EngiagentError:
                continue
        return blueprint.with_core(expressions=(*blueprint.core.expressions, *more), report=None)

    def read(
        self, program: Program, result: SolverResult
    ) -> tuple[tuple[Value, ...], tuple[str, ...]]:
        """Return the numbers of a solution, and what does not exist in the program."""
        known = {b.name for b in (*program.columns, *program.expressions)}
        rows = {b.constraint_id for b in program.rows}
        parts = {name: tuple(_parts(name, rows)) for name in self.duals}
        absent = [text for text, name in self.names if name not in known]
        absent += [name for name, found in parts.items() if not found]
        if result.x is None:
            return (), tuple(absent)
        data = to_dataset(program, result)
        goals = goal_values(program, result.x) if program.goals else ()
        values = [Value(goal.name, {}, goal.value, goal.unit) for goal in goals]
        for text, name in self.names:
            if name in known:
                values += _read(data, name, text)
        for part in (part for found in parts.values() for part in found):
            values += _read(data, f"dual__{part}".replace("/", "_"), f"dual({part})")
        return tuple(values), tuple(absent)


def _parts(name: str, rows: set[str]) -> Iterator[str]:
    """Yield the blocks of rows of a constraint: itself, or one for each of its comparisons."""
    number = 1
    if name in rows:
        yield name
    while f"{name}__{number}" in rows and name not in rows:
        yield f"{name}__{number}"
        number += 1


def _read(data: "xarray.Dataset", name: str, label: str) -> Iterator[Value]:
    """Yield the numbers of a series; none where the solver gave none."""
    if name not in data:
        return
    series = data[name]
    unit = str(series.attrs.get("units", "1"))
    labels = [_labels(series.coords[dim].values) for dim in series.dims]
    for place, value in np.ndenumerate(series.values):
        if not np.isnan(value):
            texts = (found[k] for found, k in zip(labels, place, strict=True))
            yield Value(
                label, dict(zip(map(str, series.dims), texts, strict=True)), float(value), unit
            )


def _labels(values: Any) -> list[str]:
    if values.dtype.kind == "M":
        values = np.datetime_as_string(values, unit="m")
    return [str(value) for value in values]

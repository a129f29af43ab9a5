"""A blueprint as a standalone Pyomo script that an engineer can run without engiagent.

The compiled rows are written over arrays of variables, as in the scripts of every other library,
each below what the blueprint says of it.
"""

from pathlib import Path

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elements import ConstraintDef
from engiagent.blueprint.functions import ELEMENTARY
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import ColumnBlock, Goal, Program, RowBlock
from engiagent.formulations.scripts.algebra import (
    Algebra,
    Dialect,
    Names,
    about,
    body,
    comment,
    listed,
    main,
    number,
)
from engiagent.formulations.scripts.pyomo_text import RESERVED, functions_for, pyomo_head, solving
from engiagent.formulations.values import Floats, Ints

PYOMO = Dialect(
    array="np.array",
    nothing="np.zeros({count})",
    matrix="Matrix({data}, {indices}, {starts})",
    functions={name: f"every(pyo.{name})" for name in ELEMENTARY},
    times="{0} * {1}",
    total="sum({0})",
)


def emit_pyomo(
    blueprint: Blueprint, folder: Path | str | None = None, program: Program | None = None
) -> str:
    """Return a Python script that builds and solves the blueprint with Pyomo.

    Linear programs go to HiGHS, convex ones without whole numbers to IPOPT where it is there,
    and everything else to SCIP. ``program`` is the blueprint's, where it has been compiled.

    Raises BlueprintError when the blueprint is wrong; MissingDataError when parameters are declared
    as missing.
    """
    full = expand(blueprint)
    program = program or compile_blueprint(full, folder)
    names = Names(set(RESERVED))
    algebra = Algebra(program, PYOMO, names)
    columns = [line for b in program.columns if b.size for line in _column(algebra, b)]
    constraints = [*_rows(full, algebra), *_groups(algebra)]
    objective = _objective(algebra)
    parts = {
        "Decision variables: elements stand in the order of their sets": columns,
        "Coefficients": algebra.lines,
        "Constraints": constraints,
        "Objective": objective,
    }
    text = body(parts) + solving(program) + main(algebra, "variable", "element.value")
    functions = functions_for(text)
    return pyomo_head(full, program, functions + text) + functions + text


def _column(algebra: Algebra, block: ColumnBlock) -> list[str]:
    """Return the lines that declare the variables of a block, as an array."""
    name, program = algebra.of_block[block], algebra.program
    inside = slice(block.start, block.stop)
    low, high = program.column_lower[inside], program.column_upper[inside]
    lines, bounds = [], f"bounds=({limit(low[0])}, {limit(high[0])})"
    if np.any(low != low[0]) or np.any(high != high[0]):
        pairs = algebra.names.fresh(f"{name}_bounds")
        both = ", ".join(f"({limit(a)}, {limit(b)})" for a, b in zip(low, high, strict=True))
        lines.append(f"{pairs} = [{both}]")
        bounds = f"bounds=lambda _, k: {pairs}[k]"
    kind = {"binary": "domain=pyo.Binary, ", "integer": "domain=pyo.Integers, "}.get(block.kind, "")
    made = f"pyo.Var(range({block.size}), {kind}{bounds})"
    note = f"  # {about(block)}".rstrip(" #")
    return [*lines, f'{name} = elements("{name}", {made}){note}']


def _rows(blueprint: Blueprint, algebra: Algebra) -> list[str]:
    """Return the compiled rows, each block below what the blueprint says."""
    lines: list[str] = []
    titles = {d.constraint_id: _title(d) for d in blueprint.core.constraints}
    for block in algebra.program.rows:
        if not block.size:
            continue
        parts = block.name.split("__")
        stems = ("__".join(parts[:n]) for n in range(1, len(parts)))
        for name in (block.constraint_id, *stems):
            if name in titles:
                lines.append(f"# {titles.pop(name)}")
        lines.append(_row(algebra, block))
    return lines


def _title(definition: ConstraintDef) -> str:
    """Return what a blueprint says of a constraint, in one line."""
    title = comment(definition.name or definition.constraint_id)
    over = f" for {', '.join(definition.forall)}" if definition.forall else ""
    where = f" where {definition.where}" if definition.where else ""
    return f"{title}: {comment(definition.expression + over + where)}"


def _row(algebra: Algebra, block: RowBlock) -> str:
    program, rows = algebra.program, slice(block.start, block.stop)
    name = algebra.names.fresh(block.constraint_id)
    text = algebra.rows(block.start, block.stop)
    sides = f"{_side(program.row_lower[rows])}, {_side(program.row_upper[rows])}"
    indicators = program.indicators
    inside = (indicators.rows >= block.start) & (indicators.rows < block.stop)
    if not inside.any():
        return f'rows("{name}", {text}, {sides})'
    order = np.argsort(indicators.rows[inside])
    columns = algebra.columns(indicators.columns[inside][order])
    active = listed(indicators.active[inside][order])
    return f'rows_when("{name}", {text}, {sides}, {columns}, {active})'


def _groups(algebra: Algebra) -> list[str]:
    """Return the lines by which at most one of several columns differs from zero."""
    by_length: dict[int, list[Ints]] = {}
    for group in algebra.program.sos1:
        by_length.setdefault(len(group), []).append(group)
    lines = []
    for groups in by_length.values():
        name = algebra.names.fresh("at_most_one")
        members = np.array(groups, dtype=np.int64).T
        texts = ", ".join(algebra.columns(column) for column in members)
        lines.append(f'at_most_one("{name}", {texts})')
    return lines


def _objective(algebra: Algebra) -> list[str]:
    """Return the lines that make the objective, or a table of several goals."""
    program = algebra.program
    if program.method is None:
        return [
            f"# {comment(program.objective_name)} [{comment(program.objective_unit)}]",
            f"model.objective = pyo.Objective(expr=one({algebra.objective()}), "
            f"sense=pyo.{program.sense})",
        ]
    goals = [(goal, f"one({algebra.goal(goal.cost, goal.offset)})") for goal in program.goals]
    if program.method != "epsilon":
        lines = ["GOALS = ["]
        for goal, text in goals:
            name, room = comment(goal.name), number(goal.tolerance)
            lines.append(f"    # {name} [{comment(goal.unit)}]")
            lines.append(f"    ({name!r}, pyo.{goal.sense}, {text}, {room}),")
        return [*lines, "]"]
    (first, text), *others = goals
    lines = [
        _goal_title(first),
        f"model.objective = pyo.Objective(expr={text}, sense=pyo.{first.sense})",
    ]
    for goal, text in others:
        assert goal.limit is not None
        op = "<=" if goal.sense == "minimize" else ">="
        name = algebra.names.fresh(f"goal_{goal.name}")
        rule = f'relation({text}, "{op}", {number(goal.limit)})'
        lines += [
            _goal_title(goal),
            f'model.add_component("row {name}", pyo.Constraint(expr={rule}))',
        ]
    return lines


def _goal_title(goal: Goal) -> str:
    return f"# {comment(goal.name)} [{comment(goal.unit)}]"


def limit(value: float) -> str:
    """Return a bound; None where there is none."""
    return number(value) if np.isfinite(value) else "None"


def _side(values: Floats) -> str:
    """Return the limits of rows: one, or a list with one each."""
    if np.all(values == values[0]):
        return limit(values[0])
    return f"[{', '.join(limit(value) for value in values)}]"

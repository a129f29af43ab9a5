"""Why a solver came to no end: how far it came, which numbers stand out, what could help."""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from engiagent.explain.conflicts import Statements
from engiagent.explain.explanation import Extreme, Trouble
from engiagent.explain.labels import shown
from engiagent.explain.relaxed import names_in
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.result import SolverResult
from engiagent.solvers.validate import place_of

WIDE: Final = 1e7
"""A ratio of coefficients from which rounding becomes a cause worth naming."""
LARGE: Final = 100_000


def explain_trouble(
    program: Program, result: SolverResult, said: Statements, choice: str | None = None
) -> Trouble:
    """Return what was tried, which coefficients differ most, and what could help.

    ``result``: of a solve that ended by a limit, an error or an interruption; ``choice``: which
    solver was chosen and why, as text of several lines.
    """
    sizes = np.abs(program.row_values)
    there = np.flatnonzero(sizes > 0)
    largest = smallest = ratio = None
    if len(there):
        most, least = there[np.argmax(sizes[there])], there[np.argmin(sizes[there])]
        ratio = float(sizes[most] / sizes[least])
        largest, smallest = (_extreme(program, int(k), said) for k in (most, least))
    return Trouble(
        status=result.status,
        tried=tuple(_tried(result, choice)),
        ratio=ratio,
        largest=largest,
        smallest=smallest,
        ranges=_ranges(program),
        suggestions=tuple(_suggestions(program, result, ratio, largest, smallest)),
    )


def _tried(result: SolverResult, choice: str | None) -> Iterator[str]:
    name = f"{result.solver} {result.solver_version}".strip()
    yield f"{name} for {result.seconds:.3g} s: {result.reason}"
    done = [
        f"{count:,} {what}".replace(",", " ")
        for count, what in ((result.iterations, "iterations"), (result.nodes, "nodes"))
        if count
    ]
    if done:
        yield f"it came as far as {' and '.join(done)}"
    if result.gap is not None and np.isfinite(result.gap):
        yield f"its best plan is proven to within {100 * result.gap:.3g} % of the best there can be"
    for line in (choice or "").splitlines():
        yield line.strip()


def _extreme(program: Program, entry: int, said: Statements) -> Extreme:
    row = int(np.searchsorted(program.row_starts, entry, side="right")) - 1
    value = float(program.row_values[entry])
    block = next((b for b in program.rows if b.start <= row < b.stop), None)
    name = "" if block is None else block.constraint_id
    definition = said.constraint(name) if name else None
    used = set() if definition is None else names_in(definition.expression)
    held = [p.name for p in said.say.behind(used) if isinstance(p.value, int | float)]
    return Extreme(
        value=value,
        row=place_of(program, program.rows, row),
        column=place_of(program, program.columns, int(program.row_columns[entry])),
        parameters=tuple(
            f"{n} = {shown(said.say.parameters[n].value, str(said.say.parameters[n].unit or ''))}"
            for n in held
        ),
    )


def _ranges(program: Program) -> Mapping[str, tuple[float, float]]:
    parts = {
        "coefficients": program.row_values,
        "right-hand sides": np.concatenate([program.row_lower, program.row_upper]),
        "bounds": np.concatenate([program.column_lower, program.column_upper]),
        "costs": program.cost,
    }
    found = {}
    for name, values in parts.items():
        finite: Floats = np.abs(values[np.isfinite(values)])
        sizes = finite[finite > 0]
        if len(sizes):
            found[name] = (float(sizes.min()), float(sizes.max()))
    return found


def _suggestions(
    program: Program,
    result: SolverResult,
    ratio: float | None,
    largest: Extreme | None,
    smallest: Extreme | None,
) -> Iterator[str]:
    if ratio is not None and ratio >= WIDE and largest is not None and smallest is not None:
        yield (
            f"coefficients differ by a factor of {ratio:.1e}, between {largest.column} in "
            f"{largest.row} and {smallest.column} in {smallest.row}: choose units in which the "
            "numbers are of similar size, as MW instead of W, or a smaller constant where one "
            "only stands for 'large enough'"
        )
    if program.is_mip and result.status in ("limit", "feasible"):
        yield (
            "allow more time with --time-limit, or a larger gap with --gap, as 1e-3; tighter "
            "bounds of the quantities that switches turn on and off help most"
        )
    elif result.status in ("limit", "feasible"):
        yield "allow more time with --time-limit"
    if program.column_count > LARGE and result.status in ("limit", "feasible"):
        yield (
            f"the model has {program.column_count:,} columns".replace(",", " ")
            + "; a longer step or a shorter horizon makes it smaller"
        )
    if result.status == "error":
        yield "try another solver with --backend; engiagent doctor lists those installed"
    if result.status == "interrupted":
        yield "it was interrupted from outside; nothing is wrong with the problem itself"

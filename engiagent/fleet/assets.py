"""What a worker does for one asset: plan it, or price what it takes of the shared limit."""

import json
import zlib
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from engiagent.errors import EngiagentError, InputError
from engiagent.fleet.description import Template
from engiagent.formulations.program import Program, row_sums
from engiagent.formulations.values import Floats
from engiagent.run.certify import certify
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.solution import to_arrays
from engiagent.solvers.solving import solve
from engiagent.study.live import Live, Setting

Json = dict[str, Any]
ABOUT: Final = b"engiagent"
"""The key of what a part says of its columns."""
FIELDS: Final = {
    **dict.fromkeys(("asset", "verdict", "reason", "certificate"), pa.string()),
    **dict.fromkeys(("objective", "bound"), pa.float64()),
}
ROOM: Final = 1e-9
"""Share by which a plan may exceed what it is given of the shared limit: rounding."""


class Ask(NamedTuple):
    """What is asked of an asset: its best plan, or what it takes of the shared limit."""

    name: str
    values: tuple[float, ...]
    # in each period, as hexadecimal of float64
    prices: str = ""  # ask for cost, bound and what is taken by the best plan at these
    most: str = ""  # ask for the best plan that takes no more than this


class Planner:
    """The template compiled once on a worker, with places that each asset fills."""

    def __init__(self, given: tuple[Template, SolveOptions]) -> None:
        self.template, self.options = given
        places = [variation.name for variation in self.template.variations]
        setting = Setting(self.template.folder, self.options, isolate=False)
        self.live = Live(self.template.blueprint, places, setting)
        if self.template.limit is not None:
            self.rows, self.starts, self.columns, self.factors, self.limit = self._shared()
            self.unit = next(b.unit for b in self.live.program.rows if b.start == self.rows.start)

    def _shared(self) -> tuple[Any, ...]:
        """Return the rows of the shared limit, their matrix, and what they come to at most."""
        program, name = self.live.program, self.template.limit
        blocks = [block for block in program.rows if block.constraint_id == name]
        if program.is_mip or not program.is_linear or program.goals:
            found = "whole numbers, products or several goals in the template"
            text, expected = "a shared limit needs plans that can be mixed", "a linear programme"
            raise InputError(text, found=found, expected=expected)
        if len(blocks) != 1:
            known = ", ".join(block.constraint_id for block in program.rows if not block.generated)
            raise InputError("the template has no such requirement", found=name, expected=known)
        rows = slice(blocks[0].start, blocks[0].stop)
        first, last = (int(program.row_starts[end]) for end in (rows.start, rows.stop))
        if not np.all(np.isinf(program.row_lower[rows]) & np.isfinite(program.row_upper[rows])):
            raise InputError("this is no upper limit", found=name, expected="quantities <= a limit")
        starts = program.row_starts[rows.start : rows.stop + 1] - first
        matrix = (starts, program.row_columns[first:last], program.row_values[first:last])
        return rows, *(np.array(part) for part in (*matrix, program.row_upper[rows]))

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of a plan's row: what stands of it, and a list of numbers a quantity."""
        program = self.live.program
        about: Json = dict.fromkeys(("reason", "solver", "solver_version"), "")
        x = np.zeros(program.column_count)
        arrays = to_arrays(program, SolverResult(status="feasible", is_mip=False, x=x, **about))
        used = {dim for array in arrays.data_vars.values() for dim in array.dims}
        about = {
            "unit": program.objective_unit,
            "sense": program.sense,
            "dims": {name: array.dims for name, array in arrays.data_vars.items()},
            "units": {k: str(v.attrs.get("units", "1")) for k, v in arrays.data_vars.items()},
            "axes": {k: list(map(str, v.values)) for k, v in arrays.coords.items() if k in used},
        }
        if self.template.limit is not None:
            terms = zip(self.columns.tolist(), self.factors.tolist(), strict=True)
            places = [(*self._place(column), factor) for column, factor in terms]
            named = {"name": self.template.limit, "at_most": self.limit.tolist(), "unit": self.unit}
            about["shared"] = {**named, "starts": self.starts.tolist(), "terms": places}
        lists = dict.fromkeys(arrays.data_vars, pa.list_(pa.float64()))
        return pa.schema(FIELDS | lists, {ABOUT: json.dumps(about)})

    def _place(self, column: int) -> tuple[str, int]:
        block = next(b for b in self.live.program.columns if b.start <= column < b.stop)
        if block.positions is not None or block.generated:
            expected = "a sum of the site's own quantities"
            raise InputError("the shared limit is no sum", found=block.name, expected=expected)
        return block.name, column - block.start

    def taken(self, x: Floats) -> Floats:
        """Return what a plan takes of the shared limit in each period."""
        return row_sums(self.starts, self.factors * x[self.columns])

    def solved(self, program: Program) -> SolverResult:
        """Return the best plan of a program; EngiagentError when there is none."""
        result = solve(program, self.options, isolate=False)
        if result.x is None:
            raise EngiagentError(f"{result.status}: {result.reason}")
        return result

    def priced(self, program: Program, prices: Floats) -> bytes:
        """Return cost, proven bound with prices, and what is taken by the best plan at prices.

        All are of a minimisation, as float64.
        """
        sign, cost = 1.0 if program.sense == "minimize" else -1.0, program.cost.copy()
        each = np.repeat(prices, np.diff(self.starts))
        np.add.at(cost, self.columns, sign * self.factors * each)
        result = self.solved(replace(program, cost=cost))
        if result.bound is None or result.x is None:
            raise EngiagentError(f"the solver proves no bound: {result.reason}")
        first = sign * np.array([program.objective_at(result.x), result.bound])
        return np.append(first, self.taken(result.x)).tobytes()

    def planned(self, program: Program, most: Floats) -> SolverResult:
        """Return the best plan, or the best that takes no more than this."""
        if not most.size:
            return self.solved(program)
        program.row_upper[self.rows] = most + ROOM * np.maximum(1.0, np.abs(most))
        reason = "the best that takes no more of the shared limit than it is given"
        nothing: Json = dict.fromkeys(("row_dual", "column_dual", "bound", "gap"))
        return replace(self.solved(program), status="feasible", reason=reason, **nothing)


def answer(planner: Planner, ask: Ask) -> bytes:
    """Return the row of an asset's plan, or what it takes at prices; on a worker."""
    template, live = planner.template, planner.live
    pairs = zip(template.variations, ask.values, strict=True)
    new = {item.name: live.moved(item, value) for item, value in pairs}
    program = live.program_at(new)
    if template.limit is not None:
        first, last = program.row_starts[[planner.rows.start, planner.rows.stop]]
        own = (program.row_values[first:last], program.row_upper[planner.rows])
        if not all(map(np.array_equal, own, (planner.factors, planner.limit))):
            raise EngiagentError(f"{template.limit} depends on what the table fills")
        upper = program.row_upper.copy()
        upper[planner.rows] = np.inf
        program = replace(program, row_upper=upper)
    if ask.prices:
        return planner.priced(program, np.frombuffer(bytes.fromhex(ask.prices)))
    result = planner.planned(program, np.frombuffer(bytes.fromhex(ask.most)))
    arrays = to_arrays(program, result)
    certificate = certify(None, arrays, live.at(new), folder=template.folder, name=ask.name)
    row: Json = {"asset": ask.name, "verdict": certificate.verdict, "reason": ""}
    row |= {"certificate": certificate.to_json()}
    row |= {"objective": (certificate.objective or {}).get("value")}
    row |= {"bound": (certificate.bound or {}).get("value")}
    for field in list(planner.schema)[len(FIELDS) :]:
        row[field.name] = np.asarray(arrays.data_vars[field.name].values, np.float64).ravel()
    columns = [pa.array([row[field.name]], field.type) for field in planner.schema]
    return zlib.compress(pa.record_batch(columns, schema=planner.schema).serialize(), 1)


def unpacked(row: bytes, schema: pa.Schema) -> pa.RecordBatch:
    """Return the row of a plan; InputError when it is none."""
    try:
        found = pa.ipc.read_record_batch(pa.py_buffer(zlib.decompress(row)), schema)
        found.validate(full=True)
    except (pa.ArrowException, zlib.error, OSError) as error:
        raise InputError(f"this is no plan of an asset: {error}", "ledger") from None
    return found

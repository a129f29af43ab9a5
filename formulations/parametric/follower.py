"""The arrays of a projected program after new values of parameters."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.formulations.parametric.compiler import Definition, columns_of
from engiagent.formulations.parametric.projection import Projection, Target
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats, Ints

AGREEMENT: Final = 1e-9
"""Largest difference, relative to the larger of 1 and the number."""


# --- following them ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Write:
    """One assignment of an update; ``groups`` is None where each place has one entry."""

    array: Floats
    at: Ints
    base: Floats
    columns: Ints
    coefficients: Floats
    groups: Ints | None

    def run(self, z: Floats) -> None:
        terms: Floats = self.coefficients * z[self.columns]
        if self.groups is not None:
            terms = np.bincount(self.groups, terms, len(self.at)).astype(np.float64)
        self.array[self.at] = self.base + terms


_Plan = tuple[list[Definition], list[_Write]]
"""What an update of some parameters computes and writes."""


class Follower:
    """Keeps the arrays of a projection at the current values of its parameters."""

    def __init__(
        self, projection: Projection, starts: Mapping[str, int], values: Mapping[str, Floats]
    ) -> None:
        self.program: Program = projection.program
        self._projection = projection
        self._starts = dict(starts)
        self._plans: dict[tuple[str, ...], _Plan] = {}
        self._z = np.zeros(projection.width)
        everything = np.ones(projection.width, dtype=np.bool_)
        writes = [_write(target, everything) for target in projection.targets]
        self._run((list(projection.definitions), writes), values)

    def follow(self, new: Mapping[str, Floats]) -> None:
        """Write new values into the arrays; with an InputError nothing changes."""
        key = tuple(new)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._plan(new)
        self._run(plan, new)

    def _plan(self, new: Mapping[str, Floats]) -> _Plan:
        touched = np.zeros(len(self._z), dtype=np.bool_)
        for name, values in new.items():
            touched[self._starts[name] : self._starts[name] + values.size] = True
        definitions = []
        for definition in self._projection.definitions:
            if touched[columns_of(definition.form)].any():
                definitions.append(definition)
                touched[definition.start : definition.start + definition.form.size] = True
        targets = [t for t in self._projection.targets if touched[t.columns].any()]
        return definitions, [_write(target, touched) for target in targets]

    def _run(self, plan: _Plan, new: Mapping[str, Floats]) -> None:
        definitions, writes = plan
        z = self._z.copy()
        for name, values in new.items():
            z[self._starts[name] : self._starts[name] + values.size] = values.reshape(-1)
        for definition in definitions:
            computed = definition.form.at(z)
            if not np.isfinite(computed).all():
                raise InputError(
                    "with these values something computed from them is not a finite number",
                    found=", ".join(sorted(new)),
                )
            z[definition.start : definition.start + len(computed)] = computed
        for write in writes:
            write.run(z)
        self._z = z
        # The only numbers among the arrays; the program stays one object for its sessions.
        offset, *offsets = self._projection.offsets.tolist()
        object.__setattr__(self.program, "offset", offset)
        for goal, value in zip(self.program.goals, offsets, strict=True):
            object.__setattr__(goal, "offset", value)


def _write(target: Target, touched: Any) -> _Write:
    """Return the assignment of all places of a target that follow a touched column."""
    chosen = np.isin(target.at, target.at[touched[target.columns]])
    at = np.asarray(target.at[chosen], dtype=np.int64)
    places, groups = np.unique(at, return_inverse=True)
    columns, coefficients = target.columns[chosen], target.coefficients[chosen]
    base = target.base[places]
    if len(places) < len(groups):
        return _Write(target.array, places, base, columns, coefficients, groups)
    order = np.argsort(groups)
    return _Write(target.array, places, base, columns[order], coefficients[order], None)


# --- whether it is the same program ------------------------------------------------------------


def difference(live: Program, plain: Program) -> str | None:
    """Return the name of the first block in which two programs differ, None when they agree.

    Bounds of columns that the compiler put in may be wider in ``live``: they cannot rest on
    numbers that change.
    """
    for ours, theirs in ((live.columns, plain.columns), (live.rows, plain.rows)):
        for one, other in zip_longest(map(_named, ours), map(_named, theirs)):
            if one != other:
                return str((other or one or ("",))[0])
    return next(_differences(live, plain), None)


def _named(block: Any) -> tuple[str, int]:
    return getattr(block, "constraint_id", block.name), block.size


def _differences(live: Program, plain: Program) -> Iterator[str]:
    for what, count in (
        ("a conditional row", lambda p: (len(p.indicators.rows), len(p.sos1))),
        ("a function that is not linear", lambda p: bool(p.nonlinear)),
        ("a product", lambda p: len(p.products.rows) > 0),
    ):
        if count(live) != count(plain):
            yield what
    for name in ("cost", "row_lower", "row_upper"):
        if not _close(getattr(live, name), getattr(plain, name)):
            yield name.replace("_", " ")
    for block in plain.columns:
        part = slice(block.start, block.stop)
        for side, sign in (("column_lower", 1.0), ("column_upper", -1.0)):
            ours, theirs = getattr(live, side)[part], getattr(plain, side)[part]
            wider = block.generated and bool(np.all(sign * ours <= sign * theirs))
            if not wider and not _close(ours, theirs):
                yield block.name
    # Equal linear maps agree everywhere else too.
    random = np.random.default_rng(20260101)
    for size in (1.0, 1e-3, 1e3):
        x = random.uniform(0.5, 1.5, plain.column_count) * size
        with np.errstate(all="ignore"):
            ours, theirs = (np.append(p.activity_at(x), p.objective_at(x)) for p in (live, plain))
        if not _close(ours, theirs, size):
            yield "a coefficient"


def _close(a: Floats, b: Floats, scale: float = 1.0) -> bool:
    return bool(np.allclose(a, b, rtol=AGREEMENT, atol=AGREEMENT * scale, equal_nan=True))

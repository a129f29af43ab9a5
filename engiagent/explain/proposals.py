"""The least by which limits must give way for a plan to exist, limit by limit and in total.

Every proposal is rounded up to four digits, put into the model and solved again; and a solve shows
that a hundredth less is not enough. What could not be shown in the time given says so.
"""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.explain.explanation import Change, Proposal
from engiagent.explain.labels import is_point, shown
from engiagent.explain.limits import Limit, Limits
from engiagent.formulations.elastic import Elastic, Give, demands_of, elastic, widened
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.solving import solve

DIGITS: Final = 4
NEGLIGIBLE: Final = 1e-7
"""A change by less than this, relative to the limit and to 1, is within a solver's tolerance."""


def rounded_up(amount: float) -> float:
    """Return an amount rounded away from zero, so that it is still enough.

    >>> rounded_up(0.78341), rounded_up(-12.00001), rounded_up(0.4)
    (0.7835, -12.01, 0.4)
    """
    if amount == 0 or not math.isfinite(amount):
        return amount
    unit = 10.0 ** (math.floor(math.log10(abs(amount))) - DIGITS + 1)
    # What the last bits say is no reason for another digit.
    steps = math.ceil(abs(amount) / unit - 1e-6)
    return math.copysign(float(f"{steps * unit:.{DIGITS + 1}g}"), amount)


def change_text(limit: Limit, amounts: Floats, limits: Limits) -> str:
    """Return how a limit gives way, in words.

    ``amounts``: signed, in the unit of the quantity, (1,) for a shift of all elements or (k,).
    """
    shift = amounts.size == 1
    first = float(amounts[0]) if shift else 0.0
    at = f" at {limit.where}" if limit.where else ""
    if limit.side == "both" and limit.plain:
        if shift:
            return f"set {limit.title}{at} to {_range(limit, limit.values + first)} " + (
                f"instead of {_range(limit, limit.values)}"
            )
        old = _range(limit, limit.values)
        return f"change {limit.title} from {old} by {told(limit, amounts, limits)}"
    rises = bool(np.any(amounts > 0))
    verb, name = ("raise" if rises else "lower"), f"the {limit.side} limit of {limit.title}{at}"
    if not limit.plain:
        verb, name = "loosen", f"“{limit.subject}”"
    if not shift:
        return f"{verb} {name} only where needed: {told(limit, amounts, limits)}"
    by = f"{verb} {name} by {shown(abs(first), limit.step_unit)}"
    if not limit.plain:
        return by
    on = " while it is switched on" if limit.gated and limit.active else ""
    return f"{by}{on}, from {_range(limit, limit.values)} to {_range(limit, limit.values + first)}"


def told(limit: Limit, amounts: Floats, limits: Limits) -> str:
    """Return amounts by element, runs of equal ones together."""
    pieces = [
        f"{shown(abs(amount), limit.step_unit)} {f'at {where}' if where else 'everywhere'}"
        for where, amount in by_amount(limit, amounts, limits)
    ]
    more = f"; and {len(pieces) - 6} more" if len(pieces) > 6 else ""
    return "; ".join(pieces[:6]) + more


def by_amount(limit: Limit, amounts: Floats, limits: Limits) -> Sequence[tuple[str, float]]:
    """Return the elements at which a limit moves by each amount, in their order."""
    if amounts.size == 1:
        return [(limit.where, float(amounts[0]))]
    found: dict[float, list[int]] = {}
    for place, amount in zip(limit.places.tolist(), amounts.tolist(), strict=True):
        if amount != 0:
            found.setdefault(amount, []).append(place)
    return [(limits.where(limit, np.array(places)), amount) for amount, places in found.items()]


def _range(limit: Limit, values: Floats) -> str:
    low, high = float(np.min(values)), float(np.max(values))
    if low == high:
        return shown(low, limit.unit)
    return f"{shown(low, None)} to {shown(high, limit.unit)}"


TOLERANCE: Final = 0.01  # how near to the least a proposal is shown to be, relative to it
KELVINS: Final = 10.0
"""The change of a quantity with an arbitrary zero that counts like a limit in full."""
LEAST: Final = 1e-2


@dataclass(frozen=True, eq=False)
class Repairs:
    """The search for the least changes of one program that has no plan."""

    limits: Limits
    deadline: float

    @property
    def program(self) -> Program:
        """The program that has no plan."""
        return self.limits.program

    def single(self, limit: Limit) -> Iterator[Proposal]:
        """Yield the least shift of one limit, and the least changes of its elements."""
        shift = self._proposal("shift", [limit], shared=True)
        if shift is not None:
            yield shift
        if len(limit.places) == 1:
            return
        each = self._proposal("elements", [limit], shared=False)
        if each is not None:
            yield each

    def total(self, soft: Sequence[Limit]) -> Proposal | None:
        """Return the least total change of several limits, relative to what each is."""
        return self._proposal("total", soft, shared=False)

    # -- one proposal -------------------------------------------------------------------------

    def _proposal(
        self, kind: Literal["shift", "elements", "total"], chosen: Sequence[Limit], *, shared: bool
    ) -> Proposal | None:
        gives = list(_gives(chosen, shared, relative=kind == "total"))
        relaxed = elastic(self.program, gives)
        x = self._point(relaxed.program, LEAST * TOLERANCE)
        if x is None:
            return None
        rounded = [(limit, _rounded(limit, amounts)) for limit, amounts in _net(relaxed, x)]
        rounded = [(limit, amounts) for limit, amounts in rounded if np.any(amounts)]
        if not rounded:
            return None
        least = float(relaxed.program.cost @ x)
        told = tuple(self._change(limit, amounts) for limit, amounts in rounded)
        return Proposal(
            kind=kind,
            changes=told,
            text="; and ".join(change.text for change in told),
            verified=self._holds(rounded),
            minimal=self._impossible(relaxed.within((1.0 - TOLERANCE) * least)),
            tolerance=TOLERANCE,
        )

    def _change(self, limit: Limit, amounts: Floats) -> Change:
        return Change(
            name=limit.family.name,
            kind=limit.family.kind,
            side=limit.side,
            subject=limit.subject,
            unit=limit.step_unit,
            amounts=tuple(by_amount(limit, amounts, self.limits)),
            text=change_text(limit, amounts, self.limits),
        )

    def _holds(self, changes: Sequence[tuple[Limit, Floats]]) -> bool:
        """Whether a plan exists with some changes, in the unit of the quantities."""
        moved = []
        for limit, amounts in changes:
            in_rows = amounts * limit.scale
            up = bool(np.any(in_rows > 0)) or limit.family.side == "both"
            moved.append((Give(limit, up, False), in_rows if up else -in_rows))
        return self._point(demands_of(widened(self.program, moved))) is not None

    # -- solving ------------------------------------------------------------------------------

    def _solved(self, program: Program, gap: float | None = None) -> SolverResult | None:
        left = self.deadline - time.monotonic()
        if left <= 0:
            return None
        options = SolveOptions(time_limit=left)
        try:
            options = options if gap is None else replace(options, gap=gap)
            return solve(program, options, isolate=False)
        except EngiagentError:
            return None

    def _point(self, program: Program, gap: float | None = None) -> Floats | None:
        result = self._solved(program, gap)
        found = result is not None and result.status in ("optimal", "feasible")
        return result.x if result is not None and found else None

    def _impossible(self, program: Program) -> bool:
        result = self._solved(program)
        return result is not None and result.status == "infeasible"


def _gives(chosen: Sequence[Limit], shared: bool, *, relative: bool) -> Iterator[Give[Limit]]:
    """Yield the directions in which limits may give way: an equation may in both."""
    for limit in chosen:
        weight = 1.0 / (size_of(limit) * abs(limit.scale)) if relative else 1.0
        for up in (True, False):
            if limit.family.side in ("both", "upper" if up else "lower"):
                yield Give(limit, up, shared, weight)


def size_of(limit: Limit) -> float:
    """Return the change that counts as 1 in a total, in the unit of the quantity."""
    if is_point(limit.unit):
        return KELVINS
    largest = float(np.max(np.abs(limit.values), initial=0.0))
    return largest if largest > 0 else 1.0


def _net(relaxed: Elastic[Limit], x: Floats) -> Iterator[tuple[Limit, Floats]]:
    """Yield by how much each limit moves in the end, signed, in the unit of its quantity."""
    found: dict[int, tuple[Limit, Floats]] = {}
    for give, amounts in zip(relaxed.gives, relaxed.amounts(x), strict=True):
        signed = amounts / give.limit.scale * (1.0 if give.up else -1.0)
        before = found.get(id(give.limit))
        found[id(give.limit)] = (give.limit, signed if before is None else before[1] + signed)
    yield from found.values()


def _rounded(limit: Limit, amounts: Floats) -> Floats:
    """Return amounts rounded up; those within a solver's tolerance are none."""
    size = np.max(np.abs(limit.values)) if amounts.size == 1 else np.abs(limit.values)
    counts = np.abs(amounts) > NEGLIGIBLE * np.maximum(1.0, size)
    return np.array([rounded_up(a) if k else 0.0 for a, k in zip(amounts, counts, strict=True)])

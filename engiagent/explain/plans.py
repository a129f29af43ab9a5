r"""What holds a plan back: active limits, what moving them is worth, and what is not used.

The price of a limit is the derivative of the objective with respect to it, summed over all its
elements, since a larger device is larger at all times. A solver's multipliers give it at once;
where more than one set of multipliers fits (a degenerate plan), only a solve with the limit moved
a little tells what a step down and a step up are worth.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.explain.explanation import Explanation, ReducedCost, Tight
from engiagent.explain.labels import gain_words, price_unit, shown, where_of
from engiagent.explain.limits import Limit, Limits
from engiagent.explain.places import Place
from engiagent.formulations.elastic import Give, widened
from engiagent.formulations.program import Block, Bools, Program
from engiagent.formulations.values import Floats, Ints
from engiagent.solvers.iis import Member
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.solving import solve

CLOSE: Final = 1e-6
"""How near a limit counts as at it, relative to the limit and to 1."""
TINY: Final = 1e-9
MOST: Final = 12
STEP: Final = 1e-4
"""By how much a limit is moved to see what that is worth, relative to it."""
OWN: Final = 2e-2
"""How far two prices may lie apart, relative to the larger, and still count as one."""


def explain_plan(
    limits: Limits, result: SolverResult, *, name: str, seconds: float = 0.0
) -> Explanation:
    """Return the active limits of a plan, by worth, with their prices, and what is not used.

    A limit whose price is known to be zero is left out, and so is a bound that given series
    set, as the sun that there is.

    ``limits``: of the program that was solved. ``result``: the plan, with multipliers where the
    solver gave any; an element may be NaN where it is not known. ``seconds``: how long prices may
    be looked at by solving again; 0 leaves them to the multipliers.
    """
    assert result.x is not None
    plan = _Plan(limits, result)
    found = [tight for limit in limits.all() if (tight := plan.tight(limit)) is not None]
    found.sort(key=lambda pair: _rank(pair[1]))
    notes = list(plan.notes())
    ranged = _Ranges(plan, time.monotonic() + seconds) if seconds > 0 and plan.priced else None
    if plan.priced:
        total = len(found)
        found = [pair for pair in found if abs(pair[1].worth) > TINY or abs(pair[1].price) > TINY]
        if total > len(found):
            notes.append(f"active limits whose shadow price is zero: {total - len(found)}")
    pairs = [
        (limit, ranged.of(limit, item) if ranged is not None else item)
        for limit, item in found[:MOST]
    ]
    pairs.sort(key=lambda pair: _rank(pair[1]))
    shown_here = [replace(item, text=_text(limit, item, plan)) for limit, item in pairs]
    if ranged is not None and ranged.unasked:
        notes.append(f"time ran out before the prices of {ranged.unasked} limits were solved again")
    rest = len(found) - len(shown_here)
    if rest > 0:
        notes.append(f"{rest} more active limits are worth less")
    worth = [item for item in shown_here if item.kind == "limit" and abs(item.worth) > 0]
    summary = "moving no limit improves the objective"
    if worth:
        summary = f"worth most: {worth[0].text}"
    return Explanation(
        problem=name,
        kind="plan",
        summary=summary,
        tight=tuple(shown_here),
        reduced_costs=tuple(plan.unused())[:MOST],
        notes=tuple(notes),
    )


def _rank(item: Tight) -> tuple[int, float, float]:
    worth = float(f"{abs(item.worth):.9g}")  # rounding puts none before another
    return (int(item.kind == "balance"), -worth, -item.share)


@dataclass(frozen=True, eq=False)
class _Plan:
    """A plan and what it says of each limit."""

    limits: Limits
    result: SolverResult

    @property
    def program(self) -> Program:
        """The program that was solved."""
        return self.limits.program

    @property
    def priced(self) -> bool:
        """Whether there are multipliers."""
        return self.result.row_dual is not None and self.result.column_dual is not None

    def notes(self) -> Iterator[str]:
        """Yield what the prices leave open."""
        if not self.priced:
            yield "the solver gave no duals, so limits are listed without prices"
            return
        if self.result.is_mip:
            yield (
                "shadow prices hold at fixed integer values: a step that would switch something on "
                "or off is not in them"
            )
        if not self.program.is_linear:
            yield "prices are those of the model near this plan, and hold for small steps only"
        if self.program.goals:
            yield "with several objectives, prices are those of the objective that was solved last"
        if self.degenerate:
            yield (
                "the plan is degenerate, so shadow prices need not be unique: a step down can be "
                "worth something else than a step up"
            )

    @property
    def degenerate(self) -> bool:
        """Whether more limits meet at the plan than it has quantities."""
        program, x = self.program, self._x
        rows = self._at(self._activity, program.row_lower) | self._at(
            self._activity, program.row_upper
        )
        columns = self._at(x, program.column_lower) | self._at(x, program.column_upper)
        fixed = program.integrality & ~columns
        return int(rows.sum()) + int(columns.sum()) + int(fixed.sum()) > program.column_count

    @property
    def _x(self) -> Floats:
        assert self.result.x is not None
        return self.result.x

    @cached_property
    def _activity(self) -> Floats:
        return self.program.activity_at(self._x)

    def _at(self, values: Floats, limits: Floats) -> Bools:
        with np.errstate(invalid="ignore"):
            near: Bools = np.abs(values - limits) <= CLOSE * np.maximum(1.0, np.abs(limits))
        return near & np.isfinite(limits)

    # -- limits -------------------------------------------------------------------------------

    def tight(self, limit: Limit) -> tuple[Limit, Tight] | None:
        """Return what binding elements a limit has; None without any, and for what is no limit."""
        if limit.family.side != "both" and not limit.soft:
            return None
        if limit.family.kind == "bound" and self.limits.said.is_data(limit.family):
            return None  # the sun that there is
        at, duals = self._bound_at(limit), self._duals(limit)
        balance = limit.family.side == "both" and not (limit.soft and limit.plain)
        if limit.family.side == "both" and (duals is None or not duals.any()):
            return None
        bound = at | (duals != 0) if duals is not None else at
        if not bound.any():
            return None
        return limit, self._told(limit, bound, duals, balance)

    def _told(self, limit: Limit, bound: Bools, duals: Floats | None, balance: bool) -> Tight:
        prices = np.zeros(len(bound)) if duals is None else duals
        dearest = int(np.argmax(np.abs(prices)))
        price = float(prices[dearest] if balance else prices.sum())
        step = step_of(limit)
        return Tight(
            name=limit.family.name,
            kind="balance" if balance else "limit",
            side=limit.side,
            subject=limit.subject,
            unit=limit.step_unit,
            objective_unit=self.program.objective_unit,
            bound_at=int(bound.sum()),
            elements=len(bound),
            where="" if bound.all() else self.limits.where(limit, limit.places[bound]),
            price=price,
            step=step,
            worth=_worth(limit, price, price, step, self.program.sense),
            dearest=self._dearest(limit, prices, dearest) if bound.sum() > 1 else None,
            range=None,
            text="",
            places=self._places(limit),
        )

    def _dearest(self, limit: Limit, prices: Floats, at: int) -> tuple[str, float] | None:
        if len(prices) == 1 or not prices[at]:
            return None
        return self.limits.where(limit, limit.places[at : at + 1]), float(prices[at])

    def _places(self, limit: Limit) -> tuple[Place, ...]:
        member = Member(limit.family, np.zeros(0, np.int64), limit.block.sets, limit.block.shape)
        return self.limits.said.part(member, limit.family.side, self.program).places

    def _bound_at(self, limit: Limit) -> Bools:
        """Return at which elements a limit is reached; one that is switched off is not."""
        program, places = self.program, limit.places
        low = program.row_lower if limit.is_row else program.column_lower
        high = program.row_upper if limit.is_row else program.column_upper
        values = (self._activity if limit.is_row else self._x)[places]
        side = low if limit.family.side == "lower" else high
        return self._at(values, side[places]) & self._on(limit)

    def _on(self, limit: Limit) -> Bools:
        if not limit.gated:
            return np.ones(len(limit.places), dtype=np.bool_)
        on: Bools = np.round(self._x[limit.gates]) == limit.active
        return on

    def _duals(self, limit: Limit) -> Floats | None:
        """Return ∂objective/∂limit by element, zero where another side of the row binds.

        What is left of a price by rounding is none.
        """
        given = self.result.row_dual if limit.is_row else self.result.column_dual
        if given is None:
            return None
        duals = np.where(np.isfinite(given[limit.places]), given[limit.places], 0.0) * limit.scale
        duals = np.where(np.abs(duals) > TINY, duals, 0.0)
        if limit.family.side == "both":
            return duals
        # A lower limit that is raised never helps, an upper one that is raised never harms.
        worse = 1.0 if self.program.sense == "minimize" else -1.0
        helps = duals * worse * (1.0 if limit.side == "upper" else -1.0) <= 0
        return np.where(helps & self._on(limit), duals, 0.0)

    # -- what is not used -----------------------------------------------------------------------

    def unused(self) -> list[ReducedCost]:
        """Return quantities at zero that are too dear to use, the nearest to use first."""
        duals = self.result.column_dual
        if duals is None:
            return []
        found = []
        for block in self.program.columns:
            part = slice(block.start, block.stop)
            whole = self.program.integrality[part].any()
            if (
                block.generated
                or block.role == "state"
                or whole
                or np.any(self.program.column_lower[part] != 0)
            ):
                continue
            costs = np.where(np.abs(self._x[part]) <= CLOSE, duals[part], 0.0)
            costs = np.where(np.isfinite(costs), costs, 0.0)
            inside = np.flatnonzero(np.abs(costs) > TINY)
            # Where a quantity may be nothing but zero, what it would cost is nobody's question.
            inside = inside[self.program.column_upper[part][inside] > CLOSE]
            if len(inside):
                found.append(self._unused(block, inside, costs[inside]))
        return sorted(found, key=lambda item: abs(item.least))

    def _unused(self, block: Block, inside: Ints, costs: Floats) -> ReducedCost:
        positions = inside if block.positions is None else block.positions[inside]
        where = where_of(block.sets, block.shape, positions, self.program)
        least, most = float(np.min(np.abs(costs))), float(np.max(np.abs(costs)))
        unit = price_unit(self.program.objective_unit, block.unit)
        subject = getattr(block, "quantity", None) or block.name
        size = (
            shown(least, unit)
            if most - least <= TINY
            else (f"{shown(least, None)} to {shown(most, unit)}")
        )
        at = f" at {where}" if where else ""
        is_cost = self.program.sense == "minimize"
        worth = "it costs more than it saves" if is_cost else "it is worth too little"
        text = f"{subject} is not used{at}: {worth}, by {size}"
        return ReducedCost(
            name=block.name,
            subject=subject,
            unit=unit,
            where=where,
            least=least,
            most=most,
            text=text,
        )


def step_of(limit: Limit) -> float:
    """Return a step that means something: a power of ten, at most 1 and a tenth of the limit.

    >>> from types import SimpleNamespace
    >>> step_of(SimpleNamespace(values=np.array([50.0]))), step_of(
    ...     SimpleNamespace(values=np.array([2.0]))
    ... )
    (1.0, 0.1)
    """
    size = float(np.max(np.abs(limit.values), initial=0.0))
    if not (size > 0 and math.isfinite(size)):
        return 1.0
    return min(1.0, float(10.0 ** math.floor(math.log10(size / 10) + TINY)))


def _worth(limit: Limit, down: float, up: float, step: float, sense: str) -> float:
    """Return what loosening a limit by a step gains; for an equation, moving it the better way."""
    sign = -1.0 if sense == "minimize" else 1.0
    if limit.family.side == "both":
        return max(sign * up * step, -sign * down * step, 0.0)
    return sign * (up if limit.side == "upper" else -down) * step + 0.0


class _Ranges:
    """Prices of a step down and a step up, each by a solve of its own."""

    def __init__(self, plan: _Plan, deadline: float) -> None:
        self.plan, self.deadline, self.unasked = plan, deadline, 0
        program, x = plan.program, plan._x
        if program.is_mip:
            whole = program.integrality
            program = replace(
                program,
                integrality=np.zeros_like(whole),
                column_lower=np.where(whole, np.round(x), program.column_lower),
                column_upper=np.where(whole, np.round(x), program.column_upper),
            )
        self.program = program
        self.possible = program.is_linear and not program.goals and bool(np.all(np.isfinite(x)))

    def of(self, limit: Limit, item: Tight) -> Tight:
        """Return an item with the prices of steps down and up, where they could be found."""
        if not self.possible or item.kind == "balance" or not abs(item.price) > TINY:
            return item
        if time.monotonic() >= self.deadline:
            self.unasked += 1
            return item
        base = self.plan.result.objective
        if base is None:
            base = self.program.objective_at(self.plan._x)
        size = STEP * max(float(np.max(np.abs(limit.values), initial=0.0)), item.step)
        down, up = self._moved(limit, -size), self._moved(limit, size)
        below = None if down is None else (base - down) / size
        above = None if up is None else (up - base) / size
        if below is None and above is None:
            return item
        known = (item.price if below is None else below, item.price if above is None else above)
        worth = _worth(limit, *known, item.step, self.program.sense)
        return replace(item, range=(below, above), worth=worth)

    def _moved(self, limit: Limit, step: float) -> float | None:
        """Return the best objective with all elements of a limit moved by a step."""
        in_rows = step * limit.scale
        up = limit.family.side in ("upper", "both")
        give = Give(limit, up, True)
        program = widened(self.program, [(give, np.array([in_rows if up else -in_rows]))])
        left = max(0.05, self.deadline - time.monotonic())
        try:
            result = solve(program, SolveOptions(time_limit=left), isolate=False)
        except EngiagentError:
            return None
        return result.objective if result.status == "optimal" else None


def one_price(item: Tight) -> bool:
    """Whether a step down and a step up have the same price, as far as is known."""
    if item.range is None or None in item.range:
        return True
    low, high = (float(v) for v in item.range if v is not None)
    return abs(high - low) <= OWN * max(abs(high), abs(low), TINY)


def _text(limit: Limit, item: Tight, plan: _Plan) -> str:
    """Return a binding limit in words."""
    at = f" at {limit.where}" if limit.where else ""
    where = f" at {item.where}" if item.where and not limit.where else ""
    share = "" if item.elements == 1 else " throughout"
    if item.bound_at < item.elements:
        share = f"{where} ({item.bound_at} of {item.elements})"
    objective, sense = plan.program.objective_unit, plan.program.sense
    name = plan.program.objective_name
    if item.kind == "balance":
        place = f" at {item.dearest[0]}" if item.dearest and item.dearest[0] else ""
        most = "at most " if item.dearest and item.dearest[0] else ""
        worth = shown(abs(item.price), price_unit(objective, limit.unit))
        return f"“{limit.block.name}”: shadow price {most}{worth}{place}"
    kind = f"the {'value' if limit.side == 'both' else f'{limit.side} limit'} of {limit.title}{at}"
    if limit.is_row and limit.subject == limit.block.name and limit.side != "both":
        kind = f"“{limit.title}”{at}"  # its name says which side
    active = f"{kind}, active{share}" if share else kind
    if not abs(item.worth) > TINY:
        return active if not plan.priced else f"{active}: a small step changes nothing"
    falls = item.price * (1.0 if sense == "minimize" else -1.0) > 0
    more = {"upper": "more", "lower": "less", "both": "less" if falls else "more"}[limit.side]
    step = shown(item.step, item.unit)
    said = f"{active}: {step} {more} would {gain_words(item.worth, objective, sense, name)}"
    if item.elements > 1:
        said += " in all"
    if item.dearest and item.dearest[0]:
        unit = price_unit(objective, limit.unit)
        said += f", most at {item.dearest[0]} ({shown(abs(item.dearest[1]), unit)})"
    if not one_price(item) and item.range is not None:
        unit = price_unit(objective, limit.unit)
        down, up = (shown(abs(v or 0.0), unit) for v in item.range)
        said += f"; a step down is worth {down}, a step up {up}"
    return said

r"""What holds a plan back: active limits, and what moving them is worth.

The price of a limit is the derivative of the objective with respect to it, summed over all its
elements, since a larger device is larger at all times. The solver's duals give it; where more than
one set of duals fits (a degenerate plan), a note says so.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from engiagent.explain.explanation import Explanation, Tight
from engiagent.explain.labels import gain_words, price_unit, shown
from engiagent.explain.limits import Limit, Limits
from engiagent.explain.places import Place
from engiagent.formulations.program import Bools, Program
from engiagent.formulations.values import Floats
from engiagent.solvers.iis import Member
from engiagent.solvers.result import SolverResult

CLOSE: Final = 1e-6
"""How near a limit counts as at it, relative to the limit and to 1."""
TINY: Final = 1e-9
MOST: Final = 12


def explain_plan(limits: Limits, result: SolverResult, *, name: str) -> Explanation:
    """Return the active limits of a plan, by worth, with their prices.

    A limit whose price is known to be zero is left out, and so is a bound that given series
    set, as the sun that there is.

    ``limits``: of the program that was solved. ``result``: the plan, with duals where the solver
    gave any; an element may be NaN where it is not known.
    """
    assert result.x is not None
    plan = _Plan(limits, result)
    found = [tight for limit in limits.all() if (tight := plan.tight(limit)) is not None]
    notes = list(plan.notes())
    if plan.priced:
        total = len(found)
        found = [item for item in found if abs(item.worth) > TINY or abs(item.price) > TINY]
        if total > len(found):
            notes.append(f"active limits whose shadow price is zero: {total - len(found)}")
    found.sort(key=_rank)
    if len(found) > MOST:
        notes.append(f"{len(found) - MOST} more active limits are worth less")
    worth = [item for item in found[:MOST] if item.kind == "limit" and abs(item.worth) > 0]
    return Explanation(
        problem=name,
        kind="plan",
        summary=f"worth most: {worth[0].text}"
        if worth
        else "moving no limit improves the objective",
        tight=tuple(found[:MOST]),
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

    def tight(self, limit: Limit) -> Tight | None:
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
        prices = np.zeros(len(bound)) if duals is None else duals
        dearest = int(np.argmax(np.abs(prices)))
        price, step = float(prices[dearest] if balance else prices.sum()), step_of(limit)
        where = self.limits.where(limit, limit.places[dearest : dearest + 1])
        several = bound.sum() > 1 and len(prices) > 1 and bool(prices[dearest])
        item = Tight(
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
            worth=_worth(limit, price, step, self.program.sense),
            dearest=(where, float(prices[dearest])) if several else None,
            text="",
            places=self._places(limit),
        )
        return replace(item, text=_text(limit, item, self))

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


def _worth(limit: Limit, price: float, step: float, sense: str) -> float:
    """Return what loosening a limit by a step gains; for an equation, moving it the better way."""
    gain = (-1.0 if sense == "minimize" else 1.0) * price * step
    if limit.family.side == "both":
        return abs(gain)
    return (gain if limit.side == "upper" else -gain) + 0.0


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
    return said

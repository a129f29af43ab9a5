"""The assets of a fleet under a shared limit: what is asked of them on workers, and who answers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from engiagent.fleet.assets import Ask, Block, Group, Json, Planner
from engiagent.fleet.coupled import Decomposition, Places
from engiagent.formulations.values import Floats
from engiagent.scale import Runs, Spread

COLUMNS: Final = 200
"""Of assets whose plans are added up: the master's size does not grow with the fleet."""
LARGEST: Final = 25_000
"""Variables of a group that shares: more take longer than they bring, by measurement."""


class LeftOutError(Exception):
    """Assets did not answer."""

    def __init__(self, reasons: dict[str, str]) -> None:
        super().__init__()
        self.reasons = reasons


@dataclass
class Asked:
    """The assets of a fleet under a shared limit, and what they answer on workers."""

    runs: Runs
    asked: list[Ask]
    spread: Spread
    price: float  # of excess over the limit
    planner: Planner

    def __post_init__(self) -> None:
        self.count = len(self.asked)
        self.columns: list[Places] = [
            np.arange(self.count)[k::COLUMNS] for k in range(min(COLUMNS, self.count))
        ]

    def groups(self, number: int) -> list[Places]:
        """Return which assets share in a round, as places: others each time."""
        size = max(2, LARGEST // self.planner.live.program.column_count)
        order = np.random.default_rng(number).permutation(self.count)
        return [np.sort(part) for part in np.array_split(order, -(-self.count // size))]

    def priced(self, prices: Floats) -> Floats:
        """Return cost, bound with prices and what is taken by the best plans of each column."""
        return np.array([rows.sum(axis=0) for rows in self._answers(self.columns, prices, False)])

    def shared(
        self, members: Sequence[Places], most: Sequence[Floats]
    ) -> tuple[Floats, Floats] | None:
        """Return cost and what is taken within groups by each asset, and mean prices."""
        tasks = [
            Group(tuple(self.asked[k].values for k in own), part.tolist(), self.price)
            for own, part in zip(members, most, strict=True)
        ]
        found, prices = np.zeros((self.count, 1 + len(most[0]))), np.zeros(len(most[0]))
        answered = True
        for own, outcome in zip(members, self.runs.map(tasks), strict=True):
            if outcome.ok:
                found[own] = outcome.value["rows"]
                prices += np.array(outcome.value["prices"]) * len(own) / self.count
            answered &= outcome.ok
        return (found, prices) if answered else None

    def least(self, prices: Floats) -> Floats:
        """Return what each asset takes at least, weighted by prices, whatever that costs."""
        [rows] = self._answers([np.arange(self.count)], prices, True, is_free=True)
        return np.asarray(rows[:, 1])

    def within(self, state: Decomposition, periods: int) -> list[Ask]:
        """Return each asset with what the plans of a decomposition give it of the limit."""
        if math.isinf(state.cost):
            return []
        most, shares = np.zeros((self.count, periods)), state.shares
        if state.plans is not None:
            most = state.plans[:, 1:]
            if shares is not None:
                for own, share in zip(self.columns, shares[0], strict=True):
                    most[own] *= share
                shares = shares[1:]
        for share, prices in zip(() if shares is None else shares, state.prices, strict=False):
            some = np.flatnonzero(share)
            found = self._answers([self.columns[k] for k in some], np.array(prices), True)
            for k, rows in zip(some, found, strict=True):
                most[self.columns[k]] += share[k] * rows[:, 2:]
        pairs = zip(self.asked, most.tolist(), strict=True)
        return [ask._replace(most=part, prices=state.best) for ask, part in pairs]

    def _answers(
        self, columns: Sequence[Places], prices: Floats, each: bool, is_free: bool = False
    ) -> list[Floats]:
        """Return the rows of columns, one each or one of every asset."""
        groups = [[self.asked[k] for k in own] for own in columns]
        found: list[Json | None] = [None] * len(groups)
        if self.spread.seconds is None and self.spread.memory_mb is None:
            blocks = [_block(group, prices, each, is_free) for group in groups]
            found = [outcome.value if outcome.ok else None for outcome in self.runs.map(blocks)]
        lost: dict[str, str] = {}
        rows = []
        for group, value in zip(groups, found, strict=True):
            # A limit is of one asset, and what ends a worker is one of a group: which is asked.
            known = value or self._one_by_one(group, prices, is_free)
            lost |= known["lost"]
            rows.append(np.array(known["rows"]))
        if lost:
            raise LeftOutError(lost)
        return rows

    def _one_by_one(self, group: list[Ask], prices: Floats, is_free: bool) -> Json:
        found: Json = {"rows": [], "lost": {}}
        outcomes = self.runs.map(_block([ask], prices, True, is_free) for ask in group)
        for ask, outcome in zip(group, outcomes, strict=True):
            own = outcome.value if outcome.ok else {"lost": {ask.name: outcome.reason}, "rows": []}
            found = {"rows": found["rows"] + own["rows"], "lost": found["lost"] | own["lost"]}
        return found


def _block(asked: Sequence[Ask], prices: Floats, each: bool, is_free: bool) -> Block:
    names, values = [ask.name for ask in asked], [ask.values for ask in asked]
    return Block(tuple(names), tuple(values), prices.tolist(), each, is_free)

r"""Price decomposition of a fleet under one shared limit (Dantzig and Wolfe 1960).

.. math::

    \min \sum_i c_i x_i \quad\text{subject to}\quad x_i \in X_i, \; \sum_i y_i(x_i) \le b

Each round asks every asset for its best plan at prices :math:`\pi \ge 0` of what it takes. The
plans are columns of a master programme that mixes them, a mix for each group of assets, and whose
duals are the next prices, smoothed towards the best so far (Wentges 1997). A mix of plans is a
plan, since the programmes are linear; the Lagrangian bound of the round is proven whatever the
master does. Excess over the limit has a price in the master, so that there is always a mix.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.highs import Run, load
from engiagent.solvers.result import SolveOptions

GROUPS: Final = 200
"""Groups of assets whose columns are added up: the master's size does not grow with the fleet."""
SMOOTHING: Final = 0.9
"""Share of the best prices so far in the prices of a round, to begin with."""
STEP: Final = 0.1
"""By how much that share changes from round to round."""
NEGLIGIBLE: Final = 1e-9
EXCESS: Final = 1e-7
"""Share of the limit that counts as none."""

Ask = Callable[[list[float]], Floats]
"""Gives cost, bound with prices and what is taken (n, 2 + periods) of the assets' best plans at
prices, as of a minimisation."""


class Master:
    """The mix of columns of all groups, with an excess that costs ``penalty`` a unit."""

    def __init__(self, limit: Floats, groups: int, penalty: float) -> None:
        self.size, self.groups, self.penalty = limit.size, groups, penalty
        rows, periods, one = limit.size + groups, np.arange(limit.size), np.ones(groups)
        program = Program(
            sense="minimize",
            cost=np.full(self.size, penalty),
            column_lower=np.zeros(self.size),
            column_upper=np.full(self.size, math.inf),
            integrality=np.zeros(self.size, dtype=bool),
            row_starts=np.minimum(np.arange(rows + 1), self.size),
            row_columns=periods,
            row_values=-np.ones(self.size),
            row_lower=np.append(np.full(self.size, -math.inf), one),
            row_upper=np.append(limit, one),
        )
        self.run = Run(load(program, SolveOptions(), 1.0, {}), "", 1.0, False)

    def add(self, costs: Floats, taken: Floats) -> None:
        """Add a column for each group."""
        for group, (cost, flow) in enumerate(zip(costs.tolist(), taken, strict=True)):
            rows = np.append(np.flatnonzero(flow), self.size + group).astype(np.int32)
            values = np.append(flow[flow != 0], 1.0)
            self.run.highs.addCol(cost, 0.0, math.inf, rows.size, rows, values)

    def solve(self, times: float = 1.0) -> tuple[float, Floats, Floats, Floats]:
        """Make excess dearer; return cost, prices, shares (rounds, groups) and excess."""
        self.penalty *= times
        for period in range(self.size if times != 1.0 else 0):
            self.run.highs.changeColCost(period, self.penalty)
        found = self.run.again({})
        x = found.point()
        if found.status != "kOptimal" or x is None:
            raise EngiagentError(f"HiGHS ends the master programme with {found.status}")
        prices, cost = found.duals()[0][: self.size], found.highs.getObjectiveValue()
        shares = x[self.size :].reshape(-1, self.groups)
        return float(cost), np.maximum(-prices, 0.0), shares, x[: self.size]


@dataclass
class Decomposition:
    """How far a decomposition came."""

    prices: list[list[float]] = field(default_factory=list)  # of each round
    bound: float = -math.inf  # the best so far, with the prices that prove it
    best: list[float] = field(default_factory=list)
    cost: float = math.inf  # of the best mix within the limit
    shares: Floats | None = None  # of the rounds' plans in it, (rounds, assets)
    excess: float = math.inf  # over the limit, of the last mix

    @property
    def gap(self) -> float:
        """Between cost and bound, relative to the cost."""
        known = math.isfinite(self.cost)
        return (self.cost - self.bound) / max(abs(self.cost), 1e-9) if known else math.inf


def decompose(
    ask: Ask,
    limit: Floats,
    count: int,
    price: float,
    *,
    gap: float,
    rounds: int,
    on_round: Callable[[Decomposition], None],
) -> Decomposition:
    """Return the mix of plans that keeps a limit (periods,), and a bound on what is best.

    ``count``: of assets. ``price``: of excess, to begin with; it rises while there is some.
    ``gap``, ``rounds``: when to stop.
    """
    groups = min(count, GROUPS)
    member = np.arange(count) % groups
    master, state = Master(limit, groups, price), Decomposition()
    small = EXCESS * max(float(np.abs(limit).max()), 1.0)
    ahead = prices = best = np.zeros(limit.size)
    smoothing = SMOOTHING
    for number in range(rounds):
        state.prices.append(ahead.tolist())
        found, columns = ask(state.prices[-1]), np.zeros((groups, 2 + limit.size))
        np.add.at(columns, member, found)
        costs, flows = columns[:, 0], columns[:, 2:]
        bound = float(columns[:, 1].sum()) - float(ahead @ limit)
        # Whether the bound rises on from here towards the prices of the master (Pessoa 2018).
        rises = float((flows.sum(axis=0) - limit) @ (prices - best)) > 0
        smoothing = max(smoothing - STEP, 0.0) if rises else smoothing + STEP * (1 - smoothing)
        if bound > state.bound:
            state.bound, state.best, best = bound, state.prices[-1], ahead
        master.add(costs, flows)
        cost, prices, shares, excess = master.solve()
        state.excess = float(excess.max())
        if state.excess <= small and cost < state.cost:
            shares = np.where(shares > NEGLIGIBLE, shares, 0.0)
            state.cost, state.shares = cost, (shares / shares.sum(axis=0))[:, member]
        on_round(state)
        if state.gap <= gap:
            break
        if number == 0:
            ahead = np.full(limit.size, price)  # plans that take as little as they can
            continue
        if state.excess > small and cost - state.bound <= gap * max(abs(cost), 1e-9):
            if master.penalty > 1e6 * price:
                break  # no mix keeps the limit, at whatever price
            prices = master.solve(times=10.0)[1]
        ahead = smoothing * best + (1 - smoothing) * prices
    return state

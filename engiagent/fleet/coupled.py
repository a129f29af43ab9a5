r"""Price decomposition of a fleet under one shared limit (Dantzig and Wolfe 1960).

.. math::

    \min \sum_i c_i x_i \quad\text{subject to}\quad x_i \in X_i, \; \sum_i y_i(x_i) \le b

Each round asks every asset for its best plan at prices :math:`\pi \ge 0` of the shared quantity.
The plans are columns of a master programme that mixes them, a mix for each group of assets, and
whose duals are the next prices, smoothed towards the best so far (Wentges 1997). A mix of plans
is a plan, since the programmes are linear; the Lagrangian bound of the round is proven whatever
the master does. Excess over the limit has a price in the master, so that there is always a mix.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import highspy
import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.values import Floats
from engiagent.solvers.highs import silent_class

GROUPS: Final = 200
"""Groups of assets whose columns are added up: the master's size does not grow with the fleet."""
SMOOTHING: Final = 0.9
"""Share of the best prices so far in the prices of a round, to begin with."""
STEP: Final = 0.1
"""By how much that share changes from round to round."""
NEGLIGIBLE: Final = 1e-9
EXCESS: Final = 1e-7
"""Share of the limit that counts as none."""

Column = tuple[float, float, bytes]
"""Cost, bound with prices and shared quantity of an asset's best plan, as of a minimisation."""
Ask = Callable[[Floats], Sequence[Column]]


@dataclass
class Master:
    """The mix of columns of all groups, with an excess that costs ``penalty`` a unit."""

    limit: Floats
    groups: int
    penalty: float
    owners: list[tuple[int, int]] = field(default_factory=list)  # group and round of each column

    def __post_init__(self) -> None:
        self._highs = silent_class()()
        self._highs.setOptionValue("output_flag", False)
        self._highs.setOptionValue("threads", 1)
        none = np.zeros(0)
        for value in self.limit:
            self._highs.addRow(-math.inf, value, 0, np.zeros(0, np.int32), none)
        for _ in range(self.groups):
            self._highs.addRow(1.0, 1.0, 0, np.zeros(0, np.int32), none)
        for period in range(self.limit.size):
            self._add(self.penalty, np.array([period]), np.array([-1.0]))

    def _add(self, cost: float, rows: Any, values: Any) -> None:
        upper = math.inf
        self._highs.addCol(cost, 0.0, upper, len(rows), rows.astype(np.int32), values)

    def add(self, group: int, number: int, cost: float, flow: Floats) -> None:
        """Add the column of a group and a round."""
        self.owners.append((group, number))
        rows = np.flatnonzero(flow)
        size = self.limit.size
        self._add(cost, np.append(rows, size + group), np.append(flow[rows], 1.0))

    def raise_penalty(self) -> None:
        """Make excess ten times as dear."""
        self.penalty *= 10
        for period in range(self.limit.size):
            self._highs.changeColCost(period, self.penalty)

    def solve(self) -> tuple[float, Floats, Floats, Floats]:
        """Return cost, prices, shares of the columns, and excess."""
        self._highs.run()
        status = self._highs.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise EngiagentError(
                f"the master programme is {self._highs.modelStatusToString(status)}"
            )
        found = self._highs.getSolution()
        x, dual = np.array(found.col_value), np.array(found.row_dual)
        size = self.limit.size
        value = self._highs.getInfo().objective_function_value
        return value, np.maximum(-dual[:size], 0.0), x[size:], x[:size]


@dataclass
class Decomposition:
    """How far a decomposition came."""

    prices: list[Floats] = field(default_factory=list)  # of each round
    bound: float = -math.inf  # the best so far, with the prices that prove it
    best: Floats | None = None
    cost: float = math.inf  # of the best mix within the limit
    mixes: list[list[tuple[float, int]]] = field(default_factory=list)  # shares and rounds
    excess: float = math.inf  # over the limit, of the last mix

    @property
    def gap(self) -> float:
        """Between cost and bound, relative to the cost."""
        if not math.isfinite(self.cost):
            return math.inf
        return (self.cost - self.bound) / max(abs(self.cost), 1e-9)


def decompose(
    ask: Ask,
    limit: Floats,
    count: int,
    price: float,
    *,
    gap: float,
    rounds: int,
    on_round: Callable[[Decomposition], None] | None = None,
) -> Decomposition:
    """Return mixes of plans that keep a limit, and a bound on what is best.

    Parameters
    ----------
    ask
        Gives the columns of all assets at prices, in their order.
    limit
        Of the shared quantity in each period.
    count
        How many assets there are; asset ``i`` is in group ``i % groups``.
    price
        Of excess, to begin with; it rises while there is some.
    gap, rounds
        When to stop.
    """
    groups = min(count, GROUPS)
    member = np.arange(count) % groups
    master = Master(limit, groups, price)
    state = Decomposition()
    small = EXCESS * max(float(np.abs(limit).max()), 1.0)
    ahead = prices = best = np.zeros(limit.size)
    smoothing = SMOOTHING
    while len(state.prices) < rounds:
        number = len(state.prices)
        state.prices.append(ahead)
        found = ask(ahead)
        costs = np.bincount(member, [column[0] for column in found], groups)
        flows = np.zeros((groups, limit.size))
        for group, column in zip(member.tolist(), found, strict=True):
            flows[group] += np.frombuffer(column[2])
        bound = float(np.sum([column[1] for column in found])) - float(ahead @ limit)
        # Whether the bound rises on from here towards the prices of the master (Pessoa 2018).
        rises = float((flows.sum(axis=0) - limit) @ (prices - best)) > 0
        smoothing = max(smoothing - STEP, 0.0) if rises else smoothing + STEP * (1 - smoothing)
        if bound > state.bound:
            state.bound, state.best = bound, ahead
        for group in range(groups):
            master.add(group, number, costs[group], flows[group])
        cost, prices, shares, excess = master.solve()
        state.excess = float(excess.max())
        if state.excess <= small and cost < state.cost:
            state.cost, state.mixes = cost, _mixes(master, shares)
        if on_round is not None:
            on_round(state)
        if state.gap <= gap:
            break
        if number == 0:
            ahead = np.full(limit.size, price)  # plans that take as little as they can
            continue
        stuck = cost - state.bound <= gap * max(abs(cost), 1e-9)
        if state.excess > small and stuck:
            if master.penalty > 1e6 * price:
                break  # no mix keeps the limit, at whatever price
            master.raise_penalty()
            prices = master.solve()[1]
        best = state.best if state.best is not None else prices
        ahead = smoothing * best + (1 - smoothing) * prices
    return state


def _mixes(master: Master, shares: Floats) -> list[list[tuple[float, int]]]:
    """Return the shares and rounds of each group, which add up to 1."""
    mixes: list[list[tuple[float, int]]] = [[] for _ in range(master.groups)]
    for (group, number), share in zip(master.owners, shares.tolist(), strict=True):
        if share > NEGLIGIBLE:
            mixes[group].append((share, number))
    totals = [sum(share for share, _ in mix) for mix in mixes]
    return [[(s / t, k) for s, k in mix] for mix, t in zip(mixes, totals, strict=True)]

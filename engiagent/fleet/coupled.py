r"""A fleet under one shared limit: plans that keep it, and prices that prove a bound on the best.

.. math::

    \min \sum_i c_i x_i \quad\text{subject to}\quad x_i \in X_i, \; \sum_i y_i(x_i) \le b

*Exchange.* Groups of assets share out what their members are given of the limit: a linear programme
each. Their multipliers, averaged, are prices :math:`\pi \ge 0` of what is taken, at which the best
plans of all assets prove a Lagrangian bound. Then other assets come together. Each round costs at
most what the one before it did.

*Dantzig and Wolfe 1960*, for what that leaves. Each round asks all assets for their best plans at
prices; these are columns of a master programme that mixes them, a mix for each column of the fleet,
and whose duals are the next prices, smoothed towards the best so far (Wentges 1997). A mix of plans
is a plan, since the programmes are linear. Excess over the limit has a price in the master, so that
there is always a mix.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.highs import Run, load
from engiagent.solvers.result import SolveOptions

SMOOTHING: Final = 0.9
"""Share of the best prices so far in the prices of a round, to begin with."""
STEP: Final = 0.1
"""By how much that share changes from round to round."""
NEGLIGIBLE: Final = 1e-9
EXCESS: Final = 1e-7
"""Share of the limit, or of what is taken at no price, that counts as none."""
DEAR: Final = 1e3
"""Times its first price that excess costs at most; far above that HiGHS does not come back."""
WORTH: Final = 0.9
"""Of the gap that is left after a round of exchange that is worth another one."""


Places = npt.NDArray[np.int64]


class Assets(Protocol):
    """Who answers; all costs are as of a minimisation."""

    count: int
    columns: list[Places]  # which assets each column of the master adds up, as places

    def priced(self, prices: Floats) -> Floats:
        """Return cost, bound with prices and what is taken by best plans (columns, 2 + periods)."""
        ...

    def shared(
        self, members: Sequence[Places], most: Sequence[Floats]
    ) -> tuple[Floats, Floats] | None:
        """Return cost and what is taken (assets, 1 + periods) within groups, and mean prices.

        None when a group does not answer.
        """
        ...

    def groups(self, number: int) -> list[Places]:
        """Return which assets share in a round, as places."""
        ...


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
        """Make excess dearer; return cost, prices, shares (columns, groups) and excess."""
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

    prices: list[list[float]] = field(default_factory=list)  # of each time that all were asked
    bound: float = -math.inf  # the best so far, with the prices that prove it
    best: list[float] = field(default_factory=list)
    cost: float = math.inf  # of the best plans within the limit
    excess: float = math.inf  # over the limit, of the last plans
    rounds: int = 0
    # weights of the periods in which no mix keeps the limit, however dear excess is; else none
    clash: list[float] = field(default_factory=list)
    # cost of and what is taken by the plans of the last exchange (assets, 1 + periods), if any
    plans: Floats | None = None
    # of these plans and of those at each of the prices in the best mix (1 + prices, columns); None
    # when that is the last exchange alone
    shares: Floats | None = None

    @property
    def gap(self) -> float:
        """Between cost and bound, relative to the cost."""
        known = math.isfinite(self.cost)
        return (self.cost - self.bound) / max(abs(self.cost), 1e-9) if known else math.inf


@dataclass
class Decomposer:
    """A decomposition under way."""

    assets: Assets
    limit: Floats  # (periods,)
    price: float  # of excess, to begin with; it rises while there is some
    gap: float  # gap, rounds: when to stop
    rounds: int
    on_round: Callable[[Decomposition], None]
    state: Decomposition = field(default_factory=Decomposition)
    found: list[Floats] = field(default_factory=list)  # what was answered at each of the prices
    size: float = 1.0  # of what is limited

    def run(self) -> Decomposition:
        """Return plans that keep the limit, and a bound on what is best."""
        taken = self._ask(np.zeros(self.limit.size))
        self.size = float(np.abs([self.limit, taken]).max()) or 1.0
        self._exchange()
        if self.state.gap > self.gap and self.state.rounds < self.rounds:
            self._mix()
        return self.state

    def _is_excess(self, excess: float) -> bool:
        return excess > EXCESS * self.size

    def _ask(self, prices: Floats) -> Floats:
        """Ask all assets at prices; return what is taken."""
        state, answer = self.state, self.assets.priced(prices)
        self.found.append(answer)
        state.prices.append(prices.tolist())
        bound = float(answer[:, 1].sum()) - float(prices @ self.limit)
        if bound > state.bound:
            state.bound, state.best = bound, state.prices[-1]
        return np.asarray(answer[:, 2:].sum(axis=0))

    def _is_more(self) -> bool:
        """Tell of a round that has ended; return whether there is another."""
        self.state.rounds += 1
        self.on_round(self.state)
        return self.state.gap > self.gap and self.state.rounds < self.rounds

    def _exchange(self) -> None:
        """Exchange while it helps."""
        state, assets, size = self.state, self.assets, self.limit.size
        taken, total, before = np.zeros((assets.count, size)), np.zeros(size), math.inf
        is_worth = True
        while is_worth:
            members = assets.groups(state.rounds)
            spare = (self.limit - taken.sum(axis=0)) / assets.count
            most = [taken[own].sum(axis=0) + len(own) * spare for own in members]
            answer = assets.shared(members, most)
            if answer is None:
                return
            plans, prices = answer
            taken, total, cost = plans[:, 1:], total + prices, float(plans[:, 0].sum())
            excess = taken.sum(axis=0) - self.limit
            state.excess = float(excess.max())
            if self._is_excess(state.excess):
                state.plans = plans if math.isinf(state.cost) else state.plans
            else:
                state.plans, state.cost = plans, cost
            self._ask(total / (state.rounds + 1))
            left = cost + self.price * float(np.maximum(excess, 0.0).sum()) - state.bound
            is_worth, before = len(members) > 1 and left < WORTH * before, left
            is_worth = self._is_more() and is_worth

    def _mix(self) -> None:
        """Mix the plans of the last exchange and those at prices."""
        state, columns, size = self.state, self.assets.columns, self.limit.size
        master, smoothing = Master(self.limit, len(columns), self.price), SMOOTHING
        if state.cost == math.inf:
            self._ask(np.full(size, self.price))  # plans that take as little as they can
        if state.plans is not None:
            added = np.array([state.plans[own].sum(axis=0) for own in columns])
            master.add(added[:, 0], added[:, 1:])
        for answer in self.found:
            master.add(answer[:, 0], answer[:, 2:])
        prices = self._mixed(master)
        while prices is not None:
            best = np.array(state.best)
            taken = self._ask(smoothing * best + (1 - smoothing) * prices)
            # Whether the bound rises on from here towards the prices of the master (Pessoa 2018).
            rises = float((taken - self.limit) @ (prices - best)) > 0
            smoothing = max(smoothing - STEP, 0.0) if rises else smoothing + STEP * (1 - smoothing)
            master.add(self.found[-1][:, 0], self.found[-1][:, 2:])
            prices = self._mixed(master)
            if not self._is_more():
                break

    def _mixed(self, master: Master) -> Floats | None:
        """Take the best mix; return its prices, None when none keeps the limit at any price."""
        state = self.state
        cost, prices, shares, excess = master.solve()
        state.excess = float(excess.max())
        if not self._is_excess(state.excess):
            if cost < state.cost:
                shares = np.where(shares > NEGLIGIBLE, shares, 0.0)
                state.cost, state.shares = cost, shares / shares.sum(axis=0)
        elif cost - state.bound <= self.gap * max(abs(cost), 1e-9):
            if master.penalty > DEAR * self.price:
                state.clash = (prices / (prices.max() or 1.0)).tolist()
                return None
            prices = master.solve(times=10.0)[1]
        return prices

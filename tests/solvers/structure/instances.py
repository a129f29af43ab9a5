"""Random storage problems, written in many ways: every draw is a program that some user may send.

What varies: one or two meters' prices, load and solar power, losses,
inflows, costs and bounds that change with time, states at instants or at period
ends, rows that are scaled, turned, shuffled or relaxed, bounds written as rows, fixed columns.
"""

from dataclasses import dataclass, field

import numpy as np

from engiagent.formulations.program import Program

INF = np.inf


@dataclass
class Sheet:
    """A program in the making."""

    cost: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    rows: list[tuple[dict[int, float], float, float]] = field(default_factory=list)

    def column(self, cost: float, lower: float, upper: float) -> int:
        self.cost.append(float(cost))
        self.lower.append(float(lower))
        self.upper.append(float(upper))
        return len(self.cost) - 1

    def columns(self, cost, lower, upper, size: int) -> list[int]:  # type: ignore[no-untyped-def]
        parts = [np.broadcast_to(np.asarray(part, float), (size,)) for part in (cost, lower, upper)]
        return [self.column(*row) for row in zip(*parts, strict=True)]

    def row(self, terms: dict[int, float], lower: float, upper: float) -> None:
        self.rows.append((terms, float(lower), float(upper)))

    def program(self, sense: str = "minimize", offset: float = 0.0) -> Program:
        starts = np.cumsum([0] + [len(terms) for terms, _, _ in self.rows])
        n = len(self.cost)
        return Program(
            sense=sense,  # type: ignore[arg-type]
            cost=np.array(self.cost),
            offset=offset,
            column_lower=np.array(self.lower),
            column_upper=np.array(self.upper),
            integrality=np.zeros(n, dtype=bool),
            row_starts=starts,
            row_columns=np.array([j for terms, _, _ in self.rows for j in terms], dtype=np.int64),
            row_values=np.array([v for terms, _, _ in self.rows for v in terms.values()], float),
            row_lower=np.array([low for _, low, _ in self.rows]),
            row_upper=np.array([high for _, _, high in self.rows]),
        )


def storage(seed: int) -> Program:
    """Return a random storage problem."""
    random = np.random.default_rng(seed)
    sheet = Sheet()
    n = int(random.integers(3, 30))
    meter = random.random() < 0.7
    flows = _flows(random, sheet, n)
    states = _states(random, sheet, n, flows)
    if meter:
        _meter(random, sheet, n, flows)
    else:
        price = _prices(random, n)
        for t in range(n):
            sheet.cost[flows[0][t]] += price[t]
            sheet.cost[flows[1][t]] -= price[t]
    _rewrite(random, sheet, [*flows[0], *flows[1], *states])
    sense = "minimize"
    if random.random() < 0.4:
        sheet.cost = [-value for value in sheet.cost]
        sense = "maximize"
    return sheet.program(sense, float(random.normal()))


def _prices(random: np.random.Generator, n: int) -> np.ndarray:
    low = random.choice([-40.0, 0.0, 5.0])
    price = random.uniform(low, 100.0, n)
    return price.round(int(random.integers(0, 4))) if random.random() < 0.5 else price


def _flows(random: np.random.Generator, sheet: Sheet, n: int) -> tuple[list[int], list[int]]:
    power = random.uniform(0.3, 3.0, 2)
    if random.random() < 0.2:
        power[int(random.integers(2))] = INF
    limits = [np.full(n, p) for p in power]
    if random.random() < 0.3:
        limits[0] = np.where(random.random(n) < 0.8, limits[0], 0.0)  # outages
    wear = random.choice([0.0, 0.0, 6.0]), random.choice([0.0, 3.0])
    return (sheet.columns(wear[0], 0.0, limits[0], n), sheet.columns(wear[1], 0.0, limits[1], n))


def _states(
    random: np.random.Generator, sheet: Sheet, n: int, flows: tuple[list[int], list[int]]
) -> list[int]:
    capacity = random.uniform(1.0, 8.0)
    start = capacity * random.choice([0.0, 0.3, 0.5, 1.0])
    keep = float(random.choice([1.0, 1.0, 0.99, 0.9]))
    into, out = random.uniform(0.8, 1.0), 1.0 / random.uniform(0.8, 1.0)
    step = float(random.choice([1.0, 0.25]))
    inflow = random.uniform(0.0, 0.1, n) if random.random() < 0.2 else np.zeros(n)
    floor = random.choice([0.0, 0.0, 0.1]) * min(start, capacity)
    holding = random.choice([0.0, 0.0, 0.5])
    upper = np.full(n, capacity)
    if random.random() < 0.2:
        upper = np.maximum(upper * random.uniform(0.8, 1.0, n), start)
    keep_low = floor if keep == 1.0 else 0.0
    at_instants = random.random() < 0.6
    states = sheet.columns(holding, keep_low, upper, n)
    before = [-1, *states[:-1]]
    if at_instants:
        before[0] = sheet.column(0.0, 0.0, capacity)
        if random.random() < 0.5:
            sheet.lower[before[0]] = sheet.upper[before[0]] = start
        elif random.random() < 0.7:
            sheet.row({before[0]: 2.0}, 2 * start, 2 * start)
    for t in range(n):
        terms = {states[t]: 1.0, flows[0][t]: -step * into, flows[1][t]: step * out}
        constant = inflow[t]
        if before[t] < 0:
            constant += keep * start
        else:
            terms[before[t]] = -keep
        sheet.row(terms, constant, constant)
    end = random.random()
    if end < 0.3:
        sheet.row({states[-1]: 1.0}, start * min(1.0, keep**n), INF)
    elif end < 0.5:
        sheet.lower[states[-1]] = min(start * keep**n, sheet.upper[states[-1]])
    elif end < 0.6:
        sheet.cost[states[-1]] -= 20.0
    return states


def _meter(
    random: np.random.Generator, sheet: Sheet, n: int, flows: tuple[list[int], list[int]]
) -> None:
    buy = _prices(random, n)
    sell = buy.copy() if random.random() < 0.3 else buy - random.uniform(0.0, 30.0, n)
    load = random.uniform(0.0, 3.0, n)
    sun = np.maximum(random.uniform(-2.0, 3.0, n), 0.0)
    limit = INF if random.random() < 0.5 else 10.0
    bought = sheet.columns(buy, 0.0, limit, n)
    sold = sheet.columns(-sell, 0.0, random.choice([INF, 5.0]), n)
    form = random.choice(["constant", "curtailed", "relaxed"])
    used = sheet.columns(0.0, 0.0, sun, n) if form == "curtailed" else []
    for t in range(n):
        terms = {bought[t]: 1.0, sold[t]: -1.0, flows[0][t]: -1.0, flows[1][t]: 1.0}
        need = load[t]
        if used:
            terms[used[t]] = 1.0
        else:
            need -= sun[t]
        sheet.row(terms, need, INF if form == "relaxed" else need)


def _rewrite(random: np.random.Generator, sheet: Sheet, columns: list[int]) -> None:
    """Write the same problem in another way."""
    if random.random() < 0.5:
        factors = random.choice([-1.0, 1.0, 0.5, 3.0], len(sheet.rows))
        scaled = []
        for factor, (terms, low, high) in zip(factors, sheet.rows, strict=True):
            ends = sorted((factor * low, factor * high))
            scaled.append(({j: factor * v for j, v in terms.items()}, *ends))
        sheet.rows = scaled
    if random.random() < 0.3:
        for j in columns:
            if np.isfinite(sheet.upper[j]) and sheet.lower[j] < sheet.upper[j]:
                sheet.row({j: -2.0}, -2.0 * sheet.upper[j], INF)
                sheet.upper[j] += 5.0
    if random.random() < 0.4:
        sheet.rows = [sheet.rows[i] for i in random.permutation(len(sheet.rows))]
    if random.random() < 0.3:
        _permute_columns(random, sheet)


def _permute_columns(random: np.random.Generator, sheet: Sheet) -> None:
    order = random.permutation(len(sheet.cost))
    new = {int(old): place for place, old in enumerate(order)}
    for name in ("cost", "lower", "upper"):
        values = getattr(sheet, name)
        setattr(sheet, name, [values[old] for old in order])
    sheet.rows = [({new[j]: v for j, v in t.items()}, low, high) for t, low, high in sheet.rows]

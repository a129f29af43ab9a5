"""Texts about plants made of phrases, and their optima by a programme of our own."""

import random
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

LOAD = (60.0, 55.0, 50.0, 70.0, 90.0, 80.0)
WIND = (20.0, 40.0, 45.0, 30.0, 10.0, 5.0)


@dataclass(frozen=True)
class Island:
    """A generator, a wind turbine and a battery without a grid."""

    power: float = 100.0
    least: float = 30.0
    cost: float = 0.35
    start: float = 12.0
    energy: float = 60.0
    charge: float = 25.0
    discharge: float = 25.0
    efficiency: float = 0.95
    initial: float = 30.0
    load: tuple[float, ...] = LOAD
    wind: tuple[float, ...] = WIND


def cheapest(island: Island) -> float:
    """Return the lowest cost by a mixed-integer programme written out by hand."""
    n = len(island.load)
    names = ("gen", "wind", "charge", "discharge", "on", "start", "way")
    at = {name: k * n for k, name in enumerate(names)}
    size = n * len(names)
    rows, low, high = [], [], []

    def row(entries: dict[int, float], a: float, b: float) -> None:
        line = np.zeros(size)
        for column, value in entries.items():
            line[column] += value
        rows.append(line)
        low.append(a)
        high.append(b)

    for t in range(n):
        g, w, c, d, o, s, y = (at[name] + t for name in names)
        row({g: 1, w: 1, d: 1, c: -1}, island.load[t], island.load[t])
        row({g: 1, o: -island.power}, -np.inf, 0)
        row({g: 1, o: -island.least}, 0, np.inf)
        row({o: 1, s: -1, **({o - 1: -1} if t else {})}, -np.inf, 0)
        row({c: 1, y: -island.charge}, -np.inf, 0)
        row({d: 1, y: island.discharge}, -np.inf, island.discharge)
        held: dict[int, float] = {}
        for k in range(t + 1):
            held[at["charge"] + k] = island.efficiency
            held[at["discharge"] + k] = -1 / island.efficiency
        last = t == n - 1
        row(held, 0 if last else -island.initial, island.energy - island.initial)
    cost = np.zeros(size)
    cost[at["gen"] : at["gen"] + n] = island.cost
    cost[at["start"] : at["start"] + n] = island.start
    upper = np.ones(size)
    upper[at["gen"] : at["gen"] + n] = island.power
    upper[at["wind"] : at["wind"] + n] = island.wind
    upper[at["charge"] : at["charge"] + n] = island.charge
    upper[at["discharge"] : at["discharge"] + n] = island.discharge
    whole = np.zeros(size)
    whole[at["on"] :] = 1
    result = milp(
        cost,
        constraints=LinearConstraint(np.array(rows), low, high),
        bounds=Bounds(np.zeros(size), upper),
        integrality=whole,
        options={"mip_rel_gap": 0},
    )
    assert result.success, result.message
    return float(result.fun)


@dataclass
class Wording:
    """Chooses among phrases that say the same."""

    seed: int
    picker: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.picker = random.Random(self.seed)

    def one(self, *phrases: str) -> str:
        """Return one of some phrases."""
        return self.picker.choice(phrases)

    def power(self, kilowatts: float) -> str:
        """Return a power in one of its units."""
        return self.one(
            f"{kilowatts:g} kW", f"{kilowatts / 1000:g} MW", f"{kilowatts * 1000:.0f} W"
        )

    def energy(self, kilowatt_hours: float) -> str:
        """Return an energy in one of its units."""
        return self.one(f"{kilowatt_hours:g} kWh", f"{kilowatt_hours / 1000:g} MWh")

    def price(self, euros: float) -> str:
        """Return a price of energy in one of its units."""
        return self.one(
            f"{euros:g} EUR/kWh", f"{euros * 1000:g} EUR/MWh", f"{euros * 100:g} ct/kWh",
            f"{euros:g} € per kWh",
        )  # fmt: skip

    def share(self, value: float) -> str:
        """Return a share as a percentage or a number."""
        return self.one(f"{value * 100:g} %", f"{value * 100:g} percent", f"{value:g}")

    def series(self, values: tuple[float, ...]) -> str:
        """Return a list of powers."""
        *first, last = (f"{v:g}" for v in values)
        return f"{', '.join(first)} and {last} kW"


def island_text(island: Island, seed: int) -> str:
    """Return a text about an island grid; the seed chooses words, units and order."""
    say = Wording(seed)
    unit = say.one("diesel generator", "generator", "genset", "gas generator")
    parts = [
        say.one(
            "", "The electricity demand must be met in every hour. ", "Demand is always served. "
        )
        + say.one(
            f"The electricity demand in the six hours is {say.series(island.load)}.",
            f"The electrical load is {say.series(island.load)}.",
            f"Hour by hour the electricity demand is {say.series(island.load)}.",
        ),
        say.one(
            f"The wind turbine can deliver {say.series(island.wind)}",
            f"The available wind power is {say.series(island.wind)}",
        )
        + say.one("; wind power may be curtailed.", ". Wind power can be curtailed at no cost."),
        _engine(say, unit, island),
        _battery(say, island),
    ]
    say.picker.shuffle(parts)
    opening = say.one(
        f"A village without a grid connection has a {unit}, a wind turbine and a battery.",
        f"An off-grid farm is supplied by a {unit}, a wind turbine and a battery.",
    )
    plan = say.one(
        "Plan the next 6 hours, hour by hour, starting at 00:00.",
        "We plan 6 hours in steps of one hour, starting at midnight.",
    )
    goal = say.one(
        "Find the dispatch with the lowest cost in EUR.",
        "Which dispatch has the lowest total cost, in EUR?",
        "Minimise the total cost in EUR.",
    )
    return "\n\n".join([opening, plan, *parts, goal]) + "\n"


def _engine(say: Wording, unit: str, island: Island) -> str:
    limits = say.one(
        f"The {unit} delivers at most {say.power(island.power)}, and when it runs it must deliver"
        f" at least {say.power(island.least)}.",
        f"The {unit} has a rated output of {say.power(island.power)} and a minimum load of"
        f" {say.power(island.least)}.",
        f"The maximum output of the {unit} is {say.power(island.power)}. While it is running, its"
        f" output must not fall below {say.power(island.least)}.",
    )
    cost = say.one(
        f"Its fuel costs are {say.price(island.cost)} and each start costs {island.start:g} EUR.",
        f"It generates at {say.price(island.cost)}; a start costs {island.start:g} EUR.",
        f"Its marginal cost is {say.price(island.cost)}. A start-up costs {island.start:g} EUR.",
    )
    before = say.one(
        "At the start it is off.",
        "Before the first hour it is off.",
        "It is initially switched off.",
    )
    return f"{limits} {cost} {before}"


def _battery(say: Wording, island: Island) -> str:
    both = island.charge == island.discharge
    power = say.one(
        f"The battery holds {say.energy(island.energy)}; it charges at up to"
        f" {say.power(island.charge)} and discharges at up to {say.power(island.discharge)}",
        f"The battery has a capacity of {say.energy(island.energy)}. Its charging power is at most"
        f" {say.power(island.charge)} and its discharging power at most"
        f" {say.power(island.discharge)}",
        *(
            [
                f"A {say.energy(island.energy)} battery charges and discharges at up to"
                f" {say.power(island.charge)}"
            ]
            if both
            else []
        ),
    )
    share = say.share(island.efficiency)
    efficiency = say.one(
        f", with an efficiency of {share} each way.",
        f". The efficiency is {share} when charging and {share} when discharging.",
        f". The one-way efficiency is {share}.",
        f". Charging and discharging efficiency are {share} and {share}.",
    )
    held = say.energy(island.initial)
    ends = say.one(
        f"At the start it holds {held} and at the end it must hold at least {held}.",
        f"It contains {held} at the start; at the end it must contain no less than {held}.",
        f"Initially {held} are stored in the battery. At the end the battery must not hold less"
        f" than {held}.",
    )
    return f"{power}{efficiency} {ends}"

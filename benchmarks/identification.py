"""Identification of synthetic houses: known parameters, and plants richer than the model.

``houses``: 50 seeded houses of two capacities, simulated minute by minute with noise of process and
sensor; how often each parameter lies in its stated 95 % interval, and all five in their joint
region. ``rich``: houses of 13 capacities (three layers of walls, floor, internal mass, windows),
identified by ``auto`` from 30 days and simulated over ten others. ``--quick`` takes four houses and
one rich plant.

    python benchmarks/identification.py --json
"""

import argparse
import json
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.identify.identifying import Identified, identify
from engiagent.identify.judging import LEVEL, chi_squared
from engiagent.identify.kalman import Record
from engiagent.identify.measurements import Measurements
from engiagent.identify.structures import Driver
from engiagent.models.buildings import HeatNetwork, Link, Node

Floats = npt.NDArray[np.float64]
STEP = 15
SUN = Driver("solar", "aperture", "m2", 1.0)


def weather(rng: np.random.Generator, periods: int) -> tuple[Floats, Floats]:
    """Return temperature outside [degC] and irradiance [kW/m2] of a winter's quarter hours."""
    hours = np.arange(periods) * STEP / 60

    def drifting(scale: float, memory: float) -> Floats:
        drawn, value = rng.normal(size=int(hours[-1]) + 2), 0.0
        found = np.empty(len(drawn))
        for k, x in enumerate(drawn):
            value = value * np.exp(-1 / memory) + x * np.sqrt(1 - np.exp(-2 / memory))
            found[k] = scale * value
        return np.interp(hours, np.arange(len(drawn)), found)

    outside = 5 + 4 * np.sin((hours % 24 - 9) / 12 * np.pi) + drifting(3, 40)
    day = np.clip(np.sin((hours % 24 - 7) / 10 * np.pi), 0, None) * (abs(hours % 24 - 12) < 5)
    return outside, 0.35 * day * np.clip(0.6 + drifting(0.35, 8), 0.05, 1)


def lived_in(
    network: HeatNetwork,
    rng: np.random.Generator,
    days: int,
    *,
    power: float,
    suns: Mapping[str, float],
    noise: Mapping[str, float],
    sensor: float,
) -> Record:
    """Return what is measured in a house that a thermostat with changing set points heats.

    Parameters
    ----------
    suns
        Aperture of nodes. [m2]
    noise
        Of nodes. [K/h^0.5]
    """
    periods = days * 24 * 60 // STEP
    outside, sun = weather(rng, periods)
    minute = network.discretise(1 / 60)
    names = [node.name for node in network.nodes]
    spread = np.array([noise.get(name, 0.0) for name in names]) / np.sqrt(60)
    aperture = np.array([suns.get(name, 0.0) for name in names])
    state = np.full(len(names), 18.0)
    wanted = 19 + 3 * rng.integers(0, 2, size=periods // 12 + 1)
    measured, heat, on = np.empty(periods), np.empty(periods), False
    for k in range(periods):
        measured[k] = state[0] + sensor * rng.normal()
        on = bool(measured[k] < wanted[k // 12] + 0.5 * on)
        heat[k] = power * on
        into = aperture * sun[k]
        into[0] += heat[k]
        inputs = np.concatenate(([outside[k]], into))
        for _ in range(STEP):
            state = minute.transition @ state + minute.drive @ inputs
            state = state + spread * rng.normal(size=len(names))
    return Record(STEP / 60, measured, np.column_stack((outside, heat, sun)))


def simple(seed: int, days: int = 30) -> tuple[Record, dict[str, float]]:
    """Return the measurements of a house of two capacities with its parameters."""
    rng = np.random.default_rng(seed)
    total, hours = rng.uniform(3, 10), rng.uniform(20, 80)
    inner, outer = total * 0.25 * rng.uniform(0.5, 1.2), total * 0.75
    wall = hours / outer
    room, aperture = wall * rng.uniform(0.08, 0.2), rng.uniform(1, 4)
    network = HeatNetwork(
        nodes=(Node(name="room", capacity=room), Node(name="wall", capacity=wall)),
        links=(
            Link(one="room", other="wall", conductance=1 / inner),
            Link(one="wall", other="outside", conductance=1 / outer),
        ),
        boundaries=("outside",),
    )
    noise = {"room": 0.05, "wall": 0.02}
    about: Any = {"power": 42 / total, "suns": {"room": aperture}, "noise": noise, "sensor": 0.05}
    truth = {
        "room.capacitance": room,
        "wall.capacitance": wall,
        "room.neighbours.wall": inner,
        "wall.resistance": outer,
        "room.aperture": aperture,
    }
    return lived_in(network, rng, days, **about), truth


def rich(seed: int, days: int = 40) -> Record:
    """Return the measurements of a house of 13 capacities, without noise but that of its sensor."""
    rng = np.random.default_rng(seed)
    nodes = [
        Node(name="room", capacity=0.15 * rng.uniform(0.7, 1.4)),
        Node(name="mass", capacity=3.0),
    ]
    links = [
        Link(one="room", other="mass", conductance=0.6),
        Link(one="room", other="outside", conductance=0.06 * rng.uniform(0.6, 1.4)),
    ]
    for part, size in (("north", 0.05), ("south", 0.05), ("roof", 0.04)):
        size = size * rng.uniform(0.6, 1.4)
        chain = ["room", *(f"{part}{k}" for k in range(3)), "outside"]
        # Plaster, brick, insulation outside: from the room to the outside.
        nodes += [
            Node(name=n, capacity=c) for n, c in zip(chain[1:-1], (0.4, 2.5, 0.15), strict=True)
        ]
        links += [
            Link(one=a, other=b, conductance=size * g)
            for a, b, g in zip(chain, chain[1:], (12.0, 6.0, 1.4, 9.0), strict=False)
        ]
    nodes += [Node(name="screed", capacity=2.0), Node(name="slab", capacity=6.0)]
    links += [
        Link(one="room", other="screed", conductance=0.5),
        Link(one="screed", other="slab", conductance=0.15),
        Link(one="slab", other="outside", conductance=0.03),
    ]
    network = HeatNetwork(nodes=tuple(nodes), links=tuple(links), boundaries=("outside",))
    suns = {"room": 0.8, "mass": 1.2, "screed": 1.5}
    return lived_in(network, rng, days, power=7.0, suns=suns, noise={}, sensor=0.03)


def measured(record: Record) -> Measurements:
    """Return a record as if it had been read from a table."""
    begins = np.arange(len(record.measured)) * round(record.hours * 3600)
    return Measurements("house.csv", "", {}, begins, None, record, (SUN,), ())


def coverage(seeds: int) -> dict[str, Any]:
    """Return how often known parameters lie in their intervals."""
    inside: dict[str, list[bool]] = {}
    seconds, together = [], []
    for seed in range(seeds):
        record, truth = simple(seed)
        begun = time.perf_counter()
        found = identify(measured(record), "2R2C", share=0.0, starts=2)
        seconds.append(time.perf_counter() - begun)
        for name, value in truth.items():
            inside.setdefault(name, []).append(bool(found[name].low <= value <= found[name].high))
        together.append(chi_squared(found.fit.distance(truth), len(truth)) >= LEVEL)
    shares = {name: float(np.mean(hits)) for name, hits in inside.items()}
    every = np.all(list(inside.values()), axis=0)
    return {
        "houses": seeds,
        "inside": shares,
        "pairs": float(np.mean(list(shares.values()))),
        "all_five_at_once": float(np.mean(every)),
        "joint_region": float(np.mean(together)),
        "seconds_median": float(np.median(seconds)),
    }


def richer(seeds: int) -> list[dict[str, Any]]:
    """Return what becomes of plants that no structure describes."""
    rows = []
    for seed in range(seeds):
        begun = time.perf_counter()
        found: Identified = identify(measured(rich(seed)), "auto", starts=2)
        errors, seconds = found.held_back, time.perf_counter() - begun
        free = identify(measured(rich(seed)), "2R2C", error="simulation", starts=2).held_back
        assert errors is not None
        assert free is not None
        rows.append(
            {
                "seed": seed,
                "model": found.name,
                "identified": not found.unknown,
                "white": found.whiteness.is_white,
                "ahead": {f"{hours:g} h": value for hours, value in errors.ahead.items()},
                "persistence": {f"{hours:g} h": v for hours, v in errors.persistence.items()},
                "simulation": errors.simulation,
                "simulation_2R2C_by_simulation": free.simulation,
                "seconds": seconds,
            }
        )
    return rows


def main() -> None:
    """Run both parts and print or write what they gave."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="few houses")
    given = parser.parse_args()
    result: dict[str, Any] = {
        "houses": coverage(4 if given.quick else 50),
        "rich": richer(1 if given.quick else 5),
    }
    if given.json:
        print(json.dumps(result, indent=2))
        return
    for name, share in result["houses"]["inside"].items():
        print(f"{name:<22} in its interval in {share:.0%} of {result['houses']['houses']} houses")
    print(f"{'all five':<22} in their joint region in {result['houses']['joint_region']:.0%}")
    for row in result["rich"]:
        ahead, stays = row["ahead"]["24 h"], row["persistence"]["24 h"]
        print(
            f"rich {row['seed']}: {row['model']}, {ahead:.3f} K a day ahead (persistence "
            f"{stays:.2f} K), {row['simulation']:.3f} K simulated over ten days, "
            f"{row['simulation_2R2C_by_simulation']:.3f} K by 2R2C fitted to simulate"
        )


if __name__ == "__main__":
    main()

"""The building of the MPC benchmark: physics, weather, prices, and its plan as a blueprint."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

ZONES: Final = 5
PERIODS: Final = 96
HOURS: Final = 0.25
POWER_MAX: Final = 4.0
DISCOMFORT: Final = 2.0
CURVATURE: Final = 0.002


class Case:
    """The building, its weather, its prices; the same for every tool."""

    def __init__(self, steps: int, quadratic: bool) -> None:
        random = np.random.default_rng(1)
        self.quadratic = quadratic
        length = steps + PERIODS + 1
        hours = np.arange(length) * HOURS
        day = 2 * np.pi * hours / 24
        self.outside = 2 + 6 * np.sin(day - 2.4) + random.normal(0, 0.5, length)
        self.price = 0.25 + 0.1 * np.sin(day - 3.7) + 0.05 * random.random(length)
        self.floor = np.where((hours % 24 >= 7) & (hours % 24 < 19), 21.0, 17.0)
        self.a, self.b, self.d = _discretised(random)
        self.start = np.concatenate([np.full(ZONES, 20.0), np.full(ZONES, 19.0)])

    def next_state(self, state: Floats, power: Floats, step: int) -> Floats:
        """Return the state after one period."""
        result: Floats = self.a @ state + self.b @ power + self.d * self.outside[step]
        return result

    def cost(self, power: Floats, state: Floats, step: int) -> float:
        """Return what a period cost, given the state at its end."""
        short = np.maximum(self.floor[step + 1] - state[:ZONES], 0.0)
        energy = float(self.price[step] * HOURS * power.sum())
        if self.quadratic:
            return energy + float(CURVATURE * power @ power + DISCOMFORT * short @ short)
        return energy + float(DISCOMFORT * short.sum())


def _discretised(random: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Return A, B and d of the building by the matrix exponential."""
    from scipy.linalg import expm

    air, mass = random.uniform(0.5, 1.5, ZONES), random.uniform(8, 15, ZONES)
    inner, outer, wall = random.uniform(0.4, 0.8, ZONES), random.uniform(3, 6, ZONES), 4.0
    count = 2 * ZONES
    system = np.zeros((count + ZONES + 1, count + ZONES + 1))
    for z in range(ZONES):
        m = ZONES + z
        system[z, z] -= 1 / inner[z] / air[z] + 1 / outer[z] / air[z]
        system[z, m] += 1 / inner[z] / air[z]
        system[m, m] -= 1 / inner[z] / mass[z]
        system[m, z] += 1 / inner[z] / mass[z]
        system[z, count + z] = 1 / air[z]
        system[z, -1] = 1 / outer[z] / air[z]
        for other in ((z + 1) % ZONES, (z - 1) % ZONES):
            system[z, z] -= 1 / wall / air[z]
            system[z, other] += 1 / wall / air[z]
    exponential = expm(system * HOURS)
    return (
        exponential[:count, :count],
        exponential[:count, count : count + ZONES],
        exponential[:count, -1],
    )


def blueprint(case: Case) -> dict[str, Any]:
    """Return the plan over one horizon as a blueprint."""
    names = [f"z{k}" for k in range(ZONES)]

    def table(values: Floats) -> Any:
        if values.ndim == 1:
            return dict(zip(names, values.tolist(), strict=True))
        return {name: table(row) for name, row in zip(names, values, strict=True)}

    def known(name: str, index: list[str], value: Any, unit: str = "1") -> dict[str, Any]:
        return {"name": name, "index": index, "value": value, "unit": unit}

    z, n = ZONES, PERIODS
    a, b, d = case.a, case.b, case.d
    blocks = {"aa": a[:z, :z], "am": a[:z, z:], "ma": a[z:, :z], "mm": a[z:, z:]}
    comfort = "2*short[z, t]**2*1[EUR/K**2]" if case.quadratic else "2*short[z, t]*1[EUR/K]"
    effort = " + 0.002*heat[z, t]**2*1[EUR/kW**2]" if case.quadratic else ""
    dynamics = (
        "sum({0}a[z, y]*(air[y, t] - 0[degC]) + {0}m[z, y]*(mass[y, t] - 0[degC])"
        " + {0}h[z, y]*heat[y, t] for y in Z) + {0}o[z]*(outside[t] - 0[degC])"
    )
    return {
        "schema": "engiagent-blueprint/1",
        "kind": "programme",
        "modeling_context": {"problem_essence": "heating five zones at least cost"},
        "core_model_elements": {
            "sets": [
                {
                    "name": "T",
                    "kind": "time",
                    "start": "2025-01-01T00:00",
                    "step": "15 min",
                    "periods": n,
                    "zone": "UTC",
                },
                {"name": "I", "kind": "instants", "of": "T"},
                {"name": "Z", "kind": "labels", "elements": names},
            ],
            "parameters": [
                *(known(name, ["Z", "Z"], table(part)) for name, part in blocks.items()),
                known("ah", ["Z", "Z"], table(b[:z]), "K/kW"),
                known("mh", ["Z", "Z"], table(b[z:]), "K/kW"),
                known("ao", ["Z"], table(d[:z])),
                known("mo", ["Z"], table(d[z:])),
                known("air_now", ["Z"], 20, "degC"),
                known("mass_now", ["Z"], 19, "degC"),
                known("price", ["T"], case.price[:n].tolist(), "EUR/kWh"),
                known("outside", ["T"], case.outside[:n].tolist(), "degC"),
                known("floor", ["T"], case.floor[1 : n + 1].tolist(), "degC"),
            ],
            "decision_variables": [
                {"name": "air", "index": ["z in Z", "i in I"], "unit": "degC", "role": "state"},
                {"name": "mass", "index": ["z in Z", "i in I"], "unit": "degC", "role": "state"},
                {
                    "name": "heat",
                    "index": ["z in Z", "t in T"],
                    "unit": "kW",
                    "lower": 0,
                    "upper": POWER_MAX,
                    "role": "decision",
                },
                {
                    "name": "short",
                    "index": ["z in Z", "t in T"],
                    "unit": "K",
                    "lower": 0,
                    "role": "auxiliary",
                },
            ],
            "constraints": [
                {
                    "constraint_id": "A0",
                    "forall": ["z in Z"],
                    "expression": "air[z, first(I)] == air_now[z]",
                },
                {
                    "constraint_id": "M0",
                    "forall": ["z in Z"],
                    "expression": "mass[z, first(I)] == mass_now[z]",
                },
                {
                    "constraint_id": "A",
                    "forall": ["z in Z", "t in T"],
                    "expression": f"air[z, t+1] - 0[degC] == {dynamics.format('a')}",
                },
                {
                    "constraint_id": "M",
                    "forall": ["z in Z", "t in T"],
                    "expression": f"mass[z, t+1] - 0[degC] == {dynamics.format('m')}",
                },
                {
                    "constraint_id": "C",
                    "forall": ["z in Z", "t in T"],
                    "expression": "air[z, t+1] + short[z, t] >= floor[t]",
                },
            ],
            "objective_function": {
                "name": "cost",
                "sense": "minimize",
                "unit": "EUR",
                "expression": f"sum(price[t]*heat[z, t]*dt(t) + {comfort}{effort}"
                " for z in Z for t in T)",
            },
        },
    }

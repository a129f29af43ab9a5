"""Small plants for explanations; names and numbers are made up for these tests."""

from collections.abc import Sequence
from typing import Any

from engiagent.blueprint.document import Blueprint
from tests.blueprints import blueprint, constraint, goal, parameter, variable

HOURS: dict[str, Any] = {
    "name": "T",
    "kind": "time",
    "start": "2026-11-11T00:00",
    "step": "1 h",
    "periods": 12,
    "zone": "Europe/Berlin",
}
EDGES: dict[str, Any] = {"name": "I", "kind": "instants", "of": "T"}
LAW = "Physical Laws"


def room(power: float = 5.0, unit: str = "kW", **more: Any) -> Blueprint:
    """Return a room that is too cold in the morning for its stove."""
    core: dict[str, Any] = {
        "sets": [HOURS, EDGES],
        "parameters": [
            parameter("theta_0", 17, "degC"),
            parameter(
                "theta_min",
                20,
                "degC",
                source_reference={"kind": "text", "span": [4, 9], "quote": "20 °C by seven"},
            ),
            parameter("stove", power, unit),
            parameter("outside", -5, "degC"),
        ],
        "decision_variables": [
            variable("th", "i in I", unit="degC", lower=-40, upper=26, quantity="hut.temperature"),
            variable("q", "t in T", upper="stove", quantity="hut.heating"),
        ],
        "constraints": [
            constraint("th[first(I)] == theta_0", constraint_id="begin", category=LAW),
            constraint(
                "th[i] >= theta_min",
                "i in I",
                constraint_id="warm",
                name="warm by seven",
                where="hour(i) >= 7",
                source_reference={"kind": "text", "span": [4, 9], "quote": "20 °C by seven"},
            ),
            constraint(
                "4[kWh/K]*(th[t+1] - th[t]) == (q[t] - (th[t] - outside)/4[K/kW])*dt(t)",
                "t in T",
                constraint_id="heat",
                category=LAW,
            ),
        ],
    }
    return blueprint(**(core | more))


def cistern(most: float = 60.0) -> Blueprint:
    """Return a cistern whose pump cannot keep up with the evening's draw."""
    draw = [2, 2, 2, 2, 30, 30, 30, 30, 5, 2, 2, 2]
    return blueprint(
        sets=[HOURS, EDGES],
        parameters=[parameter("draw", draw, "m3/h", "T"), parameter("pump", 9, "m3/h")],
        decision_variables=[
            variable("vol", "i in I", unit="m3", upper=most, role="state"),
            variable("inlet", "t in T", unit="m3/h", upper="pump"),
        ],
        constraints=[
            constraint("vol[first(I)] == 20[m3]", constraint_id="vol_0", category=LAW),
            constraint(
                "vol[t+1] == vol[t] + (inlet[t] - draw[t])*dt(t)",
                "t in T",
                constraint_id="mass",
                category=LAW,
            ),
            constraint("vol[last(I)] >= 10[m3]", constraint_id="vol_end", name="reserve"),
        ],
    )


def units(load: Sequence[float]) -> Blueprint:
    """Return two engines, in MW, under a load in kW, with a least output while they run."""
    return blueprint(
        sets=[HOURS, {"name": "G", "kind": "labels", "elements": ["north", "south"]}],
        parameters=[
            parameter("top", {"north": 0.1, "south": 0.06}, "MW", "G"),
            parameter("least", {"north": 0.04, "south": 0.03}, "MW", "G"),
            parameter("need", list(load), "kW", "T"),
        ],
        decision_variables=[
            variable("p", "g in G", "t in T", upper=1000),
            variable("on", "g in G", "t in T", type="binary", unit="1", upper=1),
        ],
        constraints=[
            constraint(
                "p[g,t] <= top[g]*on[g,t]",
                "g in G",
                "t in T",
                constraint_id="cap",
                name="rated output",
                category="Resource Capacity",
            ),
            constraint(
                "p[g,t] >= least[g]*on[g,t]",
                "g in G",
                "t in T",
                constraint_id="min",
                name="least output",
                category="Operational Logic",
            ),
            constraint(
                "sum(p[g,t] for g in G) == need[t]",
                "t in T",
                constraint_id="bal",
                category="Supply-Demand Balance",
            ),
        ],
    )


TOO_MUCH = [70, 70, 80, 120, 150, 170, 165, 150, 90, 70, 70, 70]
TOO_LITTLE = [70, 70, 80, 120, 150, 150, 150, 150, 90, 20, 20, 70]


def store(whole: bool = False, price: list[float] | None = None) -> Blueprint:
    """Return a store that buys and sells; ``whole`` keeps the two directions apart."""
    prices = price or [0.2, 0.1, 0.12, 0.15, 0.3, 0.4, 0.35, 0.31, 0.21, 0.2, 0.11, 0.13]
    constraints = [
        constraint("e[first(I)] == 10[kWh]", constraint_id="e_0", category=LAW),
        constraint(
            "e[t+1] == e[t] + (0.95*c[t] - d[t]/0.9)*dt(t)",
            "t in T",
            constraint_id="dyn",
            category=LAW,
        ),
        constraint("e[last(I)] >= 11[kWh]", constraint_id="e_n", name="fuller at the end"),
    ]
    variables = [
        variable("c", "t in T", upper="P", quantity="cell.charge"),
        variable("d", "t in T", upper="P", quantity="cell.discharge"),
        variable("e", "i in I", upper="E", unit="kWh", quantity="cell.energy", role="state"),
    ]
    if whole:
        variables.append(variable("b", "t in T", type="binary", unit="1", upper=1))
        constraints += [
            constraint("c[t] <= 7[kW]*b[t]", "t in T", constraint_id="one"),
            constraint("d[t] <= 7[kW]*(1 - b[t])", "t in T", constraint_id="two"),
        ]
    return blueprint(
        sets=[HOURS, EDGES],
        parameters=[
            parameter("E", 33, "kWh"),
            parameter("P", 7, "kW"),
            parameter("price", prices, "EUR/kWh", "T"),
        ],
        decision_variables=variables,
        constraints=constraints,
        objective_function=goal("sum(price[t]*(c[t] - d[t])*dt(t) for t in T)"),
    )

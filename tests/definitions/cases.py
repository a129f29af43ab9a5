"""Small blueprints of kind ``definitions`` that several tests share."""

from typing import Any

from engiagent.blueprint.document import Blueprint
from tests.written import listing


def blueprint(**core: Any) -> Blueprint:
    """Return a blueprint of definitions with the given blocks."""
    empty: dict[str, Any] = {"sets": [], "parameters": [], "decision_variables": []}
    return Blueprint.from_dict(
        {
            "schema": "engiagent-blueprint/1",
            "kind": "definitions",
            "modeling_context": {"problem_essence": "a computed answer"},
            "core_model_elements": {**empty, "constraints": [], **core},
        }
    )


def hours(periods: int, step: str = "1 h") -> list[dict[str, Any]]:
    """Return periods T of a day without a date, and their instants I."""
    return [
        {"name": "T", "kind": "time", "start": "00:00", "step": step, "periods": periods},
        {"name": "I", "kind": "instants", "of": "T"},
    ]


def number(name: str, value: Any, unit: str = "1", **more: Any) -> dict[str, Any]:
    """Return a parameter."""
    return {"name": name, "value": value, "unit": unit, **more}


def draw(distribution: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return random numbers x, one for each scenario, unless told otherwise."""
    given = {"index": ["s in S"], "generator": "PCG64", "seed": 7} | more
    return {"name": "x", "distribution": distribution, "arguments": arguments} | given


def sampled(distribution: str, arguments: dict[str, Any], size: int, **more: Any) -> dict[str, Any]:
    """Return random numbers, and parameters for those that are drawn from a list."""
    return {
        "sets": listing(f"""
            - {{name: S, kind: range, start: 1, stop: {size}}}
            - {{name: K, kind: range, start: 1, stop: 3}}
        """),
        "parameters": [
            number("v", [1, 5, 9], "kW", index=["K"]),
            number("p", [0.2, 0.5, 0.3], index=["K"]),
        ],
        "draws": [draw(distribution, arguments, **more)],
    }


def shortfall(seed: int = 42, scenarios: int = 200) -> dict[str, Any]:
    """Return PV with a battery under random irradiance: expected energy not served."""
    return {
        "sets": [*hours(24), {"name": "S", "kind": "range", "start": 1, "stop": scenarios}],
        "parameters": [
            number("area", 10, "m2"),
            number("efficiency", 20, "%"),
            number("demand", 0.6, "kW"),
            number("E_max", 8, "kWh"),
            number("E_start", 2, "kWh"),
        ],
        "draws": [
            draw("triangular", {"lower": 0.1, "mode": 0.9, "upper": 1}, seed=seed)
            | {"name": "cloud", "index": ["s in S", "t in T"]}
        ],
        "definitions": listing("""
            - {name: sun, index: [t in T], unit: W/m2,
              expression: "900[W/m2]*max(0, sin(3.141592653589793*(pos(t) - 5)/13)) if 5 <= pos(t)
                <= 18 else 0"}
            - {name: surplus, index: [s in S, t in T], unit: kW,
              expression: "area*efficiency*sun[t]*cloud[s, t] - demand"}
            - {name: stored, index: [s in S, i in I], unit: kWh,
              expression: "E_start if i == first(I) else max(0, min(E_max, stored[s, i-1] +
                surplus[s, i-1]*1[h]))"}
            - {name: unserved, index: [s in S, t in T], unit: kWh,
              expression: "max(0, -(stored[s, t] + surplus[s, t]*dt(t)))"}
            - {name: shortfall, unit: kWh,
              expression: "sum(unserved[s, t] for s in S for t in T)/len(S)"}
            - {name: first_dark, index: [s in S],
              expression: "first_index(unserved[s, t] > 0 for t in T)"}
        """),
    }


def thermostat() -> dict[str, Any]:
    """Return a room with a boiler that goes on below 19 and off above 21 degrees."""
    return {
        "sets": hours(144, "10 min"),
        "parameters": [
            number("C", 2, "kWh/K"),
            number("UA", 0.15, "kW/K"),
            number("outside", -5, "degC"),
            number("start", 20, "degC"),
            number("P_boiler", 6, "kW"),
        ],
        "equations": listing("""
            - {name: room, index: [t in T], instants: I, unit: degC,
              rate: "(P_boiler*on[t] - UA*(room[t] - outside))/C", initial: start, scheme: exact}
        """),
        "definitions": listing("""
            - {name: "on", index: [t in T], unit: "1",
              expression: "where(room[t] < 19[degC], 1, where(room[t] > 21[degC], 0, prev(on[t],
                0)))"}
            - {name: heat, unit: kWh, expression: "sum(P_boiler*on[t]*dt(t) for t in T)"}
            - {name: starts, unit: "1",
              expression: "sum(max(0, on[t] - prev(on[t], 0)) for t in T)"}
        """),
    }


def cooling(scheme: str = "rk4", step: str | None = None) -> dict[str, Any]:
    """Return a tank that cools towards 20 degrees, with a time constant of five hours."""
    equations = listing("""
        - {name: tank, index: [t in T], instants: I, unit: degC, rate: "(ambient - tank[t])/tau",
          initial: "90[degC]"}
    """)
    equations[0] |= {"scheme": scheme} | ({} if step is None else {"step": step})
    parameters = [number("ambient", 20, "degC"), number("tau", 5, "h")]
    return {"sets": hours(10), "parameters": parameters, "equations": equations}

"""Tools that plan grids: hosting capacity, infeasibility, dispatch, optimal power flow.

Nothing is claimed of a plan before a power flow executes it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from engiagent.errors import EngiagentError, InputError
from engiagent.io.schemawords import NUMBER, by_name
from engiagent.tools.grid.feeders import Feeder, Flow
from engiagent.tools.grid.flows import (
    PACK,
    Profiles,
    Situation,
    apply,
    bands_of,
    numbers,
    profiles_of,
    situated,
)
from engiagent.tools.grid.programmes import Answer, Question, Unit, solve_linear, solve_question
from engiagent.tools.grid.transmission import Case, executed, optimal_flow
from engiagent.tools.modelling import SECONDS, plain
from engiagent.tools.places import write_rows
from engiagent.tools.registry import Json, Outcome, State, shape, tool
from engiagent.tools.site.arguments import entries, stated

GROUP: Final = "grid"
SAME: Final = 1e-6
"""How far voltages of a plan and of its power flow may be apart. [p.u.]"""
LINEAR_SAME: Final = 0.02
_WORDS: Final[dict[str, Json]] = {
    "unit": shape("unit: text; available_kw power_kw reactive_kvar curtailed_kw: number"),
    "executed": shape(
        "difference_pu: number; reproduced: flag; violations: list of object; "
        "lowest_pu highest_pu: number; loading: number or null"
    ),
    "slack": shape("bus: text; slack_a: number; nodes: by name number"),
    "generator": shape("name bus: text; active_mw reactive_mvar: number"),
    "apart": by_name(NUMBER),
    "bus": shape("bus: text; magnitude_pu angle_deg: number"),
    "branch": shape("name: text; flow_mva: number; rating_mva loading: number or null"),
}
_WORDS["stamp"] = shape(
    "stamp: text or null; status: text; objective: number; units: list of unit; "
    "hosted_kw curtailed_kw: number; executed: executed",
    _WORDS,
)


def _units(feeder: Feeder, given: Json, share: float) -> list[Unit]:
    """Return what units are there at one time: one a node, those of a bus on each of its phases."""
    listed = numbers(given.get("available"), "what is available")
    if lacking := [name for name, power in listed.items() if power < 0]:
        said = f"what is available at {lacking[0]} is below 0"
        raise InputError(said, found=f"{listed[lacking[0]]:g} kW", expected="0 kW or more")
    powers: dict[str, complex] = {feeder.known(name): power for name, power in listed.items()}
    powers = powers or {load.nodes[0]: given.get("power", 100.0) for load in feeder.loads}
    reactive = given.get("reactive", 0.0) * share
    shared = feeder.shared(powers).items()
    return [Unit(node, power.real * share, power.real * reactive) for node, power in shared]


def _fixed_units(feeder: Feeder, now: Situation) -> list[Unit]:
    """Return the units of a situation as ones that feed in all they have."""
    shared = feeder.shared(now.units or {}).items()
    return [Unit(node, power.real * now.share, fixed=True) for node, power in shared]


def _planned(
    feeder: Feeder, question: Question, now: Situation, given: Json
) -> tuple[Json, Answer, Flow]:
    """Solve a question and execute its answer: what is said of them, and both.

    Slack currents are sources of current when the answer is executed.
    """
    linear = given.get("method") == "linear"
    solve, same = (solve_linear, LINEAR_SAME) if linear else (solve_question, SAME)
    answer = solve(feeder, question, given.get("time_limit", 60.0))
    powers: dict[str, complex] = {}
    for unit in question.units:
        powers[unit.node] = powers.get(unit.node, 0) + answer.powers[unit.name]
    feeder.inject(powers)
    for k, (node, value) in enumerate(answer.slack.items()):
        if abs(value) > 1e-9:
            feeder.command(
                f"New Isource.eng_s{k} Bus1={node} Phases=1 Amps={abs(value):.15g} "
                f"Angle={np.angle(value, deg=True):.15g} "
                f"Frequency={feeder.dss.Solution.Frequency():g}"
            )
    flow = feeder.solve(now.factor)
    pairs = ((abs(flow.voltages[node]), abs(v)) for node, v in answer.voltages.items())
    apart = max((abs(size - planned) for size, planned in pairs), default=0.0)
    sizes = [abs(v) for v in flow.voltages.values()]
    seen = {
        **{"difference_pu": apart, "reproduced": apart <= same},
        "violations": flow.violations(question.bands, given.get("loading")),
        **{"lowest_pu": min(sizes), "highest_pu": max(sizes)},
        "loading": max(flow.loading.values(), default=None),
    }
    rows = [
        {"unit": unit.node, "available_kw": unit.available, "power_kw": power.real}
        | {"reactive_kvar": power.imag, "curtailed_kw": max(unit.available - power.real, 0.0)}
        for unit in question.units
        for power in [answer.powers[unit.name]]
        if not unit.fixed
    ]
    about = {"status": answer.status, "objective": answer.objective}
    return {**about, "units": rows, "executed": seen}, answer, flow


@tool(
    "write",
    *stated("feeder", "state", "bands", "own bands", "rating", "hosting", pack=PACK),
    SECONDS,
    returns=shape("case strategy method: text; results: list of stamp", _WORDS),
    repeatable=False,
)
def grid_hosting_capacity(state: State, given: Json) -> Outcome:
    """Find how much each unit may feed in at each time, curtailed least (dynamic hosting capacity).

    The plan of each stamp is executed by OpenDSS: reproduced says whether voltages agree,
    violations what it finds out of the bands, also at nodes beside regulators, which are not
    planned.
    """
    strategy, method = given.get("strategy", "L1"), given.get("method", "nonlinear")
    results = []
    own = {k: v for k, v in given.items() if k not in ("stamp", "profiles")}
    with situated(state, own, plain=True) as (feeder, start):
        bands, limits = bands_of(feeder, given), {"loading": given.get("loading", np.inf)}
        profiles, stamps = _stamps(feeder, state, given)
        for stamp in stamps:
            state.watch.tell(f"hosting capacity at {stamp}" if stamp else "hosting capacity")
            now = start if profiles is None or stamp is None else profiles.at(stamp, feeder, start)
            apply(feeder, replace(now, units=None))
            units = [*_units(feeder, given, now.share), *_fixed_units(feeder, now)]
            question = Question(bands, units, feeder.drawn(now.factor), strategy, **limits)
            try:
                found, *_ = _planned(feeder, question, now, given)
            except EngiagentError as error:
                # What is broken before is why, and not where a solver ended.
                broken = apply(feeder, now).violations(bands, given.get("loading"))
                if not broken or isinstance(error, InputError):
                    raise
                said = "{kind} at {place} before anything is hosted: {value:.4g} {unit}, limit "
                said = (said + "{limit:.4g} {unit}").format(**broken[0])
                more = f", and {len(broken) - 1} more" if broken[1:] else ""
                raise type(error)(f"{said}{more}; {error}") from None
            executed = found.pop("executed")
            for name in ("power_kw", "curtailed_kw"):
                total = sum(unit[name] for unit in found["units"])
                found[name.replace("power", "hosted")] = total
            results.append({"stamp": stamp, **found, "executed": executed})
    artefacts: tuple[str, ...] = ()
    if "file" in given:
        head = ("stamp", "node", "available_kw", "power_kw", "reactive_kvar")
        names = ("unit", *head[2:])
        rows = [(r["stamp"] or "", *(u[n] for n in names)) for r in results for u in r["units"]]
        artefacts = (write_rows(state.root, given["file"], head, rows),)
    content = {"case": given["case"], "strategy": strategy, "method": method, "results": results}
    return Outcome(plain(content), {}, artefacts)


def _stamps(
    feeder: Feeder, state: State, given: Json
) -> tuple[Profiles | None, Sequence[str | None]]:
    wanted = given.get("stamps") or ([given["stamp"]] if "stamp" in given else None)
    if wanted is None and "profiles" not in given:
        return None, (None,)
    profiles = profiles_of(feeder, state.root, given.get("profiles"))
    return profiles, wanted or profiles.stamps


@tool(
    "write",
    *stated("feeder", "state", "bands", "own bands", "infeasibility", pack=PACK),
    SECONDS,
    returns=shape(
        "case norm status: text; objective: number; feasible: flag; nodes_with_slack: count; "
        "total_a: number; buses: list of slack; executed: executed",
        _WORDS,
    ),
    repeatable=False,
)
def grid_infeasibility(state: State, given: Json) -> Outcome:
    """Find the least slack currents with which a feeder keeps its voltage bands, and their places.

    No slack means that the feeder can be operated as stated. The plan with its slack currents is
    executed by OpenDSS.
    """
    with situated(state, given, plain=True) as (feeder, now):
        try:
            apply(feeder, now)
        except EngiagentError:  # that it cannot carry its load is what is asked about
            apply(feeder, replace(now, factor=0.3, units=None))
        norm, units, loads = (
            given.get("norm", "L2"),
            _fixed_units(feeder, now),
            feeder.drawn(now.factor),
        )
        most = given.get("slack_max", 1e4)
        question = Question(bands_of(feeder, given), units, loads, norm, slack=most)
        found, answer, _ = _planned(feeder, question, now, given)
    least = given.get("tolerance", 1e-3)
    slack = {n: abs(v) for n, v in answer.slack.items() if abs(v) > least}
    content = {
        **{"case": given["case"], "norm": norm},
        **{"status": found["status"], "objective": found["objective"], "feasible": not slack},
        **{"nodes_with_slack": len(slack), "total_a": sum(slack.values())},
        "buses": _worst_buses(slack)[: given.get("buses", 5)],
        "executed": found["executed"],
    }
    artefacts: tuple[str, ...] = ()
    if "file" in given:
        artefacts = (
            write_rows(state.root, given["file"], ("node", "slack_a"), list(slack.items())),
        )
    return Outcome(plain(content), {}, artefacts)


def _worst_buses(slack: Mapping[str, float]) -> list[Json]:
    buses: dict[str, dict[str, float]] = {}
    for node, value in slack.items():
        buses.setdefault(node.partition(".")[0], {})[node] = value
    rows = [
        {"bus": b, "slack_a": math.hypot(*own.values()), "nodes": own} for b, own in buses.items()
    ]
    return sorted(rows, key=lambda row: -row["slack_a"])


@tool(
    "read",
    *stated("feeder", "bands", "own bands", "rating", "dispatch", pack=PACK),
    SECONDS,
    returns=shape(
        "case status: text; cost_eur_per_h cost_without_eur_per_h import_kw: number; "
        "units: list of unit; executed: executed",
        _WORDS,
    ),
)
def grid_der_dispatch(state: State, given: Json) -> Outcome:
    """Dispatch units on a feeder at the least cost within its voltage bands and ratings.

    Losses are part of the cost, since what the grid feeds in is what OpenDSS would meter.
    """
    own = {k: v for k, v in given.items() if k != "units"}
    with situated(state, own, plain=True) as (feeder, now):
        without = apply(feeder, now)
        listed = numbers(given.get("costs"), "the cost", "EUR/MWh")
        costs = {feeder.known(name): cost for name, cost in listed.items()}
        units = _units(feeder, {**given, "available": given["units"]}, 1.0)
        places = {place for u in units for place in (u.node, u.node.partition(".")[0])}
        if idle := sorted(costs.keys() - places):
            raise InputError(f"costs are stated of {idle[0]}, which has no unit", expected="units")
        for k, unit in enumerate(units):
            paid = costs.get(unit.node, costs.get(unit.node.partition(".")[0], 0.0))
            units[k] = replace(unit, cost=paid)
        price, loading = given.get("price", 100.0), given.get("loading", np.inf)
        bands, loads = bands_of(feeder, given), feeder.drawn(now.factor)
        question = Question(bands, units, loads, price=price, loading=loading)
        found, answer, flow = _planned(feeder, question, now, given)
    paid = sum(u.cost * answer.powers[u.name].real for u in units)
    content = {
        **{"case": given["case"], "status": found["status"]},
        "cost_eur_per_h": (paid + price * flow.source.real) / 1e3,
        "cost_without_eur_per_h": price * without.source.real / 1e3,
        **{"import_kw": flow.source.real, "units": found["units"], "executed": found["executed"]},
    }
    return Outcome(plain(content))


@tool(
    "read",
    *stated("opf", pack=PACK),
    SECONDS,
    returns=shape(
        "case formulation status: text; cost load_mw: number; generators: list of generator; "
        "buses: list of bus; branches: list of branch; executed: apart or null",
        _WORDS,
    ),
)
def grid_opf(state: State, given: Json) -> Outcome:
    """Find the optimal power flow of a MATPOWER case, with other loads, limits, costs and outages.

    An AC dispatch is executed by PYPOWER's power flow: how far its voltages and powers are from it.
    """
    case = Case.load(given["case"], state.root).changed(
        entries(given.get("loads")),
        numbers(given.get("limits"), "the limit", "MW"),
        entries(given.get("costs")),
        [name.lower() for name in given.get("outages", ())],
    )
    formulation = given.get("formulation", "ac")
    found = optimal_flow(case, formulation, given.get("time_limit", 60.0))
    live = case.in_service()
    generators = [
        {"name": n, "bus": f"{int(row[0])}", "active_mw": float(p), "reactive_mvar": float(q)}
        for n, row, p, q in zip(
            live.units.tolist(), live.gen, found.active, found.reactive, strict=True
        )
    ]
    buses = [
        {"bus": f"{int(n)}", "magnitude_pu": abs(v), "angle_deg": float(np.angle(v, deg=True))}
        for n, v in zip(live.bus[:, 0], found.voltages.tolist(), strict=True)
    ]
    branches: list[Any] = []
    for row, name, flow in zip(live.branch, live.lines.tolist(), found.flows.tolist(), strict=True):
        rating = float(row[5]) or None
        share = None if rating is None else flow / rating
        branches.append({"name": name, "flow_mva": flow, "rating_mva": rating, "loading": share})
    content = {
        **{"case": case.name, "formulation": formulation, "status": found.status},
        **{"cost": found.objective, "load_mw": float(live.bus[:, 2].sum())},
        **{"generators": generators, "buses": buses, "branches": branches},
        "executed": dict(executed(case, found)) if formulation == "ac" else None,
    }
    return Outcome(plain(content))

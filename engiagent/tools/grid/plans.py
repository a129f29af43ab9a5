"""Tools that plan grids: hosting capacity, infeasibility, dispatch, optimal power flow.

Nothing is claimed of a plan before a power flow executes it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from engiagent.errors import EngiagentError, InputError
from engiagent.io.schemawords import (
    COUNT,
    FLAG,
    NUMBER,
    OBJECT,
    TEXT,
    by_name,
    list_of,
    maybe,
    record,
)
from engiagent.tools.grid.feeders import Bands, Feeder, Flow
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
from engiagent.tools.registry import Json, Outcome, State, tool
from engiagent.tools.site.arguments import entries, stated

GROUP: Final = "grid"
SAME: Final = 1e-6
"""How far voltages of a plan and of its power flow may be apart. [p.u.]"""
LINEAR_SAME: Final = 0.02
_UNIT: Final = record(
    {"unit": TEXT, "available_kw": NUMBER, "power_kw": NUMBER, "reactive_kvar": NUMBER}
    | {"curtailed_kw": NUMBER}
)
_EXECUTED: Final = record(
    {"difference_pu": NUMBER, "reproduced": FLAG, "violations": list_of(OBJECT)}
    | {"lowest_pu": NUMBER, "highest_pu": NUMBER, "loading": maybe(NUMBER)}
)
_GENERATOR: Final = record(
    {"name": TEXT, "bus": TEXT, "active_mw": NUMBER, "reactive_mvar": NUMBER}
)
_LOADED: Final = record(
    {"name": TEXT, "flow_mva": NUMBER, "rating_mva": maybe(NUMBER), "loading": maybe(NUMBER)}
)
_STAMP: Final = record(
    {"stamp": maybe(TEXT), "status": TEXT, "objective": NUMBER, "units": list_of(_UNIT)}
    | {"hosted_kw": NUMBER, "curtailed_kw": NUMBER, "executed": _EXECUTED}
)


def _units(feeder: Feeder, given: Json, share: float) -> list[Unit]:
    """Return what units are there at one time: one a node, those of a bus on each of its phases."""
    listed = numbers(given.get("available"), "what is available")
    own_power = given.get("power", 100.0)
    powers: dict[str, complex] = {feeder.known(name): power for name, power in listed.items()}
    powers = powers or {load.nodes[0]: own_power for load in feeder.loads}
    reactive = given.get("reactive", 0.0) * share
    return [
        Unit(node, power.real * share, power.real * reactive)
        for node, power in feeder.shared(powers)
    ]


def _executed(flow: Flow, answer: Answer, bands: Bands, given: Json, same: float = SAME) -> Json:
    """Return what a power flow makes of a plan."""
    planned = answer.voltages.items()
    apart = max((abs(abs(flow.voltages[n]) - abs(v)) for n, v in planned), default=0.0)
    sizes = [abs(v) for v in flow.voltages.values()]
    return {
        **{"difference_pu": apart, "reproduced": apart <= same},
        "violations": flow.violations(bands, given.get("loading")),
        **{"lowest_pu": min(sizes), "highest_pu": max(sizes)},
        "loading": max(flow.loading.values(), default=None),
    }


@tool(
    "write",
    *stated("feeder", "state", "bands", "own bands", "rating", "hosting", pack=PACK),
    SECONDS,
    returns=record({"case": TEXT, "strategy": TEXT, "method": TEXT, "results": list_of(_STAMP)}),
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
    own = {k: v for k, v in given.items() if k not in ("units", "stamp", "profiles")}
    with situated(state, own, plain=True) as (feeder, start):
        profiles, stamps = _stamps(feeder, state, given)
        start = Situation(given.get("load", 1.0))
        for stamp in stamps:
            state.watch.tell(f"hosting capacity at {stamp}" if stamp else "hosting capacity")
            now = start if profiles is None or stamp is None else profiles.at(stamp, feeder, start)
            results.append(_hosted(feeder, now, stamp, given))
    rows = [
        (r["stamp"] or "", u["unit"], u["available_kw"], u["power_kw"], u["reactive_kvar"])
        for r in results
        for u in r["units"]
    ]
    artefacts: tuple[str, ...] = ()
    if "file" in given:
        head = ("stamp", "node", "available_kw", "power_kw", "reactive_kvar")
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


def _hosted(feeder: Feeder, now: Situation, stamp: str | None, given: Json) -> Json:
    apply(feeder, now)
    units, bands = _units(feeder, given, now.share), bands_of(feeder, given)
    loading, norm = given.get("loading", np.inf), given.get("strategy", "L1")
    question = Question(bands, units, feeder.drawn(now.factor), norm, loading=loading)
    solve = solve_linear if given.get("method") == "linear" else solve_question
    answer = solve(feeder, question, given.get("time_limit", 60.0))
    powers = {u.node: answer.powers[u.node] for u in units}
    flow = apply(feeder, Situation(now.factor, now.loads, powers))
    same = LINEAR_SAME if given.get("method") == "linear" else SAME
    listed = [_unit_row(u, answer.powers[u.node]) for u in units]
    return {
        **{"stamp": stamp, "status": answer.status, "objective": answer.objective, "units": listed},
        "hosted_kw": sum(row["power_kw"] for row in listed),
        "curtailed_kw": sum(row["curtailed_kw"] for row in listed),
        "executed": _executed(flow, answer, bands, given, same),
    }


def _unit_row(unit: Unit, power: complex) -> Json:
    lost = max(unit.available - power.real, 0.0)
    return {
        **{"unit": unit.node, "available_kw": unit.available, "power_kw": power.real},
        **{"reactive_kvar": power.imag, "curtailed_kw": lost},
    }


@tool(
    "write",
    *stated("feeder", "state", "bands", "own bands", "infeasibility", pack=PACK),
    SECONDS,
    returns=record(
        {"case": TEXT, "norm": TEXT, "status": TEXT, "objective": NUMBER, "feasible": FLAG}
        | {"nodes_with_slack": COUNT, "total_a": NUMBER}
        | {"buses": list_of(record({"bus": TEXT, "slack_a": NUMBER, "nodes": by_name(NUMBER)}))}
        | {"executed": _EXECUTED}
    ),
    repeatable=False,
)
def grid_infeasibility(state: State, given: Json) -> Outcome:
    """Find the least slack currents with which a feeder keeps its voltage bands, and their places.

    No slack means that the feeder can be operated as stated. The plan with its slack currents is
    executed by OpenDSS.
    """
    with situated(state, given, plain=True) as (feeder, now):
        bands = bands_of(feeder, given)
        try:
            apply(feeder, now)
        except EngiagentError:  # that it cannot carry its load is what is asked about
            apply(feeder, Situation(0.3))
        fixed = _fixed_units(feeder, now)
        norm = given.get("norm", "L2")
        most = given.get("slack_max", 1e4)
        loads = feeder.drawn(now.factor)
        question = Question(bands, fixed, loads, norm, slack=most)
        answer = solve_question(feeder, question, given.get("time_limit", 60.0))
        least = given.get("tolerance", 1e-3)
        slack = {n: v for n, v in answer.slack.items() if abs(v) > least}
        flow = _with_slack(feeder, now, answer)
        content = {
            **{"case": feeder.name, "norm": norm, "status": answer.status},
            **{"objective": answer.objective, "feasible": not slack},
            "nodes_with_slack": len(slack),
            "total_a": sum(abs(v) for v in slack.values()),
            "buses": _worst_buses(slack)[: given.get("buses", 5)],
            "executed": _executed(flow, answer, bands, given),
        }
    artefacts: tuple[str, ...] = ()
    if "file" in given:
        rows = [(node, abs(value)) for node, value in slack.items()]
        artefacts = (write_rows(state.root, given["file"], ("node", "slack_a"), rows),)
    return Outcome(plain(content), {}, artefacts)


def _fixed_units(feeder: Feeder, now: Situation) -> list[Unit]:
    """Return the units of a situation as ones that feed in all they have."""
    powers = feeder.shared(now.units or {})
    return [Unit(node, power.real * now.share, fixed=True) for node, power in powers]


def _worst_buses(slack: Mapping[str, complex]) -> list[Json]:
    buses: dict[str, dict[str, float]] = {}
    for node, value in slack.items():
        buses.setdefault(node.partition(".")[0], {})[node] = abs(value)
    rows = [
        {"bus": bus, "slack_a": float(np.linalg.norm(list(own.values()))), "nodes": own}
        for bus, own in buses.items()
    ]
    return sorted(rows, key=lambda row: -row["slack_a"])


def _with_slack(feeder: Feeder, now: Situation, answer: Answer) -> Flow:
    """Return the power flow with the slack currents of a plan as sources of current."""
    feeder.inject({n: p * now.share for n, p in (now.units or {}).items()})
    frequency = feeder.dss.Solution.Frequency()
    for k, (node, value) in enumerate(answer.slack.items()):
        if abs(value) > 1e-9:
            feeder.command(
                f"New Isource.eng_s{k} Bus1={node} Phases=1 Amps={abs(value):.15g} "
                f"Angle={np.angle(value, deg=True):.15g} Frequency={frequency:g}"
            )
    return feeder.solve(now.factor)


@tool(
    "read",
    *stated("feeder", "bands", "own bands", "rating", "dispatch", pack=PACK),
    SECONDS,
    returns=record(
        {"case": TEXT, "status": TEXT, "cost_eur_per_h": NUMBER, "cost_without_eur_per_h": NUMBER}
        | {"import_kw": NUMBER, "units": list_of(_UNIT), "executed": _EXECUTED}
    ),
)
def grid_der_dispatch(state: State, given: Json) -> Outcome:
    """Dispatch units on a feeder at the least cost within its voltage bands and ratings.

    Losses are part of the cost, since what the grid feeds in is what OpenDSS would meter.
    """
    own = {k: v for k, v in given.items() if k != "units"}
    with situated(state, own, plain=True) as (feeder, now):
        bands = bands_of(feeder, given)
        without = apply(feeder, now)
        costs = {feeder.known(n): c for n, c in numbers(given.get("costs"), "the cost").items()}
        units = _units(feeder, {**given, "available": given["units"]}, 1.0)
        places = {place for u in units for place in (u.node, u.node.partition(".")[0])}
        if idle := sorted(costs.keys() - places):
            raise InputError(f"costs are stated of {idle[0]}, which has no unit", expected="units")
        for k, unit in enumerate(units):
            paid = costs.get(unit.node, costs.get(unit.node.partition(".")[0], 0.0))
            units[k] = replace(unit, cost=paid)
        price = given.get("price", 100.0)
        loading, loads = given.get("loading", np.inf), feeder.drawn(now.factor)
        question = Question(bands, units, loads, price=price, loading=loading)
        answer = solve_question(feeder, question, given.get("time_limit", 60.0))
        powers = {u.node: answer.powers[u.node] for u in units}
        flow = apply(feeder, Situation(now.factor, None, powers))
        paid = sum(u.cost * answer.powers[u.node].real for u in units)
        content = {
            **{"case": feeder.name, "status": answer.status},
            "cost_eur_per_h": (paid + price * flow.source.real) / 1e3,
            "cost_without_eur_per_h": price * without.source.real / 1e3,
            "import_kw": flow.source.real,
            "units": [_unit_row(u, answer.powers[u.node]) for u in units],
            "executed": _executed(flow, answer, bands, given),
        }
    return Outcome(plain(content))


@tool(
    "read",
    *stated("opf", pack=PACK),
    SECONDS,
    returns=record(
        {"case": TEXT, "formulation": TEXT, "status": TEXT, "cost": NUMBER, "load_mw": NUMBER}
        | {"generators": list_of(_GENERATOR)}
        | {"buses": list_of(record({"bus": TEXT, "magnitude_pu": NUMBER, "angle_deg": NUMBER}))}
        | {"branches": list_of(_LOADED)}
        | {"executed": maybe(by_name(NUMBER))}
    ),
)
def grid_opf(state: State, given: Json) -> Outcome:
    """Find the optimal power flow of a MATPOWER case, with other loads, limits, costs and outages.

    An AC dispatch is executed by PYPOWER's power flow: how far its voltages and powers are from it.
    """
    case = Case.load(given["case"], state.root).changed(
        entries(given.get("loads")),
        numbers(given.get("limits"), "limit"),
        entries(given.get("costs")),
        [name.lower() for name in given.get("outages", ())],
    )
    formulation = given.get("formulation", "ac")
    found = optimal_flow(case, formulation, given.get("time_limit", 60.0))
    live = case.in_service()
    generators = [
        {"name": n, "bus": f"{int(row[0])}", "active_mw": float(p), "reactive_mvar": float(q)}
        for n, row, p, q in zip(live.units, live.gen, found.active, found.reactive, strict=True)
    ]
    buses = [
        {"bus": f"{int(n)}", "magnitude_pu": abs(v), "angle_deg": float(np.angle(v, deg=True))}
        for n, v in zip(live.bus[:, 0], found.voltages.tolist(), strict=True)
    ]
    branches: list[Any] = []
    for row, name, flow in zip(live.branch, live.lines, found.flows.tolist(), strict=True):
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

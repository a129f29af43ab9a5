"""Tools that say what results show: energy, cost, comfort, peaks, flexibility, alone or compared.

The figures are those of plans and of closed loops (:mod:`engiagent.run.keyfigures`), the
comparison is :mod:`engiagent.run.scenarios`; nothing is computed here a second time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final

import numpy as np

from engiagent.errors import InputError
from engiagent.io.schemawords import NUMBER, OBJECT, TEXT, TEXTS, by_name, list_of, maybe, record
from engiagent.report.artefacts import load_run
from engiagent.run.folder import SIMULATED
from engiagent.run.keyfigures import Figure
from engiagent.run.scenarios import (
    RECOVERY,
    Change,
    Scenario,
    ScenarioComparison,
    compare_scenarios,
)
from engiagent.solvers.solution import load_arrays
from engiagent.tools.modelling import plain
from engiagent.tools.registry import Argument, Json, Outcome, State, tool
from engiagent.tools.site.collecting import IDS, number, word
from engiagent.tools.site.simulating import NAMED, result_of, results

TOPICS: Final[Mapping[str, tuple[str, ...]]] = {
    "comfort": ("discomfort", "discomfort_below", "discomfort_above"),
    "energy": (
        *("import", "export", "generation", "consumption", "charged", "discharged", "losses"),
        *("throughput", "full_cycles", "self_consumption", "self_sufficiency"),
    ),
    "cost": ("energy_cost", "emissions"),
    "peak": ("peak_import", "peak_export"),
}
"""By topic the key figures that it has."""
_ABOUT: Final = {
    "comfort": "thermal comfort: kelvin hours beyond the limits of each zone, and in all",
    "energy": "energy: from and to the grid, generation, consumption, stores, own use",
    "cost": "cost of energy, and emissions where they are stated",
    "peak": "peaks of power from and to the grid",
}
FIGURE: Final = record(
    {"name": TEXT, "component": maybe(TEXT), "value": maybe(NUMBER), "unit": TEXT}, more=True
)
_FIGURES: Final = list_of(FIGURE)
_ZONES: Final = by_name(record({"least": NUMBER, "mean": NUMBER, "greatest": NUMBER, "unit": TEXT}))
_CHANGES: Final = list_of(
    record(
        {
            **{"name": TEXT, "component": maybe(TEXT), "bus": maybe(TEXT), "unit": TEXT},
            **{key: list_of(maybe(NUMBER)) for key in ("values", "differences", "percent")},
        }
    )
)
_COMPARED: Final = {"results": TEXTS, "baseline": TEXT}
_FLEXIBILITY: Final = {"windows": by_name({}), "flexibility": list_of(OBJECT)}
_RESULTS: Final = Argument(
    "results",
    IDS,
    "The results to compare, the baseline first; all, the earliest first, without it.",
)
_WINDOWS: Final = Argument(
    "windows",
    {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "maxItems": 20},
    "Hours in which less power is wanted, of each day as 17:00..20:00; the dear hours of the "
    "baseline without it.",
)
_RECOVERY: Final = number(
    "recovery",
    f"How long after a window what is drawn more is a rebound; {RECOVERY:g} without it.",
    "h",
    minimum=0,
)


def scenario(state: State, name: str | None) -> Scenario:
    """Return a result as a scenario; the latest of the session where none is named."""
    chosen, folder = result_of(state, name)
    run = load_run(folder)
    if run.elaboration is None or run.solution is None:
        raise InputError(f"the result {chosen} cannot be read", found="; ".join(run.trouble))
    return Scenario.of(chosen, run.elaboration, run.solution)


def _of(figures: Sequence[Figure], *topics: str) -> list[Json]:
    names = [name for topic in topics for name in TOPICS[topic]]
    return [figure.to_dict() for figure in figures if figure.name in names]


def _zones(state: State, name: str) -> Json:
    """Return the range of every temperature of a zone in a result."""
    data = load_arrays(result_of(state, name)[1] / SIMULATED)
    found = [str(n) for n in data.data_vars if data[n].attrs.get("units") == "degC"]
    own = (n for n in found if data[n].attrs.get("role") != "disturbance")
    return {
        n: {
            "least": float(data[n].values.min()),
            "mean": float(data[n].values.mean()),
            "greatest": float(data[n].values.max()),
            "unit": "degC",
        }
        for n in own
    }


def _windows(own: Scenario, windows: Sequence[str]) -> Json:
    r"""Return by bus how what is drawn lies to windows: the flexibility factor.

    It is :math:`(E_\mathrm{out} - E_\mathrm{in}) / (E_\mathrm{out} + E_\mathrm{in})` of imports in
    and outside windows, from -1, all in them, to 1, nothing: Le Dréau and Heiselberg, Energy 111
    (2016) 991-1002, doi:10.1016/j.energy.2016.05.076.
    """
    alike = Scenario(own.name, (), own.axis, own.power_kw, own.price)
    compared = compare_scenarios([alike, alike], windows)
    found: Json = {}
    for bus, spans in compared.windows.items():
        assert own.axis is not None  # what has windows has a clock
        labels = list(own.axis.labels)
        inside = np.zeros(own.power_kw[bus].size, dtype=bool)
        for first, last in spans:
            inside[labels.index(first) : labels.index(last) + 1] = True
        drawn = np.maximum(own.power_kw[bus], 0.0) * own.axis.steps
        within, outside = float(drawn[inside].sum()), float(drawn[~inside].sum())
        whole = within + outside
        found[bus] = {
            "windows": [list(span) for span in spans],
            "import_in_windows_kwh": within,
            "import_outside_kwh": outside,
            "flexibility_factor": (outside - within) / whole if whole else None,
            "peak_in_windows_kw": float(own.power_kw[bus][inside].max()),
        }
    return found


def _analysis(topic: str) -> None:
    zones = {"zones": _ZONES} if topic == "comfort" else {}

    @tool(
        "read",
        NAMED,
        returns=record({"result": TEXT, "figures": _FIGURES, **zones}),
        needs=("simulation",),
        name=f"analysis_{topic}",
        group="analysis",
        about=f"Say of a result its {_ABOUT[topic]}.",
        outside=True,
        instead="name",
    )
    def analysis(state: State, given: Json) -> Outcome:
        found = scenario(state, given.get("name"))
        more = {"zones": _zones(state, found.name)} if zones else {}
        content = {"result": found.name, "figures": _of(found.figures, topic), **more}
        return Outcome(plain(content))


@tool(
    "read",
    NAMED,
    _WINDOWS,
    returns=record({"result": TEXT, "buses": by_name(OBJECT)}),
    needs=("simulation",),
    group="analysis",
    outside=True,
    instead="name",
)
def analysis_flexibility(state: State, given: Json) -> Outcome:
    """Say how far a result draws its power outside dear hours: the flexibility factor by bus.

    It is (outside - inside) / (outside + inside) of the energy imported, from -1 to 1. What is shed
    and shifted against a baseline says comparison_flexibility.
    """
    found = scenario(state, given.get("name"))
    buses = _windows(found, given.get("windows", ()))
    if not buses:
        raise InputError("no hours are dearer than others", expected="windows, as 17:00..20:00")
    content = {"result": found.name, "buses": buses}
    return Outcome(plain(content))


@tool(
    "read",
    NAMED,
    returns=record(
        {"result": TEXT, "figures": _FIGURES, "zones": _ZONES, "buses": by_name(OBJECT)}
    ),
    needs=("simulation",),
    group="analysis",
    outside=True,
    instead="name",
)
def analysis_comprehensive(state: State, given: Json) -> Outcome:
    """Say of a result all key figures: comfort, energy, cost, peaks and flexibility."""
    found = scenario(state, given.get("name"))
    content = {"result": found.name, "figures": _of(found.figures, *TOPICS)}
    more = {"zones": _zones(state, found.name), "buses": _windows(found, ())}
    return Outcome(plain({**content, **more}))


# -- comparisons ----------------------------------------------------------------------------------


def _compared(state: State, given: Json) -> ScenarioComparison:
    names = given.get("results") or results(state.root)
    if len(names) < 2:
        known = ", ".join(results(state.root)) or "none; call simulation_run first"
        raise InputError("a comparison needs two results", expected=f"two or more of: {known}")
    scenarios = [scenario(state, name) for name in names]
    recovery = given.get("recovery", RECOVERY)
    return compare_scenarios(scenarios, given.get("windows", ()), recovery_hours=recovery)


def _answer(found: ScenarioComparison, *topics: str, flexibility: bool = False) -> Outcome:
    names = {name for topic in topics for name in TOPICS[topic]}
    content: Json = {"results": list(found.names), "baseline": found.names[0]}
    if topics:
        content["figures"] = [_change(c) for c in found.changes if c.name in names]
    if flexibility:
        whole = found.to_dict()
        content |= {"windows": whole["windows"], "flexibility": whole["flexibility"]}
    return Outcome(plain(content))


def _change(item: Change) -> Json:
    return asdict(item) | {"differences": item.differences, "percent": item.percent}


def _comparison(topic: str) -> None:
    @tool(
        "read",
        _RESULTS,
        returns=record({**_COMPARED, "figures": _CHANGES}),
        name=f"comparison_{topic}",
        group="comparison",
        about=f"Compare results in their {_ABOUT[topic]}; absolute and in percent of the baseline.",
        outside=True,
    )
    def comparison(state: State, given: Json) -> Outcome:
        return _answer(_compared(state, given), topic)


@tool(
    "read",
    _RESULTS,
    _WINDOWS,
    _RECOVERY,
    returns=record({**_COMPARED, **_FLEXIBILITY}),
    group="comparison",
    outside=True,
)
def comparison_flexibility(state: State, given: Json) -> Outcome:
    """Say what results shed and shift against the baseline, their peak reduction and rebound."""
    return _answer(_compared(state, given), flexibility=True)


@tool(
    "read",
    _RESULTS,
    _WINDOWS,
    _RECOVERY,
    returns=record({**_COMPARED, "figures": _CHANGES, **_FLEXIBILITY}),
    group="comparison",
    outside=True,
)
def comparison_comprehensive(state: State, given: Json) -> Outcome:
    """Compare results in comfort, energy, cost, peaks and flexibility."""
    return _answer(_compared(state, given), *TOPICS, flexibility=True)


_CRITERIA: Final = {
    "cost": ("energy_cost",),
    "energy": ("import",),
    "comfort": ("discomfort",),
    "peak": ("peak_import",),
    "emissions": ("emissions",),
}
_RANKED: Final = list_of(record({"result": TEXT, "value": NUMBER, "percent": maybe(NUMBER)}))


@tool(
    "read",
    word("by", "What is to be least", *_CRITERIA),
    _RESULTS,
    returns=record({"by": TEXT, "unit": TEXT, "baseline": TEXT, "ranking": _RANKED}),
    group="comparison",
    outside=True,
)
def comparison_rank(state: State, given: Json) -> Outcome:
    """Rank results by one criterion, the least first, with the change against the baseline."""
    by = given.get("by", next(iter(_CRITERIA)))
    found = _compared(state, given)
    own = [c for c in found.changes if c.name in _CRITERIA[by]]
    whole = [c for c in own if c.component is None] or own
    if not whole or any(value is None for c in whole for value in c.values):
        raise InputError(f"the results do not all state their {by}", expected=", ".join(_CRITERIA))
    totals = np.sum(np.array([c.values for c in whole], dtype=np.float64), axis=0)
    first = totals[0]
    rows = [
        {
            "result": name,
            "value": value,
            "percent": 100.0 * (value - first) / first if first else None,
        }
        for name, value in sorted(zip(found.names, totals, strict=True), key=lambda item: item[1])
    ]
    content = {"by": by, "unit": whole[0].unit, "baseline": found.names[0]}
    return Outcome(plain({**content, "ranking": rows}))


for _topic in TOPICS:
    _analysis(_topic)
    _comparison(_topic)

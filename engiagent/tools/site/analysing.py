"""Tools that say what results show: energy, cost, comfort, peaks, flexibility, alone or compared.

The figures are those of plans and of closed loops (:mod:`engiagent.run.keyfigures`), the
comparison is :mod:`engiagent.run.scenarios`; nothing is computed here a second time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from engiagent.errors import InputError
from engiagent.report.artefacts import load_run
from engiagent.run.folder import SIMULATED
from engiagent.run.scenarios import RECOVERY, Scenario, ScenarioComparison, compare_scenarios
from engiagent.solvers.solution import load_arrays
from engiagent.tools.modelling import plain
from engiagent.tools.registry import Json, Outcome, State, shape, tool
from engiagent.tools.site.arguments import stated
from engiagent.tools.site.running import FIGURE, PLANS, plans, ranged, result_of, results

_ENERGY: Final = (
    *("import", "export", "generation", "consumption", "charged", "discharged", "losses"),
    *("throughput", "full_cycles", "self_consumption", "self_sufficiency"),
)


@dataclass(frozen=True)
class Topic:
    """What analyses and comparisons of a topic show: key figures, ranges of zones, flexibility."""

    name: str
    about: str
    figures: tuple[str, ...] = ()
    zones: bool = False
    flexibility: bool = False


_SINGLE: Final = (
    Topic(
        "comfort",
        "thermal comfort: kelvin hours beyond the limits of each zone, and in all",
        ("discomfort", "discomfort_below", "discomfort_above"),
        zones=True,
    ),
    Topic("energy", "energy: from and to the grid, generation, consumption, stores", _ENERGY),
    Topic("cost", "cost of energy, and emissions where stated", ("energy_cost", "emissions")),
    Topic("peak", "peaks of power from and to the grid", ("peak_import", "peak_export")),
    Topic(
        "flexibility",
        "flexibility: of one result the factor (outside - inside) / (outside + inside) of the "
        "energy imported in windows, from -1 to 1; compared also what is shed, shifted and drawn "
        "again",
        flexibility=True,
    ),
)
_ALL: Final = tuple(name for topic in _SINGLE for name in topic.figures)
TOPICS: Final = (
    *_SINGLE,
    Topic("comprehensive", "comfort, energy, cost, peaks and flexibility", _ALL, True, True),
)
_WORDS: Final = {
    "figure": FIGURE,
    "zone": shape("least mean greatest: number; unit: text"),
    "change": shape(
        "name unit: text; values differences percent: list of number or null; "
        "component? bus?: text or null"
    ),
    "rank": shape("result: text; value: number; percent: number or null"),
}
_ANALYSIS: Final = shape(
    "result: text; figures?: list of figure; zones?: by name zone; buses?: by name object", _WORDS
)
_COMPARISON: Final = shape(
    "results: list of text; baseline: text; figures?: list of change; windows?: by name any; "
    "flexibility?: list of object",
    _WORDS,
)


def scenario(state: State, name: str | None) -> Scenario:
    """Return a result or plan as a scenario; the latest result where none is named."""
    if name in plans(state.root) and name not in results(state.root):
        chosen, folder = str(name), state.root / PLANS / str(name)
    else:
        chosen, folder = result_of(state, name)
    run = load_run(folder)
    if run.elaboration is None or run.solution is None:
        raise InputError(f"the result {chosen} cannot be read", found="; ".join(run.trouble))
    return Scenario.of(chosen, run.elaboration, run.solution)


def _zones(state: State, name: str) -> Json:
    """Return the range of every temperature of a zone in a result."""
    data = load_arrays(result_of(state, name)[1] / SIMULATED)
    found = {str(n): data[n] for n in data.data_vars if data[n].attrs.get("units") == "degC"}
    zones = {n: array for n, array in found.items() if array.attrs.get("role") != "disturbance"}
    return {n: {**ranged(array.values), "unit": "degC"} for n, array in zones.items()}


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


def _analysis(topic: Topic) -> None:
    windows = ("windows",) if topic.flexibility else ()

    @tool(
        "read",
        *stated("result", *windows),
        returns=_ANALYSIS,
        needs=("simulation",),
        name=f"analysis_{topic.name}",
        group="analysis",
        about=f"Say of a result its {topic.about}.",
        outside=True,
        instead="name",
    )
    def analysis(state: State, given: Json) -> Outcome:
        found = scenario(state, given.get("name"))
        content: Json = {"result": found.name}
        if topic.figures:
            own = (figure for figure in found.figures if figure.name in topic.figures)
            content["figures"] = [figure.to_dict() for figure in own]
        if topic.zones:
            content["zones"] = _zones(state, found.name)
        if topic.flexibility:
            content["buses"] = _windows(found, given.get("windows", ()))
        return Outcome(plain(content))


def _comparison(topic: Topic) -> None:
    windows = ("windows", "recovery") if topic.flexibility else ()

    @tool(
        "read",
        *stated("results", *windows),
        returns=_COMPARISON,
        name=f"comparison_{topic.name}",
        group="comparison",
        about=f"Compare results in their {topic.about}; absolute and in percent of the baseline.",
        outside=True,
    )
    def comparison(state: State, given: Json) -> Outcome:
        found = _compared(state, given)
        whole, content = found.to_dict(), {"results": found.names, "baseline": found.names[0]}
        if topic.figures:
            content["figures"] = [f for f in whole["figures"] if f["name"] in topic.figures]
        if topic.flexibility:
            content |= {key: whole[key] for key in ("windows", "flexibility")}
        return Outcome(plain(content))


def _compared(state: State, given: Json) -> ScenarioComparison:
    names = given.get("results") or results(state.root)
    if len(names) < 2:
        known = ", ".join(results(state.root)) or "none; call simulation_run first"
        raise InputError("a comparison needs two results", expected=f"two or more of: {known}")
    scenarios = [scenario(state, name) for name in names]
    recovery = given.get("recovery", RECOVERY)
    return compare_scenarios(scenarios, given.get("windows", ()), recovery_hours=recovery)


_CRITERIA: Final = {
    **{"cost": "energy_cost", "energy": "import", "comfort": "discomfort"},
    **{"peak": "peak_import", "emissions": "emissions"},
}


@tool(
    "read",
    *stated("comparison_rank", "results"),
    returns=shape("by unit baseline: text; ranking: list of rank", _WORDS),
    group="comparison",
    outside=True,
)
def comparison_rank(state: State, given: Json) -> Outcome:
    """Rank results by one criterion, the least first, with the change against the baseline."""
    by = given.get("by", next(iter(_CRITERIA)))
    found = _compared(state, given)
    own = [c for c in found.changes if c.name == _CRITERIA[by]]
    whole = [c for c in own if c.component is None] or own
    if not whole or any(value is None for c in whole for value in c.values):
        raise InputError(f"the results do not all state their {by}", expected=", ".join(_CRITERIA))
    totals = np.sum(np.array([c.values for c in whole], dtype=np.float64), axis=0)
    share = 100.0 * (totals / totals[0] - 1.0) if totals[0] else [None] * len(totals)
    keys = ("value", "result", "percent")
    ranked = sorted(zip(totals, found.names, share, strict=True), key=lambda row: row[0])
    rows = [dict(zip(keys, row, strict=True)) for row in ranked]
    content = {"by": by, "unit": whole[0].unit, "baseline": found.names[0]}
    return Outcome(plain({**content, "ranking": rows}))


for _topic in TOPICS:
    _analysis(_topic)
    _comparison(_topic)

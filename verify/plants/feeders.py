"""Distribution feeders: a plan's powers run through the equations of alternating current.

Units stand on the buses of a feeder by their own ``bus``; what they draw and feed in is kept.
Voltages, currents, losses and the import from the source are recomputed and judged by AC power
flow, whatever the plan was made with. With the scheme ``linear`` the plan's own figures may be
those of LinDistFlow, with flows at nominal voltage and no losses but of shunts; how far they are
from the power flow is reported.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from engiagent.models.grids import Bus, Feeder, Line, Transformer, lindistflow
from engiagent.models.grids.tree import Tree
from engiagent.slots import COMPONENTS
from engiagent.verify.frames import EvaluationError, MissingQuantity
from engiagent.verify.levels.execution import flow_of
from engiagent.verify.plants import Entry
from engiagent.verify.plants.run import Result, Run
from engiagent.verify.plants.unit import Unit
from engiagent.verify.values import Floats

LINE = {"resistance": "ohm", "reactance": "ohm", "susceptance": "uS", "ampacity": "A"}
TRANSFORMER = {
    "rated_power": "kVA",
    "from_voltage": "kV",
    "to_voltage": "kV",
    "short_circuit_voltage": "1",
    "load_loss": "kW",
    "no_load_current": "1",
    "no_load_loss": "kW",
    "tap": "1",
}


def _execute(unit: Unit) -> Run:
    grid = feeder(unit)
    active, reactive = demand(unit, grid)
    held = unit.series("source_voltage")
    flow = grid.flow(active, reactive, source_voltage=held)
    losses = flow.losses.sum(axis=1)
    true = (flow.voltage, flow.loading, losses[:, None], flow.import_active[:, None])
    linear = _linear(grid, active, reactive, held) if unit.scheme == "linear" else None

    def result(name: str, text: str, of: int, column: int = 0) -> Result:
        plain = None if linear is None else linear[of][:, column]
        return _result(unit, name, text, true[of][:, column], plain)

    # Powers that no voltage can carry have no solution, which is the worst of all excesses.
    unsolved, words = np.where(flow.converged, 0.0, 1.0), "it has no solution, missing"
    excesses = [unit.fault("solution", f"power flow of {unit.name}", unsolved, "1", 1.0, words)]
    results: list[Result] = []
    low, high = (unit.need(f"{end}_voltage") for end in ("minimum", "maximum"))
    for k, bus in enumerate(grid.bus_names):
        voltage = flow.voltage[:, k]
        results.append(result(f"{unit.name}.{bus}.voltage", "1", 0, k))
        for end, amount, words in (
            ("low", low - voltage, "below its band"),
            ("high", voltage - high, "above its band"),
        ):
            excesses.append(unit.excess(end, f"{bus}.voltage", amount, 1.0, words))
    most = unit.need("maximum_loading")
    for k, branch in enumerate(grid.branches):
        word, over = f"{branch.name}.loading", flow.loading[:, k] - most
        results.append(result(f"{unit.name}.{word}", "1", 1, k))
        excesses.append(unit.excess("limit", word, over, 1.0, "above its limit"))
    for k, word in ((2, "losses"), (3, "import")):
        results.append(result(f"{unit.name}.{word}", "kW", k))
    return Run((), tuple(results), tuple(excesses))


def _linear(grid: Feeder, active: Floats, reactive: Floats, held: Floats) -> tuple[Floats, ...]:
    """Return voltages, loadings, losses and import as LinDistFlow has them, by period."""
    network = grid.network
    tree = Tree.of(network)
    # Charging, magnetising and shunts count as at nominal voltage.
    drawn = 1000.0 * np.conj(tree.admittance) * np.abs(tree.factor) ** 2
    power = active + 1j * reactive + drawn
    behind = tree.gather((power / 1000.0).T.astype(np.complex128)).T
    below = np.where(tree.parent[network.end] == network.begin, network.end, network.begin)
    ampere = np.abs(behind[:, below]) * network.base_current[network.begin]
    losses = np.full(len(active), float(drawn.real.sum()))
    return (
        lindistflow(grid, active, reactive, held),
        ampere / network.ampacity[:, 0],
        losses[:, None],
        (active.sum(axis=1) + losses)[:, None],
    )


def _result(unit: Unit, name: str, text: str, values: Floats, declared: Floats | None) -> Result:
    over = unit.periods
    try:
        claimed = unit.plant.quantity(name, over, text)
    except MissingQuantity:
        claimed = None
    why = "the power flow" if declared is None else "the power flow or LinDistFlow"
    return Result((name,), text, values, over, claimed, why, declared=declared)


def demand(unit: Unit, grid: Feeder) -> tuple[Floats, Floats]:
    """Return the net demand behind the source, shape (periods, buses). [kW], [kvar]."""
    from engiagent.verify.plants import entry_of  # which imports this module

    size = unit.periods.size
    active = np.zeros((size, len(grid.buses)))
    for other in unit.plant.units:
        bus = str(other.connections.get("bus"))
        inside = bus in grid.bus_names and bus != grid.source
        if not inside or other.model not in COMPONENTS:
            continue
        column, model = grid.bus_names.index(bus), entry_of(other.model)
        for sign, flows in ((1.0, model.demands), (-1.0, model.supplies)):
            if "bus" in flows:
                active[:, column] += sign * flow_of(unit.plant, other, flows["bus"])
    reactive = np.zeros_like(active)
    for bus, written in (unit.connections.get("reactive") or {}).items():
        if bus not in grid.bus_names:
            raise EvaluationError(f"{unit.name} has no bus {bus!r}, which has reactive power")
        reactive[:, grid.bus_names.index(bus)] += unit.number(written, "kvar")
    return active, reactive


def feeder(unit: Unit) -> Feeder:
    """Return the model of a feeder from its connections."""
    parts = unit.connections
    buses = parts.get("buses")
    if not isinstance(buses, Mapping) or parts.get("source") is None:
        raise EvaluationError(
            f"{unit.name} has no buses (name: nominal voltage) or no source in its connections"
        )
    lines = [
        Line(**_ends(unit, name, given), **_numbers(unit, name, given, LINE))
        for name, given in (parts.get("lines") or {}).items()
    ]
    transformers = [
        Transformer(**_ends(unit, name, given), **_numbers(unit, name, given, TRANSFORMER))
        for name, given in (parts.get("transformers") or {}).items()
    ]
    return Feeder(
        buses=tuple(
            Bus(name=str(name), nominal_voltage=_number(unit, written, "kV"))
            for name, written in buses.items()
        ),
        source=str(parts["source"]),
        lines=tuple(lines),
        transformers=tuple(transformers),
    )


def _ends(unit: Unit, name: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping) or "from" not in given or "to" not in given:
        raise EvaluationError(f"the branch {name} of {unit.name} does not say from and to")
    return {"name": str(name), "from_bus": str(given["from"]), "to_bus": str(given["to"])}


def _numbers(
    unit: Unit, name: str, given: Mapping[str, Any], units: Mapping[str, str]
) -> dict[str, Any]:
    odd = next((key for key in given if key not in (*units, "from", "to")), None)
    if odd is not None:
        raise EvaluationError(
            f"the branch {name} of {unit.name} has {odd!r}; it takes from, to, {', '.join(units)}"
        )
    return {key: _number(unit, given[key], text) for key, text in units.items() if key in given}


def _number(unit: Unit, written: Any, text: str) -> float:
    if isinstance(written, int | float):
        return float(written)
    if text == "uS":  # no unit of the language
        return 1e6 * unit.constant(written, "A/V")
    return unit.constant(written, text)


ENTRIES = {"feeder": Entry(_execute, demands={"source": "import"})}

"""Newton-Raphson power flow of radial and meshed feeders by the library power-grid-model.

The library is an extra (``pip install engiagent[grid]``). Only the voltages are taken from it; see
:mod:`engiagent.models.grids.flow`. Its source has an inner impedance, which is made so small that
the voltage of the source bus is held to better than 1e-8 for demands below 1 GVA.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from engiagent.models.grids.network import Complexes
from engiagent.models.ranges import Floats, ParameterError

if TYPE_CHECKING:
    from engiagent.models.grids.feeder import Feeder

SHORT_CIRCUIT_POWER = 1e17  # of the source [VA]
TOLERANCE = 1e-10  # of the voltage, from step to step [p.u.]
STEPS = 50
FREQUENCY = 50.0  # turns a susceptance into the capacitance that the library asks for [Hz]


def newton(
    feeder: "Feeder", power: Complexes, source_voltage: Floats
) -> tuple[Complexes, npt.NDArray[np.int64]]:
    """Return the voltages, NaN where there is no solution, and 0 iterations: none are told.

    Parameters
    ----------
    power
        Net demand, shape (time, buses). [MVA]
    source_voltage
        Shape (time,). [p.u.]
    """
    try:
        import power_grid_model as library
    except ImportError as error:
        raise ParameterError(
            "Newton's method needs the library power-grid-model; install it with "
            "pip install 'engiagent[grid]', or open the tie lines and use the sweep"
        ) from error
    periods, buses = power.shape
    if not periods:
        return np.empty((0, buses), dtype=np.complex128), np.empty(0, dtype=np.int64)
    model = library.PowerGridModel(_describe(library, feeder), system_frequency=FREQUENCY)
    first = _first_load(feeder)
    loads = library.initialize_array(
        library.DatasetType.update, library.ComponentType.sym_load, (periods, buses)
    )
    loads["id"] = np.arange(first, first + buses)
    loads["p_specified"] = 1e6 * power.real
    loads["q_specified"] = 1e6 * power.imag
    sources = library.initialize_array(
        library.DatasetType.update, library.ComponentType.source, (periods, 1)
    )
    sources["id"] = first + buses
    sources["u_ref"] = source_voltage[:, None]
    result = model.calculate_power_flow(
        update_data={library.ComponentType.sym_load: loads, library.ComponentType.source: sources},
        output_component_types={library.ComponentType.node: ["u_pu", "u_angle"]},
        error_tolerance=TOLERANCE,
        max_iterations=STEPS,
        continue_on_batch_error=True,
    )
    node: Any = result[library.ComponentType.node]
    voltage = np.asarray(node["u_pu"] * np.exp(1j * node["u_angle"]), dtype=np.complex128)
    failed = model.batch_error
    if failed is not None:
        voltage[np.asarray(failed.failed_scenarios)] = complex(np.nan, np.nan)
    return voltage, np.zeros(periods, dtype=np.int64)


def _first_load(feeder: "Feeder") -> int:
    return len(feeder.buses) + len(feeder.branches) + len(feeder.shunts)


def _describe(library: Any, feeder: "Feeder") -> dict[Any, Any]:
    """Return the library's input; ids are buses, lines, transformers, shunts, loads, source."""
    place = {bus.name: i for i, bus in enumerate(feeder.buses)}
    count, first = len(feeder.buses), _first_load(feeder)
    kind, make = library.ComponentType, library.initialize_array
    given = library.DatasetType.input
    node = make(given, kind.node, count)
    node["id"] = np.arange(count)
    node["u_rated"] = [1e3 * bus.nominal_voltage for bus in feeder.buses]
    load = make(given, kind.sym_load, count)
    load["id"], load["node"] = np.arange(first, first + count), node["id"]
    load["status"], load["type"] = 1, library.LoadGenType.const_power
    load["p_specified"], load["q_specified"] = 0.0, 0.0
    source = make(given, kind.source, 1)
    source["id"], source["node"], source["status"] = first + count, place[feeder.source], 1
    source["u_ref"], source["sk"] = feeder.source_voltage, SHORT_CIRCUIT_POWER
    return {
        kind.node: node,
        kind.line: _lines(library, feeder, place),
        kind.transformer: _transformers(library, feeder, place),
        kind.shunt: _shunts(library, feeder, place),
        kind.sym_load: load,
        kind.source: source,
    }


def _lines(library: Any, feeder: "Feeder", place: dict[str, int]) -> Any:
    lines = feeder.lines
    table = library.initialize_array(
        library.DatasetType.input, library.ComponentType.line, len(lines)
    )
    table["id"] = len(feeder.buses) + np.arange(len(lines))
    table["from_node"] = [place[line.from_bus] for line in lines]
    table["to_node"] = [place[line.to_bus] for line in lines]
    table["from_status"] = table["to_status"] = [line.closed for line in lines]
    table["r1"] = [line.resistance for line in lines]
    table["x1"] = [line.reactance for line in lines]
    table["c1"] = [1e-6 * line.susceptance / (2 * math.pi * FREQUENCY) for line in lines]
    table["tan1"] = 0.0
    return table


def _transformers(library: Any, feeder: "Feeder", place: dict[str, int]) -> Any:
    units = feeder.transformers
    table = library.initialize_array(
        library.DatasetType.input, library.ComponentType.transformer, len(units)
    )
    table["id"] = len(feeder.buses) + len(feeder.lines) + np.arange(len(units))
    table["from_node"] = [place[unit.from_bus] for unit in units]
    table["to_node"] = [place[unit.to_bus] for unit in units]
    table["from_status"] = table["to_status"] = [unit.closed for unit in units]
    table["u1"] = [1e3 * unit.from_voltage * unit.tap for unit in units]
    table["u2"] = [1e3 * unit.to_voltage for unit in units]
    table["sn"] = [1e3 * unit.rated_power for unit in units]
    table["uk"] = [unit.short_circuit_voltage for unit in units]
    table["pk"] = [1e3 * unit.load_loss for unit in units]
    table["i0"] = [unit.no_load_current for unit in units]
    table["p0"] = [1e3 * unit.no_load_loss for unit in units]
    windings = library.WindingType
    odd = [unit.clock % 2 == 1 for unit in units]
    table["winding_from"] = [windings.delta if o else windings.wye_n for o in odd]
    table["winding_to"] = windings.wye_n
    table["clock"] = [unit.clock for unit in units]
    # The tap is in u1 already.
    table["tap_side"], table["tap_size"] = library.BranchSide.from_side, 0.0
    table["tap_pos"] = table["tap_min"] = table["tap_max"] = table["tap_nom"] = 0
    return table


def _shunts(library: Any, feeder: "Feeder", place: dict[str, int]) -> Any:
    table = library.initialize_array(
        library.DatasetType.input, library.ComponentType.shunt, len(feeder.shunts)
    )
    table["id"] = len(feeder.buses) + len(feeder.branches) + np.arange(len(feeder.shunts))
    table["node"] = [place[shunt.bus] for shunt in feeder.shunts]
    table["status"] = 1
    square = [1e6 * feeder.buses[place[s.bus]].nominal_voltage ** 2 for s in feeder.shunts]
    draw = [complex(s.active_power, s.reactive_power) for s in feeder.shunts]
    table["g1"] = [1e3 * s.real / u for s, u in zip(draw, square, strict=True)]
    table["b1"] = [-1e3 * s.imag / u for s, u in zip(draw, square, strict=True)]
    return table

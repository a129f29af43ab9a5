"""A second engine: power-grid-model, for feeders whose branches all have three phases.

It is given impedances and powers, not admittances of elements, and solves by Newton's method in
sequence or phase quantities. Regulators of one phase and loads between phases it does not have.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from engiagent.errors import InputError
from engiagent.tools.grid.feeders import Feeder, Load

_OPEN = 1e6
"""Impedance of the phases that a line does not have. [ohm]."""
_KINDS = {1: 0, 2: 1, 5: 2}
"""Its kinds of loads by OpenDSS's models."""


def solve_balanced(
    feeder: Feeder, loads: Sequence[Load], units: Mapping[str, complex]
) -> dict[str, complex]:
    """Return the voltages by node per unit; InputError where it lacks an element of the feeder."""
    try:
        from power_grid_model import ComponentType, PowerGridModel, initialize_array
        from power_grid_model.errors import PowerGridError  # type: ignore[attr-defined]
    except ImportError:
        expected = 'pip install "engiagent[grid]"'
        raise InputError("power-grid-model is not installed", expected=expected) from None
    frequency = feeder.dss.Solution.Frequency()
    number = {bus: k for k, bus in enumerate(feeder.bases)}
    rows = _Rows(initialize_array, len(number))
    for bus, base in feeder.bases.items():
        rows.add("node", id=number[bus], u_rated=base * np.sqrt(3))
    for name in feeder.elements():
        kind, _, own = name.partition(".")
        if kind in ("line", "transformer", "vsource"):
            _branch(feeder, rows, number, kind, own, frequency)
        elif kind in ("capacitor", "reactor"):
            raise InputError(f"power-grid-model is not given {kind}s", found=name)
    parts = [(x.nodes, x.power, x.model) for x in loads]
    parts += [((node, "0"), -power, 1) for node, power in units.items()]
    for nodes, power, model in parts:
        if nodes[1] != "0" or model not in _KINDS:
            said = "power-grid-model has no loads between phases, and none of model 4"
            raise InputError(said, found=" ".join(nodes))
        bus, _, phase = nodes[0].partition(".")
        watts = np.zeros(3, complex)
        watts[int(phase) - 1] = power * 1e3
        drawn = {"p_specified": watts.real, "q_specified": watts.imag}
        rows.add("asym_load", node=number[bus], status=1, type=_KINDS[model], **drawn)
    try:
        grid = PowerGridModel(rows.data(), system_frequency=frequency)
        found = grid.calculate_power_flow(symmetric=False, error_tolerance=1e-10)
    except PowerGridError as error:
        raise InputError(f"power-grid-model: {error}") from None
    seen = found[ComponentType.node]
    values = seen["u_pu"] * np.exp(1j * seen["u_angle"])
    return {
        node: complex(values[number[bus], int(phase) - 1])
        for node in feeder.nodes
        for bus, _, phase in [node.partition(".")]
        if phase in "123"
    }


class _Rows:
    """Components by kind, with ids in the order in which they come."""

    def __init__(self, make: Any, first: int) -> None:
        self.make, self.next = make, first
        self.rows: dict[str, list[dict[str, Any]]] = {}

    def add(self, kind: str, **values: Any) -> None:
        if "id" not in values:
            values["id"] = self.next
            self.next += 1
        self.rows.setdefault(kind, []).append(values)

    def data(self) -> dict[str, Any]:
        found = {kind: self.make("input", kind, len(rows)) for kind, rows in self.rows.items()}
        for kind, rows in self.rows.items():
            for k, row in enumerate(rows):
                for name, value in row.items():
                    found[kind][name][k] = value
        return found


def _branch(
    feeder: Feeder, rows: _Rows, number: Mapping[str, int], kind: str, own: str, frequency: float
) -> None:
    dss = feeder.dss
    buses = [name.partition(".")[0].lower() for name in dss.CktElement.BusNames()]
    ends = {"from_node": number[buses[0]], "from_status": 1, "to_status": 1}
    if kind == "vsource":
        dss.Vsources.Name(own)
        size = dss.Vsources.BasekV() * 1e3
        flat = np.array(dss.CktElement.YPrim())
        matrix = (flat[0::2] + 1j * flat[1::2]).reshape(6, 6).T[:3, :3]
        impedance = np.linalg.inv(matrix)
        one, zero = impedance[0, 0] - impedance[0, 1], impedance[0, 0] + 2 * impedance[0, 1]
        rows.add(
            "source",
            **{"node": number[buses[0]], "status": 1, "u_ref": dss.Vsources.PU()},
            u_ref_angle=np.deg2rad(dss.Vsources.AngleDeg()),
            **{"sk": size**2 / abs(one), "rx_ratio": one.real / one.imag},
            z01_ratio=abs(zero) / abs(one),
        )
    elif kind == "line":
        rows.add("asym_line", **ends, to_node=number[buses[1]], **_line(feeder, own, frequency))
    else:
        if dss.CktElement.NumPhases() != 3:
            raise InputError("power-grid-model has no transformer of one phase", found=own)
        rows.add("transformer", **ends, to_node=number[buses[1]], **_transformer(dss, own))


def _line(feeder: Feeder, own: str, frequency: float) -> dict[str, float]:
    dss = feeder.dss
    dss.Lines.Name(own)
    dss.Circuit.SetActiveElement(f"Line.{own}")
    phases = [int(n.rpartition(".")[2]) - 1 for n in feeder.terminals()]
    count = len(phases) // 2
    flat = np.array(dss.CktElement.YPrim())
    matrix = (flat[0::2] + 1j * flat[1::2]).reshape(2 * count, 2 * count).T
    series = -matrix[:count, count:]
    shunt = (matrix[:count, :count] - series).imag * 2 / (2 * np.pi * frequency)
    impedance = np.diag(np.full(3, _OPEN, complex))
    capacity = np.zeros((3, 3))
    place = np.ix_(phases[:count], phases[:count])
    impedance[place], capacity[place] = np.linalg.inv(series), shunt
    pairs = [("aa", 0, 0), ("ba", 1, 0), ("bb", 1, 1), ("ca", 2, 0), ("cb", 2, 1), ("cc", 2, 2)]
    found: dict[str, float] = {}
    for name, i, j in pairs:
        found |= {f"r_{name}": impedance[i, j].real, f"x_{name}": impedance[i, j].imag}
        # Its matrix of capacities is that of nodes to one another and to ground.
        found[f"c_{name}"] = capacity[i, j]
    return {**found, "i_n": dss.Lines.NormAmps()}


def _transformer(dss: Any, own: str) -> dict[str, float]:
    dss.Transformers.Name(own)
    delta, taps, levels = [], [], []
    for winding in (1, 2):
        dss.Transformers.Wdg(winding)
        delta.append(bool(dss.Transformers.IsDelta()))
        taps.append(dss.Transformers.Tap())
        levels.append(dss.Transformers.kV() * 1e3)
    rated = dss.Transformers.kVA() * 1e3
    dss.Text.Command(f"? Transformer.{own}.%LoadLoss")
    loss = float(dss.Text.Result()) / 100
    reactance = dss.Transformers.Xhl() / 100
    dss.Text.Command(f"? Transformer.{own}.LeadLag")
    leads = dss.Text.Result().lower() in ("lead", "euro")
    clock = 0 if delta[0] == delta[1] else (1 if delta[0] != leads else 11)
    return {
        **{"u1": levels[0] * taps[0], "u2": levels[1] * taps[1], "sn": rated},
        **{"uk": float(np.hypot(reactance, loss)), "pk": loss * rated, "i0": 0.0, "p0": 0.0},
        **{"winding_from": 2 if delta[0] else 1, "winding_to": 2 if delta[1] else 1},
        **{"clock": clock, "tap_side": 0, "tap_pos": 0, "tap_min": 0, "tap_max": 0, "tap_nom": 0},
        **{"tap_size": 0.0},
    }

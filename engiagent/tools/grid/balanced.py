"""A second engine: power-grid-model, for feeders whose branches all have three phases.

It is given impedances and powers, not admittances of elements, and solves by Newton's method in
sequence or phase quantities. Regulators of one phase and loads between phases it does not have.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from engiagent.errors import InputError
from engiagent.tools.grid.feeders import Feeder, Load

_OPEN: Final = 1e6
"""Impedance of the phases that a line does not have. [ohm]."""
_KINDS: Final = {1: 0, 2: 1, 5: 2}
"""Its kinds of loads by OpenDSS's models."""
_PAIRS: Final = {"aa": (0, 0), "ba": (1, 0), "bb": (1, 1), "ca": (2, 0), "cb": (2, 1), "cc": (2, 2)}


def solve_balanced(
    feeder: Feeder, loads: Sequence[Load], units: Mapping[str, complex]
) -> dict[str, complex]:
    """Return the voltages by node per unit; InputError where it lacks an element of the feeder."""
    try:
        from power_grid_model import ComponentType, PowerGridModel
        from power_grid_model.errors import PowerGridError  # type: ignore[attr-defined]
        from power_grid_model.utils import json_deserialize  # type: ignore[attr-defined]
    except ImportError:
        expected = 'pip install "engiagent[grid]"'
        raise InputError("power-grid-model is not installed", expected=expected) from None
    number = {bus: k for k, bus in enumerate(feeder.bases)}
    rows: dict[str, list[Any]] = {}
    for kind, row in _rows(feeder, number, loads, units):
        rows.setdefault(kind, []).append({"id": sum(map(len, rows.values())), **row})
    about = {"version": "1.0", "type": "input", "is_batch": False, "attributes": {}}
    try:
        data: Any = json_deserialize(json.dumps({**about, "data": rows}))
        grid = PowerGridModel(data, system_frequency=feeder.dss.Solution.Frequency())
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


def _rows(
    feeder: Feeder, number: Mapping[str, int], loads: Sequence[Load], units: Mapping[str, complex]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the kinds and attributes of its components, of buses first."""
    for base in feeder.bases.values():
        yield "node", {"u_rated": base * np.sqrt(3)}
    for name in feeder.elements():
        kind, _, own = name.partition(".")
        if kind in ("capacitor", "reactor"):
            raise InputError(f"power-grid-model is not given {kind}s", found=name)
        if kind not in ("line", "transformer", "vsource") or feeder.open():
            continue
        first, second = (
            number[b.partition(".")[0].lower()] for b in feeder.dss.CktElement.BusNames()
        )
        if kind == "vsource":
            yield "source", {"node": first, "status": 1, **_source(feeder, own)}
            continue
        ends = {"from_node": first, "to_node": second, "from_status": 1, "to_status": 1}
        if kind == "line":
            yield "asym_line", {**ends, **_line(feeder, own)}
        elif feeder.dss.CktElement.NumPhases() != 3:
            raise InputError("power-grid-model has no transformer of one phase", found=own)
        else:
            yield "transformer", {**ends, **_transformer(feeder.dss, own)}
    parts = [(x.nodes, x.power, x.model) for x in loads]
    parts += [((node, "0"), -power, 1) for node, power in units.items()]
    for nodes, power, model in parts:
        if nodes[1] != "0" or model not in _KINDS:
            said = "power-grid-model has no loads between phases, and none of model 4"
            raise InputError(said, found=" ".join(nodes))
        bus, _, phase = nodes[0].partition(".")
        watts = power * 1e3 * (np.arange(1, 4) == int(phase))
        drawn = {"p_specified": watts.real.tolist(), "q_specified": watts.imag.tolist()}
        yield "asym_load", {"node": number[bus], "status": 1, "type": _KINDS[model], **drawn}


def _source(feeder: Feeder, own: str) -> dict[str, float]:
    source = feeder.dss.Vsources
    source.Name(own)
    impedance = np.linalg.inv(feeder.primitive()[:3, :3])
    one, zero = impedance[0, 0] - impedance[0, 1], impedance[0, 0] + 2 * impedance[0, 1]
    return {
        **{"u_ref": source.PU(), "u_ref_angle": np.deg2rad(source.AngleDeg())},
        **{"sk": (source.BasekV() * 1e3) ** 2 / abs(one), "rx_ratio": one.real / one.imag},
        "z01_ratio": abs(zero) / abs(one),
    }


def _line(feeder: Feeder, own: str) -> dict[str, float]:
    feeder.dss.Lines.Name(own)
    phases = [int(n.rpartition(".")[2]) - 1 for n in feeder.terminals()]
    count, matrix = len(phases) // 2, feeder.primitive()
    series = -matrix[:count, count:]
    shunt = (matrix[:count, :count] - series).imag * 2
    impedance, capacity = np.diag(np.full(3, _OPEN, complex)), np.zeros((3, 3))
    place = np.ix_(phases[:count], phases[:count])
    impedance[place] = np.linalg.inv(series)
    # Its matrix of capacities is that of nodes to one another and to ground.
    capacity[place] = shunt / (2 * np.pi * feeder.dss.Solution.Frequency())
    found = {"i_n": feeder.dss.Lines.NormAmps()}
    for name, at in _PAIRS.items():
        values = impedance[at].real, impedance[at].imag, capacity[at]
        found |= {f"{k}_{name}": v for k, v in zip("rxc", values, strict=True)}
    return found


def _transformer(dss: Any, own: str) -> dict[str, float]:
    unit = dss.Transformers
    unit.Name(own)
    delta, volts, loss = [], [], 0.0
    for winding in (1, 2):
        unit.Wdg(winding)
        delta.append(bool(unit.IsDelta()))
        volts.append(unit.kV() * 1e3 * unit.Tap())
        loss += unit.R() / 100
    rated = unit.kVA() * 1e3
    dss.Text.Command(f"? Transformer.{own}.LeadLag")
    leads = dss.Text.Result().lower() in ("lead", "euro")
    clock = 0 if delta[0] == delta[1] else (1 if delta[0] != leads else 11)
    return {
        **{"u1": volts[0], "u2": volts[1], "sn": rated, "clock": clock},
        **{"uk": float(np.hypot(unit.Xhl() / 100, loss)), "pk": loss * rated, "i0": 0.0, "p0": 0.0},
        **{"winding_from": 2 if delta[0] else 1, "winding_to": 2 if delta[1] else 1},
        **dict.fromkeys(("tap_side", "tap_pos", "tap_min", "tap_max", "tap_nom", "tap_size"), 0),
    }

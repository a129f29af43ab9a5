"""Networks of pandapower and SimBench as OpenDSS circuits, where pandapower is installed.

Each bus has three phases. Lines are taken by their sequence impedances; where a network has no
zero-sequence data, as SimBench's, those of the positive sequence stand in, which is right for
balanced states only.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from engiagent.errors import InputError

_READ: Final = frozenset(
    {"bus", "line", "trafo", "ext_grid", "load", "sgen", "switch", "asymmetric_load"}
    | {"asymmetric_sgen", "bus_geodata", "line_geodata", "shunt", "storage"}
)
STIFF: Final = 1e8
"""The short-circuit power of a grid that states none. [MVA]."""


def read(path: Path) -> list[str]:
    """Return the commands of OpenDSS for a network in a file; InputError when it cannot be read."""
    try:
        import pandapower
    except ImportError:
        expected = "pip install pandapower"
        raise InputError("networks of pandapower need it", path.name, expected=expected) from None
    try:
        net = pandapower.from_json(str(path))
    except Exception as error:  # of its reader, which has many
        raise InputError(f"pandapower cannot read it: {error}", path.name) from None
    for name in net:
        table = net[name]
        rows = hasattr(table, "empty") and not table.empty and "in_service" in table
        if rows and name not in _READ and not name.startswith(("res_", "_")):
            raise InputError(f"the network has elements that are not read: {name}", path.name)
    return list(_commands(net))


def _commands(net: Any) -> Iterator[str]:
    grid = net.ext_grid[net.ext_grid.in_service]
    if len(grid) != 1:
        raise InputError("the network has no single external grid", found=str(len(grid)))
    first = grid.iloc[0]
    power = first.get("s_sc_max_mva")
    power = STIFF if power is None or power != power else power
    at, level = int(first.bus), net.bus.vn_kv
    yield "Clear"
    yield (
        f"New Circuit.net Bus1=b{at} BasekV={level[at]:.7g} pu={first.vm_pu:.7g} Phases=3 "
        f"Angle={first.va_degree:.7g} MVAsc3={power:.7g} MVAsc1={power:.7g} Frequency={net.f_hz:g}"
    )
    yield f"Set DefaultBaseFrequency={net.f_hz:g}"
    yield from _lines(net)
    yield from _transformers(net)
    yield from _loads(net)
    levels = " ".join(f"{v:.7g}" for v in sorted(set(level), reverse=True))
    yield f"Set VoltageBases=[{levels}]"
    yield "CalcVoltageBases"
    for bus, place in _places(net):
        yield f"SetBusXY Bus=b{bus} X={place[0]:.9g} Y={place[1]:.9g}"


def _lines(net: Any) -> Iterator[str]:
    switches = net.switch
    apart = set(switches[(switches.et == "l") & ~switches.closed].element)
    for k, line in net.line[net.line.in_service].iterrows():
        if k in apart:
            continue
        zero = [
            line.get(f"{n}0_{u}")
            for n, u in (("r", "ohm_per_km"), ("x", "ohm_per_km"), ("c", "nf_per_km"))
        ]
        one = [line.r_ohm_per_km, line.x_ohm_per_km, line.c_nf_per_km]
        zero = [a if b is None or b != b else b for a, b in zip(one, zero, strict=True)]
        count = line.get("parallel", 1)
        values = " ".join(
            f"{name}={value / count if name[0] in 'RX' else value * count:.7g}"
            for name, value in zip(("R1", "X1", "C1", "R0", "X0", "C0"), (*one, *zero), strict=True)
        )
        yield (
            f"New Line.l{k} Bus1=b{int(line.from_bus)} Bus2=b{int(line.to_bus)} Phases=3 "
            f"Length={line.length_km:.7g} Units=km {values} "
            f"NormAmps={line.max_i_ka * 1e3 * count:.7g}"
        )
    for k, tie in switches[(switches.et == "b") & switches.closed].iterrows():
        yield (
            f"New Line.s{k} Bus1=b{int(tie.bus)} Bus2=b{int(tie.element)} Phases=3 Switch=y "
            "R1=1e-4 X1=0 R0=1e-4 X0=0 C1=0 C0=0"
        )


def _transformers(net: Any) -> Iterator[str]:
    for k, unit in net.trafo[net.trafo.in_service].iterrows():
        reactance = (unit.vk_percent**2 - unit.vkr_percent**2) ** 0.5
        group = str(unit.get("vector_group") or "Dyn")
        high, low = ("delta" if c.lower() == "d" else "wye" for c in (group[0], group[1]))
        step, taken = unit.get("tap_step_percent"), unit.get("tap_pos")
        ratio = 1.0
        if step == step and step is not None and taken == taken and taken is not None:
            ratio += (taken - unit.tap_neutral) * step / 100
        taps = f"[{ratio:.9g} 1]" if unit.get("tap_side") != "lv" else f"[1 {ratio:.9g}]"
        rated = unit.sn_mva * 1e3
        lead = " LeadLag=Lead" if unit.get("shift_degree", 0) % 360 == 330 else ""
        yield (
            f"New Transformer.t{k} Phases=3 Windings=2 "
            f"Buses=[b{int(unit.hv_bus)} b{int(unit.lv_bus)}] "
            f"Conns=[{high} {low}] kVs=[{unit.vn_hv_kv:.7g} {unit.vn_lv_kv:.7g}] "
            f"kVAs=[{rated:.7g} {rated:.7g}] XHL={reactance:.7g} %LoadLoss={unit.vkr_percent:.7g} "
            f"%NoLoadLoss={unit.pfe_kw / rated * 100:.7g} "
            f"%imag={max(unit.i0_percent**2 - (unit.pfe_kw / rated * 100) ** 2, 0) ** 0.5:.7g} "
            f"Taps={taps}{lead}"
        )


def _loads(net: Any) -> Iterator[str]:
    for table, sign in (("load", 1), ("sgen", -1), ("storage", 1)):
        for k, row in net[table][net[table].in_service].iterrows():
            power = sign * complex(row.p_mw, row.q_mvar) * 1e3 * row.get("scaling", 1.0)
            level = net.bus.vn_kv[row.bus]
            yield (
                f"New Load.{table}{k} Bus1=b{int(row.bus)} Phases=3 Conn=Wye Model=1 "
                f"kV={level:.7g} kW={power.real:.7g} kvar={power.imag:.7g}"
            )
    for table, sign in (("asymmetric_load", 1), ("asymmetric_sgen", -1)):
        for k, row in net[table][net[table].in_service].iterrows():
            level = net.bus.vn_kv[row.bus] / 3**0.5
            for number, phase in enumerate("abc", start=1):
                power = sign * complex(row[f"p_{phase}_mw"], row[f"q_{phase}_mvar"]) * 1e3
                power *= row.get("scaling", 1.0)
                if power:
                    yield (
                        f"New Load.{table}{k}{phase} Bus1=b{int(row.bus)}.{number} Phases=1 "
                        f"Conn=Wye Model=1 kV={level:.7g} kW={power.real:.7g} kvar={power.imag:.7g}"
                    )
    for k, row in net.shunt[net.shunt.in_service].iterrows():
        level = net.bus.vn_kv[row.bus]
        yield (
            f"New Load.shunt{k} Bus1=b{int(row.bus)} Phases=3 Conn=Wye Model=2 kV={level:.7g} "
            f"kW={row.p_mw * 1e3 * row.step:.7g} kvar={row.q_mvar * 1e3 * row.step:.7g}"
        )


def _places(net: Any) -> Iterator[tuple[int, tuple[float, float]]]:
    for bus, text in net.bus.get("geo", {}).items():
        if isinstance(text, str):
            x, y = json.loads(text)["coordinates"][:2]
            yield int(bus), (x, y)

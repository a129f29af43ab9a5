"""Networks of pandapower and SimBench as OpenDSS circuits, where pandapower is installed.

Each bus has three phases. Lines are taken by their sequence impedances; where a network has no
zero-sequence data, as SimBench's, those of the positive sequence stand in, which is right for
balanced states only; so do they for all transformers.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from engiagent.errors import InputError

_READ: Final = frozenset(
    {"bus", "line", "trafo", "ext_grid", "load", "sgen", "switch", "asymmetric_load"}
    | {"asymmetric_sgen", "bus_geodata", "line_geodata", "shunt", "storage"}
)
STIFF: Final = 1e8
"""The short-circuit power of a grid that holds its voltage. [MVA]."""


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
    net["name"] = path.name  # the place of what is refused below
    for name in net:
        table = net[name]
        rows = hasattr(table, "empty") and not table.empty and "in_service" in table
        if rows and name not in _READ and not name.startswith(("res_", "_")):
            raise InputError(f"the network has elements that are not read: {name}", path.name)
    net["bus"], net["apart"] = net.bus[net.bus.in_service], net.switch[~net.switch.closed]
    for name in _READ - {"bus", "bus_geodata", "line_geodata"}:
        table = net[name]
        ends = [c for c in ("bus", "from_bus", "to_bus", "hv_bus", "lv_bus") if c in table]
        live = table[ends].isin(net.bus.index).all(axis=1)
        net[name] = table[live & (table.closed if name == "switch" else table.in_service)]
    return list(_commands(net))


def _commands(net: Any) -> Iterator[str]:
    if len(net.ext_grid) != 1:
        said = "the network has no single external grid"
        raise InputError(said, net.name, found=f"{len(net.ext_grid)} in service")
    first = net.ext_grid.iloc[0]
    at, level = int(first.bus), net.bus.vn_kv
    yield "Clear"
    # Power flows hold the voltage there: a short-circuit power is for short circuits.
    yield (
        f"New Circuit.net Bus1=b{at} BasekV={level[at]:.7g} pu={first.vm_pu:.7g} Phases=3 "
        f"Angle={first.va_degree:.7g} MVAsc3={STIFF:g} MVAsc1={STIFF:g} Frequency={net.f_hz:g}"
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


def _ends(net: Any, kind: str, k: int, *buses: int) -> list[str]:
    """Return the buses of an element, an own one behind an open switch; none if it is alone."""
    off = set(net.apart.bus[(net.apart.et == kind) & (net.apart.element == k)])
    return [f"b{b}_{kind}{k}" if b in off else f"b{b}" for b in buses] if off < {*buses} else []


def _refused(net: Any, what: str, column: str, found: object) -> InputError:
    return InputError(f"{what} has a {column} that is not read", net.name, found=str(found))


def _lines(net: Any) -> Iterator[str]:
    for k, line in net.line.iterrows():
        ends = _ends(net, "l", k, int(line.from_bus), int(line.to_bus))
        if not ends:
            continue
        own, names = line.dropna(), (("r", "ohm"), ("x", "ohm"), ("c", "nf"))
        one = [own[f"{n}_{unit}_per_km"] for n, unit in names]
        zero = [own.get(f"{n}0_{u}_per_km", a) for a, (n, u) in zip(one, names, strict=True)]
        count, most = line.get("parallel", 1), line.max_i_ka * 1e3 * line.get("df", 1.0)
        values = " ".join(
            f"{name}={value / count if name[0] in 'RX' else value * count:.7g}"
            for name, value in zip(("R1", "X1", "C1", "R0", "X0", "C0"), (*one, *zero), strict=True)
        )
        yield (
            f"New Line.l{k} Bus1={ends[0]} Bus2={ends[1]} Phases=3 "
            f"Length={line.length_km:.7g} Units=km {values} NormAmps={most * count:.7g}"
        )
        if line.get("g_us_per_km", 0) > 0:
            raise _refused(net, f"line {k}", "g_us_per_km", line.g_us_per_km)
    ties = net.switch[net.switch.et == "b"]
    for k, tie in ties[ties.element.isin(net.bus.index)].iterrows():
        ohm, most = tie.get("z_ohm", 0.0) / 5**0.5, tie.get("in_ka", 0.0) * 1e3
        r, x = (2 * ohm, ohm) if ohm > 0 else (1e-4, 0.0)  # as pandapower divides it
        yield (
            f"New Line.s{k} Bus1=b{int(tie.bus)} Bus2=b{int(tie.element)} Phases=3 Switch=y "
            f"R1={r:.9g} X1={x:.9g} R0={r:.9g} X0={x:.9g} C1=0 C0=0 Length=1 "
            f"NormAmps={most if most > 0 else 0:.7g}"
        )


def _ratio(net: Any, k: int, unit: Any) -> float:
    """Return what a tap makes of the voltage of its side; InputError where it does more."""
    own = unit.dropna()
    kind = own.get("tap_changer_type", "" if "tap_changer_type" in unit else "Ratio")
    moved = (own.get("tap_pos", 0) - own.get("tap_neutral", 0)) * ("tap_pos" in own and kind != "")
    found = {
        "df": own.get("df", 1.0) != 1,
        "tap2_pos": own.get("tap2_pos", 0) != own.get("tap2_neutral", 0),
        "tap_dependency_table": own.get("tap_dependency_table", False),
        "tap_phase_shifter": moved and own.get("tap_phase_shifter", False),
        "tap_step_degree": moved and own.get("tap_step_degree", 0),
        "tap_changer_type": moved and kind not in ("Ratio", "Symmetrical"),
    }
    for name in (name for name, wrong in found.items() if wrong):
        raise _refused(net, f"trafo {k}", name, own[name])
    return 1.0 + float(moved * own.get("tap_step_percent", 0.0)) / 100


def _transformers(net: Any) -> Iterator[str]:
    for k, unit in net.trafo.iterrows():
        ends = _ends(net, "t", k, int(unit.hv_bus), int(unit.lv_bus))
        if not ends:
            continue
        reactance = (unit.vk_percent**2 - unit.vkr_percent**2) ** 0.5
        group = re.match("(YN?|D)(yn?|d)", str(unit.get("vector_group") or "Dyn"), re.I)
        if group is None:  # windings in zigzag
            raise _refused(net, f"trafo {k}", "vector_group", unit.vector_group)
        high, low = ("delta" if c.lower() == "d" else "wye" for c in group.groups())
        ratio = _ratio(net, k, unit)
        taps = f"[{ratio:.9g} 1]" if unit.get("tap_side") != "lv" else f"[1 {ratio:.9g}]"
        rated = unit.sn_mva * 1e3 * unit.get("parallel", 1)
        idle = unit.pfe_kw / unit.sn_mva / 10
        lead = " LeadLag=Lead" if unit.get("shift_degree", 0) % 360 == 330 else ""
        yield (
            f"New Transformer.t{k} Phases=3 Windings=2 Buses=[{ends[0]} {ends[1]}] "
            f"Conns=[{high} {low}] kVs=[{unit.vn_hv_kv:.7g} {unit.vn_lv_kv:.7g}] "
            f"kVAs=[{rated:.7g} {rated:.7g}] XHL={reactance:.7g} %LoadLoss={unit.vkr_percent:.7g} "
            f"%NoLoadLoss={idle:.7g} %imag={max(unit.i0_percent**2 - idle**2, 0) ** 0.5:.7g} "
            f"Taps={taps}{lead}"
        )


def _loads(net: Any) -> Iterator[str]:
    """Yield loads, and as generators what the factor of all loads leaves as it is."""
    for table in ("load", "sgen", "storage", "asymmetric_load", "asymmetric_sgen"):
        kind = "Load" if table.endswith("load") else "Generator"
        for k, row in net[table].iterrows():
            delta, model = row.get("type") == "delta", _model(row)
            scale = row.get("scaling", 1.0) * (-1e3 if table == "storage" else 1e3)
            for number, phase in enumerate(("a_", "b_", "c_") if "_" in table else ("",), start=1):
                power = complex(row[f"p_{phase}mw"], row[f"q_{phase}mvar"]) * scale
                nodes = f".{number}" + f".{number % 3 + 1}" * delta if phase else ""
                level = net.bus.vn_kv[row.bus] / (3**0.5 if phase and not delta else 1)
                if power or not phase:
                    yield (
                        f"New {kind}.{table}{k}{phase[:1]} Bus1=b{int(row.bus)}{nodes} {model} "
                        f"Phases={1 if phase else 3} Conn={'Delta' if delta else 'Wye'} "
                        f"kV={level:.9g} kW={power.real:.9g} kvar={power.imag:.9g} "
                        "Vminpu=0.1 Vmaxpu=3"
                    )
    for k, row in net.shunt.iterrows():
        if row.dropna().get("step_dependency_table"):
            raise _refused(net, f"shunt {k}", "step_dependency_table", "true")
        level = row.dropna().get("vn_kv", net.bus.vn_kv[row.bus])
        if power := complex(row.p_mw, row.q_mvar) * row.step:
            ohm = level**2 / power.conjugate()
            own = f"New Reactor.shunt{k} Bus1=b{int(row.bus)} Phases=3"
            yield f"{own} R={ohm.real:.9g} X={ohm.imag:.9g}"


def _model(row: Any) -> str:
    """Return the model of a load, by its shares of constant impedance and current."""
    own, shares = row.dropna(), []
    for way in "pq":
        z, i = (
            own.get(f"const_{k}_{way}_percent", own.get(f"const_{k}_percent", 0.0)) for k in "zi"
        )
        shares += [z / 100, i / 100, 1 - (z + i) / 100]
    for model, pure in ((1, [0, 0, 1]), (2, [1, 0, 0]), (5, [0, 1, 0])):
        if shares == pure * 2:
            return f"Model={model}"
    return f"Model=8 ZIPV=({' '.join(f'{x:.9g}' for x in shares)} 0)"


def _places(net: Any) -> Iterator[tuple[int, tuple[float, float]]]:
    for bus, text in net.bus.get("geo", {}).items():
        if isinstance(text, str):
            x, y = json.loads(text)["coordinates"][:2]
            yield int(bus), (x, y)

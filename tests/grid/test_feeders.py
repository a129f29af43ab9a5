"""Power flows of feeders against published results and second engines."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.tools import Session

# IEEE PES Distribution Test Feeders, 13 nodes: magnitude [p.u.] and angle [deg].
PUBLISHED = {
    **{"rg60.1": (1.0625, 0.0), "rg60.2": (1.0500, -120.0), "rg60.3": (1.0687, 120.0)},
    **{"632.1": (1.0210, -2.49), "632.2": (1.0420, -121.72), "632.3": (1.0174, 117.83)},
    **{"633.1": (1.0180, -2.56), "633.2": (1.0401, -121.77), "633.3": (1.0148, 117.82)},
    **{"634.1": (0.9940, -3.23), "634.2": (1.0218, -122.22), "634.3": (0.9960, 117.34)},
    **{"645.2": (1.0329, -121.90), "645.3": (1.0155, 117.86)},
    **{"646.2": (1.0311, -121.98), "646.3": (1.0134, 117.90)},
    **{"671.1": (0.9900, -5.30), "671.2": (1.0529, -122.34), "671.3": (0.9778, 116.02)},
    **{"684.1": (0.9881, -5.32), "684.3": (0.9758, 115.92)},
    **{"611.3": (0.9738, 115.78), "652.1": (0.9825, -5.25)},
    **{"675.1": (0.9835, -5.56), "675.2": (1.0553, -122.52), "675.3": (0.9758, 116.03)},
}
TWO_NODES = """Clear
Set DefaultBaseFrequency=50
New Circuit.two Bus1=a BasekV=0.4 pu=1 Phases=3 MVAsc3=1e6 MVAsc1=1e6 Frequency=50
New Line.cable Bus1=a Bus2=b Phases=3 R1=0.1 X1=0 R0=0.1 X0=0 C1=0 C0=0 Length=1 NormAmps=50
New Load.one Bus1=b Phases=3 Conn=Wye Model=2 kV=0.4 kW=16 kvar=0
Set VoltageBases=[0.4]
CalcVoltageBases
"""


def call(name: str, folder: Path, **arguments: Any) -> Mapping[str, Any]:
    """Call a tool in a new session and return its answer."""
    seen = Session(folder).call(name, arguments)
    assert seen.status == "done", seen.content
    return seen.content


def refused(name: str, folder: Path, **arguments: Any) -> str:
    """Call a tool that has to fail and return its message."""
    seen = Session(folder).call(name, arguments)
    assert seen.status == "failed"
    return str(seen.content["error"])


def test_the_13_node_feeder_has_its_published_voltages(tmp_path: Path) -> None:
    found = {v["node"]: v for v in call("grid_power_flow", tmp_path, case="ieee13")["voltages"]}
    for node, (size, angle) in PUBLISHED.items():
        assert found[node]["magnitude_pu"] == pytest.approx(size, abs=0.002), node
        assert found[node]["angle_deg"] == pytest.approx(angle, abs=0.1), node


@pytest.mark.parametrize("case", ["ieee13", "ieee34", "ieee123"])
def test_currents_on_the_admittances_give_the_same_voltages(case: str, tmp_path: Path) -> None:
    found = call("grid_power_flow", tmp_path, case=case, engine="ybus", load=0.9)
    assert found["difference_pu"] < 1e-4


def test_power_grid_model_gives_the_same_voltages(tmp_path: Path) -> None:
    units = ["b900=30"]
    found = call(
        "grid_power_flow", tmp_path, case="european_lv", engine="power-grid-model", units=units
    )
    assert found["difference_pu"] < 1e-6
    assert "one phase" in refused(
        "grid_power_flow", tmp_path, case="ieee13", engine="power-grid-model"
    )


def test_a_file_of_the_session_is_solved_in_closed_form(tmp_path: Path) -> None:
    (tmp_path / "two.dss").write_text(TWO_NODES)
    found = call("grid_power_flow", tmp_path, case="two.dss")
    far = {v["node"]: v["magnitude_pu"] for v in found["voltages"]}["b.1"]
    load = 400**2 / 16e3  # of each phase. [ohm]
    assert far == pytest.approx(load / (load + 0.1), rel=1e-6)
    assert found["losses"]["active_kw"] == pytest.approx(
        3 * (400 / np.sqrt(3) / (load + 0.1)) ** 2 * 0.1 / 1e3, rel=1e-5
    )
    fed = call("grid_power_flow", tmp_path, case="two.dss", units=["b=16"])
    assert fed["source"]["active_kw"] == pytest.approx(0.0, abs=0.02)  # what is drawn is fed in


def test_energy_of_a_series_is_that_of_its_stamps(tmp_path: Path) -> None:
    (tmp_path / "two.dss").write_text(TWO_NODES)
    rows = [f"2026-07-01T{h:02d}:00,{0.5 + 0.1 * h},{h}" for h in range(4)]
    (tmp_path / "day.csv").write_text("time,load,units\n" + "\n".join(rows) + "\n")
    options = {"case": "two.dss", "profiles": "day.csv", "units": ["b=1"]}
    series = call("grid_time_series", tmp_path, **options)
    single = [
        call("grid_power_flow", tmp_path, stamp=f"2026-07-01T{h:02d}:00", **options)
        for h in range(4)
    ]
    powers = [found["source"]["active_kw"] for found in single]
    assert series["active_kw"] == pytest.approx(powers)
    assert series["energy_kwh"] == pytest.approx(sum(powers))
    part = call("grid_time_series", tmp_path, first="01:00", last="02:00", **options)
    assert part["active_kw"] == pytest.approx(powers[1:3])
    back = {"first": "02:00", "last": "01:00"}
    assert "before the first" in refused("grid_time_series", tmp_path, **back, **options)
    assert "single stamp" in refused("grid_time_series", tmp_path, stamp="01:00", **options)
    assert "many stamps" in refused("grid_power_flow", tmp_path, **options)
    assert call("grid_time_series", tmp_path, case="two.dss")["stamps"][9] == "09:00"


def test_violations_are_the_nodes_out_of_their_band(tmp_path: Path) -> None:
    voltages = call("grid_power_flow", tmp_path, case="ieee13")["voltages"]
    outside = {v["node"] for v in voltages if not 0.98 <= v["magnitude_pu"] <= 1.05}
    found = call("grid_violations", tmp_path, case="ieee13", low=0.98, high=1.05)
    assert {v["place"] for v in found["violations"]} == outside
    wide = call(
        "grid_violations", tmp_path, case="ieee13", low=0.98, high=1.07, own_bands=["611=0.9..1.1"]
    )
    assert not any(v["place"].startswith("611") for v in wide["violations"])
    loaded = call("grid_violations", tmp_path, case="ieee13", low=0, high=2, loading=1)
    shares = {
        b["name"]: b["loading"] for b in call("grid_losses", tmp_path, case="ieee13")["branches"]
    }
    assert {v["place"] for v in loaded["violations"]} == {
        n for n, s in shares.items() if s and s > 1
    }


def test_what_lies_behind_an_open_switch_is_without_voltage(tmp_path: Path) -> None:
    behind = """New Line.switch Bus1=b Bus2=c Phases=3 R1=0.1 X1=0 R0=0.1 X0=0 C1=0 C0=0 NormAmps=50
New Load.two Bus1=c Phases=3 Conn=Wye Model=1 kV=0.4 kW=9 kvar=2
Set Volt"""
    (tmp_path / "two.dss").write_text(TWO_NODES)
    (tmp_path / "three.dss").write_text(TWO_NODES.replace("Set Volt", behind))
    alone = call("grid_power_flow", tmp_path, case="two.dss")
    outage = {"case": "three.dss", "set": ["Open Line.switch 1"]}
    found = call("grid_power_flow", tmp_path, **outage)
    sizes = {v["node"]: v["magnitude_pu"] for v in found["voltages"]}
    assert {v["node"]: v["magnitude_pu"] for v in alone["voltages"]} == pytest.approx(
        {node: size for node, size in sizes.items() if not node.startswith("c.")}, abs=1e-7
    )
    assert [sizes[f"c.{phase}"] for phase in "123"] == [0, 0, 0]
    seen = call("grid_violations", tmp_path, low=0.5, **outage)
    assert {v["place"] for v in seen["violations"]} == {"c.1", "c.2", "c.3"}
    one = call("grid_power_flow", tmp_path, case="three.dss", set=["Open Line.switch 1 2"])
    sizes = {v["node"]: v["magnitude_pu"] for v in one["voltages"]}
    assert sizes.pop("c.2") == 0
    assert one["lowest"]["magnitude_pu"] == pytest.approx(min(sizes.values()), abs=1e-8)
    for tool in ("grid_hosting_capacity", "grid_infeasibility"):
        assert "c.1, c.2, c.3 switched off" in refused(tool, tmp_path, **outage)


def test_losses_of_branches_add_up(tmp_path: Path) -> None:
    found = call("grid_losses", tmp_path, case="ieee123")
    flow = call("grid_power_flow", tmp_path, case="ieee123")
    total = sum(branch["losses_kw"] for branch in found["branches"])
    assert total == pytest.approx(flow["losses"]["active_kw"], rel=1e-6)


LONG = """Clear
New Circuit.long Bus1=a BasekV=12.47 pu=1 Phases=3 MVAsc3=500 MVAsc1=500
New Line.l Bus1=a Bus2=b Phases=3 R1=6 X1=6 R0=9 X0=12 C1=0 C0=0 Length=1
New Transformer.t Phases=1 Windings=2 Buses=[b.1.2 c.1] Conns=[delta wye] kVs=[12.47 0.24]
~ kVAs=[100 100] XHL=2 %LoadLoss=1
New Transformer.d Phases=3 Windings=2 Buses=[b y] Conns=[delta wye] kVs=[12.47 0.4] kVAs=[200 200]
~ XHL=4 %LoadLoss=1
New Load.big Bus1=b Phases=3 kV=12.47 kW=1200 kvar=500 Model=1
New Load.house Bus1=c.1 Phases=1 kV=0.24 kW=130 kvar=0 Model=1 Vminpu=0.7
New Load.one Bus1=y.1 Phases=1 kV=0.231 kW=80 kvar=0 Model=1 Vminpu=0.7
New Generator.sun Bus1=b Phases=3 kV=12.47 kW=90 kvar=0 Model=1 Vminpu=0.5
Set VoltageBases=[12.47 0.416]
CalcVoltageBases
"""


def test_loads_of_a_file_are_those_of_its_file(tmp_path: Path) -> None:
    import opendssdirect as dss

    (tmp_path / "long.dss").write_text(LONG)
    found = call("grid_power_flow", tmp_path, case="long.dss")
    losses = call("grid_losses", tmp_path, case="long.dss")["branches"]
    violations = call("grid_violations", tmp_path, case="long.dss", loading=1, low=0, high=2)
    constant = call("grid_power_flow", tmp_path, case="long.dss", engine="ybus")
    (tmp_path / "half.dss").write_text(LONG + "Set LoadMult=0.5\n")
    half = call("grid_power_flow", tmp_path, case="half.dss", load=2, engine="ybus")
    assert half["lowest"] == pytest.approx(constant["lowest"])
    dss.Text.Command(f'Compile "{tmp_path / "long.dss"}"')
    dss.Solution.Solve()
    sizes = dict(zip(dss.Circuit.AllNodeNames(), dss.Circuit.AllBusMagPu(), strict=True))
    assert sizes["b.3"] < 0.94  # the large load is below its lowest voltage
    assert {v["node"]: v["magnitude_pu"] for v in found["voltages"]} == pytest.approx(
        sizes, abs=1e-4
    )
    # Each current over that of the winding's rating: a unit between two phases, a single phase.
    shares = {b["name"]: b["loading"] for b in losses}
    for name, volts in (("t", 240), ("d", 400 / 3**0.5)):
        dss.Circuit.SetActiveElement(f"Transformer.{name}")
        current = max(dss.CktElement.CurrentsMagAng()[0::2])
        rated = {"t": 100e3 / volts, "d": 200e3 / 3 / volts}[name]
        assert shares[f"transformer.{name}"] == pytest.approx(current / rated, rel=1e-3)
        assert current / rated > 1.3
    assert {v["place"] for v in violations["violations"]} == {"transformer.t", "transformer.d"}
    # A second engine has constant powers throughout, and so has what it is held against.
    assert constant["difference_pu"] < 1e-6
    lowest = min(v["magnitude_pu"] for v in constant["voltages"])
    assert lowest < found["lowest"]["magnitude_pu"] - 1e-3


def test_elements_are_counted_and_exported(tmp_path: Path) -> None:
    counts = call("grid_counts", tmp_path, case="ieee34")
    found = call("grid_elements", tmp_path, case="ieee34", kind="capacitor", file="banks.csv")
    assert found["count"] == counts["elements"]["capacitor"] == 2
    assert len((tmp_path / "banks.csv").read_text().splitlines()) == 3
    high = call("grid_elements", tmp_path, case="ieee34", kind="bus", voltage=4.16)
    assert {row["name"] for row in high["elements"]} == {"888", "890"}
    assert "already" in refused(
        "grid_elements", tmp_path, case="ieee34", kind="load", file="banks.csv"
    )
    said = refused("grid_elements", tmp_path, case="ieee34", kind="load", below=0.95)
    assert "below is of voltages; found load; expected bus or node" in said


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"case": "ieee31"}, "no test feeder"),
        ({"case": "ieee13", "units": ["67=5"]}, "no node"),
        ({"case": "ieee13", "units": ["675=much"]}, "no number"),
        ({"case": "nothing.dss"}, "no such file"),
        ({"case": "ieee13", "set": ["Capacitor.None.kvar=1"]}, "OpenDSS refuses"),
        ({"case": "ieee13", "stamp": "25:00"}, "no such stamp"),
        ({"case": "ieee13", "load": 40}, "grid_infeasibility"),
    ],
)
def test_wrong_calls_say_what_is_wrong(arguments: Any, part: str, tmp_path: Path) -> None:
    assert part in refused("grid_power_flow", tmp_path, **arguments)


def test_a_column_of_no_load_is_refused(tmp_path: Path) -> None:
    (tmp_path / "day.csv").write_text("time,pump\n2026-07-01T00:00,1\n2026-07-01T01:00,1\n")
    options = {"case": "ieee13", "profiles": "day.csv", "stamp": "00:00"}
    said = refused("grid_power_flow", tmp_path, **options)
    assert "'pump' is no load of ieee13" in said


def test_pictures_show_every_bus(tmp_path: Path) -> None:
    call("grid_map", tmp_path, case="ieee13", file="map.svg")
    call("grid_map", tmp_path, case="ieee13", colour="loading", file="map.geojson")
    call("grid_profile", tmp_path, case="ieee34", file="profile.svg")
    circles = ET.parse(tmp_path / "map.svg").findall(".//{http://www.w3.org/2000/svg}circle")
    assert len(circles) == 16
    features = json.loads((tmp_path / "map.geojson").read_text())["features"]
    lines = [f for f in features if f["geometry"]["type"] == "LineString"]
    assert any(f["properties"]["loading"] for f in lines)
    assert ET.parse(tmp_path / "profile.svg").getroot().tag.endswith("svg")


def test_a_column_without_numbers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "day.csv").write_text("time,load\n2026-07-01T00:00,x\n2026-07-01T01:00,y\n")
    said = refused("grid_time_series", tmp_path, case="ieee13", profiles="day.csv")
    assert "the column 'load' has no numbers" in said
    for tool in ("grid_hosting_capacity", "grid_violations", "grid_time_series"):
        assert "is empty" in refused(tool, tmp_path, case="ieee13", low=1.1, high=1)


def _village(pandapower: Any) -> Any:
    net = pandapower.create_empty_network()
    buses = [pandapower.create_bus(net, level) for level in (20, 0.4, 0.4, 0.4)]
    pandapower.create_ext_grid(net, buses[0], vm_pu=1.02)
    pandapower.create_transformer(net, buses[0], buses[1], "0.4 MVA 20/0.4 kV")
    pandapower.create_line(net, buses[1], buses[2], 0.3, "NAYY 4x150 SE")
    pandapower.create_line(net, buses[2], buses[3], 0.1, "NAYY 4x150 SE")
    pandapower.create_load(net, buses[2], 0.1, 0.02)
    pandapower.create_load(net, buses[3], 0.04, 0.01)
    return net


def _second(net: Any, pandapower: Any, bus: int) -> None:
    pandapower.create_transformer(net, 0, 1, "0.4 MVA 20/0.4 kV")
    pandapower.create_switch(net, bus, 1, "t", closed=False)


def _tied(net: Any, pandapower: Any) -> None:
    pandapower.create_load(net, pandapower.create_bus(net, 0.4), 0.02)
    pandapower.create_switch(net, 3, 4, "b", z_ohm=0.05)


CHANGES: dict[str, Any] = {
    "none": lambda net, _: None,
    "parallel": lambda net, _: net.trafo.__setitem__("parallel", 2),
    "no tap changer": lambda net, _: (
        net.trafo.__setitem__("tap_pos", 2),
        net.trafo.__setitem__("tap_changer_type", None),
    ),
    "tap": lambda net, _: net.trafo.__setitem__("tap_pos", 2),
    "open above": lambda net, pandapower: _second(net, pandapower, 0),
    "open below": lambda net, pandapower: _second(net, pandapower, 1),
    "dead bus": lambda net, _: net.bus.loc.__setitem__((3, "in_service"), False),
    "open line": lambda net, pandapower: pandapower.create_switch(net, 2, 1, "l", closed=False),
    "impedance": lambda net, _: [
        net.load.__setitem__(f"const_z_{way}_percent", 100.0) for way in "pq"
    ],
    "mixed": lambda net, _: (
        net.load.__setitem__("const_z_p_percent", 30.0),
        net.load.__setitem__("const_i_p_percent", 20.0),
    ),
    "short circuits": lambda net, _: net.ext_grid.__setitem__("s_sc_max_mva", 2.0),
    "derated": lambda net, _: net.line.__setitem__("df", 0.5),
    "shunt": lambda net, pandapower: pandapower.create_shunt(net, 3, -0.05, 0.01, vn_kv=0.42),
    "switch": lambda net, pandapower: _tied(net, pandapower),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_network_of_pandapower_has_its_voltages(name: str, tmp_path: Path) -> None:
    pandapower = pytest.importorskip("pandapower")
    net = _village(pandapower)
    CHANGES[name](net, pandapower)
    pandapower.runpp(net)
    pandapower.to_json(net, str(tmp_path / "net.json"))
    found = call("grid_power_flow", tmp_path, case="net.json")
    sizes = {v["node"]: v["magnitude_pu"] for v in found["voltages"]}
    for bus, size in net.res_bus.vm_pu.dropna().items():
        assert sizes[f"b{bus}.1"] == pytest.approx(size, abs=1e-4)
    power = net.res_ext_grid.p_mw.sum() * 1e3
    assert found["source"]["active_kw"] == pytest.approx(power, abs=0.05)
    branches = call("grid_losses", tmp_path, case="net.json")["branches"]
    loading = {branch["name"]: branch["loading"] for branch in branches}
    for k, share in net.res_line.loading_percent.dropna().items():
        assert loading.get(f"line.l{k}", 0) == pytest.approx(share / 100, abs=1e-3)


def test_only_loads_of_pandapower_have_the_factor_of_loads(tmp_path: Path) -> None:
    pandapower = pytest.importorskip("pandapower")
    net = _village(pandapower)
    pandapower.create_sgen(net, 3, 0.08)
    pandapower.create_storage(net, 3, 0.01, 0.1)
    pandapower.to_json(net, str(tmp_path / "net.json"))
    net.load["scaling"] = 0.5
    pandapower.runpp(net)
    found = call("grid_power_flow", tmp_path, case="net.json", load=0.5, engine="ybus")
    power = net.res_ext_grid.p_mw.sum() * 1e3
    assert found["source"]["active_kw"] == pytest.approx(power, abs=0.05)
    assert found["difference_pu"] < 1e-6
    assert call("grid_counts", tmp_path, case="net.json")["load"]["active_kw"] == pytest.approx(140)
    plan = call("grid_hosting_capacity", tmp_path, case="net.json", load=0.5, power=20)
    assert {u["unit"] for u in plan["results"][0]["units"]} == {
        f"b{k}.{p}" for k in (2, 3) for p in "123"
    }
    assert plan["results"][0]["executed"]["reproduced"]
    net.sgen["scaling"] = 0.25
    pandapower.runpp(net)
    power = net.res_ext_grid.p_mw.sum() * 1e3
    rows = "time,load,generator.sgen0\n2026-07-01T00:00,0.5,0.25\n2026-07-01T01:00,0,0\n"
    (tmp_path / "day.csv").write_text(rows)
    series = call("grid_time_series", tmp_path, case="net.json", profiles="day.csv")
    assert series["active_kw"][0] == pytest.approx(power, abs=0.05)


def test_loads_in_delta_of_pandapower_lie_between_phases(tmp_path: Path) -> None:
    pandapower = pytest.importorskip("pandapower")
    net = _village(pandapower)
    power = {"p_a_mw": 0.03, "q_a_mvar": 0.01, "p_b_mw": 0.005, "q_b_mvar": 0}
    pandapower.create_asymmetric_load(net, 3, **power, p_c_mw=0.01, q_c_mvar=0, type="delta")
    grid = {"s_sc_max_mva": 1e5, "rx_max": 0.1, "x0x_max": 1, "r0x0_max": 0.1}
    net.ext_grid = net.ext_grid.assign(**grid)
    for name in ("r", "x", "c"):
        unit = "nf" if name == "c" else "ohm"
        net.line[f"{name}0_{unit}_per_km"] = net.line[f"{name}_{unit}_per_km"]
    own: dict[str, Any] = {
        "vector_group": "Dyn",
        "vk0_percent": 6.0,
        "vkr0_percent": 1.4,
        "mag0_percent": 1e6,
    }
    net.trafo = net.trafo.assign(**own, mag0_rx=0.0, si0_hv_partial=0.9)
    pandapower.runpp_3ph(net)
    pandapower.to_json(net, str(tmp_path / "net.json"))
    found = call("grid_power_flow", tmp_path, case="net.json")
    sizes = {v["node"]: v["magnitude_pu"] for v in found["voltages"]}
    for number, phase in enumerate("abc", start=1):
        size = net.res_bus_3ph[f"vm_{phase}_pu"][3]
        assert sizes[f"b3.{number}"] == pytest.approx(size, abs=1e-4)


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("trafo", "df", 0.8),
        ("trafo", "vector_group", "Yzn5"),
        ("trafo", "tap_changer_type", "Ideal"),
        ("line", "g_us_per_km", 9.0),
    ],
)
def test_what_is_not_read_of_pandapower_is_named(
    table: str, column: str, value: Any, tmp_path: Path
) -> None:
    pandapower = pytest.importorskip("pandapower")
    net = _village(pandapower)
    net.trafo["tap_pos"] = 2
    net[table][column] = value
    pandapower.to_json(net, str(tmp_path / "net.json"))
    said = refused("grid_power_flow", tmp_path, case="net.json")
    assert f"net.json: {table} 0 has a {column} that is not read; found {value}" in said


MIXED = """Clear
New Circuit.mixed Bus1=a BasekV=12.47 pu=1.02 Phases=3 MVAsc3=500 MVAsc1=400
New Line.l Bus1=a Bus2=b Phases=3 R1=1 X1=2 R0=2 X0=5 C1=0 C0=0 Length=1 NormAmps=100
New Transformer.house Phases=1 Windings=3 Buses=[b.2 h.1.0 h.0.2] kVs=[7.2 0.12 0.12]
~ kVAs=[50 50 50] XHL=2.04 XHT=2.04 XLT=1.36 %Rs=[0.6 1.2 1.2]
New Load.one Bus1=h.1 Phases=1 kV=0.12 kW=8 kvar=2 Model=1
New Load.both Bus1=h.1.2 Phases=1 kV=0.24 kW=9 kvar=1 Model=1
New Load.delta Bus1=b Phases=3 Conn=Delta kV=12.47 kW=300 kvar=90 Model=5
New PVSystem.roof Bus1=b.3 Phases=1 kV=7.2 kVA=150 Pmpp=120 irradiance=0.8 %cutin=0 %cutout=0
New Storage.store Bus1=b Phases=3 kV=12.47 kWrated=100 kWhrated=400 state=discharging
Set VoltageBases=[12.47 0.208]
CalcVoltageBases
"""


def test_split_phases_and_what_feeds_in_are_the_same_to_a_second_engine(tmp_path: Path) -> None:
    (tmp_path / "mixed.dss").write_text(MIXED)
    found = call("grid_power_flow", tmp_path, case="mixed.dss", engine="ybus", units=["b=30"])
    assert found["difference_pu"] < 1e-7
    options: dict[str, Any] = {"case": "mixed.dss", "low": 0.9, "available": ["b=9000", "b.1=90"]}
    free = call("grid_hosting_capacity", tmp_path, **options)["results"][0]
    there = call("grid_hosting_capacity", tmp_path, units=["b=2 MW"], **options)["results"][0]
    for plan in (free, there):
        assert plan["executed"]["reproduced"]
        assert plan["executed"]["violations"] == []
    assert [u["available_kw"] for u in free["units"]] == pytest.approx([3090, 3000, 3000])
    # What is there already takes room from what is to come.
    assert there["hosted_kw"] < free["hosted_kw"] - 1900
    units = call("grid_elements", tmp_path, case="mixed.dss", kind="transformer")["elements"]
    drawn = units[0]["active_kw"]  # all of the house, with its losses
    assert 17 < drawn < 17.5
    more = "New Isource.hum Bus1=b Phases=3 Amps=2 Frequency=60\nSet Volt"
    (tmp_path / "hum.dss").write_text(MIXED.replace("Set Volt", more))
    assert "isource.hum" in refused("grid_infeasibility", tmp_path, case="hum.dss")


def test_a_branch_with_one_open_phase_has_its_losses(tmp_path: Path) -> None:
    (tmp_path / "two.dss").write_text(TWO_NODES)
    outage = {"case": "two.dss", "set": ["Open Line.cable 1 2"]}
    losses = call("grid_losses", tmp_path, **outage)
    assert losses["branches"][0]["losses_kw"] == pytest.approx(losses["losses_kw"], rel=1e-6)
    assert losses["losses_kw"] > 0


def test_quantities_of_entries_keep_their_units(tmp_path: Path) -> None:
    (tmp_path / "two.dss").write_text(TWO_NODES)
    one, other = (
        call("grid_power_flow", tmp_path, case="two.dss", units=[text])["source"]
        for text in ("b=0.004 MW", "b=4")
    )
    assert one == pytest.approx(other)
    for text in ("b=4 kWh", "b=nan", "b=4 V"):
        assert "no number" in refused("grid_power_flow", tmp_path, case="two.dss", units=[text])
    fed = {"case": "two.dss", "available": ["b=-4"]}
    assert "below 0" in refused("grid_hosting_capacity", tmp_path, **fed)


def test_commands_of_a_call_count_like_lines_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "two.dss").write_text(TWO_NODES)
    commands = ["Load.one.kW=8", "New Load.two Bus1=b Phases=3 kV=0.4 kW=4 kvar=0 Model=1"]
    (tmp_path / "own.dss").write_text(TWO_NODES + "\n".join([*commands, "Set LoadMult=0.5"]))
    (tmp_path / "day.csv").write_text("time,load,one\n2026-07-01T00:00,0,1.5\n2026-07-01T01:00,1,1")
    given = {"profiles": "day.csv", "stamp": "00:00"}
    own = call("grid_power_flow", tmp_path, case="own.dss", **given)
    commands.append("Set LoadMult=0.5")
    found = call("grid_power_flow", tmp_path, case="two.dss", set=commands, **given)
    assert found["source"] == pytest.approx(own["source"])
    # The others draw nothing, the one with a column of its own half of 1.5 times its power.
    power = found["source"]["active_kw"] - found["losses"]["active_kw"]
    assert power == pytest.approx(6, rel=0.02)

"""A feeder between the buses: voltages of LinDistFlow, and of the power flow with losses."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from engiagent.errors import EngiagentError
from engiagent.formulations.classify import classify
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.models.grids import Bus, Feeder, Line, Transformer
from engiagent.models.grids.feeder import lindistflow
from engiagent.plant.site import Site
from engiagent.run.certify import certify, executed
from tests.formulations.components.plans import plan_of, solved
from tests.written import mapping

LINES: dict[str, dict[str, Any]] = mapping("""
    L1: {from: low, to: mid, resistance: 0.05, reactance: 0.02, ampacity: 200, susceptance: 40}
    L2: {from: mid, to: end, resistance: 0.08, reactance: 0.02, ampacity: 120}
    L3: {from: side, to: mid, resistance: 0.1, reactance: 0.03}
""")
TRAFO: dict[str, Any] = mapping("""
    {from: station, to: low, rated_power: 250, from_voltage: 10, to_voltage: 0.4,
      short_circuit_voltage: 0.04, load_loss: 3, no_load_current: 0.002, no_load_loss: 0.4,
      tap: 1.02}
""")
BUSES = {"station": 10, "low": 0.4, "mid": 0.4, "end": 0.4, "side": 0.4}


def parts(kind: Any, given: dict[str, dict[str, Any]]) -> Any:
    return tuple(
        kind(
            name=name,
            from_bus=part["from"],
            to_bus=part["to"],
            **{k: v for k, v in part.items() if k not in ("from", "to")},
        )
        for name, part in given.items()
    )


FEEDER = Feeder(
    buses=tuple(Bus(name=name, nominal_voltage=kv) for name, kv in BUSES.items()),
    source="station",
    lines=parts(Line, LINES),
    transformers=parts(Transformer, {"T": TRAFO}),
)
DEMAND = {"mid": [20.0, 30.0], "end": [25.0, 10.0], "side": [12.0, -0.0]}
REACTIVE = {"end": 8.0}


def site(scheme: str = "linear", **more: Any) -> Site:
    result = Site(start="2025-01-01T00:00", step="1 h", periods=2)
    result.add("grid", "grid", bus="station", import_power_max=400, export_power_max=400)
    for bus, power in DEMAND.items():
        result.add(f"at_{bus}", "load", bus=bus, power=power)
    result.add(
        "net",
        "feeder",
        source="station",
        buses=BUSES,
        lines=LINES,
        transformers={"T": TRAFO},
        reactive=REACTIVE,
        scheme=scheme,
        **more,
    )
    result.minimise_cost({"grid": 0.3})
    return result


def demands() -> tuple[np.ndarray, np.ndarray]:
    p, q = np.zeros((2, 5)), np.zeros((2, 5))
    for k, bus in enumerate(BUSES):
        p[:, k], q[:, k] = DEMAND.get(bus, 0.0), REACTIVE.get(bus, 0.0)
    return p, q


def voltages(data: xr.Dataset) -> np.ndarray:
    return np.stack([data[f"net_{bus}_voltage"].values for bus in BUSES], axis=1)


def test_linear_voltages_are_those_of_lindistflow() -> None:
    study = site(source_voltage=1.02)
    assert classify(compile_blueprint(study.blueprint(), None)).problem_class == "LP"
    data = solved(study)
    p, q = demands()
    expected = lindistflow(FEEDER, p, q, np.full(2, 1.02))
    np.testing.assert_allclose(voltages(data), expected, atol=1e-8)
    # Without losses all that comes in is demand, and what the transformer draws at no load, half
    # of it before its tap.
    idle = 0.2 / 1.02**2 + 0.2
    np.testing.assert_allclose(data.grid_import, p.sum(axis=1) + idle, atol=1e-6)


def test_with_losses_voltages_and_import_are_those_of_the_power_flow() -> None:
    study = site("socp", source_voltage=1.02)
    assert classify(compile_blueprint(study.blueprint(), None)).problem_class in ("SOCP", "QP")
    data = solved(study)
    p, q = demands()
    flow = FEEDER.flow(p, q, source_voltage=np.full(2, 1.02))
    np.testing.assert_allclose(voltages(data), flow.voltage, atol=1e-5)
    np.testing.assert_allclose(data.grid_import, flow.import_active, atol=1e-3)
    lost = flow.import_active - p.sum(axis=1)
    np.testing.assert_allclose(data.net_losses, lost, atol=1e-3)
    found = certify(None, data, study.blueprint(), folder=Path(), name="net")
    assert found.verdict != "violated", found.violations


def test_losses_are_counted_unless_the_plan_asks_for_the_linear_scheme() -> None:
    lossy, linear = (
        {e.name for e in expand(fed_in(**scheme).blueprint()).core.expressions}
        for scheme in ({}, {"scheme": "linear"})
    )
    assert lossy - linear == {"net_losses"}


def test_a_linear_plan_is_judged_by_the_power_flow() -> None:
    study = site(source_voltage=1.02, minimum_voltage=0.9625)
    study.require("net_end_voltage[t] >= 0.9625", name="voltage at the end")
    data = solved(study)
    assert data.net_end_voltage.min() == pytest.approx(0.963015, abs=1e-6)  # by LinDistFlow
    p, q = demands()
    flow = FEEDER.flow(p, q, source_voltage=np.full(2, 1.02))
    lowest, bought = flow.voltage[:, 3].min(), flow.import_active - data.grid_import.values
    assert lowest < 0.9625
    found = certify(None, data, study.blueprint(), folder=Path(), name="net")
    assert found.verdict == "violated"
    amounts = {v["check"]: v["amount"] for v in found.violations}
    assert amounts["low:net.end.voltage"] == pytest.approx(0.9625 - lowest, abs=1e-9)
    assert amounts["balance:station"] == pytest.approx(bought.max(), abs=1e-6)
    assert "R1" in amounts  # the requirement too is held against the executed voltage
    entries = {e["quantity"]: e for e in found.levels["physics"]["results"]}
    assert entries["net.end.voltage"]["worst"] < 0 < entries["net.import"]["worst"]
    (line,) = (x for x in executed(found.to_dict()) if x.startswith("net.end.voltage"))
    assert line == ("net.end.voltage: 0.963015 planned, 0.962322 when executed, 2025-01-01T00:00")


def fed_in(**slots: Any) -> Site:
    study = Site(start="2025-06-01T00:00", step="1 h", periods=1)
    study.add("grid", "grid", bus="station", import_power_max=100, export_power_max=400)
    study.add("pv", "generator_profile", bus="roof", available_power=100)
    line: dict[str, Any] = {"from": "station", "to": "roof", "resistance": 0.16, "reactance": 0.08}
    ampacity = slots.pop("ampacity", None)
    line |= {} if ampacity is None else {"ampacity": ampacity}
    study.add(
        "net",
        "feeder",
        source="station",
        buses={"station": 0.4, "roof": 0.4},
        lines={"L": line},
        maximum_voltage=1.05,
        **slots,
    )
    study.minimise_cost({}, {"grid": 0.1})
    return study


def test_feed_in_is_held_by_voltage_and_by_the_line() -> None:
    # v = 1 + 2 r P / V^2 = 1.05^2: P = 0.1025 * 0.16 / (2 * 0.16) MW.
    assert float(solved(fed_in(scheme="linear")).pv_power[0]) == pytest.approx(
        0.1025 * 0.16 / 0.32 * 1000
    )
    # The polygon lies within the circle of the rating, by 1 - cos(pi/16).
    rating = np.sqrt(3) * 0.4 * 50
    power = float(solved(fed_in(scheme="linear", ampacity=50)).pv_power[0])
    assert rating * np.cos(np.pi / 16) - 1e-6 <= power <= rating + 1e-6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": None}, "it has no buses or no source"),
        ({"lines": {"L": {"from": "a"}}}, "cannot read L of lines"),
        ({"buses": {"a": "0.4 kV", "b": 0.4}}, "buses.a; found '0.4 kV'; expected 0.4[kV]"),
        (
            {"lines": {"L": {"from": "a", "to": "b", "resistance": "1 ohm", "reactance": 1}}},
            "cannot read lines.L.resistance; found '1 ohm'; expected 1[ohm]",
        ),
        ({"lines": {"L": {"from": "a", "to": "c", "resistance": 1}}}, "its parts do not fit"),
        ({"lines": {"L": {"from": "a", "to": "b", "colour": 1}}}, "found colour"),
        ({"reactive": {"c": 1}}, "'c' is no bus of it"),
        ({"minimum_voltage": 90}, "minimum_voltage is 90"),
        ({"scheme": "magic"}, "unknown scheme"),
    ],
)
def test_a_feeder_that_cannot_be_is_refused(change: dict[str, Any], message: str) -> None:
    line = {"from": "a", "to": "b", "resistance": 1.0, "reactance": 1.0}
    good: dict[str, Any] = {"source": "a", "buses": {"a": 0.4, "b": 0.4}, "lines": {"L": line}}
    given = {name: value for name, value in {**good, **change}.items() if value is not None}
    study = Site(start="00:00", step="1 h", periods=1)
    study.add("grid", "grid", bus="a", import_power_max=9, export_power_max=0)
    study.add("load", "load", bus="b", power=1)
    study.add("net", "feeder", **given)
    with pytest.raises(EngiagentError, match="feeder") as caught:
        expand(study.blueprint())
    assert message in str(caught.value)


def test_the_checker_has_the_power_that_a_transformer_takes_without_load() -> None:
    site = Site(start="00:00", step="1 h", periods=2)
    site.add("grid", "grid", bus="a", import_power_max=500)
    site.add("load", "load", bus="b", power=100)
    machine = mapping("""
        {from: a, to: b, rated_power: 400, from_voltage: 10, to_voltage: 0.4,
          short_circuit_voltage: 0.06, load_loss: 4, no_load_current: 0.01, no_load_loss: 0.8}
    """)
    site.add("net", "feeder", source="a", buses={"a": 10, "b": 0.4}, transformers={"t": machine})
    site.minimise_cost({"grid": 0.3})
    data = plan_of(site)
    # No-load loss, and 4 kW at 400 kVA of load losses.
    np.testing.assert_allclose(data.net_import, 100 + 0.8 + 4 * (100 / 400) ** 2, atol=0.02)
    found = certify(None, data, site.blueprint(), folder=Path(), name="net")
    assert found.verdict != "violated", found.violations
    wrong = data.assign(net_import=data.net_import - 0.8, grid_import=data.grid_import - 0.8)
    assert certify(None, wrong, site.blueprint(), folder=Path(), name="net").verdict == "violated"

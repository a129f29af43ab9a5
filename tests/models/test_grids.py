"""Feeders against figures published or computed elsewhere, and against laws of the circuit."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engiagent.models.grids import Bus, Feeder, Line, Transformer
from engiagent.models.ranges import Floats, ParameterError

# M. E. Baran and F. F. Wu, doi:10.1109/61.25627: from, to, r [ohm], x [ohm].
BRANCHES = """
1 2 .0922 .0470; 2 3 .4930 .2511; 3 4 .3660 .1864; 4 5 .3811 .1941; 5 6 .8190 .7070
6 7 .1872 .6188; 7 8 .7114 .2351; 8 9 1.0300 .7400; 9 10 1.0440 .7400; 10 11 .1966 .0650
11 12 .3744 .1238; 12 13 1.4680 1.1550; 13 14 .5416 .7129; 14 15 .5910 .5260
15 16 .7463 .5450; 16 17 1.2890 1.7210; 17 18 .7320 .5740; 2 19 .1640 .1565
19 20 1.5042 1.3554; 20 21 .4095 .4784; 21 22 .7089 .9373; 3 23 .4512 .3083
23 24 .8980 .7091; 24 25 .8960 .7011; 6 26 .2030 .1034; 26 27 .2842 .1447
27 28 1.0590 .9337; 28 29 .8042 .7006; 29 30 .5075 .2585; 30 31 .9744 .9630
31 32 .3105 .3619; 32 33 .3410 .5302
"""
# Demand of the buses 1 to 33. [kW], [kvar]
ACTIVE_TEXT = """
0 100 90 120 60 60 200 200 60 60 45 60 60 120 60 60 60 90 90 90 90 90 90 420 420 60 60 60 120
200 150 210 60
"""
ACTIVE = np.array(ACTIVE_TEXT.split(), dtype=int)
REACTIVE_TEXT = """
0 60 40 80 30 20 100 100 20 20 30 35 35 80 10 20 20 40 40 40 40 40 50 200 200 25 25 20 70 600 70
100 40
"""
REACTIVE = np.array(REACTIVE_TEXT.split(), dtype=int)


def per_kilometre(name: str, length: float, ampacity: float = np.inf, **values: Any) -> Line:
    """Return a line from values per kilometre, as data sheets have them."""
    electric = {key: values.pop(key) for key in ("resistance", "reactance")}
    charging = length * values.pop("susceptance", 0.0)
    total = {key: length * value for key, value in electric.items()}
    return Line(name=name, susceptance=charging, ampacity=ampacity, **total, **values)


def baran_wu() -> Feeder:
    lines = []
    for row in BRANCHES.strip().replace("\n", ";").split(";"):
        begin, end, resistance, reactance = row.split()
        lines.append(
            Line(
                name=f"{begin}-{end}",
                from_bus=begin,
                to_bus=end,
                resistance=float(resistance),
                reactance=float(reactance),
            )
        )
    buses = tuple(Bus(name=str(i), nominal_voltage=12.66) for i in range(1, 34))
    return Feeder(buses=buses, lines=tuple(lines), source="1")


def test_baran_and_wus_feeder_has_its_published_losses() -> None:
    flow = baran_wu().flow(ACTIVE, REACTIVE)
    assert float(flow.losses.sum()) == pytest.approx(202.68, abs=0.01)
    assert int(flow.voltage.argmin()) + 1 == 18
    assert float(flow.voltage.min()) == pytest.approx(0.9131, abs=5e-5)
    assert flow.import_active[0] == pytest.approx(3715.0 + 202.68, abs=0.01)


@pytest.mark.parametrize("power", [-30.0, 0.0, 5.0, 40.0, 62.0])
def test_two_buses_have_the_closed_form(power: float) -> None:
    """V² - V + p r = 0 for a resistive line at unity power factor, r = 4 p.u. on 1 MVA."""
    buses = tuple(Bus(name=name, nominal_voltage=0.4) for name in "ab")
    line = Line(name="l", from_bus="a", to_bus="b", resistance=0.64, reactance=0.0)
    flow = Feeder(buses=buses, lines=(line,), source="a").flow([0.0, power])
    exact = (1 + np.sqrt(1 - 4 * 4 * power / 1000)) / 2
    assert flow.voltage[0, 1] == pytest.approx(exact, rel=1e-11)
    assert flow.losses[0, 0] == pytest.approx(4 * (power / exact) ** 2 / 1000, rel=1e-9)


def test_beyond_the_limit_there_is_no_solution_and_it_is_said() -> None:
    """The feeder above carries 62.5 kW at most."""
    buses = tuple(Bus(name=name, nominal_voltage=0.4) for name in "ab")
    line = Line(name="l", from_bus="a", to_bus="b", resistance=0.64, reactance=0.0)
    feeder = Feeder(buses=buses, lines=(line,), source="a")
    demand = np.zeros((4, 2))
    demand[:, 1] = [30.0, 63.5, 900.0, 10.0]
    flow = feeder.flow(demand)
    assert flow.converged.tolist() == [True, False, False, True]
    for values in (flow.voltage, flow.losses, flow.loading, flow.import_active):
        assert np.isnan(values[1:3]).all()
        assert np.isfinite(values[[0, 3]]).all()
    alone = feeder.flow(demand[:1])
    assert alone.voltage[0] == pytest.approx(flow.voltage[0], abs=1e-12)


@st.composite
def feeders(draw: st.DrawFn) -> tuple[Feeder, Floats, Floats]:
    """Random trees of 10 kV and 0.4 kV with transformers both ways round and charging."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(2, 12))
    levels, lines, units = [10.0], [], []
    for child in range(1, count):
        parent = int(rng.integers(child))
        here, other = f"b{parent}", f"b{child}"
        turned = bool(rng.integers(2))
        begin, end = (other, here) if turned else (here, other)
        if levels[parent] == 10.0 and rng.uniform() < 0.4:
            levels.append(0.4)
            units.append(
                Transformer(
                    name=f"t{child}",
                    from_bus=begin,
                    to_bus=end,
                    rated_power=630.0,
                    from_voltage=0.4 if turned else 10.5,
                    to_voltage=10.5 if turned else 0.4,
                    short_circuit_voltage=0.04,
                    load_loss=6.5,
                    no_load_current=0.01,
                    no_load_loss=rng.uniform(0, 2),
                    tap=rng.uniform(0.95, 1.05),
                )
            )
            continue
        levels.append(levels[parent])
        length = rng.uniform(0.05, 3.0) if levels[parent] == 10.0 else rng.uniform(0.01, 0.1)
        lines.append(
            per_kilometre(
                name=f"l{child}",
                from_bus=begin,
                to_bus=end,
                length=length,
                resistance=rng.uniform(0.1, 0.5),
                reactance=rng.uniform(0.0, 0.3),
                susceptance=rng.uniform(0, 100),
            )
        )
    feeder = Feeder(
        buses=tuple(Bus(name=f"b{i}", nominal_voltage=kv) for i, kv in enumerate(levels)),
        lines=tuple(lines),
        transformers=tuple(units),
        source="b0",
        source_voltage=rng.uniform(0.95, 1.05),
    )
    size = np.where(np.array(levels) == 10.0, 200.0, 12.0)
    return feeder, rng.uniform(-1, 1, (5, count)) * size, rng.uniform(-0.5, 0.5, (5, count)) * size


@given(feeders())
def test_power_is_balanced(case: tuple[Feeder, Floats, Floats]) -> None:
    feeder, active, reactive = case
    flow = feeder.flow(active, reactive)
    used = active.sum(axis=1) + flow.losses.sum(axis=1)
    scale = np.abs(active).sum(axis=1)
    assert np.abs(flow.import_active - used).max() <= 1e-9 * scale.min()
    assert (flow.mismatch <= 1e-9 * scale).all()
    assert (flow.losses >= -1e-9).all()


def test_a_feeder_of_one_bus_imports_its_demand() -> None:
    alone = Feeder(buses=(Bus(name="a", nominal_voltage=0.4),), source="a")
    assert alone.flow([[7.0], [-2.0]]).import_active.tolist() == [7.0, -2.0]
    assert alone.flow(np.zeros((0, 1))).voltage.shape == (0, 1)


WRONG_PARTS = [
    (lambda: Bus(name="a", nominal_voltage=0.0), "nominal voltage of a is 0 kV"),
    (
        lambda: Line(name="l", from_bus="a", to_bus="b", resistance=0.0, reactance=0.0),
        "neither resistance nor reactance; join a and b to one bus",
    ),
    (
        lambda: Line(name="l", from_bus="a", to_bus="b", resistance=1, reactance=1, ampacity=0),
        "ampacity of l is 0 A",
    ),
    (
        lambda: Transformer(
            name="t",
            from_bus="a",
            to_bus="b",
            rated_power=400,
            from_voltage=20,
            to_voltage=0.4,
            short_circuit_voltage=4.0,
        ),
        "4.0 % is 0.04",
    ),
    (
        lambda: Transformer(
            name="t",
            from_bus="a",
            to_bus="b",
            rated_power=400,
            from_voltage=20,
            to_voltage=0.4,
            short_circuit_voltage=0.04,
            load_loss=20.0,
        ),
        "load loss of t, 20.0 kW, is more than its short-circuit voltage allows; give at most 16",
    ),
    (
        lambda: Transformer(
            name="t",
            from_bus="a",
            to_bus="b",
            rated_power=400,
            from_voltage=20,
            to_voltage=0.4,
            short_circuit_voltage=0.04,
            tap=102.5,
        ),
        "tap of t is 102.5; give a number at least 0.5",
    ),
]


@pytest.mark.parametrize(("build", "message"), WRONG_PARTS)
def test_parts_out_of_range_say_so(build: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message.replace("(", r"\(")):
        build()  # type: ignore[operator]


def line(name: str, begin: str, end: str) -> Line:
    return Line(name=name, from_bus=begin, to_bus=end, resistance=1.0, reactance=0.0)


WRONG_FEEDERS = [
    ({"source": "x"}, "the source names the bus 'x'; known buses: a, b, c"),
    ({"lines": (line("1", "a", "b"), line("1", "b", "c"))}, "the branch 1 is given twice"),
    ({"lines": (line("1", "a", "b"),)}, "no branch leads from a to c"),
    ({"lines": (line("1", "a", "d"),)}, "the branch 1 names the bus 'd'"),
    ({"lines": (line("1", "b", "b"),)}, "1 begins and ends at b"),
    (
        {"buses": tuple(Bus(name=n, nominal_voltage=v) for n, v in (("a", 1), ("b", 2), ("c", 1)))},
        "joins a at 1 kV and b at 2 kV; put a transformer between them",
    ),
    ({"source_voltage": 230.0}, r"source voltage is 230 p.u."),
    ({"source_voltage": float("nan")}, r"source voltage is nan"),
]


@pytest.mark.parametrize(("change", "message"), WRONG_FEEDERS)
def test_wrong_feeders_say_what_is_wrong(change: dict[str, object], message: str) -> None:
    right: dict[str, object] = {
        "buses": tuple(Bus(name=name, nominal_voltage=10.0) for name in "abc"),
        "lines": (line("1", "a", "b"), line("2", "b", "c")),
        "source": "a",
    }
    with pytest.raises(ParameterError, match=message):
        Feeder(**(right | change))  # type: ignore[arg-type]


def test_wrong_series_say_what_is_wrong() -> None:
    feeder = baran_wu()
    with pytest.raises(ParameterError, match=r"shape \(1, 32\), .* give \(time, 33\)"):
        feeder.flow(ACTIVE[1:])
    broken = np.tile(ACTIVE.astype(float), (3, 1))
    broken[2, 4] = np.nan
    with pytest.raises(ParameterError, match="active power is nan at place"):
        feeder.flow(broken)
    with pytest.raises(ParameterError, match=r"shape \(3, 33\), the reactive power \(1, 33\)"):
        feeder.flow(np.tile(ACTIVE, (3, 1)), REACTIVE)
    tied = replace(feeder, lines=(*feeder.lines, line("tie", "8", "21")))
    with pytest.raises(ParameterError, match="meshed and a power flow needs a tree"):
        tied.flow(ACTIVE)
    with pytest.raises(ParameterError, match=r"source voltage has the shape \(2,\)"):
        feeder.flow(ACTIVE, source_voltage=[1.0, 1.0])

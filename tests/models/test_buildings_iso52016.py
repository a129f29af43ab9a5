import numpy as np
import pytest

from engiagent.models.buildings.iso52016 import Element, GroundFloor, Zone, network
from engiagent.models.buildings.network import HeatNetwork
from engiagent.models.ranges import Floats, ParameterError


def house(mass: str = "D", second: bool = False) -> HeatNetwork:
    elements = (
        Element(name="wall", area=80.0, resistance=3.0, capacity=250e3, mass=mass),  # type: ignore[arg-type]
        Element(name="window", area=12.0, resistance=0.7),
        GroundFloor(
            name="floor",
            area=60.0,
            resistance=3.5,
            capacity=175e3,
            mass=mass,  # type: ignore[arg-type]
            virtual_resistance=2.0,
        ),
    )
    zones = [Zone(name="one", floor_area=60.0, elements=elements, ventilation=0.02)]
    if second:
        inner = Element(
            name="partition",
            area=20.0,
            resistance=0.2,
            capacity=75e3,
            mass="D",
            outside="one.air",
            outer_coefficient=7.7,
        )
        out = Element(name="wall2", area=30.0, resistance=3.0, capacity=75e3, mass="I")
        zones.append(Zone(name="two", floor_area=20.0, elements=(inner, out)))
    return network(zones, ["ambient", "ground"])


def steady(net: HeatNetwork, boundary: dict[str, float], heat: dict[str, float]) -> Floats:
    run = net.simulate(boundary, np.full(2, 1e7), heat, initial=np.full(len(net.nodes), 10.0))
    return np.asarray(run.mean_temperature[-1])


@pytest.mark.parametrize("mass", ["I", "E", "IE", "D", "M"])
def test_every_class_holds_its_capacity_and_its_resistance(mass: str) -> None:
    element = Element(name="w", area=10.0, resistance=2.0, capacity=100e3, mass=mass)  # type: ignore[arg-type]
    nodes, links = element.parts()
    assert sum(node.capacity for node in nodes) == pytest.approx(1e6 / 3.6e6)
    assert sum(1 / link.conductance for link in links) == pytest.approx(
        1000 * (2.0 + 1 / 24.14) / 10.0
    )
    ground = GroundFloor(
        name="g",
        area=10.0,
        resistance=2.0,
        capacity=100e3,
        mass=mass,  # type: ignore[arg-type]
        virtual_resistance=1.5,
    )
    nodes, links = ground.parts()
    assert sum(node.capacity for node in nodes) == pytest.approx((1e6 + 1e7) / 3.6e6)
    assert sum(1 / k.conductance for k in links) == pytest.approx(100 * (1.5 + 0.25 + 2.0))


def test_the_classes_agree_at_rest_and_differ_on_the_way() -> None:
    boundary, heat = {"ambient": -5.0, "ground": 8.0}, {"one.air": 2.0}
    nets = {mass: house(mass) for mass in ("I", "E", "IE", "D", "M")}
    rest = {m: steady(net, boundary, heat)[net.index["one.air"]] for m, net in nets.items()}
    assert list(rest.values()) == pytest.approx([rest["D"]] * 5, rel=1e-9)
    after = {
        m: net.simulate(
            boundary, np.full(12, 1.0), initial=dict.fromkeys(net.index, 20.0)
        ).temperature[-1, net.index["one.air"]]
        for m, net in nets.items()
    }
    assert after["E"] < after["D"] < after["I"]  # the nearer the mass, the slower the room cools


def test_radiation_between_surfaces_is_weighted_by_area() -> None:
    net, rng = house(), np.random.default_rng(2)
    run = net.simulate(
        {"ambient": rng.uniform(-5, 5, 20), "ground": 8.0},
        1.0,
        {"wall.5": 1.0},
        initial=dict.fromkeys(net.index, 20.0),
    )
    areas = {"wall.5": 80.0, "window.2": 12.0, "floor.5": 60.0}
    mean = sum(a * run.temperature[:, net.index[n]] for n, a in areas.items()) / 152.0
    assert run.temperature[:, net.index["one.radiant"]] == pytest.approx(mean, rel=1e-12)


def test_wrong_elements_say_what_is_wrong() -> None:
    with pytest.raises(ParameterError, match="known: I, E, IE, D, M"):
        Element(name="w", area=1.0, resistance=1.0, capacity=1.0, mass="X")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="no class of mass"):
        Element(name="w", area=1.0, resistance=1.0, capacity=1.0)

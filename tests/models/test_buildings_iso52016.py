import numpy as np
import pytest

from engiagent.models.buildings.constructions import R_SE, R_SI, Construction, Layer, cells
from engiagent.models.buildings.iso52016 import Element, GroundFloor, Zone, network
from engiagent.models.buildings.network import HeatNetwork, Link
from engiagent.models.ranges import Floats, ParameterError

CONCRETE = Layer(thickness=0.2, conductivity=1.8, density=2400.0, specific_heat=1000.0)
WOOL = Layer(thickness=0.1, conductivity=0.04, density=30.0, specific_heat=1400.0)
GAP = Layer(thickness=0.02, conductivity=0.11, density=0.0, specific_heat=0.0)


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


def test_heat_through_layers_is_that_of_the_u_value() -> None:
    wall = Construction((WOOL, GAP, CONCRETE))
    nodes, links = cells(wall, name="w", area=10.0)
    inner, outer = 10.0 / R_SI["horizontal"] / 1000, 10.0 / R_SE / 1000
    net = HeatNetwork(
        nodes=nodes,
        links=(
            *links,
            Link(one="ambient", other="w.out", conductance=outer),
            Link(one="room", other="w.in", conductance=inner),
        ),
        boundaries=("ambient", "room"),
    )
    run = net.simulate({"ambient": 0.0, "room": 20.0}, 1e6, initial=np.zeros(len(nodes)))
    run = net.simulate({"ambient": 0.0, "room": 20.0}, 1.0, initial=run.temperature[-1])
    assert run.flow[0, -1] == pytest.approx(wall.u_value() * 10 * 20 / 1000, rel=1e-9)
    assert net.capacities.sum() == pytest.approx(wall.capacity * 10 / 3.6e6, rel=1e-12)


@pytest.mark.parametrize("layers", [(CONCRETE,), (WOOL, CONCRETE), (CONCRETE, WOOL, GAP)])
def test_cells_swing_as_the_exact_solution_of_the_heat_equation_says(
    layers: tuple[Layer, ...],
) -> None:
    wall, area, period = Construction(layers), 1.0, 24.0
    nodes, links = cells(wall, name="w", area=area, shortest_period=period, cells_per_depth=20)
    net = HeatNetwork(
        nodes=nodes,
        links=(
            *links,
            Link(one="ambient", other="w.out", conductance=area / R_SE / 1000),
            Link(one="room", other="w.in", conductance=area / R_SI["horizontal"] / 1000),
        ),
        boundaries=("ambient", "room"),
    )
    steps, days = 240, 12
    angle = 2 * np.pi * (np.arange(steps * days) + 0.5) / steps
    run = net.simulate(
        {"ambient": np.cos(angle), "room": 0.0}, period / steps, initial=np.zeros(len(nodes))
    )
    last = -run.flow[-steps:, -1] * 1000  # W/m2 into the room
    ours = 2 * np.mean(last * np.exp(-1j * angle[-steps:]))
    assert abs(ours - wall.periodic_transmittance(period)) < 2e-3 * abs(ours)


def test_a_thick_wall_stores_as_a_half_space_and_a_thin_one_all_it_has() -> None:
    thick = Construction(
        (Layer(thickness=5.0, conductivity=1.8, density=2400.0, specific_heat=1000.0),)
    )
    depth = CONCRETE.depth(24.0)
    volumetric = 2400.0 * 1000.0
    assert thick.periodic_capacity()[0] == pytest.approx(volumetric * depth / np.sqrt(2), rel=1e-9)
    # A thin layer between equal swings holds half of its capacity on each side.
    thin = Construction(
        (Layer(thickness=0.001, conductivity=1.8, density=2400.0, specific_heat=1000.0),)
    )
    assert thin.periodic_capacity() == pytest.approx((1200.0, 1200.0), rel=1e-6)


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


def test_wrong_elements_and_thermostats_say_what_is_wrong() -> None:
    with pytest.raises(ParameterError, match="known: I, E, IE, D, M"):
        Element(name="w", area=1.0, resistance=1.0, capacity=1.0, mass="X")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="no class of mass"):
        Element(name="w", area=1.0, resistance=1.0, capacity=1.0)
    with pytest.raises(ParameterError, match="thickness of a layer is 0 m"):
        Layer(thickness=0.0, conductivity=1.0, density=1.0, specific_heat=1.0)

"""The zone of ISO 52016-1 as a network: its steady state, its mass, and how it runs."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from engiagent import Site
from engiagent.environment.environment import Environment
from engiagent.errors import InputError
from engiagent.models.iso52016 import SHARES, Element, Mass, zone
from engiagent.models.ranges import ParameterError

HOURS = 48


def office(mass: Mass = "D") -> tuple[Element, ...]:
    ground: Any = {"facing": "down", "outside": "ground"}
    return (
        Element(name="wall", area=60.0, resistance=2.5, capacity=0.06, mass=mass),
        Element(name="roof", area=40.0, resistance=4.0, capacity=0.03, mass="I", facing="up"),
        Element(name="floor", area=40.0, resistance=3.0, capacity=0.08, mass="M", **ground),
        Element(name="window", area=10.0, resistance=0.5),
    )


@pytest.mark.parametrize("mass", SHARES)
def test_wherever_its_mass_is_an_element_has_all_of_it(mass: Mass) -> None:
    network = zone(office(mass), floor_area=40.0, ventilation=0.02)
    own = sum(n.capacity for n in network.nodes if n.name.startswith("wall"))
    assert own == pytest.approx(60.0 * 0.06)
    assert len(network.nodes) == 1 + 3 * 5 + 2


def test_it_runs_as_its_equations_and_conserves_energy() -> None:
    elements = office()
    network = zone(elements, floor_area=40.0, ventilation=0.02)
    outside = 5.0 + 5.0 * np.sin(np.arange(HOURS) * np.pi / 12)
    sun = np.maximum(np.sin((np.arange(HOURS) - 6) * np.pi / 12), 0.0)
    site = Site("2026-01-10", "1 h", HOURS)
    site.add("grid", "grid", bus="power", import_price=0.3)
    given: Any = {"ambient": outside, "supply": outside, "ground": 10.0}
    heated: Any = {"heat_bus": "h", "heated": {"air": "6[kW]"}}
    site.add_network("office", network, given, {"window_2": 0.5 * sun}, 20.0, **heated)
    site.add("boiler", "boiler", bus="power", heat_bus="h", rated_capacity=6, rated_efficiency=0.9)
    site.minimise_cost()
    plant = Environment(site.blueprint())
    data = plant.run(lambda now: {"office.heating_air": 2.0}, seconds=3600)
    assert plant.imbalance < 1e-6

    heavy = [k for k, node in enumerate(network.nodes) if node.capacity > 0]
    light = [k for k in range(len(network.nodes)) if k not in heavy]
    names = [node.name for node in network.nodes]

    def rates(time: float, state: np.ndarray) -> np.ndarray:
        """Return how the nodes with mass change, by the balance of each node."""
        hour = min(int(time), HOURS - 1)
        fixed = {"ambient": outside[hour], "supply": outside[hour], "ground": 10.0}
        matrix, right = np.zeros((len(names), len(names))), np.zeros(len(names))
        right[names.index("air")] = 2.0
        right[names.index("window_2")] = 0.5 * sun[hour]
        for link in network.links:
            for one, other in ((link.one, link.other), (link.other, link.one)):
                if one in names:
                    matrix[names.index(one), names.index(one)] += link.conductance
                    if other in names:
                        matrix[names.index(one), names.index(other)] -= link.conductance
                    else:
                        right[names.index(one)] += link.conductance * fixed[other]
        rest = np.linalg.solve(
            matrix[np.ix_(light, light)], right[light] - matrix[np.ix_(light, heavy)] @ state
        )
        flow = right - matrix[:, heavy] @ state - matrix[:, light] @ rest
        return np.array([flow[k] / network.nodes[k].capacity for k in heavy])

    state = np.full(len(heavy), 20.0)
    for hour in range(6):
        middle = hour + 0.5
        state = solve_ivp(
            lambda _, y, at=middle: rates(at, y), (0, 1), state, "LSODA", rtol=1e-10, atol=1e-10
        ).y[:, -1]
    found = [float(data[f"office.{names[k]}.temperature"][6]) for k in heavy]
    assert found == pytest.approx(state.tolist(), abs=1e-6)


def test_what_no_element_can_be_is_refused() -> None:
    with pytest.raises(ParameterError, match="give one of I, E"):
        Element(name="wall", area=1.0, resistance=1.0, mass="X")  # type: ignore[arg-type]
    with pytest.raises((ParameterError, InputError), match="resistance of wall"):
        Element(name="wall", area=1.0, resistance=0.0)

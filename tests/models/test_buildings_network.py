import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from engiagent.models.buildings import HeatNetwork, Link, Node
from engiagent.models.ranges import Floats, ParameterError
from engiagent.models.recursion import phi1, phi2


def random_network(rng: np.random.Generator, count: int, streams: bool = False) -> HeatNetwork:
    """Return a connected network with nodes of and without mass and two boundaries."""
    light = rng.random(count) < 0.3
    light[0] = False
    nodes = tuple(
        Node(
            name=f"n{i}",
            capacity=0.0 if light[i] else float(10.0 ** rng.uniform(-2, 1)),
            initial_temperature=float(rng.uniform(10, 30)),
        )
        for i in range(count)
    )
    links = [
        Link(one=f"n{i}", other=f"n{rng.integers(0, i)}", conductance=float(rng.uniform(0.1, 2)))
        for i in range(1, count)
    ]
    links += [Link(one="ambient", other="n0", conductance=0.3)]
    links += [Link(one=f"n{count - 1}", other="ground", conductance=0.2)]
    if streams and count > 1:  # a loop through all nodes: what flows in flows out
        flow = float(rng.uniform(0.1, 1.0))
        links += [
            Link(one=f"n{i}", other=f"n{(i + 1) % count}", conductance=flow, one_way=True)
            for i in range(count)
        ]
    return HeatNetwork(nodes=nodes, links=tuple(links), boundaries=("ambient", "ground"))


def random_inputs(
    rng: np.random.Generator, network: HeatNetwork, periods: int
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    boundary = {"ambient": rng.uniform(-10, 30, periods), "ground": rng.uniform(5, 15, periods)}
    heat = {n.name: rng.uniform(-3, 5, periods) for n in network.nodes if rng.random() < 0.7}
    return boundary, heat


def test_the_functions_of_the_exponential_hold_their_digits_from_zero_to_far_out() -> None:
    x = np.concatenate((-np.logspace(-12, 0, 40), [0.0], np.logspace(-12, 3, 200)))
    exact1 = np.array([float(_integral(v, 0)) for v in x])
    exact2 = np.array([float(_integral(v, 1)) for v in x])
    assert phi1(x) == pytest.approx(exact1, rel=1e-13)
    assert phi2(x) == pytest.approx(exact2, rel=1e-13)


def _integral(x: float, order: int) -> float:
    """Return the functions by their series in exact fractions, or far out by their definition."""
    from fractions import Fraction
    from math import exp, factorial

    if abs(x) > 1.0:
        one = (1.0 - exp(-x)) / x
        return one if order == 0 else (1.0 - one) / x
    f = Fraction(x)
    return float(sum((-f) ** k / factorial(k + 1 + order) for k in range(22)))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.booleans())
def test_an_integrator_of_differential_equations_agrees(
    seed: int, count: int, streams: bool
) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng, count, streams)
    periods = 3
    boundary, heat = random_inputs(rng, network, periods)
    hours = rng.uniform(0.1, 3.0, periods)
    run = network.simulate(boundary, hours, heat)
    capacity, names = network.capacities, [n.name for n in network.nodes]
    # A second road: the massless nodes by a dense solve at each call, and flows link by link.
    place = {n: i for i, n in enumerate(names)}
    matrix, outer = np.zeros((count, count)), {b: np.zeros(count) for b in network.boundaries}
    for link in network.links:
        for a, b in ((link.one, link.other), (link.other, link.one)):
            if b not in place or (link.one_way and b == link.one):
                continue
            matrix[place[b], place[b]] += link.conductance
            if a in place:
                matrix[place[b], place[a]] -= link.conductance
            else:
                outer[a][place[b]] += link.conductance
    heavy = capacity > 0
    state = np.array([n.initial_temperature for n in network.nodes])[heavy]
    for k in range(periods):
        push = sum((outer[b] * boundary[b][k] for b in outer), np.zeros(count))
        push = push + np.array([heat[n][k] if n in heat else 0.0 for n in names])

        def slope(_: float, y: Floats, push: Floats = push) -> Floats:
            full = np.empty(count)
            full[heavy] = y
            inner = matrix[np.ix_(~heavy, ~heavy)]
            right = push[~heavy] - matrix[np.ix_(~heavy, heavy)] @ y
            full[~heavy] = np.linalg.solve(inner, right)
            return np.asarray((push - matrix @ full)[heavy] / capacity[heavy])

        answer = solve_ivp(slope, (0, hours[k]), state, method="LSODA", rtol=1e-11, atol=1e-11)
        state = answer.y[:, -1]
        assert run.temperature[k + 1, heavy] == pytest.approx(state, rel=1e-8, abs=1e-8)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 60), st.booleans())
def test_heat_is_neither_made_nor_lost_at_any_node(
    seed: int, count: int, periods: int, streams: bool
) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng, count, streams)
    boundary, heat = random_inputs(rng, network, periods)
    hours = rng.choice([0.25, 1.0, 7.0], periods)
    run = network.simulate(boundary, hours, heat)
    gained, size = np.zeros((periods, count)), 1.0
    mean = {name: run.mean_temperature[:, place] for name, place in network.index.items()}
    for link in network.links:
        flow = link.conductance * ((mean | boundary)[link.one] - (mean | boundary)[link.other])
        size += float(np.abs(flow).sum())
        if link.other in network.index:
            gained[:, network.index[link.other]] += flow
        if link.one in network.index and not link.one_way:
            gained[:, network.index[link.one]] -= flow
    for name, values in heat.items():
        gained[:, network.index[name]] += values
        size += np.abs(values).sum()
    stored = np.diff(run.temperature, axis=0) * network.capacities
    assert np.abs(stored - hours[:, None] * gained).max() <= 1e-9 * size


def test_a_network_without_any_boundary_keeps_its_heat() -> None:
    network = HeatNetwork(
        nodes=(Node(name="a", capacity=1.0), Node(name="b", capacity=3.0)),
        links=(Link(one="a", other="b", conductance=1.0),),
        boundaries=(),
    )
    run = network.simulate({}, np.full(1000, 1.0), initial={"a": 40.0, "b": 0.0})
    assert run.temperature @ network.capacities == pytest.approx([40.0] * 1001, rel=1e-12)
    assert run.temperature[-1] == pytest.approx([10.0, 10.0], rel=1e-12)


def test_a_very_fast_node_costs_the_slow_ones_no_digits() -> None:
    network = HeatNetwork(
        nodes=(
            Node(name="skin", capacity=1e-9, initial_temperature=50.0),
            Node(name="ground", capacity=1e4, initial_temperature=10.0),
            Node(name="room", capacity=0.5, initial_temperature=20.0),
        ),
        links=(
            Link(one="skin", other="ground", conductance=1e3),
            Link(one="ground", other="room", conductance=1e-6),
            Link(one="room", other="ambient", conductance=1.0),
        ),
    )
    run = network.simulate({"ambient": np.linspace(0, 10, 24)}, 1.0)
    stored = run.temperature @ network.capacities
    lost = np.diff(stored) + run.mean_temperature[:, 2] - np.linspace(0, 10, 24)
    assert np.abs(lost).max() <= 1e-9 * stored.max()
    assert run.temperature[1:, 0] == pytest.approx(np.full(24, 10.0), abs=1e-6)


def test_wrong_networks_and_inputs_say_what_is_wrong() -> None:
    node = Node(name="a", capacity=1.0)
    with pytest.raises(ParameterError, match="capacity of a is -1 kWh/K"):
        Node(name="a", capacity=-1.0)
    with pytest.raises(ParameterError, match="joins a with itself"):
        Link(one="a", other="a", conductance=1.0)
    with pytest.raises(ParameterError, match="'a' stands twice"):
        HeatNetwork(nodes=(node, node), links=())
    with pytest.raises(ParameterError, match=r"ends at 'b'; known: a, ambient"):
        HeatNetwork(nodes=(node,), links=(Link(one="a", other="b", conductance=1.0),))
    with pytest.raises(ParameterError, match="joins two boundaries"):
        HeatNetwork(
            nodes=(node,), links=(Link(one="x", other="y", conductance=1.0),), boundaries=("x", "y")
        )
    with pytest.raises(ParameterError, match="no node has a capacity"):
        HeatNetwork(nodes=(Node(name="a"),), links=())
    loose = HeatNetwork(
        nodes=(node, Node(name="b"), Node(name="c")),
        links=(Link(one="b", other="c", conductance=1.0),),
        boundaries=(),
    )
    with pytest.raises(ParameterError, match="hang on no mass and no boundary: b, c"):
        loose.simulate({}, 1.0, initial={"a": 1.0})
    good = HeatNetwork(nodes=(node,), links=(Link(one="a", other="ambient", conductance=1.0),))
    with pytest.raises(ParameterError, match="missing: ambient"):
        good.simulate({}, 1.0, initial={"a": 1.0})
    with pytest.raises(ParameterError, match="initial temperatures missing: a"):
        good.simulate({"ambient": 1.0}, 1.0)
    with pytest.raises(ParameterError, match="heat into a is nan"):
        good.simulate({"ambient": 1.0}, 1.0, {"a": [1.0, float("nan")]}, initial={"a": 1.0})
    with pytest.raises(ParameterError, match="the step is 0"):
        good.discretise(0.0)

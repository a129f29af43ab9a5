r"""Heat networks: nodes with or without capacity, links, and any number of given temperatures.

.. math::
    C_i \frac{dT_i}{dt} = \sum_j G_{ij} (T_j - T_i) + \sum_b G_{ib} (T_b - T_i) + \dot Q_i

A node without capacity has :math:`C_i = 0`; its temperature follows from the others at once and is
eliminated (Schur complement). With boundary temperatures :math:`T_b` and heat :math:`\dot Q` held
over a step, state and mean of the step are exact by the matrix exponential.

Sources: lumped-capacity networks as in EN ISO 52016-1; exponential of a symmetric system by its
eigenvectors and of the augmented system, C. F. Van Loan, doi:10.1109/TAC.1978.1101743.

With :math:`L` the matrix of conductances (:math:`L T = G_b T_b + \dot Q` at rest), nodes with mass
``m`` and without ``z``:

.. math::
   C \dot T_m = -(L_{mm} - L_{mz} L_{zz}^{-1} L_{zm}) T_m + \dots, \qquad
   T_z = L_{zz}^{-1} (G_{b,z} T_b + \dot Q_z - L_{zm} T_m).

A network without streams is symmetric in :math:`y = C^{1/2} T_m`, so that its eigenvectors separate
it into single lags.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError, numbers, series, steps, within
from engiagent.models.recursion import linear_recursion, phi1, phi2, switched_recursion

Method = Literal["auto", "eigen", "dense"]
Ints = npt.NDArray[np.int64]

_STIFF = 1e6  # step over the fastest lag, beyond which eigenvectors lose the tenth digit


@dataclass(frozen=True)
class Discretised:
    """One exact step of the nodes with mass as ``after = transition @ before + drive @ inputs``.

    The inputs are the boundary temperatures [degC] and the heat into every node [kW], in the order
    of the network. Means over the step and all nodes follow alike:
    ``mean = mean_transition @ before + mean_drive @ inputs`` and
    ``all nodes = spread @ (nodes with mass) + direct @ inputs``.
    """

    transition: Floats
    drive: Floats
    mean_transition: Floats
    mean_drive: Floats
    spread: Floats
    direct: Floats


@dataclass(frozen=True)
class _Reduced:
    """The network without its massless nodes: ``C dT/dt = -matrix T + feed u``."""

    heavy: Ints
    capacity: Floats
    matrix: Any
    feed: Any
    light: Ints
    light_from_heavy: Any
    light_from_input: Any


def _conductance_matrix(network: "HeatNetwork") -> tuple[Any, Any]:
    """Return ``L`` (n, n) and the coupling to the boundaries (n, b), sparse. [kW/K]."""
    from scipy import sparse

    count, wide = len(network.nodes), len(network.nodes) + len(network.boundaries)
    one, other = network.ends
    size = network.conductances
    both = np.array([not link.one_way for link in network.links], dtype=bool)
    rows = np.concatenate((other, one[both]))
    columns = np.concatenate((one, other[both]))
    values = np.concatenate((size, size[both]))
    inside = rows < count
    rows, columns, values = rows[inside], columns[inside], values[inside]
    taken = sparse.csr_array((values, (rows, columns)), shape=(count, wide))
    total = np.bincount(rows, weights=values, minlength=count)
    return sparse.diags_array(total) - taken[:, :count], taken[:, count:]


def _reduced(network: "HeatNetwork", active: Ints) -> _Reduced:
    """Eliminate the nodes without mass; inputs are boundaries and heat into ``active`` nodes."""
    from scipy import sparse

    matrix, coupling = _conductance_matrix(network)
    count = len(network.nodes)
    places = (np.ones(len(active)), (active, np.arange(len(active))))
    feed = sparse.hstack((coupling, sparse.csr_array(places, shape=(count, len(active)))))
    matrix, feed = sparse.csr_array(matrix), sparse.csr_array(feed)
    heavy, light = (np.flatnonzero(m) for m in (network.capacities > 0, network.capacities == 0))
    capacity = network.capacities[heavy]
    from_heavy = sparse.csr_array((0, len(heavy)))
    from_input = sparse.csr_array((0, feed.shape[1]))
    inner, inner_feed = matrix[heavy][:, heavy], feed[heavy]
    if light.size:
        _hold_on(network, matrix, coupling, light)
        right = sparse.hstack((-matrix[light][:, heavy], feed[light]))
        solved = _sparse_solve(matrix[light][:, light], right)
        from_heavy = sparse.csr_array(solved[:, : len(heavy)])
        from_input = sparse.csr_array(solved[:, len(heavy) :])
        inner = inner + matrix[heavy][:, light] @ from_heavy
        inner_feed = inner_feed - matrix[heavy][:, light] @ from_input
    return _Reduced(heavy, capacity, inner, inner_feed, light, from_heavy, from_input)


def _sparse_solve(matrix: Any, right: Any) -> Any:
    """Solve for all columns that hold anything; the answer is as sparse as it comes out."""
    from scipy import sparse
    from scipy.sparse.linalg import splu

    right = sparse.csc_array(right)
    used = np.flatnonzero(np.diff(right.indptr))
    answer = splu(sparse.csc_array(matrix)).solve(right[:, used].toarray())
    dense = sparse.csc_array(answer)
    place = (np.ones(len(used)), (np.arange(len(used)), used))
    return sparse.csc_array(dense @ sparse.csr_array(place, shape=(len(used), right.shape[1])))


def _hold_on(network: "HeatNetwork", matrix: Any, coupling: Any, light: Ints) -> None:
    """Refuse massless nodes from which no path leads to a mass or a boundary."""
    from scipy import sparse
    from scipy.sparse.csgraph import breadth_first_order

    count = len(network.nodes)
    anchored = (network.capacities > 0) | (np.asarray(coupling.sum(axis=1)).ravel() > 0)
    # Heat comes to a row from its columns; a root that all anchors hang on reaches the rest.
    off = sparse.coo_array(matrix)
    rows = np.concatenate((off.col, np.full(int(anchored.sum()), count)))
    columns = np.concatenate((off.row, np.flatnonzero(anchored)))
    used = np.concatenate((off.data != 0, np.ones(int(anchored.sum()), dtype=bool)))
    graph = sparse.csr_array(
        (np.ones(int(used.sum())), (rows[used], columns[used])), shape=(count + 1, count + 1)
    )
    reached = np.zeros(count + 1, dtype=bool)
    reached[breadth_first_order(graph, count, return_predecessors=False)] = True
    lost = [network.nodes[i].name for i in light if not reached[i]]
    if lost:
        raise ParameterError(
            f"nodes without mass hang on no mass and no boundary: {', '.join(lost[:10])}; link "
            "them or give them a capacity"
        )


def run(
    network: "HeatNetwork",
    initial: Floats,
    inputs: Floats,
    active: Ints,
    hours: Floats,
    method: Method,
) -> tuple[Floats, Floats]:
    """Return temperatures of all nodes at the instants (N+1, n) and their means (N, n)."""
    reduced = _reduced(network, active)
    route = _route(network, method, reduced, float(hours.max(initial=0.0)))
    if route == "eigen":
        states, means = _by_eigenvectors(reduced, initial, inputs, hours)
    else:
        states, means = _by_exponential(reduced, initial, inputs, hours)
    ends = inputs[np.r_[0, : len(inputs)]]
    return _spread(reduced, states, ends), _spread(reduced, means, inputs)


def _route(network: "HeatNetwork", method: str, reduced: _Reduced, longest: float) -> str:
    known = ("auto", "eigen", "dense")
    if method not in known:
        raise ParameterError(f"the method is {method!r}; a network knows {', '.join(known)}")
    if method == "eigen" and not network.symmetric:
        raise ParameterError(
            f"the method {method!r} needs a network without streams; use 'dense' or 'auto'"
        )
    # Gershgorin: the fastest lag. Eigenvalues carry its rounding, which slow masses would feel.
    fastest = 2.0 * float((reduced.matrix.diagonal() / reduced.capacity).max())
    stiff = fastest * longest > _STIFF
    if method == "eigen" and stiff:
        raise ParameterError(
            f"the fastest node settles within {3600.0 / fastest:.2g} s, so that eigenvectors lose "
            f"digits over a step of {longest:g} h; use 'auto', or make that node one without mass"
        )
    if method != "auto":
        return method
    return "dense" if stiff or not network.symmetric else "eigen"


def _spread(reduced: _Reduced, states: Floats, inputs: Floats) -> Floats:
    """Put the temperatures of the nodes with and without mass in order."""
    result = np.empty((len(states), len(reduced.heavy) + len(reduced.light)))
    result[:, reduced.heavy] = states
    if reduced.light.size:
        light = reduced.light_from_heavy @ states.T + reduced.light_from_input @ inputs.T
        result[:, reduced.light] = light.T
    return result


def _by_eigenvectors(
    reduced: _Reduced, initial: Floats, inputs: Floats, hours: Floats
) -> tuple[Floats, Floats]:
    from scipy.linalg import eigh

    root = np.sqrt(reduced.capacity)
    symmetric = reduced.matrix.toarray() / root / root[:, None]
    rates, vectors = eigh((symmetric + symmetric.T) / 2.0)
    back = (vectors / root[:, None]).T  # modes to temperatures
    drive = inputs @ (reduced.feed.T @ back.T)
    exponent = rates if (hours == hours[0]).all() else hours[:, None] * rates
    exponent = exponent * hours[0] if exponent.ndim == 1 else exponent
    first, second = phi1(exponent), phi2(exponent)
    driven = hours[:, None] * drive
    modes = linear_recursion(np.exp(-exponent), first * driven, (root * initial) @ vectors)
    means = first * modes[:-1] + second * driven
    states = modes @ back
    states[0] = initial
    return states, means @ back


def _matrices(reduced: _Reduced, step: float) -> tuple[Floats, Floats, Floats]:
    """Return transition and the two integrals of the exponential, shape (m, m)."""
    from scipy.linalg import expm

    size = len(reduced.heavy)
    block = np.zeros((3 * size, 3 * size))
    block[:size, :size] = -reduced.matrix.toarray() / reduced.capacity[:, None] * step
    block[:size, size : 2 * size] = block[size : 2 * size, 2 * size :] = np.eye(size)
    powers = expm(block)[:size]
    return powers[:, :size], powers[:, size : 2 * size], powers[:, 2 * size :]


def _by_exponential(
    reduced: _Reduced, initial: Floats, inputs: Floats, hours: Floats
) -> tuple[Floats, Floats]:
    different, which = np.unique(hours, return_inverse=True)
    triples = [_matrices(reduced, float(step)) for step in different]
    driven = hours[:, None] * (inputs @ reduced.feed.T) / reduced.capacity
    forced, second = np.empty_like(driven), np.empty_like(driven)
    for number, (_, one, two) in enumerate(triples):
        chosen = which == number
        forced[chosen], second[chosen] = driven[chosen] @ one.T, driven[chosen] @ two.T
    states = switched_recursion(np.stack([t[0] for t in triples]), which, forced, initial)
    means = np.empty_like(driven)
    for number, (_, one, _) in enumerate(triples):
        chosen = which == number
        means[chosen] = states[:-1][chosen] @ one.T + second[chosen]
    return states, means


def discretise(network: "HeatNetwork", step_hours: float) -> Discretised:
    """Return the exact step of a network as dense matrices."""
    if not (np.isfinite(step_hours) and step_hours > 0):
        raise ParameterError(f"the step is {step_hours} h; give a length above 0, as 0.25")
    count = len(network.nodes)
    reduced = _reduced(network, np.arange(count))
    transition, one, two = _matrices(reduced, step_hours)
    drive = step_hours * reduced.feed.toarray() / reduced.capacity[:, None]
    spread = np.zeros((count, len(reduced.heavy)))
    direct = np.zeros((count, drive.shape[1]))
    spread[reduced.heavy, np.arange(len(reduced.heavy))] = 1.0
    spread[reduced.light] = reduced.light_from_heavy.toarray()
    direct[reduced.light] = reduced.light_from_input.toarray()
    return Discretised(transition, one @ drive, one, two @ drive, spread, direct)


@dataclass(frozen=True, kw_only=True)
class Node:
    """A place of one temperature.

    Attributes
    ----------
    name
        By which links refer to it.
    capacity
        Heat that warms it by one kelvin; 0 for a node without mass. At least 0. [kWh/K]
    initial_temperature
        At the first instant; nodes without mass need none. [degC]
    """

    name: str
    capacity: float = 0.0
    initial_temperature: float | None = None

    def __post_init__(self) -> None:
        within(self.capacity, f"the capacity of {self.name}", "kWh/K", low=0.0)


@dataclass(frozen=True, kw_only=True)
class Link:
    """A path of heat between two nodes, or a node and a boundary.

    Attributes
    ----------
    one, other
        Names of its ends.
    conductance
        Heat per kelvin of difference. At least 0; 0 for none. [kW/K]
    one_way
        False for conduction, convection and radiation. True for air or water that streams from
        ``one`` into ``other`` (conductance = mass flow times specific heat): ``other`` takes up
        ``conductance * (T_one - T_other)``, ``one`` feels nothing. For a balance of the whole the
        streams into and out of each node must be equal.
    """

    one: str
    other: str
    conductance: float
    one_way: bool = False

    def __post_init__(self) -> None:
        what = f"the conductance between {self.one} and {self.other}"
        within(self.conductance, what, "kW/K", low=0.0)
        if self.one == self.other:
            raise ParameterError(f"a link joins {self.one} with itself; name two different ends")


@dataclass(frozen=True)
class HeatRun:
    """What a network does over N periods.

    Attributes
    ----------
    temperature
        At the instants, shape (N+1, nodes). A node without mass has at an instant the value with
        the inputs of the period that ends there, and at the first of the one that begins. [degC]
    mean_temperature
        Means of the periods, shape (N, nodes). [degC]
    flow
        Mean heat through each link from ``one`` to ``other``, negative when it runs the other way,
        shape (N, links). [kW]
    stored
        Heat in the capacities above 0 degC at the instants, shape (N+1,). [kWh]
    """

    temperature: Floats
    mean_temperature: Floats
    flow: Floats
    stored: Floats


@dataclass(frozen=True)
class HeatStep:
    """What a network, or several alike, do in one period.

    Attributes
    ----------
    mass
        Temperature of the nodes with mass at its end, shape (..., nodes with mass). [degC]
    temperature
        Of all nodes at its end, shape (..., nodes). [degC]
    mean_temperature
        Of all nodes, mean of the period, shape (..., nodes). [degC]
    flow
        Mean heat through each link as in :class:`HeatRun`, shape (..., links). [kW]
    """

    mass: Floats
    temperature: Floats
    mean_temperature: Floats
    flow: Floats


@dataclass(frozen=True, kw_only=True)
class HeatNetwork:
    """Nodes, links and boundaries.

    Attributes
    ----------
    nodes
        With different names; at least one with a capacity.
    links
        Between nodes, or of a node and a boundary. Several between the same ends add up.
    boundaries
        Names of the given temperatures: ambient, ground, neighbours, sol-air, supply air.

    Examples
    --------
    >>> house = HeatNetwork(
    ...     nodes=(Node(name="air"), Node(name="mass", capacity=2.0, initial_temperature=20.0)),
    ...     links=(Link(one="ambient", other="air", conductance=0.4),
    ...            Link(one="air", other="mass", conductance=0.4)),
    ...     boundaries=("ambient",),
    ... )
    >>> run = house.simulate({"ambient": [0.0] * 10}, 1.0)
    >>> round(float(run.temperature[-1, 1]), 9)  # 20 / e
    7.357588823
    """

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    boundaries: tuple[str, ...] = ("ambient",)

    def __post_init__(self) -> None:
        names = [*(node.name for node in self.nodes), *self.boundaries]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ParameterError(f"the name {twice!r} stands twice in the network; rename one")
        for link in self.links:
            for end in (link.one, link.other):
                if end not in self.index and end not in self.boundaries:
                    known = ", ".join(names[:20])
                    raise ParameterError(f"a link ends at {end!r}; known: {known}")
            if link.one not in self.index and link.other not in self.index:
                raise ParameterError(
                    f"the link {link.one} to {link.other} joins two boundaries; one end is a node"
                )
            if link.one_way and link.other not in self.index:
                raise ParameterError(
                    f"a stream runs from {link.one} into the boundary {link.other}, which feels "
                    "nothing; leave it out"
                )
        if not (self.capacities > 0).any():
            raise ParameterError("no node has a capacity; give one at least, in kWh/K")

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The place of each node by its name."""
        return {node.name: place for place, node in enumerate(self.nodes)}

    @cached_property
    def capacities(self) -> Floats:
        """Shape (nodes,). [kWh/K]."""
        return np.array([node.capacity for node in self.nodes], dtype=np.float64)

    @cached_property
    def symmetric(self) -> bool:
        """Whether no stream runs between nodes, so that heat flows alike both ways."""
        return not any(k.one_way and k.one in self.index for k in self.links)

    @cached_property
    def ends(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Places of both ends of each link among the nodes, then the boundaries."""
        place = dict(self.index)
        for number, name in enumerate(self.boundaries, len(place)):
            place[name] = number
        one = np.array([place[k.one] for k in self.links], dtype=np.int64)
        other = np.array([place[k.other] for k in self.links], dtype=np.int64)
        return one, other

    @cached_property
    def conductances(self) -> Floats:
        """Shape (links,). [kW/K]."""
        return np.array([link.conductance for link in self.links], dtype=np.float64)

    def simulate(
        self,
        boundary: Mapping[str, npt.ArrayLike],
        step_hours: npt.ArrayLike,
        heat: Mapping[str, npt.ArrayLike] | None = None,
        *,
        initial: npt.ArrayLike | Mapping[str, float] | None = None,
        method: Method = "auto",
    ) -> HeatRun:
        """Return temperatures, flows and stored heat over the periods.

        Parameters
        ----------
        boundary
            Temperature of every boundary, a number or shape (N,). [degC]
        step_hours
            Length of each period, a number or shape (N,). [h]
        heat
            Mean heat into nodes by their names, negative for cooling; a number or (N,). [kW]
        initial
            Temperatures of the nodes with mass: by name, or in order of :attr:`nodes` (those of
            nodes without mass are not read); None for those of the nodes. [degC]
        method
            ``eigen`` by eigenvectors, where no node settles within a millionth of a step;
            ``dense`` by the matrix exponential (streams need it); ``auto`` chooses.
        """
        heat = heat or {}
        inputs, active = self._inputs(boundary, heat, step_hours)
        hours = steps(step_hours, len(inputs))
        mass = self.initial_mass(initial)
        temperature, mean = run(self, mass, inputs, active, hours, method)
        flow = self._flows(mean, inputs)
        return HeatRun(temperature, mean, flow, temperature @ self.capacities)

    def step(
        self,
        mass: npt.ArrayLike,
        boundary: Mapping[str, npt.ArrayLike],
        step_hours: float,
        heat: Mapping[str, npt.ArrayLike] | None = None,
    ) -> HeatStep:
        """Return one period of this network, or of several alike side by side.

        Parameters
        ----------
        mass
            Temperatures of the nodes with mass, shape (nodes with mass,) or (units, nodes with
            mass); :meth:`initial_mass` has those at the first instant. [degC]
        boundary, heat
            As of :meth:`simulate`; numbers, or shape (units,).
        step_hours
            Length of the period. [h]
        """
        state = numbers(mass, "the temperature of the masses")
        heavy = int((self.capacities > 0).sum())
        if state.ndim not in (1, 2) or state.shape[-1] != heavy:
            raise ParameterError(
                f"the temperature of the masses has the shape {state.shape}; give ({heavy},) or "
                f"(units, {heavy})"
            )
        wide = self.inputs(boundary, heat or {}, np.full(len(np.atleast_2d(state)), step_hours))
        d = self.discretise(step_hours)
        after = np.atleast_2d(state) @ d.transition.T + wide @ d.drive.T
        middle = np.atleast_2d(state) @ d.mean_transition.T + wide @ d.mean_drive.T
        ends, mean = (m @ d.spread.T + wide @ d.direct.T for m in (after, middle))
        flow = self._flows(mean, wide)
        parts = (after, ends, mean, flow)
        return HeatStep(*(part[0] if state.ndim == 1 else part for part in parts))

    def discretise(self, step_hours: float) -> Discretised:
        """Return the exact step as dense matrices, for control and optimisation."""
        if step_hours not in self._discretised:
            self._discretised[step_hours] = discretise(self, step_hours)
        return self._discretised[step_hours]

    @cached_property
    def _discretised(self) -> dict[float, Discretised]:
        """The steps found so far, by their length [h]."""
        return {}

    def _flows(self, mean: Floats, inputs: Floats) -> Floats:
        wide = np.hstack((mean, inputs[:, : len(self.boundaries)]))
        one, other = self.ends
        return np.asarray((wide[:, one] - wide[:, other]) * self.conductances)

    def inputs(
        self,
        boundary: Mapping[str, npt.ArrayLike],
        heat: Mapping[str, npt.ArrayLike],
        step_hours: npt.ArrayLike,
    ) -> Floats:
        """Return boundary temperatures and heat into every node, shape (N, boundaries + nodes)."""
        given, active = self._inputs(boundary, heat, step_hours)
        count = len(self.boundaries)
        wide = np.zeros((len(given), count + len(self.nodes)))
        wide[:, :count] = given[:, :count]
        wide[:, count + active] = given[:, count:]
        return wide

    def _inputs(
        self,
        boundary: Mapping[str, npt.ArrayLike],
        heat: Mapping[str, npt.ArrayLike],
        step_hours: npt.ArrayLike,
    ) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Return boundary temperatures and the heats given, (N, b + active), with their nodes."""
        missing = [name for name in self.boundaries if name not in boundary]
        unknown = [n for n in boundary if n not in self.boundaries]
        unknown += [n for n in heat if n not in self.index]
        if missing or unknown:
            raise ParameterError(
                f"boundary temperatures missing: {', '.join(missing) or 'none'}; names that the "
                f"network does not know: {', '.join(unknown) or 'none'}"
            )
        given = {
            **{f"the temperature of {n}": boundary[n] for n in self.boundaries},
            **{f"the heat into {n}": values for n, values in heat.items()},
        }
        lengths = {np.size(v) for v in (*given.values(), step_hours) if np.ndim(v)}
        length = max(lengths, default=1)
        columns = [series(values, length, what) for what, values in given.items()]
        inputs = np.column_stack(columns) if columns else np.zeros((length, 0))
        return inputs, np.array([self.index[n] for n in heat], dtype=np.int64)

    def initial_mass(self, initial: npt.ArrayLike | Mapping[str, float] | None) -> Floats:
        """Return the first temperatures of the nodes with mass. [degC]."""
        heavy = self.capacities > 0
        if initial is None or isinstance(initial, Mapping):
            given = initial or {}
            unknown = [name for name in given if name not in self.index]
            values = [given.get(n.name, n.initial_temperature) for n in self.nodes]
            missing = [
                node.name
                for node, value, mass in zip(self.nodes, values, heavy, strict=True)
                if mass and value is None
            ]
            if missing or unknown:
                raise ParameterError(
                    f"initial temperatures missing: {', '.join(missing) or 'none'}; unknown names: "
                    f"{', '.join(unknown) or 'none'}"
                )
            initial = [0.0 if value is None else value for value in values]
        return series(initial, len(self.nodes), "the initial temperature")[heavy]

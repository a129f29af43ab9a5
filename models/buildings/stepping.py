r"""Exact steps of heat networks: reduced to the nodes with mass, then three routes.

With :math:`L` the matrix of conductances (:math:`L T = G_b T_b + \dot Q` at rest), nodes with mass
``m`` and without ``z``:

.. math::
   C \dot T_m = -(L_{mm} - L_{mz} L_{zz}^{-1} L_{zm}) T_m + \dots, \qquad
   T_z = L_{zz}^{-1} (G_{b,z} T_b + \dot Q_z - L_{zm} T_m).

A network without streams is symmetric in :math:`y = C^{1/2} T_m`, so that its eigenvectors separate
it into single lags.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError
from engiagent.models.recursion import linear_recursion, phi1, phi2, switched_recursion

if TYPE_CHECKING:
    from engiagent.models.buildings.network import HeatNetwork

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

r"""A distribution feeder: its parts, its AC power flow, and its linear voltages.

Three phases, balanced, in steady state: voltages are line to line, powers are of all three phases
together. A line is a pi section; a transformer is a pi section on its ``to`` side behind an ideal
ratio, with its parameters from the nameplate (short-circuit and no-load test).

The sweep returns voltages only. Currents, losses, the import and the mismatch of every bus are
computed here from these voltages by the circuit equations, so that no method can hide its error.
"""

from collections import Counter, deque
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from engiagent.models.grids.network import Bus, Complexes, Line, Network, Transformer
from engiagent.models.grids.tree import Tree, sweep
from engiagent.models.ranges import Floats, ParameterError, numbers, series, within

# A solution whose powers miss those asked for by more than this is none. [kVA per kVA]
MISMATCH = 1e-6


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Series of a solved feeder; buses and branches in the feeder's order.

    Where ``converged`` is False all other series are NaN: there is no solution to report.
    """

    converged: npt.NDArray[np.bool_]  # shape (time,)
    voltage: Floats  # magnitude, shape (time, buses). [p.u.]
    # larger of the currents at both ends over its rating, 0 without one, (time, branches). [-]
    loading: Floats
    losses: Floats  # heat of each branch, shape (time, branches). [kW]
    # what the source delivers, below 0 when it takes back, shape (time,). [kW]
    import_active: Floats
    mismatch: Floats  # largest error of the power of a bus, shape (time,). [kVA]


@dataclass(frozen=True, kw_only=True)
class Feeder:
    """A radial feeder behind one stiff source.

    Examples
    --------
    >>> feeder = Feeder(
    ...     buses=tuple(Bus(name=name, nominal_voltage=0.4) for name in ("station", "house")),
    ...     lines=(Line(name="cable", from_bus="station", to_bus="house",
    ...                 resistance=0.16, reactance=0.0, ampacity=142.0),),
    ...     source="station",
    ... )
    >>> flow = feeder.flow([[0.0, 9.0]])
    >>> round(float(flow.voltage[0, 1]), 9), round(float(flow.losses.sum()), 6)
    (0.990917508, 0.082492)
    """

    # buses, lines, transformers: the parts; every bus must be reached from the source
    buses: tuple[Bus, ...]
    source: str  # name of the bus whose voltage is held
    lines: tuple[Line, ...] = ()
    transformers: tuple[Transformer, ...] = ()
    source_voltage: float = 1.0  # its magnitude. 0.5 to 1.5. [p.u.]

    def __post_init__(self) -> None:
        for what, names in (("bus", self.bus_names), ("branch", [b.name for b in self.branches])):
            twice = [name for name, count in Counter(names).items() if count > 1]
            if twice:
                raise ParameterError(
                    f"the {what} {twice[0]} is given twice; give each its own name"
                )
        known = {bus.name: bus.nominal_voltage for bus in self.buses}
        for branch in self.branches:
            for bus in (branch.from_bus, branch.to_bus):
                _known(bus, known, f"the branch {branch.name}")
            if branch.from_bus == branch.to_bus:
                raise ParameterError(f"{branch.name} begins and ends at {branch.from_bus}")
        for line in self.lines:
            begin, end = known[line.from_bus], known[line.to_bus]
            if begin != end:
                raise ParameterError(
                    f"the line {line.name} joins {line.from_bus} at {begin} kV and {line.to_bus} "
                    f"at {end} kV; put a transformer between them"
                )
        _known(self.source, known, "the source")
        _held(self.source_voltage, 1)
        self._all_fed()

    @property
    def branches(self) -> tuple[Line | Transformer, ...]:
        """All lines, then all transformers: the order of every result per branch."""
        return (*self.lines, *self.transformers)

    @property
    def bus_names(self) -> tuple[str, ...]:
        """The order of every series per bus."""
        return tuple(bus.name for bus in self.buses)

    @property
    def radial(self) -> bool:
        """Whether the branches form a tree."""
        return len(self.branches) == len(self.buses) - 1

    @cached_property
    def network(self) -> Network:
        """The feeder in per-unit arrays on a base of 1 MVA; ParameterError when it is no tree."""
        if not self.radial:
            raise ParameterError("the feeder is meshed and a power flow needs a tree; open ties")
        return Network.of(self.source, self.buses, self.lines, self.transformers)

    def flow(
        self,
        p_kw: npt.ArrayLike,
        q_kvar: npt.ArrayLike = 0.0,
        *,
        source_voltage: npt.ArrayLike | None = None,
    ) -> Flow:
        """Return voltages, loadings and losses under constant powers at the buses, by sweeps.

        ``p_kw``, ``q_kvar``: net demand of each bus, below 0 where it feeds in, shape (time,
        buses) or (buses,). [kW], [kvar]. ``source_voltage``: one number or shape (time,); the
        feeder's own when None. [p.u.] Periods without a solution have ``converged`` False.
        """
        network, power = self.network, self._demand(p_kw, q_kvar)
        held = self.source_voltage if source_voltage is None else source_voltage
        voltage = sweep(network, power, _held(held, len(power)))
        missing = _missing(network, power, voltage)
        elsewhere = np.arange(len(network.nominal)) != network.source
        error = np.abs(missing[:, elsewhere]).max(axis=1, initial=0.0)
        scale = np.maximum(np.abs(power).sum(axis=1), 1e-3)
        converged = error <= MISMATCH * scale  # False for NaN
        voltage = np.where(converged[:, None], voltage, complex(np.nan, np.nan))
        into, out = network.currents(voltage)
        begin, end = network.begin, network.end
        lost = (voltage[:, begin] * np.conj(into) + voltage[:, end] * np.conj(out)).real
        ampere = (
            np.abs(into) * network.base_current[begin] / network.ampacity[:, 0],
            np.abs(out) * network.base_current[end] / network.ampacity[:, 1],
        )
        return Flow(
            converged=converged,
            voltage=np.abs(voltage),
            loading=np.maximum(*ampere),
            losses=1000.0 * lost,
            import_active=np.where(converged, 1000.0 * missing[:, network.source].real, np.nan),
            mismatch=np.where(converged, 1000.0 * error, np.nan),
        )

    def _demand(self, p_kw: npt.ArrayLike, q_kvar: npt.ArrayLike) -> Complexes:
        """Return the complex demand, shape (time, buses). [MVA]."""
        active = np.atleast_2d(numbers(p_kw, "the active power"))
        reactive = np.atleast_2d(numbers(q_kvar, "the reactive power"))
        shape = (len(active), len(self.buses))
        if active.shape != shape or reactive.shape not in (shape, (1, 1)):
            raise ParameterError(
                f"the active power has the shape {active.shape}, the reactive power "
                f"{reactive.shape}; give (time, {len(self.buses)}), one column for each of the "
                f"buses {', '.join(self.bus_names[:6])}" + (" …" if len(self.buses) > 6 else "")
            )
        return (active + 1j * reactive).astype(np.complex128) / 1000.0

    def _all_fed(self) -> None:
        neighbours: dict[str, list[str]] = {bus.name: [] for bus in self.buses}
        for branch in self.branches:
            neighbours[branch.from_bus].append(branch.to_bus)
            neighbours[branch.to_bus].append(branch.from_bus)
        reached, queue = {self.source}, deque([self.source])
        while queue:
            new = [bus for bus in neighbours[queue.popleft()] if bus not in reached]
            reached.update(new)
            queue.extend(new)
        dead = [bus for bus in neighbours if bus not in reached]
        if dead:
            raise ParameterError(
                f"no branch leads from {self.source} to {', '.join(dead[:6])}"
                + (f" and {len(dead) - 6} more buses" if len(dead) > 6 else "")
                + "; add a branch or leave these buses out"
            )


def _missing(network: Network, power: Complexes, voltage: Complexes) -> Complexes:
    """Return the power that each bus lacks, the import at the source, (time, buses). [p.u.]."""
    into, out = network.currents(voltage)
    drawn = power.copy()
    for k, (begin, end) in enumerate(zip(network.begin, network.end, strict=True)):
        drawn[:, begin] += voltage[:, begin] * np.conj(into[:, k])
        drawn[:, end] += voltage[:, end] * np.conj(out[:, k])
    return drawn


def _held(values: npt.ArrayLike, length: int) -> Floats:
    """Return the voltage of the source, shape (length,). [p.u.]."""
    held = within(values, "the source voltage", "p.u.", low=0.5, high=1.5)
    return series(held, length, "the source voltage")


def _known(name: str, known: Collection[str], who: str) -> None:
    if name not in known:
        names = list(known)
        raise ParameterError(
            f"{who} names the bus {name!r}; known buses: {', '.join(names[:12])}"
            + (" …" if len(names) > 12 else "")
        )


def lindistflow(
    feeder: Feeder,
    p_kw: npt.ArrayLike,
    q_kvar: npt.ArrayLike = 0.0,
    source_voltage: npt.ArrayLike | None = None,
) -> Floats:
    r"""Return LinDistFlow's voltages, shape (time, buses); arguments as of ``Feeder.flow``. [p.u.].

    .. math:: v_j = v_i - 2 (r_{ij} P_{ij} + x_{ij} Q_{ij}), \qquad v = |V|^2

    with the flows :math:`P, Q` the sums of the demands behind the branch: losses are left out, and
    line charging counts as at nominal voltage. Losses only add to what a branch carries, so that
    without line charging the true voltage is never above LinDistFlow's, whether buses draw or feed
    in. Charging grows with the square of the voltage: above nominal voltage LinDistFlow has too
    little of it, and the true voltage may be higher.

    Source: M. E. Baran and F. F. Wu, doi:10.1109/61.25627.

    Examples
    --------
    >>> buses = (Bus(name="station", nominal_voltage=0.4), Bus(name="house", nominal_voltage=0.4))
    >>> cable = Line(name="c", from_bus="station", to_bus="house", resistance=0.16, reactance=0.0)
    >>> feeder = Feeder(buses=buses, lines=(cable,), source="station")
    >>> lindistflow(feeder, [[0.0, 9.5]]).round(12).tolist()
    [[1.0, 0.990454441153]]
    """
    power, tree = feeder._demand(p_kw, q_kvar), Tree.of(feeder.network)
    held = _held(feeder.source_voltage if source_voltage is None else source_voltage, len(power))
    factor = np.abs(tree.factor) ** 2
    # Referred admittances draw as at the nominal voltage of their own bus.
    carried = tree.gather((power + np.conj(tree.admittance) * factor).T.copy())
    drop = 2.0 * (tree.impedance.conj()[:, None] * carried).real
    square = tree.descend(np.square(held), drop).T / factor
    if not (square > 0).all():
        raise ParameterError(
            "the linear voltages fall to zero; the demand is far beyond what the feeder can carry"
        )
    return np.asarray(np.sqrt(square))

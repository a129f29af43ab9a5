"""A distribution feeder: buses, lines, transformers, shunts and one source.

Three phases, balanced, in steady state: voltages are line to line, powers are of all three phases
together. A line is a pi section; a transformer is a pi section on its ``to`` side behind an ideal
ratio, with its parameters from the nameplate (short-circuit and no-load test).
"""

from collections import Counter, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy.typing as npt

from engiagent.models.grids.flow import Flow, demand_of, evaluate, held_voltage
from engiagent.models.grids.network import Bus, Line, Network, Shunt, Transformer
from engiagent.models.grids.tree import sweep
from engiagent.models.ranges import ParameterError


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

    # buses, lines, transformers, shunts: the parts; every bus must be reached from the source
    # through branches
    buses: tuple[Bus, ...]
    source: str  # name of the bus whose voltage is held
    lines: tuple[Line, ...] = ()
    transformers: tuple[Transformer, ...] = ()
    shunts: tuple[Shunt, ...] = ()
    source_voltage: float = 1.0  # its magnitude, at angle 0. 0.5 to 1.5. [p.u.]

    def __post_init__(self) -> None:
        _distinct([bus.name for bus in self.buses], "bus")
        _distinct([branch.name for branch in self.branches], "branch")
        known = {bus.name: bus.nominal_voltage for bus in self.buses}
        for branch in self.branches:
            for bus in (branch.from_bus, branch.to_bus):
                _known(bus, known, f"the branch {branch.name}")
            if branch.from_bus == branch.to_bus:
                raise ParameterError(f"{branch.name} begins and ends at {branch.from_bus}")
        for line in self.lines:
            _one_voltage(line, known)
        for shunt in self.shunts:
            _known(shunt.bus, known, "a shunt")
        _known(self.source, known, "the source")
        held_voltage(self.source_voltage, 1)
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
        """The feeder in per-unit arrays on a base of 1 MVA."""
        return Network.of(self.source, self.buses, self.lines, self.transformers, self.shunts)

    def flow(
        self,
        p_kw: npt.ArrayLike,
        q_kvar: npt.ArrayLike | None = None,
        *,
        source_voltage: npt.ArrayLike | None = None,
    ) -> Flow:
        """Return voltages, currents and losses under constant powers at the buses, by sweeps.

        ``p_kw``, ``q_kvar``: net demand of each bus, below 0 where it feeds in, shape (time, buses)
        or (buses,) for one period; no reactive power when None. [kW], [kvar]. ``source_voltage``:
        voltage of the source, one number or shape (time,); the feeder's own when None. [p.u.]

        Periods without a solution have ``converged`` False and NaN in every other series.
        """
        power = demand_of(self.bus_names, p_kw, q_kvar)
        held = held_voltage(
            self.source_voltage if source_voltage is None else source_voltage, len(power)
        )
        if not self.radial:
            raise ParameterError(
                "the feeder is meshed and a sweep needs a tree; open the tie lines"
            )
        voltage, iterations = sweep(self.network, power, held)
        return evaluate(self.network, power, voltage, iterations)

    def _all_fed(self) -> None:
        neighbours: dict[str, list[str]] = {bus.name: [] for bus in self.buses}
        for branch in self.branches:
            neighbours[branch.from_bus].append(branch.to_bus)
            neighbours[branch.to_bus].append(branch.from_bus)
        reached, queue = {self.source}, deque([self.source])
        while queue:
            for bus in neighbours[queue.popleft()]:
                if bus not in reached:
                    reached.add(bus)
                    queue.append(bus)
        dead = [bus for bus in neighbours if bus not in reached]
        if dead:
            raise ParameterError(
                f"no branch leads from {self.source} to {', '.join(dead[:6])}"
                + (f" and {len(dead) - 6} more buses" if len(dead) > 6 else "")
                + "; add a branch or leave these buses out"
            )


def _distinct(names: list[str], what: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ParameterError(f"the {what} {twice[0]} is given twice; give each its own name")


def _known(name: str, known: Collection[str], who: str) -> None:
    if name not in known:
        names = list(known)
        raise ParameterError(
            f"{who} names the bus {name!r}; known buses: {', '.join(names[:12])}"
            + (" …" if len(names) > 12 else "")
        )


def _one_voltage(line: Line, nominal: Mapping[str, float]) -> None:
    begin, end = nominal[line.from_bus], nominal[line.to_bus]
    if begin != end:
        raise ParameterError(
            f"the line {line.name} joins {line.from_bus} at {begin} kV and {line.to_bus} at "
            f"{end} kV; put a transformer between them"
        )

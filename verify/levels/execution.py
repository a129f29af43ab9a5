"""Re-execution: the plan's decisions, run through the physics of :mod:`engiagent.models`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from engiagent.blueprint.document import Core
from engiagent.blueprint.grammar import Binder, Node, Ref, children, parse
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.units import parse_unit
from engiagent.errors import EngiagentError
from engiagent.models import Battery, ThermalNetwork, ThermalZone
from engiagent.verify import values
from engiagent.verify.documents import Bench
from engiagent.verify.frames import EvaluationError, Frame, MissingQuantity, whole_grid
from engiagent.verify.requirements import Dynamics
from engiagent.verify.series import Series
from engiagent.verify.values import Floats

SUPPLIES = {"battery": "discharge", "grid": "import", "generator_profile": "power"}
DEMANDS = {
    "battery": "charge",
    "grid": "export",
    "load": "power",
    "heater": "electric_power",
    "cooler": "electric_power",
}


def dynamics_of(core: Core) -> tuple[Dynamics, ...]:
    """Return the components of a blueprint as physical units."""
    return tuple(
        Dynamics(
            c.name,
            c.model,
            c.index,
            str(c.options.get("scheme", "exact")) if c.options else "exact",
            c.parameters,
            c.connections or {},
        )
        for c in core.components
    )


@dataclass(frozen=True)
class Trajectory:
    """One state, recomputed.

    Attributes
    ----------
    names
        All quantities by which the state may go; ``quantity`` is the one that it has here.
    declared, exact
        By the declared scheme and by the exact solution, at the N+1 instants, in ``unit``.
    claimed
        What the schedule says, None when it says nothing.
    defect
        Per step: the schedule's next state less the one that follows from its state before.
    scale
        What the size of an error is measured by: the capacity, or the range of temperatures.
    lower, upper
        The limits of the unit itself.
    """

    names: tuple[str, ...]
    quantity: str
    unit: str
    declared: Floats
    exact: Floats
    claimed: Floats | None
    defect: Floats | None
    scale: float
    instants: IndexSet | None
    lower: float = -np.inf
    upper: float = np.inf


@dataclass
class Plant:
    """The declared units with their numbers; ``unchecked`` says what could not be run."""

    bench: Bench
    units: Sequence[Dynamics]
    unchecked: list[str] = field(default_factory=list)

    # -- reading --------------------------------------------------------------------------------

    def periods(self, unit: Dynamics) -> IndexSet:
        """Return the time set over which a unit runs."""
        sets = self.bench.declarations.sets
        if unit.index is not None:
            return self.bench.evaluator.environment.set(unit.index)
        timed = [s for s in sets.values() if s.kind == "time"]
        if len(timed) != 1:
            raise EvaluationError(f"{unit.name} does not say over which time set it runs")
        return timed[0]

    def hours(self, periods: IndexSet) -> Floats:
        """Return the step lengths of a time set in hours."""
        axis = periods.root.axis
        if axis is None or axis.step_unit != "h":
            raise EvaluationError(f"{periods.name} has no steps in hours")
        return axis.steps[periods.in_root]

    def instants(self, periods: IndexSet) -> IndexSet | None:
        """Return the instants of a time set, None when the document declares none."""
        sets = self.bench.declarations.sets.values()
        return next((s for s in sets if s.periods_of is periods and s.kind == "instants"), None)

    def slot(self, unit: Dynamics, name: str, unit_text: str) -> Floats | None:
        """Return a parameter of a unit over its periods, None when it is not given."""
        written = unit.parameters.get(name)
        return None if written is None else self.number(unit, written, unit_text)

    def number(self, unit: Dynamics, written: Any, unit_text: str) -> Floats:
        """Return a number or an expression over the periods of a unit, in ``unit_text``."""
        wanted = parse_unit(unit_text)
        periods = self.periods(unit)
        frame = whole_grid((periods,), (Binder((0, 0), ("t",), periods.name),))
        if isinstance(written, int | float):
            return np.full(frame.size, float(written))
        node = self._indexed(parse(str(written)), frame)
        value = values.adopt(self.bench.evaluator.number(node, frame), wanted)
        if value.unit.dimension != wanted.dimension or value.unit.is_point != wanted.is_point:
            raise EvaluationError(f"{unit.name}: {written} is {value.unit}, needed is {wanted}")
        zero = float(wanted.zero or 0)
        return values.wide((values.thin(value.data) - zero) / float(wanted.factor), frame.size)

    def _indexed(self, node: Node, frame: Frame) -> Node:
        """Give the bare name of a series the index of its period."""
        from dataclasses import replace

        if isinstance(node, Ref) and not node.indices and node.name not in frame.names:
            sets = self.bench.declarations.sets
            if node.name in sets:
                return node
            symbol = self.bench.evaluator.environment.symbol(node.name)
            if len(symbol.dims) == 1:
                return replace(node, indices=(Ref(node.span, "t", ()),))
            return node
        changed: dict[str, Any] = {}
        for name in ("left", "right", "operand", "condition", "then", "otherwise"):
            if isinstance(getattr(node, name, None), Node):
                changed[name] = self._indexed(getattr(node, name), frame)
        for name in ("operands", "args"):
            if getattr(node, name, None):
                changed[name] = tuple(self._indexed(part, frame) for part in getattr(node, name))
        return replace(node, **changed) if changed and any(children(node)) else node

    def single(self, unit: Dynamics, name: str, unit_text: str, default: float) -> float:
        """Return a parameter that is one number."""
        series = self.slot(unit, name, unit_text)
        if series is None:
            return default
        if not (series == series[0]).all():
            raise EvaluationError(f"{unit.name}: {name} must be one number")
        return float(series[0])

    def names(self, unit: Dynamics, word: str) -> list[str]:
        """Return the quantities by which a series of a unit may go."""
        if unit.model != "thermal_zone":
            return [f"{unit.name}.{word}"]
        if unit.name == "zone" or unit.name.startswith("zone."):
            return [f"{unit.name}.{word}"]
        return [f"zone.{unit.name}.{word}", f"{unit.name}.{word}"]

    def decision(self, unit: Dynamics, word: str, required: bool = True) -> Floats | None:
        """Return a series of the schedule in kW, None when it is absent and not required."""
        for name in self.names(unit, word):
            try:
                return self._series(name, self.periods(unit), "kW")
            except MissingQuantity:
                continue
        if required:
            raise MissingQuantity(self.names(unit, word)[0])
        return None

    def state(self, unit: Dynamics, word: str, unit_text: str) -> tuple[str, Floats | None]:
        """Return name and values of a state as the schedule has it."""
        instants = self.instants(self.periods(unit))
        for name in self.names(unit, word):
            try:
                if instants is not None:
                    return name, self._series(name, instants, unit_text)
                series = self.bench.series[name]
                return name, series.converted(parse_unit(unit_text)).reshape(-1)
            except (MissingQuantity, KeyError):
                continue
        return self.names(unit, word)[0], None

    def _series(self, name: str, over: IndexSet, unit_text: str) -> Floats:
        symbol = self.bench.evaluator.environment.symbol(name)
        wanted = parse_unit(unit_text)
        if symbol.value is None or len(symbol.dims) != 1 or symbol.dims[0].size != over.size:
            raise EvaluationError(f"{name} does not run over {over.name}")
        if symbol.value.unit.dimension != wanted.dimension:
            raise EvaluationError(f"{name} is {symbol.value.unit}, needed is {wanted}")
        return np.asarray((symbol.value.data - float(wanted.zero or 0)) / float(wanted.factor))

    # -- running --------------------------------------------------------------------------------

    def run(self) -> list[Trajectory]:
        """Return every state, recomputed from decisions."""
        trajectories: list[Trajectory] = []
        for unit in self.units:
            if unit.model == "battery":
                trajectories += self._guard(unit.name, lambda u=unit: [self._battery(u)])
        zones = [unit for unit in self.units if unit.model == "thermal_zone"]
        for group in _groups(zones):
            trajectories += self._guard(group[0].name, lambda g=group: self._zones(g))
        return trajectories

    def _guard(self, name: str, run: Any) -> list[Trajectory]:
        try:
            result: list[Trajectory] = run()
        except EngiagentError as error:
            self.unchecked.append(f"{name} was not re-executed: {error}")
            return []
        return result

    def battery(self, unit: Dynamics) -> Battery:
        """Return the model of a battery; its power limits are the largest of their series."""

        def largest(name: str) -> float:
            series = self.slot(unit, name, "kW")
            return np.inf if series is None else float(series.max())

        capacity = self.slot(unit, "energy_capacity", "kWh")
        if capacity is None:
            raise EvaluationError(f"{unit.name} has no energy_capacity")
        maximum = self.slot(unit, "maximum_energy", "kWh")
        return Battery(
            energy_capacity=float(capacity[0]),
            charge_power_max=largest("charge_power_max"),
            discharge_power_max=largest("discharge_power_max"),
            charge_efficiency=self.single(unit, "charge_efficiency", "1", 1.0),
            discharge_efficiency=self.single(unit, "discharge_efficiency", "1", 1.0),
            minimum_energy=self.single(unit, "minimum_energy", "kWh", 0.0),
            maximum_energy=None if maximum is None else float(maximum[0]),
            self_discharge=self.single(unit, "self_discharge", "1/h", 0.0),
        )

    def _battery(self, unit: Dynamics) -> Trajectory:
        battery = self.battery(unit)
        periods = self.periods(unit)
        hours = self.hours(periods)
        charge, discharge = self.decision(unit, "charge"), self.decision(unit, "discharge")
        assert charge is not None
        assert discharge is not None
        name, claimed = self.state(unit, "state_of_charge", "kWh")
        given = self.slot(unit, "initial_energy", "kWh")
        if given is None and claimed is None:
            raise EvaluationError(f"the initial energy of {unit.name} is unknown")
        start = float(given[0]) if given is not None else float(claimed[0])  # type: ignore[index]
        scheme: Literal["exact", "euler"] = "euler" if unit.scheme == "euler" else "exact"
        declared = battery.simulate(charge, discharge, hours, start, scheme)
        exact = declared
        if scheme != "exact":
            exact = battery.simulate(charge, discharge, hours, start, "exact")
        defect = None
        if claimed is not None:
            decay, gain = battery.coefficients(hours, scheme)
            net = battery.charge_efficiency * charge - discharge / battery.discharge_efficiency
            first = claimed[:1] - start
            defect = np.concatenate((first, claimed[1:] - decay * claimed[:-1] - gain * net))
        return Trajectory(
            tuple(self.names(unit, "state_of_charge")),
            name,
            "kWh",
            declared,
            exact,
            claimed,
            defect,
            battery.energy_capacity,
            self.instants(periods),
            battery.minimum_energy,
            battery.upper_energy,
        )

    def heat(self, zone: Dynamics, word: str) -> Floats | None:
        """Return the heating or cooling of a zone, from the units that serve it where there are."""
        model, output = ("heater", "heat") if word == "heating" else ("cooler", "cooling")
        serving = [
            u for u in self.units if u.model == model and u.connections.get("zone") == zone.name
        ]
        if not serving:
            return self.decision(zone, word, required=False)
        total = np.zeros(self.periods(zone).size)
        for unit in serving:
            total = total + self.output(unit, output)
        return total

    def output(self, unit: Dynamics, word: str) -> Floats:
        """Return the heat or cooling of a heater or cooler, from its electric power."""
        power = self.decision(unit, "electric_power", required=False)
        if power is None:
            delivered = self.decision(unit, word)
            assert delivered is not None
            return delivered
        cop = self.slot(unit, "cop", "1")
        return power if cop is None else power * cop

    def _zones(self, zones: Sequence[Dynamics]) -> list[Trajectory]:
        network, start, claimed = self.network(zones)
        periods = self.periods(zones[0])
        hours = self.hours(periods)
        heat = np.zeros((periods.size, len(zones)))
        ambient = [self.slot(zone, "ambient_temperature", "degC") for zone in zones]
        outside = next((a for a in ambient if a is not None), np.zeros(periods.size))
        for column, zone in enumerate(zones):
            heating, cooling = self.heat(zone, "heating"), self.heat(zone, "cooling")
            gains = self.slot(zone, "gains", "kW")
            for sign, part in ((1.0, heating), (-1.0, cooling), (1.0, gains)):
                if part is not None:
                    heat[:, column] += sign * part
            own = ambient[column]
            if own is not None:
                # One ambient for the network; what differs enters as heat through the wall.
                heat[:, column] += (own - outside) / network.zones[column].resistance
        if all(self.heat(zone, word) is None for zone in zones for word in ("heating", "cooling")):
            raise MissingQuantity(self.names(zones[0], "heating")[0])
        scheme: Any = zones[0].scheme or "exact"
        declared = network.simulate(outside, hours, heat, initial=start, scheme=scheme)
        exact = declared
        if scheme != "exact":
            exact = network.simulate(outside, hours, heat, initial=start)
        predicted = None
        if all(values_ is not None for _, values_ in claimed):
            known = np.column_stack([values_ for _, values_ in claimed if values_ is not None])
            predicted = self._one_step(network, known, outside, heat, hours, scheme)
        return [
            self._temperature(zone, periods, claimed[k], declared[:, k], exact[:, k],
                              None if predicted is None else predicted[:, k], float(start[k]))
            for k, zone in enumerate(zones)
        ]  # fmt: skip

    def network(
        self, zones: Sequence[Dynamics]
    ) -> tuple[ThermalNetwork, Floats, list[tuple[str, Floats | None]]]:
        """Return the model of zones, their first temperatures and those of the schedule. [degC]."""
        names = [zone.name for zone in zones]
        models, start, claimed = [], [], []
        for zone in zones:
            capacitance = self.slot(zone, "capacitance", "kWh/K")
            if capacitance is None:
                raise EvaluationError(f"{zone.name} has no capacitance")
            walls = zone.connections.get("neighbours") or {}
            models.append(
                ThermalZone(
                    name=zone.name,
                    capacitance=float(capacitance[0]),
                    resistance=self.single(zone, "resistance", "K/kW", np.inf),
                    neighbours={
                        other: float(self.number(zone, written, "K/kW")[0])
                        for other, written in walls.items()
                        if other in names
                    },
                )
            )
            claimed.append(self.state(zone, "temperature", "degC"))
            initial = self.slot(zone, "initial_temperature", "degC")
            known = claimed[-1][1]
            if initial is None and known is None:
                raise EvaluationError(f"the initial temperature of {zone.name} is unknown")
            start.append(float(initial[0] if initial is not None else known[0]))  # type: ignore[index]
        return ThermalNetwork(tuple(models)), np.array(start), claimed

    def _one_step(
        self,
        network: ThermalNetwork,
        known: Floats,
        outside: Floats,
        heat: Floats,
        hours: Floats,
        scheme: Any,
    ) -> Floats:
        """Return what follows from each of the schedule's states after one step."""
        inputs = np.column_stack((outside, heat))
        predicted = np.empty((len(hours), known.shape[1]))
        for step in np.unique(hours):
            rows = np.flatnonzero(hours == step)
            a, b = network.discretise(float(step), scheme)
            predicted[rows] = known[rows] @ a.T + inputs[rows] @ b.T
        return predicted

    def _temperature(
        self,
        zone: Dynamics,
        periods: IndexSet,
        claimed: tuple[str, Floats | None],
        declared: Floats,
        exact: Floats,
        predicted: Floats | None,
        start: float,
    ) -> Trajectory:
        name, known = claimed
        defect = None
        if known is not None and predicted is not None:
            defect = np.concatenate(([known[0] - start], known[1:] - predicted))
        scale = float(np.max(np.abs(declared), initial=1.0))
        names = tuple(self.names(zone, "temperature"))
        return Trajectory(
            names, name, "degC", declared, exact, known, defect, scale, self.instants(periods)
        )


def _groups(zones: Sequence[Dynamics]) -> Iterator[list[Dynamics]]:
    """Yield zones that exchange heat together, each group once."""
    left = list(zones)
    while left:
        group = [left.pop(0)]
        grown = True
        while grown:
            names = {zone.name for zone in group}
            touching = [
                zone
                for zone in left
                if names & set(_walls(zone)) or any(zone.name in _walls(z) for z in group)
            ]
            grown = bool(touching)
            group += touching
            left = [zone for zone in left if zone not in touching]
        yield group


def _walls(zone: Dynamics) -> Mapping[str, Any]:
    walls: Mapping[str, Any] = zone.connections.get("neighbours") or {}
    return walls


def as_series(trajectory: Trajectory, unit: Any) -> Series:
    """Return the recomputed state as a series that can stand for the schedule's."""
    over = trajectory.instants
    dim = over.name if over is not None else ""
    return Series(trajectory.quantity, trajectory.declared, unit, (dim,))

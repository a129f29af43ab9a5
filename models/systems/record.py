"""The books of a step, and the series of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from engiagent.models.ranges import Floats, ParameterError
from engiagent.models.systems.module import Outcome
from engiagent.models.systems.ports import QUANTITIES, Port, Values, total
from engiagent.models.systems.system import System

CONTENT = {quantity: hours for quantity, _, hours in QUANTITIES.values()}


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one period ends with; everything by full name.

    Attributes
    ----------
    state
        At the end of the period.
    outputs
        All inputs and outputs of all modules during the period; instant ones as at its start.
    residuals
        Of each bus: what is given less what is taken. [kW] or [kg/s]
    imbalances
        Of each module and quantity, as ``battery.energy``: what comes in less what goes out and
        what the content grows by. Zero but for rounding, or the module creates or loses something.
    entered, left
        What all modules took from and gave to the environment, by quantity. [kW], [kg/s]
    violations
        By how much limits of units are broken; 0 where they are kept.
    """

    state: Values
    outputs: Values
    residuals: Values
    imbalances: Mapping[str, float]
    entered: Mapping[str, float]
    left: Mapping[str, float]
    violations: Values


@dataclass
class Books:
    """What the modules of one step took, gave and kept."""

    entered: dict[str, float] = field(default_factory=dict)
    left: dict[str, float] = field(default_factory=dict)
    imbalances: dict[str, float] = field(default_factory=dict)
    violations: dict[str, Floats] = field(default_factory=dict)

    def enter(
        self,
        name: str,
        flows: list[tuple[Port, Floats]],
        contents: tuple[Mapping[str, float], Mapping[str, float]],
        outcome: Outcome,
        step_hours: float,
    ) -> None:
        """Write down the step of one module."""
        net: dict[str, float] = {}
        for port, value in flows:
            quantity = QUANTITIES[port.unit][0]
            signed = total(value) * (1.0 if port.way == "takes" else -1.0)
            net[quantity] = net.get(quantity, 0.0) + signed
        for quantity, amount in outcome.entered.items():
            net[quantity] = net.get(quantity, 0.0) + amount
            self.entered[quantity] = self.entered.get(quantity, 0.0) + amount
        for quantity, amount in outcome.left.items():
            net[quantity] = net.get(quantity, 0.0) - amount
            self.left[quantity] = self.left.get(quantity, 0.0) + amount
        before, after = contents
        for quantity, content in after.items():
            growth = (content - before[quantity]) / (step_hours * CONTENT[quantity])
            net[quantity] = net.get(quantity, 0.0) - growth
        self.imbalances |= {f"{name}.{quantity}": amount for quantity, amount in net.items()}
        self.violations |= {f"{name}.{key}": value for key, value in outcome.violations.items()}


@dataclass(frozen=True, kw_only=True)
class Record:
    """Series of a run over N periods; states have N+1 values, all else N.

    Attributes
    ----------
    step_hours
        Length of each period. [h]
    series
        States, inputs and outputs by full name. A state is under its own name also when an instant
        output has the same.
    units
        Of the series, by full name.
    residuals, imbalances, entered, left, violations
        As of :class:`Step`, over the periods.

    Examples
    --------
    ``record["battery.energy"]`` has N+1 values, ``record["grid.import"]`` has N.
    """

    step_hours: float
    series: Values
    units: Mapping[str, str]
    residuals: Values
    imbalances: Values
    entered: Values
    left: Values
    violations: Values

    def __getitem__(self, name: str) -> Floats:
        if name not in self.series:
            module = name.partition(".")[0]
            near = [key for key in self.series if key.partition(".")[0] == module]
            raise ParameterError(
                f"there is no series {name!r}; known: {', '.join(near or list(self.series))}"
            )
        return self.series[name]

    @classmethod
    def of(cls, start: Values, steps: list[Step], step_hours: float, system: System) -> "Record":
        """Return the series of the steps that followed a start."""
        states = {
            name: np.stack([start[name], *(step.state[name] for step in steps)]) for name in start
        }
        ports = system.wiring.ports
        outputs = {
            name: _stacked([step.outputs[name] for step in steps], port.shape)
            for name, port in ports.items()
            if name not in states
        }
        units = {name: port.unit for name, port in ports.items()}
        units |= {name: state.unit for name, state in system.states.items()}
        return cls(
            step_hours=step_hours,
            series=outputs | states,
            units=units,
            residuals=_series([step.residuals for step in steps]),
            imbalances=_series([step.imbalances for step in steps]),
            entered=_series([step.entered for step in steps]),
            left=_series([step.left for step in steps]),
            violations=_series([step.violations for step in steps]),
        )

    def worst_residual(self) -> float:
        """Return the largest absolute residual of a bus in any period. [kW] or [kg/s]."""
        return _largest(self.residuals)

    def worst_imbalance(self) -> float:
        """Return the largest absolute imbalance of a module in any period. [kW] or [kg/s]."""
        return _largest(self.imbalances)

    def broken_limits(self, tolerance: float = 1e-9) -> dict[str, float]:
        """Return the limits broken by more than a tolerance, each with its largest amount."""
        worst = {
            name: float(np.max(values, initial=0.0)) for name, values in self.violations.items()
        }
        return {name: amount for name, amount in worst.items() if amount > tolerance}


def _stacked(values: list[Floats], shape: tuple[int, ...]) -> Floats:
    return np.stack(values) if values else np.empty((0, *shape))


def _series(rows: list[Mapping[str, float]] | list[Values]) -> dict[str, Floats]:
    names = dict.fromkeys(name for row in rows for name in row)
    return {
        name: np.stack([np.asarray(row.get(name, 0.0), dtype=np.float64) for row in rows])
        for name in names
    }


def _largest(series: Values) -> float:
    # numpy's maximum keeps NaN, the built-in one may lose it.
    return float(
        np.max([np.max(np.abs(values), initial=0.0) for values in series.values()] or [0.0])
    )

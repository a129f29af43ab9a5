r"""A feeder in per-unit arrays on a base of 1 MVA, and the circuit equations of its branches.

Every branch is an ideal ratio :math:`N` at its ``from`` side and a pi section behind it:

.. math::
    V' = V_f / N, \quad
    I' = \tfrac{y}{2} V' + \frac{V' - V_t}{z}, \quad I_f = I' / \overline{N}, \quad
    I_t = \tfrac{y}{2} V_t + \frac{V_t - V'}{z}

with currents into the branch. A line has :math:`N = 1`; a transformer has its tap, its clock and
the quotient of its rated and the nominal voltages.

Source of the parts: J. J. Grainger and W. D. Stevenson, Power System Analysis (1994), chapters 2
and 6.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import Floats, ParameterError, fraction, not_negative, positive


@dataclass(frozen=True, kw_only=True)
class Bus:
    """A node of the feeder."""

    name: str  # by which branches refer to it
    nominal_voltage: float  # line to line; the base of the per-unit voltages. Above 0. [kV]

    def __post_init__(self) -> None:
        positive(self.nominal_voltage, f"the nominal voltage of {self.name}", "kV", "0.4")


@dataclass(frozen=True, kw_only=True)
class Line:
    """A line or cable between two buses of one nominal voltage, as a pi section."""

    # name, from_bus, to_bus: names
    name: str
    from_bus: str
    to_bus: str
    # resistance, reactance: of the whole length and one phase (positive sequence). At least 0, not
    # both 0. [ohm]
    resistance: float
    reactance: float
    susceptance: float = 0.0  # of the whole length, half of it at each end. At least 0. [uS]
    # highest permitted current. Above 0; infinite when there is none. [A]
    ampacity: float = math.inf

    def __post_init__(self) -> None:
        not_negative(self.resistance, f"the resistance of {self.name}", "ohm")
        not_negative(self.reactance, f"the reactance of {self.name}", "ohm")
        not_negative(self.susceptance, f"the susceptance of {self.name}", "uS")
        if self.resistance == 0.0 and self.reactance == 0.0:
            raise ParameterError(
                f"{self.name} has neither resistance nor reactance; join {self.from_bus} and "
                f"{self.to_bus} to one bus, or give an impedance above 0 ohm, as 0.001"
            )
        _rating(self.ampacity, f"the ampacity of {self.name}", "A")


@dataclass(frozen=True, kw_only=True)
class Transformer:
    """A two-winding transformer by its nameplate; ``from`` is the side with the tap changer."""

    # name, from_bus, to_bus: names
    name: str
    from_bus: str
    to_bus: str
    rated_power: float  # above 0. [kVA]
    # from_voltage, to_voltage: rated voltages of the windings, line to line. Above 0. [kV]
    from_voltage: float
    to_voltage: float
    short_circuit_voltage: float  # of the rated voltage, at rated current. Above 0, at most 1. [-]
    load_loss: float = 0.0  # copper loss at rated current. At least 0. [kW]
    no_load_current: float = 0.0  # of the rated current. 0 to 1. [-]
    no_load_loss: float = 0.0  # iron loss at rated voltage. At least 0. [kW]
    # turns of the ``from`` winding over their rated number; above 1 lowers the voltage at ``to``.
    # 0.5 to 1.5. [-]
    tap: float = 1.0
    # vector group number, 0 to 11: ``to`` lags ``from`` by this many times 30 degrees. [-]
    clock: int = 0

    def __post_init__(self) -> None:
        positive(self.rated_power, f"the rated power of {self.name}", "kVA", "400")
        positive(self.from_voltage, f"the rated voltage of {self.name} at from", "kV", "20")
        positive(self.to_voltage, f"the rated voltage of {self.name} at to", "kV", "0.4")
        fraction(self.short_circuit_voltage, f"the short-circuit voltage of {self.name}")
        not_negative(self.load_loss, f"the load loss of {self.name}", "kW")
        not_negative(self.no_load_loss, f"the no-load loss of {self.name}", "kW")
        if not 0 <= self.no_load_current <= 1:
            raise ParameterError(
                f"the no-load current of {self.name} is {self.no_load_current}; give a fraction of "
                "the rated current, as 0.003"
            )
        self._losses_fit()
        if not 0.5 <= self.tap <= 1.5:
            raise ParameterError(
                f"the tap of {self.name} is {self.tap}; give a ratio near 1, as 1.025"
            )
        if self.clock not in range(12):
            raise ParameterError(f"the clock of {self.name} is {self.clock}; give 0 to 11")

    def _losses_fit(self) -> None:
        """Losses are the real part of what the two tests measure and cannot exceed it."""
        tests = (
            ("load loss", self.load_loss, "short-circuit voltage", self.short_circuit_voltage),
            ("no-load loss", self.no_load_loss, "no-load current", self.no_load_current),
        )
        for loss, power, what, part in tests:
            if power > part * self.rated_power:
                raise ParameterError(
                    f"the {loss} of {self.name}, {power} kW, is more than its {what} allows; give "
                    f"at most {part * self.rated_power:g} kW, or check the {what} of {part}"
                )


@dataclass(frozen=True, kw_only=True)
class Shunt:
    """A constant admittance at a bus: a capacitor bank, a reactor, a heating load."""

    bus: str  # name of the bus
    # drawn at nominal voltage; grows with the square of the voltage. At least 0. [kW]
    active_power: float = 0.0
    reactive_power: float = 0.0  # drawn at nominal voltage, below 0 for a capacitor. [kvar]

    def __post_init__(self) -> None:
        not_negative(self.active_power, f"the active power of the shunt at {self.bus}", "kW")
        if not math.isfinite(self.reactive_power):
            raise ParameterError(
                f"the reactive power of the shunt at {self.bus} is {self.reactive_power} kvar; "
                "give a finite number, below 0 for a capacitor"
            )


def _rating(value: float, what: str, unit: str) -> None:
    if not value > 0:
        raise ParameterError(f"{what} is {value} {unit}; give a number above 0, or leave it out")


Complexes = npt.NDArray[np.complex128]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class Network:
    """The branches and the buses of a feeder."""

    source: int  # place of the source among the buses
    nominal: Floats  # base voltage of the buses, line to line, shape (buses,). [kV]
    # begin, end: places of the buses at ``from`` and ``to``, shape (branches,)
    begin: Places
    end: Places
    # impedance, admittance, ratio: of the branches, shape (branches,): series z and shunt y on the
    # ``to`` side, and N. [p.u.]
    impedance: Complexes
    admittance: Complexes
    ratio: Complexes
    # rated currents at ``from`` and ``to``, shape (branches, 2), infinite without a rating. [A]
    ampacity: Floats
    shunt: Complexes  # admittance of the shunts at the buses, shape (buses,). [p.u.]

    @classmethod
    def of(
        cls,
        source: str,
        buses: Sequence[Bus],
        lines: Sequence[Line],
        transformers: Sequence[Transformer],
        shunts: Sequence[Shunt],
    ) -> Self:
        """Return the arrays of a feeder's parts."""
        place = {bus.name: i for i, bus in enumerate(buses)}
        nominal = np.array([bus.nominal_voltage for bus in buses])
        branches: list[Line | Transformer] = [*lines, *transformers]
        base = [nominal[place[b.from_bus]] for b in branches]
        other = [nominal[place[b.to_bus]] for b in branches]
        rows = [_line(line, base[i]) for i, line in enumerate(lines)]
        offset = len(lines)
        rows += [
            _transformer(unit, base[offset + i], other[offset + i])
            for i, unit in enumerate(transformers)
        ]
        electric = np.array([row[:3] for row in rows], dtype=np.complex128)
        electric = electric.reshape(-1, 3)
        shunt = np.zeros(len(nominal), dtype=np.complex128)
        for part in shunts:
            # S = |V|² conj(y), so what is drawn at nominal voltage is the conjugate admittance.
            shunt[place[part.bus]] += (part.active_power - 1j * part.reactive_power) / 1000.0
        return cls(
            source=place[source],
            nominal=nominal,
            begin=np.array([place[b.from_bus] for b in branches], dtype=np.intp),
            end=np.array([place[b.to_bus] for b in branches], dtype=np.intp),
            impedance=electric[:, 0],
            admittance=electric[:, 1],
            ratio=electric[:, 2],
            ampacity=np.array([row[3] for row in rows]).reshape(-1, 2),
            shunt=shunt,
        )

    @property
    def base_current(self) -> Floats:
        """Current of 1 p.u. at each bus, shape (buses,). [A]."""
        return np.asarray(1000.0 / (math.sqrt(3.0) * self.nominal))

    def currents(self, voltage: Complexes) -> tuple[Complexes, Complexes]:
        """Return the currents into both ends of the branches, (time, branches) each. [p.u.]."""
        behind = voltage[:, self.begin] / self.ratio
        ahead = voltage[:, self.end]
        series = (behind - ahead) / self.impedance
        half = self.admittance / 2
        into = (half * behind + series) / np.conj(self.ratio)
        out = half * ahead - series
        return into, out


def _line(line: Line, kilovolt: float) -> tuple[complex, complex, complex, tuple[float, float]]:
    base = kilovolt**2  # ohm at 1 MVA
    impedance = complex(line.resistance, line.reactance) / base
    admittance = 1e-6j * line.susceptance * base
    return impedance, admittance, 1.0 + 0j, (line.ampacity, line.ampacity)


def _transformer(
    unit: Transformer, begin: float, end: float
) -> tuple[complex, complex, complex, tuple[float, float]]:
    rated = unit.rated_power / 1000.0
    # From the base of the transformer to that of the feeder.
    scale = (unit.to_voltage / end) ** 2 / rated
    resistance = unit.load_loss / unit.rated_power
    reactance = math.sqrt(max(unit.short_circuit_voltage**2 - resistance**2, 0.0))
    conductance = unit.no_load_loss / unit.rated_power
    susceptance = -math.sqrt(max(unit.no_load_current**2 - conductance**2, 0.0))
    turns = (unit.from_voltage * unit.tap / begin) / (unit.to_voltage / end)
    angle = math.radians(30.0 * unit.clock)
    limits = (
        unit.rated_power / (math.sqrt(3.0) * unit.from_voltage),
        unit.rated_power / (math.sqrt(3.0) * unit.to_voltage),
    )
    return (
        complex(resistance, reactance) * scale,
        complex(conductance, susceptance) / scale,
        turns * complex(math.cos(angle), math.sin(angle)),
        limits,
    )

r"""A feeder in per-unit arrays on a base of 1 MVA, and the circuit equations of its branches.

Every branch is an ideal ratio :math:`N` at its ``from`` side and a pi section behind it:

.. math::
    V' = V_f / N, \quad
    I' = \tfrac{y}{2} V' + \frac{V' - V_t}{z}, \quad I_f = I' / \overline{N}, \quad
    I_t = \tfrac{y}{2} V_t + \frac{V_t - V'}{z}

with currents into the branch. A line has :math:`N = 1`; a transformer has its tap and the quotient
of its rated and the nominal voltages.

Source of the parts: J. J. Grainger and W. D. Stevenson, Power System Analysis (1994), chapters 2
and 6.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from engiagent.models.ranges import (
    Floats,
    ParameterError,
    fraction,
    not_negative,
    positive,
    share,
    within,
)


@dataclass(frozen=True, kw_only=True)
class Bus:
    """A node of the feeder."""

    name: str  # by which branches refer to it
    nominal_voltage: float  # line to line; the base of the per-unit voltages. Above 0. [kV]

    def __post_init__(self) -> None:
        positive(self.nominal_voltage, f"the nominal voltage of {self.name}", "kV")


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
        positive(self.ampacity, f"the ampacity of {self.name}", "A", finite=False)


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

    def __post_init__(self) -> None:
        positive(self.rated_power, f"the rated power of {self.name}", "kVA")
        positive(self.from_voltage, f"the rated voltage of {self.name} at from", "kV")
        positive(self.to_voltage, f"the rated voltage of {self.name} at to", "kV")
        fraction(self.short_circuit_voltage, f"the short-circuit voltage of {self.name}")
        not_negative(self.load_loss, f"the load loss of {self.name}", "kW")
        not_negative(self.no_load_loss, f"the no-load loss of {self.name}", "kW")
        share(self.no_load_current, f"the no-load current of {self.name}")
        within(self.tap, f"the tap of {self.name}", "-", low=0.5, high=1.5)
        # Losses are the real part of what the two tests measure and cannot exceed it.
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

    @classmethod
    def of(
        cls,
        source: str,
        buses: Sequence[Bus],
        lines: Sequence[Line],
        transformers: Sequence[Transformer],
    ) -> Self:
        """Return the arrays of a feeder's parts."""
        place = {bus.name: i for i, bus in enumerate(buses)}
        nominal = np.array([bus.nominal_voltage for bus in buses])
        branches: list[Line | Transformer] = [*lines, *transformers]
        ends = [(nominal[place[b.from_bus]], nominal[place[b.to_bus]]) for b in branches]
        rows = [
            _line(b, *voltages) if isinstance(b, Line) else _transformer(b, *voltages)
            for b, voltages in zip(branches, ends, strict=True)
        ]
        electric = np.array([row[:3] for row in rows], dtype=np.complex128).reshape(-1, 3)
        return cls(
            source=place[source],
            nominal=nominal,
            begin=np.array([place[b.from_bus] for b in branches], dtype=np.intp),
            end=np.array([place[b.to_bus] for b in branches], dtype=np.intp),
            impedance=electric[:, 0],
            admittance=electric[:, 1],
            ratio=electric[:, 2],
            ampacity=np.array([row[3] for row in rows]).reshape(-1, 2),
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


Electric = tuple[complex, complex, complex, tuple[float, float]]
"""Impedance, admittance, ratio and the ratings at both ends."""


def _line(line: Line, begin: float, end: float) -> Electric:
    base = begin * end  # ohm at 1 MVA; both are one voltage
    impedance = complex(line.resistance, line.reactance) / base
    admittance = 1e-6j * line.susceptance * base
    return impedance, admittance, 1.0 + 0j, (line.ampacity, line.ampacity)


def _transformer(unit: Transformer, begin: float, end: float) -> Electric:
    rated = unit.rated_power / 1000.0
    # From the base of the transformer to that of the feeder.
    scale = (unit.to_voltage / end) ** 2 / rated
    resistance = unit.load_loss / unit.rated_power
    reactance = math.sqrt(max(unit.short_circuit_voltage**2 - resistance**2, 0.0))
    conductance = unit.no_load_loss / unit.rated_power
    susceptance = -math.sqrt(max(unit.no_load_current**2 - conductance**2, 0.0))
    turns = (unit.from_voltage * unit.tap / begin) / (unit.to_voltage / end)
    ampere = unit.rated_power / math.sqrt(3.0)  # times kV
    return (
        complex(resistance, reactance) * scale,
        complex(conductance, susceptance) / scale,
        complex(turns),
        (ampere / unit.from_voltage, ampere / unit.to_voltage),
    )

r"""A feeder in per-unit arrays on a base of 1 MVA, and the circuit equations of its branches.

Every branch is an ideal ratio :math:`N` at its ``from`` side and a pi section behind it:

.. math::
    V' = V_f / N, \quad
    I' = \tfrac{y}{2} V' + \frac{V' - V_t}{z}, \quad I_f = I' / \overline{N}, \quad
    I_t = \tfrac{y}{2} V_t + \frac{V_t - V'}{z}

with currents into the branch. A line has :math:`N = 1`; a transformer has its tap, its clock and
the quotient of its rated and the nominal voltages.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from engiagent.models.grids.parts import Line, Transformer
from engiagent.models.ranges import Floats

if TYPE_CHECKING:
    from engiagent.models.grids.feeder import Feeder

Complexes = npt.NDArray[np.complex128]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class Network:
    """The closed branches and the buses of a feeder.

    Attributes
    ----------
    source
        Place of the source among the buses.
    nominal
        Base voltage of the buses, line to line, shape (buses,). [kV]
    begin, end
        Places of the buses at ``from`` and ``to``, shape (branches,).
    impedance, admittance, ratio
        Of the branches, shape (branches,): series z and shunt y on the ``to`` side, and N. [p.u.]
    closed
        Shape (branches,); an open branch carries nothing.
    ampacity
        Rated currents at ``from`` and ``to``, shape (branches, 2), infinite without a rating. [A]
    shunt
        Admittance of the shunts at the buses, shape (buses,). [p.u.]
    """

    source: int
    nominal: Floats
    begin: Places
    end: Places
    impedance: Complexes
    admittance: Complexes
    ratio: Complexes
    closed: npt.NDArray[np.bool_]
    ampacity: Floats
    shunt: Complexes

    @classmethod
    def of(cls, feeder: "Feeder") -> Self:
        """Return the arrays of a feeder."""
        place = {bus.name: i for i, bus in enumerate(feeder.buses)}
        nominal = np.array([bus.nominal_voltage for bus in feeder.buses])
        branches = feeder.branches
        base = [nominal[place[b.from_bus]] for b in branches]
        other = [nominal[place[b.to_bus]] for b in branches]
        lines = [_line(line, base[i]) for i, line in enumerate(feeder.lines)]
        offset = len(lines)
        units = [
            _transformer(unit, base[offset + i], other[offset + i])
            for i, unit in enumerate(feeder.transformers)
        ]
        electric = np.array([row[:3] for row in (*lines, *units)], dtype=np.complex128)
        electric = electric.reshape(-1, 3)
        shunt = np.zeros(len(nominal), dtype=np.complex128)
        for part in feeder.shunts:
            # S = |V|² conj(y), so what is drawn at nominal voltage is the conjugate admittance.
            shunt[place[part.bus]] += (part.active_power - 1j * part.reactive_power) / 1000.0
        return cls(
            source=place[feeder.source],
            nominal=nominal,
            begin=np.array([place[b.from_bus] for b in branches], dtype=np.intp),
            end=np.array([place[b.to_bus] for b in branches], dtype=np.intp),
            impedance=electric[:, 0],
            admittance=electric[:, 1],
            ratio=electric[:, 2],
            closed=np.array([b.closed for b in branches], dtype=np.bool_),
            ampacity=np.array([row[3] for row in (*lines, *units)]).reshape(-1, 2),
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
        return into * self.closed, out * self.closed


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

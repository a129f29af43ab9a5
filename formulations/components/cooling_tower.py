r"""A cooling tower by YorkCalc: heat of a condenser into the air, by the speed of its fan.

.. math::
    \rho_t = \frac{\dot Q_t}{\dot m_t c_w}, \quad L_t = \frac{\dot m_t}{\dot m_r\,s_t}, \qquad
    T_t = T^{wb}_t + \sum_{jk} a_{jk}(T^{wb}_t)\,\rho_t^j L_t^k \le T^{\max}_t, \qquad
    P_t = P_r s_t^n

with the speed :math:`s` between :math:`\dot m_t/(8 \dot m_r)`, where the correlation ends, and 1. A
nonlinear programme: less speed is paid for by warmer water.
"""

from typing import Final

import numpy as np

from engiagent.formulations.components.fragment import CAPACITY
from engiagent.formulations.components.known import known_values
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.temperatures import plain
from engiagent.models.hvac.water import SPECIFIC_HEAT
from engiagent.models.hvac.york_calc import approach

LARGEST_RATIO: Final = 8.0
LARGEST_RANGE: Final = 22.2


def declare(reader: Reader) -> None:
    """Add the algebra of a cooling tower."""
    name, rated = reader.name, reader.text("rated_water_flow")
    flow = reader.optional("water_flow") or rated
    heat, speed = f"{name}_heat_rejected[t]", f"{name}_speed[t]"
    most = f"{LARGEST_RANGE}[K]*{flow}*{SPECIFIC_HEAT}[kJ/(kg*K)]"
    fan = reader.text("rated_fan_power")
    wet = reader.text("wet_bulb_temperature")
    cooled = f"({heat}/({flow}*{SPECIFIC_HEAT}[kJ/(kg*K)])/1[K])"
    warmer = _approach(reader, wet, cooled, f"({flow}/{rated}/{speed})")
    reader.variable("heat_rejected", "heat of the condenser", upper=most)
    slowest = f"{flow}/{rated}/{LARGEST_RATIO}"
    reader.variable("speed", "speed of the fan", lower=slowest, upper=1)
    used = f"{fan}*{speed}**{_exponent(reader)}"
    reader.expression("electric_power", used, "power of the fan")
    reader.expression("water_temperature", f"{wet} + 1[K]*({warmer})", "leaving water")
    if reader.given("water_temperature_max"):
        text = f"{name}_water_temperature[t] <= {reader.text('water_temperature_max')}"
        reader.row(
            "water_temperature_max", text, "leaving water", CAPACITY, of="water_temperature_max"
        )
    reader.terminal(f"{name}_electric_power[t]", fan, supplies=False)
    reader.terminal(heat, most, supplies=False, port="heat_bus")


def _approach(reader: Reader, wet: str, cooled: str, ratio: str) -> str:
    """Return the approach [K] by range and ratio of flows, its coefficients as parameters."""
    terms = []
    table = _coefficients()
    bulb = plain(wet)
    for j in range(3):
        for k in range(3):
            c = table[:, j, k]
            suffix = f"approach_{j}{k}"
            text = f"{float(c[0])!r} + {float(c[1])!r}*{bulb} + {float(c[2])!r}*{bulb}**2"
            reader.derived(suffix, "1", text, "coefficient of YorkCalc", of="wet_bulb_temperature")
            factors = [f"{reader.name}_{suffix}[t]"]
            factors += [f"{cooled}**{j}" if j > 1 else cooled] * (j > 0)
            factors += [f"{ratio}**{k}" if k > 1 else ratio] * (k > 0)
            terms.append("*".join(factors))
    return " + ".join(terms)


def _coefficients() -> np.ndarray:
    """Return the coefficients by powers of wet bulb, range and ratio, read off the correlation."""
    points = np.array([-1.0, 0.0, 1.0])
    inverse = np.linalg.inv(np.vander(points, 3, increasing=True))
    values = approach(points[:, None, None], points[None, :, None], points[None, None, :])
    return np.asarray(np.einsum("ia,jb,kc,abc->ijk", inverse, inverse, inverse, values))


def _exponent(reader: Reader) -> int:
    if not reader.given("fan_exponent"):
        return 3
    given = reader.component.parameters["fan_exponent"]
    found = known_values(given, "1", reader.around.core)
    if len(found) != 1 or found[0] != int(found[0]):
        raise reader.wrong(f"fan_exponent is {given}", expected="1, 2, 3 or 4")
    return int(found[0])

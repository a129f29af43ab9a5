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

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings, wrong
from engiagent.formulations.components.known import known_values
from engiagent.formulations.components.parts import CAPACITY, derived, expression, row, variable
from engiagent.formulations.components.temperatures import plain
from engiagent.models.hvac.water import SPECIFIC_HEAT
from engiagent.models.hvac.york_calc import approach

LARGEST_RATIO: Final = 8.0
LARGEST_RANGE: Final = 22.2
SLOTS = {
    "rated_water_flow": Slot("kg/s", required=True, low=0, above=True, meaning="of the water"),
    "rated_fan_power": Slot("kW", low=0, default="0", meaning="at full speed"),
    "fan_exponent": Slot("1", low=1, high=4, default="3", meaning="of power by speed, whole"),
    "wet_bulb_temperature": Slot(
        "degC", required=True, series=True, low=-34.4, high=29.5, meaning="of the entering air"
    ),
    "water_flow": Slot(
        "kg/s", series=True, low=0, above=True, default="the rated one", meaning="of the water"
    ),
    "water_temperature_max": Slot(
        "degC", series=True, default="no limit", meaning="of the leaving water"
    ),
}
CONNECTIONS = ("bus", "heat_bus")


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a cooling tower."""
    reader = Reader(component, around, SLOTS, (), CONNECTIONS)
    name, rated = reader.name, reader.text("rated_water_flow")
    flow = reader.optional("water_flow") or rated
    heat, speed = f"{name}_heat_rejected[t]", f"{name}_speed[t]"
    most = f"{LARGEST_RANGE}[K]*{flow}*{SPECIFIC_HEAT}[kJ/(kg*K)]"
    fan = reader.optional("rated_fan_power") or "0[kW]"
    wet = reader.text("wet_bulb_temperature")
    cooled = f"({heat}/({flow}*{SPECIFIC_HEAT}[kJ/(kg*K)])/1[K])"
    helper, warmer = _approach(reader, wet, cooled, f"({flow}/{rated}/{speed})")
    result = (
        helper
        + variable(reader, "heat_rejected", "kW", "heat of the condenser", upper=most)
        + variable(
            reader,
            "speed",
            "1",
            "speed of the fan",
            lower=f"{flow}/{rated}/{LARGEST_RATIO}",
            upper=1,
        )
        + expression(
            reader,
            "electric_power",
            "kW",
            f"{fan}*{speed}**{_exponent(reader)}",
            "power of the fan",
        )
        + expression(
            reader, "water_temperature", "degC", f"{wet} + 1[K]*({warmer})", "leaving water"
        )
    )
    if reader.given("water_temperature_max"):
        text = f"{name}_water_temperature[t] <= {reader.text('water_temperature_max')}"
        result += row(
            reader,
            "water_temperature_max",
            text,
            "leaving water",
            CAPACITY,
            slots=("water_temperature_max",),
        )
    terminals = reader.terminal(f"{name}_electric_power[t]", fan, supplies=False) + reader.terminal(
        heat, most, supplies=False, port="heat_bus"
    )
    return result + Fragment(terminals=terminals)


def _approach(reader: Reader, wet: str, cooled: str, ratio: str) -> tuple[Fragment, str]:
    """Return the approach [K] by range and ratio of flows, its coefficients as parameters."""
    helper, terms = Fragment(), []
    table = _coefficients()
    bulb = plain(wet)
    for j in range(3):
        for k in range(3):
            c = table[:, j, k]
            suffix = f"approach_{j}{k}"
            text = f"{float(c[0])!r} + {float(c[1])!r}*{bulb} + {float(c[2])!r}*{bulb}**2"
            helper += derived(
                reader,
                suffix,
                "1",
                text,
                "coefficient of YorkCalc",
                slots=("wet_bulb_temperature",),
            )
            factors = [f"{reader.name}_{suffix}[t]"]
            factors += [f"{cooled}**{j}" if j > 1 else cooled] * (j > 0)
            factors += [f"{ratio}**{k}" if k > 1 else ratio] * (k > 0)
            terms.append("*".join(factors))
    return helper, " + ".join(terms)


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
        raise wrong(reader.component, f"fan_exponent is {given}", expected="1, 2, 3 or 4")
    return int(found[0])


MODEL = Model(
    fragment,
    SLOTS,
    (),
    CONNECTIONS,
    summary="cooling tower by YorkCalc, with the speed of its fan",
    quantities={
        "heat_rejected": "kW",
        "speed": "1",
        "electric_power": "kW",
        "water_temperature": "degC",
    },
    problem_class="NLP",
    leaves_out="free convection with the fan off; evaporation and make-up",
    exact_against="hvac.york_calc.YorkCalcTower",
)

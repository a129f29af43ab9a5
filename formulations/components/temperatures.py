r"""Capacity and performance by temperatures, as parameters that follow from them.

A curve is biquadratic (or bicubic) in two numbers, for heat pumps and chillers in degC,

.. math:: f(x, y) = c_0 + c_1 x + c_2 x^2 + c_3 y + c_4 y^2 + c_5 x y

or the share of Carnot's coefficient of performance with approaches at both ends,

.. math:: \mathrm{COP} = \eta\,\frac{T_c}{\max(T_c - T_e, \Delta_{\min})}
"""

from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.tables import coefficients

KELVIN = "273.15"


def surface(reader: Reader, slot: str, x: str, y: str) -> str:
    """Return a biquadratic or bicubic curve of two numbers, given as expressions.

    Raises InputError when it has neither six nor ten coefficients.
    """
    c = coefficients(reader, slot, 6, 10)
    if len(c) not in (6, 10):
        raise reader.wrong(f"{slot} has {len(c)} coefficients", expected="6 or 10")
    text = f"{c[0]} + {c[1]}*{x} + {c[2]}*{x}**2 + {c[3]}*{y} + {c[4]}*{y}**2 + {c[5]}*{x}*{y}"
    if len(c) == 10:
        text += f" + {c[6]}*{x}**3 + {c[7]}*{y}**3 + {c[8]}*{x}**2*{y} + {c[9]}*{x}*{y}**2"
    return f"({text})"


def held(reader: Reader, slot: str, number: str) -> str:
    """Return a number of degrees Celsius held within the range in a slot, where one is given."""
    if not reader.given(slot):
        return number
    low, high = (plain(end) if "[" in end else end for end in coefficients(reader, slot, 2, 2))
    return f"max({low}, min({number}, {high}))"


def plain(temperature: str) -> str:
    """Return a temperature as a number of degrees Celsius."""
    return f"(({temperature} - 0[degC])/1[K])"


def carnot(reader: Reader, source: str, sink: str) -> str:
    """Return a share of Carnot's coefficient of performance; slots as in ``CarnotCop``."""
    warm = f"({plain(sink)} + {KELVIN}"
    cold = f"({plain(source)} + {KELVIN}"
    if reader.given("sink_approach"):
        warm += f" + {reader.text('sink_approach')}/1[K]"
    if reader.given("source_approach"):
        cold += f" - {reader.text('source_approach')}/1[K]"
    least = reader.text("minimum_lift")
    lift = f"max({warm}) - {cold}), {least}/1[K])"
    return f"{reader.text('carnot_fraction')}*{warm})/{lift}"

r"""Ice storage whose rates are limited by how much ice there is.

.. math::
    E_{t+1} = e^{-k\Delta t} E_t + \frac{1-e^{-k\Delta t}}{k}\,(\dot Q^c_t - \dot Q^d_t), \qquad
    \dot Q^c_t \le L_c(E_t/E^{\max}), \qquad \dot Q^d_t \le L_d(E_t/E^{\max})

at the content of the start of the period. A limit is a straight line between the entries of a
table over the share of ice (``charge_limit_share`` and ``charge_limit``), or comes from a curve of
EnergyPlus's form by its six coefficients :math:`c` and the mean temperature difference
:math:`\Delta`,

.. math:: L(x) = \frac{E^{\max}}{h}\max\left(0,\; c_0 + c_1 x + c_2 x^2 +
    (c_3 + c_4 x + c_5 x^2)\,\Delta/\Delta_n\right)

(:math:`x` the share of ice for charging and of water for discharging), which is replaced by
``segments`` chords; a chord is off by no more than :math:`|c_2 + c_5 \Delta/\Delta_n|/(4 n^2)` of
:math:`E^{\max}/h`, to the safe side where the curve is concave. One segment is a linear limit.
"""

from typing import Final

from engiagent.blueprint.document import SetDef
from engiagent.formulations.components import battery
from engiagent.formulations.components.fragment import CAPACITY
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.tables import coefficients, tables

WAYS: Final = ("charge", "discharge")
SEGMENTS: Final = 8


def declare(reader: Reader) -> None:
    """Add the algebra of a store of ice."""
    battery.storage(reader, "cooling_bus", "energy")
    for way in WAYS:
        groups = ((f"{way}_limit_share", f"{way}_limit"), (f"{way}_curve", f"{way}_difference"))
        for pair in groups:
            if reader.given(pair[0]) != reader.given(pair[1]):
                raise reader.wrong(f"{pair[0]} and {pair[1]} belong together; give both")
        by_table, by_curve = (reader.given(pair[0]) for pair in groups)
        if by_table and by_curve:
            raise reader.wrong(f"the {way} limit is given by a table and by a curve")
        if by_table:
            found = tables(reader, f"{way}_limit", groups[0])
            _limited(reader, way, *found.names)
        elif by_curve:
            _by_curve(reader, way)


def _limited(reader: Reader, way: str, shares: str, limits: str) -> None:
    share = f"{reader.name}_energy[t]/{reader.text('energy_capacity')}"
    text = f"{reader.name}_{way}[t] <= piecewise({share}, {shares}, {limits})"
    reader.row(
        f"{way}_limit",
        text,
        f"{way} by the ice there is",
        CAPACITY,
        of=(f"{way}_limit", f"{way}_curve"),
    )


def _by_curve(reader: Reader, way: str) -> None:
    """Add the limit by chords of a curve; its values are parameters by period and breakpoint."""
    name, slot = reader.name, f"{way}_curve"
    segments = reader.segments(SEGMENTS)
    c = coefficients(reader, slot, 6, 6)
    points = f"{name}_{way}_points"
    share = f"{name}_{way}_limit_share[k]"
    x = share if way == "charge" else f"(1 - {share})"
    nominal = reader.text("nominal_difference")
    difference = f"{reader.text(f'{way}_difference')}/{nominal}"
    curve = (
        f"{c[0]} + {c[1]}*{x} + {c[2]}*{x}**2 + ({c[3]} + {c[4]}*{x} + {c[5]}*{x}**2)*{difference}"
    )
    whole = f"{reader.text('energy_capacity')}/{reader.optional('curve_hours') or '1[h]'}"
    reader.added.append(SetDef(name=points, kind="range", start=0, stop=segments))
    reader.derived(
        f"{way}_limit_share", "1", f"k/{segments}", "shares of ice", index=(f"k in {points}",)
    )
    reader.derived(
        f"{way}_limit_power",
        "kW",
        f"max(0, {curve})*{whole}",
        f"largest {way} by the curve",
        index=(*reader.periods, f"k in {points}"),
        of=(slot, f"{way}_difference"),
    )
    _limited(reader, way, f"{name}_{way}_limit_share", f"{name}_{way}_limit_power[t]")

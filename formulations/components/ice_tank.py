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

from engiagent.blueprint.document import ComponentDef, SetDef
from engiagent.formulations.components import battery
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings, wrong
from engiagent.formulations.components.parts import CAPACITY, derived, row
from engiagent.formulations.components.tables import coefficients, tables

WAYS: Final = ("charge", "discharge")
SEGMENTS: Final = 8
SLOTS = {
    "energy_capacity": Slot("kWh", required=True, low=0, above=True, meaning="cold of all ice"),
    "charge_power_max": battery.STORAGE["charge_power_max"],
    "discharge_power_max": battery.STORAGE["discharge_power_max"],
    "initial_energy": Slot("kWh", required=True, low=0, meaning="cold at the start"),
    "minimum_energy": Slot("kWh", low=0, default="0", meaning="least content"),
    "self_discharge": Slot("1/h", low=0, default="0", meaning="share that melts in an hour"),
    **{
        f"{way}_limit_share": Slot(
            "1", table=True, low=0, high=1, meaning=f"shares of ice of the table of the {way} limit"
        )
        for way in WAYS
    },
    **{
        f"{way}_limit": Slot("kW", table=True, low=0, meaning=f"largest {way} at these shares")
        for way in WAYS
    },
    **{
        f"{way}_curve": Slot("1", table=True, meaning=f"six coefficients of the {way} limit")
        for way in WAYS
    },
    **{
        f"{way}_difference": Slot(
            "K", series=True, low=0, meaning="mean temperature difference of brine and ice"
        )
        for way in WAYS
    },
    "curve_hours": Slot("h", low=0, above=True, default="1", meaning="time basis of the curves"),
    "nominal_difference": Slot("K", low=0, above=True, default="10", meaning="of the curves"),
}
OPTIONS = ("exclusive_on", "scheme", "segments")
CONNECTIONS = ("cooling_bus",)


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a store of ice."""
    reader = Reader(component, around, SLOTS, OPTIONS, CONNECTIONS)
    result = battery.storage(reader, "cooling_bus", "energy")
    for way in WAYS:
        groups = ((f"{way}_limit_share", f"{way}_limit"), (f"{way}_curve", f"{way}_difference"))
        for pair in groups:
            if reader.given(pair[0]) != reader.given(pair[1]):
                raise wrong(component, f"{pair[0]} and {pair[1]} belong together; give both")
        by_table, by_curve = (reader.given(pair[0]) for pair in groups)
        if by_table and by_curve:
            raise wrong(component, f"the {way} limit is given by a table and by a curve")
        if by_table:
            found = tables(reader, f"{way}_limit", groups[0])
            result += found.fragment + _limited(reader, way, *found.names)
        elif by_curve:
            result += _by_curve(reader, way)
    return result


def _limited(reader: Reader, way: str, shares: str, limits: str) -> Fragment:
    share = f"{reader.name}_energy[t]/{reader.text('energy_capacity')}"
    text = f"{reader.name}_{way}[t] <= piecewise({share}, {shares}, {limits})"
    return row(
        reader,
        f"{way}_limit",
        text,
        f"{way} by the ice there is",
        CAPACITY,
        slots=(f"{way}_limit", f"{way}_curve"),
    )


def _by_curve(reader: Reader, way: str) -> Fragment:
    """Return the limit by chords of a curve; its values are parameters by period and breakpoint."""
    name, slot = reader.name, f"{way}_curve"
    segments = reader.option("segments", SEGMENTS)
    if isinstance(segments, bool) or not isinstance(segments, int) or not 1 <= segments <= 200:
        raise wrong(
            reader.component,
            "cannot read segments",
            found=repr(segments),
            expected="a whole number from 1 to 200",
        )
    c = coefficients(reader, slot, 6, 6)
    points = f"{name}_{way}_points"
    share = f"{name}_{way}_limit_share[k]"
    x = share if way == "charge" else f"(1 - {share})"
    nominal = reader.optional("nominal_difference") or "10[K]"
    difference = f"{reader.text(f'{way}_difference')}/{nominal}"
    curve = (
        f"{c[0]} + {c[1]}*{x} + {c[2]}*{x}**2 + ({c[3]} + {c[4]}*{x} + {c[5]}*{x}**2)*{difference}"
    )
    whole = f"{reader.text('energy_capacity')}/{reader.optional('curve_hours') or '1[h]'}"
    return (
        Fragment(sets=(SetDef(name=points, kind="range", start=0, stop=segments),))
        + derived(
            reader,
            f"{way}_limit_share",
            "1",
            f"k/{segments}",
            "shares of ice",
            index=(f"k in {points}",),
        )
        + derived(
            reader,
            f"{way}_limit_power",
            "kW",
            f"max(0, {curve})*{whole}",
            f"largest {way} by the curve",
            index=(*reader.periods, f"k in {points}"),
            slots=(slot, f"{way}_difference"),
        )
        + _limited(reader, way, f"{name}_{way}_limit_share", f"{name}_{way}_limit_power[t]")
    )


MODEL = Model(
    fragment,
    SLOTS,
    OPTIONS,
    CONNECTIONS,
    summary="ice storage with limits by the share of ice",
    quantities={"charge": "kW", "discharge": "kW", "energy": "kWh"},
    problem_class="LP with concave limits, else MILP",
    leaves_out="temperatures of the brine, which the limits stand for; limits within a period",
    exact_against="storage.ice_tank.IceTankCurves",
)

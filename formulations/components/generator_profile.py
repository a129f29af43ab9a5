r"""A source that weather drives, as PV or wind.

.. math:: 0 \le P_t \le P^\mathrm{available}_t, \qquad P^\mathrm{curtailed}_t =
    P^\mathrm{available}_t - P_t

With the option ``curtailable: false`` all that is available has to be taken.
"""

from engiagent.blueprint.document import ComponentDef, ExpressionDef, VariableDef
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings, wrong

SLOTS = {
    "available_power": Slot("kW", required=True, series=True, meaning="what could be delivered"),
    "curtailable": Slot("1", default="true", meaning="false when all of it has to be taken"),
}
OPTIONS = ("curtailable",)
CONNECTIONS = ("bus",)
_YES_NO = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a weather-driven source."""
    reader = Reader(component, around, SLOTS, OPTIONS, CONNECTIONS)
    return delivered(reader, reader.text("available_power"))


def delivered(reader: Reader, available: str) -> Fragment:
    """Return the power that is used of what is available [kW] in period ``t``."""
    power = f"{reader.name}_power"
    fixed = not _curtailable(reader)
    terminals = reader.terminal(
        f"{power}[t]", available, supplies=True, floor=available if fixed else None
    )
    if fixed:
        return Fragment(expressions=(_expression(reader, "power", available),), terminals=terminals)
    return Fragment(
        variables=(
            VariableDef(
                name=power,
                index=reader.periods,
                lower=0,
                upper=available,
                unit="kW",
                quantity=f"{reader.name}.power",
                role="decision",
                description=f"power that is used of {reader.name}",
                source_reference=reader.source("available_power"),
            ),
        ),
        expressions=(_expression(reader, "curtailed", f"{available} - {power}[t]"),),
        terminals=terminals,
    )


def _curtailable(reader: Reader) -> bool:
    value = reader.option("curtailable", reader.component.parameters.get("curtailable", True))
    found = _YES_NO.get(str(value).lower())
    if found is None:
        raise wrong(
            reader.component, "cannot read curtailable", found=repr(value), expected="true or false"
        )
    return found


def _expression(reader: Reader, series: str, text: str) -> ExpressionDef:
    return ExpressionDef(
        name=f"{reader.name}_{series}",
        index=reader.periods,
        expression=text,
        unit="kW",
        quantity=f"{reader.name}.{series}",
        description=f"{series} of {reader.name}",
    )


MODEL = Model(
    fragment,
    SLOTS,
    OPTIONS,
    CONNECTIONS,
    summary="source whose available power is a series",
    quantities={"power": "kW", "curtailed": "kW"},
    leaves_out="where the series comes from; `pv` and `wind_turbine` compute it",
    exact_against="conversion.GeneratorProfile",
)

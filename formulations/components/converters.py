"""The part that heaters and coolers share: electric power times a coefficient of performance."""

from engiagent.blueprint.document import ComponentDef, ExpressionDef, VariableDef
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings, wrong

SLOTS = {
    "electric_power_max": Slot("kW", series=True, default="no limit", meaning="largest input"),
    "cop": Slot("1", series=True, default="1", meaning="useful over electric power"),
}
CONNECTIONS = ("bus", "zone")


def converter(component: ComponentDef, around: Surroundings, output: str) -> Fragment:
    r"""Return the algebra of a unit that turns electric power into ``output``.

    .. math:: 0 \le P_t \le P^{\max}_t, \qquad \dot Q_t = \mathrm{COP}_t P_t
    """
    reader = read(component, around)
    check_zone(reader)
    power = f"{reader.name}_electric_power"
    limit = reader.optional("electric_power_max")
    cop = reader.optional("cop")
    return Fragment(
        variables=(
            VariableDef(
                name=power,
                index=reader.periods,
                lower=0,
                upper=limit,
                unit="kW",
                quantity=f"{reader.name}.electric_power",
                role="decision",
                description=f"electric power of {reader.name}",
                source_reference=reader.source("electric_power_max"),
            ),
        ),
        expressions=(
            ExpressionDef(
                name=f"{reader.name}_{output}",
                index=reader.periods,
                expression=f"{power}[t]" if cop is None else f"{cop}*{power}[t]",
                unit="kW",
                quantity=f"{reader.name}.{output}",
                description=f"{output} of {reader.name}",
            ),
        ),
        terminals=reader.terminal(f"{power}[t]", limit, supplies=False),
    )


def read(component: ComponentDef, around: Surroundings) -> Reader:
    """Return the reader of a unit's slots."""
    return Reader(component, around, SLOTS, (), CONNECTIONS)


def check_zone(reader: Reader) -> None:
    """Refuse a zone that does not exist or has another time set."""
    name = reader.connection("zone")
    if name is None:
        return
    zone = reader.around.component(str(name))
    if zone is None or zone.model != "thermal_zone":
        known = [c.name for c in reader.around.core.components if c.model == "thermal_zone"]
        raise wrong(
            reader.component,
            "it is connected to a zone that does not exist",
            found=repr(name),
            expected=", ".join(known) or "a component of model thermal_zone",
        )
    if zone.index != reader.component.index:
        raise wrong(
            reader.component,
            f"it has another time set than the zone {zone.name}",
            found=str(reader.component.index),
            expected=str(zone.index),
        )

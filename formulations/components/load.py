"""A demand that has to be met: its power is data, and it takes part in the balance of its bus."""

from engiagent.blueprint.document import ComponentDef, ExpressionDef
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings

SLOTS = {"power": Slot("kW", required=True, series=True, meaning="the demand")}
CONNECTIONS = ("bus",)


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a load."""
    reader = Reader(component, around, SLOTS, (), CONNECTIONS)
    power = reader.text("power")
    return Fragment(
        expressions=(
            ExpressionDef(
                name=f"{reader.name}_power",
                index=reader.periods,
                expression=power,
                unit="kW",
                quantity=f"{reader.name}.power",
                description=f"demand of {reader.name}",
            ),
        ),
        terminals=reader.terminal(f"{reader.name}_power[t]", power, supplies=False, floor=power),
    )


MODEL = Model(
    fragment,
    SLOTS,
    (),
    CONNECTIONS,
    summary="demand that has to be met, of power, heat, cold or fuel",
    quantities={"power": "kW"},
    leaves_out="flexibility; `curtailable_load` and `shiftable_load` have it",
    exact_against="conversion.Load",
)

r"""Events in which a grid's import has to fall below, or is paid for falling below, a baseline.

.. math:: 0 \le d_t \le B_t - P^{in}_t + P^{out}_t \;\text{ in events, else } d_t = 0, \qquad
    d_t \ge d^{\min}

The connection ``grid`` names the component of model ``grid`` that is metered.
"""

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings, wrong
from engiagent.formulations.components.parts import REQUIREMENT, currency, expression, row, variable


def slots_of(cost: str) -> dict[str, Slot]:
    """Return the slots, with the reward in a currency."""
    return {
        "event": Slot("1", required=True, series=True, low=0, high=1, meaning="1 in an event"),
        "baseline": Slot("kW", required=True, series=True, meaning="import without an event"),
        "reduction_min": Slot("kW", series=True, low=0, default="0", meaning="in every event"),
        "reduction_max": Slot(
            "kW", series=True, low=0, default="the baseline", meaning="that is paid for"
        ),
        "reward": Slot(
            f"{cost}/kWh", series=True, low=0, default="0", meaning="for energy below the baseline"
        ),
    }


SLOTS = slots_of("EUR")
CONNECTIONS = ("grid",)


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of demand response."""
    reader = Reader(component, around, slots_of(currency(around)), (), CONNECTIONS)
    grid = around.component(str(reader.connection("grid")))
    if grid is None or grid.model != "grid":
        known = [c.name for c in around.core.components if c.model == "grid"]
        raise wrong(
            component,
            "it is connected to no grid",
            found=repr(reader.connection("grid")),
            expected=", ".join(known) or "a component of model grid",
        )
    name, event, baseline = reader.name, reader.text("event"), reader.text("baseline")
    most = reader.optional("reduction_max") or f"max({baseline}, 0[kW])"
    fall = f"{name}_reduction[t]"
    below = f"{baseline} - {grid.name}_import[t] + {grid.name}_export[t]"
    result = variable(
        reader,
        "reduction",
        "kW",
        "reduction",
        upper=f"{event}*{most}",
        slots=("event", "reduction_max", "baseline"),
    ) + row(
        reader,
        "below_baseline",
        f"{fall} <= {below}",
        "import below the baseline",
        REQUIREMENT,
        where=f"{event} > 0",
        slots=("baseline",),
    )
    if reader.given("reduction_min"):
        text = f"{fall} >= {event}*{reader.text('reduction_min')}"
        result += row(
            reader,
            "least",
            text,
            "least reduction",
            REQUIREMENT,
            where=f"{event} > 0",
            slots=("reduction_min",),
        )
    if reader.given("reward"):
        text = f"-{reader.text('reward')}*{fall}*dt(t)"
        result += expression(reader, "reward_cost", currency(around), text, "reward, negative,")
    return result


MODEL = Model(
    fragment,
    SLOTS,
    (),
    CONNECTIONS,
    summary="events in which import has to, or is paid to, stay below a baseline",
    quantities={"reduction": "kW", "reward_cost": "EUR"},
    leaves_out="how the baseline comes about, as by the days before",
)

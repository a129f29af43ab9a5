"""Emissions of a plant: what all that is burnt and bought emits, held below a cap."""

from engiagent.agents.offline.builder import for_owner
from engiagent.agents.offline.plant.system import System

CATEGORY = "Strategic Requirements"


def add_emissions(system: System) -> None:
    """Hold the emissions of the horizon below the cap of the text, if it has one."""
    builder, plant = system.builder, system.reader.plant
    caps = [r for i in plant.of("grid") for r in
            for_owner(builder.draft, "grid", i.name).get("emission_cap", [])]  # fmt: skip
    if not caps:
        return
    line = caps[0].line
    terms = _burnt(system, line) + _bought(system, line)
    if len(caps) > 1 or not terms:
        builder.draft.doubt(line, "whose emissions are capped is not clear")
        return
    cap = builder.value("emission_cap", caps[0].value, caps[0].slot.said)
    text = " + ".join(f"sum({term}*dt(t) for t in T)" for term in terms)
    builder.constraints.append(
        {
            "constraint_id": f"C{len(builder.constraints) + 1}",
            "name": "emissions in all",
            "expression": f"{text} <= {cap}",
            "category": CATEGORY,
            "hard": True,
            "source_reference": builder.draft.quote(line),
        }
    )


def _burnt(system: System, line: int) -> list[str]:
    """Return what each unit that burns fuel emits per time."""
    builder, plant = system.builder, system.reader.plant
    factors = [system.filled[f.name]["emission_factor"] for f in plant.of("fuel")
               if "emission_factor" in system.filled[f.name]]  # fmt: skip
    terms = []
    for instance in plant.instances:
        burns = instance.unit.card.get("burns")
        if burns is None:
            continue
        if len(factors) != 1 or not system.has(instance.name, "efficiency"):
            builder.draft.doubt(line, f"what the fuel of {instance.name} emits is not given")
            continue
        terms.append(f"{builder.at(factors[0])}*{system.text(instance.name, burns)}")
    return terms


def _bought(system: System, line: int) -> list[str]:
    """Return what the electricity from the grid emits per time."""
    builder = system.builder
    terms = []
    for instance in system.reader.plant.of("grid"):
        values = for_owner(builder.draft, "grid", instance.name).get("emission_factor", [])
        series = builder.draft.series.get((instance.name, "emission_factor"))
        if series is None and not values:
            builder.draft.doubt(line, "what electricity emits is not given")
            continue
        value = series if series is not None else values[0].value
        made = builder.value("grid_emission_factor", value, "emission factor of electricity")
        terms.append(f"{builder.at(made)}*{instance.name}_import[t]")
    return terms

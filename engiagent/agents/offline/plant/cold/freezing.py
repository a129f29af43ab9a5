"""Ice of a chiller in a blueprint: how much of it, from which power, instead of how much cold."""

from engiagent.agents.offline.plant.system import CAPACITY, LOGIC, SWITCHING, System

ICE = "ice"
"""The carrier between a chiller that makes ice and the store that holds it."""


def charged_with(system: System, component: str, carrier: str) -> str:
    """Return what fills a store: ice, where a chiller makes it for a store of cold."""
    freezes = system.reader.icing is not None and component == "cold_store"
    return ICE if freezes else carrier


def add_icing(system: System) -> None:
    """Add the ice that a chiller makes, the power for it, and the time that it takes."""
    icing = system.reader.icing
    if icing is None:
        return
    builder, name = system.builder, icing.name
    if any(system.has(name, slot) for slot in (*SWITCHING, "count")):
        builder.draft.doubt(icing.line, f"{name}: making ice beside a least output or starts")
    most = builder.value(f"{name}_ice_max", icing.most, "largest making of ice")
    cop = builder.value(f"{name}_ice_cop", icing.cop, "coefficient of performance for ice")
    builder.variables.append(
        {"name": f"{name}_ice", "index": ["t in T"], "type": "continuous", "lower": 0,
         "upper": most, "unit": "kW", "quantity": f"{name}.ice", "role": "decision",
         "description": f"ice made by {name}"}
    )  # fmt: skip
    system.supply(ICE, f"{name}_ice[t]")
    system.demand("electricity", f"{name}_ice[t]/{cop}", most)
    cold = builder.at(system.filled[name]["cooling_max"])
    if icing.shared:
        text = f"{name}_cooling[t]/{cold} + {name}_ice[t]/{most} <= 1"
        system.row(f"time of {name} for cold and ice", text, CAPACITY, icing.line)
        return
    freezes = f"{name}_freezes"
    builder.variables.append(
        {"name": freezes, "index": ["t in T"], "type": "binary", "unit": "1",
         "quantity": f"{name}.freezes", "role": "decision",
         "description": f"1 where {name} makes ice"}
    )  # fmt: skip
    system.row(f"{name} makes ice", f"{name}_ice[t] <= {most}*{freezes}[t]", LOGIC, icing.line)
    system.row(f"{name} makes cold", f"{name}_cooling[t] <= {cold}*(1 - {freezes}[t])", LOGIC,
               icing.line)  # fmt: skip

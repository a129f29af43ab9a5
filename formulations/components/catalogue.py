"""The page on components, from the table of models: ``python -m …catalogue > docs/components.md``.

What the page says of a slot is what the code reads it by; :mod:`tests` holds the page to it.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from engiagent.formulations.components import MODELS
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Slot

GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "Supply, demand and their flexibility": (
        "grid",
        "load",
        "curtailable_load",
        "shiftable_load",
        "job",
        "demand_response",
        "battery",
        "ev",
        "feeder",
    ),
    "Generation": ("generator_profile", "pv", "wind_turbine", "genset", "chp", "extraction_chp"),
    "Heat and cold": (
        "heater",
        "cooler",
        "boiler",
        "heat_pump",
        "chiller",
        "cooling_tower",
        "fan",
        "pump",
        "tank",
        "two_zone_tank",
        "thermal_store",
        "ice_tank",
        "hot_water_tank",
    ),
    "Buildings": ("thermal_zone", "emitter", "air_handler", "vav_box", "zone_5r1c", "rc_network"),
}

HEAD: Final = """# Components

Written by `python -m engiagent.formulations.components.catalogue`; a test holds it to the code.
[units.md](units.md) says which of these units the checker executes, and how.

A component of a blueprint names its `model`, fills the model's `parameters`, and says in
`connections` which buses it is on. Everything that names one bus is balanced in kW, period by
period:

```json
{"name": "chiller", "model": "chiller", "parameters": {"rated_capacity": "500[kW]", "rated_cop": 5},
 "connections": {"bus": "site", "cooling_bus": "cold"}, "options": {"segments": 6}}
```

The same in Python, with buses and options by their names beside the parameters:

```python
from engiagent.plant.site import Site

site = Site(start="2025-07-01T00:00", step="1 h", periods=3)
site.add("grid", "grid", bus="site", import_power_max="200 kW", export_power_max=0)
site.add("demand", "load", bus="cold", power=[120.0, 260.0, 180.0])
site.add("chiller", "chiller", bus="site", cooling_bus="cold", rated_capacity="500 kW", rated_cop=5)
site.add("ice", "ice_tank", cooling_bus="cold", energy_capacity="300 kWh", initial_energy=0)
site.minimise_cost({"grid": [0.10, 0.40, 0.20]})
solution = site.solve()
```

`bus` is electric, or of any kind for grids and loads. A *series* is a number, an expression in
`t`, or a parameter over the periods; a *table* is numbers in brackets, as `"(0, 50, 100)"`, or a
parameter over one set. A bare number has the unit of its row. Costs are in the currency of the
objective; quantities that end in `_cost` are costs of a period, which `Site.minimise_cost` adds up
and a blueprint's objective has to name. Variables and expressions are called
`<name>_<series>`, their quantities `<name>.<series>`.
"""


def page() -> str:
    """Return the page."""
    return "\n".join([HEAD, *_overview(), *_sections()]) + "\n"


def _overview() -> Iterator[str]:
    yield "| model | what it is | class |"
    yield "|---|---|---|"
    for names in _groups().values():
        for name in names:
            model = MODELS[name]
            yield f"| [`{name}`](#{name}) | {model.summary} | {model.problem_class} |"
    yield ""


def _groups() -> Mapping[str, tuple[str, ...]]:
    """Return the models by group; one that is in none comes last."""
    placed = {name for names in GROUPS.values() for name in names}
    rest = tuple(name for name in MODELS if name not in placed)
    known = {title: tuple(n for n in names if n in MODELS) for title, names in GROUPS.items()}
    return {**known, "Others": rest} if rest else known


def _sections() -> Iterator[str]:
    for title, names in _groups().items():
        yield f"## {title}\n"
        for name in names:
            yield from _section(name, MODELS[name])


def _section(name: str, model: Model) -> Iterator[str]:
    yield f"### `{name}`\n"
    yield f"{model.summary[0].upper()}{model.summary[1:]}. Class: {model.problem_class}.\n"
    if model.exact_against:
        yield f"Executed by `engiagent.models.{model.exact_against}`.\n"
    if model.leaves_out:
        yield f"Leaves out: {model.leaves_out}.\n"
    where = ", ".join(f"`{c}`" for c in model.connections) or "none"
    chosen = ", ".join(f"`{o}`" for o in model.options) or "none"
    yield f"Connections: {where}. Options: {chosen}.\n"
    if model.slots:
        yield "| parameter | unit | kind | range | default | meaning |"
        yield "|---|---|---|---|---|---|"
        for slot, description in model.slots.items():
            yield _row(slot, description)
        yield ""
    shown = ", ".join(f"`<name>.{series}` [{unit}]" for series, unit in model.quantities.items())
    yield f"Quantities: {shown}.\n"


def _row(name: str, slot: Slot) -> str:
    kind = "table" if slot.table else "series" if slot.series else "number"
    low = "" if slot.low is None else f"{'>' if slot.above else '≥'} {slot.low:g}"
    high = "" if slot.high is None else f"≤ {slot.high:g}"
    limits = ", ".join(part for part in (low, high) if part) or "–"
    default = "required" if slot.required else slot.default or "–"
    return f"| `{name}` | {slot.unit} | {kind} | {limits} | {default} | {slot.meaning} |"


if __name__ == "__main__":
    print(page(), end="")

"""The page on components, from their slot files: ``python docs/_ext/components.py``."""

from collections.abc import Iterator, Mapping
from typing import Final

from engiagent.slots import COMPONENTS, Component, Quantity, Slot

GROUPS: Final = ("Supply, demand and their flexibility", "Generation", "Heat and cold", "Buildings")
"""In the order of the page; other groups come last."""
HEAD: Final = """# Components

Written by `python docs/_ext/components.py` from the slot files; a test holds it to them.
[checking.md](checking.md) says how the checker executes them.

A component of a blueprint names its `model`, fills the model's `parameters`, and says in
`connections` which buses it is on. Everything that names one bus is balanced in kW, period by
period:

```json
{"name": "chiller", "model": "chiller", "parameters": {"rated_capacity": "500[kW]", "rated_cop": 5},
 "connections": {"bus": "site", "cooling_bus": "cold"}, "options": {"segments": 6}}
```

The same in Python, with buses and options by their names beside the parameters:

```python
from engiagent import Site

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

An entry of `dynamics` in `requirements.yaml` takes the same parameters, and beside them what is
marked *checker*. Of the quantities the checker keeps a *decision* when a plan is executed,
recomputes a *state* at the N+1 instants and a *result* by period; the others are the algebra's own.
Powers are means of their periods at the terminals, and at least 0. Without a parameter that is
required *or in the plan*, as the content at the start, the checker takes the plan's own.
"""


def page() -> str:
    """Return the page."""
    return "\n".join([HEAD, *_overview(), *_sections()]) + "\n"


def _groups() -> Mapping[str, list[tuple[str, Component]]]:
    found: dict[str, list[tuple[str, Component]]] = {title: [] for title in GROUPS}
    for name, component in COMPONENTS.items():
        found.setdefault(component.group, []).append((name, component))
    return found


def _overview() -> Iterator[str]:
    yield "| model | what it is | class |"
    yield "|---|---|---|"
    for components in _groups().values():
        for name, component in components:
            built = component.problem_class if component.algebra != "none" else "executed only"
            yield f"| [`{name}`](#{name}) | {component.summary} | {built} |"
    yield ""


def _sections() -> Iterator[str]:
    for title, components in _groups().items():
        yield f"## {title}\n"
        for name, component in components:
            yield from _section(name, component)


def _section(name: str, component: Component) -> Iterator[str]:
    yield f"### `{name}`\n"
    summary = f"{component.summary[0].upper()}{component.summary[1:]}."
    if component.algebra != "none":
        summary += f" Class: {component.problem_class}."
    yield f"{summary}\n"
    if component.executed_by:
        yield f"Executed by `engiagent.models.{component.executed_by}`.\n"
    if component.leaves_out:
        yield f"Leaves out: {component.leaves_out}.\n"
    if component.note:
        yield f"{component.note}\n"
    extra = component.checker.get("connections", {})
    given = dict(component.connections)
    given |= {name: f"{text}, *checker*" for name, text in extra.items()}
    where = ", ".join(f"`{c}` ({text})" for c, text in given.items()) or "none"
    chosen = ", ".join(_option(*option) for option in component.options.items()) or "none"
    yield f"Connections: {where}. Options: {chosen}.\n"
    own = component.checker.get("slots", {})
    if component.slots or own:
        yield "| parameter | unit | kind | range | default | meaning |"
        yield "|---|---|---|---|---|---|"
        for slot, entry in component.slots.items():
            optional = slot in component.checker.get("optional", ())
            yield _row(slot, entry, " or in the plan" if optional and entry.required else "")
        for slot, entry in own.items():
            if slot not in component.slots:
                yield _row(f"{slot}", entry, "", " *checker*")
        yield ""
    more = component.checker.get("quantities", {})
    shown = ", ".join(_quantity(*pair) for pair in {**component.quantities, **more}.items())
    yield f"Quantities: {shown}.\n"


def _option(name: str, words: tuple[str, ...]) -> str:
    """Return an option with the words that it may be."""
    return f"`{name}`" + (f" ({', '.join(f'`{word}`' for word in words)})" if words else "")


def _quantity(series: str, quantity: Quantity) -> str:
    kind = f", {quantity.kind}" if quantity.kind else ""
    return f"`<name>.{series}` [{quantity.unit}]{kind}"


def _row(name: str, slot: Slot, optional: str, who: str = "") -> str:
    limits = [f"> {slot.above:g}"] if slot.above is not None else []
    limits += [f"≥ {slot.at_least:g}"] if slot.at_least is not None else []
    limits += [f"≤ {slot.at_most:g}"] if slot.at_most is not None else []
    default = f"required{optional}" if slot.required else slot.usual or "–"
    unit = " or ".join((slot.unit, *slot.also))
    shown = (unit, slot.kind, ", ".join(limits) or "–", default, slot.meaning)
    return f"| `{name}`{who} | {' | '.join(shown)} |"


if __name__ == "__main__":
    print(page(), end="")

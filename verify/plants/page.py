"""The page on units: models, parameters, quantities, written from the tables of the checker."""

from collections.abc import Iterator, Mapping

from engiagent.verify.plants import MODELS, entry_of
from engiagent.verify.plants.entry import Entry, Slot
from engiagent.verify.vocabulary import SERIES

HEAD = """# Units: models, parameters, quantities

Written by `engiagent.verify.plants.page.units_page()`; a test holds it to the code. What an entry
of `dynamics` in `requirements.yaml`, or a component of a blueprint, takes by its model, and which
quantities its unit has. [checking.md](checking.md) says what the checker keeps and recomputes.

A bare number is read in the unit of its row; an expression brings its own. A *series* may be one
number, or a parameter over the periods. A *table* is numbers in brackets, as `(0, 50, 100)`, or a
parameter over one set; a single number is a table of one. A *decision* is kept when the plan is
executed, a *state* belongs to the N+1 instants, a *result* follows from the decisions of its
period; both are recomputed. Powers are means of their periods at the terminals, and at least 0.
"""
NOTES: Mapping[str, str] = {
    "battery": """Losses by power are the quadratic ones or the table; they take the place of the
efficiencies. `capacity_loss` is there where ageing is declared, `loss` where losses are: it is the
converter's, without what `self_discharge` takes from the content.""",
    "chp": "Heat may be thrown away where the plan has a series `dumped`.",
    "cooling_tower": "The tower of YorkCalc.",
    "ev": """One vehicle. Its state of charge counts while it is plugged in; sessions begin with the
energy on arrival. A plan may own to a `shortfall` on departure.""",
    "feeder": """A radial feeder with one stiff source. Units are on a bus of the feeder by their
own `bus`. By bus it has `<name>.<bus>.voltage`, by branch `<name>.<branch>.loading`, both of their
nominal or rated values; `import` is what it takes from its source bus. It is executed and judged by
AC power flow. With the scheme `linear` the plan's own voltages, loadings, losses and import may be
those of LinDistFlow; the losses have to be bought all the same.""",
    "genset": """`fuel` is a mean over the period, starts included, in the unit of `fuel_slope`
times kW. A set without `on` in the plan runs where it has power.""",
    "heat_pump": """The coefficient of performance is `cop`, or a share of Carnot's, or a curve. The
plan's `heat` is kept where it has one, else its `electric_power`.""",
    "rc_network": """Temperatures go by node, as `<name>.<node>.temperature` and
`<name>.<node>.mean_temperature`, powers into several nodes as `<name>.heating_<node>` and
`<name>.cooling_<node>`.""",
    "stratified_tank": """Heat comes in at `heater_layer`; `discharge` is taken from the uppermost
layer, a draw (`use`) from there with cold water behind it. `temperature` is that of the uppermost
layer.""",
    "tank": "On a `cooling_bus` charging cools it.",
    "thermal_zone": """A zone called `kitchen` has the quantities `zone.kitchen.…`, one called
`zone` has `zone.…`.""",
    "zone_5r1c": """The nodes are `air`, `surface` and `mass`, with `<name>.mass.temperature` and
`<name>.<node>.mean_temperature`. The step is exact and not the standard's.""",
}


def units_page() -> str:
    """Return the page as Markdown."""
    parts = [HEAD]
    parts += ["\n".join(_model(entry_of(name))) for name in sorted(MODELS)]
    return "\n".join(parts)


def _model(unit: Entry) -> Iterator[str]:
    yield f"## `{unit.model}`\n"
    yield f"{unit.summary[0].upper()}{unit.summary[1:]}.\n"
    if unit.model in NOTES:
        yield f"{NOTES[unit.model]}\n"
    if unit.connections:
        listed = ", ".join(f"`{name}` ({text})" for name, text in unit.connections.items())
        yield f"Connections: {listed}.\n"
    yield "| parameter | unit | kind | default | meaning |\n|---|---|---|---|---|"
    for name, slot in unit.slots.items():
        yield f"| `{name}` | `{slot.unit}` | {slot.kind} | {_default(slot)} | {slot.meaning} |"
    yield "\n| quantity | unit | kind |\n|---|---|---|"
    for word, meaning in SERIES[unit.model].items():
        yield f"| `<name>.{word}` | `{meaning.unit}` | {meaning.kind} |"
    yield ""


def _default(slot: Slot) -> str:
    if slot.required:
        return "required"
    return "–" if slot.default is None else f"{slot.default:g}"

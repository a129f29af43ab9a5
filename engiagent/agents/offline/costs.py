"""What the site pays beside energy, and the objective."""

from engiagent.agents.offline.amounts import kind_of
from engiagent.agents.offline.builder import Builder, for_owner
from engiagent.agents.offline.draft import Json
from engiagent.agents.offline.goals import Goal, wanted_currency
from engiagent.agents.offline.market import Site, need_price
from engiagent.agents.offline.storage import constrain


def add_costs(builder: Builder, site: Site) -> None:
    """Add wear costs and the demand charge to what the site pays for."""
    for battery in site.batteries:
        for readings in for_owner(builder.draft, "battery", battery).values():
            reading = readings[0]
            directions = reading.slot.options.get("wear")
            if not directions:
                continue
            if builder.draft.has("no_wear"):
                builder.draft.doubt(
                    max(reading.line, 0), "wear is priced here and neglected elsewhere"
                )
            note = reading.slot.options.get("assume")
            if note and not builder.draft.has(reading.slot.options.get("unless", "")):
                builder.draft.assume(f"{battery}: {note}")
            name = builder.value(f"{battery}_wear_cost", reading.value, reading.slot.said)
            site.wear += [(battery, direction, name) for direction in directions]
    _demand_charge(builder, site)


def _demand_charge(builder: Builder, site: Site) -> None:
    readings = for_owner(builder.draft, "grid", "grid").get("demand_charge", [])
    if not readings:
        return
    site.demand_charge = builder.value("demand_charge", readings[0].value, "price of the peak")
    add_peak(builder, site, readings[0].line)


def add_peak(builder: Builder, site: Site, line: int) -> None:
    """Add the largest import over all periods as a variable."""
    if any(v["name"] == "grid_peak" for v in builder.variables):
        return
    draws = "grid_import[t]" if site.grid else " + ".join(
        [*(f"{c}_electric_power[t]" for c in site.converters),
         *(f"{b}_charge[t] - {b}_discharge[t]" for b in site.batteries)]
    )  # fmt: skip
    builder.variables.append(
        {"name": "grid_peak", "type": "continuous", "lower": 0, **_highest(builder), "unit": "kW",
         "quantity": "grid.peak", "role": "auxiliary", "description": "largest import"}
    )  # fmt: skip
    constrain(
        builder, "peak of the import", f"{draws} <= grid_peak", "Operational Logic", line,
        ["t in T"],
    )  # fmt: skip


def _highest(builder: Builder) -> Json:
    """Return the upper bound of the peak: the import's, or what all units draw together."""
    grid = next((c for c in builder.components if c["model"] == "grid"), None)
    if grid is not None:
        limits = [grid["parameters"].get("import_power_max")]
    else:
        draws = {"battery": "charge_power_max", "heater": "electric_power_max"}
        draws["cooler"] = "electric_power_max"
        limits = [
            c["parameters"].get(draws[c["model"]])
            for c in builder.components
            if c["model"] in draws
        ]
    if not limits or None in limits:
        return {}
    terms = [f"max({x}[t] for t in T)" if x in builder.indexed else str(x) for x in limits]
    return {"upper": " + ".join(terms)}


def add_objective(builder: Builder, site: Site, goal: Goal | None, currency: str) -> Json | None:
    """Return the objective; None when the text states none."""
    if goal is None:
        return None
    if goal.target in ("energy", "peak"):
        return _physical(builder, site, goal)
    if goal.target == "fuel":
        builder.draft.refuse(goal.line, "nothing here burns fuel")
        return None
    price = need_price(builder, site)
    pieces = _energy_terms(builder, site, price)
    for battery, direction, name in site.wear:
        pieces.append(("+", f"sum({name}*{battery}_{direction}[t]*dt(t) for t in T)"))
    if site.demand_charge is not None:
        unit = next(p["unit"] for p in builder.parameters if p["name"] == site.demand_charge)
        if kind_of(unit) == "capacity_price" and "/d" in unit:
            builder.draft.doubt(goal.line, "a demand charge per kW and day over this horizon")
        pieces.append(("+", f"{site.demand_charge}*grid_peak"))
    profit = goal.target == "profit"
    flip = {"+": "-", "-": "+"}
    signed = [(flip[s] if profit else s, text) for s, text in pieces]
    signed.sort(key=lambda p: p[0] != "+")
    text = "".join(f" {sign} {term}" for sign, term in signed).strip()
    text = text.removeprefix("+ ") if text.startswith("+") else f"-{text.removeprefix('- ')}"
    return {
        "name": goal.target,
        "sense": "maximize" if profit else "minimize",
        "expression": text,
        "unit": wanted_currency(builder.draft, goal, currency),
        "source_reference": builder.draft.quote(goal.line),
    }


def _energy_terms(builder: Builder, site: Site, price: str) -> list[tuple[str, str]]:
    if site.grid:
        pieces = [("+", f"sum({builder.at(price)}*grid_import[t]*dt(t) for t in T)")]
        if site.export_price is not None:
            sold = builder.at(site.export_price)
            pieces.append(("-", f"sum({sold}*grid_export[t]*dt(t) for t in T)"))
        return pieces
    pieces = [
        ("+", f"sum({builder.at(price)}*{c}_electric_power[t]*dt(t) for t in T)")
        for c in site.converters
    ]
    sold = builder.at(site.export_price or price)
    for battery in site.batteries:
        if site.export_price in (None, price):
            net = f"({battery}_charge[t] - {battery}_discharge[t])"
            pieces.append(("+", f"sum({sold}*{net}*dt(t) for t in T)"))
        else:
            pieces.append(("+", f"sum({builder.at(price)}*{battery}_charge[t]*dt(t) for t in T)"))
            pieces.append(("-", f"sum({sold}*{battery}_discharge[t]*dt(t) for t in T)"))
    return pieces


def _physical(builder: Builder, site: Site, goal: Goal) -> Json:
    """Minimise energy or the peak."""
    if goal.target == "peak":
        add_peak(builder, site, goal.line)
        text, unit = "grid_peak", "kW"
    elif site.grid:
        text, unit = "sum(grid_import[t]*dt(t) for t in T)", "kWh"
    else:
        total = " + ".join(f"{c}_electric_power[t]" for c in site.converters)
        text, unit = f"sum(({total})*dt(t) for t in T)", "kWh"
        if not site.converters:
            builder.draft.doubt(goal.line, "whose energy is to be small?")
            text = f"sum({site.batteries[0]}_charge[t]*dt(t) for t in T)"
    return {
        "name": goal.target,
        "sense": "minimize",
        "expression": text,
        "unit": unit,
        "source_reference": builder.draft.quote(goal.line),
    }

"""The site's meter and prices, exclusive directions, and the objective."""

import re
from dataclasses import dataclass, field

import numpy as np

from engiagent.agents.offline.builder import Builder, for_owner
from engiagent.agents.offline.draft import Draft, Json, Reading
from engiagent.agents.offline.owners import Owners
from engiagent.agents.offline.results import Missing
from engiagent.agents.offline.storage import constrain, parameters
from engiagent.agents.offline.tariffs import scheduled

NOTHING = "0[kW]"


@dataclass
class Site:
    """What stands on the bus, and the names of its prices."""

    batteries: tuple[str, ...] = ()
    converters: tuple[str, ...] = ()
    grid: bool = False
    import_price: str | None = None
    export_price: str | None = None
    wear: list[tuple[str, str, str]] = field(default_factory=list)
    demand_charge: str | None = None

    @staticmethod
    def needed(draft: Draft, owners: Owners) -> bool:
        """Whether several things share a meter, so that a balance is needed."""
        has_load = ("load", "power") in draft.series or any(
            r.slot.component == "load" for r in draft.readings
        )
        has_pv = ("pv", "available_power") in draft.series
        mixed = "battery" in owners.present and "zone" in owners.present
        return has_load or has_pv or mixed


def add_site(
    builder: Builder,
    owners: Owners,
    on_site: bool,
    batteries: tuple[str, ...],
    converters: tuple[str, ...],
) -> Site:
    """Add prices, load, generation and the grid connection."""
    site = Site(batteries, converters, on_site)
    load = _load(builder) if on_site else None
    pv = _pv(builder) if on_site else None
    _prices(builder, site, pv is not None)
    limits = parameters(
        builder, "grid", "grid", _grid_readings(builder),
        {"import_power_max": "kW", "export_power_max": "kW"},
    )  # fmt: skip
    if on_site:
        _curtailment(builder, site, load, pv, limits)
        _grid(builder, site, limits)
    else:
        _net_limits(builder, site, limits)
    _exclusive_batteries(builder, site, load, pv, limits)
    return site


def _grid_readings(builder: Builder) -> dict[str, list[Reading]]:
    found = for_owner(builder.draft, "grid", "grid")
    return {k: v for k, v in found.items() if k != "demand_charge"}


def _load(builder: Builder) -> str | None:
    series = builder.draft.series.get(("load", "power"))
    readings = for_owner(builder.draft, "load", "load").get("power", [])
    if series is None and not readings:
        return None
    if series is not None and readings:
        builder.draft.doubt(readings[0].line, "the demand is given as a series and as a number")
    name = builder.value("load_demand", series or readings[0].value, "demand", "kW")
    builder.components.append(
        {"name": "load", "model": "load", "index": "T", "parameters": {"power": name},
         "connections": {"bus": "site"}}
    )  # fmt: skip
    return name


def _pv(builder: Builder) -> str | None:
    series = builder.draft.series.get(("pv", "available_power"))
    if series is None:
        return None
    name = builder.value("pv_available_power", series, "available power of the panels", "kW")
    builder.components.append(
        {"name": "pv", "model": "generator_profile", "index": "T",
         "parameters": {"available_power": name}, "connections": {"bus": "site"}}
    )  # fmt: skip
    return name


# --- prices --------------------------------------------------------------------------------------


def _prices(builder: Builder, site: Site, has_pv: bool) -> None:
    draft = builder.draft
    bought = _one_price(builder, "import_price", ("import", "both"), "price of electricity")
    shared = draft.series.get(("site", "price"))
    if bought is None and shared is not None:
        name = "price" if not site.grid else "import_price"
        bought = builder.value(name, shared, "price of electricity")
    elif bought is not None and shared is not None:
        draft.doubt(0, "the price of electricity is given as a series and in the text")
    sold = _one_price(builder, "export_price", ("export",), "price of electricity fed in")
    both = any(p.role == "both" for p in draft.prices) or draft.has("same_price")
    if sold is None and bought is not None and ((not site.grid and not site.converters) or both):
        sold = bought
    site.import_price, site.export_price = bought, sold


def _one_price(builder: Builder, name: str, roles: tuple[str, ...], said: str) -> str | None:
    draft = builder.draft
    entries = [p for p in draft.prices if p.role in roles]
    series = draft.series.get(("site", name))
    if series is not None:
        if entries:
            draft.doubt(max(entries[0].line, 0), f"the {said} is given as a series and as a number")
        return builder.value(name, series, said)
    if not entries:
        return None
    return scheduled(builder, name, entries, entries[0].value.unit, said, None)


def need_price(builder: Builder, site: Site) -> str:
    """Return the price of electricity; report it as missing when there is none."""
    if site.import_price is None:
        site.import_price = builder.missing(
            "import_price", "EUR/kWh", "price of electricity",
            Missing("site", "import_price", "the price of electricity is not given; add it or use "
                    '--set site.import_price="0.30 EUR/kWh"'),
        )  # fmt: skip
        if site.export_price is None and not site.grid and not site.converters:
            site.export_price = site.import_price
    return site.import_price


# --- the connection ------------------------------------------------------------------------------


def _curtailment(
    builder: Builder, site: Site, load: str | None, pv: str | None, limits: dict[str, str]
) -> None:
    draft = builder.draft
    unpaid = site.export_price is None
    if unpaid and "export_power_max" not in limits:
        if draft.has("export_unpaid"):
            limits["export_power_max"] = builder.assumed(
                "export_power_max", 0.0, "kW", "largest export",
                "feed-in earns nothing, so that surplus is left unused instead of being fed in",
            )  # fmt: skip
        elif not draft.has("no_export"):
            _sold_after_all(draft)
            limits["export_power_max"] = builder.assumed(
                "export_power_max", 0.0, "kW", "largest export",
                "feed-in is not mentioned: nothing is fed into the grid",
            )  # fmt: skip
    fact = draft.fact("no_export")
    if fact is not None:
        stated = limits.get("export_power_max", "")
        if (stated and "connection" not in stated) or site.export_price is not None:
            draft.doubt(fact.line, "feed-in is excluded here and priced or limited elsewhere")
        limits["export_power_max"] = NOTHING
    if pv is None:
        return
    part = next(c for c in builder.components if c["name"] == "pv")
    if draft.has("not_curtailable") and not draft.has("curtailable"):
        part["options"] = {"curtailable": False}
    elif not draft.has("curtailable"):
        draft.assume("less than the available power of the panels may be used (curtailment)")


def _sold_after_all(draft: Draft) -> None:
    """Report sentences about feed-in when no price and no limit of it was understood."""
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        if re.search(
            r"\b(?:exports?|exported|feed-in|fed in\w*|feeds?|sell|sells|sold)\b", line.line
        ):
            draft.doubt(n, "feed-in is mentioned, but neither its price nor its limit is clear")


def _grid(builder: Builder, site: Site, limits: dict[str, str]) -> None:
    component: Json = {
        "name": "grid",
        "model": "grid",
        "index": "T",
        "parameters": {
            k: limits[k] for k in ("import_power_max", "export_power_max") if k in limits
        },
        "connections": {"bus": "site"},
    }
    if "import_power_max" not in limits:
        component["parameters"] = {"import_power_max": _enough(builder), **component["parameters"]}
    need_price(builder, site)
    where = _round_trip_pays(builder, site, limits)
    if where is not None:
        builder.sets.append(
            {"name": "T_one_way", "kind": "subset", "of": "T", "binder": "t", "where": where}
        )
        component["options"] = {"exclusive_on": "T_one_way"}
    builder.components.append(component)


def _enough(builder: Builder) -> str:
    """Return a bound on the import where none is stated: more could only be fed back at once."""
    slots = {"load": "power", "battery": "charge_power_max", "heater": "electric_power_max",
             "cooler": "electric_power_max"}  # fmt: skip
    names = [c["parameters"][slots[c["model"]]] for c in builder.components if c["model"] in slots]
    text = " + ".join(builder.at(name) for name in names) or "0[kW]"
    series = any(name in builder.indexed for name in names)
    return builder.derived(
        "grid_import_enough", text, "kW", "what all demands can take together",
        names, series, note="no limit is stated; import beyond all demands would go straight back",
    )  # fmt: skip


def _round_trip_pays(builder: Builder, site: Site, limits: dict[str, str]) -> str | None:
    """Return where importing and exporting at once would earn money, None when nowhere."""
    bought, sold = site.import_price, site.export_price
    if bought is None or sold is None or (bought == sold and not limits):
        return None
    if _is_zero(builder, limits.get("export_power_max")):
        return None
    a, b = builder.numbers.get(bought), builder.numbers.get(sold)
    if a is None or b is None or not np.any(b >= a):
        return None
    return f"{builder.at(sold)} >= {builder.at(bought)}"


def _is_zero(builder: Builder, name: str | None) -> bool:
    return name == NOTHING or (
        name is not None and bool(np.all(builder.numbers.get(name, np.array(np.nan)) == 0.0))
    )


def _net_limits(builder: Builder, site: Site, limits: dict[str, str]) -> None:
    """Without a bus the connection limits what all units draw or deliver together."""
    draws = [f"{b}_charge[t] - {b}_discharge[t]" for b in site.batteries]
    draws += [f"{c}_electric_power[t]" for c in site.converters]
    if not draws:
        return
    for slot, sign in (("import_power_max", ""), ("export_power_max", "-")):
        if slot not in limits or (sign and not site.batteries):
            continue
        reading = next(
            r
            for r in builder.draft.readings
            if slot in (r.slot.name, *r.slot.options.get("fills", ()))
        )
        total = " + ".join(draws)
        constrain(
            builder, slot.replace("_", " "), f"{sign}({total}) <= {limits[slot]}",
            "Resource Capacity", reading.line, ["t in T"],
        )  # fmt: skip


def _exclusive_batteries(
    builder: Builder, site: Site, load: str | None, pv: str | None, limits: dict[str, str]
) -> None:
    """Charging and discharging at once burns energy; forbid it where that could pay."""
    if not site.batteries:
        return
    need_price(builder, site)
    conditions = []
    for price in dict.fromkeys((site.import_price, site.export_price)):
        values = builder.numbers.get(price or "")
        if price and values is not None and np.any(values <= 0):
            conditions.append(f"{builder.at(price)} <= 0")
    surplus = _surplus(builder, site, load, pv, limits)
    if surplus is not None:
        conditions.append(surplus)
    fact = builder.draft.fact("exclusive")
    if not conditions:
        if fact is not None:
            builder.draft.notes.append(
                "charging and discharging at once never pays here, so that no binary is needed"
            )
        return
    where = " or ".join(f"({c})" for c in conditions) if len(conditions) > 1 else conditions[0]
    builder.sets.append(
        {"name": "T_exclusive", "kind": "subset", "of": "T", "binder": "t", "where": where}
    )
    if fact is None:
        builder.draft.assume("a battery does not charge and discharge in the same period")
    for part in builder.components:
        if part["model"] == "battery":
            part["options"] = {"exclusive_on": "T_exclusive"}
            if fact is not None:
                part["source_reference"] = builder.draft.quote(fact.line)


def _surplus(
    builder: Builder, site: Site, load: str | None, pv: str | None, limits: dict[str, str]
) -> str | None:
    """Return when energy can be in excess that is worth nothing."""
    if pv is None:
        return None
    sold = builder.numbers.get(site.export_price or "")
    paid = sold is not None and bool(np.all(sold > 0))
    if paid and "export_power_max" not in limits:
        return None
    supply = builder.numbers.get(pv)
    demand = builder.numbers.get(load, np.array(0.0)) if load else np.array(0.0)
    if supply is not None and not np.any(supply > demand):
        return None
    return f"{builder.at(pv)} > {builder.at(load) if load else '0'}"

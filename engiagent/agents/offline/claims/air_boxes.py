"""Boxes of variable air volume behind an air handler: flows, reheating, fan."""

from engiagent.agents.offline.amounts import kind_of
from engiagent.agents.offline.claims.air_parts import Air, price_of
from engiagent.agents.offline.plant.system import BALANCE, CAPACITY, PHYSICS


def rooms(air: Air) -> None:
    """Hold the temperature in the rule of the boxes against that of the rooms."""
    facts = air.facts
    rule = facts.one("box_heat")
    if rule is None:
        facts.builder.draft.doubt(0, "what a box takes up is not said")
    else:
        facts.restated(rule, facts.one("room"), "temperature of the rooms")
    if air.room is None:
        air.room = facts.needed(None, "zone", "temperature", "degC", "temperature of the rooms")


def boxes(air: Air) -> str:
    """Add the flows and the reheating of the boxes; return the heat above the supply air."""
    facts = air.facts
    heat = facts.number("specific_heat", None, "specific_heat", "specific heat of air")
    heat = facts.needed(heat, "air", "specific_heat", "kJ/(kg*K)", "specific heat")
    reheats = facts.says("reheats")
    warm = []
    for name in air.boxes:
        low = facts.number("low_flow", name, f"{name}_least_flow", "least flow", "lower")
        high = facts.number("high_flow", name, f"{name}_largest_flow", "largest flow", "upper")
        high = facts.needed(high, name, "flow_max", "kg/s", "largest flow")
        flow = facts.variable(
            f"{name}_flow", lower=low or 0, upper=high, unit="kg/s", quantity=f"{name}.flow",
            role="decision",
        )  # fmt: skip
        need = facts.series("need", name, f"{name}_need", "heat to be taken away")
        need = facts.needed(need, name, "need", "kW", "heat to be taken away", True)
        taken = f"{heat}*{flow}[t]*({air.room} - {air.supply})"
        text = f"{taken} == {facts.builder.at(need)}"
        if reheats is not None:
            made = facts.variable(
                f"{name}_reheat", lower=0, upper=f"{heat}*{high}*({air.room} - {air.low})",
                unit="kW", quantity=f"{name}.reheat", role="decision",
            )  # fmt: skip
            warm.append(f"{made}[t]")
            text += f" + {made}[t]"
        facts.row(f"heat of {name}", text, BALANCE)
    _reheating(air, warm)
    return _total(air, heat)


def _reheating(air: Air, warm: list[str]) -> None:
    facts = air.facts
    if not warm:
        return
    price = price_of(facts, "heat_price", "heat_price", "price of heat for reheating")
    made = facts.needed(price, "reheat", "price", "EUR/kWh", "price of heat for reheating")
    air.costs.append(f"{made}*({' + '.join(warm)})")


def _total(air: Air, heat: str) -> str:
    """Add total flow, outdoor air and fan; return the heat above the supply air."""
    facts, draft = air.facts, air.facts.builder.draft
    most = facts.number("total_max", None, "total_flow_max", "largest flow in total", "upper")
    sums = " + ".join(f"{name}_flow[t]" for name in air.boxes)
    largest = most or "(" + " + ".join(f"{n}_largest_flow" for n in air.boxes) + ")"
    total = facts.variable(
        "total_flow", lower=0, upper=largest, unit="kg/s", quantity="air_handler.flow",
        role="auxiliary",
    )  # fmt: skip
    facts.row("flow in total", f"{total}[t] == {sums}", PHYSICS)
    fixed = facts.one("share", None, "value") or facts.one("share", None, "exact")
    low = facts.number("share", None, "share_low", "least share of outdoor air", "lower")
    high = facts.number("share", None, "share_high", "largest share of outdoor air", "upper")
    if facts.all("mean_share") or facts.all("dew_share") or facts.all("dry_share"):
        draft.doubt(0, "a condition on the outdoor air of boxes is not modelled")
    if fixed is not None:
        share = facts.value(fixed, "share", "share of outdoor air")
        outside = f"{share}*{total}[t]"
    elif low is None and high is None and not facts.all("outdoor_min"):
        facts.needed(None, "air_handler", "outdoor_share", "1", "share of outdoor air")
        outside = f"{total}[t]"
    else:
        made = facts.variable(
            "outdoor_flow", lower=0, upper=largest, unit="kg/s",
            quantity="air_handler.outdoor_flow", role="decision",
        )  # fmt: skip
        outside = f"{made}[t]"
        top = f"{high}*{total}[t]" if high is not None else f"{total}[t]"
        line = max(s.line for c in ("share", "outdoor_min") for s in facts.all(c))
        facts.row("most outdoor air", f"{outside} <= {top}", CAPACITY, line)
        if low is not None:
            facts.row("least outdoor air", f"{low}*{total}[t] <= {outside}", CAPACITY, line)
        for fresh in facts.all("outdoor_min"):
            least = facts.value(fresh, "outdoor_min", "least outdoor air")
            if kind_of(fresh.values["value"].unit) != "mass_flow":
                draft.doubt(fresh.line, "the flows of the boxes are by mass")
            facts.row("least outdoor air", f"{outside} >= {least}", CAPACITY, fresh.line)
    _fan(air, total)
    inner = f"{total}[t]*({air.back} - {air.supply}) + {outside}*({air.out} - {air.back})"
    air.most = f"{heat}*{largest}*(max({air.back}, {air.out}) - {air.low})"
    return f"{heat}*({inner})"


def _fan(air: Air, total: str) -> None:
    facts = air.facts
    said = facts.one("fan_power")
    if said is None:
        return
    cube = facts.says("cube")
    power = facts.value(said, "fan_power", "power of the fan")
    at = facts.value(said, "fan_flow", "flow at this power", "at")
    if cube is None:
        facts.builder.draft.doubt(said.line, "how the power of the fan follows its flow is open")
    price = price_of(facts, "fan_price", "fan_price", "price of electricity of the fan")
    price = price or price_of(facts, "electric_price", "fan_price", "price of electricity")
    price = facts.needed(price, "site", "import_price", "EUR/kWh", "price of electricity")
    air.costs.append(f"{price}*{power}*({total}[t]/{at})**3")

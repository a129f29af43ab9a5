"""Radiators by the power law of their excess temperature, and a heat pump that follows the water.

'0.085 kW times the 1.3rd power of the difference between the water and the room' is what they give;
the temperature of the water is then a decision, on which the electric power of the pump depends.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.draft import Draft, Fact, Value, amount_value
from engiagent.agents.offline.plant.system import PHYSICS, System, weather_series
from engiagent.agents.offline.plant.units import Plant
from engiagent.agents.offline.timing import Axis
from engiagent.agents.offline.tokens import Line

if TYPE_CHECKING:
    from engiagent.agents.offline.plant.units import Instance

_STEP: Final = r"(?:the|each|a) (?:block|hour|step|period|interval|stretch)"
_BEGIN: Final = rf"(?: at the (?:beginning|start) of {_STEP})?"
_HEAT: Final = (
    r"(?:(?:the )?heat (?:of|from|given by) (?:all )?(?:the |our )?(?:radiators|convectors)"
    r"(?: together)?"
    r"|(?:the |all |our )*(?:radiators|convectors)(?: together)? (?:give|emit|deliver)"
    r"|what the radiators give)(?: ,)?(?: in kw)?(?: ,)?(?: :| is| equals| =)?"
)
_WATER: Final = r"(?:the )?(?:mean )?(?:water|flow|radiator)(?: temperature)?"
_ROOM: Final = r"(?:the )?(?:room|house|villa|zone|air|building|flat)(?: temperature)?"
_GAP: Final = (
    rf"(?:difference|excess)(?: ,)?(?: in (?:k|kelvin))?(?: ,)?"
    rf" (?:between|of) {_WATER} (?:and|over) {_ROOM}{_BEGIN}"
)
_LAWS: Final = (
    re.compile(rf"{_HEAT} <power#(?P<k>\d+)> times the <number#(?P<n>\d+)>(?: ?(?:st|nd|rd|th))?"
               rf" power of the {_GAP}"),
    re.compile(rf"{_HEAT} <power#(?P<k>\d+)> times the {_GAP} ,? ?(?:raised )?to the power(?: of)?"
               r" <number#(?P<n>\d+)>"),
    re.compile(rf"{_HEAT} <power#(?P<k>\d+)> times the {_GAP} ,? ?with (?:an|the) exponent(?: of)?"
               r" <number#(?P<n>\d+)>"),
)  # fmt: skip
_LIFT: Final = (
    r"(?:lift|difference|temperature difference) (?:from|between) (?:the )?(?:outdoors|outdoor air"
    rf"|outside|outside air)(?: temperature)? (?:to|and) {_WATER}"
)
_PUMP: Final = re.compile(
    r"(?:the )?(?:electric(?:al)? power of the heat pump is|the heat pump (?:draws|takes|needs))"
    rf" (?:this|that|the) heat times the {_LIFT} ,? ?divided by <(?:number|percent)#(?P<share>\d+)>"
    r" times the absolute temperature of (?:the )?water"
    r"(?: [(] (?:the )?water in (?:degc|c|celsius) plus <number#(?P<zero>\d+)> [)])?"
)
_CARNOT: Final = re.compile(
    r"<(?:percent|number)#(?P<share>\d+)> of (?:the )?carnot(?:'s)?(?: efficiency| cop| value)?"
    rf" between (?:the )?(?:outdoor air|outdoors|outside air|outside)(?: temperature)? and {_WATER}"
)
_LIMITS: Final = re.compile(
    rf"(?:^|(?<=[;,.] )){_WATER} (?:may be|must be|has to be|can be|is|lies|stays|must stay)"
    r"(?: anywhere)? between <temperature#(?P<low>\d+)> and <temperature#(?P<high>\d+)>"
    r"(?: ,? ?so (?:that )?the radiators always give (?:something|heat|some heat))?"
)
_NO_LIMIT: Final = re.compile(
    r"(?:there is )?no (?:other )?limit on (?:its |the )?(?:electric )?power(?: other)?"
    r"(?: than what the <temperature#(?P<high>\d+)> (?:says?|allows?|gives?|means?))?"
)
_CHOICE: Final = re.compile(
    r"(?:please )?(?:choose|find|set|plan|determine) the (?:mean )?(?:water|flow) temperatures?"
    r" (?:for|in|of) each of the"
    r" <number#(?P<count>\d+)> (?:(?P<step>one|two|three|four|six|half)-hour )?"
    r"(?:blocks|hours|steps|periods)"
)


@dataclass(frozen=True)
class Radiators:
    """What radiators give by the temperature of their water, and what the heat pump draws for it.

    Attributes
    ----------
    factor, exponent
        The heat for one kelvin of excess, and its exponent.
    low, high
        Limits of the temperature of the water.
    share
        What the pump reaches of Carnot's COP between the outdoor air and the water.
    zero
        What turns degrees Celsius into kelvin, where the text says it.
    """

    factor: Value
    exponent: Value
    low: Value
    high: Value
    share: Value
    zero: Value | None
    line: int


_HOURS: Final = {"half": 0.5, "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "six": 6.0}


def take_radiators(draft: Draft, plant: Plant, axis: Axis | None) -> Radiators | None:
    """Return the radiators of a text, and account for the words that say what they give."""
    if len(plant.of("zone")) != 1 or len(plant.of("heat_pump")) != 1:
        return None
    law, limits = _first(draft, *_LAWS), _first(draft, _LIMITS)
    pump = _first(draft, _PUMP) or _first(draft, _CARNOT)
    if law is None or pump is None or limits is None:
        return None
    values = {}
    for n, match in (law, pump, limits):
        for name, place in match.groupdict().items():
            amount = draft.lines[n].tokens[int(place)].amount if place is not None else None
            if amount is not None:
                values[name] = amount_value(amount, draft.source(n, amount))
        _account(draft, n, match)
    zero = values.get("zero")
    if zero is not None and (zero.number != 273.15 or zero.unit != "1"):
        draft.doubt(pump[0], "degrees Celsius become kelvin by 273.15")
    if (values["low"].number or 0.0) >= (values["high"].number or 0.0):
        draft.doubt(limits[0], "the limits of the water")
    _beside(draft, values["high"], axis)
    return Radiators(
        values["k"], values["n"], values["low"], values["high"], values["share"], zero, law[0]
    )


def _first(draft: Draft, *patterns: re.Pattern[str]) -> tuple[int, re.Match[str]] | None:
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        for pattern in patterns:
            match = pattern.search(line.line)
            if match is not None:
                return n, match
    return None


def _account(draft: Draft, n: int, match: re.Match[str]) -> None:
    line = draft.lines[n]
    covered = list(line.covered(*match.span()))
    draft.take(n, covered)
    span = (line.tokens[covered[0]].span[0], line.tokens[covered[-1]].span[1])
    draft.facts.append(Fact("radiators_and_their_water", n, span, {}, match[0]))


def _beside(draft: Draft, high: Value, axis: Axis | None) -> None:
    """Account for sentences that say no more than the limits of the water do."""
    for n, line in enumerate(draft.lines):
        for pattern in (_NO_LIMIT, _CHOICE):
            match = pattern.search(line.line)
            if match is None:
                continue
            place = match.groupdict().get("high")
            amount = line.tokens[int(place)].amount if place is not None else None
            if amount is not None and (amount.value, amount.unit) != (high.number, high.unit):
                continue
            if pattern is _CHOICE and not _counts(line, match, axis):
                continue
            _account(draft, n, match)
            for i in line.covered(*match.span()):
                said = line.tokens[i].amount
                if said is not None:
                    draft.unused.append(
                        {"span": list(said.span), "quote": said.quote,
                         "reason": "says again what was said"}
                    )  # fmt: skip


def _counts(line: Line, match: re.Match[str], axis: Axis | None) -> bool:
    """Whether the steps that a choice is asked for are those of the horizon."""
    amount = line.tokens[int(match["count"])].amount
    hours = _HOURS.get(match["step"] or "")
    if axis is None or amount is None or amount.value != axis.periods:
        return False
    return hours is None or abs(60 * hours - axis.step_minutes) < 1e-9


# --- the model -----------------------------------------------------------------------------------


def follows_water(system: System, instance: "Instance") -> bool:
    """Whether a unit is the heat pump that follows the temperature of the radiators' water."""
    return instance.unit.component == "heat_pump" and system.reader.radiators is not None


def add_radiators(system: System, instance: "Instance") -> None:
    """Add the temperature of the water, what the radiators give, and what the pump draws."""
    builder, name, law = system.builder, instance.name, system.reader.radiators
    assert law is not None
    given = [r for r in builder.draft.readings if r.slot.component == "heat_pump"]
    weather = weather_series(system, "outdoor")
    room = system.reader.plant.of("zone")[0].name
    others = [i for i in system.reader.plant.instances
              if (i.name != name and "heat" in i.unit.card.get("supplies", {}))
              or i.unit.component == "heat_store"]  # fmt: skip
    if given or others or weather is None:
        builder.draft.doubt(law.line, "radiators and a heat pump with more than their water")
    factor = builder.value("radiator_factor", law.factor, "heat of the radiators at 1 K")
    power = builder.value("radiator_exponent", law.exponent, "exponent of the radiators")
    low = builder.value("water_lowest", law.low, "coldest water")
    high = builder.value("water_highest", law.high, "hottest water")
    share = builder.value(f"{name}_carnot_share", law.share, "share of Carnot's COP")
    zero = "0[degC] - -273.15[degC]"
    if law.zero is not None:
        from dataclasses import replace

        zero = builder.value("absolute_zero", replace(law.zero, unit="K"), "0 °C in kelvin")
    builder.variables += [
        {"name": "water_temperature", "index": ["t in T"], "type": "continuous", "lower": low,
         "upper": high, "unit": "degC", "quantity": "water.temperature", "role": "decision",
         "description": "mean temperature of the water"},
        {"name": f"{name}_heat", "index": ["t in T"], "type": "continuous", "lower": 0,
         "unit": "kW", "quantity": f"{name}.heat", "role": "auxiliary",
         "description": "heat of the radiators"},
    ]  # fmt: skip
    excess = f"(water_temperature[t] - {room}_temperature[t])/1[K]"
    system.row("heat of the radiators", f"{name}_heat[t] == {factor}*({excess})**{power}", PHYSICS,
               law.line)  # fmt: skip
    lift = f"(water_temperature[t] - {builder.at(str(weather))})"
    absolute = f"(water_temperature[t] - 0[degC] + {zero})"
    system.supply("heat", f"{name}_heat[t]")
    system.demand("electricity", f"{name}_heat[t]*{lift}/({share}*{absolute})", None)

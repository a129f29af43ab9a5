"""A COP as a share of that of Carnot: 'water of 48 °C, and 45 % of the Carnot efficiency'.

The COP is the share times the absolute temperature of the water over its difference to the outdoor
air of the same period. The text may say only the share and the temperature, or write the fraction
out; where it does both, the two have to agree.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.draft import Draft, Value, amount_value
from engiagent.agents.offline.tokens import Line
from engiagent.blueprint.units import convert, parse_unit

if TYPE_CHECKING:
    from engiagent.agents.offline.plant.system import System
    from engiagent.agents.offline.plant.units import Instance

_SHARE: Final = (
    r"<(?:percent|number)#(?P<share>\d+)> (?:of (?:the |what )?)?(?:ideal )?carnot(?:'s)?"
    r"(?: (?:efficiency|cop|value|limit|factor|performance|would allow|allows))*"
)
_GRADE: Final = (
    r"(?:carnot (?:share|fraction|grade|quality grade|efficiency|factor)|quality grade"
    r"|second[- ]law efficiency)(?: (?:of|is|:|=))* <(?:percent|number)#(?P<share>\d+)>"
)
_WATER: Final = (
    r"(?:(?:warm |hot |heating )?water|supply|flow|the flow|(?:supply|flow|sink|water|condensing"
    r"|condenser) temperature)(?: temperature)?"
    r"(?: (?:of|at|is|:|is at|to))* <temperature#(?P<at>\d+)>"
    r"|<temperature#(?P<at2>\d+)> (?:warm |hot )?(?:water|supply|flow)(?: temperature)?"
)
_FRACTION: Final = re.compile(
    r"(?:cop|coefficient of performance) (?:is|equals|=|:|comes to)"
    r" <(?:percent|number)#(?P<share>\d+)> (?:times|x|×|\*|·) <difference#(?P<kelvin>\d+)>"
    r" (?:over|/|divided by|by) the (?:difference|lift) (?:between|from)"
    r" (?:the )?(?:water|supply|flow)(?: temperature)? (?:and|to)"
    r" (?:the )?(?:outdoor|outside|ambient)(?: air)?(?: temperature)?"
    r"(?: (?:in|of) the same (?:hour|period|step))?"
)
_BEFORE: Final = (
    r"(?:reaches|achieves|attains|works at|works with|has|with|at|its cop is|the cop is"
    r"|its coefficient of performance is)"
)
_BEHIND: Final = (
    r"(?: (?:between|for|of) (?:the |its )?(?:outdoor|outside|ambient)(?: air)?(?: temperature)?"
    r" and (?:the |its )?(?:water|supply|flow)(?: temperature)?)?(?: , so that (?:its|the)(?= cop"
    r"| coefficient))?"
)


@dataclass(frozen=True)
class Carnot:
    """A share of Carnot's COP, and the temperature at which the heat is given.

    Attributes
    ----------
    absolute
        The same temperature in kelvin where the text writes it out.
    """

    share: Value
    water: Value
    absolute: Value | None
    line: int


def take_carnots(draft: Draft, nouns: Sequence[re.Pattern[str]]) -> list[Carnot]:
    """Return the COPs by Carnot of a text, and account for the words that say so.

    ``nouns`` are those of units, which stay: the sentences behind may be about them.
    """
    found = []
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines or "carnot" not in line.line:
            continue
        carnot = _carnot(draft, n, line, nouns)
        if carnot is not None:
            found.append(carnot)
    return found


def _carnot(draft: Draft, n: int, line: Line, nouns: Sequence[re.Pattern[str]]) -> Carnot | None:
    share = re.search(rf"(?:{_BEFORE} )?(?:{_SHARE}|{_GRADE.replace('share>', 'grade>')}){_BEHIND}",
                      line.line)  # fmt: skip
    water = re.search(
        rf"(?:(?:makes|gives|heats|delivers|supplies|at|to) )?(?:{_WATER})", line.line
    )
    if share is None or water is None:
        return None
    place = int(share["share"] or share["grade"])
    at = int(water["at"] or water["at2"])
    amounts = [line.tokens[i].amount for i in (place, at)]
    if amounts[0] is None or amounts[1] is None:
        return None
    values = [amount_value(a, draft.source(n, a)) for a in amounts if a is not None]
    covered = [share.span(), water.span()]
    absolute = None
    fraction = _FRACTION.search(line.line)
    if fraction is not None:
        absolute = _written_out(draft, n, fraction, values)
        if absolute is None:
            return None
        covered.append(fraction.span())
    stay = {i for noun in nouns for m in noun.finditer(line.line) for i in line.covered(*m.span())}
    for span in covered:
        draft.take(n, [i for i in line.covered(*span) if i not in stay])
    return Carnot(values[0], values[1], absolute, n)


def _written_out(
    draft: Draft, n: int, fraction: re.Match[str], values: Sequence[Value]
) -> Value | None:
    """Return the absolute temperature of a fraction that says the same; None for another one."""
    line = draft.lines[n]
    again = line.tokens[int(fraction["share"])].amount
    kelvin = line.tokens[int(fraction["kelvin"])].amount
    if again is None or kelvin is None or kelvin.unit != "K":
        return None
    share, water = (_plain(v) for v in values)
    if abs(again.value * (0.01 if again.unit == "%" else 1.0) - share) > 1e-9:
        return None
    if abs(kelvin.value - (water + 273.15)) > 0.005:
        return None
    draft.unused.append(
        {"span": list(again.span), "quote": again.quote, "reason": "says again what was said"}
    )
    return amount_value(kelvin, draft.source(n, kelvin))


def _plain(value: Value) -> float:
    """Return a share as a number, and a temperature in degrees Celsius."""
    target = "degC" if parse_unit(value.unit).is_point else "1"
    return convert(float(value.number or 0.0), parse_unit(value.unit), parse_unit(target))


def fill_carnot(system: "System", instance: "Instance", filled: dict[str, str]) -> None:
    """Fill the COP of a heat pump by the temperatures of the water and of the outdoor air."""
    from engiagent.agents.offline.plant.system import weather_series

    builder, name = system.builder, instance.name
    pumps = system.reader.plant.of("heat_pump")
    if instance.unit.component != "heat_pump" or not system.reader.carnots:
        return
    carnot = system.reader.carnots[0]
    weather = weather_series(system, "outdoor")
    if len(system.reader.carnots) > 1 or len(pumps) > 1 or weather is None or "cop" in filled:
        builder.draft.doubt(carnot.line, f"{name}: the COP by Carnot of what, between what?")
        return
    share = builder.value(f"{name}_carnot_share", carnot.share, "share of Carnot's COP")
    water = builder.value(f"{name}_water_temperature", carnot.water, "temperature of the water")
    inputs = [share, water, weather]
    if carnot.absolute is not None:
        above = builder.value(
            f"{name}_water_absolute", carnot.absolute, "absolute temperature of the water"
        )
        inputs.insert(2, above)
    else:
        above = builder.derived(
            f"{name}_water_absolute", f"{water} - -273.15[degC]", "K",
            "absolute temperature of the water", [water], note="above absolute zero",
        )  # fmt: skip
    filled["cop"] = builder.derived(
        f"{name}_cop", f"{share}*{above}/({water} - {builder.at(weather)})", "1",
        "coefficient of performance", inputs, series=weather in builder.indexed,
        note="share of Carnot's, by the temperature of the same period",
    )  # fmt: skip

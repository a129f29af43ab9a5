"""Bills in tiers: 'the first 2,600 kWh of the month cost 9 ct/kWh, whatever goes beyond 16'."""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.amounts import kind_of
from engiagent.agents.offline.draft import Draft, Json, Value, amount_value
from engiagent.agents.offline.plant.language.remarks import account
from engiagent.agents.offline.storage import constrain
from engiagent.agents.offline.timing import Axis
from engiagent.agents.offline.tokens import Line

if TYPE_CHECKING:
    from engiagent.agents.offline.plant.system import System

_SPAN: Final = r"(?P<span>day|week|month|year|plan|period|bill|billing period)"
_WHOSE: Final = r"(?: \( (?:us|euro|eur|usd) cents? \))?"
_COST: Final = (
    r"(?:costs?|are charged (?:at|with)|is charged (?:at|with)|are billed at|at|are priced at|:)"
)
_PAST: Final = r"(?:beyond|above|over)(?: (?:that|this|it|them))?"
_BEYOND: Final = (
    rf"(?:(?:whatever|what|all that|everything that|anything that) (?:goes|is|lies) {_PAST}"
    r"|(?:everything|all|anything|each kwh|every kwh|every further kwh|each further kwh"
    rf"|any further kwh)(?: {_PAST})?|(?:the rest|beyond that|above that|over that|the remainder"
    r"|<rest#\d+>))"
)
_TIERS: Final = re.compile(
    rf"(?:the )?first <energy#(?P<most>\d+)>(?: (?:of|in|per|for) (?:the|each|every|this|a)?"
    rf" ?(?:whole )?{_SPAN})? {_COST} <price#(?P<first>\d+)>{_WHOSE} ?,? (?:and )?{_BEYOND}"
    rf"(?: {_COST})? <price#(?P<second>\d+)>{_WHOSE}(?= ?[.,;]|$| and)"
)
_PEAK: Final = re.compile(
    r",? ?(?:and )?(?:the )?(?:highest|largest|maximum|peak) (?P<of>hour|half-hour|quarter-hour)"
    rf"(?: of the {_SPAN})? {_COST} <capacity_price#(?P<price>\d+)>(?= ?[.,;]|$| and)"
)
_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_PARTS: Final = re.compile(
    rf"(?:and )?(?:the |our |my )?(?:(?P<month>{'|'.join(_MONTHS)}) )?"
    r"(?:electricity |energy |power )?(?:bill|tariff|rate|price)"
    r" (?:has|consists of|is made of|is in) <number#(?P<n>\d+)> (?:parts|items) :?"
)


@dataclass(frozen=True)
class Tiers:
    """A price up to an amount of energy, another one beyond it, and one for the highest step."""

    most: Value
    first: Value
    second: Value
    line: int
    peak: Value | None = None


def has_tiers(draft: Draft) -> bool:
    """Whether a sentence gives tiers, so that electricity is bought."""
    return any(_TIERS.search(line.line) and not line.sentence.is_heading for line in draft.lines)


def take_tiers(draft: Draft, axis: Axis | None) -> Tiers | None:
    """Return the tiers of a bill, and account for their words."""
    found = [
        (n, match) for n, line in enumerate(draft.lines)
        if not line.sentence.is_heading and n not in draft.table_lines
        and (match := _TIERS.search(line.line)) is not None
    ]  # fmt: skip
    if len(found) != 1 or axis is None:
        return None
    n, match = found[0]
    line = draft.lines[n]
    span = match["span"] or ""
    if not spans_plan(span, axis):
        draft.doubt(n, f"the first energy of which {span or 'time'}: is that the plan?")
    values = []
    for key in ("most", "first", "second"):
        amount = line.tokens[int(match[key])].amount
        assert amount is not None
        values.append(amount_value(amount, draft.source(n, amount)))
    account(draft, n, line, match, "")
    _parts(draft, n, line, axis)
    return Tiers(values[0], values[1], values[2], n, _peak(draft, n, line, axis))


def _peak(draft: Draft, n: int, line: Line, axis: Axis) -> Value | None:
    """Return the price of the highest step in the sentence of the tiers; None where it is not."""
    match = _PEAK.search(line.line)
    minutes = {"hour": 60.0, "half-hour": 30.0, "quarter-hour": 15.0}
    amount = line.tokens[int(match["price"])].amount if match is not None else None
    if match is None or amount is None or minutes[match["of"]] != axis.step_minutes:
        return None
    if match["span"] and not spans_plan(match["span"], axis):
        return None
    account(draft, n, line, match, "")
    return amount_value(amount, draft.source(n, amount))


def spans_plan(span: str, axis: Axis) -> bool:
    """Whether a plan is as long as a span of time in words, from its beginning on."""
    if span in ("plan", "period", "bill", "billing period"):
        return True
    if span == "month":
        return is_month(axis)
    return abs(axis.hours - {"day": 24.0, "week": 168.0}.get(span, -1.0)) < 1e-9


def is_month(axis: Axis) -> bool:
    """Whether a plan is one month of the calendar."""
    if "T" not in axis.start or axis.start_clock != 0.0:
        return False
    begins = date.fromisoformat(axis.start[:10])
    ends = begins + timedelta(hours=round(axis.hours))
    return begins.day == 1 and ends.day == 1 and 27 * 24 < axis.hours < 32 * 24


def _parts(draft: Draft, n: int, line: Line, axis: Axis) -> None:
    """Account for 'the bill has three parts' where that many prices follow."""
    match = _PARTS.search(line.line)
    prices = [t for t in line.tokens if t.amount is not None
              and t.amount.kind in ("price", "capacity_price", "money")]  # fmt: skip
    amount = line.tokens[int(match["n"])].amount if match is not None else None
    named = _MONTHS.index(match["month"]) + 1 if match is not None and match["month"] else None
    if named is not None and axis.start[5:7] != f"{named:02d}":
        return
    if match is None or amount is None:
        return
    if amount.value != len(prices):
        draft.doubt(n, f"{amount.quote} parts, of which {len(prices)} have a price here")
    account(draft, n, line, match, "counts the prices")


def add_tiers(system: "System", name: str, tiers: Tiers) -> None:
    """Add what energy beyond the first tier costs more; the first price is that of all of it."""
    builder = system.builder
    if kind_of(tiers.first.unit) != "price" or float(builder._canonical(tiers.second)) < float(
        builder._canonical(tiers.first)
    ):
        builder.draft.doubt(tiers.line, "a price that falls with the amount")
        return
    most = builder.value("first_tier", tiers.most, "energy at the first price")
    second = builder.value("second_price", tiers.second, "price beyond the first tier")
    first = system.filled[name]["import_price"]
    if first in builder.indexed or "export_price" in system.filled[name]:
        builder.draft.doubt(tiers.line, "tiers beside prices by the time, or beside a sale")
    beyond: Json = {
        "name": f"{name}_beyond", "type": "continuous", "lower": 0, "unit": "kWh",
        "quantity": f"{name}.beyond", "role": "auxiliary",
        "description": "energy beyond the first tier",
    }  # fmt: skip
    limit = system.filled[name].get("import_enough", "")
    if limit:
        beyond["upper"] = f"sum({builder.at(limit)}*dt(t) for t in T)"
    builder.variables.append(beyond)
    constrain(builder, "energy beyond the first tier",
              f"{name}_beyond >= sum({name}_import[t]*dt(t) for t in T) - {most}",
              "Operational Logic", tiers.line)  # fmt: skip
    system.costs.append(("+", f"({second} - {first})*{name}_beyond"))

"""Comfort that has a price: deviations, squared or not, from a temperature that is wished for.

'At every full hour from 11:00 to 18:00 the deviation from 25 °C is squared and costs 0.09 EUR/K²';
'at the end of each staffed hour 20 °C or more are wanted, and what is missing costs 1 EUR/(K·h)'.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from engiagent.agents.offline.amounts import currency_of
from engiagent.agents.offline.draft import Draft, Json, Value
from engiagent.agents.offline.storage import constrain
from engiagent.agents.offline.tariffs import condition
from engiagent.agents.offline.tokens import Line, Period, Token

if TYPE_CHECKING:
    from engiagent.agents.offline.plant.engine import Reader
    from engiagent.agents.offline.plant.system import System

_KELVIN: Final = r"(?P<deg>k|°c|degc|kelvin|°f|degf|degrees? (?:celsius|fahrenheit|c|f))"
_UNIT: Final = re.compile(
    rf"\s*(?:/|per|for (?:each|every))\s*\(?\s*{_KELVIN}"
    r"(?P<two>²|\^2|\*\*2|2| squared)?(?:\s*(?:·|\*|⋅|/| and| per| times|)\s*"
    r"(?P<hour>h(?:our)?))?(?![a-z])\s*\)?",
    re.I,
)
_EACH_KELVIN: Final = re.compile(
    r"(?:each|every|a|one)\s(?P<deg>kelvin|degree(?:\s(?:celsius|fahrenheit))?)"
    r"(?P<hour>(?:\s?-\s?|\sand\s)hour)?\s(?:below|under|above|over|too\s\w+|missing)\b[^.;]*$",
    re.I,
)
_SQUARED: Final = re.compile(r"(?<![a-z])(?:squared?|square of|quadratic(?:ally)?)(?![a-z])")
_APART: Final = re.compile(
    r"(?<![a-z])(?:deviations?|differences?|distances?|departures?)(?![a-z])"
)
_BELOW: Final = re.compile(
    r"(?<![a-z])(?:missing|short|lacking|lacks?|below|under|too cold|colder|shortfall|too cool)"
    r"(?![a-z])"
)
_ABOVE: Final = re.compile(
    r"(?<![a-z])(?:above|over|too warm|too hot|warmer|hotter|excess|in excess)(?![a-z])"
)
_AT_LEAST: Final = re.compile(r"> or (?:more|above|warmer|higher)|at least <|not below <")
_AT_MOST: Final = re.compile(r"> or (?:less|below|colder|cooler|lower)|at most <|not above <")
_STEP: Final = r"(?P<step>quarter[- ]hour|half[- ]hour|hour|step|period|interval)"
_MARKS: Final = re.compile(
    rf"(?:for|at|on) (?:every|each|all|all the)(?: full)? {_STEP}s?(?: marks?)?(?= |$)"
    r"(?: (?:from |between )?<period#(?P<when>\d+)>)?"
)
_EDGES: Final = re.compile(
    rf"at the (?P<edge>end|beginning|start) of (?:each|every) (?P<flag>[a-z]+ )?{_STEP}(?![a-z])"
)
_MINUTES: Final = {"quarter": 15.0, "half": 30.0, "hour": 60.0}
_EXPLAINED: Final = re.compile(
    r"\( the (?:mean|average)(?: [a-z ]+?)? does not (?:matter|count) , the (?:value|temperature)"
    r" at the end of the (?:hour|step|period|interval|quarter-hour|half-hour) counts \)"
)
_ALLOWED: Final = frozenset(
    [
        "so", "has", "the", "a", "an", "of", "from", "is", "are", "and", "costs", "cost", "counts",
        "count", "counted", "at", "to", "it", "its", "we", "us", "with", "for", "on", "in",
        "that", "this", "be", "as", "priced", "price", "worth", "charged", "penalised",
        "penalized", "penalty", "what", "or", "less", "more", "each", "every", "all", "full",
        "hour", "hours", "quarter-hour", "quarter-hours", "half-hour", "half-hours", "mark",
        "marks", "step", "steps", "wish", "wishes", "wanted", "want", "wants", "would", "like",
        "desired", "ideal", "target", "k", "h", "f", "c", "kelvin", "degree", "degrees",
        "squared", "square", "quadratic", "quadratically", "deviation", "deviations",
        "difference", "differences", "distance", "departure", "missing", "short", "lacking",
        "lack", "lacks", "below", "under", "above", "over", "warm", "cold", "hot", "too",
        "colder", "warmer", "excess", "shortfall", "least", "most", "temperature",
        "temperatures", "inside", "room", "end", "beginning", "start", "discomfort",
        "complaints", "complaint", "comfort", "staff", "people", "by", "which", "enters",
        "enter", "taken", "charge", "per", "times", "²", "value", "by",
    ]
)  # fmt: skip
LABELS: Final = frozenset(
    ("complaints", "complaint", "discomfort", "comfort", "deviations", "deviation", "penalty",
     "penalties")
)  # fmt: skip


@dataclass(frozen=True)
class Soft:
    """A wish for a temperature, and what it costs not to meet it.

    Attributes
    ----------
    ideal, weight
        The temperature, and the price of a deviation, per hour or for each instant.
    square
        Whether deviations count squared.
    side
        ``both``, ``below`` or ``above``.
    edge
        ``marks`` for instants, ``end`` or ``start`` of steps.
    flag
        The column that is 1 in the steps that count; empty for all.
    """

    ideal: Value
    weight: Value
    square: bool
    side: str
    edge: str
    period: Period | None
    hourly: bool
    flag: str
    line: int


def take_soft(reader: "Reader", flags: frozenset[str]) -> list[Soft]:
    """Return the wishes of a text and account for their words; ``flags`` are columns of 0 and 1."""
    found: list[Soft] = []
    for n, line in enumerate(reader.draft.lines):
        if line.sentence.is_heading or n in reader.draft.table_lines:
            continue
        prices = [
            (i, unit) for i, token in enumerate(line.tokens)
            if token.amount is not None and not reader.draft.is_taken(n, i)
            and (unit := _per_kelvin(reader.draft, token)) is not None
        ]  # fmt: skip
        if len(prices) != 1 or len(reader.plant.of("zone")) != 1 or reader.axis is None:
            continue
        wish = _wish(reader, n, *prices[0], flags)
        if wish is not None:
            found.append(wish)
            reader.cache.pop(n, None)
    return found


def _per_kelvin(draft: Draft, token: Token) -> tuple[str, bool, bool, int] | None:
    """Return unit, whether per square, whether per hour, and the end of a price of deviations."""
    amount = token.amount
    if amount is None or not amount.unit or currency_of(amount.unit.split("/")[0]) is None:
        return None
    money = amount.unit.split("/")[0]
    each = _EACH_KELVIN.search(draft.text, max(0, token.span[0] - 80), token.span[0])
    if each is not None and amount.unit == money:
        kelvin = "degF_diff" if "f" in each["deg"].lower() else "K"
        unit = f"{money}/({kelvin}*h)" if each["hour"] else f"{money}/({kelvin})"
        return unit, False, bool(each["hour"]), token.span[1]
    slash = draft.text[slice(*token.span)].find("/")
    place = token.span[1] if amount.unit == money else token.span[0] + slash
    match = _UNIT.match(draft.text, place)
    if match is None:
        return None
    kelvin = "degF_diff" if re.search(r"f", match["deg"], re.I) else "K"
    square, hourly = bool(match["two"]), bool(match["hour"])
    below = f"{kelvin}**2" if square else kelvin
    unit = f"{money}/({below}*h)" if hourly else f"{money}/({below})"
    return unit, square, hourly, match.end()


def _wish(
    reader: "Reader", n: int, i: int, unit: tuple[str, bool, bool, int], flags: frozenset[str]
) -> Soft | None:
    draft, line = reader.draft, reader.draft.lines[n]
    name, square, hourly, stop = unit
    last = max(k for k, t in enumerate(line.tokens) if t.span[0] < stop)
    explained = _EXPLAINED.search(line.line)
    aside = set(line.covered(*explained.span())) if explained is not None else set()
    first, last = _region(line, i, last, square, aside)
    inside = [k for k in range(first, last + 1) if not draft.is_taken(n, k)]
    text = " ".join(_shown(line, k) for k in range(first, last + 1) if k not in aside)
    temperatures = [k for k in inside if (a := line.tokens[k].amount) is not None
                    and a.kind == "temperature"]  # fmt: skip
    others = [k for k in inside if line.tokens[k].amount is not None
              and k not in (i, *temperatures) and k < i]  # fmt: skip
    when = _when(reader, text, line, flags)
    if len(temperatures) != 1 or others or when is None or bool(_SQUARED.search(text)) != square:
        return None
    side = _side(text, line, i, square)
    edge, period, flag = when
    if side is None or _strange(reader, n, [k for k in inside if k not in aside], flag):
        return None
    start = line.tokens[i].span[0]
    sign = re.match(r"[€$£]\s*", draft.text[start:stop])
    start += sign.end() if sign is not None else 0
    quote = draft.text[start:stop]
    amount = line.tokens[i].amount
    ideal = line.tokens[temperatures[0]].amount
    assert amount is not None
    assert ideal is not None
    weight = Value(name, {"kind": "text", "span": [start, stop], "quote": quote}, amount.value)
    wished = Value(ideal.unit, draft.source(n, ideal), ideal.value)
    draft.take(n, inside)
    return Soft(wished, weight, square, side, edge, period, hourly, flag, n)


def _region(line: Line, i: int, last: int, square: bool, aside: set[int]) -> tuple[int, int]:
    """Return the tokens that state a wish: its clause, or all of the sentence where needed."""
    marks = [k for k, t in enumerate(line.tokens) if t.text == ";"]
    first = max((k + 1 for k in marks if k < i), default=0)
    wished = any(
        (a := line.tokens[k].amount) is not None and a.kind == "temperature"
        for k in range(first, i)
    )
    if not square and not wished:
        first = 0
    said = " ".join(_shown(line, k) for k in range(first, last + 1))
    if not _MARKS.search(said) and not _EDGES.search(said):  # the marks stand behind the price
        last = min((k - 1 for k in marks if k > last), default=len(line.tokens) - 1)
    return first, max(last, *aside) if aside else last


def _shown(line: Line, k: int) -> str:
    token = line.tokens[k]
    end = line.starts[k + 1] if k + 1 < len(line.starts) else len(line.line) + 1
    return token.text if token.kind in ("word", "mark") else line.line[line.starts[k] : end].strip()


def _when(
    reader: "Reader", text: str, line: Line, flags: frozenset[str]
) -> tuple[str, Period | None, str] | None:
    """Return at which instants a wish counts; None where that is not said, or not in steps."""
    axis = reader.axis
    assert axis is not None
    marks, edges = list(_MARKS.finditer(text)), list(_EDGES.finditer(text))
    if len(marks) + len(edges) != 1:
        return None
    match = (marks or edges)[0]
    word = re.split(r"[- ]", match["step"])[0]
    if word in _MINUTES and _MINUTES[word] != axis.step_minutes:
        return None
    times = re.findall(r"<(?:period|period_open|rest|clock)#(\d+)>", text)
    if edges:
        flag = (match["flag"] or "").strip()
        edge = "end" if match["edge"] == "end" else "start"
        return None if times or (flag and flag not in flags) else (edge, None, flag)
    if times != ([match["when"]] if match["when"] else []):
        return None
    period = line.tokens[int(match["when"])].period if match["when"] else None
    return None if period is not None and period.rest else ("marks", period, "")


def _side(text: str, line: Line, i: int, square: bool) -> str | None:
    """Return which deviations count; None where the words do not agree."""
    below, above = bool(_BELOW.search(text)), bool(_ABOVE.search(text))
    if _APART.search(text):
        return None if below or above else "both"
    if square or below is above:
        return None
    wanted = {bool(_AT_LEAST.search(text)): "below", bool(_AT_MOST.search(text)): "above"}
    side = "below" if below else "above"
    return side if True not in wanted or wanted[True] == side else None


def _strange(reader: "Reader", n: int, inside: list[int], flag: str) -> bool:
    """Whether a wish holds words that may change it."""
    marked = reader.marked(n)
    quiet = ("@zone", "gain", "temp", "inside", "comfort", "price")
    return any(
        token.kind == "word" and token.text not in _ALLOWED and token.text != flag
        and marked.concepts[k] not in quiet and "²" not in token.text
        for k, token in ((k, marked.line.tokens[k]) for k in inside)
    )  # fmt: skip


# --- in the model --------------------------------------------------------------------------------


def add_soft(system: "System", wishes: list[Soft]) -> None:
    """Add what deviations from wished temperatures cost."""
    _in_objective(system, wishes)
    zones = system.reader.plant.of("zone")
    for k, wish in enumerate(wishes, 1):
        stem = "wish" if len(wishes) == 1 else f"wish_{k}"
        ideal = system.builder.value(f"{stem}_temperature", wish.ideal, "temperature wished for")
        weight = system.builder.value(f"{stem}_price", wish.weight, "price of a deviation")
        _add(system, wish, stem, f"{zones[0].name}_temperature", ideal, weight)


def _add(
    system: "System", wish: Soft, stem: str, temperature: str, ideal: str, weight: str
) -> None:
    builder = system.builder
    index, at, over = _sum(system, wish, stem)
    if index is None:
        return
    apart = f"({temperature}[{at}] - {ideal})"
    hours = "*dt(t)" if wish.hourly and index == "t" else ""
    if wish.hourly and index == "i":
        hours = "*dt(first(T))"
    if wish.square:
        system.costs.append(("+", f"sum({weight}*{apart}**2{hours} for {index} in {over})"))
        return
    name = f"{stem}_apart"
    entry: Json = {
        "name": name, "index": [f"{index} in {over}"], "type": "continuous", "lower": 0,
        "upper": _furthest(system, wish, stem, ideal),
        "unit": "K", "quantity": f"{stem}.apart", "role": "auxiliary",
        "description": "deviation from the temperature wished for",
    }  # fmt: skip
    builder.variables.append(entry)
    for sign in {"below": "-", "above": "+", "both": "-+"}[wish.side]:
        text = f"{name}[{index}] >= {'-' if sign == '-' else ''}{apart}"
        constrain(builder, "deviation from the wish", text, "Operational Logic", wish.line,
                  [f"{index} in {over}"])  # fmt: skip
    system.costs.append(("+", f"sum({weight}*{name}[{index}]{hours} for {index} in {over})"))


def _furthest(system: "System", wish: Soft, stem: str, ideal: str) -> str:
    """Return how far a temperature can be from a wish: a bound that a proof can use."""
    builder, name = system.builder, system.reader.plant.of("zone")[0].name
    ends = {"below": ("lower",), "above": ("upper",), "both": ("lower", "upper")}[wish.side]
    known = {p["name"] for p in builder.parameters}
    found = []
    for end in ends:
        word = "lowest" if end == "lower" else "highest"
        always = [
            made for k, band in enumerate(builder.draft.bands, 1)
            if band.period is None and end in dict(band.limits)
            and (made := f"{name}_{word}_temperature_{k}") in known
        ]  # fmt: skip
        found += [f"{ideal} - {m}" if end == "lower" else f"{m} - {ideal}" for m in always[:1]]
    if len(found) == len(ends) == 1:
        return found[0]
    return builder.assumed(
        f"{stem}_apart_max", 200.0, "K", "largest deviation", "no room is 200 K from what is wished"
    )


def _sum(system: "System", wish: Soft, stem: str) -> tuple[str | None, str, str]:
    """Return over what a wish is summed: its index, the instant of it, and the set."""
    builder = system.builder
    if wish.edge != "marks":
        over = "T"
        if wish.flag:
            over = f"T_{stem}"
            column = system.reader.flags[wish.flag]
            made = builder.value(wish.flag, column, "1 in the periods that count")
            builder.sets.append({"name": over, "kind": "subset", "of": "T", "binder": "t",
                                 "where": f"{made}[t] == 1"})  # fmt: skip
        return "t", "t+1" if wish.edge == "end" else "t", over
    inside = _instants(system, wish.period)
    if not inside.any():
        builder.draft.doubt(wish.line, "none of these marks lies in the plan")
        return None, "", ""
    most = (inside[1:].all() and not inside[0], inside[:-1].all() and not inside[-1])
    if any(most):
        for span in wish.period.spans if wish.period is not None else ():
            quote = builder.draft.text[slice(*span)]
            entry = {"span": list(span), "quote": quote, "reason": "all marks of the plan"}
            builder.draft.unused.append(entry)
        return "t", "t+1" if most[0] else "t", "T"
    if wish.period is None:
        builder.draft.doubt(wish.line, "does the first or the last of these marks count?")
        return None, "", ""
    over = f"I_{stem}"
    where = condition(wish.period, "i", inclusive=True)
    builder.sets.append(
        {"name": over, "kind": "subset", "of": "I", "binder": "i", "where": where,
         "source_reference": builder.draft.quote(wish.line, *wish.period.spans)}
    )  # fmt: skip
    return "i", "i", over


def _instants(system: "System", period: Period | None) -> npt.NDArray[np.bool_]:
    """Return which instants of the plan lie in a period, both of its ends included."""
    axis = system.builder.axis
    clocks = np.array([axis.start_clock + k * axis.step_minutes / 60
                       for k in range(axis.periods + 1)])  # fmt: skip
    if period is None:
        return np.ones(clocks.shape, dtype=bool)
    inside = np.zeros(clocks.shape, dtype=bool)
    for a, b in period.ranges:
        for shift in (0.0, 24.0):
            inside |= (a + shift - 1e-9 <= clocks) & (clocks <= b + shift + 1e-9)
    return inside


def _in_objective(system: "System", wishes: list[Soft]) -> None:
    """Report an objective that is spelled out and leaves out what deviations cost."""
    goal = system.reader.goal
    if goal is None or not wishes:
        return
    words = {t.text for t in system.builder.draft.lines[goal.line].tokens}
    named = words & (LABELS | {"sum", "total", "both", "plus", "all", "everything", "two"})
    if not named and words & {"electricity", "energy", "power", "heating", "cooling", "bill"}:
        system.builder.draft.doubt(goal.line, "is the price of deviations part of this?")

"""What a store may cost to earn a return: 'what may it cost per kW so that it still earns 8 %?'.

The answer is a defined quantity: the yearly surplus for a unit of size, times the present value of
an annuity of one over the years of life.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.amounts import Amount
from engiagent.agents.offline.builder import note_repeat
from engiagent.agents.offline.draft import Draft, Fact, Json, Value, amount_value
from engiagent.agents.offline.goals import Goal
from engiagent.agents.offline.results import Missing
from engiagent.agents.offline.tokens import Line
from engiagent.blueprint.units import convert, parse_unit

if TYPE_CHECKING:
    from engiagent.agents.offline.plant.system import System

_SIZE: Final = r"(?P<size>kw|kilowatt|kwh|kilowatt-hour)"
_ASKED: Final = (
    re.compile(
        r"(?:what|how much) (?:a|the|our|this|such an?|one|an?) (?:[a-z-]+ ){1,3}?(?:may|can|could)"
        r" (?:at most |still )?cost(?: at (?:the )?most)? (?:per|for each|for every)"
        rf" {_SIZE}(?![a-z-])"
    ),
    re.compile(
        r"(?:what|how much) (?:may|can|could) (?:a|the|our|this|such an?|one|an?|it)"
        r"(?: [a-z-]+){0,3}? cost(?: at (?:the )?most)? (?:per|for each|for every)"
        rf" {_SIZE}(?![a-z-])"
    ),
    re.compile(
        rf"(?:what|how much) (?:may|can|could) (?:an?|one|each|every) {_SIZE}(?: of [a-z]+)?"
        r"(?: at most)? cost(?: at (?:the )?most)?(?![a-z-])"
    ),
    re.compile(
        r"(?:the )?(?:highest|largest|greatest|acceptable|affordable|break-even) "
        r"(?:price|cost|capital cost|investment|purchase price) "
        rf"(?:per|for each|for every) {_SIZE}(?![a-z-])"
    ),
)
_RATE: Final = re.compile(
    r"(?:(?:so that|if|such that|in order to) (?:(?:it|we|one|the [a-z]+) )?"
    r"(?:(?:is|are|must|shall|should|wants?|has) )?(?:to )?(?:still )?)?"
    r"(?:earns?|yields?|returns?|brings?(?: in)?|return of|rate of return (?:of|is)"
    r"|interest(?: rate)?(?: of| is)?|discount rate (?:of|is)|discounted (?:at|with)"
    r"|cost of capital (?:of|is)) (?:still )?(?:at least )?<percent#(?P<n>\d+)>"
    r"(?: (?:interest|return))?(?: (?:a|per|each|every) year)?"
    r"|<percent#(?P<m>\d+)> (?:interest|return)(?: (?:a|per|each|every) year)?"
)
_LIFE: Final = re.compile(
    r"(?:repeats for|(?:its |a |the )?(?:life|lifetime|useful life|life span|service life)"
    r"(?: of| is|:)?|lasts(?: for)?|lives(?: for)?|is used for|(?:is|are) written off over)"
    r" <duration#(?P<n>\d+)>"
)
_RUNNING: Final = re.compile(
    r"(?:the |its )?(?:yearly |annual |fixed )*(?:running|operating|maintenance|upkeep|fixed)"
    r"(?: costs?)?(?: (?:is|are|of|come to|comes to|amount to|amounts to|cost|costs)| :)*"
    r" <(?:price|capacity_price|timed_money)#(?P<n>\d+)>(?P<yearly>(?: ,?(?:a|per|and|each|every)"
    r"(?: every)? year)?)"
)
_REPEATS: Final = re.compile(
    r"(?:the|this|that) year repeats(?: every year)?(?! for)|the year(?= repeats for)"
    r"|(?:every|each) year is (?:like this one|the same|alike)"
    r"|all years are (?:alike|equal|the same)|(?:for )?(?:every|each) year of its life"
)
_RESIDUAL: Final = re.compile(
    r"(?:there is )?no (?:residual|scrap|salvage|resale) value(?: is left| remains| is counted)?"
    r"|(?:it |the battery )?is worth nothing (?:after that|afterwards)"
)
_ENDS: Final = re.compile(
    r"(?:the )?payments?(?: are made| fall due)? at the ends? of (?:the|each|every) years?"
    r"|payments? in arrears"
)
_DEFINED: Final = re.compile(
    r"(?:the )?(?:(?:acceptable|affordable|highest|possible|capital) )*(?:price|cost|investment) is"
    r" (?:the |its )?(?:annual|yearly) (?:surplus|profit|income|margin|revenue)"
    r"(?: (?:per|of a|of each) (?P<size>kwh|kw|kilowatt)(?![a-z-]))?"
    r"(?P<sum> ?,? (?:the )?(?:trading )?(?:income|profit|revenue|margin|result)"
    r" (?:less|minus) (?:the )?(?:running|operating|fixed) costs? ?,?)? "
    r"times (?:the )?(?:present value of an annuity(?: of <number#(?P<one>\d+)>| of one)?"
    r"|annuity (?:present value )?factor|present value factor)"
    r"(?: at <percent#(?P<rate>\d+)>)?(?: (?:over|for) (?:the |its )?<duration#(?P<life>\d+)>)?"
)
_GOAL: Final = re.compile(
    r"maximi[sz]e (?:it|this|that|(?:this|that|the) (?:acceptable |affordable )?(?:price|cost))"
    r"(?: and (?:report|give|state|express) (?:it|this|that|the result))?"
    r"(?: in (?P<money>[a-z]{3}|ct) / (?P<size>kwh|kw)(?![a-z]))?"
)
_STORES: Final = frozenset({"battery", "storage", "store", "bess", "accumulator"})
_YEARS: Final = (8760.0, 8784.0)


@dataclass(frozen=True)
class Stated:
    """An amount with the line that it stands in."""

    amount: Amount
    line: int


@dataclass(frozen=True)
class Investing:
    """A question for the price of a unit of size.

    Attributes
    ----------
    size
        ``kW`` or ``kWh``.
    rates, lives
        The return and the years of life, each time they are stated.
    running
        Costs of a year, of all or of a unit of size.
    enumerated
        Whether the text defines the surplus as income less running costs; None without definition.
    line
        The sentence that asks, and that the objective rests on.
    """

    size: str
    rates: tuple[Stated, ...]
    lives: tuple[Stated, ...]
    running: tuple[Stated, ...]
    enumerated: bool | None
    line: int


def take_investing(draft: Draft) -> Investing | None:
    """Return the question for the price of a unit of size; None where a text asks for none."""
    lines = [(n, line) for n, line in enumerate(draft.lines)
             if not line.sentence.is_heading and n not in draft.table_lines]  # fmt: skip
    asked = [(n, m) for n, line in lines for p in _ASKED if (m := p.search(line.line))]
    defined = [(n, m) for n, line in lines if (m := _DEFINED.search(line.line))]
    goals = [(n, m) for n, line in lines if (m := _GOAL.search(line.line))]
    found = [*asked, *defined, *goals]
    sizes = {_size(m["size"]) for _, m in found if m["size"]}
    if not asked and not defined:
        return None
    if len(sizes) != 1 or len(defined) > 1 or len(goals) > 1:
        draft.doubt(found[0][0], "is the price asked for of a unit of power, or of energy?")
        return None
    if any(not match["size"] for _, match in defined):
        draft.doubt(defined[0][0], "the price of all, or of a unit of size?")
    rates = _amounts(draft, lines, _RATE, "n", "m") + _of(draft, defined, "rate")
    lives = _amounts(draft, lines, _LIFE, "n") + _of(draft, defined, "life")
    running = _running(draft, lines)
    _of(draft, defined, "one")
    for n, match in found:
        covered = draft.lines[n].covered(*match.span())
        # What the question is about stays what 'it' is in the sentences behind it.
        draft.take(n, [i for i in covered if draft.lines[n].tokens[i].text not in _STORES])
    for pattern in (_REPEATS, _RESIDUAL, _ENDS):
        for n, line in lines:
            for match in pattern.finditer(line.line):
                draft.take(n, list(line.covered(*match.span())))
    _no_horizon(draft, lives)
    enumerated = bool(defined[0][1]["sum"]) if defined else None
    place = (goals or defined or asked)[0][0]
    return Investing(sizes.pop(), rates, lives, running, enumerated, place)


def goal_of(draft: Draft, goal: Goal | None, investing: Investing | None) -> Goal | None:
    """Return the objective: the price that is asked for, where one is."""
    if investing is None:
        return goal
    # 'Maximise it in EUR/kWh' is no objective of energy.
    span = draft.lines[investing.line].sentence.span
    draft.not_understood[:] = [e for e in draft.not_understood if e.span != span]
    if goal is not None and goal.line != investing.line:
        draft.doubt(goal.line, "a price is asked for, and another objective is stated")
    return Goal("profit", investing.line)


def _size(text: str) -> str:
    return "kWh" if text in ("kwh", "kilowatt-hour") else "kW"


def _amounts(
    draft: Draft, lines: Sequence[tuple[int, Line]], pattern: re.Pattern[str], *names: str
) -> tuple[Stated, ...]:
    """Return the amounts that a pattern finds, and take its words."""
    found = []
    for n, line in lines:
        for match in pattern.finditer(line.line):
            place = next(match[name] for name in names if match[name])
            amount = line.tokens[int(place)].amount
            if amount is not None and _fits(amount):
                found.append(Stated(amount, n))
                draft.take(n, list(line.covered(*match.span())))
    return tuple(found)


def _fits(amount: Amount) -> bool:
    """Whether an amount is a share, or a time of a year or more."""
    if amount.kind != "duration":
        return amount.kind == "percent"
    return convert(amount.value, parse_unit(amount.unit), parse_unit("yr")) >= 1


def _of(
    draft: Draft, defined: Sequence[tuple[int, re.Match[str]]], name: str
) -> tuple[Stated, ...]:
    """Return an amount of the definition; the 'annuity of 1' has to be of one."""
    found = []
    for n, match in defined:
        amount = draft.lines[n].tokens[int(match[name])].amount if match[name] else None
        if amount is not None and name == "one":
            entry = {"span": list(amount.span), "quote": amount.quote, "reason": "of one"}
            draft.unused.append(entry)
            if amount.value != 1:
                draft.doubt(n, "an annuity of another amount than one")
        elif amount is not None:
            found.append(Stated(amount, n))
    return tuple(found)


def _running(draft: Draft, lines: Sequence[tuple[int, Line]]) -> tuple[Stated, ...]:
    """Return the running costs of a year."""
    found = []
    for n, line in lines:
        for match in _RUNNING.finditer(line.line):
            amount = line.tokens[int(match["n"])].amount
            if amount is None:
                continue
            of_year = re.search(r"(?:/|\*)\(?(?:yr|year|a)\b", amount.unit) is not None
            if of_year is bool(match["yearly"].strip()):
                continue
            if not of_year:
                amount = Amount(amount.value, f"{amount.unit}/yr", "price", amount.span,
                                amount.quote)  # fmt: skip
            found.append(Stated(amount, n))
            draft.take(n, list(line.covered(*match.span())))
    return tuple(found)


def _no_horizon(draft: Draft, lives: Sequence[Stated]) -> None:
    """Keep the years of life from being taken for the horizon."""

    def of_life(fact: Fact) -> bool:
        told = fact.name in ("horizon", "horizon_hours")
        return told and any(
            fact.line == s.line and fact.span[0] <= s.amount.span[0] < fact.span[1] for s in lives
        )

    draft.facts[:] = [fact for fact in draft.facts if not of_life(fact)]


def price_asked(system: "System", goal: Goal, income: str, currency: str) -> Json | None:
    """Return the objective: what a unit of size may cost, by the income of a year."""
    builder, investing = system.builder, system.reader.investing
    draft = builder.draft
    assert investing is not None
    size = _size_of(system, investing)
    rate = _one(system, investing.rates, "rate", "the return that is wanted")
    life = _one(system, investing.lives, "life", "the years of life")
    if size is None or rate is None or life is None:
        return None
    if builder.axis.hours not in _YEARS:
        draft.doubt(investing.line, "the income of a year, from prices of another time")
    cost = _yearly(system, investing)
    annuity = builder.derived(
        "annuity", f"(1 - exp(-{life}/1[yr]*log(1 + {rate})))/{rate}", "1",
        "present value of an annuity of one", [rate, life],
        note="payments at the ends of the years",
    )  # fmt: skip
    draft.assume("the yearly payments fall due at the ends of the years")
    return {
        "name": "acceptable price",
        "sense": "maximize",
        "expression": f"{annuity}*({income}{cost})/{size}",
        "unit": f"{currency}/{investing.size}",
        "source_reference": draft.quote(goal.line),
    }


def _one(system: "System", stated: Sequence[Stated], name: str, said: str) -> str | None:
    """Return the parameter of what is stated once, or several times alike."""
    draft = system.builder.draft
    if not stated:
        draft.missing.append(Missing("investment", name, f"{said} is not given"))
        return None
    if len({(s.amount.value, s.amount.unit) for s in stated}) > 1:
        draft.doubt(stated[1].line, f"{said}: two different values")
    first, *more = (amount_value(s.amount, draft.source(s.line, s.amount)) for s in stated)
    for other in more:
        note_repeat(system.builder, other)
    return system.builder.value(name, first, said)


def _size_of(system: "System", investing: Investing) -> str | None:
    """Return the power or the energy of the one store."""
    stores = system.reader.plant.of("battery")
    filled = system.filled.get(stores[0].name, {}) if len(stores) == 1 else {}
    numbers = system.builder.numbers
    names = ["energy_capacity"]
    if investing.size == "kW":
        names = ["charge_power_max", "discharge_power_max"]
    known = [filled.get(name, "") for name in names]
    values = {float(numbers[k]) for k in known if k in numbers}
    if len(values) != 1 or len(known) != len([k for k in known if k in numbers]):
        system.builder.draft.doubt(investing.line, "the price of which size is asked for?")
        return None
    return known[-1]


def _yearly(system: "System", investing: Investing) -> str:
    """Return the running costs of a year, as a text to put behind the income."""
    builder, draft = system.builder, system.builder.draft
    if investing.enumerated is not None and investing.enumerated is not bool(investing.running):
        draft.doubt(investing.line, "do running costs count?")
    if not investing.running:
        draft.assume("no running costs")
        return ""
    if len(investing.running) > 1:
        draft.doubt(investing.running[1].line, "two kinds of running costs")
    stated = investing.running[0]
    value = Value(stated.amount.unit, draft.source(stated.line, stated.amount),
                  stated.amount.value)  # fmt: skip
    made = builder.value("running_costs", value, "running costs of a year")
    unit = stated.amount.unit
    of_energy, of_power = "kWh" in unit or "MWh" in unit, re.search(r"/\(?[kMG]?W\b", unit)
    if not of_energy and of_power is None:
        return f" - {made}*1[yr]"
    other = Investing("kWh" if of_energy else "kW", (), (), (), None, stated.line)
    size = _size_of(system, other)
    return f" - {made}*{size}*1[yr]"

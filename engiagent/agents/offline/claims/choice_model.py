"""The model of a choice: how many of each row, which option, and what they must keep to."""

import re
from dataclasses import dataclass, field

from engiagent.agents.offline.amounts import currency_of
from engiagent.agents.offline.claims.facts import Facts
from engiagent.agents.offline.claims.reader import ALL, Said
from engiagent.agents.offline.draft import Json
from engiagent.agents.offline.plant.system import BALANCE, CAPACITY, LOGIC, PHYSICS
from engiagent.blueprint.units import convert, parse_unit

STRATEGIC = "Strategic Requirements"
_ATTRIBUTES = {
    "cost": "cost", "benefit": "benefit", "area": "area", "mass": "mass", "power": "power",
    "energy": "annual energy", "co2": "emissions avoided",
}  # fmt: skip
_SIGNS = {"upper": "<=", "lower": ">=", "exact": "==", "value": "<="}


@dataclass
class Choice:
    """The variables of a choice, and the sums of what its rows have."""

    facts: Facts
    variables: dict[str, str] = field(default_factory=dict)
    given: dict[tuple[str, str], str] = field(default_factory=dict)

    def total(self, attribute: str) -> str | None:
        """Return the sum of an attribute over what is chosen; None where some row lacks it."""
        parts = [
            f"{self.given[attribute, name]}*{variable}"
            for name, variable in self.variables.items()
            if (attribute, name) in self.given
        ]
        return " + ".join(parts) if len(parts) == len(self.variables) else None


def build(facts: Facts) -> Json | None:
    """Add the variables, the limits and the objective."""
    choice = Choice(facts)
    for name in facts.reader.names["item"]:
        for attribute, meaning in _ATTRIBUTES.items():
            made = facts.number(attribute, name, f"{name}_{attribute}", f"{meaning} of {name}")
            if made is not None:
                choice.given[attribute, name] = made
    facts.use(*facts.all("angle"))
    _explained(facts, "angle", "a number that the other columns already stand for")
    area = _area(facts)
    _variables(choice, area)
    if area is not None:
        _limit(choice, "area", area[0], "upper", area[1])
    for claim, attribute in (("budget", "cost"), ("mass_max", "mass"), ("power_max", "power"),
                             ("power_min", "power"), ("energy_min", "energy"),
                             ("benefit_min", "benefit"), ("co2_min", "co2")):  # fmt: skip
        limit = facts.one(claim)
        if limit is not None:
            made = facts.value(limit, claim, claim.replace("_", " "))
            _limit(choice, attribute, made, limit.bound, limit)
    _energy(choice, area)
    _counts(choice)
    _notes(facts)
    return _objective(choice)


def _explained(facts: Facts, claim: str, reason: str) -> None:
    """Account for numbers that enter nothing."""
    for said in facts.all(claim):
        for value in said.values.values():
            facts.builder.used.append(value.source)
            entry = {"span": value.source["span"], "quote": value.source["quote"],
                     "reason": reason}  # fmt: skip
            facts.builder.draft.unused.append(entry)


def _area(facts: Facts) -> tuple[str, Said] | None:
    """Return the area that may be taken; a whole area and its usable share have to agree."""
    draft = facts.builder.draft
    whole, share = facts.one("roof_area"), facts.one("usable_share")
    limit = facts.one("area_max")
    if limit is not None:
        made = facts.value(limit, "usable_area", "usable area")
        if whole is not None and share is not None:
            _agrees(facts, whole, share, limit)
        elif whole is not None or share is not None:
            draft.doubt((whole or share or limit).line, "which of these areas may be taken?")
        return made, limit
    if whole is None:
        return None
    made = facts.value(whole, "whole_area", "whole area")
    if share is None:
        draft.doubt(whole.line, "whether all of this area may be taken is not said")
        return made, whole
    part = facts.value(share, "usable_share", "share that is usable")
    unit = whole.values["value"].unit
    text = f"{part}*{made}"
    return facts.builder.derived("usable_area", text, unit, "usable area", [part, made]), share


def _agrees(facts: Facts, whole: Said, share: Said, limit: Said) -> None:
    """Hold a usable area against the whole area times its usable share."""
    draft = facts.builder.draft
    facts.use(whole, share)
    a, b, c = (s.values["value"] for s in (whole, share, limit))
    facts.builder.used += [a.source, b.source]
    numbers = (a.number or 0.0, b.number or 0.0, c.number or 0.0)
    factor = 0.01 if b.unit == "%" else 1.0
    there = convert(numbers[2], parse_unit(c.unit), parse_unit(a.unit))
    if abs(numbers[0] * numbers[1] * factor - there) > 1e-6 * abs(there):
        draft.clash(
            limit.line, "two-values", ("roof", "usable_area"),
            "the usable area is not the usable share of the whole", (whole.span, limit.span),
        )  # fmt: skip
        return
    for value, reason in ((a, "its usable part is given itself"),
                          (b, "with the whole area it gives the usable area")):  # fmt: skip
        entry = {"span": value.source["span"], "quote": value.source["quote"], "reason": reason}
        draft.unused.append(entry)


def _variables(choice: Choice, area: tuple[str, Said] | None) -> None:
    facts, builder = choice.facts, choice.facts.builder
    whole, binary = facts.says("whole"), facts.says("binary")
    if (whole is None) is (binary is None):
        line = (whole or binary).line if whole is not None and binary is not None else 0
        builder.draft.doubt(line, "how many of each may be chosen: whole numbers, or yes or no?")
    budget = facts.one("budget")
    for name in facts.reader.names["item"]:
        made = f"{name}_chosen" if name[0].isalpha() else f"item_{name}_chosen"
        upper: str | int = 1
        if whole is not None:
            tops = []
            if area is not None and ("area", name) in choice.given:
                tops.append(f"{area[0]}/{choice.given['area', name]}")
            if not tops and budget is not None and ("cost", name) in choice.given:
                known = [p for p in builder.parameters if p["name"] == "budget"]
                top = "budget" if known else facts.value(budget, "budget", "budget")
                tops.append(f"{top}/{choice.given['cost', name]}")
            if not tops:
                builder.draft.doubt(whole.line, f"{name}: nothing limits how many are chosen")
            upper = tops[0] if tops else 1
        builder.variables.append(
            {"name": made, "type": "integer" if whole is not None else "binary", "lower": 0,
             "upper": upper, "unit": "1", "quantity": f"{name}.chosen", "role": "decision"}
        )  # fmt: skip
        choice.variables[name] = made


def _limit(choice: Choice, attribute: str, made: str, bound: str, said: Said) -> None:
    total = choice.total(attribute)
    nouns = choice.facts.reader.domain.units["item"]
    text = choice.facts.builder.draft.text[said.span[0] : said.span[1]].lower()
    single = re.search(rf"(?<![a-z])(?:an?|each|every|any|no|one|per) (?:{nouns})", text)
    if said.owner != ALL or "each" in said.said or single is not None:
        choice.facts.builder.draft.doubt(said.line, "is this a limit of one row, or of the sum?")
    if total is None:
        choice.facts.builder.draft.doubt(said.line, f"the {attribute} of some rows is not given")
        return
    text = f"{total} {_SIGNS[bound]} {made}"
    choice.facts.row(f"{attribute} in total", text, CAPACITY, said.line, each=False)


def _energy(choice: Choice, area: tuple[str, Said] | None) -> None:
    """Add what a demand asks for: energy of rows, or of the installed power by an option."""
    facts, builder = choice.facts, choice.facts.builder
    demand, reach = facts.one("demand"), facts.says("reach")
    rule, one = facts.says("energy_rule"), facts.says("one_option")
    options = facts.reader.names.get("option", {})
    if demand is None:
        if reach is not None:
            facts.needed(None, "site", "demand", "kWh/yr", "annual demand")
        return
    made = facts.value(demand, "demand", "annual demand")
    covers = demand.said & {"reach"}
    if reach is None and not covers:
        builder.draft.doubt(demand.line, "whether this demand has to be covered is not said")
    line = reach.line if reach is not None else demand.line
    own = choice.total("energy")
    if own is not None and not options:
        facts.row("annual demand", f"{own} >= {made}", BALANCE, line, each=False)
        return
    power = choice.total("power")
    if power is None or not options or rule is None or one is None:
        builder.draft.doubt(demand.line, "what the annual energy follows from is not clear")
        return
    _by_option(choice, power, made, line, (rule.line, one.line))


def _by_option(choice: Choice, power: str, demand: str, line: int, lines: tuple[int, int]) -> None:
    """Add the energy of the installed power by the one option that is chosen."""
    facts, builder = choice.facts, choice.facts.builder
    rule, one = lines
    largest = _largest(choice)
    energies, chosen = [], []
    for name in facts.reader.names["option"]:
        rate = facts.number("yield", name, f"{name}_yield", f"specific yield of {name}")
        rate = facts.needed(rate, name, "yield", "kWh/(kWp*yr)", "specific yield")
        picked, energy = f"option_{name}", f"energy_{name}"
        builder.variables.append(
            {"name": picked, "type": "binary", "lower": 0, "upper": 1, "unit": "1",
             "quantity": f"{name}.chosen", "role": "decision"}
        )  # fmt: skip
        builder.variables.append(
            {"name": energy, "type": "continuous", "lower": 0, "upper": f"{rate}*({largest})",
             "unit": "kWh/yr", "quantity": f"{name}.energy", "role": "auxiliary"}
        )  # fmt: skip
        text = f"{energy} <= {rate}*({power})"
        facts.row(f"energy by {name}", text, PHYSICS, rule, each=False)
        text = f"{energy} <= {rate}*({largest})*{picked}"
        facts.row(f"no energy without {name}", text, LOGIC, one, each=False)
        energies.append(energy)
        chosen.append(picked)
    facts.row("one option", f"{' + '.join(chosen)} == 1", LOGIC, one, each=False)
    facts.row("annual demand", f"{' + '.join(energies)} >= {demand}", BALANCE, line, each=False)


def _largest(choice: Choice) -> str:
    """Return a power that no choice exceeds: that of the densest row on all of the area."""
    builder, given = choice.facts.builder, choice.given
    names = list(choice.variables)
    area = any(p["name"] == "usable_area" for p in builder.parameters)
    if area and all(("area", name) in given for name in names):
        dense = ", ".join(f"{given['power', n]}/{given['area', n]}" for n in names)
        return f"usable_area*max({dense})" if len(names) > 1 else f"usable_area*{dense}"
    tops = zip(names, builder.variables, strict=True)
    return " + ".join(f"{given['power', name]}*({v['upper']})" for name, v in tops)


def _counts(choice: Choice) -> None:
    """Add how many are chosen, which exclude each other, and which need another."""
    facts, draft = choice.facts, choice.facts.builder.draft
    every = list(choice.variables)
    for said in facts.all("count"):
        made = facts.value(said, "how_many", "number that may be chosen")
        names = every if said.owner == ALL else said.owner.split(" ")
        total = " + ".join(choice.variables[n] for n in names)
        facts.row("number chosen", f"{total} {_SIGNS[said.bound]} {made}", LOGIC, said.line,
                  each=False)  # fmt: skip
    for claim, sign in (("one_of", "== 1"), ("any_of", ">= 1"), ("mandatory", "== 1"),
                        ("forbidden", "== 0")):  # fmt: skip
        for said in facts.all(claim):
            _named(choice, said, claim, sign)
    for said in facts.all("exclude"):
        names = said.owner.split(" ")
        facts.use(said)
        if said.owner == ALL or len(names) < 2 or "either" in _words(facts, said):
            draft.doubt(said.line, "which of them exclude each other, and must one be chosen?")
            continue
        total = " + ".join(choice.variables[n] for n in names)
        facts.row("exclude each other", f"{total} <= 1", LOGIC, said.line, each=False)
    for said in (*facts.all("require"), *facts.all("require_if")):
        names = said.owner.split(" ")
        facts.use(said)
        if said.claim == "require_if" and not _condition_first(facts, said):
            names = names[::-1]
        if said.owner == ALL or len(names) != 2:
            draft.doubt(said.line, "which of them needs which is not clear")
            continue
        first, second = (choice.variables[n] for n in names)
        facts.row("needs the other", f"{first} <= {second}", LOGIC, said.line, each=False)


def _condition_first(facts: Facts, said: Said) -> bool:
    """Whether 'if' stands before both rows: 'if A is built, B must be'."""
    text = facts.builder.draft.text[said.span[0] : said.span[1]].lower()
    return re.match(r"(?:[,;]? ?(?:and |but )?)(?:if|when|whenever|where)\b", text) is not None


def _named(choice: Choice, said: Said, claim: str, sign: str) -> None:
    """Add that one, or some, or none of the rows that a sentence names is chosen."""
    facts = choice.facts
    facts.use(said)
    names = [] if said.owner == ALL else said.owner.split(" ")
    several = claim in ("one_of", "any_of")
    if not names or (several and len(names) < 2):
        facts.builder.draft.doubt(said.line, "which of them does this speak of?")
        return
    rows = [names] if several else [[name] for name in names]
    if not several and len(names) > 1 and "or" in _words(facts, said):
        facts.builder.draft.doubt(said.line, "all of these, or one of them?")
    for some in rows:
        total = " + ".join(choice.variables[n] for n in some)
        facts.row(claim.replace("_", " "), f"{total} {sign}", LOGIC, said.line, each=False)


def _words(facts: Facts, said: Said) -> set[str]:
    text = facts.builder.draft.text[said.span[0] : said.span[1]].lower()
    return set(text.split())


def _notes(facts: Facts) -> None:
    """Account for numbers of which the text says that they change nothing."""
    told = {s.line for s in facts.all("nothing_changes")}
    facts.use(*facts.all("nothing_changes"))
    for said in facts.all("note"):
        facts.use(said)
        if said.line not in told:
            facts.builder.used += [v.source for v in said.values.values()]
            facts.builder.draft.doubt(said.line, "does this change the choice?")
    _explained(facts, "note", "the text says that it does not change the choice")


def _objective(choice: Choice) -> Json | None:
    facts, builder = choice.facts, choice.facts.builder
    goals = {name: facts.all(name) for name in ("goal_cost", "goal_net", "goal_benefit")}
    facts.use(*(s for found in goals.values() for s in found))
    asked = [name for name, found in goals.items() if found]
    if not asked:
        return None
    said = goals[asked[0]][0]
    if len(asked) > 1:
        builder.draft.doubt(said.line, "several objectives")
    parts = {name: choice.total(name) for name in ("cost", "benefit")}
    needed = {"goal_cost": ("cost",), "goal_benefit": ("benefit",)}.get(
        asked[0], ("benefit", "cost")
    )
    if any(parts[name] is None for name in needed):
        builder.draft.doubt(said.line, f"the {' or the '.join(needed)} of some rows is not given")
        return None
    units = {
        str(p["unit"]) for p in builder.parameters
        for name in needed if p["name"] in [v for (a, _), v in choice.given.items() if a == name]
    }  # fmt: skip
    if len({parse_unit(u).dimension for u in units}) != 1:
        builder.draft.doubt(said.line, "these sums of money are not of the same kind")
    text = str(parts[needed[0]])
    if len(needed) == 2:
        text = f"{text} - ({parts['cost']})"
    unit = min(units)
    return {
        "name": asked[0].removeprefix("goal_"),
        "sense": "minimize" if asked[0] == "goal_cost" else "maximize",
        "expression": text, "unit": unit if "/" in unit else currency_of(unit) or unit,
        "source_reference": builder.draft.quote(said.line),
    }  # fmt: skip

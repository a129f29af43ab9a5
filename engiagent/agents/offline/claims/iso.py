"""A zone by the hourly method of ISO 13790 in prose: air, surfaces and mass, blinds and lamps."""

import re
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.claims.card import domain
from engiagent.agents.offline.claims.facts import Facts
from engiagent.agents.offline.claims.reader import Said
from engiagent.agents.offline.claims.study import Opened, named_units, understand
from engiagent.agents.offline.draft import Json, Priced
from engiagent.agents.offline.engine import Understanding
from engiagent.agents.offline.plant.language.retold import take_standards
from engiagent.agents.offline.plant.system import LOGIC, PHYSICS
from engiagent.agents.offline.tariffs import condition, scheduled

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

_WORDS: Final = tuple(
    re.compile(rf"(?<![a-z]){word}(?![a-z])") for word in ("mass", "surfaces?", "air")
)
_OTHERS: Final = re.compile(
    r"(?<![a-z])(?:heat pumps?|boilers?|turbines?|batter(?:y|ies)|tanks?|photovoltaics?|grid)"
    r"(?![a-z])"
)
_PATHS: Final = {
    "ventilation": ("H_ve", "ventilation"), "air_surface": ("H_is", "air to surfaces"),
    "window": ("H_w", "windows"), "surface_mass": ("H_ms", "surfaces to mass"),
    "mass_outside": ("H_em", "mass to outside"),
}  # fmt: skip
_PLACES: Final = re.compile(
    r"<percent#(?P<at>\d+)>(?: [a-z]+){0,6}? (?P<place>air|surface|mass)s?(?![a-z])"
)


def understand_iso(problem: "Problem") -> Understanding | None:
    """Read a zone of air, surfaces and mass; None where the text is on something else."""
    opened = Opened(problem)
    lines = [line.line for line in opened.draft.lines if not line.sentence.is_heading]
    amounts = [t.amount for ln in opened.draft.lines for t in ln.tokens if t.amount is not None]
    walls = sum(a.kind == "conductance" for a in amounts)
    if walls < 4 or not all(any(w.search(t) for t in lines) for w in _WORDS):
        return None
    if any(_OTHERS.search(t) for t in lines):
        return None
    take_standards(opened.draft)
    card = domain("iso")
    return understand(opened, card, named_units(opened, card), build)


def build(facts: Facts) -> Json | None:
    """Add the balances of air, surfaces and mass, blinds, lamps, and the primary energy."""
    draft, builder = facts.builder.draft, facts.builder
    paths = {
        claim: facts.needed(
            facts.number(claim, None, name, f"conductance, {said}"), "zone", claim, "W/K", said
        )
        for claim, (name, said) in _PATHS.items()
    }
    capacity = facts.number("capacity", None, "mass_capacity", "heat capacity of the mass")
    capacity = facts.needed(capacity, "zone", "mass_capacity", "kWh/K", "heat capacity of the mass")
    outdoor = facts.series("outdoor", None, "outdoor", "temperature outside")
    outdoor = facts.needed(outdoor, "weather", "outdoor_temperature", "degC", "temperature", True)
    if facts.says("mean_mass") is None:
        draft.doubt(0, "by which temperature of the hour the mass exchanges heat is not said")
    sun, inner = _sun(facts), _gains(facts)
    for name in ("air", "surface", "mean_mass"):
        builder.variables.append(_temperature(name, "t in T"))
    builder.variables.append(_temperature("mass", "i in I"))
    heat, cold = _powers(facts)
    out = builder.at(outdoor)
    facts.row("mean temperature of the mass",
              "mean_mass[t] - mass[t] == mass[t+1] - mean_mass[t]", PHYSICS)  # fmt: skip
    air, surface, mass = (inner.get(k, "") + sun.get(k, "") for k in ("air", "surface", "mass"))
    facts.row(
        "balance of the air",
        f"{paths['ventilation']}*(air[t] - {out}) + {paths['air_surface']}*(air[t] - surface[t])"
        f" == {heat} - {cold}{air}", PHYSICS,
    )  # fmt: skip
    facts.row(
        "balance of the surfaces",
        f"{paths['air_surface']}*(surface[t] - air[t]) + {paths['window']}*(surface[t] - {out})"
        f" == {paths['surface_mass']}*(mean_mass[t] - surface[t]){surface}", PHYSICS,
    )  # fmt: skip
    facts.row(
        "balance of the mass",
        f"{capacity}*(mass[t+1] - mass[t]) == dt(t)*({paths['surface_mass']}*(surface[t]"
        f" - mean_mass[t]) + {paths['mass_outside']}*({out} - mean_mass[t]){mass})", PHYSICS,
    )  # fmt: skip
    _limits(facts)
    return _objective(facts, heat, cold)


def _temperature(name: str, index: str) -> Json:
    return {"name": name, "index": [index], "type": "continuous", "unit": "degC",
            "quantity": f"zone.{name}_temperature", "role": "auxiliary",
            "description": f"temperature of the {name.replace('_', ' ')}"}  # fmt: skip


def _powers(facts: Facts) -> tuple[str, str]:
    """Add heating and cooling of the air; return them as terms."""
    terms = []
    for claim, name, said in (("heat_max", "heat", "heating"), ("cold_max", "cold", "cooling")):
        most = facts.number(claim, None, f"{name}_max", f"largest {said}")
        most = facts.needed(most, "zone", f"{said}_power_max", "kW", f"largest {said}")
        facts.variable(name, lower=0, upper=most, unit="kW", quantity=f"zone.{name}",
                       role="decision", description=said)  # fmt: skip
        terms.append(f"{name}[t]")
    return terms[0], terms[1]


def _shares(facts: Facts, claim: str) -> dict[str, str]:
    """Return the shares of heat that go to air, surfaces and mass, as parameters."""
    draft, found = facts.builder.draft, facts.all(claim)
    facts.use(*found)
    if len(found) != 1:
        if len(found) > 1:
            draft.doubt(max(s.line for s in found), "shares are given twice")
        return {}
    said = found[0]
    line = draft.lines[said.line]
    span = [i for i, t in enumerate(line.tokens) if said.span[0] <= t.span[0] < said.span[1]]
    order = [i for i in span if line.tokens[i].amount is not None]
    places = {int(m["at"]): m["place"] for m in _PLACES.finditer(line.line)}
    names = [places.get(i, "") for i in order]
    numbers = [float(v.number or 0.0) for v in said.values.values()]
    if "" in names or len(set(names)) != len(names) or abs(sum(numbers) - 100) > 1e-9:
        draft.doubt(said.line, "which share of the heat goes where?")
        return {}
    return {
        name: facts.builder.value(
            f"{claim.removesuffix('s')}_{name}", value, f"share to the {name}"
        )
        for name, value in zip(names, said.values.values(), strict=True)
    }


def _gains(facts: Facts) -> dict[str, str]:
    """Return what people give to air, surfaces and mass, as terms to be added."""
    found = facts.all("gains")
    facts.use(*found)
    shares = _shares(facts, "gain_shares")
    if not found:
        return {}
    entries = [Priced("gains", s.values["value"], s.period, s.line, s.span) for s in found]
    made = scheduled(facts.builder, "gains", entries, "kW", "heat of people and devices", None)
    if made is None or not shares:
        facts.builder.draft.doubt(max(found[0].line, 0), "when and where is this heat?")
        return {}
    return {place: f" + {share}*{facts.builder.at(made)}" for place, share in shares.items()}


def _sun(facts: Facts) -> dict[str, str]:
    """Return what the sun gives to surfaces and mass behind the blinds, as terms to be added."""
    draft, builder = facts.builder.draft, facts.builder
    sun = facts.series("sun", None, "sun", "sun with open blinds")
    shares = _shares(facts, "sun_shares")
    ranged = facts.all("blind_range")
    facts.use(*ranged)
    if sun is None:
        return {}
    text = builder.at(sun)
    if len(ranged) == 1:
        low = facts.value(ranged[0], "blinds_shut", "share of the sun with shut blinds", "low")
        high = facts.value(ranged[0], "blinds_open", "share of the sun with open blinds", "high")
        values = [float(ranged[0].values[k].number or 0.0) for k in ("low", "high")]
        if not 0 <= values[0] < values[1] <= 100:
            draft.doubt(ranged[0].line, "between which shares can the blinds be set?")
        facts.variable("blinds", lower=low, upper=high, unit="1", quantity="blinds.share",
                       role="decision", description="share of the sun that is let in")  # fmt: skip
        text = f"blinds[t]*{text}"
    elif facts.reader.names.get("blind"):
        draft.doubt(0, "between which shares can the blinds be set?")
    if not shares:
        draft.doubt(0, "where the sun arrives is not said")
    return {place: f" + {share}*{text}" for place, share in shares.items()}


def _limits(facts: Facts) -> None:
    """Add the limits of the air at times of the day, and the start and end of the mass."""
    draft = facts.builder.draft
    bands = facts.all("air_band")
    facts.use(*bands)
    named = [s.period for s in bands if s.period is not None and not s.period.rest]
    for k, said in enumerate(bands, 1):
        word = "lowest" if said.bound == "lower" else "highest"
        made = facts.value(said, f"air_{word}_{k}", f"{word} temperature of the air")
        where = None
        if said.period is not None and not said.period.rest:
            where = condition(said.period, "t")
        elif said.period is not None:
            if len({p.ranges for p in named}) != 1:
                draft.doubt(said.line, "the other times of which this is the rest are not clear")
                continue
            where = f"not ({condition(named[0], 't')})"
        sign = ">=" if said.bound == "lower" else "<="
        facts.row(f"{word} temperature of the air", f"air[t] {sign} {made}", LOGIC, said.line,
                  where=where)  # fmt: skip
    if not bands:
        draft.doubt(0, "between which temperatures the air must be is not said")
    start = facts.number("mass_start", None, "mass_start", "temperature of the mass at the start")
    start = facts.needed(start, "zone", "initial_temperature", "degC", "temperature at the start")
    facts.row("mass at the start", f"mass[first(I)] == {start}", PHYSICS, each=False)
    for said in facts.all("mass_end"):
        sign = {"lower": ">=", "upper": "<="}.get(said.bound, "==")
        word = {"lower": "least", "upper": "most"}.get(said.bound, "set")
        made = facts.value(said, f"mass_end_{word}", "temperature of the mass at the end")
        facts.row("mass at the end", f"mass[last(I)] {sign} {made}", LOGIC, said.line, each=False)


def _objective(facts: Facts, heat: str, cold: str) -> Json | None:
    draft = facts.builder.draft
    goals: list[Said] = facts.all("goal_primary")
    facts.use(*goals)
    factors = [
        facts.needed(facts.number(claim, None, claim, said), "primary_energy", claim, "1", said)
        for claim, said in (("heat_factor", "primary energy factor of heat"),
                            ("electric_factor", "primary energy factor of electricity"))
    ]  # fmt: skip
    cop = facts.number("cop", None, "cop", "coefficient of performance of cooling")
    cop = facts.needed(cop, "cooler", "cop", "1", "coefficient of performance")
    terms = f"{factors[0]}*{heat} + {factors[1]}*{cold}/{cop}" + _lamps(facts, factors[1])
    if not goals:
        return None
    return {
        "name": "primary energy", "sense": "minimize",
        "expression": f"sum(({terms})*dt(t) for t in T)", "unit": "kWh",
        "source_reference": draft.quote(goals[0].line),
    }  # fmt: skip


def _lamps(facts: Facts, factor: str) -> str:
    """Return the primary energy of lamps that make up for what the blinds take."""
    draft, found = facts.builder.draft, facts.all("lamps")
    facts.use(*found)
    cold = facts.says("lamps_cold")
    if not found:
        return ""
    said = found[0]
    one = said.values["one"]
    facts.builder.used.append(one.source)
    draft.unused.append(
        {"span": one.source["span"], "quote": one.source["quote"],
         "reason": "all of the sun, of which the blinds let in a share"}
    )  # fmt: skip
    ranged = facts.all("blind_range")
    if len(found) > 1 or one.number != 1 or one.unit not in ("", "1") or not ranged:
        draft.doubt(said.line, "what lamps draw for which share of the sun?")
        return ""
    if cold is None:
        draft.doubt(said.line, "whether the heat of the lamps counts is not said")
    power = facts.value(said, "lamp_power", "power of the lamps without any sun")
    text = f"{factor}*{power}*(1 - blinds[t])"
    if said.period is None:
        return f" + {text}"
    where = condition(said.period, "t")
    made = facts.builder.derived(
        "lamps_on", f"1 if {where} else 0", "1", "1 while lamps make up for the blinds", [power],
        series=True, note="by the time of day at the start of the period",
        more=tuple(draft.quoted(span) for span in said.period.spans),
    )  # fmt: skip
    return f" + {text}*{made}[t]"

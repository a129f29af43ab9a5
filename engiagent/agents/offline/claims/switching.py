"""Pumps that are switched: how often they start, how long they run and rest."""

from dataclasses import dataclass, field

from engiagent.agents.offline.claims.facts import Facts
from engiagent.agents.offline.claims.reader import ALL, Said, minutes_of
from engiagent.agents.offline.plant.system import LOGIC
from engiagent.agents.offline.tariffs import aligned, condition


@dataclass
class Water:
    """What the pumps deliver and draw in every period, as expressions."""

    facts: Facts
    flows: dict[str, str] = field(default_factory=dict)
    powers: dict[str, str] = field(default_factory=dict)
    most: dict[str, str] = field(default_factory=dict)
    costs: list[str] = field(default_factory=list)


def running(water: Water, name: str) -> str:
    """Return the variable of whether a pump runs."""
    made = f"{name}_on"
    if all(v["name"] != made for v in water.facts.builder.variables):
        water.facts.variable(
            made, type="binary", unit="1", quantity=f"{name}.on", role="decision"
        )  # fmt: skip
    return f"{made}[t]"


def switching(water: Water, name: str) -> None:
    """Add what limits how often and how long a pump runs, and what its starts cost."""
    facts = water.facts
    cost = facts.number("start_cost", name, f"{name}_start_cost", "cost of a start")
    most = _starts_max(water, name)
    up = facts.one("min_up", name)
    down = facts.one("min_down", name)
    off, on = facts.says("off_before", name), facts.says("on_before", name)
    if off is not None and on is not None:
        facts.builder.draft.doubt(on.line, f"{name}: does it run before the first period or not?")
    _windows(water, name)
    for claim, sign in (("run_max", "<="), ("run_min", ">=")):
        limit = facts.one(claim, name)
        if limit is not None:
            facts.of_each(limit, name)
            hours = facts.value(limit, f"{name}_{claim}", "time that it runs in all")
            text = f"sum({running(water, name)}*dt(t) for t in T) {sign} {hours}"
            facts.row(f"{name} running time", text, LOGIC, limit.line, each=False)
    if all(x is None for x in (cost, most, up, down)):
        return
    state = 1 if on is not None else 0
    if off is None and on is None and (cost is not None or most is not None):
        line = max((s.line for s in facts.reader.found if s.claim.startswith("start")), default=0)
        facts.builder.draft.doubt(line, f"{name}: does it run before the first period?")
    runs = running(water, name)
    started = facts.variable(
        f"{name}_started", lower=0, upper=1, unit="1", quantity=f"{name}.started", role="auxiliary"
    )
    text = f"{started}[t] >= {runs} - prev({runs}, {state})"
    facts.row(f"{name} start", text, LOGIC)
    if cost is not None:
        water.costs.append(f"sum({cost}*{started}[t] for t in T)")
    if most is not None:
        parameter, line = most
        text = f"sum({started}[t] for t in T) <= {parameter}"
        facts.row(f"{name} starts", text, LOGIC, line, each=False)
    for said, way in ((up, "up"), (down, "down")):
        if said is not None:
            _lasting(water, name, said, way, state)


def _windows(water: Water, name: str) -> None:
    """Add when a pump must not, or has to, run."""
    facts, builder = water.facts, water.facts.builder
    for claim, state in (("banned", 0), ("forced", 1)):
        for said in facts.all(claim, name):
            facts.use(said)
            period = said.period
            if period is None or period.rest or not period.ranges or not aligned(builder, period):
                builder.draft.doubt(said.line, f"{name}: at which times of the plan is that?")
                continue
            text = f"{running(water, name)} == {state}"
            facts.row(f"{name} {claim}", text, LOGIC, said.line, where=condition(period, "t"))


def _starts_max(water: Water, name: str) -> tuple[str, int] | None:
    """Return how often a pump may start, with the line that says so."""
    facts = water.facts
    said = facts.one("starts_max", name)
    if said is not None:
        facts.of_each(said, name)
        return facts.value(said, f"{name}_starts_max", "largest number of starts"), said.line
    for claim, number in (("starts_once", "1"), ("starts_twice", "2")):
        told = facts.says(claim, name)
        if told is not None:
            return number, told.line
    return None


def _lasting(water: Water, name: str, said: Said, way: str, state: int) -> None:
    """Add how long a pump runs, or rests, at least."""
    facts, builder = water.facts, water.facts.builder
    value = said.values["value"]
    builder.used.append(value.source)
    steps = minutes_of(value) / builder.axis.step_minutes
    if abs(steps - round(steps)) > 1e-9:
        builder.draft.doubt(said.line, "this time is no whole number of periods")
        return
    parameter = facts.value(said, f"{name}_min_{way}", f"least time {way}")
    on = running(water, name)
    changed = f"{name}_started"
    if way == "down":
        changed = facts.variable(
            f"{name}_stopped", lower=0, upper=1, unit="1", quantity=f"{name}.stopped",
            role="auxiliary",
        )  # fmt: skip
        text = f"{changed}[t] >= prev({on}, {state}) - {on}"
        facts.row(f"{name} stop", text, LOGIC)
    window = f"pos(s) <= pos(t) and pos(s) > pos(t) - {round(steps)}"
    holds = on if way == "up" else f"1 - {on}"
    text = f"sum({changed}[s] for s in T if {window}) <= {holds}"
    facts.row(f"{name} least time {way} ({parameter})", text, LOGIC, said.line)
    builder.draft.assume(f"{name}: nothing binds it from before the first period")


def together(water: Water) -> None:
    """Limit how many pumps run at once."""
    facts = water.facts
    alone = facts.says("running_one")
    if alone is not None:
        all_on = " + ".join(running(water, name) for name in water.flows)
        facts.row("one pump at once", f"{all_on} <= 1", LOGIC, alone.line)
        named = set(alone.owner.split(" ")) - {ALL}
        if named and named != set(water.flows):
            facts.builder.draft.doubt(alone.line, "which pumps must not run at once?")
    said = facts.one("running_max")
    if said is None:
        return
    most = facts.value(said, "running_max", "pumps that may run at once")
    all_on = " + ".join(running(water, name) for name in water.flows)
    facts.row("pumps at once", f"{all_on} <= {most}", LOGIC, said.line)

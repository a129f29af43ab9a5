"""Powers at all times against energies over the whole time, in texts that no model covers.

A text may say that a unit never runs below 80 MW and that it delivers 1 000 MWh in a day, about a
unit that the engine has no model of. What such statements say of a flow is a blueprint of its own,
with a variable and a constraint for each statement, and it is examined like any other.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from engiagent.agents.offline import Understanding
from engiagent.agents.offline.amounts import Amount, Span
from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.slots import marked, modifier
from engiagent.agents.offline.tokens import Line
from engiagent.audit.findings import Finding
from engiagent.audit.infeasible import examine
from engiagent.audit.tables import flow_words
from engiagent.blueprint import Blueprint
from engiagent.blueprint.document import SCHEMA
from engiagent.blueprint.units import convert, parse_unit
from engiagent.explain.labels import shown
from engiagent.explain.places import Text

if TYPE_CHECKING:
    from engiagent.problems import Problem

Bound = Literal["lower", "upper", "exact"]
_OPERATORS: Final = {"lower": ">=", "upper": "<=", "exact": "=="}
_CLOCKS: Final = ("period", "period_open", "rest", "clock")
_UNITS: Final = {"power": "kW", "energy": "kWh"}
_SECONDS: Final = 5.0
_SLACK: Final = 1e-9


@dataclass(frozen=True)
class Statement:
    """What a text says of a flow: a power at all times, or an energy over the whole time.

    Attributes
    ----------
    unit, flow
        Of which unit and which flow; None where the sentence does not say.
    value
        In kW or kWh.
    """

    kind: Literal["power", "energy"]
    unit: str | None
    flow: str | None
    bound: Bound
    value: float
    amount: Amount
    sentence: Span


def flow_clashes(found: Understanding, problem: "Problem", text: Text) -> Iterator[Finding]:
    """Yield powers at all times that cannot be had with a stated energy."""
    statements = [*_statements(found.draft), *_bans(found)]
    totals = [s for s in statements if s.kind == "energy"]
    hours = found.axis.hours if found.axis is not None else _hours(found.draft)
    for total in totals:
        powers = [s for s in statements if s.kind == "power" and _same(s, total, statements)]
        for power in powers:
            if _clash(power, total, hours):
                yield _finding(power, total, hours, problem, text)


def _clash(power: Statement, total: Statement, hours: float) -> bool:
    """Whether a power over some hours is more than may be, or less than must be, had in all."""
    energy = power.value * hours
    too_much = power.bound in ("lower", "exact") and total.bound in ("upper", "exact")
    too_little = power.bound in ("upper", "exact") and total.bound in ("lower", "exact")
    return (too_much and energy > total.value * (1 + _SLACK)) or (
        too_little and energy < total.value * (1 - _SLACK)
    )


def _same(power: Statement, total: Statement, statements: list[Statement]) -> bool:
    """Whether two statements are of the same flow of the same unit.

    What a sentence leaves open is taken from the only unit, or the only flow, of the text.
    """
    units = {s.unit for s in statements if s.unit is not None}
    flows = {s.flow for s in statements if s.flow is not None}
    unit = power.unit == total.unit or (None in (power.unit, total.unit) and len(units) <= 1)
    flow = power.flow == total.flow or (None in (power.flow, total.flow) and len(flows) <= 1)
    return unit and flow


def _hours(draft: Draft) -> float:
    """Return the length of the horizon; a day where the text names none."""
    for fact in draft.facts:
        token = fact.groups.get("total")
        if fact.name == "horizon_hours" and token is not None and token.amount is not None:
            amount = token.amount
            if amount.kind == "duration":
                return convert(amount.value, parse_unit(amount.unit), parse_unit("h"))
    return 24.0


# --- reading -----------------------------------------------------------------------------------


def _statements(draft: Draft) -> Iterator[Statement]:
    words = flow_words()
    running = any(words["always"].search(line.line) for line in draft.lines)
    subject: str | None = None
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        named = words["units"].findall(line.line)
        subject = named[0] if named else subject
        if any(token.kind in _CLOCKS for token in line.tokens):
            continue
        for i, token in enumerate(line.tokens):
            if token.amount is not None and not _may_be_paid(draft, n):
                found = _statement(line, i, token.amount, subject, running)
                if found is not None:
                    yield found


def _bans(found: Understanding) -> Iterator[Statement]:
    """Yield the flows that are forbidden over the whole time."""
    words, draft = flow_words(), found.draft
    for n, line in enumerate(draft.lines):
        match = words["ban"].search(line.line)
        if match is None or line.sentence.is_heading or n in draft.table_lines:
            continue
        open_ended = any(t.kind in ("period_open", "rest", "clock") for t in line.tokens)
        limited = words["conditional"].search(line.line) or words["alternative"].search(line.line)
        periods = [t.period for t in line.tokens if t.period is not None]
        flow = _flow(line.line[match.start() :], 0)
        amounts = any(t.amount is not None for t in line.tokens)
        if flow is None or open_ended or limited or amounts:
            continue
        if all(_planned(found, n, period.ranges) for period in periods):
            span = line.sentence.span
            zero = Amount(0.0, "kW", "power", span, "nothing")
            yield Statement(
                "power", _grid(line.line[match.start() :], flow), flow, "upper", 0.0, zero, span
            )


def _grid(clause: str, flow: str | None) -> str | None:
    """Return the grid where a clause speaks of it as where a flow comes from or goes to."""
    return "grid" if flow in ("import", "export") and " grid" in clause else None


def _planned(found: Understanding, here: int, ranges: tuple[tuple[float, float], ...]) -> bool:
    """Whether times of the day are all that is planned, on a day that another sentence names."""
    axis = found.axis
    if axis is not None and axis.known_start and len(ranges) == 1:
        (start, end), hours = ranges[0], axis.hours
        if abs(start - axis.start_clock) < _SLACK and (end - start) % 24 >= hours - _SLACK:
            return True
    return any(
        t.period is not None and t.period.ranges == ranges
        for n, line in enumerate(found.draft.lines)
        if n != here and any(token.kind == "date" for token in line.tokens)
        for t in line.tokens
    )


def _statement(
    line: Line, token: int, amount: Amount, subject: str | None, running: bool
) -> Statement | None:
    """Return what an amount says of a flow; None where it limits none at all times or in all."""
    words = flow_words()
    if amount.kind not in ("power", "energy"):
        return None
    clause, place = _clause(*marked(line, token))
    bound = _bound(clause, amount.kind)
    if bound is None or (amount.kind == "energy" and not words["total"].search(clause)):
        return None
    # A least power while running binds nothing where the unit may be off.
    held = running or not words["conditional"].search(line.line)
    if amount.kind == "power" and bound == "lower" and not held:
        return None
    units = words["units"].findall(clause)
    done = words["done"].search(clause)
    flow = _flow(done["verb"], 0) if done is not None else None
    return Statement(
        "power" if amount.kind == "power" else "energy",
        _grid(clause, flow) or (units[0] if units else subject),
        flow or _flow(clause, place),
        bound,
        convert(amount.value, parse_unit(amount.unit), parse_unit(_UNITS[amount.kind])),
        amount,
        line.sentence.span,
    )


def _may_be_paid(draft: Draft, n: int) -> bool:
    """Whether a sentence names an alternative, and the next one does not exclude it."""
    words, line = flow_words(), draft.lines[n]
    if not words["alternative"].search(line.line):
        return False
    after = draft.lines[n + 1] if n + 1 < len(draft.lines) else None
    near = after is not None and after.sentence.passage == line.sentence.passage
    said = line.line + (f" ; {after.line}" if near and after is not None else "")
    return words["firm"].search(said) is None


def _clause(line: str, position: int) -> tuple[str, int]:
    """Return the part of a line between semicolons and brackets around a place."""
    marks = [m.start() for m in re.finditer(r" [;()] ", line)]
    start = max([m + 2 for m in marks if m < position], default=0)
    end = min([m for m in marks if m > position], default=len(line))
    return line[start:end], position - start


def _bound(clause: str, kind: str) -> Bound | None:
    """Return from which side an amount limits; None where it only describes."""
    said = modifier(clause)
    if said in ("lower", "upper", "exact"):
        return said  # type: ignore[return-value]
    words = flow_words()
    for name in ("lower", "upper"):
        if words[name].search(clause):
            return "lower" if name == "lower" else "upper"
    if kind == "energy" and words["exact"].search(clause):
        return "exact"
    return None


def _flow(clause: str, position: int) -> str | None:
    """Return the flow whose word stands nearest to an amount, before it if there is one."""
    found: list[tuple[int, str]] = []
    for name, pattern in flow_words()["flows"].items():
        for match in pattern.finditer(clause):
            behind = match.start() > position
            distance = match.start() - position if behind else position - match.end()
            found.append((distance + (1000 if behind else 0), name))
    return min(found)[1] if found else None


# --- saying ------------------------------------------------------------------------------------


def _finding(
    power: Statement, total: Statement, hours: float, problem: "Problem", text: Text
) -> Finding:
    """Return the clash with the proof of the blueprint that consists of the two statements."""
    energy = convert(power.value * hours, parse_unit("kWh"), parse_unit(total.amount.unit))
    most = "at least" if power.bound == "lower" else "at most"
    most = "" if power.bound == "exact" else f"{most} "
    wanted = {"lower": "at least ", "upper": "at most ", "exact": ""}[total.bound]
    blueprint = _blueprint(power, total, hours, problem)
    examined = examine(blueprint, problem.folder, text, understood=True, seconds=_SECONDS)
    proof = examined.findings[0].proof if examined.findings else None
    parts = examined.findings[0].parts if examined.findings else ()
    said = (
        f"{power.amount.quote} over {hours:g} h are {most}{shown(energy, total.amount.unit)}, "
        f"but {wanted}{total.amount.quote} in all are asked for"
    )
    if power.value == 0.0:
        said = f"{power.flow} is forbidden, but {wanted}{total.amount.quote} of it are asked for"
    return Finding(
        code="energy-against-power",
        severity="contradictory",
        component=power.unit or total.unit or "site",
        quantity=power.flow or total.flow or "power",
        explanation=said,
        suggestion=f"allow {shown(energy, total.amount.unit)} in all, change the power, or say "
        "when the unit may be off",
        places=text.spans([power.sentence, total.sentence]),
        parts=parts,
        proof=proof,
    )


def _blueprint(power: Statement, total: Statement, hours: float, problem: "Problem") -> Blueprint:
    """Return what two statements say of one flow, as a blueprint."""
    name = re.sub(r"[^a-z]+", "_", f"{power.unit or 'site'}_{power.flow or 'power'}")
    quantity = f"{(power.unit or 'site').replace(' ', '_')}.{power.flow or 'power'}"

    def source(statement: Statement) -> dict[str, Any]:
        start, end = statement.amount.span
        return {"kind": "text", "span": [start, end], "quote": problem.text[start:end]}

    core = {
        "sets": [{"name": "T", "kind": "range", "start": 1, "stop": 1}],
        "parameters": [
            {"name": "stated_power", "value": power.amount.value, "unit": power.amount.unit,
             "source_reference": source(power)},
            {"name": "stated_energy", "value": total.amount.value, "unit": total.amount.unit,
             "source_reference": source(total)},
            {"name": "horizon", "value": hours, "unit": "h"},
        ],
        "decision_variables": [{"name": name, "index": ["t in T"], "unit": "kW",
                                "quantity": quantity}],
        "constraints": [
            {"constraint_id": "POWER", "name": "at all times", "forall": ["t in T"],
             "expression": f"{name}[t] {_OPERATORS[power.bound]} stated_power", "hard": True},
            {"constraint_id": "ENERGY", "name": f"over {hours:g} h", "hard": True,
             "expression": f"sum({name}[t]*horizon for t in T) {_OPERATORS[total.bound]} "
                           "stated_energy"},
        ],
    }  # fmt: skip
    document = {
        "schema": SCHEMA,
        "kind": "programme",
        "modeling_context": {"problem_essence": "a power at all times and an energy in all"},
        "core_model_elements": core,
    }
    return Blueprint.from_dict(document, "statements of the text")

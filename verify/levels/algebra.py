"""Level 2: whether the requirements hold, row by row, on the numbers of the schedule."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engiagent.blueprint.elements import Core
from engiagent.errors import EngiagentError
from engiagent.units.unit import Unit
from engiagent.verify import arithmetic, values
from engiagent.verify.documents import Bench, declared_of
from engiagent.verify.findings import Violation, finite_or_none
from engiagent.verify.frames import EvaluationError, Frame
from engiagent.verify.relations import Growth, Judge, Part, parts_of
from engiagent.verify.requirements import Rule
from engiagent.verify.tolerances import TOLERANCES
from engiagent.verify.values import Value


@dataclass(frozen=True)
class Worst:
    """The worst row of a check: how far inside its tolerance it is, and its slack, in SI."""

    margin: float
    slack: float
    row: int
    tolerance: float
    unit: Unit
    telling: bool


@dataclass(frozen=True)
class Outcome:
    """How one rule came out."""

    record: Mapping[str, Any]
    violation: Violation | None = None
    faults: tuple[Violation, ...] = ()

    @property
    def violations(self) -> tuple[Violation, ...]:
        """What is wrong: values outside the domain of a function, then the worst row."""
        return self.faults if self.violation is None else (*self.faults, self.violation)

    @property
    def status(self) -> str:
        """``pass``, ``fail``, ``unchecked``, or ``soft`` for a broken rule that may be broken."""
        return str(self.record["status"])


def rules_of_core(core: Core) -> list[Rule]:
    """Return the constraints of a blueprint as rules."""
    rules = []
    for c in core.constraints:
        source, hard = c.source_reference, c.hard is not False
        quote = source.get("quote") if isinstance(source, Mapping) else None
        rules.append(
            Rule(c.constraint_id, c.expression, c.name, quote, c.forall, c.where, hard=hard)
        )
    return rules


def check_rules(bench: Bench, rules: Sequence[Rule], level: str = "algebra") -> list[Outcome]:
    """Return the outcome of every rule, in the order given."""
    return [check_rule(bench, rule, level) for rule in rules]


def check_rule(bench: Bench, rule: Rule, level: str, growth: Growth | None = None) -> Outcome:
    """Return the outcome of a rule, with ``growth`` in its worst case."""
    evaluator, judge = bench.evaluator, replace(judge_of(bench, rule), growth=growth)
    try:
        frame = evaluator.frame(rule.forall, rule.where)
        parts = parts_of(evaluator, rule.expression, frame, judge)
    except EvaluationError as error:
        return _with_faults(bench, rule, level, Outcome(record(rule, "unchecked", note=str(error))))
    found = [one for one in (worst_of(part) for part in parts) if one is not None]
    result = _unseen(outcome(rule, level, frame, most_telling(found)), parts, frame)
    return _with_faults(bench, rule, level, result)


def judge_of(bench: Bench, rule: Rule) -> Judge:
    """Return by what the rows of a rule are judged: its own tolerance, or the declared scale."""
    return Judge(
        lambda unit: stated_tolerance(bench, rule, unit),
        declared=lambda: declared_of(bench).evaluator,
    )


def _unseen(found: Outcome, parts: Sequence[Part], frame: Frame) -> Outcome:
    """Return a rule as unchecked where rounding may hide a share of what is declared for a row."""
    for part in parts:
        if found.status == "pass" and part.hidden is not None and part.hidden.any():
            row = int(np.argmax(part.hidden))
            place = row if part.rows is None else int(part.rows[row])
            where = shown_place(frame.labels(place))
            share = TOLERANCES["share"]
            note = (
                f"{found.record['id']}: the schedule's numbers{where} are so large that their "
                f"rounding hides more than {share:g} of what is declared for this row"
            )
            return Outcome({**found.record, "status": "unchecked", "note": note})
    return found


def _with_faults(bench: Bench, rule: Rule, level: str, found: Outcome) -> Outcome:
    faults, bench.evaluator.faults = bench.evaluator.faults, []
    if not faults:
        return found
    name, words = rule.name or rule.id, f"{rule.id} ({rule.expression})"
    accused = tuple(
        replace(one, message=f"{one.message}{shown_place(one.where)}")
        for one in (fault.violation(level, rule.id, name, words) for fault in faults)
    )
    return replace(found, record={**found.record, "status": "fail"}, faults=accused)


def shown_place(labels: Mapping[str, str]) -> str:
    """Return where something is, as the end of a sentence."""
    return "".join(f" at {name} = {label}" for name, label in labels.items())


def most_telling(found: Sequence[Worst]) -> Worst | None:
    """Return the worst that was found; when all holds, a plain sign condition is no news.

    Of ``0 <= power <= 8 MW`` people want to know how close the 8 MW are, not that the power was 0.
    """
    broken = [one for one in found if not one.margin >= 0]  # true for NaN
    candidates = broken or [one for one in found if one.telling] or list(found)
    nan = [one for one in candidates if one.margin != one.margin]
    return nan[0] if nan else min(candidates, key=lambda one: one.margin, default=None)


def worst_of(part: Part) -> Worst | None:
    """Return the worst row of a part, None when it has no rows."""
    if not part.slack.size:
        return None
    row, worst = 0, math.inf
    with np.errstate(all="ignore"):
        for rows in values.blocks(part.slack.size):
            margin = np.asarray(part.slack[rows] + part.tolerance[rows])
            least = int(margin.argmin())
            # What is not finite makes the least or the greatest of them not finite.
            if not math.isfinite(margin[least]) or not math.isfinite(margin.max()):
                row, worst = rows.start + int(np.isfinite(margin).argmin()), math.nan
                break
            if margin[least] < worst:
                row, worst = rows.start + least, float(margin[least])
    place = row if part.rows is None else int(part.rows[row])
    return Worst(
        worst, float(part.slack[row]), place, float(part.tolerance[row]), part.unit, part.telling
    )


def outcome(rule: Rule, level: str, frame: Frame, worst: Worst | None) -> Outcome:
    """Return how a rule came out whose worst row is known; None when it has no rows."""
    if worst is None:
        return Outcome(record(rule, "pass", rows=0))
    factor, unit = worst.unit.scale, str(worst.unit)
    where = frame.labels(worst.row)
    holds = worst.margin >= 0  # false for NaN
    status = "pass" if holds else "fail" if rule.hard else "soft"
    entry = record(
        rule,
        status,
        rows=frame.size,
        worst={"where": where, "slack": finite_or_none(worst.slack / factor), "unit": unit},
        tolerance=finite_or_none(worst.tolerance / factor),
    )
    if status == "pass" or (status == "soft" and np.isfinite(worst.margin)):
        return Outcome(entry)
    amount = -worst.slack / factor
    place = shown_place(where)
    shown = f"{amount:.6g} {unit}" if np.isfinite(amount) else "a value that is no finite number"
    words = f"“{' '.join(rule.quote.split())}”" if rule.quote else rule.id
    named = rule.name if rule.name and rule.name != rule.id else words
    text = f"{named} ({rule.expression}) is violated by {shown}{place}"
    named, tolerance = rule.name or rule.id, worst.tolerance / factor
    wrong = Violation(level, rule.id, named, text, where, amount, unit, tolerance)
    return Outcome({**entry, "status": "fail"}, wrong)


def record(rule: Rule, status: str, **more: Any) -> dict[str, Any]:
    """Return the entry of a rule in the certificate."""
    entry = {"id": rule.id, "name": rule.name, "text": rule.expression, "quote": rule.quote}
    entry |= {"rows": None, "worst": None, "tolerance": None, "status": status}
    entry |= more
    return entry


def stated_tolerance(bench: Bench, rule: Rule, unit: Unit) -> float | None:
    """Return the absolute tolerance that a rule states, in SI."""
    if rule.tolerance is None:
        return None
    value = arithmetic.adopt(bench.evaluator.evaluate(rule.tolerance), unit.difference())
    if value.unit.dimension != unit.dimension or value.unit.is_point:
        raise EvaluationError(f"the tolerance of {rule.id} is in {value.unit}, not in {unit}")
    return float(value.data[0])


# --- rows of a programme, and what is known of its best: a bound, a proof, the gap to a plan ----


@dataclass(frozen=True)
class DualBound:
    """A bound of the objective that holds for every allowed plan.

    ``value``: in SI; None when the bound is lost. ``reason``: why there is none. ``method``: what
    it rests on, where there are several ways.
    """

    value: float | None
    reason: str | None = None
    method: str = ""


@dataclass(frozen=True, eq=False)
class Row:
    """The rows of one comparison of a rule over a frame.

    ``number``: which comparison of a chain, from 1. ``op``: as it is written. ``excess``: what must
    not be positive, of an equation what must be zero, in SI.
    """

    rule: Rule
    number: int
    op: str
    excess: Value
    frame: Frame

    @property
    def equal(self) -> bool:
        """Whether the excess must be zero."""
        return self.op == "=="


def rows_of(
    bench: Bench, core: Core, left_out: list[str] | None = None, rules: Sequence[Rule] | None = None
) -> Iterator[Row]:
    """Yield the comparisons of the hard rules of a core, or of given ones.

    What is no comparison, or cannot be evaluated, is left out, which only loosens a bound;
    ``left_out`` collects why.
    """
    for rule in rules_of_core(core) if rules is None else rules:
        if not rule.hard:
            continue
        try:
            frame = bench.evaluator.frame(rule.forall, rule.where)
            compared = bench.evaluator.compared(rule.expression, frame) if frame.size else []
        except EngiagentError as error:
            if left_out is not None:
                left_out.append(f"{rule.id}: {error}")
            continue
        for number, (op, left, right) in enumerate(compared, 1):
            sides = (right, left) if op == ">=" else (left, right)
            yield Row(rule, number, op, arithmetic.add(*sides, -1.0), frame)


def only_affine(bench: Bench, core: Core) -> bool:
    """Whether every constraint compares what is affine in the variables."""
    left_out: list[str] = []
    affine = all(row.excess.degree < 2 for row in rows_of(bench, core, left_out))
    return affine and not left_out


@dataclass(frozen=True)
class Proof:
    """The outcome of a claim that nothing is allowed.

    ``margin``: by how much the weighted rows exceed what the box can reach, in the ray's own
    measure; above zero it is a proof. ``weights``: the share of each constraint in the proof,
    largest first.
    """

    margin: float | None
    weights: tuple[tuple[str, float], ...] = ()
    reason: str | None = None

    @property
    def proven(self) -> bool:
        """Whether nothing can be allowed."""
        return self.margin is not None and self.margin > 0


def gap_of(value: float, bound: float, sense: str) -> float:
    """Return by how much a plan may be worse than the best, relative to its objective.

    Below one unit of the objective the gap is absolute: a plan that costs nothing has no scale.
    """
    difference = value - bound if sense == "minimize" else bound - value
    return difference / max(abs(value), abs(bound), 1.0)

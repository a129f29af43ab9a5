"""Whether two readings of one text meet, and where they do not, in what they differ.

They meet when both optima are proven, the first reading's plan keeps every row and bound of the
second, and its goal, by either reading, is the second's optimum. Plans are never compared: there
may be many optima.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from engiagent.agents.meeting.joint import joint_plan
from engiagent.agents.meeting.judging import (
    Broken,
    Judgement,
    close,
    counterpart,
    differing,
    goal_of,
    judged,
    quote_of,
    rows_of,
    terms_of,
    vacuous,
)
from engiagent.agents.meeting.nomenclature import Nomenclature, nomenclature
from engiagent.agents.meeting.normalising import normalise
from engiagent.agents.meeting.plans import Mapped, Side, completed, mapped, solve_reading
from engiagent.agents.meeting.record import Difference, Grade, Meeting, Solved, Statement
from engiagent.agents.meeting.settling import settled
from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.run.certify import certify
from engiagent.solvers.registry import is_available
from engiagent.solvers.result import SolveOptions
from engiagent.units.unit import parse_unit
from engiagent.verify.certificate import Certificate
from engiagent.verify.claims import none_allowed
from engiagent.verify.levels.goals import Objective
from engiagent.verify.levels.sources import ProblemLike
from engiagent.verify.series import Series
from engiagent.verify.tolerances import TOLERANCES

MOST: Final = 3
"""Differences that are reported: each of them is a question."""
SECOND_SOLVER: Final = "scip"
"""Whom to ask about integrality beside the solver of the first reading."""


def meet(
    first: Side,
    second: Blueprint,
    *,
    problem: ProblemLike | None = None,
    names: Nomenclature | None = None,
    options: SolveOptions | None = None,
    isolate: bool = True,
) -> Meeting:
    """Solve the second reading and say whether it confirms the first.

    ``first``: the first reading, solved. ``second``: the second reading as its author wrote it, in
    the names of the nomenclature. ``problem``: the text, for what meeting settles beside the
    optimum. ``names``: what the second reader was given; derived from the first reading by default.
    ``options``: limits of the solve, those of the first reading. ``isolate``: solve in a child
    process.
    """
    given = replace(options or SolveOptions(), start=None)
    given = replace(given, gap=min(given.gap, 0.1 * TOLERANCES["objective"]))
    agreed = names or nomenclature(first.blueprint, first.folder)
    own = _solved(first, goal_of(first, first.plan) if first.status == "optimal" else None)
    supplied: tuple[str, ...] = ()
    try:
        normal, supplied = normalise(second, agreed)
        side = _solve_second(first, normal, given, isolate)
    except EngiagentError as error:
        reason = f"the second reading cannot be solved: {error}"
        return Meeting("not confirmed", reason, own, None, agreed, second, supplied)
    best = goal_of(side, side.plan) if side.status == "optimal" else None
    theirs = replace(_solved(side, best), blueprint_sha256=second.sha256)
    ended: Callable[..., Meeting] = partial(
        Meeting, first=own, second=theirs, names=agreed, blueprint=second, supplied=supplied
    )
    empty = None if side.status == "infeasible" else vacuous(side)
    if empty is not None:
        return ended("not confirmed", f"the second reading is vacuous: {empty}")
    found = _compared(_Pair(first, side, agreed, given, ended))
    return replace(found, settled=settled(first, side, problem)) if found.confirmed else found


@dataclass(frozen=True)
class _Pair:
    """Two solved readings, and who makes their meeting of an outcome and a reason."""

    first: Side
    second: Side
    names: Nomenclature
    options: SolveOptions
    ended: Callable[..., Meeting]


def _solve_second(first: Side, second: Blueprint, options: SolveOptions, isolate: bool) -> Side:
    """Solve the second reading, integrality by another solver where there is one."""
    side = solve_reading(second, first.folder, options, isolate=isolate)
    same = _family(side) == _family(first)
    if not (same and side.program.is_mip and side.program.is_linear):
        return side
    if options.backend is not None or not is_available(SECOND_SOLVER):
        return side
    other = replace(options, backend=SECOND_SOLVER)
    try:
        again = solve_reading(second, first.folder, other, isolate=isolate)
    except EngiagentError:
        return side
    return again if again.status == side.status else side


def _family(side: Side) -> str:
    """Return whose search stands behind the solver of a reading."""
    word = str(side.schedule.attrs.get("solver", "")).lower().partition(" ")[0]
    return "highs" if word in ("highs", "exclusive", "race") else word


def _solved(side: Side, goal: Objective | None) -> Solved:
    attrs = side.schedule.attrs
    bound = attrs.get("bound")
    return Solved(
        side.written or side.blueprint.sha256,
        side.status,
        str(attrs.get("solver", "")),
        None if goal is None else goal.value,
        None if goal is None else goal.unit,
        None if bound is None else float(bound),
    )


def _compared(pair: _Pair) -> Meeting:
    one, two = pair.first.status, pair.second.status
    if two == "unbounded":
        reason = "the second reading leaves its goal without a bound"
        return pair.ended("not confirmed", _because(reason, pair.second))
    if (one, two) == ("infeasible", "infeasible"):
        return _both_infeasible(pair)
    if {one, two} == {"infeasible", "optimal"}:
        return _one_infeasible(pair)
    if (one, two) != ("optimal", "optimal"):
        return pair.ended("not proven", f"no optimum is proven: {one} and {two}")
    return _optima(pair)


def _because(reason: str, side: Side) -> str:
    """Return a reason with the conflict set, or with what grows, where it can be named."""
    trouble = side.trouble()
    return f"{reason}: {trouble}" if trouble else reason


def _certificate(side: Side) -> Certificate:
    folder = side.folder if side.folder is not None else Path()
    return certify(None, side.schedule, side.blueprint, folder=folder, name="second")


# --- infeasible ----------------------------------------------------------------------------------


def _both_infeasible(pair: _Pair) -> Meeting:
    try:
        found = _certificate(pair.second)
    except EngiagentError as error:
        return pair.ended("not confirmed", f"both are infeasible, not re-proven: {error}")
    if not none_allowed(found.to_dict()):
        reason = "both are infeasible, but the second reading's conflict was not re-proven"
        return pair.ended("not confirmed", reason)
    reason = "both readings allow no plan; the checker has proven it of the second"
    return pair.ended("met infeasible", reason, grade="recomputed")


def _one_infeasible(pair: _Pair) -> Meeting:
    forward = pair.first.status == "optimal"
    source, target = (pair.first, pair.second) if forward else (pair.second, pair.first)
    given = mapped(source.values(), target)
    if given.faults:
        return pair.ended("names do not meet", "; ".join(given.faults))
    plan = completed(target, given, pair.options)
    broken = () if plan is None else judged(target, plan).broken
    found = [_difference(pair, "lacks" if forward else "adds", item, None) for item in broken]
    which = "second" if forward else "first"
    reason = _because(f"the {which} reading allows no plan, the other has one", target)
    return pair.ended("different", reason, differences=tuple(found[:MOST]))


# --- optima --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Across:
    """One reading's plan in the names of the other, judged there."""

    plan: Mapping[str, Series] | None
    judgement: Judgement
    goal: Objective | None

    def reaches(self, best: Objective) -> bool:
        """Whether the plan's goal there is the best there."""
        return self.goal is not None and close(self.goal.value, best.value)


def _across(source: Side, target: Side, given: Mapped, options: SolveOptions) -> _Across:
    plan = completed(target, given, options, goal=True)
    if plan is None:
        return _Across(None, Judgement((), ("no completion was found",)), None)
    return _Across(plan, judged(target, plan), goal_of(target, plan))


def _optima(pair: _Pair) -> Meeting:
    first, side, options = pair.first, pair.second, pair.options
    there, back = mapped(first.values(), side), mapped(side.values(), first)
    faults = [*there.faults, *_strangers(side, there, pair.names)]
    variables = first.core.decision_variables
    decisions = {v.quantity or v.name for v in variables if v.role == "decision"}
    shared = set(there.pairs.values())
    if faults or not (shared & decisions if decisions else shared):
        reason = "; ".join(faults) or "the readings share no decision"
        return pair.ended("names do not meet", reason)
    goal_a, goal_b = goal_of(first, first.plan), goal_of(side, side.plan)
    if goal_a is None or goal_b is None:
        return pair.ended("not confirmed", "a goal cannot be evaluated on its own plan")
    for name, own in (("first", first), ("second", side)):
        kept = judged(own, own.plan)
        if not kept.holds:
            rows = ", ".join(item.row.id for item in kept.broken) or kept.unchecked[0]
            return pair.ended("not confirmed", f"the {name} reading's plan breaks itself: {rows}")
    onto, unto = _across(first, side, there, options), _across(side, first, back, options)
    value = _in_unit_of(goal_a, goal_b)
    same = value is not None and close(value, goal_b.value)
    # Another goal is not compared: its first terms may agree where the later ones do not.
    if goal_a.terms or goal_b.terms:
        same = same and _same_terms(goal_a, goal_b, onto.goal)
    met = partial(pair.ended, "met", grade=_grade(pair))
    if same and onto.reaches(goal_b) and onto.judgement.holds:
        return met("the first plan keeps the second reading and is its best", plan="first")
    if same and onto.judgement.broken:
        if unto.reaches(goal_a) and unto.judgement.holds:
            text = "the second plan keeps the first reading and is the best of both"
            return met(text, plan="second", schedule=unto.plan)
        joint = joint_plan(first, side, there, options)
        if joint is not None and _keeps_both(pair, joint, goal_a, goal_b):
            text = "one plan keeps both readings and is the best of both"
            return met(text, plan="joint", schedule=joint)
    found = _differences(pair, onto, unto, value, goal_a, goal_b)
    if not found:
        open_ = [*onto.judgement.unchecked, *unto.judgement.unchecked]
        why = open_[0] if open_ else "no row and no term of the goals shows why"
        values = f"the optima are {goal_a.value:.9g} and {goal_b.value:.9g} {goal_b.unit}"
        return pair.ended("not confirmed", f"{values}; {why}")
    return pair.ended("different", "the readings differ", differences=found)


def _strangers(side: Side, there: Mapped, names: Nomenclature) -> list[str]:
    """Return quantities of the second reading that are in no nomenclature and not auxiliary."""
    return [
        f"{v.quantity or v.name} is in no nomenclature and not marked as auxiliary"
        for v in side.core.decision_variables
        if v.name in there.own
        and v.role != "auxiliary"
        and names.entry(v.quantity or v.name) is None
    ]


def _in_unit_of(goal: Objective, other: Objective) -> float | None:
    """Return a goal's value in the unit and sense of another; None for another dimension."""
    one, two = parse_unit(goal.unit), parse_unit(other.unit)
    if one.dimension != two.dimension:
        return None
    if goal.sense == other.sense:
        return two.from_si(one.to_si(goal.value))
    return -goal.value * (one.scale / two.scale)


def _same_terms(goal_a: Objective, goal_b: Objective, onto: Objective | None) -> bool:
    """Whether several goals have the same number of terms with the same values on either plan."""
    if onto is None or not len(goal_a.terms) == len(goal_b.terms) == len(onto.terms):
        return False
    return all(close(x.value, y.value) for x, y in zip(onto.terms, goal_b.terms, strict=True))


def _keeps_both(
    pair: _Pair, plan: Mapping[str, Series], goal_a: Objective, goal_b: Objective
) -> bool:
    """Whether a plan in the first reading's names is allowed and best by both."""
    first, side = pair.first, pair.second
    own = goal_of(first, plan)
    if own is None or not close(own.value, goal_a.value) or not judged(first, plan).holds:
        return False
    shown = replace(first)
    shown.__dict__["plan"] = dict(plan)
    onto = _across(shown, side, mapped(shown.values(), side), pair.options)
    return onto.reaches(goal_b) and onto.judgement.holds


def _grade(pair: _Pair) -> Grade:
    """Return what stands behind the second reading's optimum."""
    try:
        found = _certificate(pair.second)
    except EngiagentError:
        found = None
    bound = None if found is None else found.bound
    if found is not None and bound is not None and bound.get("gap") is not None:
        closed = found.levels["optimality"]["status"] == "pass"
        if closed and "not recomputed" not in str(bound.get("method")):
            return "recomputed"
    return "agreed" if _family(pair.first) != _family(pair.second) else "reported"


# --- differences ---------------------------------------------------------------------------------


def _differences(
    pair: _Pair,
    onto: _Across,
    unto: _Across,
    value: float | None,
    goal_a: Objective,
    goal_b: Objective,
) -> tuple[Difference, ...]:
    worth = None if value is None else value - goal_b.value
    lacks = [_difference(pair, "lacks", item, worth) for item in onto.judgement.broken]
    adds = [_difference(pair, "adds", item, worth) for item in unto.judgement.broken]
    said = {d.first.formula for d in lacks}
    adds = [d for d in adds if d.first.formula not in said]
    found = _goals(pair, onto, goal_a, worth)
    for k in range(max(len(lacks), len(adds))):
        found += [*lacks[k : k + 1], *adds[k : k + 1]]
    return tuple(found[:MOST])


def _difference(pair: _Pair, kind: Any, item: Broken, worth: float | None) -> Difference:
    """Return the difference that a broken row shows, with what the other reading has instead."""
    other = counterpart(item.row, rows_of(pair.first if kind == "lacks" else pair.second))
    stated = Statement(item.row.formula, item.row.quote)
    against = Statement("", "") if other is None else Statement(other.formula, other.quote)
    one, two = (against, stated) if kind == "lacks" else (stated, against)
    return Difference(kind, one, two, item.row.id, item.where, item.amount, item.unit, worth)


def _goals(pair: _Pair, onto: _Across, mine: Objective, worth: float | None) -> list[Difference]:
    """Return in which terms the goals differ on the first plan, nothing where they agree there."""
    first, side = pair.first, pair.second
    if onto.plan is None or onto.goal is None:
        return []
    here = _in_unit_of(mine, onto.goal)
    if here is not None and close(here, onto.goal.value):
        return []
    terms = differing(terms_of(first, first.plan), terms_of(side, onto.plan))
    one, two = (
        Statement(
            " + ".join(f"{text} (= {number:.9g})" for text, number in own) or "nothing",
            "" if s.core.objective_function is None else quote_of(s.core.objective_function),
        )
        for own, s in zip(terms, (first, side), strict=True)
    )
    amount = None if here is None else here - onto.goal.value
    return [Difference("goals", one, two, "objective", {}, amount, onto.goal.unit, worth)]

"""Whether two readings of one text meet, and where they do not, in what they differ.

They meet when both optima are proven, the first reading's plan keeps every row and bound of the
second, and its goal, by either reading, is the second's optimum. Plans are never compared: there
may be many optima.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from engiagent.agents.meeting.record import Difference, Grade, Meeting, Outcome, Solved, Statement
from engiagent.agents.meeting.settling import settled
from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.run.certify import certify
from engiagent.solvers.registry import is_available
from engiagent.solvers.result import SolveOptions
from engiagent.units.unit import parse_unit
from engiagent.verify.claims import none_allowed
from engiagent.verify.levels.goals import Objective
from engiagent.verify.levels.sources import ProblemLike
from engiagent.verify.series import Series
from engiagent.verify.tolerances import TOLERANCES

MOST: Final = 3
"""Differences that are reported: each of them is a question."""
SECOND_SOLVER: Final = "scip"
"""Whom to ask about whole numbers beside the solver of the first reading."""


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

    Parameters
    ----------
    first
        The first reading, solved.
    second
        The second reading as its author wrote it, in the names of the nomenclature.
    problem
        The text, for what meeting settles beside the optimum.
    names
        What the second reader was given; derived from the first reading by default.
    options
        Limits of the solve, those of the first reading.
    isolate
        Solve in a child process.
    """
    given = replace(options or SolveOptions(), start=None)
    given = replace(given, gap=min(given.gap, 0.1 * TOLERANCES["objective"]))
    agreed = names or nomenclature(first.blueprint, first.folder)
    own = _solved(first, goal_of(first, first.plan) if first.status == "optimal" else None)
    case = _Case(first, second, agreed, own, given)
    try:
        normal, case.supplied = normalise(second, agreed)
        side = _solve_second(first, normal, given, isolate)
    except EngiagentError as error:
        return case.ended("not confirmed", f"the second reading cannot be solved: {error}")
    case.side = side
    best = goal_of(side, side.plan) if side.status == "optimal" else None
    case.second = replace(_solved(side, best), blueprint_sha256=second.sha256)
    empty = None if side.status == "infeasible" else vacuous(side)
    if empty is not None:
        return case.ended("not confirmed", f"the second reading is vacuous: {empty}")
    return case.settled_by(problem, _compared(case))


@dataclass
class _Case:
    """Two readings on their way to a meeting."""

    first: Side
    written: Blueprint
    names: Nomenclature
    own: Solved
    options: SolveOptions
    supplied: tuple[str, ...] = ()
    side: Side | None = None
    second: Solved | None = None

    def ended(self, outcome: Outcome, reason: str, **more: Any) -> Meeting:
        """Return the meeting with an outcome."""
        return Meeting(
            outcome, reason, self.own, self.second, self.names, self.written, self.supplied, **more
        )

    def settled_by(self, problem: ProblemLike | None, meeting: Meeting) -> Meeting:
        """Return a meeting with what it settles beside the optimum."""
        if not meeting.confirmed or self.side is None:
            return meeting
        return replace(meeting, settled=settled(self.first, self.side, problem))


def _solve_second(first: Side, second: Blueprint, options: SolveOptions, isolate: bool) -> Side:
    """Solve the second reading, whole numbers by another solver where there is one."""
    side = solve_reading(second, first.folder, options, isolate=isolate)
    same = _family(str(side.schedule.attrs.get("solver", ""))) == _family(
        str(first.schedule.attrs.get("solver", ""))
    )
    if not (same and side.program.is_mip and side.program.is_linear):
        return side
    if options.backend is not None or not is_available(SECOND_SOLVER):
        return side
    try:
        other = solve_reading(
            second, first.folder, replace(options, backend=SECOND_SOLVER), isolate=isolate
        )
    except EngiagentError:
        return side
    return other if other.status == side.status else side


def _family(solver: str) -> str:
    """Return whose search stands behind a solver's name."""
    word = solver.lower().partition(" ")[0]
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


def _compared(case: _Case) -> Meeting:
    first, side = case.first, case.side
    assert side is not None
    statuses = {first.status, side.status}
    if side.status == "unbounded":
        reason = "the second reading leaves its goal without a bound"
        return case.ended("not confirmed", _because(reason, side))
    if statuses == {"infeasible"}:
        return _both_infeasible(case)
    if "infeasible" in statuses and statuses - {"infeasible"} == {"optimal"}:
        return _one_infeasible(case)
    if statuses != {"optimal"}:
        return case.ended("not proven", f"no optimum is proven: {first.status} and {side.status}")
    return _optima(case)


def _because(reason: str, side: Side) -> str:
    """Return a reason with the conflict set, or with what grows, where it can be named."""
    trouble = side.trouble()
    return f"{reason}: {trouble}" if trouble else reason


# --- infeasible ----------------------------------------------------------------------------------


def _both_infeasible(case: _Case) -> Meeting:
    side = case.side
    assert side is not None
    try:
        found = certify(None, side.schedule, side.blueprint, folder=_folder(side), name="second")
    except EngiagentError as error:
        return case.ended("not confirmed", f"both are infeasible, not re-proven: {error}")
    if not none_allowed(found.to_dict()):
        reason = "both are infeasible, but the second reading's conflict was not re-proven"
        return case.ended("not confirmed", reason)
    reason = "both readings allow no plan; the checker has proven it of the second"
    return case.ended("met infeasible", reason, grade="recomputed")


def _one_infeasible(case: _Case) -> Meeting:
    first, side = case.first, case.side
    assert side is not None
    forward = first.status == "optimal"
    source, target = (first, side) if forward else (side, first)
    given = mapped(source.values(), target)
    if given.faults:
        return case.ended("names do not meet", "; ".join(given.faults))
    plan = completed(target, given, case.options)
    broken = () if plan is None else judged(target, plan).broken
    found = [_difference(case, "lacks" if forward else "adds", item, None) for item in broken]
    which = "second" if forward else "first"
    reason = _because(f"the {which} reading allows no plan, the other has one", target)
    return case.ended("different", reason, differences=tuple(found[:MOST]))


def _folder(side: Side) -> Path:
    return side.folder if side.folder is not None else Path()


# --- optima --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Across:
    """One reading's plan in the names of the other, judged there."""

    plan: Mapping[str, Series] | None
    judgement: Judgement
    goal: Objective | None


def _across(source: Side, target: Side, given: Mapped, options: SolveOptions) -> _Across:
    plan = completed(target, given, options, goal=True)
    if plan is None:
        return _Across(None, Judgement((), ("no completion was found",)), None)
    return _Across(plan, judged(target, plan), goal_of(target, plan))


def _optima(case: _Case) -> Meeting:
    first, side = case.first, case.side
    assert side is not None
    there, back = mapped(first.values(), side), mapped(side.values(), first)
    faults = [*there.faults, *_strangers(side, there, case.names)]
    decisions = {
        v.quantity or v.name for v in first.core.decision_variables if v.role == "decision"
    }
    shared = set(there.pairs.values())
    if faults or not (shared & decisions if decisions else shared):
        reason = "; ".join(faults) or "the readings share no decision"
        return case.ended("names do not meet", reason)
    goal_a, goal_b = goal_of(first, first.plan), goal_of(side, side.plan)
    if goal_a is None or goal_b is None:
        return case.ended("not confirmed", "a goal cannot be evaluated on its own plan")
    for name, own in (("first", first), ("second", side)):
        kept = judged(own, own.plan)
        if not kept.holds:
            rows = ", ".join(item.row.id for item in kept.broken) or kept.unchecked[0]
            return case.ended("not confirmed", f"the {name} reading's plan breaks itself: {rows}")
    onto, unto = (
        _across(first, side, there, case.options),
        _across(side, first, back, case.options),
    )
    value = _in_unit_of(goal_a, goal_b)
    same = value is not None and close(value, goal_b.value)
    reached = onto.goal is not None and close(onto.goal.value, goal_b.value)
    # Another goal is not compared: its first terms may agree where the later ones do not.
    if goal_a.terms or goal_b.terms:
        same = same and _same_terms(goal_a, goal_b, onto.goal)
    if same and reached and onto.judgement.holds:
        return _met(case, "first", "the first plan keeps the second reading and is its best", None)
    if same and onto.judgement.broken:
        returned = unto.goal is not None and close(unto.goal.value, goal_a.value)
        if returned and unto.judgement.holds:
            text = "the second plan keeps the first reading and is the best of both"
            return _met(case, "second", text, unto.plan)
        joint = joint_plan(first, side, there, case.options)
        if joint is not None and _keeps_both(case, joint, goal_a, goal_b):
            return _met(
                case, "joint", "one plan keeps both readings and is the best of both", joint
            )
    found = _differences(case, onto, unto, value, goal_b)
    if not found:
        open_ = [*onto.judgement.unchecked, *unto.judgement.unchecked]
        why = open_[0] if open_ else "no row and no term of the goals shows why"
        values = f"the optima are {goal_a.value:.9g} and {goal_b.value:.9g} {goal_b.unit}"
        return case.ended("not confirmed", f"{values}; {why}")
    return case.ended("different", "the readings differ", differences=found)


def _strangers(side: Side, there: Mapped, names: Nomenclature) -> list[str]:
    """Return quantities of the second reading that are not marked as new and that nobody knows."""
    variables = {v.name: v for v in side.core.decision_variables}
    return [
        f"{v.quantity or v.name} is in no nomenclature and not marked as auxiliary"
        for v in (variables[name] for name in there.own)
        if v.role != "auxiliary" and names.entry(v.quantity or v.name) is None
    ]


def _in_unit_of(goal: Objective, other: Objective) -> float | None:
    """Return a goal's value in the unit and sense of another; None for another dimension."""
    one, two = parse_unit(goal.unit), parse_unit(other.unit)
    if one.dimension != two.dimension:
        return None
    sign = 1.0 if goal.sense == other.sense else -1.0
    return (
        sign * two.from_si(one.to_si(goal.value))
        if sign > 0
        else -goal.value * (one.scale / two.scale)
    )


def _same_terms(goal_a: Objective, goal_b: Objective, onto: Objective | None) -> bool:
    """Whether several goals have the same number of terms with the same values on either plan."""
    if onto is None or not len(goal_a.terms) == len(goal_b.terms) == len(onto.terms):
        return False
    return all(close(x.value, y.value) for x, y in zip(onto.terms, goal_b.terms, strict=True))


def _keeps_both(
    case: _Case, plan: Mapping[str, Series], goal_a: Objective, goal_b: Objective
) -> bool:
    """Whether a plan in the first reading's names is allowed and best by both."""
    first, side = case.first, case.side
    assert side is not None
    own = goal_of(first, plan)
    if own is None or not close(own.value, goal_a.value) or not judged(first, plan).holds:
        return False
    shown = _with_plan(first, plan)
    onto = _across(shown, side, mapped(shown.values(), side), case.options)
    reached = onto.goal is not None and close(onto.goal.value, goal_b.value)
    return reached and onto.judgement.holds


def _with_plan(side: Side, plan: Mapping[str, Series]) -> Side:
    """Return a side whose plan is another."""
    other = replace(side)
    other.__dict__["plan"] = dict(plan)
    return other


def _met(case: _Case, which: Any, reason: str, plan: Mapping[str, Series] | None) -> Meeting:
    return case.ended("met", reason, plan=which, grade=_grade(case), schedule=plan)


def _grade(case: _Case) -> Grade:
    """Return what stands behind the second reading's optimum."""
    side = case.side
    assert side is not None
    try:
        found = certify(None, side.schedule, side.blueprint, folder=_folder(side), name="second")
    except EngiagentError:
        found = None
    bound = None if found is None else found.bound
    if found is not None and bound is not None and bound.get("gap") is not None:
        closed = found.levels["optimality"]["status"] == "pass"
        if closed and "not recomputed" not in str(bound.get("method")):
            return "recomputed"
    solvers = {_family(s.solver) for s in (case.own, case.second) if s is not None}
    return "agreed" if len(solvers) == 2 else "reported"


# --- differences ---------------------------------------------------------------------------------


def _differences(
    case: _Case, onto: _Across, unto: _Across, value: float | None, goal_b: Objective
) -> tuple[Difference, ...]:
    worth = None if value is None else value - goal_b.value
    lacks = [_difference(case, "lacks", item, worth) for item in onto.judgement.broken]
    adds = [_difference(case, "adds", item, worth) for item in unto.judgement.broken]
    said = {d.first.formula for d in lacks}
    adds = [d for d in adds if d.first.formula not in said]
    found = [*_goals(case, onto, worth)]
    for pair in range(max(len(lacks), len(adds))):
        found += [*lacks[pair : pair + 1], *adds[pair : pair + 1]]
    return tuple(found[:MOST])


def _difference(case: _Case, kind: Any, item: Broken, worth: float | None) -> Difference:
    """Return the difference that a broken row shows, with what the other reading has instead."""
    assert case.side is not None
    other = counterpart(item.row, rows_of(case.first if kind == "lacks" else case.side))
    stated = Statement(item.row.formula, item.row.quote)
    against = Statement("", "") if other is None else Statement(other.formula, other.quote)
    one, two = (against, stated) if kind == "lacks" else (stated, against)
    return Difference(kind, one, two, item.row.id, item.where, item.amount, item.unit, worth)


def _goals(case: _Case, onto: _Across, worth: float | None) -> Sequence[Difference]:
    """Return in which terms the goals differ on the first plan, nothing where they agree there."""
    first, side = case.first, case.side
    assert side is not None
    mine = goal_of(first, first.plan)
    assert mine is not None
    if onto.plan is None or onto.goal is None:
        return ()
    here = _in_unit_of(mine, onto.goal)
    if here is not None and close(here, onto.goal.value):
        return ()
    left, right = differing(terms_of(first, first.plan), terms_of(side, onto.plan))
    quotes = [_goal_quote(s) for s in (first, side)]
    texts = [
        " + ".join(f"{text} (= {number:.9g})" for text, number in terms) or "nothing"
        for terms in (left, right)
    ]
    amount = None if here is None else here - onto.goal.value
    one, two = Statement(texts[0], quotes[0]), Statement(texts[1], quotes[1])
    return (Difference("goals", one, two, "objective", {}, amount, onto.goal.unit, worth),)


def _goal_quote(side: Side) -> str:
    goal = side.core.objective_function
    return "" if goal is None else quote_of(goal)

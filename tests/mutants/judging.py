"""The operators, and whether the checker believes a mutant that it should not."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Literal

import xarray as xr

from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError
from engiagent.verify.certificate import Certificate
from engiagent.verify.checking import check
from tests.mutants import harmless, models, numbers, schedules
from tests.mutants.runs import Run, solved, truth

Kind = Literal["altered data", "vague", "violated physics", "over-constrained", "harmless"]


@dataclass(frozen=True)
class Operator:
    """A way to change a run; its kind is one of the four error classes, or harmless."""

    name: str
    kind: Kind
    on: Literal["schedule", "blueprint"]
    make: Callable[[Run], Iterator[tuple[str, Any]]]


def _operators(module: ModuleType, on: Literal["schedule", "blueprint"], **kinds: str) -> Any:
    for kind, names in kinds.items():
        for name in names.split():
            word: Any = kind.replace("_", " ").replace("over constrained", "over-constrained")
            yield Operator(name.replace("_", " "), word, on, getattr(module, name))


OPERATORS: tuple[Operator, ...] = (
    *_operators(
        schedules,
        "schedule",
        altered_data="""all_thousandfold unit_mislabelled shifted_by_a_step reversed_in_time rounded
            averaged swapped_hours false_objective claimed_bound_moved""",
        vague="""one_hour_over_power one_hour_negative one_step_left_out decision_left_out no_number
            part_of_a_whole one_more""",
        violated_physics="""state_of_charge_off energy_from_nowhere both_directions_at_once
            temperature_told_too_low temperature_missed state_kept other_start free_first_hour
            drifting_state lossless_state power_from_nowhere""",
        over_constrained="worse_plan idle_plan busy_plan nearly_best_plan",
    ),
    *_operators(
        numbers,
        "blueprint",
        altered_data="""number_three_per_cent_more number_slightly_less number_tenfold
            number_a_thousandth digits_exchanged sign_turned number_forgotten numbers_exchanged
            one_way_for_both_ways both_ways_twice efficiency_inverted lossless per_cent_as_fraction
            units_swapped degrees_mistaken price_unit_mistaken one_value_of_a_series
            series_an_hour_late series_scaled series_without_negatives series_averaged
            columns_exchanged other_step""",
    ),
    *_operators(
        models,
        "blueprint",
        vague="""requirement_dropped requirement_softened limit_dropped sign_of_variable_freed
            wholeness_dropped only_once not_at_the_end cost_left_out""",
        violated_physics="""equation_relaxed relation_turned term_left_out plus_for_minus
            times_for_divided factor_left_out offset_left_out other_variable objective_misread
            sense_turned""",
        over_constrained="""inequality_to_equation limit_tightened wholeness_added idle_in_an_hour
            never_falling closed_at_the_end together_limited""",
    ),
)
HARMLESS: tuple[Operator, ...] = (
    *_operators(
        harmless,
        "schedule",
        harmless="""in_other_units rounded_to_what_a_table_shows state_left_to_the_checker
            in_another_order without_claims""",
    ),
    *_operators(
        harmless,
        "blueprint",
        harmless="""sides_exchanged both_sides_doubled constraints_in_another_order equation_as_two
            parameter_in_another_unit redundant_constraint needless_limit_dropped""",
    ),
)


@dataclass(frozen=True)
class Outcome:
    """What the checker says to one mutant.

    Attributes
    ----------
    levels
        The levels that do not pass; ``language`` when static analysis or the reader refuses it.
    state
        ``caught``; ``equivalent`` when it is believed and right; ``survived`` when it is believed
        and wrong; ``accused`` when it is right and called violated all the same; ``passed`` for a
        harmless one that is not accused.
    alone
        What the checker says to it without annotations, of the text and the blueprint only.
    """

    problem: str
    operator: str
    kind: str
    on: str
    what: str
    verdict: str
    levels: tuple[str, ...]
    state: str
    reason: str = ""
    alone: "Outcome | None" = None


def mutants(run: Run, operators: Sequence[Operator]) -> Iterator[tuple[Operator, str, Any]]:
    """Yield every mutant of a run."""
    for operator in operators:
        for what, wrong in operator.make(run):
            yield operator, what, wrong


def judge(run: Run, operator: Operator, what: str, wrong: Any, alone: Run | None = None) -> Outcome:
    """Return what the checker says to a mutant, and whether that is true.

    With ``alone``, the same run without annotations, it is judged a second time.
    """
    schedule: xr.Dataset | None = wrong if operator.on == "schedule" else None
    blueprint = wrong if isinstance(wrong, Blueprint) else run.blueprint
    try:
        if isinstance(wrong, Blueprint):
            _, schedule = solved(wrong, run.problem.folder)
    except EngiagentError as error:
        reason = " ".join(str(error).split())[:120]
        found = _outcome(run, operator, what, "refused", ("language",), "caught", reason)
        return found if alone is None else replace(found, alone=found)
    found = _judged(run, operator, what, schedule, blueprint)
    if alone is None:
        return found
    return replace(found, alone=_judged(alone, operator, what, schedule, blueprint))


def _judged(
    run: Run, operator: Operator, what: str, schedule: xr.Dataset | None, blueprint: Blueprint
) -> Outcome:
    try:
        certificate = check(run.problem, schedule, blueprint)
    except EngiagentError as error:
        reason = " ".join(str(error).split())[:120]
        return _outcome(run, operator, what, "refused", ("language",), "caught", reason)
    verdict, levels = certificate.verdict, tuple(sorted(failed(certificate)))
    reason = str(certificate.violations[0]["message"])[:120] if certificate.violations else ""
    state = _state(run, operator, schedule, verdict)
    return _outcome(run, operator, what, verdict, levels, state, reason)


def _outcome(run: Run, operator: Operator, what: str, *rest: Any) -> Outcome:
    return Outcome(run.name, operator.name, operator.kind, operator.on, what, *rest)


def _state(run: Run, operator: Operator, schedule: xr.Dataset | None, verdict: str) -> str:
    if operator.kind == "harmless":
        return "accused" if verdict in ("violated", "proven infeasible") else "passed"
    if verdict in ("certified", "feasible"):
        assert schedule is not None
        real = truth(run, schedule, operator.on == "schedule")
        right = real.feasible and (verdict == "feasible" or (real.optimal and real.honest))
        return "equivalent" if right else "survived"
    if verdict == "proven infeasible":
        return "survived"
    if operator.on == "schedule" and verdict == "violated" and schedule is not None:
        real = truth(run, schedule, devices=True)
        complete = all(b.generated or b.name in schedule for b in run.program.columns)
        if complete and real.feasible and real.optimal and real.honest:
            return "accused"
    return "caught"


def failed(certificate: Certificate) -> set[str]:
    """Return the levels that do not pass, or accuse."""
    levels = {name for name, level in certificate.levels.items() if level["status"] != "pass"}
    return levels | {str(violation["level"]) for violation in certificate.violations}

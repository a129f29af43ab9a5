"""The second reading of a run: asked for, linted, held against the first; what is then claimed.

The second reader is shown the text and the nomenclature of the first reading, nothing else of it.
Only where the two do not meet is anything asked about, and then about the differences alone.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from engiagent.agents.faults import of_certificate, of_error
from engiagent.agents.meeting import (
    Difference,
    Meeting,
    Nomenclature,
    Side,
    meet,
    nomenclature,
    normalise,
)
from engiagent.agents.protocol import Board, Fault
from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.io.files import open_inside
from engiagent.io.jsontext import loads_strict
from engiagent.run.folder import MEETING
from engiagent.run.stages import static_findings
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solution import load_solution
from engiagent.text import Problem
from engiagent.verify.checking import check
from engiagent.verify.claims import Reading

ROUNDS: Final = 2
"""Requests about differences, for a run."""
AGAIN: Final = SolveOptions(time_limit=60.0)
"""Limits under which a stored second reading is solved once more."""


def wanted(board: Board) -> bool:
    """Whether a second reading can confirm what is on the board, and has not been made."""
    problem, blueprint, result = board.problem, board.blueprint, board.result
    if problem is None or problem.expert is not None or blueprint is None or result is None:
        return False
    solved = result.status in ("optimal", "infeasible") and blueprint.kind != "definitions"
    return solved and board.by_model and board.meeting is None and not board.scripting


def side_of(board: Board) -> Side:
    """Return the first reading as the board has it, solved."""
    assert board.blueprint is not None
    assert board.program is not None
    full = expand(board.blueprint)
    sha = board.blueprint.sha256
    return Side(full, board.data, board.program, board.solution, board.result, sha)


def names_of(board: Board) -> Nomenclature:
    """Return what the second reader is given."""
    assert board.blueprint is not None
    return nomenclature(board.blueprint, board.data)


def lint(second: Blueprint, names: Nomenclature, board: Board) -> tuple[Fault, ...]:
    """Return what static analysis and tracing find in a second reading."""
    try:
        full = expand(normalise(second, names)[0])
        found = static_findings(full, board.data).error
        if found is not None:
            return of_error(found)
        compile_blueprint(full, board.data)
        assert board.problem is not None
        # Rows that became bounds are traced where they were written.
        own = {v.name: (v.lower, v.upper) for v in expand(second).core.decision_variables}
        written = [
            replace(v, lower=low, upper=high)
            for v in full.core.decision_variables
            for low, high in [own.get(v.name, (None, None))]
        ]
        traced = full.with_core(decision_variables=tuple(written))
        certificate = check(board.problem, None, traced).to_dict()
    except EngiagentError as error:
        return of_error(error)
    kinds = ("data-altered", "data-untraced")
    return tuple(f for f in of_certificate(certificate) if f.kind in kinds)


def met(board: Board, second: Blueprint, names: Nomenclature) -> Meeting:
    """Return the meeting of the board's reading with a second one."""
    options = board.options
    return meet(side_of(board), second, problem=board.problem, names=names, options=options)


def formulas(difference: Difference) -> tuple[str, str]:
    """Return the two formulas of a difference; which stands first does not tell whose it is."""
    pair = (difference.first.formula or "nothing", difference.second.formula or "nothing")
    return pair if in_order(difference) else (pair[1], pair[0])


def in_order(difference: Difference) -> bool:
    """Whether the first reading's formula is shown as the first of the two."""
    return difference.first.formula <= difference.second.formula


def wrong_sides(difference: Difference, right: str) -> tuple[str, ...]:
    """Return which of ``first`` and ``second`` an answer to a difference calls wrong."""
    if right == "neither":
        return ("first", "second")
    if right == "both":
        return ()
    return ("second",) if (right == "one") == in_order(difference) else ("first",)


def claim_of(meeting: Meeting | None) -> Reading | None:
    """Return what a meeting lets a certificate claim of the reading; None without a meeting."""
    if meeting is None:
        return None
    if not meeting.confirmed:
        items = [d.text() for d in meeting.differences] or [meeting.reason]
        return Reading(open=tuple(f"two readings: {item}" for item in items))
    what = f"blueprint {meeting.blueprint.sha256[:12]}, {meeting.outcome}, {meeting.grade}"
    silent: tuple[str, ...] = ()
    if meeting.outcome == "met":  # what nobody states makes nothing feasible
        said = "the second reading says nothing of it"
        silent = tuple(f"{quantity}: {said}" for quantity in meeting.settled.unspoken)
        silent += tuple(f"left out by both readings: {s!r}" for s in meeting.settled.excused)
    settled = meeting.settled
    confirmed = (*settled.numbers, *settled.sentences, *settled.taken)
    return Reading("confirmed", "a second reading", what, silent, confirmed)


def plan_of(meeting: Meeting, solution: Any) -> Any:
    """Return the schedule that is the best by both readings, with the first one's claims."""
    if meeting.schedule is None:
        return solution
    changed = {}
    for name, series in meeting.schedule.items():
        if name in solution:
            array = solution[name]
            changed[name] = array.copy(data=series.data.reshape(array.shape))
    return solution.assign(changed)


def read_again(
    run: Path, problem: Problem | None, blueprint: Blueprint | None, schedule: Path
) -> Reading | None:
    """Return the reading of a run folder by a new meeting; None where it has none.

    Of the record only the text of the second blueprint is used: names, solve and comparison are
    made again.
    """
    if not (run / MEETING).exists() or problem is None or blueprint is None:
        return None
    try:
        stored = loads_strict(open_inside(run, MEETING).decode("utf-8"), MEETING)
        second = Blueprint.from_dict(stored["blueprint"])
        full = expand(blueprint)
        program = compile_blueprint(full, problem.folder)
        first = Side(full, problem.folder, program, load_solution(schedule))
        found = meet(first, second, problem=problem, options=AGAIN)
    except (EngiagentError, KeyError, TypeError, UnicodeDecodeError) as error:
        return Reading(open=(f"two readings: the stored one cannot be compared again: {error}",))
    return claim_of(found)

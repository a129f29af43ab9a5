"""The verifier: whether a blueprint models this problem.

Before the solve by deterministic checks alone; after it by a second reading of the text, whose
author is shown the text and the nomenclature of the first reading and nothing else of it. Where the
two do not meet, each difference is asked about once, by its two formulas, without telling whose
they are.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from engiagent.agents.faults import data_faults, of_certificate, of_error
from engiagent.agents.meeting import (
    Difference,
    Meeting,
    Nomenclature,
    Side,
    meet,
    nomenclature,
    normalise,
)
from engiagent.agents.modeler import patched
from engiagent.agents.protocol import (
    NOTHING,
    AgentName,
    Board,
    Engine,
    Fault,
    Instruction,
    Outcome,
    Question,
    Usage,
    ask,
)
from engiagent.agents.scripting import readable
from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.io.files import open_inside
from engiagent.io.jsontext import dumps_canonical, loads_strict
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
    """Return the meeting of the board's reading, solved, with a second one."""
    blueprint, program, problem = board.blueprint, board.program, board.problem
    assert blueprint is not None
    assert program is not None
    full, sha = expand(blueprint), blueprint.sha256
    first = Side(full, board.data, program, board.solution, board.result, sha)
    return meet(first, second, problem=problem, names=names, options=board.options)


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


REPAIRS: Final = 2
"""Patches of the second reading: one for what lint finds, one for what the text decides."""


@dataclass(frozen=True)
class Verifier:
    """Holds a blueprint against the text."""

    engine: Engine
    name: AgentName = "verifier"

    def run(self, board: Board) -> Outcome:
        """Return what in the blueprint is not the text's."""
        if board.scripting:
            return self._demands(board)
        if board.solution is not None and wanted(board):
            return _Confirming(self.engine, board).outcome()
        faults = data_faults(board)
        summary = faults[0].message if faults else "every number is the text's"
        return Outcome(self.name, summary, faults=faults)

    def _demands(self, board: Board) -> Outcome:
        """Return the requirements of the text, against which a script's schedule is checked."""
        question = Question("verifier", "requirements", board, {})
        answer = ask(self.engine, question)
        said = None if answer.value is None else answer.value["requirements"]
        assert board.problem is not None
        found, notes, count = (None, [], 0) if said is None else readable(said, board.problem)
        if answer.value is not None:
            notes += [f"{e['quote']!r} ({e['why']})" for e in answer.value["not_expressible"]]
        notes = [f"a requirement that was read is not checked: {text}" for text in notes]
        if answer.fault is not None:
            notes.append(f"the requirements were not read: {answer.fault.message}")
        changes = {"requirements": found, "demanded": True, "notes": (*board.notes, *notes)}
        summary = f"{count} requirement(s) of the text"
        return Outcome(self.name, summary, changes, usage=answer.usage)


class _Confirming:
    """One turn on the second reading: asked for where there is none, compared, asked about."""

    def __init__(self, engine: Engine, board: Board) -> None:
        self.engine, self.board = engine, board
        self.usage: Usage = NOTHING
        self.notes, self.faults = list(board.notes), list[Fault]()
        self.reading: Blueprint | None = board.second
        self.repairs, self.differed = board.second_repairs, board.differed
        self.rounds = board.rounds

    def outcome(self) -> Outcome:
        """Return the meeting, and what the text decides against the first reading."""
        assert self.board.blueprint is not None
        names = nomenclature(self.board.blueprint, self.board.data)
        meeting: Meeting | None = None
        if self.reading is None and not self.board.sought:
            self._read(names)
        if self.reading is not None and not self.faults:
            meeting = self._met(names)
        changes: dict[str, Any] = {
            "second": self.reading,
            "second_repairs": self.repairs,
            "differed": self.differed,
            "rounds": self.rounds,
            "notes": tuple(dict.fromkeys(self.notes)),
            "sought": True,
        }
        if meeting is not None and not self.faults:
            changes["meeting"] = meeting
            changes["solution"] = plan_of(meeting, self.board.solution)
        summary = "there is no second reading" if meeting is None else meeting.reason
        summary = self.faults[0].message if self.faults else summary
        return Outcome("verifier", summary, changes, tuple(self.faults), self.usage)

    def _ask(self, kind: str, **values: Any) -> Any:
        """Return the answer to a question; None without one, which is noted."""
        answer = ask(self.engine, Question("verifier", kind, self.board, values))
        self.usage += answer.usage
        if answer.fault is not None:
            self.notes.append(f"the second reader did not answer: {answer.fault.message}")
        return answer.value

    def _read(self, names: Nomenclature) -> None:
        """Ask for the second reading; what lint finds goes to its author once."""
        said = self._ask("second", names=names)
        if said is None or said["blueprint"] is None:
            self.notes += [] if said is None else [f"no second reading: {said['why']}"]
            return
        for entry in said["objections"]:
            self.notes.append(f"the second reader objects: {entry['quote']!r} ({entry['why']})")
            self.faults.append(Fault("misread", f"{entry['quote']}: {entry['why']}", judged=True))
        draft = said["blueprint"]
        found: tuple[Fault, ...] = ()
        try:
            self.reading = Blueprint.from_json(dumps_canonical(draft))
            found = lint(self.reading, names, self.board)
        except EngiagentError as error:
            found = of_error(error)
        if found:
            self._repair(names, draft, found)

    def _repair(self, names: Nomenclature, draft: Any, faults: tuple[Fault, ...]) -> bool:
        """Have the author of the second reading patch it; return whether it changed."""
        if self.repairs >= REPAIRS:
            return False
        self.repairs += 1
        told = Instruction("correct what the findings name, or change nothing and say why", faults)
        said = self._ask("repair", blueprint=draft, instruction=told, names=names)
        if said is None:
            return False
        if not said["patch"]:
            self.notes.append(f"the second reader changes nothing: {said['why']}")
            return False
        changed = patched(draft, said["patch"])
        if isinstance(changed, Blueprint):
            before, self.reading = self.reading, changed
            return before is None or before.sha256 != changed.sha256
        self.notes.append(f"the patch of the second reading does not fit: {changed[0].message}")
        return False

    def _met(self, names: Nomenclature) -> Meeting:
        """Compare, and where the readings differ ask which of them is the text's."""
        assert self.reading is not None
        meeting = met(self.board, self.reading, names)
        while not meeting.confirmed:
            if meeting.outcome == "not proven":  # a weak bound is nobody's mistake
                return meeting
            if meeting.outcome == "different":
                open_ = [d for d in meeting.differences if d.question not in self.differed]
                changed = bool(open_) and self.rounds < ROUNDS
                changed = changed and self._decided(names, open_)
            else:
                fault = Fault("formulation", meeting.reason)
                changed = meeting.reason not in self.differed and self._repair(
                    names, self.reading, (fault,)
                )
                self.differed = (*self.differed, meeting.reason)
            if self.faults or not changed:
                return meeting
            meeting = met(self.board, self.reading, names)
        return meeting

    def _decided(self, names: Nomenclature, differences: list[Any]) -> bool:
        """Ask about differences: patch the second where it is wrong, else accuse the first."""
        self.differed = (*self.differed, *(d.question for d in differences))
        self.rounds += 1
        said = self._ask("differ", differences=differences)
        found: list[Fault] = []
        for entry in () if said is None else said["differences"]:
            if not 1 <= entry["number"] <= len(differences):
                continue
            item = differences[entry["number"] - 1]
            sides = wrong_sides(item, entry["right"])
            if not sides:
                self.notes.append(f"nothing to change: {item.text()}: {entry['why']}")
            first, other = item.first.formula or "nothing", item.second.formula or "nothing"
            for side, own in (("first", first), ("second", other)):
                if side in sides:
                    message = f"{entry['quote']}: {entry['why']} (the blueprint states: {own})"
                    fault = Fault("misread", message, item.row, judged=True)
                    (self.faults if side == "first" else found).append(fault)
        return bool(found) and self._repair(names, self.reading, tuple(found))

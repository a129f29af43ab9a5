"""The verifier: whether a blueprint models this problem.

Before the solve by deterministic checks alone; after it by a second reading of the text, whose
author sees nothing of the first but its names. Where the two do not meet, each difference is
asked about once, by its two formulas, without telling whose they are.
"""

from dataclasses import dataclass
from typing import Any, Final

from engiagent.agents import second
from engiagent.agents.determined import data_faults, free_states, idle_files, idle_numbers
from engiagent.agents.extraction import readable
from engiagent.agents.faults import of_error, worst_first
from engiagent.agents.meeting import Meeting, Nomenclature
from engiagent.agents.patches import patched
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
)
from engiagent.agents.questions import SCHEMAS, ask
from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.io.jsontext import dumps_canonical

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
        if board.solution is not None and second.wanted(board):
            return _Confirming(self.engine, board).outcome()
        faults = worst_first(static_faults(board))
        return Outcome(
            agent=self.name,
            status="failed" if faults else "done",
            summary=faults[0].message if faults else "every number is the text's",
            faults=faults,
        )

    def _demands(self, board: Board) -> Outcome:
        """Return the requirements of the text, against which a script's schedule is checked."""
        question = Question("verifier", "requirements", board, {}, SCHEMAS["requirements"])
        answer = ask(self.engine, question)
        said = None if answer.value is None else answer.value["requirements"]
        assert board.problem is not None
        found = None if said is None else readable(said, board.problem)
        notes = list(() if found is None else found.left_out)
        if answer.value is not None:
            notes += [f"{e['quote']!r} ({e['why']})" for e in answer.value["not_expressible"]]
        notes = [f"a requirement that was read is not checked: {text}" for text in notes]
        if answer.fault is not None:
            notes.append(f"the requirements were not read: {answer.fault.message}")
        count = 0 if found is None else len(found.requirements.requirements)
        return Outcome(
            agent=self.name,
            status="done",
            summary=f"{count} requirement(s) of the text",
            usage=answer.usage,
            changes={"requirements": found, "demanded": True, "notes": (*board.notes, *notes)},
        )


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
        names = second.names_of(self.board)
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
            changes["solution"] = second.plan_of(meeting, self.board.solution)
        said = "there is no second reading" if meeting is None else meeting.reason
        return Outcome(
            agent="verifier",
            status="failed" if self.faults else "done",
            summary=self.faults[0].message if self.faults else said,
            changes=changes,
            faults=tuple(self.faults),
            usage=self.usage,
        )

    def _ask(self, kind: str, **values: Any) -> Any:
        """Return the answer to a question; None without one, which is noted."""
        answer = ask(self.engine, Question("verifier", kind, self.board, values, SCHEMAS[kind]))
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
            found = second.lint(self.reading, names, self.board)
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
        meeting = second.met(self.board, self.reading, names)
        while not meeting.confirmed:
            if meeting.outcome == "not proven":  # a weak bound is nobody's mistake
                return meeting
            if meeting.outcome == "different":
                open_ = [d for d in meeting.differences if d.question not in self.differed]
                changed = bool(open_) and self.rounds < second.ROUNDS
                changed = changed and self._decided(names, open_)
            else:
                fault = Fault("formulation", meeting.reason)
                changed = meeting.reason not in self.differed and self._repair(
                    names, self.reading, (fault,)
                )
                self.differed = (*self.differed, meeting.reason)
            if self.faults or not changed:
                return meeting
            meeting = second.met(self.board, self.reading, names)
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
            sides = second.wrong_sides(item, entry["right"])
            if not sides:
                self.notes.append(f"nothing to change: {item.text()}: {entry['why']}")
            first, other = item.first.formula or "nothing", item.second.formula or "nothing"
            for side, own in (("first", first), ("second", other)):
                if side in sides:
                    message = f"{entry['quote']}: {entry['why']} (the blueprint states: {own})"
                    fault = Fault("misread", message, item.row, judged=True)
                    (self.faults if side == "first" else found).append(fault)
        return bool(found) and self._repair(names, self.reading, tuple(found))


def static_faults(board: Board) -> tuple[Fault, ...]:
    """Return what can be said of a blueprint without an engine and without a schedule."""
    assert board.blueprint is not None
    assert board.problem is not None
    blueprint, problem = board.blueprint, board.problem
    free = () if board.program is None else free_states(board.program)
    idle = idle_numbers(blueprint, board.data, problem)
    return (*data_faults(board), *idle, *idle_files(blueprint, problem), *free)

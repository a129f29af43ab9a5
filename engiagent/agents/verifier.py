"""The verifier: is it this problem that the blueprint models? Deterministic checks come first.

What needs judgement is asked in two separate questions: the hard requirements of the text, for
which the engine is not shown the blueprint, so that the same misreading does not come back as its
own confirmation; and whether the blueprint means what the text says.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from engiagent.agents.determined import free_states, idle_files, idle_numbers
from engiagent.agents.extraction import Extraction, doubts, merged, readable
from engiagent.agents.faults import of_certificate, worst_first
from engiagent.agents.protocol import AgentName, Board, Engine, Fault, Outcome, Question, Usage
from engiagent.agents.questions import SCHEMAS, ask
from engiagent.errors import EngiagentError
from engiagent.formulations.expansion import expand
from engiagent.verify.checking import check

MOST_READINGS: Final = 3
"""Of the text for requirements; what one overlooks another may see."""


@dataclass(frozen=True)
class Verifier:
    """Holds a blueprint against the text before anything is solved.

    Attributes
    ----------
    checks
        The deterministic checks; :func:`static_faults` unless told otherwise.
    """

    engine: Engine
    checks: Callable[[Board], tuple[Fault, ...]] | None = None
    name: AgentName = "verifier"

    def run(self, board: Board) -> Outcome:
        """Return what in the blueprint is not the text's."""
        if board.scripting:
            return self._reading(board)
        assert board.blueprint is not None
        assert board.problem is not None
        changes: dict[str, Any] = {}
        usage = Usage()
        faults = list((self.checks or static_faults)(board))
        news = False
        said: list[str] = []
        if self._reads(board):
            readings, together, usage, said = self._read(board)
            changes |= {"readings": readings, "requirements": together}
            before = board.requirements
            news = together is not None and (before is None or together.text != before.text)
        if not faults and self.engine.judges:
            wrong, spent, silent = self._judged(board)
            usage += spent
            faults += wrong
            if silent is not None:
                said.append(f"nobody compared the blueprint with the text: {silent.message}")
            clashes = [f for f in board.instruction.faults if f.kind == "infeasible"]
            if not wrong and clashes:
                changes["reviewed"] = True
                # That the text itself allows nothing is not shown: the model is at fault.
                faults += [] if news or _shown_infeasible(board) else clashes
        if said:
            changes["notes"] = tuple(dict.fromkeys([*board.notes, *said]))
        ordered = worst_first(faults)
        return Outcome(
            agent=self.name,
            status="failed" if ordered else "done",
            summary=ordered[0].message if ordered else "the blueprint is the text's",
            changes=changes,
            faults=ordered,
            usage=usage,
        )

    def _reading(self, board: Board) -> Outcome:
        """Return the demands of the text; there is no blueprint to hold against it."""
        if not self._reads(board):
            return Outcome(agent=self.name, status="done", summary="the demands are known")
        readings, together, usage, said = self._read(board)
        count = 0 if together is None else len(together.requirements.requirements)
        notes = tuple(dict.fromkeys([*board.notes, *said]))
        return Outcome(
            agent=self.name,
            status="done",
            summary=f"{count} demand(s) of the text",
            usage=usage,
            changes={"readings": readings, "requirements": together, "notes": notes},
        )

    def _reads(self, board: Board) -> bool:
        """Whether to take requirements from the text: once, and again where some may lack."""
        assert board.problem is not None
        if not self.engine.judges or board.problem.expert is not None:
            return False
        asked = {fault.kind for fault in board.instruction.faults}
        again = bool(asked & {"unread", "infeasible"})
        return board.readings == 0 or (again and board.readings < MOST_READINGS)

    def _read(self, board: Board) -> tuple[int, Extraction | None, Usage, list[str]]:
        """Read the text for requirements, again while the blueprint knows numbers they do not."""
        readings, together, usage = board.readings, board.requirements, Usage()
        said: list[str] = []
        while True:
            found, spent, more = self._extracted(board)
            readings, usage, together = readings + 1, usage + spent, merged(together, found)
            said += more
            settled = board.blueprint is None or not doubts(board.blueprint, together)
            if found is None or settled or readings >= MOST_READINGS:
                return readings, together, usage, said

    def _extracted(self, board: Board) -> tuple[Extraction | None, Usage, list[str]]:
        """Return the requirements that the engine finds in the text without the blueprint.

        Beside them, in words, which demands it found that nobody will check.
        """
        question = Question("verifier", "requirements", board, {}, SCHEMAS["requirements"])
        answer = ask(self.engine, question)
        if answer.value is None:
            why = "" if answer.fault is None else f": {answer.fault.message}"
            return None, answer.usage, [f"nobody read the demands of the text by themselves{why}"]
        assert board.problem is not None
        said = answer.value["requirements"]
        found = None if said is None else readable(said, board.problem)
        open_ = [f"{e['quote']!r} ({e['why']})" for e in answer.value["not_expressible"]]
        open_ += () if found is None else found.left_out
        return found, answer.usage, [f"a demand that was read is not checked: {w}" for w in open_]

    def _judged(self, board: Board) -> tuple[list[Fault], Usage, Fault | None]:
        """Return what the engine finds wrong, and why it said nothing where it did not."""
        values = {"blueprint": board.blueprint, "instruction": board.instruction}
        answer = ask(self.engine, Question("verifier", "judge", board, values, SCHEMAS["judge"]))
        if answer.value is None or answer.value["verdict"] != "wrong":
            return [], answer.usage, answer.fault
        assert board.problem is not None
        text = " ".join(board.problem.text.split())
        # An accusation counts only with words of the text behind it.
        return (
            [
                Fault(f["kind"], f"{f['quote']}: {f['why']}", f["place"], judged=True)
                for f in answer.value["findings"]
                if f["quote"].strip() and " ".join(f["quote"].split()) in text
            ],
            answer.usage,
            None,
        )


def static_faults(board: Board) -> tuple[Fault, ...]:
    """Return what can be said of a blueprint without an engine and without a schedule."""
    assert board.blueprint is not None
    assert board.problem is not None
    blueprint, problem = board.blueprint, board.problem
    free = () if board.program is None else free_states(board.program)
    idle = idle_numbers(blueprint, board.data, problem)
    return (*data_faults(board), *idle, *idle_files(blueprint, problem), *free)


def _shown_infeasible(board: Board) -> bool:
    return (board.certificate or {}).get("verdict") == "proven infeasible"


def data_faults(board: Board) -> tuple[Fault, ...]:
    """Return what the checker says of the blueprint's numbers, both ways, without a schedule."""
    assert board.blueprint is not None
    assert board.problem is not None
    try:
        certificate = check(board.problem, None, expand(board.blueprint)).to_dict()
    except EngiagentError as error:
        return (Fault("formulation", str(error)),)
    found = of_certificate(certificate)
    return tuple(f for f in found if f.kind.startswith("data-") or f.kind == "requirement-dropped")

"""The verifier: is it this problem that the blueprint models? Deterministic checks come first.

What needs judgement is asked in two separate questions: the hard requirements of the text, for
which the engine is not shown the blueprint, so that the same misreading does not come back as its
own confirmation; and whether the blueprint means what the text says.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from engiagent.agents.extraction import Extraction, merged, readable
from engiagent.agents.faults import of_certificate, worst_first
from engiagent.agents.protocol import AgentName, Board, Engine, Fault, Outcome, Question, Usage
from engiagent.agents.questions import SCHEMAS, ask
from engiagent.errors import EngiagentError

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
        assert board.blueprint is not None
        assert board.problem is not None
        changes: dict[str, Any] = {}
        usage = Usage()
        faults = list((self.checks or static_faults)(board))
        news = False
        if self._reads(board):
            found, usage = self._extracted(board)
            changes["readings"] = board.readings + 1
            changes["requirements"] = together = merged(board.requirements, found)
            before = board.requirements
            news = together is not None and (before is None or together.text != before.text)
        if not faults and self.engine.judges:
            wrong, spent, silent = self._judged(board)
            usage += spent
            faults += wrong
            if silent is not None:
                said = f"nobody compared the blueprint with the text: {silent.message}"
                changes["notes"] = (*board.notes, said)
            clashes = [f for f in board.instruction.faults if f.kind == "infeasible"]
            if not wrong and clashes:
                changes["reviewed"] = True
                # That the text itself allows nothing is not shown: the model is at fault.
                faults += [] if news or _shown_infeasible(board) else clashes
        ordered = worst_first(faults)
        return Outcome(
            agent=self.name,
            status="failed" if ordered else "done",
            summary=ordered[0].message if ordered else "the blueprint is the text's",
            changes=changes,
            faults=ordered,
            usage=usage,
        )

    def _reads(self, board: Board) -> bool:
        """Whether to take requirements from the text: once, and again where some may lack."""
        assert board.problem is not None
        if not self.engine.judges or board.problem.expert is not None:
            return False
        asked = {fault.kind for fault in board.instruction.faults}
        again = bool(asked & {"unread", "infeasible"})
        return board.readings == 0 or (again and board.readings < MOST_READINGS)

    def _extracted(self, board: Board) -> tuple[Extraction | None, Usage]:
        """Return the requirements that the engine finds in the text without the blueprint."""
        question = Question("verifier", "requirements", board, {}, SCHEMAS["requirements"])
        answer = ask(self.engine, question)
        if answer.value is None or answer.value["requirements"] is None:
            return None, answer.usage
        assert board.problem is not None
        return readable(answer.value["requirements"], board.problem), answer.usage

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
    from engiagent.agents.determined import free_states, idle_numbers

    assert board.blueprint is not None
    free = () if board.program is None else free_states(board.program)
    return (*data_faults(board), *idle_numbers(board.blueprint, board.data, board.problem), *free)


def _shown_infeasible(board: Board) -> bool:
    return (board.certificate or {}).get("verdict") == "proven infeasible"


def data_faults(board: Board) -> tuple[Fault, ...]:
    """Return what the checker says of the blueprint's numbers, both ways, without a schedule."""
    from engiagent.formulations import expand
    from engiagent.verify import check

    assert board.blueprint is not None
    assert board.problem is not None
    try:
        certificate = check(board.problem, None, expand(board.blueprint)).to_dict()
    except EngiagentError as error:
        return (Fault("formulation", str(error)),)
    found = of_certificate(certificate)
    return tuple(f for f in found if f.kind.startswith("data-") or f.kind == "requirement-dropped")

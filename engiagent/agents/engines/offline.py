"""The offline engine behind the protocol: plant blocks and stored readings; it judges nothing."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

from engiagent.agents.protocol import Answer, Board, Fault, Question, Usage
from engiagent.io.jsontext import loads_strict
from engiagent.readings.read import read


@dataclass(frozen=True)
class OfflineEngine:
    """Deterministic; the same problem gives the same answer, so that it is never asked twice."""

    name: str = "offline"
    judges: bool = False

    def ask(self, question: Question) -> Answer:
        """Return the reading of the board's problem; every other question is refused."""
        if question.kind != "analyse":
            message = f"the offline engine has no answer to '{question.kind}'"
            return Answer(None, Usage(), Fault("engine-refused", message))
        begun = perf_counter()
        value = self._analysis(question.board)
        return Answer(value, Usage(calls=1, seconds=perf_counter() - begun))

    def _analysis(self, board: Board) -> dict[str, Any]:
        assert board.problem is not None
        found = read(board.problem, board.overrides)
        blueprint = found.blueprint
        sufficiency = "complete" if found.complete else "undecided"
        if found.missing or found.contradictions:
            sufficiency = "missing" if found.missing else "contradictory"
        return {
            "sufficiency": sufficiency,
            "missing": [
                {"component": m.component, "quantity": m.quantity, "why": m.reason}
                for m in found.missing
            ],
            "contradictions": [
                {"quotes": list(gap.quotes), "why": gap.reason} for gap in found.contradictions
            ],
            "not_understood": [
                {"quote": quote, "why": gap.reason}
                for gap in found.not_understood
                for quote in gap.quotes or ("",)
            ],
            "blueprint": None if blueprint is None else loads_strict(blueprint.to_json()),
            "notes": list(found.notes),
        }

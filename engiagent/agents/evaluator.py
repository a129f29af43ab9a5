"""The evaluator: the certificate, and what is still wrong."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from engiagent.agents.faults import of_certificate, of_status
from engiagent.agents.protocol import AgentName, Board, Engine, Fault, Outcome
from engiagent.verify.claims import none_allowed
from engiagent.verify.verdicts import PROVEN

MOST_NAMED: Final = 8

Certifier = Callable[[Board], dict[str, Any]]


@dataclass(frozen=True)
class Evaluator:
    """Has the schedule certified."""

    engine: Engine
    certifier: Certifier
    name: AgentName = "evaluator"

    def run(self, board: Board) -> Outcome:
        """Return the certificate, and what is still wrong."""
        certificate = self.certifier(board)
        summary, faults = str(certificate["verdict"]), self._faults(certificate, board)
        return Outcome(self.name, summary, {"certificate": certificate}, faults)

    def _faults(self, certificate: dict[str, Any], board: Board) -> tuple[Fault, ...]:
        """Return what keeps a result from being good; nothing for an honest local optimum."""
        result = board.result
        said = () if result is None else of_status(result.status, result.reason)
        optimality = (certificate.get("levels") or {}).get("optimality") or {}
        names = [str(entry["constraint"]) for entry in optimality.get("conflict") or ()]
        clash = f"these clash: {', '.join(names[:MOST_NAMED])}" if names else ""
        said = tuple(replace(fault, suggestion=clash) for fault in said)
        if certificate["verdict"] in PROVEN:
            return ()
        if none_allowed(certificate) and not self.engine.judges:
            return ()  # nobody here can read the text again
        if board.meeting is not None and board.meeting.confirmed:
            said = ()  # two readings allow no plan: that is an answer
        # How well the optimum is shown is a grade of evidence, and nobody's fault.
        return (*said, *of_certificate(certificate))

"""The evaluator: the certificate, four scores, and whether to go on.

Feasibility comes from the certificate alone. The four scores are the published ones (information
extraction, domain reasoning, modelling and optimisation, uncertainty handling) by the rubric of
:mod:`engiagent.agents.scores`; what an engine adds to them is kept apart.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from engiagent.agents.extraction import unread
from engiagent.agents.faults import of_certificate, of_error, of_status
from engiagent.agents.protocol import AgentName, Board, Engine, Fault, Outcome, Question, Usage
from engiagent.agents.questions import SCHEMAS, ask
from engiagent.agents.scores import deterministic
from engiagent.agents.scripting import certified
from engiagent.agents.verifier import MOST_READINGS
from engiagent.errors import EngiagentError
from engiagent.run.certify import certify, not_shown, with_gaps
from engiagent.verify.claims import SHOWN_BEST, none_allowed
from engiagent.verify.verdicts import PROVEN

UNREAD: Final = (
    "the plan keeps what was read in the text, but a better one would keep it too: a demand of the "
    "text is not among the requirements, or the blueprint demands more than the text"
)
MOST_NAMED: Final = 8

Certifier = Callable[[Board], dict[str, Any]]


@dataclass(frozen=True)
class Evaluator:
    """Has the schedule certified and scored."""

    engine: Engine
    certifier: "Certifier | None" = None
    judged: bool = False
    name: AgentName = "evaluator"

    def run(self, board: Board) -> Outcome:
        """Return the certificate, the scores, and what is still wrong."""
        try:
            certificate = (self.certifier or certificate_of)(board)
        except EngiagentError as error:
            return Outcome(
                agent=self.name,
                status="failed",
                summary=str(error),
                faults=of_error(error),
                error=error,
            )
        scores = deterministic(certificate, board)
        changes: dict[str, Any] = {"certificate": certificate, "scores": scores}
        usage = Usage()
        faults = self._faults(certificate, board)
        if self.judged and self.engine.judges and not faults:
            opinion, usage = self._opinion(board, certificate)
            changes["opinion"] = opinion
        return Outcome(
            agent=self.name,
            status="failed" if faults else "done",
            summary=str(certificate["verdict"]),
            changes=changes,
            faults=faults,
            usage=usage,
        )

    def _faults(self, certificate: dict[str, Any], board: Board) -> tuple[Fault, ...]:
        """Return what keeps a result from being good; nothing for an honest local optimum."""
        result = board.result
        said = () if result is None else of_status(result.status, result.reason)
        said = tuple(replace(fault, suggestion=_clashing(certificate)) for fault in said)
        if certificate["verdict"] == "proven infeasible":
            return said if self.engine.judges and _by_itself(certificate, board) else ()
        if none_allowed(certificate) and not self.engine.judges:
            return ()  # nobody here can read the text again
        if certificate["verdict"] in PROVEN:
            return ()
        gaps = unread(board)
        unclear = [t for t in certificate.get("not_understood") or () if t not in gaps]
        found = (*said, *of_certificate({**certificate, "not_understood": unclear}))
        if not found and gaps and board.readings >= MOST_READINGS:
            return ()  # who could read has read; the certificate says what is left
        if not found and (gaps or _open(certificate, board)):
            return tuple(Fault("unread", text) for text in gaps) or (Fault("unread", UNREAD),)
        if found or certificate["verdict"] in ("feasible", "solved"):
            return found
        reasons = not_shown(certificate) or ["the checker could not establish it"]
        return (Fault("not-best", "; ".join(reasons)),)

    def _opinion(self, board: Board, certificate: dict[str, Any]) -> tuple[Any, Usage]:
        values = {"blueprint": board.blueprint, "certificate": certificate}
        question = Question("evaluator", "evaluate", board, values, SCHEMAS["evaluate"])
        answer = ask(self.engine, question)
        return answer.value or {}, answer.usage


def certificate_of(board: Board) -> dict[str, Any]:
    """Return the certificate of the newest schedule.

    Requirements that the engine took from the text count beside the blueprint's own; annotated
    ones of the problem take their place.
    """
    if board.scripting:
        return certified(board).to_dict()
    taken = board.requirements
    certificate = certify(
        board.problem,
        board.solution,
        board.blueprint,
        folder=board.data,
        name=board.name,
        requirements=None if taken is None else taken.requirements,
    )
    return with_gaps(certificate, unread(board)).to_dict()


def _clashing(certificate: dict[str, Any]) -> str:
    """Return which demands of the blueprint clash, by the proof that they do."""
    optimality = (certificate.get("levels") or {}).get("optimality") or {}
    names = [str(entry["constraint"]) for entry in optimality.get("conflict") or ()]
    return f"these clash: {', '.join(names[:MOST_NAMED])}" if names else ""


def _open(certificate: dict[str, Any], board: Board) -> bool:
    """Whether the blueprint's best plan might not be the text's, and reading again may tell."""
    best = board.result is not None and board.result.status == "optimal"
    taken = board.requirements is not None and board.readings < MOST_READINGS
    shown = certificate["plan"]["optimum"] in SHOWN_BEST
    return certificate["verdict"] in ("feasible", "solved") and best and taken and not shown


def _by_itself(certificate: dict[str, Any], board: Board) -> bool:
    """Whether only the blueprint says that nothing is feasible, and nobody looked at that yet.

    A model that demands too much proves its own infeasibility and not the problem's.
    """
    algebra = certificate["levels"].get("algebra") or {}
    return algebra.get("source") != "annotated" and not board.reviewed

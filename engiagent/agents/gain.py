"""What an evaluation comes to: put the result out, improve it, or start anew; and whether to go on.

A run goes on for as long as its rounds gain something. What a result is worth is the rank of its
verdict, and within it the mean of the evaluator's scores. A plan that already keeps the demands is
put out after some rounds that gained nothing; one that does not is worth every try that is left.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from engiagent.agents.faults import taxonomy, worst_first
from engiagent.agents.protocol import Board, Fault
from engiagent.verify.verdicts import VERDICTS

RANKS: Final = tuple(reversed(VERDICTS))
"""Verdicts from worthless to best."""
USABLE: Final = "solved"
"""The least that is worth putting out."""
ROUNDS: Final = 4
"""Rounds without a gain after which a usable result is put out."""
LEAST: Final = 0.01
"""Of a verdict's rank: what counts as a gain."""

Decision = Literal["output", "improve", "restart"]


def decision(faults: Sequence[Fault]) -> Decision:
    """Return what is to become of a result with these faults.

    It is put out without any; the text is read anew where that is who mends the worst.
    """
    if not faults:
        return "output"
    owners = taxonomy()[worst_first(faults)[0].kind].owners
    return "restart" if owners[:1] == ("analyzer",) else "improve"


def quality(certificate: Mapping[str, Any] | None, scores: Mapping[str, float]) -> float:
    """Return what a result is worth: the verdict's rank, and within it the mean score."""
    if certificate is None:
        return 0.0
    mean = sum(scores.values()) / len(scores) if scores else 0.0
    return RANKS.index(str(certificate["verdict"])) + min(mean, 0.999)


@dataclass
class Gains:
    """How results got better, evaluation by evaluation."""

    best: float = 0.0
    idle: int = 0

    def evaluated(self, board: Board, faults: Sequence[Fault]) -> dict[str, Any]:
        """Take in an evaluation; return what the routing record says of it."""
        now = quality(board.certificate, board.scores)
        gain = now - self.best
        self.idle = 0 if gain >= LEAST else self.idle + 1
        self.best = max(self.best, now)
        said = {
            "decision": decision(faults),
            "scores": dict(board.scores),
            "quality": round(now, 4),
            "gain": round(gain, 4),
        }
        return {**said, "judged": dict(board.opinion)} if board.opinion else said

    def exhausted(self) -> str | None:
        """Return why going on is not worth it; None while it is."""
        if self.best < RANKS.index(USABLE) or self.idle < ROUNDS:
            return None
        return f"the last {self.idle} rounds gained nothing"

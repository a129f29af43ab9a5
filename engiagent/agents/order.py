"""Just-in-time supervision of agents: each needs what another makes, looked at before each turn.

The rules are those of the registry's tools that the agents' cards name. A turn that would work on
what is not there is blocked once, with advice, and the board stays as it is; an advice that was not
taken ends the attempt.
"""

from collections.abc import Mapping
from typing import Final, Literal

from engiagent.agents.protocol import AgentName, Board, Fault, Outcome

Part = Literal["problem", "blueprint", "program", "solution"]

NEEDS: Final[Mapping[str, Part]] = {
    "analyzer": "problem",
    "modeler": "blueprint",
    "verifier": "blueprint",
    "solver": "program",
    "evaluator": "solution",
}
"""What an agent works on."""
MAKERS: Final[Mapping[Part, AgentName]] = {
    "blueprint": "analyzer",
    "program": "modeler",
    "solution": "solver",
}


def can_work(agent: str, board: Board) -> bool:
    """Whether an agent finds on the board what it works on; who is no agent never does."""
    return agent in NEEDS and lacking(agent, board) is None


def lacking(agent: str, board: Board) -> Part | None:
    """Return what an agent works on and the board does not have; None where nothing lacks."""
    part = NEEDS[agent]
    if board.scripting:  # the script stands for blueprint and program
        made = {"program": board.script is not None, "solution": board.scripted is not None}
        return part if agent == "analyzer" or not made.get(part, True) else None
    draft = agent == "modeler" and board.draft is not None
    computed = board.blueprint is not None and board.blueprint.kind == "definitions"
    made = {
        "blueprint": board.blueprint is not None or draft,
        "program": board.program is not None or computed,
        "solution": board.solution is not None,
    }
    return None if made.get(part, True) else part


def blocked(agent: AgentName, board: Board) -> Outcome | None:
    """Return the outcome of a turn that is not made, with advice; None where it may be made."""
    part = lacking(agent, board)
    if part is None:
        return None
    first = first_for(part, board)
    said = f"the {agent} is not sent: there is no {part} yet"
    fault = Fault("out-of-order", said, first, f"send the {first} first")
    return Outcome(agent=agent, status="failed", summary=said, faults=(fault,))


def first_for(part: Part, board: Board) -> AgentName:
    """Return who has to work first so that there is a part in the end."""
    if board.scripting:
        return "modeler" if board.script is None else "solver"
    maker = MAKERS.get(part, "analyzer")
    earlier = lacking(maker, board)
    return maker if earlier is None else first_for(earlier, board)

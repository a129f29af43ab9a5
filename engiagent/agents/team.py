"""The five agents with their coordinator, each turn recorded as a stage of a run."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engiagent.agents.analyzer import Analyzer
from engiagent.agents.budgets import Budget, Meter
from engiagent.agents.coordinator import Coordinator, OnTurn
from engiagent.agents.evaluator import Certifier, Evaluator
from engiagent.agents.memory import Memory
from engiagent.agents.modeler import Modeler, Solver
from engiagent.agents.protocol import Agent, AgentName, Board, Engine
from engiagent.agents.routing import Policy, Router
from engiagent.agents.verifier import Verifier
from engiagent.run.folder import RunFolder
from engiagent.solvers.result import OnProgress

STAGES: Final[Mapping[AgentName, str]] = {
    "analyzer": "analyse",
    "modeler": "compile",
    "verifier": "verify",
    "solver": "solve",
    "evaluator": "check",
}


@dataclass(frozen=True)
class Guidance:
    """How agents work together in a run; None for what fits the engine."""

    policy: Policy | None = None
    budget: Budget | None = None
    memory: Memory | None = None

    def asked(self) -> dict[str, Any]:
        """Return what a run's record says of it; nothing where nothing was given."""
        said: dict[str, Any] = {}
        if self.budget is not None:
            said["budget"] = dict(vars(self.budget))
        if self.policy is not None:
            said["policy"] = dict(vars(self.policy))
        if self.memory is not None:
            said["memory"] = str(self.memory.path)
        return said

    @classmethod
    def of_record(cls, asked: Mapping[str, Any]) -> "Guidance":
        """Return the guidance that a run's record says, but for its leave to run scripts.

        A folder may come from anybody; whoever goes on with it says so again.
        """
        budget, policy, memory = (asked.get(name) for name in ("budget", "policy", "memory"))
        return cls(
            None if policy is None else Policy(**{**policy, "code": False}),
            None if budget is None else Budget(**budget),
            None if memory is None else Memory(Path(memory), engine=str(asked.get("engine"))),
        )


ALONE: Final = Guidance()


def team(
    engine: Engine,
    folder: RunFolder,
    guidance: Guidance,
    certify: Certifier,
    progress: OnProgress | None = None,
    turn: OnTurn | None = None,
) -> Coordinator:
    """Return a coordinator with its agents, whose turns are stages of the run in a folder.

    An engine that cannot judge needs no verifier: what it could say, the checker says at the end.

    ``certify``: returns the certificate of the newest schedule.
    """
    policy = guidance.policy or Policy(verifier=engine.judges)
    agents: tuple[Agent, ...] = (
        Analyzer(engine),
        Modeler(engine),
        Verifier(engine),
        Solver(progress),
        Evaluator(engine, certify, policy.scored),
    )

    def stage(name: AgentName, board: Board) -> AbstractContextManager[Any]:
        computes = name == "solver" and board.program is None
        return folder.stage("compute" if computes else STAGES[name])

    return Coordinator(
        {agent.name: agent for agent in agents},
        Router(engine, policy, guidance.memory),
        Meter(guidance.budget or Budget()),
        guidance.memory,
        stage,
        turn,
        folder.route,
    )

"""The five agents with their coordinator, each turn recorded as a stage of a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engiagent.agents.analyzer import Analyzer
from engiagent.agents.budgets import Budget, Meter
from engiagent.agents.coordinator import Coordinator, OnRecord, OnTurn
from engiagent.agents.evaluator import Certifier, Evaluator
from engiagent.agents.memory import Forgetful, Memory, Remembers
from engiagent.agents.modeler import Modeler
from engiagent.agents.protocol import Agent, AgentName, Board, Engine, Outcome
from engiagent.agents.routing import Policy, Router
from engiagent.agents.solver import Claim, Solver
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
class Staged:
    """An agent whose turns stand in the trace of a run."""

    agent: Agent
    folder: RunFolder

    @property
    def name(self) -> AgentName:
        """Whose turn it is."""
        return self.agent.name

    def run(self, board: Board) -> Outcome:
        """Do the agent's work as a stage."""
        stage = STAGES[self.agent.name]
        if stage == "solve" and board.program is None:
            stage = "compute"
        with self.folder.stage(stage):
            return self.agent.run(board)


@dataclass(frozen=True)
class Guidance:
    """How agents work together in a run; None for what fits the engine."""

    policy: Policy | None = None
    budget: Budget | None = None
    memory: Remembers | None = None

    def asked(self) -> dict[str, Any]:
        """Return what a run's record says of it; nothing where nothing was given."""
        said: dict[str, Any] = {}
        if self.budget is not None:
            said["budget"] = dict(vars(self.budget))
        if self.policy is not None:
            said["policy"] = dict(vars(self.policy))
        if isinstance(self.memory, Memory):
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


@dataclass(frozen=True)
class Hooks:
    """What a run does around its agents' work.

    Attributes
    ----------
    certify
        Certificate of the newest schedule.
    claim
        Adds to a solution what a claim of infeasibility needs.
    """

    certify: Certifier
    claim: Claim | None = None
    progress: OnProgress | None = None
    turn: OnTurn | None = None
    record: OnRecord | None = None


def team(engine: Engine, folder: RunFolder, hooks: Hooks, guidance: Guidance) -> Coordinator:
    """Return a coordinator with its agents.

    An engine that cannot judge needs no verifier: what it could say, the checker says at the end.
    """
    policy = guidance.policy or Policy(verifier=engine.judges)
    memory = guidance.memory or Forgetful()
    agents: tuple[Agent, ...] = (
        Analyzer(engine),
        Modeler(engine),
        Verifier(engine),
        Solver(hooks.progress, hooks.claim),
        Evaluator(engine, hooks.certify, policy.scored),
    )
    return Coordinator(
        {agent.name: Staged(agent, folder) for agent in agents},
        Router(engine, policy, memory),
        Meter(guidance.budget or Budget()),
        memory,
        hooks.turn,
        hooks.record,
    )

"""What a run's agents did, as calls of the registry's tools: by their rules, kept, and made again.

A run has a session of :mod:`engiagent.tools`. After a turn of an agent the session holds the call
that the turn was, with the same arguments, rule and answer as when anybody else makes it; its work
is done already. The graph of these calls is ``calls.json``, which can be made again.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engiagent.agents.protocol import Board
from engiagent.agents.protocol import Outcome as Turn
from engiagent.agents.running import in_full
from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.io.files import open_inside
from engiagent.io.jsontext import loads_strict
from engiagent.run.folder import CALLS, PROBLEM, RunFolder
from engiagent.solvers.result import DEFAULT_GAP, SolveOptions
from engiagent.tools import Graph, Session
from engiagent.tools.modelling import Drafted, changed_content
from engiagent.tools.planning import Solved, check_content, compile_content, solve_content
from engiagent.tools.registry import Json, Outcome


@dataclass
class Calls:
    """The calls of one run: a session in its folder, with its copy of the problem loaded."""

    folder: RunFolder
    session: Session = field(init=False)
    _notes: int = 0
    _written: Blueprint | None = None

    def __post_init__(self) -> None:
        self.session = Session(self.folder.path)
        self._call("load_problem", {"path": PROBLEM})

    def keep(self, board: Board, turn: Turn) -> None:
        """Keep what a turn did; a script's turns and a verifier's are no calls of tools."""
        keepers = {
            "analyzer": self._analyzed,
            "modeler": self._modeled,
            "solver": self._solved,
            "evaluator": self._evaluated,
        }
        if not board.scripting and turn.agent in keepers:
            keepers[turn.agent](board, turn)
        self._notes = len(board.notes)
        self.folder.write(CALLS, self.session.graph.to_json())

    def _analyzed(self, board: Board, turn: Turn) -> None:
        if board.blueprint is not None and "blueprint" in turn.changes:
            self._drafted(board.blueprint)

    def _modeled(self, board: Board, turn: Turn) -> None:
        if "blueprint" not in turn.changes:
            return
        assert board.blueprint is not None
        if turn.repair and self._written is not None:
            self._drafted(self._written)  # a patch is of what an agent wrote, components and all
            self._call("patch_blueprint", {"operations": json.loads(turn.repair)})
        self._drafted(board.blueprint)
        if turn.error is not None:
            self._call("compile", {}, _raising(turn.error))
            return
        if in_full(board.blueprint) != board.blueprint:
            self._call("expand_blueprint", {})
        warnings = tuple(turn.changes.get("notes") or ())[self._notes :]
        content = compile_content(board.program, warnings)
        self._call("compile", {}, _giving(content, program=board.program))

    def _drafted(self, blueprint: Blueprint) -> None:
        """Have the session hold a blueprint, whoever wrote it."""
        state = self.session.state
        self._written = blueprint
        if not state.has("blueprint") or state.get("blueprint").blueprint != blueprint:
            work = _giving(changed_content(blueprint), blueprint=Drafted(blueprint))
            self._call("write_blueprint", {"document": blueprint.to_dict()}, work)

    def _solved(self, board: Board, turn: Turn) -> None:
        if board.solution is None or "solution" not in turn.changes:
            return
        solved = Solved(board.solution, board.result)
        work = _giving(solve_content(board.solution, board.result), solution=solved)
        self._call("solve", _options(board.options), work)

    def _evaluated(self, board: Board, turn: Turn) -> None:
        if board.certificate is None or "certificate" not in turn.changes:
            return
        given: Json = {}
        if board.requirements is not None:
            given["requirements"] = loads_strict(board.requirements.text)
        content = check_content(board.certificate)
        self._call("check", given, _giving(content, certificate=board.certificate))

    def _call(self, name: str, given: Json, work: Any = None) -> None:
        seen = self.session.call(name, given, work=work)
        if seen.status == "blocked":  # what an agent did against the rule is shown as that
            self.session.call(name, given, work=work)


def _giving(content: Json, **makes: Any) -> Callable[[Any, Json], Outcome]:
    return lambda state, given: Outcome(content, makes)


def _raising(error: EngiagentError) -> Callable[[Any, Json], Outcome]:
    def work(state: Any, given: Json) -> Outcome:
        raise error

    return work


def _options(options: SolveOptions) -> Json:
    """Return the options that the tool takes too, where somebody gave them."""
    given = {
        "time_limit": options.time_limit,
        "backend": options.backend,
        "gap": None if options.gap == DEFAULT_GAP else options.gap,
        "memory_limit": options.memory_limit_mb,
    }
    return {name: value for name, value in given.items() if value is not None}


def kept_calls(run: Path) -> Graph:
    """Return the calls that a run kept, for :func:`engiagent.tools.replay` in the run's folder."""
    if not (run / CALLS).is_file():
        raise InputError("the run kept no calls", str(run))
    text = open_inside(run, CALLS).decode("utf-8", errors="replace")
    return Graph.from_json(text, str(run / CALLS))

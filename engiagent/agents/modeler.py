"""The modeler, the solver and the evaluator: from a blueprint to a program, schedule, certificate.

A repair is a JSON patch (RFC 6902) of a blueprint against located findings, by whoever is asked for
it; solver and evaluator ask no engine.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from engiagent.agents.faults import data_faults, of_certificate, of_error, of_status, standing
from engiagent.agents.protocol import (
    NOTHING,
    AgentName,
    Board,
    Engine,
    Fault,
    Outcome,
    Question,
    ask,
    unanswered,
)
from engiagent.agents.scripting import executed, written
from engiagent.blueprint import Blueprint
from engiagent.blueprint.diagnostics import BlueprintError
from engiagent.blueprint.patching import PatchError
from engiagent.blueprint.patching import patched as apply_patch
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import Program
from engiagent.io.jsontext import dumps_canonical, loads_strict
from engiagent.run.stages import computed, solve_program, static_findings
from engiagent.solvers.result import OnProgress
from engiagent.solvers.selection import select
from engiagent.verify.claims import none_allowed
from engiagent.verify.verdicts import PROVEN

MOST_OPERATIONS: Final = 200
"""Of one patch; a longer one is another blueprint."""


def repaired(engine: Engine, board: Board, agent: AgentName) -> Outcome:
    """Ask for a patch against the findings of the instruction; return the patched blueprint.

    "Nothing to change" is an answer: an empty patch with its reason is recorded, and the findings
    are not put to anybody again.
    """
    blueprint = board.blueprint if board.draft is None else board.draft
    assert blueprint is not None
    values = {"instruction": board.instruction, "blueprint": blueprint}
    answer = ask(engine, Question(agent, "repair", board, values))
    if answer.value is None:
        return unanswered(agent, answer)
    patch, faults = answer.value["patch"], standing(board.instruction.faults)
    if not patch and isinstance(blueprint, Blueprint):
        note = f"nothing to change, says the {agent}: {answer.value['why']}"
        stands = board.stands | {fault.signature for fault in faults}
        changes = {"blueprint": blueprint, "stands": stands, "notes": (*board.notes, note)}
        return Outcome(agent, "nothing is to change", changes, usage=answer.usage)
    found = patched(blueprint, patch)
    if not isinstance(found, Blueprint):
        # What is still wrong stays known beside what is wrong with the patch.
        return Outcome(agent, found[0].message, faults=(*found, *faults), usage=answer.usage)
    same = () if board.draft is not None else unmended(found, board)
    if same:
        return Outcome(agent, "the repair changes nothing", faults=same, usage=answer.usage)
    text, summary = json.dumps(patch, ensure_ascii=False), "the blueprint is patched"
    return Outcome(agent, summary, {"blueprint": found}, usage=answer.usage, repair=text)


def unmended(blueprint: Blueprint | None, board: Board) -> tuple[Fault, ...]:
    """Return the faults of the instruction where a blueprint came back as it was."""
    faults = standing(board.instruction.faults)
    if blueprint is None or board.blueprint is None:
        return ()
    return faults if blueprint.sha256 == board.blueprint.sha256 else ()


def patched(
    blueprint: Blueprint | Mapping[str, Any], patch: list[Any]
) -> Blueprint | tuple[Fault, ...]:
    """Return a blueprint after a JSON patch, applied whole or not at all, or what is wrong."""
    if not patch:
        return (Fault("reply-malformed", "the patch is empty, so nothing is repaired"),)
    if len(patch) > MOST_OPERATIONS:
        said = f"the patch has {len(patch)} operations, at most {MOST_OPERATIONS} are taken"
        return (Fault("reply-malformed", said),)
    try:
        given = loads_strict(blueprint.to_json()) if isinstance(blueprint, Blueprint) else blueprint
        changed = apply_patch(given, patch)
    except PatchError as error:
        said = f"operation {error.operation} of the patch does not fit the blueprint: {error}"
        return (Fault("reply-malformed", said),)
    try:
        return Blueprint.from_json(dumps_canonical(changed))
    except BlueprintError as error:
        return of_error(error)
    except EngiagentError as error:
        return (Fault("blueprint-invalid", str(error)),)


@dataclass(frozen=True)
class Modeler:
    """Makes a blueprint compile, or where the language cannot say the problem writes a script."""

    engine: Engine
    name: AgentName = "modeler"

    def run(self, board: Board) -> Outcome:
        """Return the program of the blueprint, repaired first where there is something to mend."""
        if board.scripting:
            return written(self.engine, board)
        blueprint, usage, repair = board.blueprint, NOTHING, ""
        changes: dict[str, Any] = {"draft": None}
        if board.instruction.faults:
            found = repaired(self.engine, board, self.name)
            if found.faults:
                return found
            changes |= found.changes
            blueprint, usage, repair = changes["blueprint"], found.usage, found.repair
        assert blueprint is not None
        changes["blueprint"] = blueprint
        faults: tuple[Fault, ...] = ()
        error: EngiagentError | None = None
        if blueprint.kind == "definitions":
            # Nothing is compiled: what is wrong with definitions shows when they are computed.
            summary = "definitions are computed, not compiled"
        else:
            program, warnings, error = compiled(blueprint, board)
            changes["notes"] = (*changes.get("notes", board.notes), *warnings)
            if program is not None:
                changes["program"] = program
                summary = f"{program.column_count} columns, {program.row_count} rows"
            else:
                assert error is not None
                faults = of_error(error)
                if self.engine.judges and board.problem is not None:
                    # One repair for all: what is wrong with numbers is known already.
                    known = data_faults(board.having(blueprint=blueprint))
                    kinds = ("data-altered", "data-untraced")
                    faults += tuple(f for f in known if f.kind in kinds)
                summary = f"{len(faults)} finding(s): {faults[0].message}"
        return Outcome(self.name, summary, changes, faults, usage, repair, error)


def compiled(
    blueprint: Blueprint, board: Board
) -> tuple[Program | None, tuple[str, ...], EngiagentError | None]:
    """Return the program of a blueprint, warnings, and what keeps it from being compiled."""
    warnings: tuple[str, ...] = ()
    try:
        expanded = expand(blueprint)
        found = static_findings(expanded, board.data)
        warnings = found.warnings
        if found.error is not None:
            return None, warnings, found.error
        return compile_blueprint(expanded, board.data, found.elaboration), warnings, None
    except EngiagentError as error:
        return None, warnings, error


@dataclass(frozen=True)
class Solver:
    """Solves the newest program; asks nobody."""

    on_progress: OnProgress | None = None
    name: AgentName = "solver"

    def run(self, board: Board) -> Outcome:
        """Return a schedule, or why there is none."""
        if board.scripting:
            return executed(board)
        assert board.blueprint is not None
        if board.blueprint.kind == "definitions":
            changes: dict[str, Any] = {"solution": computed(board.blueprint, board.data)}
            return Outcome(self.name, "computed", changes)
        assert board.program is not None
        options = board.options
        if board.instruction.faults and options.backend is None:
            options = replace(options, backend=_another(board, board.program))
        solution, result = solve_program(board.program, options, self.on_progress)
        # Whatever it said goes to the evaluator: a claim of infeasibility needs its proof checked,
        # and a schedule at a limit is a schedule.
        summary = f"{result.solver}: {result.status}"
        return Outcome(self.name, summary, {"solution": solution, "result": result})


def _another(board: Board, program: Program) -> str | None:
    """Return a backend that has not had its turn with this program, None if there is none."""
    tried = board.result.solver.lower() if board.result is not None else ""
    others = select(program, board.options).alternatives
    usable = (other.backend for other in others if other.usable)
    return next((name for name in usable if name.lower() not in tried), None)


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

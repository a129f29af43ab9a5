"""Tools from a blueprint to a certificate: compiling, solving, checking and explaining."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.blueprint import Blueprint
from engiagent.errors import InputError
from engiagent.explain import Given, explain_result
from engiagent.formulations.classify import classify
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.exchange import write_lp, write_mps
from engiagent.formulations.expansion import expand
from engiagent.formulations.latex import emit_latex
from engiagent.formulations.program import Program
from engiagent.io.files import write_atomic
from engiagent.io.jsontext import dumps_canonical
from engiagent.io.schemawords import TEXT, record
from engiagent.run.certify import certify, with_gaps
from engiagent.run.folder import CERTIFICATE, SOLUTION
from engiagent.run.proofs import find_best
from engiagent.run.stages import computed, progress_text, solve_program, static_findings
from engiagent.solvers.arrays import SolutionArrays
from engiagent.solvers.result import Progress, SolveOptions, SolverResult
from engiagent.solvers.solution import load_arrays, save_solution
from engiagent.tools.modelling import SECONDS, Drafted, Posed, plain
from engiagent.tools.places import WORDS
from engiagent.tools.registry import (
    Argument,
    Held,
    Json,
    Outcome,
    State,
    Watch,
    declare_part,
    needed,
    shape,
    tool,
)
from engiagent.verify.certificate import Certificate
from engiagent.verify.claims import verdict_line
from engiagent.verify.requirements import parse_requirements

GROUP: Final = "plan"
declare_part("program", Held("compile"))
FORMS: Final = ("pyomo", "casadi", "cvxpy", "lp", "mps", "latex")
_POSITIVE: Final[Json] = {"type": "number", "exclusiveMinimum": 0}
_WAIT: Final = 60.0
_ACCOUNT: Final = "account.json"
_ARRAYS: Final = "result.npz"


@dataclass(frozen=True, eq=False)
class Solved:
    """A schedule, a dataset or the path of a file, and the solver's account of it.

    ``columns`` leads from quantities to columns of a file, where the names differ.
    """

    schedule: Any
    result: Any
    columns: Mapping[str, str] | None = None

    def save(self, folder: Path) -> None:
        """Write it into a folder of a stored session."""
        own: Json = {"columns": self.columns, "file": None, "result": None}
        if isinstance(self.schedule, Path):
            own["file"] = str(self.schedule)
        else:
            save_solution(self.schedule, folder / SOLUTION)
        if self.result is not None:
            found = vars(self.result)
            arrays: Json = {key: v for key, v in found.items() if isinstance(v, np.ndarray)}
            np.savez(folder / _ARRAYS, **arrays)
            own["result"] = {key: v for key, v in found.items() if key not in arrays}
        write_atomic(folder / _ACCOUNT, json.dumps(own))

    @classmethod
    def load(cls, folder: Path) -> "Solved":
        """Read what :meth:`save` wrote."""
        own = json.loads((folder / _ACCOUNT).read_text("utf-8"))
        file, result = own["file"], own["result"]
        schedule = load_arrays(folder / SOLUTION) if file is None else Path(file)
        if result is not None:
            with np.load(folder / _ARRAYS, allow_pickle=False) as arrays:
                result = SolverResult(**result, **arrays)
        return cls(schedule, result, own["columns"])


declare_part("solution", Held("solve", (), Solved.save, Solved.load))
declare_part(
    "certificate", Held.text("check", CERTIFICATE, Certificate.to_json, Certificate.from_json)
)


@tool(
    "write",
    returns=shape(
        "kind: one of programme, definitions; class: text or null; convexity?: text; "
        "columns? rows?: count; warnings?: list of text"
    ),
    needs=("blueprint",),
    uses=("problem",),
    writes=("program",),
)
def compile(state: State, arguments: Json) -> Outcome:
    """Compile the blueprint into a program for solvers, and say of which class it is."""
    drafted: Drafted = state.get("blueprint")
    posed: Posed = state.get("problem")
    if drafted.blueprint.kind == "definitions":
        return Outcome({"kind": "definitions", "class": None}, {"program": None})
    found = static_findings(expand(drafted.blueprint), posed.folder)
    if found.error is not None:
        raise found.error
    program = compile_blueprint(drafted.blueprint, posed.folder)
    kind = classify(program)
    content: Json = {
        "kind": "programme",
        "class": kind.problem_class,
        "convexity": kind.convexity,
        "columns": len(program.column_lower),
        "rows": len(program.row_lower),
        "warnings": list(found.warnings),
    }
    return Outcome(content, {"program": program})


@tool(
    "write",
    SECONDS,
    Argument("memory_limit", _POSITIVE, "The most memory beyond the process's own.", unit="MB"),
    Argument(
        "gap", {"type": "number", "minimum": 0}, "Relative gap that ends the search.", unit="1"
    ),
    Argument("backend", {"type": "string"}, "The solver; chosen by the kind of program if absent."),
    returns=shape(
        "status: text; reason?: text or null; objective?: number or null; unit?: text or null; "
        "bound?: number or null; solver?: text or null"
    ),
    needs=("program",),
    uses=("blueprint", "problem"),
    writes=("solution",),
)
def solve(state: State, arguments: Json) -> Outcome:
    """Solve the program in a child process and keep the schedule.

    What the solver says of it is no verdict; only 'check' gives one.
    """
    drafted: Drafted = state.get("blueprint")
    if drafted.blueprint.kind == "definitions":
        schedule = computed(drafted.blueprint, state.get("problem").folder)
        return Outcome({"status": "computed"}, {"solution": Solved(schedule, None)})
    names = {"memory_limit": "memory_limit_mb", "gap": "gap", "backend": "backend"}
    given = {field: arguments[name] for name, field in names.items() if name in arguments}
    options = SolveOptions(time_limit=arguments.get("time_limit", _WAIT), **given)
    schedule, result = solve_watched(state.get("program"), options, state.watch)
    content = {name: getattr(result, name) for name in ("status", "reason", "objective")}
    unit, bound = (schedule.attrs.get(name) for name in ("objective_unit", "bound"))
    content |= {"unit": unit, "bound": bound, "solver": result.solver}
    return Outcome(plain(content), {"solution": Solved(schedule, result)})


def solve_watched(
    program: Program, options: SolveOptions, watch: Watch
) -> tuple[SolutionArrays, SolverResult]:
    """Solve while the caller hears how far it has come, and may stop it."""

    def listen(seen: Progress) -> None:
        if watch.said is not None:
            watch.said(seen.elapsed, progress_text(seen))

    listener = None if watch.said is None else listen
    return solve_program(program, options, listener, cancel=watch.cancel)


@tool(
    "write",
    Argument(
        "requirements",
        {"type": "object"},
        "Demands that were read in the text without the "
        "blueprint, as a requirements document; a problem with annotations needs none.",
    ),
    Argument(
        "not_understood",
        {"type": "array", "items": {"type": "string"}},
        "Sentences of the text that nobody could read; any leaves the reading open.",
    ),
    returns=shape(
        "verdict line: text; plan reading: object; overrides: list of object; "
        "objective: objective; bound: object or null; violations: list of object; "
        "missing contradictions not_understood: list of any; sha256: text; "
        "levels: by name text; best?: object",
        WORDS,
    ),
    needs=("solution",),
    uses=("blueprint", "problem"),
    writes=("certificate",),
)
def check(state: State, arguments: Json) -> Outcome:
    """Have the schedule checked by the checker, which trusts no solver: the certificate.

    A schedule from a file is also told how far it is from the best that a solver finds.
    """
    drafted: Drafted = state.get("blueprint")
    posed: Posed = state.get("problem")
    solved: Solved = state.get("solution")
    given = arguments.get("requirements")
    stated = None if given is None else parse_requirements(dumps_canonical(given), "requirements")
    certificate = certify(
        posed.problem,
        solved.schedule,
        drafted.blueprint,
        folder=posed.folder,
        name=posed.name,
        mapping=solved.columns,
        requirements=stated,
        overrides=drafted.values,
    )
    unclear = (*drafted.not_understood, *(arguments.get("not_understood") or ()))
    certificate = with_gaps(certificate, unclear)
    content, goal = check_content(certificate.to_dict()), certificate.objective
    if solved.result is None and goal is not None and goal.get("value") is not None:
        best = find_best(drafted.blueprint, posed.folder, SolveOptions(time_limit=_WAIT))
        content |= {} if best is None else {"best": best.beside(goal)}
    return Outcome(content, {"certificate": certificate})


def check_content(certificate: Mapping[str, Any]) -> Json:
    """Return what a caller is told of a certificate."""
    levels = {name: level["status"] for name, level in certificate["levels"].items()}
    names = (
        *("verdict", "plan", "reading", "overrides", "objective", "bound", "violations"),
        *("missing", "contradictions", "not_understood", "sha256"),
    )
    told = {"line": verdict_line(certificate), "levels": levels}
    found: Json = plain({name: certificate[name] for name in names} | told)
    return found


@tool(
    "read",
    SECONDS,
    returns=shape("schema kind problem summary: text", more=True),
    needs=("solution",),
    uses=("program", "blueprint", "problem"),
)
def explain(state: State, arguments: Json) -> Outcome:
    """Say which demands clash, what has no limit, or what holds the plan back.

    Of a limit that binds it says what more of it is worth.
    """
    solved: Solved = state.get("solution")
    if solved.result is None:
        raise InputError("only a plan that 'solve' made can be explained")
    posed: Posed = state.get("problem")
    full = expand(state.get("blueprint").blueprint)
    given = Given(blueprint=full, folder=posed.folder, problem=posed.problem, name=posed.name)
    seconds = arguments.get("time_limit", 30.0)
    found = explain_result(given, state.get("program"), solved.result, seconds=seconds)
    return Outcome(plain(found.to_dict()))


@tool(
    "read",
    needed("form", {"enum": list(FORMS)}, "The form."),
    returns=record({"form": {"enum": list(FORMS)}, "text": TEXT}),
    needs=("blueprint",),
    uses=("problem",),
)
def emit(state: State, arguments: Json) -> Outcome:
    """Return the blueprint in a form that other tools read."""
    blueprint, folder = state.get("blueprint").blueprint, state.get("problem").folder
    form = arguments["form"]
    return Outcome({"form": form, "text": emitted(blueprint, folder, form)})


def emitted(blueprint: Blueprint, folder: Path, form: str) -> str:
    """Return a blueprint in one of :data:`FORMS`."""
    from engiagent.formulations.pyomo_script import emit_pyomo
    from engiagent.formulations.scripts.casadi_script import emit_casadi
    from engiagent.formulations.scripts.cvxpy_script import emit_cvxpy

    writers = {"pyomo": emit_pyomo, "casadi": emit_casadi, "cvxpy": emit_cvxpy, "latex": emit_latex}
    if form in writers:
        return writers[form](blueprint, folder)
    write = write_lp if form == "lp" else write_mps
    return write(compile_blueprint(blueprint, folder))

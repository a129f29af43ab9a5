"""Tools from a problem to a program: reading it, looking at it, and changing its blueprint."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint import Blueprint
from engiagent.blueprint.analysis import analyse as analysed
from engiagent.blueprint.definitions import check_definitions
from engiagent.blueprint.patching import patched
from engiagent.errors import InputError
from engiagent.explain.audit import audit_blueprint, audit_problem
from engiagent.formulations.expansion import expand
from engiagent.io.files import write_atomic
from engiagent.io.jsontext import dumps_canonical, loads_strict
from engiagent.io.schemawords import list_of, record
from engiagent.run.edits import set_value, with_changes
from engiagent.run.folder import BLUEPRINT, PROBLEM, is_run_folder
from engiagent.run.inputs import name_of, problem_beside, problem_folder_of, stored_problem
from engiagent.text import Problem
from engiagent.tools.places import CHANGED, WORDS, inside
from engiagent.tools.registry import (
    Argument,
    Held,
    Json,
    Outcome,
    State,
    declare_part,
    needed,
    shape,
    tool,
)
from engiagent.verify.findings import finite_or_none

SECONDS: Final = Argument(
    "time_limit", {"type": "number", "exclusiveMinimum": 0}, "The most time to take.", unit="s"
)
GROUP: Final = "blueprint"
declare_part("problem", Held("load_problem", ("blueprint", "program", "solution", "certificate")))
_TEXT: Final[Json] = {"type": "string", "minLength": 1}
_VALUE: Final[Json] = {
    "anyOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}, "minItems": 1}]
}
_DIAGNOSTIC: Final = shape(
    "code severity path: text; column: integer or null; name: text or null; message: text; "
    "suggestion: text or null"
)
_OPERATION: Final[Json] = {
    "type": "object",
    "required": ["op", "path"],
    "properties": {
        "op": {"enum": ["add", "remove", "replace", "move", "copy", "test"]},
        "path": {"type": "string"},
        "from": {"type": "string"},
        "value": {},
    },
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Posed:
    """What a session works on: a problem or a blueprint alone, and where its data lie."""

    problem: Problem | None
    folder: Path
    name: str


@dataclass(frozen=True)
class Drafted:
    """A blueprint, and what of its problem was missing or not understood when it was read.

    ``values`` are those that the user has set, as ``--set`` takes them.
    """

    blueprint: Blueprint
    missing: tuple[str, ...] = ()
    not_understood: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)

    def having(self, document: Json) -> "Drafted":
        """Return it with another document; an unreadable one is an ``InputError``."""
        return replace(self, blueprint=Blueprint.from_dict(document))

    def save(self, folder: Path) -> None:
        """Write it into a folder of a stored session."""
        own = {key: value for key, value in vars(self).items() if key != "blueprint"}
        write_atomic(folder / "draft.json", dumps_canonical(own))
        write_atomic(folder / BLUEPRINT, self.blueprint.to_json())

    @classmethod
    def load(cls, folder: Path) -> "Drafted":
        """Read what :meth:`save` wrote."""
        own = loads_strict((folder / "draft.json").read_text("utf-8"), "draft.json")
        lists = {key: tuple(own[key]) for key in ("missing", "not_understood")}
        return cls(Blueprint.load(folder / BLUEPRINT), **{**own, **lists})


declare_part("blueprint", Held("analyse", (), Drafted.save, Drafted.load))


@tool(
    "write",
    needed("path", _TEXT, "A problem file or folder, a run's copy of one, or a blueprint (.json)."),
    returns=shape(
        "problem: text; title? text?: text; data?: by name by name text or null; "
        "sha256?: by name text; blueprint? kind?: text"
    ),
    group="problem",
    writes=("problem", "blueprint"),
)
def load_problem(state: State, arguments: Json) -> Outcome:
    """Load a problem, or a blueprint that stands for one, from the session's folder."""
    path = inside(state.root, arguments["path"])
    if path.name == PROBLEM and is_run_folder(path.parent):
        return _loaded(stored_problem(path.parent) or Problem.load(path))
    if Blueprint.is_in(path):
        blueprint = Blueprint.load(path)
        problem = problem_beside(path)
        name = problem.id if problem is not None else name_of(path)
        posed = Posed(problem, problem_folder_of(path), name)
        read: Json = {"problem": name, "blueprint": blueprint.sha256, "kind": blueprint.kind}
        return Outcome(read, {"problem": posed, "blueprint": Drafted(blueprint)})
    return _loaded(Problem.load(path))


def _loaded(problem: Problem) -> Outcome:
    data = {
        name: {column: entry.unit for column, entry in file.columns.items()}
        for name, file in problem.data.items()
    }
    content = {"problem": problem.id, "title": problem.title, "text": problem.text, "data": data}
    posed = Posed(problem, problem.folder, problem.id)
    return Outcome(plain({**content, "sha256": dict(problem.sha256)}), {"problem": posed})


@tool(
    "write",
    Argument(
        "values",
        {"type": "object", "additionalProperties": {"type": "string"}},
        "Values that the text does not give, by slot, each a text with its unit, as "
        '{"battery.charge_efficiency": "0.95"}.',
    ),
    returns=shape(
        "blueprint: text or null; missing not_understood: list of text; elements?: elements", WORDS
    ),
    needs=("problem",),
    group="problem",
    writes=("blueprint",),
)
def analyse(state: State, arguments: Json) -> Outcome:
    """Take the blueprint that the problem's plant block or its stored reading gives.

    What is not understood or missing is named and nothing is guessed; prose is not read.
    """
    from engiagent.readings.read import read

    posed = state.get("problem")
    if posed.problem is None:
        raise InputError("there is no text to read: a blueprint was loaded, not a problem")
    values = arguments.get("values") or {}
    found = read(posed.problem, values)
    missing, unclear = found.lacking, found.unclear
    content: Json = {"missing": list(missing), "not_understood": list(unclear)}
    if found.blueprint is None:
        return Outcome({**content, "blueprint": None})
    drafted = Drafted(found.blueprint, missing, unclear, values)
    return Outcome({**content, **changed_content(found.blueprint)}, {"blueprint": drafted})


@tool(
    "read",
    SECONDS,
    returns=shape(
        "schema problem verdict: text; findings: list of object; not_understood notes: list of text"
    ),
    needs=("problem",),
    uses=("blueprint",),
    group="problem",
)
def audit(state: State, arguments: Json) -> Outcome:
    """Say whether the problem gives enough to be solved, and whether what it gives can hold."""
    posed = state.get("problem")
    seconds = arguments.get("time_limit", 30.0)
    if posed.problem is not None and not state.has("blueprint"):
        return Outcome(plain(audit_problem(posed.problem, seconds=seconds).to_dict()))
    blueprint = state.get("blueprint").blueprint
    found = audit_blueprint(
        blueprint, posed.folder, posed.problem, name=posed.name, seconds=seconds
    )
    return Outcome(plain(found.to_dict()))


@tool(
    "read",
    returns=record({"diagnostics": list_of(_DIAGNOSTIC)}),
    needs=("blueprint",),
    uses=("problem",),
)
def lint(state: State, arguments: Json) -> Outcome:
    """List what static analysis finds in the blueprint: names, shapes, units, unused data."""
    blueprint, folder = state.get("blueprint").blueprint, state.get("problem").folder
    if blueprint.kind == "definitions":
        found = check_definitions(blueprint, folder)
    else:
        found = analysed(expand(blueprint), folder).diagnostics
    rows = [{name: getattr(item, name) for name in _DIAGNOSTIC["properties"]} for item in found]
    return Outcome(plain({"diagnostics": rows}))


@tool(
    "write",
    needed("document", {"type": "object"}, "The blueprint, as docs and schema have it."),
    Argument(
        "not_understood",
        {"type": "array", "items": _TEXT},
        "Sentences of the text that it does not account for; any leaves the reading open.",
    ),
    returns=CHANGED,
    needs=("problem",),
    writes=("blueprint",),
)
def write_blueprint(state: State, arguments: Json) -> Outcome:
    """Take a blueprint that somebody wrote of the problem in place of one that was read."""
    unclear = tuple(arguments.get("not_understood") or ())
    return _changed(Drafted(Blueprint.from_dict(arguments["document"]), not_understood=unclear))


@tool("write", returns=CHANGED, needs=("blueprint",), writes=("blueprint",))
def expand_blueprint(state: State, arguments: Json) -> Outcome:
    """Write out the components' variables and constraints, so that each can be seen and patched."""
    drafted: Drafted = state.get("blueprint")
    if drafted.blueprint.kind == "definitions":
        raise InputError("a blueprint of definitions has no components to write out")
    return _changed(replace(drafted, blueprint=expand(drafted.blueprint)))


@tool(
    "write",
    needed(
        "operations",
        {"type": "array", "items": _OPERATION, "minItems": 1, "maxItems": 200},
        "A JSON patch (RFC 6902); a step into a list may be the name of the element.",
    ),
    returns=CHANGED,
    needs=("blueprint",),
    repeatable=False,
    writes=("blueprint",),
)
def patch_blueprint(state: State, arguments: Json) -> Outcome:
    """Change the blueprint by a JSON patch, which is applied whole or not at all."""
    drafted: Drafted = state.get("blueprint")
    before = drafted.blueprint.to_dict()
    document = patched(before, arguments["operations"])
    return _changed(drafted.having(with_changes(before, document, excused=False)))


@tool(
    "write",
    needed("name", _TEXT, "A parameter, or a component's slot as battery.energy_capacity."),
    needed(
        "value",
        _VALUE,
        "The number, or one for each element of its index; its unit is the argument 'unit'.",
    ),
    needed("unit", _TEXT, "The unit of the value, 1 for a plain number."),
    returns=shape("before: any; blueprint: text; elements: elements", WORDS),
    needs=("blueprint",),
    writes=("blueprint",),
)
def set_parameter(state: State, arguments: Json) -> Outcome:
    """Give a parameter or a component's slot another value, in any unit of its dimension."""
    drafted: Drafted = state.get("blueprint")
    document = drafted.blueprint.to_dict()
    name, value, unit = (arguments[key] for key in ("name", "value", "unit"))
    text = f"{value} {unit}"
    before = set_value(document, name, value, unit, f"--set {name}={text}")
    changed = replace(drafted.having(document), values={**drafted.values, name: text})
    return _changed(changed, before=before)


def _changed(drafted: Drafted, **more: Any) -> Outcome:
    return Outcome({**more, **changed_content(drafted.blueprint)}, {"blueprint": drafted})


def changed_content(blueprint: Blueprint) -> Json:
    """Return what a caller is told of a blueprint that is new: the names of what it holds."""
    core = blueprint.core
    elements = {
        "kind": blueprint.kind,
        "sets": [item.name for item in core.sets],
        "parameters": [item.name for item in core.parameters],
        "decision_variables": [item.name for item in core.decision_variables],
        "components": {item.name: item.model for item in core.components},
        "constraints": [item.constraint_id or item.name for item in core.constraints],
    }
    return {"blueprint": blueprint.sha256, "elements": elements}


def plain(value: Any) -> Any:
    """Return plain JSON values; what is no finite number becomes null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return finite_or_none(value)
    if value is None or isinstance(value, str | int):
        return value
    return str(value)

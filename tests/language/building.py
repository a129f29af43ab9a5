"""From a case file to a blueprint: names become fields, boilerplate is filled in."""

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.written import listing

Json = dict[str, Any]

KEYS = set(
    listing("""[about, sets, parameters, variables, expressions, components, constraints, objective,
      report, definitions, equations, draws, design, claims, files, expect, xfail]""")
)
EXPECT = set(
    listing("""[elements, values, matrix, bounds, objective, class, convexity, optimum, solution,
      status, computed, chosen, diagnostics, refused]""")
)


def read_case(path: Path) -> Json:
    """Return a case; a key that does not exist is an error, lest an expectation be overlooked."""
    case = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    unknown = (set(case) - KEYS) | (set(case.get("expect") or {}) - EXPECT)
    if unknown or not case.get("about") or not case.get("expect"):
        raise ValueError(f"{path.name}: 'about' and 'expect' are needed; unknown: {unknown}")
    result: Json = case
    return result


def blueprint_of(case: Json) -> Json:
    """Return the blueprint of a case as plain JSON."""
    core: Json = {
        "sets": _items(case.get("sets"), "name"),
        "parameters": [_lists(p, "index", "keys") for p in _items(case.get("parameters"), "name")],
        "decision_variables": [_variable(v) for v in _items(case.get("variables"), "name")],
        "constraints": [
            _lists(c, "forall") for c in _items(case.get("constraints"), "constraint_id")
        ],
    }
    if case.get("expressions"):
        items = _items(case["expressions"], "name")
        core["expressions"] = [_lists(item, "index") for item in items]
    if case.get("components"):
        items = _items(case["components"], "name")
        core["components"] = [{"parameters": {}} | item for item in items]
    computed = {
        "definitions": [_lists(d, "index") for d in _items(case.get("definitions"), "name")],
        "equations": [_lists(d, "index") for d in _items(case.get("equations"), "name")],
        "draws": [_lists(d, "index") for d in _items(case.get("draws"), "name")],
        "claims": [_lists(c, "forall") for c in _items(case.get("claims"), "claim_id")],
        "design": _design(case["design"]) if case.get("design") else None,
    }
    core |= {group: items for group, items in computed.items() if items}
    if case.get("report"):
        core["report"] = case["report"]
    if case.get("objective"):
        core["objective_function"] = _objective(case["objective"])
    return {
        "schema": "engiagent-blueprint/1",
        "kind": "definitions" if any(computed.values()) else "programme",
        "modeling_context": {"problem_essence": case["about"]},
        "core_model_elements": core,
    }


def _items(given: Any, key: str) -> list[Json]:
    """Return declarations as a list; a text alone is an expression."""
    if isinstance(given, list):
        return given
    return [
        {key: str(name)} | (item if isinstance(item, dict) else {"expression": item})
        for name, item in (given or {}).items()
    ]


def _lists(item: Json, *fields: str) -> Json:
    return item | {f: [item[f]] for f in fields if isinstance(item.get(f), str)}


def _variable(item: Json) -> Json:
    full = _lists({"lower": 0, "upper": 100} | item, "index")
    if full.get("type") == "binary":
        full = {k: v for k, v in full.items() if k in item or k not in ("lower", "upper")}
        full = _lists(full, "index")
    return {k: v for k, v in full.items() if v != "none"}


def _design(given: Json) -> Json:
    rest = {k: v for k, v in given.items() if k not in ("minimize", "maximize")}
    sense = "minimize" if "minimize" in given else "maximize"
    own = {"sense": sense, "merit": given[sense]} if sense in given else {}
    return rest | own | {"choices": _items(given.get("choices"), "name")}


def _objective(given: Json) -> Json:
    rest = dict(given)
    for sense in ("minimize", "maximize"):
        if sense in rest:
            rest["sense"] = sense
            rest["expression"] = rest.pop(sense)
    return rest


def with_fragment(document: Json, fragment: Json) -> Json:
    """Put a fragment into a model; what has a name that is there takes its place."""
    core = document["core_model_elements"]
    for group, items in fragment.items():
        if group == "kind":
            document["kind"] = items
            core |= {"decision_variables": [], "constraints": []}
            del core["objective_function"]
        elif items is None:
            del core[group]
        elif isinstance(items, list):
            key = {"constraints": "constraint_id", "claims": "claim_id"}.get(group, "name")
            new = {item[key] for item in items}
            core[group] = [item for item in core.get(group, []) if item[key] not in new] + items
        else:
            core[group] = items
    return document

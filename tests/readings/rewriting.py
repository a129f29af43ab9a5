"""A reference blueprint written in another way by rule: what an honest second reading may be.

Every symbol has another name, components are algebra, parameters are numbers in other units, rows
are turned and scaled, bounds are rows, and the greatest value in a goal is a variable of its own.
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from engiagent.agents.meeting import Nomenclature, Side, nomenclature, solve_reading
from engiagent.blueprint import Blueprint
from engiagent.blueprint.elements import freeze, thaw
from engiagent.blueprint.grammar import Compare, Reduce, parse, walk
from engiagent.formulations.expansion import expand
from engiagent.solvers.result import SolveOptions
from engiagent.units.unit import conversion, parse_unit
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.levels.stated import zeros
from tests.blueprints import constraint
from tests.written import listing

CORPUS = Path(__file__).parents[2] / "problems"
OPTIONS = SolveOptions(gap=1e-7, time_limit=20.0)
OTHERS = {"kW": "W", "MW": "kW", "kWh": "MWh", "MWh": "kWh", "EUR/MWh": "EUR/kWh"}
OTHERS |= {"EUR/kWh": "EUR/MWh", "%": "1", "degC": "degF", "h": "min"}
_TOKEN = re.compile(
    r"\"[^\"]*\"|'[^']*'|(?<![\w.])\d[\w.]*(?:[+-]\d+)?\s*\[[^\]]*\]|[A-Za-z_][\w.]*"
)
_TEXTS = tuple(
    listing("""[expression, where, forall, index, lower, upper, initial, weight, deviation, limit,
      tolerance, scenario, binder, type, of, probabilities]""")
)
_TURNED = {"<=": ">=", ">=": "<=", "==": "=="}
Json = dict[str, Any]


@cache
def reference(name: str) -> tuple[Side, Nomenclature]:
    """Return the solved reference blueprint of a corpus problem, and its nomenclature."""
    folder = CORPUS / name
    blueprint = Blueprint.load(folder / "expert" / "blueprint.json")
    side = solve_reading(blueprint, folder, OPTIONS, isolate=False)
    return side, nomenclature(blueprint, folder)


def rewritten(blueprint: Blueprint, folder: Path, names: Nomenclature) -> Blueprint:
    """Return a blueprint that states the same in another way."""
    full = expand(blueprint)
    core: Json = thaw(full.core)
    core.pop("components", None)
    core.pop("report", None)
    _epigraphs(core, full, folder)
    _inline(core)
    _bounds_as_rows(core)
    for number, row in enumerate(core["constraints"]):
        row |= {"name": f"statement {number}", "constraint_id": f"B{number}"}
        _turn(row, core, number)
    for variable in core["decision_variables"]:
        known = names.entry(variable.get("quantity") or variable["name"])
        if known is not None:
            variable["quantity"] = known.name
        else:
            variable["role"] = "auxiliary"
    goal = core.get("objective_function")
    if goal is not None:
        goal.pop("components", None)
    _rename(core)
    document = {
        "schema": full.schema,
        "kind": "programme",
        "modeling_context": {"problem_essence": "another reading"},
        "core_model_elements": core,
    }
    return Blueprint.from_dict(document)


def _mapped(value: Any, change: Callable[[str], str], keys: tuple[str, ...]) -> None:
    """Change every text under some keys, in place."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if key == "source_reference":
            continue
        if isinstance(item, dict) or (isinstance(item, list) and key not in keys):
            _mapped(item, change, keys)
        elif isinstance(item, list):
            value[key] = [change(x) if isinstance(x, str) else x for x in item]
        elif isinstance(item, str) and (key in keys or (key == "value")):
            value[key] = change(item)


def _replacing(names: dict[str, str]) -> Callable[[str], str]:
    return lambda text: _TOKEN.sub(lambda m: names.get(m[0], m[0]), text)


def _rename(core: Json) -> None:
    kinds = ("sets", "parameters", "decision_variables", "expressions")
    named = [item for kind in kinds for item in core.get(kind, [])]
    names = {item["name"]: f"r{k}_{item['name'][::-1]}" for k, item in enumerate(named)}
    for item in named:
        for key in ("description", "symbol"):
            item.pop(key, None)
        item["name"] = names[item["name"]]
    _mapped(core, _replacing(names), _TEXTS)


def _inline(core: Json) -> None:
    """Write scalar parameters as numbers with a unit, where only rows, bounds and goal use them."""
    kinds = ("constraints", "expressions", "decision_variables")
    filters = [x.get("where") for kind in kinds for x in core.get(kind, [])]
    others = str([core["sets"], [p.get("value") for p in core["parameters"]], filters])
    plain = {}
    for p in list(core["parameters"]):
        number = p.get("value")
        single = isinstance(number, int | float) and not isinstance(number, bool)
        if not single or set(p) & {"index", "type", "uncertain"}:
            continue
        if re.search(rf"\b{p['name']}\b", others) or not isinstance(p.get("unit", "1"), str):
            continue
        unit = p.get("unit", "1")
        other = OTHERS.get(unit, unit)
        factor, shift = conversion(parse_unit(unit), parse_unit(other))
        value = number * factor + shift
        text = f"{abs(value)!r}[{other}]"
        plain[p["name"]] = f"(-{text})" if value < 0 else text
        core["parameters"].remove(p)
        goal = core.get("objective_function") or {}
        places = [*core["constraints"], *core["decision_variables"], goal, *goal.get("terms", ())]
        for place in places if "source_reference" in p else ():
            texts = [str(place.get(key)) for key in ("expression", "lower", "upper", "penalty")]
            if re.search(rf"\b{p['name']}\b", " ".join(texts)):
                given = (place.get("source_reference") or [], p["source_reference"])
                both = [s if isinstance(s, list) else [s] for s in given]
                place["source_reference"] = both[0] + both[1]
    _mapped(core, _replacing(plain), ("expression", "lower", "upper", "initial", "weight"))


def _bounds_as_rows(core: Json) -> None:
    for v in core["decision_variables"]:
        if v.get("where") or v.get("type", "continuous") != "continuous":
            continue
        index = [b if " in " in b else f"b{k} in {b}" for k, b in enumerate(v.get("index", []))]
        if any("(" in b for b in index):
            continue
        v["index"] = index
        at = ", ".join(b.partition(" in ")[0] for b in index)
        ref = f"{v['name']}[{at}]" if at else v["name"]
        for key, op in (("lower", ">="), ("upper", "<=")):
            limit = v.pop(key, None)
            if limit is not None:
                text, row_id = f"{ref} {op} {limit}", f"{v['name']}_{key}"
                row = constraint(text, constraint_id=row_id, name=key) | {"forall": index}
                row |= {k: v[k] for k in ("source_reference",) if k in v}
                core["constraints"].append(row)
        if not index:
            v.pop("index")


def _turn(row: Json, core: Json, number: int) -> None:
    """Write the right side of a row first, and scale it where no temperature stands in it."""
    node, text = parse(row["expression"]), row["expression"]
    if not isinstance(node, Compare) or len(node.ops) != 1 or node.ops[0] not in _TURNED:
        return
    if row.get("hard") is False:
        return
    left, right = (text[slice(*part.span)] for part in node.operands)
    warm = any(
        re.search(rf"\b{item['name']}\b", text) and str(item.get("unit")) in ("degC", "K", "degF")
        for kind in ("parameters", "decision_variables", "expressions")
        for item in core.get(kind, [])
    )
    if warm or re.search(r"\[(degC|degF|K)\]", text) or re.fullmatch(r"[\s\d.e+-]+", right):
        row["expression"] = f"({right}) {_TURNED[node.ops[0]]} ({left})"
    else:
        factor = 2 + number % 5
        row["expression"] = f"{factor}*({right}) {_TURNED[node.ops[0]]} {factor}*({left})"


def _epigraphs(core: Json, full: Blueprint, folder: Path) -> None:
    """Write the greatest value in a goal that is minimised as a variable above all of them."""
    goal = core.get("objective_function") or {}
    text = goal.get("expression")
    if text is None or goal["sense"] != "minimize" or goal.get("scenario"):
        return
    nodes = [n for n in walk(parse(text)) if isinstance(n, Reduce) and n.function == "max"]
    node = next(iter(nodes), None)
    if node is None or re.search(r"-[^-]*$", text[: node.span[0]]):
        return
    declarations = Declarations(full.core, folder)
    bench = Bench(declarations, zeros(declarations))
    unit = str(bench.evaluator.evaluate(text[slice(*node.span)]).unit)
    over = [f"{b.names[0]} in {b.set}" for b in node.binders]
    text_of_row = f"highest >= {text[slice(*node.body.span)]}"
    row = constraint(text_of_row, *over, constraint_id="epigraph", name="above all")
    if node.where is not None:
        row["where"] = text[slice(*node.where.span)]
    core["constraints"].append(row)
    core["decision_variables"].append(
        {"name": "highest", "type": "continuous", "unit": unit, "role": "auxiliary"}
    )
    goal["expression"] = text[: node.span[0]] + "highest" + text[node.span[1] :]


def edited(blueprint: Blueprint, change: Callable[[Json], None]) -> Blueprint:
    """Return a blueprint whose core, as plain lists and dictionaries, was changed."""
    core: Json = thaw(blueprint.core)
    change(core)
    document = blueprint.to_dict() | {"core_model_elements": core}
    return Blueprint.from_dict(freeze(document) and document)

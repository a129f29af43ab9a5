"""From declared components back to a plant file."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from engiagent.errors import InputError
from engiagent.formulations.components import MODELS
from engiagent.io.plainyaml import dump_yaml
from engiagent.plant.horizon import BY
from engiagent.plant.sizing import KEYS
from engiagent.plant.slots import SERIES, WHOLES
from engiagent.plant.statement import COST, PROFIT, Statement

_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_BARE: Final = re.compile(r"[^\s\[\]\"+*()]+")
_PART: Final = re.compile(r"([\d.]+(?:[eE][-+]?\d+)?)\*(.+)")
_TOKEN: Final = re.compile(
    r"(?P<number>[\d.]+(?:[eE][-+]?\d+)?)(?:\[(?P<unit>[^\]]+)\])?"
    r"|(?P<name>[A-Za-z_]\w*)(?:\[(?:p, )?t\])?"
)
_EACH: Final = re.compile(r"\[p\]|(?<=\[)p, ")
"""The index of a representative horizon, which a plant file does not write."""
_LITERAL: Final = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*\[([^\]]+)\]\s*")


def to_yaml(statement: Statement) -> str:
    """Return what is declared as the text of a plant file."""
    known_keys = ("start", "step", "periods", "zone")
    time = {key: statement.time[key] for key in known_keys if key in statement.time}
    if not isinstance(time["step"], str):
        raise InputError("steps of several lengths have no form in a plant file")
    known = {entry["name"]: entry for entry in statement.parameters}
    filled: dict[str, str] = {}
    components = {}
    for entry in statement.components:
        model = MODELS[entry["model"]]
        written: dict[str, Any] = {"model": entry["model"]}
        written |= entry.get("options", {})
        written |= (joined := entry.get("connections", {}))
        for name in SERIES.keys() & joined.keys():
            unit, place = SERIES[name], f"{entry['name']}.{name}"
            written[name] = {k: _value(v, unit, known, place) for k, v in joined[name].items()}
        if "bus" in model.connections:
            written.setdefault("bus", "none")
        for slot, value in entry["parameters"].items():
            if value in statement.sizes:
                written[slot] = _size(statement.sizes[value], known)
                continue
            unit = model.slots[slot].in_currency(statement.currency).unit
            share = _share(value, entry["parameters"], known)
            written[slot] = share or _value(value, unit, known, f"{entry['name']}.{slot}")
            if isinstance(value, str) and value in known:
                filled[value] = f"{entry['name']}.{slot}"
        rules = {r for r in _rules(entry["parameters"].values(), known) if not r.startswith(BY)}
        if len(rules) > 1:
            raise InputError(f"columns of {entry['name']} are aligned by several rules")
        components[entry["name"]] = written | ({"align": rules.pop()} if rules else {})
    goal = statement.goal
    also = statement.also if goal["expression"] in (COST, PROFIT) else ()
    sign = " - " if goal["expression"] == PROFIT else " + "
    aim = {goal["sense"]: _dotted(sign.join([goal["expression"], *also]), filled)}
    if goal["unit"] != statement.currency:
        aim["unit"] = goal["unit"]
    weights: Any = None if statement.weight is None else known[statement.weight]["value"]
    if statement.representative is not None:
        columns = [r.removeprefix(BY) for r in _rules(known, known) if r.startswith(BY)]
        shares = {name: _quantity(number, "1") for name, number in weights.items()}
        time["representative"] = {"column": (columns or ["horizon"])[0], "weights": shares}
    elif weights is not None:
        time["weight"] = weights
    document: dict[str, Any] = {
        "title": statement.title,
        "currency": statement.currency,
        "horizon": time,
        "components": components,
    }
    requirements = {e["constraint_id"]: _requirement(e, filled) for e in statement.constraints}
    if requirements:
        document["requirements"] = requirements
    if statement.cases:
        document["cases"] = {
            case["name"]: _case(case, statement, filled) for case in statement.cases
        }
    if statement.without:
        document["baseline"] = {"without": list(statement.without)}
    if statement.rule is not None:
        document["baseline"] = {"rule": statement.rule}
    return dump_yaml(document | {"goal": aim})


def _case(case: Mapping[str, Any], statement: Statement, filled: Mapping[str, str]) -> Any:
    """Return what a case gives other values, by slot."""
    known = {entry["name"]: entry for entry in statement.parameters}
    sizes = {size["variable"]: value for value, size in statement.sizes.items()}
    found = {}
    for operation in case["patch"]:
        _, part, place, *rest = operation["path"].strip("/").split("/")
        entry = getattr(statement, {"decision_variables": "decisions"}.get(part, part))[int(place)]
        value, unit = operation["value"], entry.get("unit", "1")
        if part == "components":
            slot, unit = f"{entry['name']}.{rest[-1]}", MODELS[entry["model"]].slots[rest[-1]].unit
        elif part == "parameters":
            slot = filled[entry["name"]]
        else:
            chosen = sizes[entry["name"]]
            slots = ((c["name"], s) for c in statement.components for s in c["parameters"].items())
            slot = next(f"{name}.{key}" for name, (key, v) in slots if v == chosen)
        owner = next(c for c in statement.components if c["name"] == slot.partition(".")[0])
        share = _share(value, owner["parameters"], known)
        found[slot] = share or _value(value, unit, known, f"case {case['name']}: {slot}")
    return found


def _size(size: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return a size that is to be chosen as it is stated in a plant file."""
    about = str(size["variable"]).removesuffix("size")

    def shown(what: str) -> str:
        entry = known[f"{about}{what}"]
        return _quantity(entry["value"], entry["unit"])

    found: dict[str, Any] = {"between": [shown("least"), shown("most")]}
    found |= {key: shown(key) for key in KEYS if f"{about}{key}" in known and key != "profile"}
    if size["profile"] is not None:
        found["profile"] = _value(size["profile"], "1", known, "a profile")
    return found


def _value(value: Any, unit: str, known: Mapping[str, Any], place: str) -> Any:
    if not isinstance(value, str):
        return _quantity(value, unit)
    literal = _LITERAL.fullmatch(value)
    if literal is not None:
        return f"{literal[1]} {literal[2]}"
    if value in ("true", "false"):
        return value
    if value.startswith("(") and value.endswith(")"):
        items = [item.strip() for item in value[1:-1].rstrip(", ").split(",")]
        return [_value(item, unit, known, place) for item in items]
    if re.fullmatch(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?", value):
        return _quantity(float(value), unit)
    entry = known.get(value)
    if entry is None:
        return _expression(value, known, place)
    if isinstance(entry.get("value"), str):
        return _expression(entry["value"], known, place)
    column = _column(entry)
    if column is not None:
        return column
    if isinstance(entry["value"], list):
        return [_quantity(number, entry["unit"]) for number in entry["value"]]
    return _quantity(entry["value"], entry["unit"])


def _column(entry: Mapping[str, Any]) -> str | None:
    """Return a parameter that is read from a file as its column; None of any other."""
    source = entry.get("source_reference")
    if "data" in entry:
        named = str(entry["data"])
    elif isinstance(source, Mapping) and source.get("kind") == "file" and "column" in source:
        named = f"{source['file']}#{source['column']}"
    else:
        return None
    file, _, name = named.partition("#")
    shown = name if _BARE.fullmatch(name) else f'"{name}"'
    return f"{file}#{shown} [{entry['unit']}]" if entry["unit"] != "1" else f"{file}#{shown}"


def _rules(values: Iterable[Any], known: Mapping[str, Any]) -> set[str]:
    """Return the rules by which the columns in some slots are aligned."""
    named = [name for value in values for name in _NAME.findall(str(value)) if name in known]
    inner = [name for n in named for name in _NAME.findall(str(known[n].get("value")))]
    sources = [known[name].get("source_reference") for name in (*named, *inner) if name in known]
    return {s["relation"] for s in sources if isinstance(s, Mapping) and "relation" in s}


def _share(value: Any, slots: Mapping[str, Any], known: Mapping[str, Any]) -> str | None:
    """Return what is a share of another slot of its component in per cent."""
    entry = known.get(value) if isinstance(value, str) else None
    text = value if entry is None else entry.get("value")
    found = _PART.fullmatch(text) if isinstance(text, str) else None
    wholes = [str(slots[slot]) for slot in WHOLES if slot in slots]
    if found is None or found[2].strip("()") not in wholes:
        return None
    return f"{100 * float(found[1]):.15g} %"


def _expression(text: str, known: Mapping[str, Any], place: str) -> str:
    """Return an expression over parameters as one over quantities and columns."""

    def written(match: re.Match[str]) -> str:
        entry = known.get(match["name"] or "")
        found = None if entry is None else _column(entry)
        if match["unit"]:
            return f"{match['number']} {match['unit']}"
        if entry is not None and found is None and isinstance(entry.get("value"), int | float):
            found = _quantity(entry["value"], entry["unit"])
        if found is None and match["name"]:
            raise InputError(
                f"{place} has no form in a plant file",
                found=repr(text[:80]),
                expected="a quantity, a column or a list of quantities",
            )
        return found or match[0]

    return _TOKEN.sub(written, text)


def _quantity(number: float, unit: str) -> str:
    shown = f"{float(number)!r}".removesuffix(".0")
    return shown if unit == "1" else f"{shown} {unit}"


def _dotted(text: str, filled: Mapping[str, str]) -> str:
    """Return an expression in which a parameter of a slot goes by the slot's name."""
    return re.sub(r"(?<![\w.])[A-Za-z]\w*", lambda m: filled.get(m[0], m[0]), text)


def _requirement(entry: Mapping[str, Any], filled: Mapping[str, str]) -> dict[str, Any]:
    over = [binder for binder in entry.get("forall") or () if binder != "p in P"]
    found = {"for": ", ".join(over)} if over else {}
    if entry.get("where"):
        found["where"] = _dotted(entry["where"], filled)
    found["must"] = _dotted(entry["expression"], filled)
    if entry.get("penalty"):
        found["penalty"] = str(entry["penalty"]["weight"])
    return {key: _EACH.sub("", text) for key, text in found.items()}

"""From declared components back to a plant file."""

import re
from collections.abc import Mapping
from io import StringIO
from typing import Any, Final

from engiagent.errors import InputError
from engiagent.formulations.components import MODELS
from engiagent.plant.sizing import KEYS
from engiagent.plant.statement import Statement

_LITERAL: Final = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*\[([^\]]+)\]\s*")


def to_yaml(statement: Statement) -> str:
    """Return what is declared as the text of a plant file."""
    from ruamel.yaml import YAML  # here, since every run imports this package

    time = {
        k: v for k, v in statement.time.items() if k not in ("name", "kind", "source_reference")
    }
    if not isinstance(time["step"], str):
        raise InputError("steps of several lengths have no form in a plant file")
    known = {entry["name"]: entry for entry in statement.parameters}
    filled: dict[str, str] = {}
    components = {}
    for entry in statement.components:
        model = MODELS[entry["model"]]
        written: dict[str, Any] = {"model": entry["model"]}
        written |= entry.get("options", {})
        written |= entry.get("connections", {})
        if "bus" in model.connections:
            written.setdefault("bus", "none")
        for slot, value in entry["parameters"].items():
            if value in statement.sizes:
                written[slot] = _size(statement.sizes[value], known)
                continue
            unit = model.slots[slot].in_currency(statement.currency).unit
            written[slot] = _value(value, unit, known, f"{entry['name']}.{slot}")
            if isinstance(value, str) and value in known:
                filled[value] = f"{entry['name']}.{slot}"
        components[entry["name"]] = written
    if statement.also:
        raise InputError("a further cost beside those of components has no form in a plant file")
    goal = statement.goal
    aim = {goal["sense"]: _dotted(goal["expression"], filled)}
    if goal["unit"] != statement.currency:
        aim["unit"] = goal["unit"]
    if statement.weight is not None:
        time["weight"] = known[statement.weight]["value"]
    document: dict[str, Any] = {
        "title": statement.title,
        "currency": statement.currency,
        "horizon": time,
        "components": components,
    }
    requirements = {e["constraint_id"]: _requirement(e, filled) for e in statement.constraints}
    if requirements:
        document["requirements"] = requirements
    if statement.without:
        document["baseline"] = {"without": list(statement.without)}
    if statement.rule is not None:
        document["baseline"] = {"rule": statement.rule}
    out = StringIO()
    YAML(pure=True).dump(document | {"goal": aim}, out)
    return out.getvalue()


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
    if entry is None or isinstance(entry.get("value"), str):
        raise InputError(
            f"{place} has no form in a plant file",
            found=repr(value[:80]),
            expected="a quantity, a column or a list of quantities",
        )
    if "data" in entry:
        return f"{entry['data']} [{entry['unit']}]" if entry["unit"] != "1" else entry["data"]
    if isinstance(entry["value"], list):
        return [_quantity(number, entry["unit"]) for number in entry["value"]]
    return _quantity(entry["value"], entry["unit"])


def _quantity(number: float, unit: str) -> str:
    shown = f"{float(number)!r}".removesuffix(".0")
    return shown if unit == "1" else f"{shown} {unit}"


def _dotted(text: str, filled: Mapping[str, str]) -> str:
    """Return an expression in which a parameter of a slot goes by the slot's name."""
    return re.sub(r"(?<![\w.])[A-Za-z]\w*", lambda m: filled.get(m[0], m[0]), text)


def _requirement(entry: Mapping[str, Any], filled: Mapping[str, str]) -> dict[str, Any]:
    found = {"for": ", ".join(entry.get("forall") or ())} if entry.get("forall") else {}
    if entry.get("where"):
        found["where"] = _dotted(entry["where"], filled)
    found["must"] = _dotted(entry["expression"], filled)
    if entry.get("penalty"):
        found["penalty"] = str(entry["penalty"]["weight"])
    return found

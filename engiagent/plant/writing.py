"""From declared components back to a plant file."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from engiagent.errors import InputError
from engiagent.formulations.components import MODELS
from engiagent.plant.statement import Statement

_PLAIN: Final = re.compile(r"[A-Za-z0-9.°%][\w.°%/()#*+ -]*(?<! )")
_LITERAL: Final = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*\[([^\]]+)\]\s*")
_PORTS: Final = ("bus",)


def to_yaml(statement: Statement) -> str:
    """Return what is declared as the text of a plant file.

    Raises
    ------
    InputError
        When something in it has no form in a plant file, as an expression over parameters.
    """
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
        written |= {
            port: "none" for port in _PORTS if port in model.connections and port not in written
        }
        for slot, value in entry["parameters"].items():
            unit = model.slots[slot].unit.replace("EUR", statement.currency)
            written[slot] = _value(value, unit, known, f"{entry['name']}.{slot}")
            if isinstance(value, str) and value in known:
                filled[value] = f"{entry['name']}.{slot}"
        components[entry["name"]] = written
    goal = statement.goal or {"sense": "minimize", "expression": "0", "unit": statement.currency}
    if statement.also:
        raise InputError("a further cost beside those of components has no form in a plant file")
    aim = {goal["sense"]: _dotted(goal["expression"], filled)}
    if goal["unit"] != statement.currency:
        aim["unit"] = goal["unit"]
    document: dict[str, Any] = {
        "title": statement.title,
        "currency": statement.currency,
        "horizon": time,
        "components": components,
    }
    if statement.constraints:
        document["requirements"] = {
            entry["constraint_id"]: _requirement(entry, filled) for entry in statement.constraints
        }
    return "\n".join(_lines(document | {"goal": aim})) + "\n"


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


def _lines(value: Mapping[str, Any], indent: str = "") -> list[str]:
    lines = []
    for key, item in value.items():
        if isinstance(item, Mapping) and item:
            lines += [f"{indent}{_scalar(key)}:", *_lines(item, indent + "  ")]
        elif isinstance(item, list):
            lines.append(f"{indent}{_scalar(key)}: {_flow(item)}")
        else:
            lines.append(f"{indent}{_scalar(key)}: {_scalar(item)}")
    return lines


def _flow(item: Any) -> str:
    if isinstance(item, Mapping):
        return "{" + ", ".join(f"{_scalar(k)}: {_flow(v)}" for k, v in item.items()) + "}"
    if isinstance(item, list | tuple):
        return f"[{', '.join(map(_flow, item))}]"
    return json.dumps(str(item), ensure_ascii=False) if isinstance(item, str) else _scalar(item)


def _scalar(item: Any) -> str:
    if isinstance(item, bool):
        return "yes" if item else "no"
    text = _quantity(item, "1") if isinstance(item, float) else str(item)
    plain = _PLAIN.fullmatch(text) and ": " not in text and " #" not in text
    return text if plain else json.dumps(text, ensure_ascii=False)

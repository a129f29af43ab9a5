"""The reference page of the language, made from the grammar, the schema and the table of units.

What the page says in words, and every example, stands in ``docs/reference.yaml``; what is allowed
comes from the code. ``python docs/_ext/reference.py`` prints it.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engiagent.blueprint.document import MAX_BYTES, schema
from engiagent.blueprint.explanations import explanations
from engiagent.blueprint.functions import ELEMENTARY
from engiagent.blueprint.grammar import FUNCTIONS, LOGICAL, MAX_DEPTH, MAX_LENGTH, REDUCTIONS
from engiagent.units.unit import COUNTS, CURRENCIES, Unit, known_units, parse_unit, spellings
from engiagent.units.unit import MAX_LENGTH as MAX_UNIT_LENGTH

TEXTS = Path(__file__).resolve().parents[1] / "reference.yaml"
# Kinds of units, each by one of its units; money and counts come apart.
DIMENSIONS = {
    "pure numbers": "1",
    "time": "s",
    "frequency": "Hz",
    "length": "m",
    "area": "m2",
    "volume": "m3",
    "flow": "gpm",
    "mass": "kg",
    "energy": "J",
    "power": "W",
    "temperature difference": "K",
    "force": "N",
    "pressure": "Pa",
    "current": "A",
    "voltage": "V",
    "resistance": "ohm",
    "charge": "Ah",
    "amount of substance": "mol",
    "slots without a calendar": "timeunit",
}

_HEAD = """\
# Reference of the blueprint language

Made by `python docs/_ext/reference.py` from the grammar, the schema
and the table of units; change those, or the texts in [reference.yaml](reference.yaml), and not this
page. `tests/test_reference.py` runs every example. The guide is [language.md](language.md).

[The model of the examples](#the-model-of-the-examples) · [Expressions](#expressions) ·
[Functions](#functions) · [Sets](#sets) · [Parameters](#parameters) · [Variables](#variables) ·
[Constraints](#constraints) · [Objectives](#objectives) · [Computed answers](#computed-answers) ·
[Fields](#fields) · [Units](#units) · [Diagnostics](#diagnostics)
"""


def load_constructs() -> dict[str, Any]:
    """Return the texts and examples of the page from their YAML file and the functions' records."""
    from ruamel.yaml import YAML

    loaded: dict[str, Any] = YAML(typ="safe").load(TEXTS.read_text("utf-8"))
    for name, function in ELEMENTARY.items():
        usual = {
            "signature": f"{name}(a)",
            "meaning": function.meaning,
            "units": "of a pure number, a pure number",
            "expression": f"{name}(1)",
            "gives": float(function.value(np.ones(1))[0]),
        }
        loaded["functions"][name] = usual | loaded["functions"].get(name, {})
    return loaded


def reference_page(constructs: Mapping[str, Any]) -> str:
    """Return the whole page as Markdown.

    Parameters
    ----------
    constructs
        The texts and examples, as :func:`load_constructs` returns them.
    """
    parts = [
        _HEAD,
        _model(constructs),
        _expressions(constructs),
        _functions(constructs),
        _group(constructs, "set_kinds", "Sets", "`kind` of a set"),
        _group(constructs, "parameter_forms", "Parameters", "What a `value` may be"),
        _group(constructs, "uncertainty", "Uncertain parameters", "`set` of `uncertain`", level=3),
        _group(constructs, "variable_types", "Variables", "`type` of a variable, and two fields"),
        _group(constructs, "constraint_forms", "Constraints", "Forms; logic is in Functions"),
        _group(constructs, "objectives", "Objectives", "`combination` of an objective"),
        _group(constructs, "risks", "Risk", "`measure` of a risk over scenarios", level=3),
        _group(constructs, "computed", "Computed answers", "Blocks of a blueprint `definitions`"),
        _fields(),
        _units(),
        _diagnostics(),
    ]
    return "\n".join(parts)


# --- the language ------------------------------------------------------------------------------


def _model(constructs: Mapping[str, Any]) -> str:
    point = ", ".join(f"`{name}` = {_number(v)}" for name, v in constructs["point"].items())
    return (
        "## The model of the examples\n\n"
        f"```json\n{constructs['model']}```\n\n"
        f"Expressions with variables are evaluated at {point}, in the variables' units. A fragment "
        "is put into\nthe model, where a part of the same name takes the place of the old.\n"
    )


def _expressions(constructs: Mapping[str, Any]) -> str:
    rows = [
        (_code(e["name"]), e["meaning"], e.get("units", ""), _example(e))
        for e in constructs["operators"]
    ]
    limits = (
        f"An expression has at most {MAX_LENGTH} characters and {MAX_DEPTH} levels, a unit at most "
        f"{MAX_UNIT_LENGTH}\ncharacters, a blueprint at most {MAX_BYTES // 10**6} MB.\n"
    )
    return (
        "## Expressions\n\nFrom the weakest binding to the strongest; brackets bind first.\n\n"
        + _table(("written", "means", "units", "example"), rows)
        + "\n"
        + limits
    )


def _functions(constructs: Mapping[str, Any]) -> str:
    entries = constructs["functions"]
    names = sorted({*FUNCTIONS, *REDUCTIONS})
    values = [name for name in names if name not in LOGICAL]
    rows = [
        (
            _code(entries[name]["signature"]),
            _arguments(name),
            entries[name]["meaning"],
            entries[name].get("units", ""),
            _example(entries[name]),
        )
        for name in values
    ]
    text = "## Functions\n\n"
    text += _table(("function", "arguments", "means", "units", "example"), rows)
    text += "\n### Logic\n\nFunctions that state a constraint and have no value.\n"
    for name in LOGICAL:
        signature = _code(entries[name]["signature"])
        text += f"\n**{signature}** ({_arguments(name)} arguments): {entries[name]['meaning']}.\n"
        text += _fragment(entries[name], constructs["model"])
    return text


def _arguments(name: str) -> str:
    """Return how many arguments a function takes; a reduction takes a body and its binders."""
    kinds = []
    if name in FUNCTIONS:
        fewest, most = FUNCTIONS[name]
        kinds.append(str(fewest) if fewest == most else f"{fewest} to {most}")
    if name in REDUCTIONS:
        kinds.append("over a set")
    return ", or ".join(kinds)


def _group(
    constructs: Mapping[str, Any], group: str, title: str, words: str, level: int = 2
) -> str:
    text = f"{'#' * level} {title}\n\n{words}.\n"
    for name, entry in constructs[group].items():
        fields = ", ".join(map(_code, entry.get("fields", ())))
        text += f"\n**`{name}`**: {entry['meaning']}.{f' Fields: {fields}.' if fields else ''}\n"
        text += _fragment(entry, constructs["model"])
    return text


def _fragment(entry: Mapping[str, Any], model: str) -> str:
    """Return a fragment with what comes of it when it is put into the model."""
    found = []
    for name, labels in entry.get("elements", {}).items():
        found.append(f"elements of {_code(name)}: {', '.join(map(_label, labels))}")
    if "optimum" in entry:
        core = json.loads(model)["core_model_elements"] | json.loads(entry["add"])
        unit = core["objective_function"].get("unit", "")
        found.append(f"optimum {_number(entry['optimum'])} {unit}".rstrip())
    for kind in ("solution", "values"):
        found += [f"{_code(name)} = {_number(v)}" for name, v in entry.get(kind, {}).items()]
    return f"\n```json\n{entry['add']}```\n\nGives {'; '.join(found)}.\n"


def _example(entry: Mapping[str, Any]) -> str:
    """Return an example on one line: the expression, its binder, its values and its unit."""
    over = f" for {_code(entry['for'])}" if "for" in entry else ""
    unit = f" {entry['unit']}" if "unit" in entry else ""
    return f"{_code(entry['expression'])}{over}: {_number(entry['gives'])}{unit}"


# --- the schema --------------------------------------------------------------------------------


def _fields() -> str:
    text = (
        "## Fields\n\nOf the JSON Schema, which `engiagent schema` prints; **required** fields are "
        "bold. A field that is\nnot here is an error.\n"
    )
    whole = schema()
    objects = [("document", whole), *_objects(whole["$defs"])]
    nested = [item for name, part in objects for item in _nested(name, part)]
    for name, part in (*objects, *nested):
        said = f"\n{part['description']}\n" if "description" in part else ""
        text += f"\n### {name}\n{said}\n{_field_table(part, whole['$defs'])}"
    return text


def _objects(definitions: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, definition in definitions.items():
        for part in (definition, *definition.get("oneOf", ())):
            if "properties" in part:
                yield name, {k: v for k, v in definition.items() if k == "description"} | part


def _nested(name: str, part: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the objects that stand inside another one, however deep."""
    for field, value in part.get("properties", {}).items():
        for inner in (value, value.get("items", {})):
            if "properties" in inner:
                yield f"{name}.{field}", inner
                yield from _nested(f"{name}.{field}", inner)


def _field_table(part: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    required = set(part.get("required", ()))
    rows = [
        (
            f"**{_code(field)}**" if field in required else _code(field),
            _kind(value, definitions),
            value.get("description", ""),
        )
        for field, value in part["properties"].items()
    ]
    return _table(("field", "value", "what"), rows)


_PLAIN = {
    "identifier": "name",
    "constraintId": "name",
    "text": "text",
    "expression": "expression",
    "binders": "list of binders",
    "span": "span",
    "bound": "number or expression",
}


def _kind(value: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """Return in words what a field of the schema takes."""
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return _PLAIN.get(name, f"[{name}](#{name.lower()})")
    if "const" in value:
        return _code(value["const"])
    if "enum" in value:
        return ", ".join(map(_code, value["enum"]))
    if "oneOf" in value:
        return " or ".join(dict.fromkeys(_kind(part, definitions) for part in value["oneOf"]))
    kinds = value.get("type", "any")
    names = [kinds] if isinstance(kinds, str) else kinds
    words = [_words(name, value, definitions) for name in names]
    return " or ".join(words)


def _words(name: str, value: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    if name == "array":
        item = value.get("items", {})
        inner = _kind(item, definitions) if item and "properties" not in item else "values"
        inner = f"({inner})" if " or " in inner else inner
        return f"list of {inner}" if item.get("type") != "object" else "list of objects"
    plain = {
        "string": "text",
        "object": "object",
        "boolean": "true or false",
        "number": "number",
        "integer": "whole number",
    }.get(name, name)
    return plain + _limits(value)


def _limits(value: Mapping[str, Any]) -> str:
    texts = []
    for key, word in (("minimum", "≥"), ("maximum", "≤"), ("exclusiveMaximum", "<")):
        if key in value:
            texts.append(f"{word} {value[key]}")
    return f" {', '.join(texts)}" if texts else ""


# --- units and codes ---------------------------------------------------------------------------


def _units() -> str:
    plain = [u for u in known_units() if not u.is_point and not _is_money_or_count(u)]
    rows = []
    for kind, example in DIMENSIONS.items():
        same = [unit for unit in plain if unit.same_dimension(parse_unit(example))]
        plain = [unit for unit in plain if unit not in same]
        rows.append((kind, ", ".join(map(_spelt, same))))
    points = [unit for unit in known_units() if unit.is_point]
    place = 1 + list(DIMENSIONS).index("temperature difference")
    rows.insert(place, ("points of temperature", ", ".join(map(_spelt, points))))
    rows += [("other", ", ".join(map(_spelt, plain)))] if plain else []
    money = [unit for unit in known_units() if set(dict(unit.dimension)) & set(CURRENCIES)]
    rows.append(("money, each currency of its own", ", ".join(map(_spelt, money))))
    rows.append(("counts, each of its own", ", ".join(_spelt(parse_unit(c)) for c in COUNTS)))
    return (
        "## Units\n\nA unit is a product of these, as `kW`, `EUR/MWh`, `W/(m2*K)`, `m3/h`, `kW^2`; "
        "other spellings are in\nbrackets. Units of one row convert into one another.\n\n"
        + _table(("of", "units"), rows)
    )


def _is_money_or_count(unit: Unit) -> bool:
    return bool(set(dict(unit.dimension)) & {*CURRENCIES, *COUNTS})


def _spelt(unit: Unit) -> str:
    others = spellings().get(str(unit), ())
    return _code(unit) + (f" ({', '.join(map(_code, others))})" if others else "")


def _diagnostics() -> str:
    rows = [
        (f"[{e.code}](diagnostics.md#{e.anchor})", e.severity, e.title)
        for e in explanations().values()
    ]
    return (
        "## Diagnostics\n\nEach is explained, with a failing and a corrected example, in "
        "[diagnostics.md](diagnostics.md) and by\n`engiagent lint --explain CODE`.\n\n"
        + _table(("code", "severity", "what"), rows)
    )


# --- Markdown ----------------------------------------------------------------------------------


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _code(text: object) -> str:
    return f"`{text}`"


def _label(label: Any) -> str:
    inner = ", ".join(map(str, label)) if isinstance(label, list) else str(label)
    return _code(f"({inner})" if isinstance(label, list) else inner)


def _number(value: Any) -> str:
    """Write a number, a truth value or a (nested) list of them."""
    if isinstance(value, list):
        return f"[{', '.join(map(_number, value))}]"
    return json.dumps(value) if isinstance(value, bool) else f"{value:.10g}"


if __name__ == "__main__":
    sys.stdout.write(reference_page(load_constructs()))

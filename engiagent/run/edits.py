"""Edits of a blueprint by name: values of parameters and slots, bounds of variables.

Every edit notes in the provenance that the value is the user's, and what stood there: the
certificate lists both.
"""

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from engiagent.blueprint.grammar import tree_of
from engiagent.errors import InputError
from engiagent.formulations.components import MODELS
from engiagent.units.unit import UnitError, convert, parse_unit
from engiagent.units.words import unit_beside

Json = dict[str, Any]
BOUNDS: Final = ("lower", "upper")
_VALUED: Final = ("parameters", "components", "decision_variables")
_CHANGING: Final = (*_VALUED, "constraints", "objective_function")


def set_value(
    document: Json, name: str, value: Any, unit: str | None = None, note: str | None = None
) -> Any:
    """Put a value into the place that a name leads to, and return what stood there.

    ``document``: a blueprint as plain lists and dictionaries; it is changed. ``name``: a parameter,
    a component's slot as ``battery.energy_capacity``, or a bound of a variable as ``charge.upper``.
    ``value``: a number; for a parameter with an index also numbers in the order of its elements, or
    a mapping from their labels. A bound may be an expression. ``unit``: of the value; None for that
    of the place, but that a slot for a share takes 0.95 where 95 % was stated.
    ``note``: what the provenance says of it; None for the value itself. Raises InputError when the
    name leads nowhere, or the value has not the shape or the dimension of the place.
    """
    core = document["core_model_elements"]
    owner, _, last = name.rpartition(".")
    parameter = _named(core.get("parameters", []), name)
    component = _named(core.get("components", []), name.partition(".")[0])
    variable = _named(core.get("decision_variables", []), owner)
    if parameter is not None:
        return _fill(parameter, value, unit, note)
    if variable is not None and last in BOUNDS:
        return _bound(variable, last, value, unit, note)
    if component is not None and owner == component["name"]:
        target = _named(core.get("parameters", []), component["parameters"].get(last))
        if target is not None:
            return _fill(target, value, unit or _unit_of_slot(component, last), note)
        return _fill_slot(component, last, value, unit, note)
    known = [p["name"] for p in core.get("parameters", [])]
    known += [f"{c['name']}.{s}" for c in core.get("components", []) for s in c["parameters"]]
    known += [f"{v['name']}.{b}" for v in core.get("decision_variables", []) for b in BOUNDS]
    close = get_close_matches(name, known, n=3, cutoff=0.5) or known[:8]
    raise InputError(f"there is no parameter {name!r}", expected=", ".join(close) or None)


def _named(items: Sequence[Json], name: Any) -> Json | None:
    return next((item for item in items if item["name"] == name), None)


def _fill(parameter: Json, value: Any, unit: str | None, note: str | None) -> Any:
    """Put a value, in the parameter's own unit, in the place of whatever is there."""
    name = parameter["name"]
    indexed = bool(parameter.get("index"))
    if indexed == _is_number(value):
        wanted = "one number, it has no index" if not indexed else "numbers, it is indexed"
        raise InputError(f"the value of {name} has the wrong shape", expected=wanted)
    own = parameter.get("unit") or "1"
    if not isinstance(own, str):
        raise InputError(f"{name} has no single unit; patch the blueprint instead")
    before = parameter.get("value", parameter.get("data"))
    given = _in_unit(value, unit, own, name)
    for key in ("data", "keys", "status", "unit_override"):
        parameter.pop(key, None)
    parameter["value"] = given
    many = isinstance(value, Mapping | list | tuple) or getattr(value, "ndim", 0) > 0
    shown = f"{len(value)} values in" if many else str(value)
    _note(parameter, note or f"set to {shown} {unit or own}", _change(name, before, given, own))
    return before


def _unit_of_slot(component: Json, slot: str) -> str | None:
    """Return the unit of a slot for a share, as an efficiency; None for that of the place."""
    known = MODELS[component["model"]].slots.get(slot) if component["model"] in MODELS else None
    return "1" if known is not None and str(known.unit) == "1" else None


def _note(item: Json, note: str, change: Json) -> None:
    item["source_reference"] = by_user(note, change, item.get("source_reference"))


def _fill_slot(component: Json, slot: str, value: Any, unit: str | None, note: str | None) -> Any:
    known = MODELS[component["model"]].slots if component["model"] in MODELS else {}
    name = f"{component['name']}.{slot}"
    if slot not in known:
        close = get_close_matches(slot, known, n=3, cutoff=0.5) or list(known)
        raise InputError(f"{name} cannot be set so", expected=", ".join(close) or None)
    if not _is_number(value):
        raise InputError(f"{name} cannot be set so", expected="one number")
    own = str(known[slot].unit)
    number = _each(value, float, name)  # its dimension is for static analysis: it knows the money
    before = component["parameters"].get(slot)
    component["parameters"][slot] = f"{number!r}[{unit or own}]"
    note = note or f"{slot} set to {value} {unit or own}"
    _note(component, note, _change(name, before, number, unit or own))
    return before


def _bound(variable: Json, side: str, value: Any, unit: str | None, note: str | None) -> Any:
    before, own = variable.get(side), variable.get("unit") or "1"
    name = f"{variable['name']}.{side}"
    if value is None:
        variable.pop(side, None)
    elif isinstance(value, str):
        variable[side] = value
    elif _is_number(value):
        variable[side] = _in_unit(value, unit, own, name)
    else:
        expected = "a number, an expression, or None for no bound"
        raise InputError(f"{name} cannot be set so", expected=expected)
    note = note or f"{side} bound set to {value} {unit or own}"
    _note(variable, note, _change(name, before, variable.get(side, "none"), own))
    return before


def _is_number(value: Any) -> bool:
    if isinstance(value, Mapping | str | list | tuple) or value is None:
        return False
    return getattr(value, "ndim", 0) == 0


def _in_unit(value: Any, unit: str | None, own: str, name: str) -> Any:
    """Return a value, its numbers in the unit of its place."""
    try:
        source, target = unit_beside(unit or own, own), parse_unit(own)
        return _each(value, lambda number: convert(number, source, target), name)
    except UnitError as error:
        raise InputError(
            f"the unit of {name} does not fit: {error}", found=unit, expected=f"one such as {own}"
        ) from None


def _each(value: Any, change: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _each(item, change, name) for key, item in value.items()}
    if hasattr(value, "tolist") and getattr(value, "ndim", 0) > 0:
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_each(item, change, name) for item in value]
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{name} cannot be {value!r}", expected="finite numbers")
    return float(change(number))


def by_user(note: str, change: Json, stated: Any = None) -> Json:
    """Return the provenance of a value of the user, with what it replaces at first."""
    earlier = stated.get("replaces", []) if isinstance(stated, Mapping) else []
    known = {entry["name"]: entry for entry in earlier}
    if change["name"] in known:
        change = {**change, "before": known[change["name"]]["before"]}
    return {"kind": "user", "note": note, "replaces": [*{**known, change["name"]: change}.values()]}


def with_changes(before: Json, after: Json, excused: bool = True) -> Json:
    """Return a patched blueprint in which every number and formula that the patch changed is noted.

    A value whose source was changed as well was read anew: that is no value of the user.

    ``before``, ``after``: the blueprint without and with the patch; ``after`` is changed.
    ``excused``: whether the user takes the place of a value's source. Otherwise the source stays,
    so that the value is held against it, and the change is noted beside it, as it is of a formula.
    """
    for kind in _CHANGING:
        known = {_name_of(item): item for item in _items(before, kind)}
        for item in _items(after, kind):
            old = known.get(_name_of(item))
            stated = item.get("source_reference")
            if old is None or stated != old.get("source_reference"):
                continue
            if kind == "constraints" and tree_of(old["expression"]) is None:
                continue  # what nobody can read is mended, not changed
            then = _values_of(kind, old)
            for name, (value, unit) in _values_of(kind, item).items():
                if (value, unit) != then.get(name, (None, unit)):
                    shown = unit if isinstance(unit, str) else ""
                    change = _change(name, then.get(name, (None,))[0], value, shown)
                    noted: Any = by_user("changed by a patch", change, item.get("source_reference"))
                    if stated and not (excused and kind in _VALUED):
                        first, *others = stated if isinstance(stated, list) else [stated]
                        noted = {**first, "replaces": noted["replaces"]}
                        noted = [noted, *others] if others else noted
                    item["source_reference"] = noted
    return after


def _items(document: Json, kind: str) -> list[Json]:
    found = document["core_model_elements"].get(kind) or []
    return [found] if isinstance(found, dict) else found


def _name_of(item: Json) -> str:
    return str(item.get("constraint_id", item.get("name", "objective")))


def _values_of(kind: str, item: Json) -> dict[str, tuple[Any, Any]]:
    """Return what can be set of an item, by name, with its unit."""
    name, unit = _name_of(item), item.get("unit") or ""
    if kind not in _VALUED:
        where = f" if {item['where']}" if item.get("where") else ""
        return {name: (f"{item.get('expression', 'terms')}{where}", "")}
    if kind == "components":
        return {f"{name}.{slot}": (v, "") for slot, v in (item.get("parameters") or {}).items()}
    if kind == "parameters":
        return {name: (item.get("value", item.get("data")), unit)}
    return {f"{name}.{side}": (item.get(side), unit) for side in BOUNDS}


def _change(name: str, before: Any, after: Any, unit: str) -> Json:
    """Return what an edit replaces; many numbers in words."""
    return {"name": name, "before": _entry(before), "after": _entry(after), "unit": unit}


def _entry(value: Any) -> float | str | None:
    if isinstance(value, str) and value.endswith("]"):
        number, _, _unit = value.partition("[")
        try:
            return float(number)
        except ValueError:
            return value
    if value is None or isinstance(value, str | int | float):
        return value
    return f"{len(value)} values"

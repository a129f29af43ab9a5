"""JSON patches (RFC 6902) of blueprints: the cases that a report compares.

A step of a path into a list is a position, or the name of the element there (its ``name``,
``constraint_id``, ``claim_id`` or ``param_id``), which survives that something is put before it.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final

from engiagent.errors import InputError

NAMES: Final = ("name", "constraint_id", "claim_id", "param_id")
MAX_COPIED: Final = 1_000_000
MAX_NESTING: Final = 60
Json = Any


def patched(document: Json, operations: Sequence[Mapping[str, Any]]) -> Json:
    """Return a patched copy; PatchError with the number of the operation that cannot be done."""
    result = deepcopy(document)
    copied = 0
    for number, operation in enumerate(operations):
        try:
            if operation["op"] == "copy":
                # A list that is copied into itself forty times has a trillion elements.
                copied += _size(_at(result, _steps(_source(operation))))
                if copied > MAX_COPIED:
                    raise InputError(f"more than {MAX_COPIED} values are copied")
            result = _OPERATIONS[operation["op"]](result, operation)
        except InputError as error:
            raise PatchError(number, str(error)) from None
    return result


class PatchError(InputError):
    """An operation of a patch that cannot be done; ``operation`` counts from 0."""

    def __init__(self, operation: int, message: str) -> None:
        super().__init__(message)
        self.operation = operation


def _steps(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise InputError("a path starts with '/'", found=repr(pointer))
    return [s.replace("~1", "/").replace("~0", "~") for s in pointer.split("/")[1:]]


def _position(items: list[Json], step: str) -> int:
    """Return where a step leads in a list; the end is no element."""
    if step.isdecimal() and (step == "0" or not step.startswith("0")):
        if int(step) < len(items):
            return int(step)
        raise InputError(f"there is no element {step} in a list of {len(items)}")
    for position, item in enumerate(items):
        if isinstance(item, dict) and step in (item.get(key) for key in NAMES):
            return position
    named = [str(next((i[k] for k in NAMES if k in i), "")) for i in items if isinstance(i, dict)]
    known = ", ".join(filter(None, named)) or "none"
    raise InputError(f"there is no element {step!r}; those with a name: {known}")


def _child(holder: Json, step: str) -> tuple[Json, Any]:
    """Return a holder and the key or the position in it that a step names; it must be there."""
    if isinstance(holder, list):
        return holder, _position(holder, step)
    if isinstance(holder, dict):
        if step not in holder:
            raise InputError(f"there is no field {step!r}; known are {', '.join(holder)}")
        return holder, step
    raise InputError(f"{step!r} leads into a value without parts")


def _size(value: Json, depth: int = 1) -> int:
    """Return how many values there are in one, itself included."""
    if depth > MAX_NESTING:
        raise InputError(f"a value that is nested deeper than {MAX_NESTING} is copied")
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(_size(part, depth + 1) for part in parts)


def _at(document: Json, steps: Sequence[str]) -> Json:
    for step in steps:
        holder, key = _child(document, step)
        document = holder[key]
    return document


def _put(document: Json, pointer: str, value: Json) -> Json:
    steps = _steps(pointer)
    if not steps:
        return value
    holder, last = _at(document, steps[:-1]), steps[-1]
    if isinstance(holder, list):
        at_end = last in ("-", str(len(holder)))
        holder.insert(len(holder) if at_end else _position(holder, last), value)
    elif isinstance(holder, dict):
        holder[last] = value
    else:
        raise InputError(f"{last!r} leads into a value without parts")
    return document


def _cut(document: Json, pointer: str) -> Json:
    steps = _steps(pointer)
    if not steps:
        raise InputError("the whole document cannot be removed")
    holder, key = _child(_at(document, steps[:-1]), steps[-1])
    del holder[key]
    return document


def _value(operation: Mapping[str, Any]) -> Json:
    if "value" not in operation:
        raise InputError(f"{operation['op']!r} needs a value")
    return deepcopy(operation["value"])


def _source(operation: Mapping[str, Any]) -> str:
    if "from" not in operation:
        raise InputError(f"{operation['op']!r} needs 'from'")
    return str(operation["from"])


def _replace(document: Json, operation: Mapping[str, Any]) -> Json:
    value, steps = _value(operation), _steps(operation["path"])
    if not steps:
        return value
    holder, key = _child(_at(document, steps[:-1]), steps[-1])
    holder[key] = value
    return document


def _move(document: Json, operation: Mapping[str, Any]) -> Json:
    source, target = _source(operation), operation["path"]
    if target.startswith(source + "/"):
        raise InputError("a value cannot be moved into itself")
    value = _at(document, _steps(source))
    return _put(_cut(document, source), target, value)


def _test(document: Json, operation: Mapping[str, Any]) -> Json:
    found, wanted = _at(document, _steps(operation["path"])), _value(operation)
    if not _equal(found, wanted):
        raise InputError("the test fails", found=repr(found)[:60], expected=repr(wanted)[:60])
    return document


def _equal(a: Json, b: Json) -> bool:
    """Compare as JSON does: 1 and 1.0 are equal, 1 and true are not."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    return bool(a == b)


_OPERATIONS: Final[Mapping[str, Callable[[Json, Mapping[str, Any]], Json]]] = {
    "add": lambda document, op: _put(document, op["path"], _value(op)),
    "copy": lambda document, op: _put(
        document, op["path"], deepcopy(_at(document, _steps(_source(op))))
    ),
    "move": _move,
    "remove": lambda document, op: _cut(document, op["path"]),
    "replace": _replace,
    "test": _test,
}

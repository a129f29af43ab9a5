"""Reading and writing JSON strictly: no NaN, no duplicate keys, no bombs, one canonical form."""

import json
import re
from collections import Counter
from json.encoder import encode_basestring
from typing import Any, Final

from engiagent.errors import InputError

MAX_CHARACTERS: Final = 200_000_000
MAX_NESTING: Final = 60
# A string that never ends is taken to the end of the text, so that the scan stays linear.
_OUTSIDE_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)


def loads_strict(text: str, file: str | None = None) -> Any:
    """Return the value of a JSON text.

    Raises InputError, where it can with line and column, for a syntax error, NaN, an infinite
    number, a key that stands twice in one object, a lone surrogate, deep nesting and too much.
    """
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"JSON of more than {MAX_CHARACTERS} characters", file)
    if text.startswith("\ufeff"):
        text = text[1:]
    _check_nesting(text, file)
    try:
        value = json.loads(
            text,
            object_pairs_hook=lambda pairs: _object(pairs, file),
            parse_constant=lambda name: _refuse(name, file),
            parse_float=lambda number: _finite(number, file),
            parse_int=lambda number: _integer(number, file),
        )
    except json.JSONDecodeError as error:
        raise InputError(f"no valid JSON: {error.msg}", file, error.lineno, error.colno) from None
    escaped = "\\ud" in text or "\\uD" in text
    try:
        (json.dumps(value, ensure_ascii=False) if escaped else text).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])
        raise InputError("half of a surrogate pair", file, found=half) from None
    return value


def _check_nesting(text: str, file: str | None) -> None:
    depth = 0
    for match in _OUTSIDE_STRINGS.finditer(text):
        char = match[0][0]
        if char in "[{":
            depth += 1
            if depth > MAX_NESTING:
                line = text.count("\n", 0, match.start()) + 1
                raise InputError(f"JSON nested deeper than {MAX_NESTING}", file, line)
        elif char in "]}":
            depth -= 1


def _object(pairs: list[tuple[str, Any]], file: str | None) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise InputError("a key stands twice in one object", file, found=repr(twice))
    return result


def _refuse(name: str, file: str | None) -> Any:
    raise InputError("a number that is not finite", file, found=name)


def _finite(number: str, file: str | None) -> float:
    value = float(number)
    if value in (float("inf"), float("-inf")):
        raise InputError("a number too large for double precision", file, found=number[:40])
    return value


def _integer(number: str, file: str | None) -> int:
    if len(number) > 300:
        raise InputError("a number of more than 300 digits", file, found=number[:20] + "…")
    return int(number)


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def dumps_canonical(value: Any) -> str:
    """Return the one JSON text of a value: keys as given, two blanks of indent, newline at the end.

    Short lists of plain values stay on one line, so that series remain readable.
    """
    return _dump(value, "") + "\n"


def _dump(value: Any, indent: str) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, dict) and value:
        inner = indent + "  "
        quoted = encode_basestring
        lines = [f"{inner}{quoted(key)}: {_dump(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list) and not all(
        isinstance(item, str | int | float | None) for item in value
    ):
        inner = indent + "  "
        return "[\n" + ",\n".join(inner + _dump(item, inner) for item in value) + f"\n{indent}]"
    return _ENCODER.encode(value)

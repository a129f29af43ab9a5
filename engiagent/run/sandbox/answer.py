"""The answer of a script: numbers and nothing else, read as if an enemy had written them."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engiagent.errors import InputError
from engiagent.io.files import open_inside
from engiagent.io.jsontext import loads_strict

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

RESULT: Final = "schedule.json"
OBJECTIVE: Final = "objective"
MOST_COLUMNS: Final = 2000
MOST_NUMBERS: Final = 2_000_000
MOST_BYTES: Final = 40_000_000
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.]{0,99}( ?\[[^\[\]\x00-\x1f]{1,40}\])?")
_DEEPEST: Final = 6

Schedule = Mapping[str, "npt.NDArray[np.float64]"]


def read_answer(folder: Path, max_bytes: int) -> tuple[Schedule, float | None]:
    """Return the schedule that a script left, and the objective that it claims.

    Raises InputError when there is no such file, or anything in it is not a finite number under a
    plain name.
    """
    content = open_inside(folder, RESULT, max_bytes=min(max_bytes, MOST_BYTES))
    _measure(content)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("the answer is no UTF-8 text", RESULT) from None
    value = loads_strict(text, RESULT)
    if not isinstance(value, dict) or not value:
        raise InputError(
            "the answer is no object of numbers", RESULT, expected='{"battery.charge [kW]": [0.0]}'
        )
    if len(value) > MOST_COLUMNS:
        raise InputError(f"more than {MOST_COLUMNS} names", RESULT, found=str(len(value)))
    claimed = value.pop(OBJECTIVE, None)
    schedule = {}
    left = MOST_NUMBERS
    for name, numbers in value.items():
        if not _NAME.fullmatch(name):
            raise InputError(
                "no name of a quantity",
                RESULT,
                found=ascii(name)[:60],
                expected="as battery.charge [kW]",
            )
        schedule[name] = _array(name, numbers)
        left -= schedule[name].size
        if left < 0:
            raise InputError(f"more than {MOST_NUMBERS} numbers", RESULT)
    return schedule, None if claimed is None else float(_number(OBJECTIVE, claimed))


def _measure(content: bytes) -> None:
    """Refuse an answer that is too large to be parsed, before any of it is.

    Raises InputError when it holds more values, lists or objects than an answer may.
    """
    marks = {"values": content.count(b","), "lists": content.count(b"[")}
    for what, count in marks.items():
        if count > MOST_NUMBERS:
            raise InputError(f"more than {MOST_NUMBERS} {what}", RESULT, found=str(count))
    if content.count(b"{") > 1:
        raise InputError("the answer is no plain object of numbers", RESULT)


def _array(name: str, value: Any) -> "npt.NDArray[np.float64]":
    shape: list[int] = []
    inner = value
    while isinstance(inner, list):
        shape.append(len(inner))
        if len(shape) > _DEEPEST or not inner:
            raise InputError(f"{name}: an empty list, or one too deep", RESULT)
        inner = inner[0]
    flat = list(_flat(name, value, shape))
    import numpy as np  # whoever runs the script may have no numpy; only its answer needs one

    return np.asarray(flat, dtype=np.float64).reshape(shape)


def _flat(name: str, value: Any, shape: list[int]) -> Any:
    if not shape:
        yield _number(name, value)
        return
    if not isinstance(value, list) or len(value) != shape[0]:
        raise InputError(f"{name}: lists of different lengths", RESULT)
    for item in value:
        yield from _flat(name, item, shape[1:])


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        found = type(value).__name__
        raise InputError(f"{name}: no number", RESULT, found=found, expected="a finite number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{name}: a number that is not finite", RESULT)
    return number

"""What is different between two blueprints or two plans; runs: ``engiagent runs compare``."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from engiagent.blueprint import Blueprint
from engiagent.errors import InputError
from engiagent.io.jsontext import dumps_canonical
from engiagent.notebook.shown import amount
from engiagent.notebook.solution import Solution
from engiagent.report import words
from engiagent.report.sides import plans_apart

if TYPE_CHECKING:
    import pandas as pd

_LONGEST: Final = 90
_SOURCE: Final = "source_reference"
_NAMES: Final = ("constraint_id", "name", "claim_id", "param_id")
"""By what elements of a blueprint's lists are recognised, so that order does not matter."""

Row = tuple[str, ...]


def diff(a: Any, b: Any) -> "pd.DataFrame":
    """Return what is different in ``b``: a table of places, and what stands there in either.

    Two blueprints are compared element by element; of two solutions the status, the objective and
    the largest step of each series. Raises InputError when they are of two kinds, or others.
    """
    import pandas as pd

    if isinstance(a, Blueprint) and isinstance(b, Blueprint):
        rows = [_shown(*change) for change in _changes(a.to_dict(), b.to_dict())]
    elif isinstance(a, Solution) and isinstance(b, Solution):
        rows = list(_of_solutions(a, b))
    else:
        raise InputError(
            "these cannot be compared",
            found=f"{type(a).__name__} and {type(b).__name__}",
            expected="two blueprints or two solutions; 'engiagent runs compare' compares runs",
        )
    return pd.DataFrame(rows, columns=["where", "before", "after"])


def _of_solutions(a: Solution, b: Solution) -> Iterator[Row]:
    """Yield how far two plans lie apart; less than a billionth of a series' range is the same."""
    goals = ["" if s.objective is None else amount(s.objective, s.unit) for s in (a, b)]
    for name, one, two in (("status", a.status, b.status), ("objective", *goals)):
        if one != two:
            yield name, one, two
    values, quantities = plans_apart([a.drawn, b.drawn])
    yield from ((item.name, *item.values[:2]) for item in values)
    for item in quantities:
        first, second = item.series
        if first is None or second is None:
            sides = ["" if x is None else "there" for x in item.series]
            yield item.label, sides[0], sides[1]
        elif item.largest is None:
            shapes = [f"{x.values.size} values in {x.unit}" for x in (first, second)]
            yield item.label, shapes[0], shapes[1]
        elif item.differs:
            steps = [amount(float(x.values[item.at]), x.unit) for x in (first, second)]
            yield f"{item.label}, most at {item.where}", steps[0], steps[1]


def _shown(path: str, before: Any, after: Any) -> Row:
    """Return a change as people read it: sources by their words, values on one line."""
    show = words.source if path.endswith(f".{_SOURCE}") else _short
    one, two = ("" if side is None else show(side) for side in (before, after))
    return path.removeprefix("core_model_elements."), one, two


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else " ".join(dumps_canonical(value).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _changes(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield where two JSON documents differ, lists of named elements compared by name.

    A source is one thing, and not searched for what differs in it.
    """
    if isinstance(before, list) and isinstance(after, list):
        named = _by_name(before), _by_name(after)
        if named[0] is not None and named[1] is not None:
            before, after = named
    divisible = path.rpartition(".")[2] != _SOURCE
    if isinstance(before, Mapping) and isinstance(after, Mapping) and divisible:
        for key in dict.fromkeys([*before, *after]):
            place = f"{path}.{key}" if path else key
            yield from _changes(before.get(key), after.get(key), place)
    elif before != after:
        yield path, before, after


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    """Return the elements of a list by their names; None when they have none, or the same."""
    found: dict[str, Any] = {}
    for item in items:
        keys = _NAMES if isinstance(item, Mapping) else ()
        name = next((item[k] for k in keys if item.get(k)), None)
        if not isinstance(name, str) or name in found:
            return None
        found[name] = item
    return found

"""What is different between two blueprints or two plans; runs: ``engiagent runs compare``."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from engiagent.blueprint import Blueprint
from engiagent.errors import InputError
from engiagent.io.jsontext import dumps_canonical
from engiagent.notebook import markup
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


@dataclass(frozen=True)
class Change:
    """One thing that differs: its place, and what stands there in either."""

    where: str
    before: str
    after: str


@dataclass(frozen=True)
class Difference:
    """Everything that differs; as long as a sequence of changes, and false where nothing does."""

    title: str
    changes: tuple[Change, ...]

    def __len__(self) -> int:
        return len(self.changes)

    def __getitem__(self, position: int) -> Change:
        return self.changes[position]

    def to_dataframe(self) -> "pd.DataFrame":
        """Return the changes as a table."""
        import pandas as pd

        rows = [vars(change) for change in self.changes]
        return pd.DataFrame(rows, columns=["where", "before", "after"])

    def __repr__(self) -> str:
        if not self.changes:
            return f"{self.title}: no difference"
        lines = [f"  {c.where}: {c.before or '–'} -> {c.after or '–'}" for c in self.changes]
        return "\n".join([f"{self.title}: {len(self)} difference(s)", *lines])

    def _repr_html_(self) -> str:
        rows = [(c.where, c.before or "–", c.after or "–") for c in self.changes]
        none = "" if rows else "Nothing differs."
        shown = markup.table(("where", "before", "after"), rows, most=200)
        return markup.card(self.title, none, shown, kicker="difference")


def diff(a: Any, b: Any) -> Difference:
    """Return what is different in ``b``: two blueprints, element by element, or two solutions.

    Raises InputError when they are of two kinds, or of none of these.
    """
    if isinstance(a, Blueprint) and isinstance(b, Blueprint):
        found = _changes(a.to_dict(), b.to_dict())
        return Difference("Blueprints", tuple(_shown(*change) for change in found))
    if isinstance(a, Solution) and isinstance(b, Solution):
        return _of_solutions(a, b)
    raise InputError(
        "these cannot be compared",
        found=f"{type(a).__name__} and {type(b).__name__}",
        expected="two blueprints or two solutions; 'engiagent runs compare' compares runs",
    )


def _of_solutions(a: Solution, b: Solution) -> Difference:
    """Return how far two plans lie apart: status, objective, and the largest step of each series.

    Values below a billionth of a series' range count as the same.
    """
    changes = []
    for name, one, two in (
        ("status", a.status, b.status),
        ("objective", _amount(a.objective, a.unit), _amount(b.objective, b.unit)),
    ):
        if one != two:
            changes.append(Change(name, one, two))
    values, quantities = plans_apart([a.drawn, b.drawn])
    changes += [Change(item.name, *item.values) for item in values]
    for item in quantities:
        first, second = item.series
        if first is None or second is None:
            changes.append(Change(item.label, *("" if x is None else "there" for x in item.series)))
        elif item.largest is None:
            shapes = (f"{x.values.size} values in {x.unit}" for x in (first, second))
            changes.append(Change(item.label, *shapes))
        elif item.differs:
            sides = (_amount(float(x.values[item.at]), x.unit) for x in (first, second))
            changes.append(Change(f"{item.label}, most at {item.where}", *sides))
    return Difference("Solutions", tuple(changes))


def _amount(value: float | None, unit: str) -> str:
    return "" if value is None else amount(value, unit)


def _shown(path: str, *pair: Any) -> Change:
    """Return a change as people read it: sources by their words, values on one line."""
    is_source = path.endswith(f".{_SOURCE}")
    sides = [
        "" if side is None else words.source(side) if is_source else _short(side) for side in pair
    ]
    return Change(path.removeprefix("core_model_elements."), *sides)


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

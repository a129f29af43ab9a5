"""What is different between two blueprints, two plans or two runs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from engiagent.blueprint import Blueprint as PlainBlueprint
from engiagent.errors import InputError
from engiagent.io.jsontext import dumps_canonical
from engiagent.notebook import markup
from engiagent.notebook.run import Run
from engiagent.notebook.shown import amount
from engiagent.notebook.solution import Solution
from engiagent.report import words
from engiagent.report.charts.series import solution_dimensions
from engiagent.run import comparison

if TYPE_CHECKING:
    import pandas as pd


_LONGEST: Final = 90
_SOURCE: Final = "source_reference"
_NEGLIGIBLE: Final = 1e-9


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
    """Return what is different in ``b``: two blueprints, two solutions or two runs.

    Raises
    ------
    InputError
        When they are of two kinds, or of none of these.
    """
    if isinstance(a, PlainBlueprint) and isinstance(b, PlainBlueprint):
        return blueprint_difference(a, b)
    if isinstance(a, Solution) and isinstance(b, Solution):
        return solution_difference(a, b)
    if isinstance(a, Run) and isinstance(b, Run):
        return run_difference(a, b)
    raise InputError(
        "these cannot be compared",
        found=f"{type(a).__name__} and {type(b).__name__}",
        expected="two blueprints, two solutions or two runs",
    )


def blueprint_difference(a: PlainBlueprint, b: PlainBlueprint) -> Difference:
    """Return what is different in another blueprint, element by element."""
    first, second = (_plain(item).to_dict() for item in (a, b))
    found = comparison.changes(first, second, whole=frozenset({_SOURCE}))
    return Difference("Blueprints", tuple(_shown(change) for change in found))


def solution_difference(a: Solution, b: Solution) -> Difference:
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
    names = dict.fromkeys([*a.dataset.data_vars, *b.dataset.data_vars])
    for key in (str(name) for name in names):
        if "__" in key:
            continue
        changes += _series(key, a, b)
    return Difference("Solutions", tuple(changes))


def run_difference(a: Run, b: Run) -> Difference:
    """Return how two runs differ: verdict, reason, what was solved and the plans."""
    pairs = [
        (name, str(getattr(a, name) or ""), str(getattr(b, name) or ""))
        for name in ("state", "verdict", "reason")
    ]
    changes = [Change(*pair) for pair in pairs if pair[1] != pair[2]]
    if a.blueprint is not None and b.blueprint is not None:
        changes += [
            Change(f"blueprint: {c.where}", c.before, c.after)
            for c in blueprint_difference(a.blueprint, b.blueprint).changes
        ]
    if a.solution is not None and b.solution is not None:
        changes += solution_difference(a.solution, b.solution).changes
    return Difference("Runs", tuple(changes))


def _plain(blueprint: PlainBlueprint) -> PlainBlueprint:
    from engiagent.notebook.blueprint import Blueprint

    return blueprint.plain if isinstance(blueprint, Blueprint) else blueprint


def _series(name: str, a: Solution, b: Solution) -> Iterator[Change]:
    present = [name in item.dataset for item in (a, b)]
    if not all(present):
        yield Change(name, *("there" if there else "" for there in present))
        return
    one, two = (item.dataset[name] for item in (a, b))
    label, unit = str(one.attrs.get("quantity") or name), str(one.attrs.get("units", ""))
    if one.shape != two.shape or two.attrs.get("units") != one.attrs.get("units"):
        shapes = [f"{item.shape} in {item.attrs.get('units')}" for item in (one, two)]
        yield Change(label, *shapes)
        return
    values = [np.asarray(item.values, dtype=np.float64) for item in (one, two)]
    gap = np.where(np.isnan(values[0]) & np.isnan(values[1]), 0.0, np.abs(values[1] - values[0]))
    scale = max(float(np.nanmax(np.abs(part), initial=0.0)) for part in values)
    worst = np.unravel_index(int(np.argmax(np.nan_to_num(gap, nan=np.inf))), gap.shape)
    if gap.size and not gap[worst] <= _NEGLIGIBLE * max(scale, 1.0):
        dimensions = solution_dimensions(a.drawn, one)
        labels = [
            dimension.axis.short_label(
                int(place if dimension.positions is None else dimension.positions[place])
            )
            for dimension, place in zip(dimensions, worst, strict=True)
        ]
        where = f"{label}, most at {', '.join(labels)}" if labels else label
        yield Change(where, *(_amount(float(part[worst]), unit) for part in values))


def _amount(value: float | None, unit: str) -> str:
    return "" if value is None else amount(value, unit)


def _shown(change: comparison.Change) -> Change:
    """Return a change as people read it: sources by their words, values on one line."""
    is_source = change.path.endswith(f".{_SOURCE}")
    sides = [
        "" if side is None else words.source(side) if is_source else _short(side)
        for side in (change.before, change.after)
    ]
    return Change(change.path.removeprefix("core_model_elements."), *sides)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else " ".join(dumps_canonical(value).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"

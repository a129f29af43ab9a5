"""What two runs differ in: what was asked, their blueprints, their schedules and their verdicts."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from engiagent.errors import EngiagentError, InputError
from engiagent.io.files import open_inside
from engiagent.io.jsontext import loads_strict
from engiagent.run.folder import BLUEPRINT, SOLUTION, read_record
from engiagent.run.listing import RunSummary, summarise
from engiagent.solvers.solution import load_solution

if TYPE_CHECKING:
    import xarray

SCHEMA: Final = "engiagent-comparison/1"
_NAMES: Final = ("constraint_id", "name", "claim_id", "param_id")
"""By what elements of a blueprint's lists are recognised, so that order does not matter."""


@dataclass(frozen=True)
class Change:
    """One place in which two documents differ; None on a side that has nothing there."""

    path: str
    before: Any
    after: Any


@dataclass(frozen=True)
class SeriesChange:
    """How far one series of two schedules is apart.

    Attributes
    ----------
    largest, where
        The largest distance, in ``unit``, and the place by its coordinates; None where the two
        are not on the same grid, or only one of the schedules has the series.
    before, after
        Sums over all elements.
    """

    name: str
    unit: str | None
    largest: float | None
    where: str | None
    before: float | None
    after: float | None


@dataclass(frozen=True)
class Comparison:
    """What two runs differ in; nothing in a list is the same in both."""

    one: RunSummary
    two: RunSummary
    asked: tuple[Change, ...]
    blueprint: tuple[Change, ...]
    series: tuple[SeriesChange, ...]

    @property
    def improvement(self) -> float | None:
        """By how much the second is better in its own sense; None where they cannot be compared."""
        a, b = self.one, self.two
        if a.objective is None or b.objective is None or (a.unit, a.sense) != (b.unit, b.sense):
            return None
        return a.objective - b.objective if a.sense == "minimize" else b.objective - a.objective

    @property
    def same(self) -> bool:
        """Whether both ran the same to the same result."""
        results = [(run.verdict, run.objective, run.unit) for run in (self.one, self.two)]
        return not (self.blueprint or self.series) and results[0] == results[1]

    def to_json(self) -> dict[str, Any]:
        """Return it as an object of the schema ``engiagent-comparison/1``."""
        return {
            "schema": SCHEMA,
            "runs": [self.one.to_json(), self.two.to_json()],
            "same": self.same,
            "improvement": self.improvement,
            "asked": [asdict(change) for change in self.asked],
            "blueprint": [asdict(change) for change in self.blueprint],
            "series": [asdict(change) for change in self.series],
        }


def compare_runs(one: Path, two: Path) -> Comparison:
    """Return what two run folders differ in.

    Raises
    ------
    InputError
        When one of them is no run.
    """
    records = [read_record(run) for run in (one, two)]
    asked = changes(records[0].get("asked"), records[1].get("asked"))
    documents = [_blueprint(run) for run in (one, two)]
    return Comparison(
        summarise(one),
        summarise(two),
        tuple(asked),
        tuple(changes(*documents)),
        tuple(_series(one, two)),
    )


def changes(
    before: Any, after: Any, path: str = "", *, whole: frozenset[str] = frozenset()
) -> Iterator[Change]:
    """Yield where two JSON documents differ, lists of named elements compared by name.

    What stands under a key in ``whole`` is one thing, and not searched for what differs in it.
    """
    if isinstance(before, list) and isinstance(after, list):
        named = _by_name(before), _by_name(after)
        if named[0] is not None and named[1] is not None:
            before, after = named
    divisible = path.rpartition(".")[2] not in whole
    if isinstance(before, Mapping) and isinstance(after, Mapping) and divisible:
        for key in dict.fromkeys([*before, *after]):
            place = f"{path}.{key}" if path else key
            yield from changes(before.get(key), after.get(key), place, whole=whole)
    elif before != after:
        yield Change(path, before, after)


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    """Return the elements of a list by their names; None when they have none, or the same."""
    found: dict[str, Any] = {}
    for item in items:
        name = next((item[k] for k in _NAMES if item.get(k)), None) if _is_map(item) else None
        if not isinstance(name, str) or name in found:
            return None
        found[name] = item
    return found


def _is_map(item: Any) -> bool:
    return isinstance(item, Mapping)


def _blueprint(run: Path) -> Any:
    if not (run / BLUEPRINT).is_file():
        return {}
    return loads_strict(open_inside(run, BLUEPRINT).decode("utf-8", "replace"), BLUEPRINT)


def _series(one: Path, two: Path) -> Iterator[SeriesChange]:
    schedules = [_schedule(run) for run in (one, two)]
    names = dict.fromkeys(name for schedule in schedules for name in _numbers(schedule))
    for name in names:
        pair = [schedule.get(name) if schedule is not None else None for schedule in schedules]
        change = _distance(name, pair[0], pair[1])
        if change is not None:
            yield change


def _schedule(run: Path) -> "xarray.Dataset | None":
    if not (run / SOLUTION).is_file():
        return None
    open_inside(run, SOLUTION)
    try:
        return load_solution(run / SOLUTION)
    except EngiagentError as error:
        raise InputError(str(error), str(run)) from None


def _numbers(schedule: "xarray.Dataset | None") -> list[str]:
    """Return the names of the series that a schedule consists of, without multipliers."""
    if schedule is None:
        return []
    return [
        str(n) for n, a in schedule.data_vars.items() if a.dtype.kind in "fi" and "__" not in str(n)
    ]


def _distance(
    name: str, one: "xarray.DataArray | None", two: "xarray.DataArray | None"
) -> SeriesChange | None:
    sums = [None if array is None else _finite(array.sum()) for array in (one, two)]
    known = one if one is not None else two
    assert known is not None
    unit = known.attrs.get("units")
    if one is None or two is None or one.dims != two.dims or one.shape != two.shape:
        return SeriesChange(name, unit, None, None, sums[0], sums[1])
    apart = np.abs(np.asarray(one.values, float) - np.asarray(two.values, float))
    apart = np.where(np.isnan(apart), 0.0, apart)
    largest = float(apart.max(initial=0.0))
    scale = float(np.nanmax(np.abs(np.asarray(one.values, float)), initial=0.0))
    if largest <= 1e-9 * max(1.0, scale):
        return None
    place = np.unravel_index(int(apart.argmax()), apart.shape)
    where = ", ".join(
        str(one.coords[dim].values[i])[:19] if dim in one.coords else str(i)
        for dim, i in zip(one.dims, place, strict=True)
    )
    return SeriesChange(name, unit, largest, where or None, sums[0], sums[1])


def _finite(value: Any) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None

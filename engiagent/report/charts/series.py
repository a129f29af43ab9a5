"""Every number of a solution and of the given data as a series over an axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.timeaxis import Ints
from engiagent.errors import EngiagentError, InputError
from engiagent.report.charts.timeline import Axis, Floats, Kind, read_axis, time_label
from engiagent.solvers.arrays import AnySolution
from engiagent.solvers.solution import stored_arrays
from engiagent.units.unit import UnitError, parse_unit


class Plan(Protocol):
    """What a chart of a plan is drawn from: a schedule with what is known of its symbols."""

    @property
    def solution(self) -> "AnySolution | None":
        """The schedule, as a solver or a user gave it."""

    @property
    def blueprint(self) -> Blueprint | None:
        """The blueprint, with the fragments of its components written out."""

    @property
    def elaboration(self) -> Elaboration | None:
        """The blueprint's sets and data."""


PREFIXES = ("dual__", "reduced_cost__", "farkas__")
_NOTHING = 1e-7  # share of the largest value that is no more than rounding


@dataclass(frozen=True, eq=False)
class Dimension:
    """One dimension of an array."""

    axis: Axis  # the whole axis, for a subset that of the set it was taken from
    instants: bool = False  # whether its elements are instants and not periods
    positions: Ints | None = None  # for a subset: where its elements stand on the axis


@dataclass(frozen=True, eq=False)
class Series:
    """Values along one axis."""

    # the variable or parameter; ``label`` adds the elements of its other sets, and prefers the
    # physical quantity to the symbol
    source: str
    label: str
    owner: str  # the component that the quantity belongs to, or empty
    unit: str
    axis: Axis
    instants: bool
    values: Floats  # one for every place of the axis, NaN where there is none


@dataclass(frozen=True)
class Scalar:
    """A value that stands at no time, with the elements it belongs to."""

    label: str
    value: float
    unit: str


def solution_series(plan: Plan) -> tuple[list[Series], list[Scalar]]:
    """Return the solution's variables and named expressions."""
    series: list[Series] = []
    scalars: list[Scalar] = []
    if plan.solution is None:
        return series, scalars
    for name, array in stored_arrays(plan.solution):
        numeric = np.issubdtype(array.dtype, np.number)
        if name.startswith(PREFIXES) or not numeric or not array.values.size:
            continue  # a set may be empty, as that of periods with a negative price
        dimensions = solution_dimensions(plan, array)
        label = str(array.attrs.get("quantity") or name)
        values = np.asarray(array.values, dtype=np.float64)
        unit = str(array.attrs.get("units", ""))
        found, rest = split(name, label, unit, dimensions, values)
        series += found
        scalars += rest
    return series, scalars


def given_series(plan: Plan) -> list[Series]:
    """Return the parameters that run over an axis, as prices and loads."""
    if plan.blueprint is None or plan.elaboration is None:
        return []
    result: list[Series] = []
    for definition in plan.blueprint.core.parameters:
        if not definition.index or (definition.type or "number") != "number":
            continue
        if definition.status == "missing":
            continue
        try:
            table = plan.elaboration.table(definition.name)
            unit = str(plan.elaboration.unit(definition.name))
        except EngiagentError:
            continue
        dimensions = [set_dimension(index_set) for index_set in table.sets]
        values = np.asarray(table.values, dtype=np.float64)
        found, _ = split(definition.name, definition.name, unit, dimensions, values)
        result += found
    return result


def split(
    source: str, label: str, unit: str, dimensions: list[Dimension], values: Floats
) -> tuple[list[Series], list[Scalar]]:
    """Return an array as series along its last ordered dimension, one for all other elements."""
    ordered = [k for k, d in enumerate(dimensions) if d.axis.kind != "label"]
    owner = label.rpartition(".")[0]
    if not ordered or dimensions[ordered[-1]].axis.places.size < 2:
        axes = [element_labels(dimension) for dimension in dimensions]
        pairs = zip(product(*axes), values.reshape(-1), strict=True)
        return [], [Scalar(_with(label, key), float(v), unit) for key, v in pairs if v == v]
    along = ordered[-1]
    dimension = dimensions[along]
    others = [element_labels(d) for k, d in enumerate(dimensions) if k != along]
    rows = np.moveaxis(values, along, -1).reshape(-1, values.shape[along])
    result = []
    for place, key in enumerate(product(*others)):
        row: Floats = rows[place]
        if np.all(np.isnan(row)):
            continue
        full = row
        if dimension.positions is not None:
            full = np.full(dimension.axis.places.size, np.nan)
            full[dimension.positions] = row
        result.append(
            Series(source, _with(label, key), owner, unit, dimension.axis, dimension.instants, full)
        )
    return result, []


def solution_dimensions(plan: Plan, array: Any) -> list[Dimension]:
    """Return the dimensions of a variable of the solution."""
    return [_dimension(plan, array, str(dim)) for dim in array.dims]


def _dimension(plan: Plan, array: Any, dim: str) -> Dimension:
    name, elaboration = dim.split("__")[0], plan.elaboration
    if elaboration is not None and name in elaboration.set_infos:
        try:
            known = elaboration.index_set(name)
            if known.size == array.sizes[dim]:  # else the solution is of another blueprint
                return set_dimension(known)
        except EngiagentError:
            pass
    if plan.solution is not None and dim in plan.solution.coords:
        return Dimension(read_axis(plan.solution.coords[dim]), array.attrs.get("role") == "state")
    raise InputError(f"the schedule runs over {dim}, of which nothing says what it is")


def set_dimension(index_set: IndexSet) -> Dimension:
    """Return an index set as a dimension."""
    root = index_set.root
    positions = index_set.in_root if root is not index_set else None
    instants = root.kind == "instants"
    axis = root.axis
    labels = tuple(_label(label) for label in root.labels)
    if axis is not None and root.kind in ("time", "instants"):
        zone = axis.zone if axis.dated else None
        places = axis.edges[: root.size]
        kind: Kind = "time" if axis.dated else "clock"
        if axis.dated:
            labels = tuple(time_label(float(x), zone) for x in places)
        return Dimension(Axis(root.name, kind, places, labels, zone), instants, positions)
    if root.numbers is not None or instants:
        numbers = np.arange(root.size) if root.numbers is None else root.numbers
        places = numbers.astype(np.float64)
        return Dimension(Axis(root.name, "number", places, labels), instants, positions)
    places = np.arange(root.size, dtype=np.float64)
    return Dimension(Axis(root.name, "label", places, labels), False, positions)


def _label(label: Any) -> str:
    return ", ".join(str(part) for part in label) if isinstance(label, tuple) else str(label)


def element_labels(dimension: Dimension) -> tuple[str, ...]:
    """Return the labels of the elements of a dimension, of a subset its own."""
    labels = dimension.axis.labels
    if dimension.positions is None:
        return labels
    return tuple(labels[position] for position in dimension.positions)


def _with(label: str, key: tuple[str, ...]) -> str:
    return f"{label}[{', '.join(key)}]" if key else label


def is_like(unit: str, other: str) -> bool:
    """Whether two units measure the same; what is no unit measures nothing."""
    try:
        return parse_unit(unit).dimension == parse_unit(other).dimension
    except UnitError:
        return False


def settled(values: Floats, scale: float = 0.0) -> Floats:
    """Return values with what is nothing but rounding set to zero; NaN stays.

    ``scale`` is the size of what they stand beside, where that is larger.
    """
    known = np.abs(values[np.isfinite(values)])
    largest = max(float(known.max()) if known.size else 0.0, scale)
    return np.where(np.abs(values) <= _NOTHING * largest, 0.0, values)


def largest_by_unit(series: Sequence[Series]) -> dict[str, float]:
    """Return the largest absolute value of each unit, beside which rounding shows."""
    found: dict[str, float] = {}
    for item in series:
        known = np.abs(item.values[np.isfinite(item.values)])
        found[item.unit] = max(found.get(item.unit, 0.0), float(known.max(initial=0.0)))
    return found


def over_one_axis(series: Sequence[Series]) -> list[list[Series]]:
    """Return series in groups that can stand side by side: of one kind of axis in one zone."""
    groups: dict[tuple[str, str | None], list[Series]] = {}
    for item in series:
        name = item.axis.name if item.axis.kind == "number" else ""
        groups.setdefault((item.axis.kind + name, item.axis.zone), []).append(item)
    return list(groups.values())


def aligned(members: Sequence[Series]) -> tuple[Floats, list[str], list[Floats]]:
    """Return every place of some series, its label, and each of them there, NaN where it is not."""
    places = np.unique(np.concatenate([item.axis.places for item in members]))
    labels: dict[float, str] = {}
    columns = []
    for item in members:
        column = np.full(places.size, np.nan)
        column[np.searchsorted(places, item.axis.places)] = item.values
        columns.append(column)
        for place, label in zip(item.axis.places.tolist(), item.axis.labels, strict=True):
            labels.setdefault(place, label)
    return places, [labels[place] for place in places.tolist()], columns

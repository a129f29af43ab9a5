"""Runs of a plant under a controller, recorded as named series with units."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import ExpressionDef, VariableDef
from engiagent.blueprint.timeaxis import TimeAxis
from engiagent.environment.interface import (
    Controller,
    Drives,
    Moment,
    Runs,
    Signal,
    Values,
    between,
    driving,
    element_name,
    numbers_of,
    of_user,
)
from engiagent.errors import InputError
from engiagent.io.files import write_atomic
from engiagent.io.jsontext import dumps_canonical
from engiagent.plant.source import nearest
from engiagent.run.folder import BLUEPRINT, SIMULATED, SIMULATION
from engiagent.solvers.arrays import AnySolution, NamedArray, SolutionArrays
from engiagent.solvers.solution import save_solution
from engiagent.text.datafile import DataFile, load_data_file
from engiagent.units.unit import UnitError
from engiagent.units.words import Conventions

if TYPE_CHECKING:
    import xarray

Floats = npt.NDArray[np.float64]
INPUTS = ("action", "disturbance")
SCHEMA = "engiagent-simulation/1"
DATA = "data.csv"


@dataclass
class Forcing(Drives):
    """Series that are given: values by input, held from each of their times [s], from 0 on."""

    times: Floats
    values: Mapping[str, Floats] = field(default_factory=dict)
    begins: TimeAxis | None = None
    steps: int = field(default=0, init=False)  # for how many steps they last
    _means: Mapping[str, list[float]] = field(default_factory=dict, init=False, repr=False)

    def initialize(self, seconds: float) -> None:
        """Take the means over steps of a length. [s]."""
        self.steps = int((self.duration or seconds) // seconds + 1e-9)
        along = self.along(self.steps, seconds) if self.steps else {}
        self._means = {name: values.tolist() for name, values in along.items()}

    def step(self, now: Moment) -> dict[str, float]:
        """Return the means over a step."""
        return {name: values[now.step] for name, values in self._means.items()}

    @property
    def duration(self) -> float:
        """How long they last. [s]."""
        return float(2 * self.times[-1] - self.times[-2]) if len(self.times) > 1 else 0.0

    def along(self, steps: int, seconds: float) -> dict[str, Floats]:
        """Return the means over steps of some length.

        Raises InputError when they end before the steps do.
        """
        edges = np.arange(steps + 1) * seconds
        last = self.duration or seconds
        if edges[-1] > last + 1e-6:
            raise InputError(
                f"the series end before {steps} steps of {seconds:g} s do",
                found=f"{last:g} s",
                expected=f"at most {int(last // seconds)} steps",
            )
        knots = np.append(self.times, last)
        found = {}
        for name, values in self.values.items():
            total = np.concatenate(([0.0], np.cumsum(values * np.diff(knots))))
            found[name] = np.diff(np.interp(edges, knots, total)) / seconds
        return found


def read_forcing(path: Path, signals: Mapping[str, Signal], zone: str | None = None) -> Forcing:
    """Read series of inputs from a table with a column of time and one for each input.

    ``zone``: of stamps without offset. Raises InputError for a column that is none or misfits.
    """
    units = {name: signal.unit for name, signal in signals.items() if signal.role in INPUTS}
    file, values = read_series_by_name(path, units, zone, "no input")
    if file.axis is None:
        raise InputError("no column of time", path.name, expected="time stamps as 2026-01-31T00:00")
    stamps = np.asarray(file.axis.instants, dtype=np.int64)
    begins = TimeAxis(stamps[:1].astype(float), True, file.zone)
    return Forcing((stamps - stamps[0]).astype(float), values, begins)


def read_series_by_name(
    path: Path, units: Mapping[str, str], zone: str | None, otherwise: str
) -> tuple[DataFile, dict[str, Floats]]:
    """Return a table, and its columns by known names in the units of these.

    ``zone``: of stamps without offset. ``otherwise``: what a column is that has none of the names.
    Raises InputError for such a column, or for one of another dimension.
    """
    file = load_data_file(path.resolve().parent, path.name, Conventions(), zone)
    found = {}
    for column in file.series:
        name = next((n for n in (column.header, column.name) if n in units), None)
        if name is None:
            said = f"the column {column.header!r} is {otherwise}"
            raise InputError(said, path.name, expected=f"one of {', '.join(units) or 'none'}")
        factor, shift = 1.0, 0.0
        if column.unit is not None:
            try:
                factor, shift = between(str(column.unit), units[name])
            except UnitError as error:
                raise InputError(f"the column {column.header!r}: {error}", path.name) from None
        found[name] = column.numbers() * factor + shift
    return file, found


def dated(begins: np.datetime64) -> TimeAxis:
    """Return an axis that begins at a date of a clock that never changes."""
    return TimeAxis(np.array([begins.astype("datetime64[s]").astype(float)]), True, None)


def in_steps(begins: TimeAxis | None, steps: int, seconds: float) -> TimeAxis:
    """Return the axis of steps from where another begins, at midnight without one."""
    begins = begins or TimeAxis(np.zeros(1), False, None)
    edges = begins.edges[0] + np.arange(steps + 1) * seconds
    return replace(begins, edges=edges, length=seconds)


def run(
    plant: Runs,
    steps: int,
    seconds: float,
    controller: Controller | None = None,
    *,
    forcing: Controller | None = None,
    begins: TimeAxis | None = None,
    initial: Values | None = None,
    seed: int = 0,
    on_step: Callable[[int, int], None] | None = None,
) -> "xarray.Dataset":
    """Run a plant for some steps and return every signal as a series.

    ``seconds``: length of a step, from a minute to an hour. [s] ``controller``: what sets inputs;
    those that it does not set come from ``forcing``, series or any other disturbance, else from
    defaults. Both are reset as the plant is. ``begins``: an axis, where the first step begins as
    its first period does; that of the forcing when None.

    Returns a dataset over ``time``, the starts of the steps, and ``instant``, the edges of them:
    states over instants, all else over time, with ``units`` and ``role``; in UTC with a ``zone``.
    """
    if steps < 1 or not 1 <= seconds <= 3600:
        raise InputError(
            f"{steps} steps of {seconds:g} s", expected="at least 1, from 1 s to an hour long"
        )
    drivers = [driving(part) for part in (forcing, controller) if part is not None]
    if not (begins and begins.dated):
        begins = getattr(forcing, "begins", None) or begins
    axis = in_steps(begins, steps, seconds)
    plant.initialize(seconds)
    for driver in drivers:
        driver.initialize(seconds)
        if isinstance(driver, Forcing) and driver.steps < steps:
            said = f"the series end before {steps} steps of {seconds:g} s do"
            raise InputError(said, expected=f"at most {driver.steps} steps")
        driver.reset(seed)
    with of_user(plant):
        seen = plant.reset(initial, seed)
    is_own = type(plant).__module__.startswith("engiagent.")
    first, rows, sent = dict(seen), [], []
    foresee: Callable[[], Values] = getattr(plant, "ahead", dict)
    inputs = [name for name, signal in plant.signals.items() if signal.role in INPUTS]
    for k in range(steps):
        now: dict[str, float] = {}
        clock, ahead = float(axis.local[k] % 86400.0), dict(foresee())
        for driver in drivers:
            with of_user(driver):
                moment = Moment(k, seconds, clock, {**seen, **ahead, **now})
                now |= numbers_of(driver.step(moment))
        odd = next((name for name in now if name not in inputs), None)
        if odd is not None:
            raise InputError(f"there is no input {odd!r}", expected=nearest(odd, inputs))
        with of_user(plant):
            seen = plant.step(now)
            seen = seen if is_own else numbers_of(seen)
        rows.append(seen)
        sent.append(now)
        if on_step is not None:
            on_step(k + 1, steps)
    return recorded(plant.signals, first, rows, sent, axis)


def recorded(
    signals: Mapping[str, Signal],
    first: Values,
    rows: Sequence[Values],
    sent: Sequence[Values],
    axis: TimeAxis,
) -> "xarray.Dataset":
    """Return the dataset of a run: what was seen first and after each step, and what was sent."""
    import xarray

    edges: Any = axis.stamps if axis.dated else axis.edges - axis.edges[0]
    attrs = {"zone": axis.zone} if axis.zone else {} if axis.dated else {"units": "s"}
    series: dict[str, Any] = {}
    for name, signal in signals.items():
        about = {"units": signal.unit, "role": signal.role}
        if signal.role == "state" and name in rows[0]:
            # A plant that is not ours may not have all states before its first step.
            begin = first.get(name, rows[0][name])
            values = np.array([begin, *(row[name] for row in rows)])
            series[name] = ("instant", values, about)
        elif signal.role in INPUTS:
            rest = np.nan if signal.default is None else signal.default
            applied = [r.get(name, s.get(name, rest)) for r, s in zip(rows, sent, strict=True)]
            series[name] = ("time", np.array(applied), about)
        elif name in rows[0]:
            series[name] = ("time", np.array([row[name] for row in rows]), about)
    coords = {"time": ("time", edges[:-1], attrs), "instant": ("instant", edges, attrs)}
    return xarray.Dataset(series, coords=coords)


def as_solution(elaboration: Elaboration, record: AnySolution) -> SolutionArrays:
    """Return the quantities of a blueprint with the values of a record, without those it has not.

    ``elaboration``: of the blueprint with components written out, over the periods of the record.
    ``record``: signals by name over ``time`` and ``instant``, each with ``units``.
    """
    items: Iterable[VariableDef | ExpressionDef]
    items = (*elaboration.core.decision_variables, *elaboration.core.expressions)
    found = (array for item in items for array in _recorded(elaboration, item, record))
    return SolutionArrays({array.name: array for array in found}, {}, {})


def _recorded(
    elaboration: Elaboration, item: VariableDef | ExpressionDef, record: AnySolution
) -> Iterator[NamedArray]:
    """Yield an item with the values of a record where this shows all of its elements."""
    sets = [elaboration.index_set(binder.set) for binder in elaboration.binders(item.index)]
    times = [k for k, s in enumerate(sets) if s.root.kind in ("time", "instants")]
    if item.quantity is None or len(times) != 1:
        return
    unit = str(elaboration.symbols[item.name].unit or "1")
    others = [s for k, s in enumerate(sets) if k != times[0]]
    columns = []
    for label in product(*(s.labels for s in others)):
        name = element_name(item.quantity, ".".join(map(str, label)))
        if name not in record or record[name].size != sets[times[0]].size:
            return
        signal = record[name]
        factor, shift = between(signal.attrs["units"], unit)
        columns.append(factor * signal.values + shift)
    values = np.reshape(columns, (*(s.size for s in others), -1))
    about = {"units": unit, "quantity": item.quantity}
    dims = tuple(s.name for s in sets)
    yield NamedArray(item.name, dims, np.moveaxis(values, -1, times[0]), about)


def stamps_of(time: Any) -> tuple[str, ...]:
    """Return the times of a record as text, with the offset in a zone; seconds without a date."""
    if not np.issubdtype(time.dtype, np.datetime64):
        return tuple(f"{t:g}" for t in time.values)
    if "zone" not in time.attrs:
        return tuple(np.datetime_as_string(time.values, unit="s").tolist())
    seconds = time.values.astype("datetime64[ns]").astype(np.int64) / 1e9
    return TimeAxis(seconds, True, time.attrs["zone"]).labels


def as_csv(data: "xarray.Dataset") -> str:
    """Return a run as a table: a row a step, states as they are at its start, units in headers."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    columns = [item.values[: data.sizes["time"]] for item in data.data_vars.values()]
    units = {name: item.attrs["units"] for name, item in data.data_vars.items()}
    heads = (f"{name} [{unit}]" if unit != "1" else name for name, unit in units.items())
    table.writerow(["time" if data["time"].dtype.kind == "M" else "seconds", *heads])
    for k, stamp in enumerate(stamps_of(data["time"])):
        table.writerow([stamp, *(f"{column[k]:.9g}" for column in columns)])
    return text.getvalue()


def write_record(
    folder: Path, data: "xarray.Dataset", summary: Mapping[str, Any], blueprint: Blueprint | None
) -> None:
    """Write a run of a plant into a folder: a table, its signals, its blueprint, a summary."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / DATA, as_csv(data))
    save_solution(data, folder / SIMULATED)
    if blueprint is not None:
        write_atomic(folder / BLUEPRINT, blueprint.to_json())
    write_atomic(folder / SIMULATION, dumps_canonical(summary))

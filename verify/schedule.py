"""Schedules: a solution dataset, netCDF, CSV, JSON, a table or plain arrays."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from engiagent.errors import InputError
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify.assigning import name_columns
from engiagent.verify.foreign import Reading
from engiagent.verify.naming import Known
from engiagent.verify.reading import Column, read_content
from engiagent.verify.series import Floats, Series

PREFIXES = ("dual__", "reduced_cost__", "farkas__")
CLAIMS = ("status", "objective", "objective_unit", "bound", "solver", "is_mip")
"""What the checker reads of what a schedule says about itself."""


@dataclass(frozen=True)
class Multipliers:
    """Multipliers of one constraint, flat over its rows, with their unit if it is known."""

    data: Floats
    unit: Unit | None


@dataclass(frozen=True)
class Schedule:
    """What a schedule says, sorted: series by variable and by quantity, multipliers by constraint.

    ``claims`` are attributes such as status and objective; ``notes`` say what was assumed on
    reading: units, sign conventions, a first state.
    """

    series: Mapping[str, Series]
    duals: Mapping[str, Multipliers] = field(default_factory=dict)
    farkas: Mapping[str, Multipliers] = field(default_factory=dict)
    claims: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def status(self) -> str | None:
        """The status that its maker claims."""
        status = self.claims.get("status")
        return None if status is None else str(status)

    def number(self, claim: str) -> float | None:
        """Return a numeric claim, None when it is absent; NaN stays NaN."""
        value = self.claims.get(claim)
        if value is None:
            return None
        try:
            return float(value)
        except (TypeError, ValueError):
            what = f"the {claim} is no number"
            raise InputError(what, "the schedule", found=repr(value)) from None

    def sha256(self) -> str:
        """Return the hash over what is checked: numbers, their units, axes and claims."""
        digest = hashlib.sha256()
        for group in (self.series, self.duals, self.farkas):
            for name in sorted(group):
                data = np.ascontiguousarray(group[name].data, dtype="<f8")
                digest.update(f"{name}{data.shape}{group[name].unit}".encode())
                digest.update(data.reshape(-1).view(np.uint8).data)
        for name in sorted(self.series):
            for axis, labels in sorted(self.series[name].coordinates.items()):
                if isinstance(labels, np.ndarray):
                    digest.update(axis.encode())
                    moments = np.ascontiguousarray(labels, dtype="M8[ns]")
                    digest.update(moments.reshape(-1).view(np.uint8).data)
                else:
                    digest.update(f"{axis}{labels!r}".encode())
        digest.update(repr([_plain(self.claims.get(name)) for name in CLAIMS]).encode())
        return digest.hexdigest()


def read_schedule(
    solution: Any,
    known: Known,
    reading: Reading | Mapping[str, str] | None = None,
    initial: Mapping[str, tuple[float, int]] | None = None,
) -> Schedule:
    """Return the schedule that ``solution`` holds: a path, a dataset, a table or arrays by name.

    ``initial``: by quantity the value at the first instant (SI) and the number of periods, to
    complete states that are given without their first value.
    """
    asked = Reading.of(reading)
    if isinstance(solution, Schedule):
        raise InputError("a schedule that was read already", "the schedule")
    content = read_content(solution, asked.decimal)
    multipliers: dict[str, dict[str, Multipliers]] = {"dual__": {}, "farkas__": {}}
    plain: dict[str, Column] = {}
    for name, column in content.columns.items():
        prefix = next((p for p in PREFIXES if name.startswith(p)), None)
        if prefix is None:
            plain[name] = column
        elif prefix in multipliers:
            unit = None if column.unit is None else parse_unit(column.unit)
            flat = np.asarray(column.data, dtype=np.float64).reshape(-1)
            multipliers[prefix][name.removeprefix(prefix)] = Multipliers(flat, unit)
    series, notes = name_columns(replace(content, columns=plain), known, asked)
    _complete_states(series, notes, initial or {})
    return Schedule(
        series,
        multipliers["dual__"],
        multipliers["farkas__"],
        content.claims,
        tuple(dict.fromkeys(notes)),
    )


def _complete_states(
    series: dict[str, Series], notes: list[str], initial: Mapping[str, tuple[float, int]]
) -> None:
    """Put the known first value before a state that is given at the ends of the periods only."""
    for name, (first, periods) in initial.items():
        known = series.get(name)
        if known is not None and known.data.shape == (periods,):
            start = (first - known.unit.origin) / known.unit.scale
            longer = np.concatenate(([start], known.data))
            notes.append(f"{name} has one value per period: they are read as those at its end")
            new = replace(known, data=longer, dims=("",), coordinates={})
            series.update({name: new for name, one in series.items() if one is known})


def _plain(value: Any) -> str | float | None:
    """Return a claim as text or number, whatever type a file made of it."""
    if value is None or isinstance(value, str):
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)

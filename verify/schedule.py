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
Mappings = Mapping[str, str]
CLAIMS = ("status", "objective", "objective_unit", "bound", "solver", "is_mip")
"""What the checker reads of what a schedule says about itself."""


@dataclass(frozen=True)
class Multipliers:
    """Multipliers of one constraint, flat over its rows, with their unit if it is known."""

    data: Floats
    unit: Unit | None


@dataclass(frozen=True)
class Schedule:
    """What a schedule says, sorted.

    Attributes
    ----------
    series
        Numbers by variable name and by quantity.
    duals, farkas
        Multipliers by constraint.
    claims
        Attributes: status, objective, bound, solver …
    notes
        What was assumed on reading: units, sign conventions, a first state.
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
            raise InputError(
                f"the {claim} is no number", "the schedule", found=repr(value)
            ) from None

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
    reading: Reading | Mappings | None = None,
    initial: Mapping[str, tuple[float, int]] | None = None,
    capacities: Mapping[str, float] | None = None,
) -> Schedule:
    """Return the schedule that ``solution`` holds.

    Parameters
    ----------
    solution
        An ``xarray.Dataset``, a ``pandas.DataFrame``, a mapping of arrays, or a path to a file
        ending in ``.nc``, ``.csv``, ``.json`` or ``.parquet``.
    known
        What the documents speak of.
    reading
        How the columns are to be read, or only which is which.
    initial
        By quantity the value at the first instant (SI) and the number of periods, to complete
        states that are given without their first value.
    capacities
        Energy capacities (SI) by the quantity of the state of charge, for states given in %.

    Raises
    ------
    InputError
        When the file is unreadable, a unit clashes, a mapped column is absent, or time stamps do
        not fit.
    """
    asked = Reading.of(reading)
    if isinstance(solution, Schedule):
        raise InputError("a schedule that was read already", "the schedule")
    content = read_content(solution, asked, known.label_sets)
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
    _as_energy(series, notes, capacities or {})
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
        if known is None or known.data.shape != (periods,):
            continue
        longer = np.concatenate(([np.nan], known.data))
        full = replace(known, data=longer, dims=("",), coordinates={})
        full.data[0] = first / known.unit.scale - (known.unit.origin / known.unit.scale)
        notes.append(f"{name} has one value per period: they are read as those at its end")
        for key in [k for k, s in series.items() if s is known]:
            series[key] = full


def _as_energy(
    series: dict[str, Series], notes: list[str], capacities: Mapping[str, float]
) -> None:
    """Turn states of charge given in % or as a fraction into energies."""
    kilowatt_hours = parse_unit("kWh")
    for name, capacity in capacities.items():
        known = series.get(name)
        if known is None or not known.unit.is_dimensionless:
            continue
        energy = known.data * known.unit.scale * capacity / kilowatt_hours.scale
        notes.append(f"{name} is given in {known.unit}: read as a share of the energy capacity")
        share = replace(known, data=energy, unit=kilowatt_hours)
        for key in [k for k, s in series.items() if s is known]:
            series[key] = share


def _plain(value: Any) -> str | float | None:
    """Return a claim as text or number, whatever type a file made of it."""
    if value is None or isinstance(value, str):
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        return str(value)

"""Schedules made by anybody: a solution dataset, netCDF, CSV, JSON, a table or plain arrays."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from engiagent.blueprint.document import Core, VariableDef
from engiagent.blueprint.units import Unit, UnitError, parse_unit
from engiagent.errors import InputError
from engiagent.verify.reading import Column, read_file
from engiagent.verify.series import Floats, Series
from engiagent.verify.vocabulary import declared_unit, is_state

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
                digest.update(data.tobytes())
        for name in sorted(self.series):
            for axis, labels in sorted(self.series[name].coordinates.items()):
                if isinstance(labels, np.ndarray):
                    digest.update(axis.encode() + labels.astype("M8[ns]").tobytes())
                else:
                    digest.update(f"{axis}{labels!r}".encode())
        digest.update(repr([_plain(self.claims.get(name)) for name in CLAIMS]).encode())
        return digest.hexdigest()


def read_schedule(
    solution: Any,
    core: Core | None,
    mapping: Mappings | None = None,
    initial: Mapping[str, tuple[float, int]] | None = None,
    capacities: Mapping[str, float] | None = None,
) -> Schedule:
    """Return the schedule that ``solution`` holds.

    Parameters
    ----------
    solution
        An ``xarray.Dataset``, a ``pandas.DataFrame``, a mapping of arrays, or a path to a file
        ending in ``.nc``, ``.csv`` or ``.json``.
    core
        The blueprint's core, for its variables; None without a blueprint.
    mapping
        Quantity or variable to column, as ``{"battery.charge": "P_ch"}``. ``battery.net_charge``
        or ``battery.net_discharge`` splits one signed column; the name says which sign it has.
    initial
        By quantity the value at the first instant (SI) and the number of periods, to complete
        states that are given without their first value.
    capacities
        Energy capacities (SI) by the quantity of the state of charge, for states given in %.

    Raises
    ------
    InputError
        When the file is unreadable, a unit clashes, or a mapped column is absent.
    """
    columns, claims = _columns(solution)
    multipliers: dict[str, dict[str, Multipliers]] = {"dual__": {}, "farkas__": {}}
    plain: dict[str, Column] = {}
    for name, column in columns.items():
        prefix = next((p for p in PREFIXES if name.startswith(p)), None)
        if prefix is None:
            plain[name] = column
        elif prefix in multipliers:
            unit = None if column.unit is None else parse_unit(column.unit)
            flat = np.asarray(column.data, dtype=np.float64).reshape(-1)
            multipliers[prefix][name.removeprefix(prefix)] = Multipliers(flat, unit)
    variables = {} if core is None else {v.name: v for v in core.decision_variables}
    series, notes = _named(plain, variables, dict(mapping or {}))
    _as_energy(series, notes, capacities or {})
    _complete_states(series, notes, initial or {})
    return Schedule(series, multipliers["dual__"], multipliers["farkas__"], claims, tuple(notes))


def _columns(solution: Any) -> tuple[dict[str, Column], dict[str, Any]]:
    if isinstance(solution, str | Path):
        return read_file(Path(solution))
    if isinstance(solution, Schedule):
        raise InputError("a schedule that was read already", "the schedule")
    from engiagent.verify.reading import from_mapping

    return from_mapping(solution)


def _named(
    columns: Mapping[str, Column], variables: Mapping[str, VariableDef], mapping: dict[str, str]
) -> tuple[dict[str, Series], list[str]]:
    """Give every column its quantity and variable name."""
    notes: list[str] = []
    result: dict[str, Series] = {}
    by_quantity = {v.quantity: v for v in variables.values() if v.quantity is not None}
    for target, source in mapping.items():
        if source not in columns:
            raise InputError(
                f"the mapping names the column {source!r}",
                "the schedule",
                expected=f"one of {', '.join(columns)}",
            )
        for name, column in _split(target, columns[source], notes):
            full = _full_name(name, variables, by_quantity)
            _add(result, full, column, variables, by_quantity, notes)
    taken = set(mapping.values())
    for name, column in columns.items():
        if name not in taken:
            target = column.quantity or _full_name(name, variables, by_quantity)
            if name in variables:
                target = name
            if target not in result:
                _add(result, target, column, variables, by_quantity, notes)
    return result, notes


def _full_name(
    name: str, variables: Mapping[str, VariableDef], by_quantity: Mapping[str, VariableDef]
) -> str:
    """Complete a bare word such as ``charge`` where only one quantity ends in it."""
    if name in variables or name in by_quantity or "." in name:
        return name
    ending = [q for q in by_quantity if q.rpartition(".")[2] == name]
    return ending[0] if len(ending) == 1 else name


def _split(target: str, column: Column, notes: list[str]) -> list[tuple[str, Column]]:
    owner, _, word = target.rpartition(".")
    if word not in ("net_charge", "net_discharge"):
        return [(target, column)]
    into, out = ("charge", "discharge") if word == "net_charge" else ("discharge", "charge")
    notes.append(f"{target}: positive values are read as {into}, negative ones as {out}")
    prefix = f"{owner}." if owner else ""
    positive, negative = np.maximum(column.data, 0.0), np.maximum(-column.data, 0.0)
    return [
        (f"{prefix}{into}", replace(column, data=positive)),
        (f"{prefix}{out}", replace(column, data=negative)),
    ]


def _add(
    result: dict[str, Series],
    name: str,
    column: Column,
    variables: Mapping[str, VariableDef],
    by_quantity: Mapping[str, VariableDef],
    notes: list[str],
) -> None:
    """Enter a column under its variable and its quantity."""
    definition = variables.get(name) or by_quantity.get(name)
    quantity = (definition.quantity if definition is not None else None) or column.quantity
    expected = None
    if definition is not None and definition.unit is not None:
        expected = parse_unit(definition.unit)
    expected = expected or declared_unit(quantity or name)
    series = _series(name, column, expected, notes)
    for key in {name, definition.name if definition else name, quantity or name}:
        result[key] = series


def _series(name: str, column: Column, expected: Unit | None, notes: list[str]) -> Series:
    unit = expected or parse_unit("1")
    if column.unit is not None:
        try:
            unit = parse_unit(column.unit)
        except UnitError as error:
            raise InputError(f"{name}: {error}", column.file, column.line) from None
        known = expected is not None and not expected.same_dimension(unit)
        if known and not (unit.is_dimensionless and is_state(name)):
            raise InputError(
                f"{name} measures something else",
                column.file,
                column.line,
                found=str(unit),
                expected=str(expected),
            )
    elif not column.own:
        notes.append(f"{name} is read in {unit}: the schedule names no unit")
    return Series(name, column.data, unit, column.dims, column.coordinates, column.zoned)


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
        full.data[0] = first / float(known.unit.factor) - (
            float(known.unit.zero or 0) / float(known.unit.factor)
        )
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
        energy = known.data * float(known.unit.factor) * capacity / float(kilowatt_hours.factor)
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

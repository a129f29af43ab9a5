"""The arrays of a projected program after new values of parameters."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.errors import InputError
from engiagent.formulations.parametric.evaluator import Definition, columns_of
from engiagent.formulations.parametric.maps import Target
from engiagent.formulations.parametric.projection import Projection
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats, Ints

Bools = npt.NDArray[np.bool_]
Recompute = Callable[[Mapping[str, Floats]], Floats]


@dataclass(frozen=True, eq=False)
class Computed:
    """Columns of a parameter that only its own recursion tells.

    ``sources`` are the parameters on which it depends.
    """

    name: str
    start: int
    size: int
    sources: frozenset[str]
    values: Recompute


@dataclass(frozen=True, eq=False)
class _Write:
    """One assignment of an update; ``groups`` is None where each place has one entry."""

    array: Floats
    at: Ints
    base: Floats
    columns: Ints
    coefficients: Floats
    groups: Ints | None

    def run(self, z: Floats) -> None:
        terms: Floats = self.coefficients * z[self.columns]
        if self.groups is not None:
            terms = np.bincount(self.groups, terms, len(self.at)).astype(np.float64)
        self.array[self.at] = self.base + terms


@dataclass(frozen=True, eq=False)
class _Plan:
    """What an update of some parameters does."""

    computed: tuple[Computed, ...]
    definitions: tuple[Definition, ...]
    writes: tuple[_Write, ...]
    offsets: bool
    """Whether the objective's constants are among what is written."""


class Follower:
    """Keeps the arrays of a projection at the current values of its parameters.

    Parameters
    ----------
    starts
        The first column of each parameter that can change.
    values
        Their current values, by name.
    """

    def __init__(
        self,
        projection: Projection,
        starts: Mapping[str, int],
        values: Mapping[str, Floats],
        computed: tuple[Computed, ...] = (),
    ) -> None:
        self.program: Program = projection.program
        self._offsets = projection.offsets
        self._definitions = projection.definitions
        self._computed = computed
        self._targets = projection.targets
        self._starts = dict(starts)
        self._values = {name: values[name].copy() for name in starts}
        self._sizes = {name: self._values[name].size for name in starts}
        self._plans: dict[tuple[str, ...], _Plan] = {}
        width = max([self.program.column_count, *self._ends()], default=0)
        self._z = np.zeros(width)
        self._sources = self._source_sets()
        self._write_all()

    def _ends(self) -> Iterator[int]:
        for target in self._targets:
            yield int(target.columns.max(initial=-1)) + 1
        for definition in self._definitions:
            yield definition.start + definition.form.size
            yield int(columns_of(definition.form).max(initial=-1)) + 1
        for name, start in self._starts.items():
            yield start + self._sizes[name]
        for item in self._computed:
            yield item.start + item.size

    def _source_sets(self) -> list[frozenset[str]]:
        """Return, for each definition, the parameters on which it depends."""
        owners: list[tuple[int, int, frozenset[str]]] = [
            (start, start + self._sizes[name], frozenset([name]))
            for name, start in self._starts.items()
        ]
        owners += [(c.start, c.start + c.size, c.sources) for c in self._computed]
        found = []
        for definition in self._definitions:
            columns = columns_of(definition.form)
            sources: frozenset[str] = frozenset()
            for start, stop, names in owners:
                if ((columns >= start) & (columns < stop)).any():
                    sources |= names
            found.append(sources)
            owners.append((definition.start, definition.start + definition.form.size, sources))
        return found

    def _write_all(self) -> None:
        writes = [_write(target, np.ones(len(target.at), dtype=bool)) for target in self._targets]
        everything = _Plan(self._computed, self._definitions, tuple(writes), True)
        self._run(everything, self._values)

    def follow(self, new: Mapping[str, Floats]) -> None:
        """Write new values into the arrays; nothing changes when one of them does not go.

        Parameters
        ----------
        new
            Values by parameter, of the shape and in the unit in which each is held.

        Raises
        ------
        InputError
            When something computed from them is not a finite number.
        """
        key = tuple(new)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._plan(frozenset(new))
        self._run(plan, new)

    def _run(self, plan: _Plan, new: Mapping[str, Floats]) -> None:
        z = self._z.copy()
        for name, values in new.items():
            start = self._starts[name]
            z[start : start + values.size] = values.reshape(-1)
        if plan.computed or plan.definitions:
            self._compute(plan, new, z)
        for write in plan.writes:
            write.run(z)
        self._z = z
        self._values.update(new)
        if plan.offsets:
            # The only numbers among the arrays; the program stays one object for its sessions.
            program, offsets = self.program, self._offsets
            object.__setattr__(program, "offset", float(offsets[0]))
            for goal, value in zip(program.goals, offsets[1:], strict=True):
                object.__setattr__(goal, "offset", float(value))

    def _compute(self, plan: _Plan, new: Mapping[str, Floats], z: Floats) -> None:
        merged = {**self._values, **new} if plan.computed else {}
        for item in plan.computed:
            z[item.start : item.start + item.size] = item.values(merged).reshape(-1)
        for definition in plan.definitions:
            values = definition.form.at(z)
            if not np.isfinite(values).all():
                raise InputError(
                    "with these values something computed from them is not a finite number",
                    found=", ".join(sorted(new)),
                )
            z[definition.start : definition.start + len(values)] = values

    def _plan(self, names: frozenset[str]) -> _Plan:
        touched = np.zeros(len(self._z), dtype=bool)
        for name in names:
            touched[self._starts[name] : self._starts[name] + self._sizes[name]] = True
        computed = tuple(c for c in self._computed if c.sources & names)
        for item in computed:
            touched[item.start : item.start + item.size] = True
        definitions = []
        for definition, sources in zip(self._definitions, self._sources, strict=True):
            if sources & names:
                definitions.append(definition)
                touched[definition.start : definition.start + definition.form.size] = True
        writes = []
        for target in self._targets:
            places = np.unique(target.at[touched[target.columns]])
            if len(places):
                writes.append(_write(target, np.isin(target.at, places)))
        constants = any(write.array is self._offsets for write in writes)
        return _Plan(computed, tuple(definitions), tuple(writes), constants)


def _write(target: Target, chosen: Bools) -> _Write:
    at = np.asarray(target.at[chosen], dtype=np.int64)
    columns = np.asarray(target.columns[chosen], dtype=np.int64)
    coefficients = target.coefficients[chosen]
    places, groups = np.unique(at, return_inverse=True)
    base = target.base[places]
    single = len(places) == len(at)
    return _Write(target.array, places, base, columns, coefficients, None if single else groups)

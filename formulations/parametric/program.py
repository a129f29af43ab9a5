"""A program whose numbers follow parameters, changed in place.

Compiled once; then ``update`` writes new costs, bounds, right-hand sides and coefficients into the
same arrays, and these are what a fresh compilation would have given.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from engiagent.blueprint.diagnostics import BlueprintError, MissingDataError
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import FrozenMap, ParameterDef, freeze
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.uncertainty import uncertain_names
from engiagent.blueprint.values import as_written, inline_values, unit_of
from engiagent.errors import InputError
from engiagent.formulations.compile import compiler_of
from engiagent.formulations.expansion import expand
from engiagent.formulations.parametric.compiler import (
    GivenElaboration,
    ParametricCompiler,
    StructureError,
    dependents,
    structural,
)
from engiagent.formulations.parametric.projection import Follower, Projector, difference
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.units.unit import UnitError, conversion, parse_unit

Structure = Literal["refuse", "recompile"]


def compile_parametric(
    blueprint: Blueprint,
    folder: Path | str | None = None,
    parameters: Sequence[str] = (),
    *,
    structure: Structure = "refuse",
) -> "ParametricProgram":
    """Compile a blueprint so that some of its parameters can change in place.

    ``blueprint``: the blueprint; components not yet expanded are expanded first. ``folder``: where
    its data files lie. ``parameters``: names of numeric parameters that will change. What is
    computed from them follows. ``structure``: what to do when a parameter decides on structure
    (filters, sets, conditions, indices, the way a function becomes rows) or stands inside a
    function or a product of variables, or a component asks for its number while it is written out:
    ``refuse``, or ``recompile`` at every update, which is slower and gives a new program. Raises
    StructureError when one does and ``structure`` is ``refuse``; names the place; BlueprintError,
    MissingDataError as :func:`engiagent.formulations.compile_blueprint` does; InputError when a
    name is not that of a numeric parameter with values of its own.
    """
    names = tuple(dict.fromkeys(parameters))
    source = _Source(blueprint, Path(folder) if folder is not None else None, names)
    inputs, values = source.inputs(names)
    plain = source.compiled(values)
    try:
        follower: Follower | None = source.follower(names, values, plain)
    except StructureError:
        if structure != "recompile":
            raise
        follower = None
    return ParametricProgram(source, inputs, values, plain, follower)


def with_numbers(
    blueprint: Blueprint, folder: Path | None, values: Mapping[str, Floats]
) -> Blueprint:
    """Return a blueprint with numbers by parameter, each in its own unit, as if written there."""
    core = blueprint.core
    elaboration = Elaboration(core, folder)

    def changed(definition: ParameterDef) -> ParameterDef:
        if definition.name not in values:
            return definition
        given, sets = values[definition.name], tuple(elaboration.table(definition.name).sets)
        short = not isinstance(definition.value, tuple | FrozenMap)  # as a table has to stay one
        about: Any = {"unit": str(unit_of(definition)), "unit_override": None}
        written = freeze(as_written(given, sets, short=short))
        return replace(definition, value=written, data=None, keys=(), **about)

    return blueprint.with_core(parameters=tuple(map(changed, core.parameters)))


class ParametricProgram:
    """A compiled program and the parameters that it follows; see :func:`compile_parametric`."""

    def __init__(
        self,
        source: "_Source",
        inputs: "dict[str, ParameterInput]",
        values: dict[str, Floats],
        plain: Program,
        follower: Follower | None,
    ) -> None:
        self._source = source
        self._inputs = inputs
        self._values = values
        self._follower = follower
        self._program = plain if follower is None else follower.program
        self._moved: set[str] = set()

    @property
    def program(self) -> Program:
        """The program as it stands now; one object for all updates unless it is recompiled."""
        return self._program

    @property
    def in_place(self) -> bool:
        """Whether updates change arrays in place; otherwise each compiles anew."""
        return self._follower is not None

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a parameter's values, as its sets have it."""
        return self._input(name).shape

    def unit(self, name: str) -> str:
        """Return the unit of a parameter; with units by label that of the first label."""
        return str(self._input(name).unit)

    def value(self, name: str) -> Floats:
        """Return a copy of the current values of a parameter, in :meth:`unit`."""
        return self._values[self._input(name).name].copy()

    def update(self, **values: Any) -> None:
        """Give parameters new values.

        ``values``: by name: a number (for every element) or an array of the parameter's shape, in
        the parameter's own unit; or a pair of one of these and a unit, which is converted. All or
        nothing: with an error nothing changes. Raises InputError when a name, a shape or a unit is
        wrong or a value is not finite; BlueprintError when a recompiled program cannot take the
        values.
        """
        new = {name: self._input(name).read(value) for name, value in values.items()}
        if self._follower is not None:
            self._follower.follow(new)
        else:
            moved = self._moved | new.keys()
            self._program = self._source.compiled({**self._values, **new}, moved)
        self._values.update(new)
        self._moved.update(new)

    def restart(self, name: str, start: str) -> None:
        """Let a time set begin at another moment; from then on every update compiles anew."""
        self._source = self._source.restarted(name, start)
        self._follower = None

    def _input(self, name: str) -> "ParameterInput":
        found = self._inputs.get(name)
        if found is None:
            known = ", ".join(self._inputs) or "none"
            raise InputError(f"{name!r} is none of the parameters that can change: {known}")
        return found


class ParameterInput:
    """How values of one parameter are read: a number or an array, perhaps in another unit."""

    def __init__(self, definition: ParameterDef, sets: tuple[IndexSet, ...]) -> None:
        self.name = definition.name
        self.shape = tuple(s.size for s in sets)
        self.unit = unit_of(definition)
        self._by_label: tuple[Floats, Floats] | None = None
        if isinstance(definition.unit, FrozenMap) and not definition.unit_override:
            zero, one = (
                np.asarray(inline_values(replace(definition, value=value), sets), dtype=np.float64)
                for value in (0.0, 1.0)
            )
            self._by_label = zero, one - zero

    def read(self, given: Any) -> Floats:
        """Return new values in :attr:`unit`, of this parameter's shape; InputError when wrong."""
        unit: str | None = None
        if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], str):
            given, unit = given
        try:
            values = np.array(given, dtype=np.float64)
            if unit is not None:
                factor, shift = conversion(parse_unit(unit), self.unit)
                values = values * factor + shift
        except (UnitError, TypeError, ValueError) as error:
            raise InputError(f"{self.name}: {error}") from None
        if values.shape not in ((), self.shape):
            raise InputError(
                f"{self.name}: the shape of the values is wrong",
                found=str(values.shape),
                expected=f"a number or {self.shape}",
            )
        if not np.isfinite(values).all():
            raise InputError(f"{self.name}: a value is not a finite number")
        values = values if values.shape == self.shape else np.full(self.shape, values)
        if self._by_label is not None and unit is None:
            values = self._by_label[0] + self._by_label[1] * values
        return values


class _Source:
    """A blueprint with its data, compiled in one way or the other."""

    def __init__(self, given: Blueprint, folder: Path | None, names: tuple[str, ...]) -> None:
        read: set[str] = set()
        self.given, self.names = given, names
        self.blueprint = expand(given, read)
        self.folder = folder
        self.read = tuple(name for name in names if name in read)

    def inputs(self, names: tuple[str, ...]) -> tuple[dict[str, ParameterInput], dict[str, Floats]]:
        """Return how parameters are read, and their values in the blueprint."""
        core = self.blueprint.core
        elaboration = Elaboration(core, self.folder)
        if elaboration.missing:
            raise MissingDataError(elaboration.missing)
        definitions = {p.name: p for p in core.parameters}
        inputs, values = {}, {}
        for name in names:
            definition = definitions.get(name)
            if definition is None:
                raise InputError(f"the blueprint has no parameter {name!r}")
            if (definition.type or "number") != "number":
                raise InputError(f"{name!r} holds labels or elements, no numbers")
            if isinstance(definition.value, str):
                raise InputError(
                    f"{name!r} is computed from others; name those, and it follows them"
                )
            table = elaboration.table(name)
            inputs[name] = ParameterInput(definition, table.sets)
            values[name] = table.values
        return inputs, values

    def restarted(self, name: str, start: str) -> "_Source":
        """Return the same with another start of a time set."""
        core = self.given.core
        if not any(s.name == name and s.kind == "time" for s in core.sets):
            raise InputError(f"{name!r} is no time set")
        sets = tuple(replace(s, start=start) if s.name == name else s for s in core.sets)
        return _Source(self.given.with_core(sets=sets), self.folder, self.names)

    def compiled(self, values: Mapping[str, Floats], moved: Collection[str] = ()) -> Program:
        """Return the program of a plain compilation with given values.

        What components come to is theirs to say, unless it was ``moved`` itself.
        """
        blueprint, own = self.blueprint, {p.name for p in self.given.core.parameters}
        values = {name: v for name, v in values.items() if name in own or name in moved}
        if self.read:
            blueprint = expand(with_numbers(self.given, self.folder, values))
        elaboration = GivenElaboration(blueprint.core, self.folder, values)
        elaboration.build()
        return compiler_of(blueprint, elaboration).run()

    def follower(
        self, names: tuple[str, ...], values: Mapping[str, Floats], plain: Program
    ) -> Follower:
        """Return what keeps a program at values of parameters; StructureError when it cannot."""
        core = self.blueprint.core
        if self.read:
            text = f"components ask for the numbers of {', '.join(self.read)} to be written out"
            raise StructureError(f"{text}; ask for structure='recompile'")
        if uncertain_names(core):
            text = "robust counterparts have rows of their own for uncertain parameters"
            raise StructureError(f"{text}; ask for structure='recompile'")
        guarded = (*names, *dependents(core, names))
        elaboration = GivenElaboration(core, self.folder, values, guarded)
        try:
            for definition in core.sets:
                elaboration.index_set(definition.name)
            with elaboration.open():
                elaboration.build()
            compiler = ParametricCompiler(self.blueprint, elaboration, names)
            wide = compiler.run()
        except BlueprintError as error:
            raise structural(error) from None
        given = {name: compiler.starts_of_data[name] for name in names}
        follower = Follower(Projector(compiler, wide).run(), given, values)
        place = difference(follower.program, plain)
        if place is not None:
            raise StructureError(
                f"how {place} becomes rows depends on {', '.join(names)}; ask for "
                "structure='recompile', or leave the parameter in question out"
            )
        return follower

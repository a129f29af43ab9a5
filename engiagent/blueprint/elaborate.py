"""From declarations to data: index sets with their elements, parameters with their values.

Sets may be filtered by parameters and parameters are indexed by sets, so both are built on demand;
a circle is an error that names its members.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, cached_property
from keyword import iskeyword, kwlist
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.datafiles import file_values
from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic, collected, located, refused
from engiagent.blueprint.elements import Core, ParameterDef, SetDef
from engiagent.blueprint.evaluate import Evaluator
from engiagent.blueprint.grammar import (
    Binder,
    ExpressionError,
    Node,
    Ref,
    names_in,
    parse,
    parse_binder,
    walk,
)
from engiagent.blueprint.grid import EMPTY_GRID, Grid
from engiagent.blueprint.indexing import Named, Table
from engiagent.blueprint.relations import checked_relation
from engiagent.blueprint.setbuilders import MAX_ELEMENTS, SET_BUILDERS, parents_of, single_parent
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.symbols import SetInfo, Symbol, Typed
from engiagent.blueprint.timeaxis import parse_step
from engiagent.blueprint.typecheck import TypeChecker
from engiagent.blueprint.values import element_positions, inline_values, unit_of
from engiagent.units.unit import Unit, parse_unit

MAX_WRITTEN_OUT = 5_000
Notes = tuple[tuple[int, str], ...]
"""Announcements of the type checker: a column and a text each."""
PATH = "core_model_elements"


class Elaboration:
    """The sets, parameters and symbols of a blueprint, built on demand.

    ``core``: the declarations. ``folder``: where data files lie; None when there are none.
    """

    def __init__(self, core: Core, folder: Path | None = None) -> None:
        self.core = core
        self.folder = folder
        self._sets: dict[str, IndexSet] = {}
        self._tables: dict[str, Table] = {}
        self._relations: dict[tuple[str, tuple[Binder, ...]], tuple[Typed, Notes]] = {}
        self._open: list[str] = []
        self._set_defs = {s.name: s for s in core.sets}
        self._parameter_numbers = {p.name: k for k, p in enumerate(core.parameters)}
        groups = ("sets", "parameters", "decision_variables", "expressions")
        refuse_double_names([(group, getattr(core, group)) for group in groups])

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the parameters that are declared as missing."""
        return tuple(p.name for p in self.core.parameters if p.status == "missing")

    # -- what expressions may use ---------------------------------------------------------------

    @cached_property
    def set_infos(self) -> dict[str, SetInfo]:
        """What type checking needs of every set."""
        return {name: self._info(name) for name in self._set_defs}

    def _info(self, name: str) -> SetInfo:
        d = self._set_def(name)
        path = f"{PATH}.sets[{self.core.sets.index(d)}]"
        with self._once(f"kind of set {name}", path), located(path, name):
            if d.kind in ("subset", "instants"):
                parent = self._info(single_parent(d))
                kind = "instants" if d.kind == "instants" else parent.kind
                return SetInfo(kind, parent.factors, parent.step_unit)
            if d.kind == "tuples":
                return SetInfo("tuples", parents_of(d))
            step = d.step[0] if isinstance(d.step, tuple) else d.step
            return SetInfo(d.kind, (), parse_step(step)[1] if isinstance(step, str) else None)

    @cached_property
    def symbols(self) -> dict[str, Symbol]:
        """Every name that an expression may use, with its sets and unit."""
        symbols: dict[str, Symbol] = {}
        found: list[Diagnostic] = []
        for position, definition in enumerate(self.core.parameters):
            path = f"{PATH}.parameters[{position}]"
            with collected(found), located(path, definition.name):
                symbols[definition.name] = self._parameter_symbol(definition)
        for position, variable in enumerate(self.core.decision_variables):
            path = f"{PATH}.decision_variables[{position}]"
            with collected(found), located(path, variable.name):
                dims = tuple(b.set for b in self.binders(variable.index))
                unit = parse_unit(variable.unit or "1")
                made = Symbol(variable.name, "variable", dims, unit, None, 1)
                symbols[variable.name] = replace(made, binary=variable.type == "binary")
        if found:
            raise BlueprintError(found)
        self._add_expressions(symbols)
        return symbols

    def _parameter_symbol(self, definition: ParameterDef) -> Symbol:
        dims = tuple(b.set for b in self.binders(definition.index))
        kind = definition.type or "number"
        unit = unit_of(definition) if kind == "number" else None
        target = kind.removeprefix("element of ") if kind.startswith("element of ") else None
        return Symbol(definition.name, "parameter", dims, unit, target)

    def _add_expressions(self, symbols: dict[str, Symbol]) -> None:
        """Type the named expressions in an order in which each comes after those it uses."""
        self._named: dict[str, Named] = {}
        sizes: dict[str, int] = {}
        waiting = list(enumerate(self.core.expressions))
        names = {definition.name for _, definition in waiting}
        while waiting:
            later = []
            for position, d in waiting:
                path = f"{PATH}.expressions[{position}]"
                with located(f"{path}.expression", d.name):
                    tree = parse(d.expression)
                    if not names_in(tree) & names <= set(symbols):
                        later.append((position, d))
                        continue
                    sizes[d.name] = _written_out(tree, sizes)
                    checker = TypeChecker(self.set_infos, symbols)
                    binders = self.binders(d.index)
                    unit = parse_unit(d.unit) if d.unit is not None else None
                    typed = checker.number(tree, checker.scope_of(binders), unit)
                dims = tuple(b.set for b in binders)
                symbols[d.name] = Symbol(d.name, "expression", dims, typed.unit, None, typed.degree)
                exists = self._exists(binders, d.where, path)
                sets = tuple(map(self.index_set, dims))
                self._named[d.name] = Named(
                    typed.node, tuple(b.names for b in binders), sets, exists
                )
            if len(later) == len(waiting):
                circle = ", ".join(item.name for _, item in later)
                text = f"these expressions need one another: {circle}"
                raise refused("EB012", f"{PATH}.expressions[{later[0][0]}]", text)
            waiting = later

    def _exists(
        self, binders: tuple[Binder, ...], where: str | None, path: str
    ) -> Callable[[], npt.NDArray[np.bool_]] | None:
        """Return what says where a filtered expression exists; asked once all names are known."""
        if where is None:
            return None

        @cache
        def exists() -> npt.NDArray[np.bool_]:
            with located(f"{path}.where"):
                _, positions = self.grid_with_positions(binders, where)
            size = int(np.prod([self.index_set(b.set).size for b in binders], dtype=np.int64))
            mask = np.zeros(size, dtype=bool)
            mask[positions] = True
            return mask

        return exists

    @cached_property
    def named(self) -> dict[str, Named]:
        """The named expressions, checked."""
        _ = self.symbols
        return self._named

    def build(self) -> None:
        """Build every set and every parameter, so that what nothing uses is no less right."""
        found: list[Diagnostic] = []
        for index_set in self.core.sets:
            with collected(found):
                self.index_set(index_set.name)
        for parameter in self.core.parameters:
            with collected(found):
                self.table(parameter.name)
        if found:
            raise BlueprintError(found)

    def checker(self) -> TypeChecker:
        """Return a new type checker over all symbols."""
        return TypeChecker(self.set_infos, self.symbols)

    def relation(self, text: str, binders: tuple[Binder, ...]) -> tuple[Typed, Notes]:
        """Return a constraint checked, with its announcements; asked again, the same."""
        known = self._relations.get((text, binders))
        if known is None:
            checker = self.checker()
            typed = checked_relation(checker, parse(text), checker.scope_of(binders))
            known = self._relations[text, binders] = typed, tuple(checker.notes)
        return known

    @cached_property
    def evaluator(self) -> Evaluator:
        """The evaluator of everything that depends on no variable."""
        return _DataEvaluator(self)

    def numbers(
        self,
        text: object,
        binders: tuple[Binder, ...] = (),
        unit: Unit | None = None,
        grid: Grid = EMPTY_GRID,
    ) -> npt.NDArray[np.float64]:
        """Return what an expression without variables is worth in a unit on every row of a grid."""
        checker = self.checker()
        typed = checker.number(parse(str(text)), checker.scope_of(binders), unit)
        value = self.evaluator.number(typed.node, grid)
        return np.broadcast_to(np.asarray(value, dtype=np.float64), (grid.size,))

    def binders(self, texts: tuple[str, ...]) -> tuple[Binder, ...]:
        """Return the binders of an index list; a set's name alone stands for ``_i in S``."""
        binders = []
        for position, text in enumerate(texts):
            spelled = text if " in " in text else f"i__{position} in {text}"
            binder = parse_binder(spelled)
            if binder.set not in self._set_defs:
                hint = f"declared are {', '.join(self._set_defs) or 'none'}"
                raise ExpressionError(f"unknown set {binder.set!r}", 1, hint, "EB002")
            binders.append(binder)
        return tuple(binders)

    def grid(self, binders: tuple[Binder, ...], where: str | None = None) -> Grid:
        """Return the grid of some binders, filtered by a condition."""
        return self.grid_with_positions(binders, where)[0]

    def grid_with_positions(
        self, binders: tuple[Binder, ...], where: str | None = None
    ) -> tuple[Grid, npt.NDArray[np.int64]]:
        """Return the grid and, for each row, its flat position in the unfiltered one."""
        checker = self.checker()
        scope = checker.scope_of(binders)
        pairs = [(b.names, self.index_set(b.set)) for b in binders]
        size = math.prod(index_set.size for _, index_set in pairs)
        if size > MAX_ELEMENTS:
            raise ExpressionError(f"{size} index combinations, more than {MAX_ELEMENTS}", 1)
        grid, _ = EMPTY_GRID.expand(pairs) if pairs else (EMPTY_GRID, None)
        alone = len(pairs) == 1
        positions = pairs[0][1].everything if alone else np.arange(grid.size, dtype=np.int64)
        if where is not None:
            condition = checker.condition(parse(where), scope)
            holds = self.evaluator.condition(condition.node, grid)
            keep = np.flatnonzero(np.broadcast_to(holds, (grid.size,)))
            grid, positions = grid.take(keep), positions[keep]
        return grid, positions

    # -- sets -----------------------------------------------------------------------------------

    def index_set(self, name: str) -> IndexSet:
        """Return a set with its elements."""
        if name not in self._sets:
            definition = self._set_def(name)
            path = f"{PATH}.sets[{self.core.sets.index(definition)}]"
            with self._once(f"set {name}", path), located(path, name):
                self._sets[name] = SET_BUILDERS[definition.kind](self, definition)
        return self._sets[name]

    def _set_def(self, name: str) -> SetDef:
        if name not in self._set_defs:
            hint = f"declared are {', '.join(self._set_defs) or 'none'}"
            users = [k for k, d in enumerate(self.core.sets) if d.of and name in parents_of(d)]
            path = f"{PATH}.sets[{users[0]}].of" if users else f"{PATH}.sets"
            raise refused("EB002", path, f"unknown set {name!r}", hint)
        return self._set_defs[name]

    @contextmanager
    def _once(self, what: str, path: str) -> Iterator[None]:
        if what in self._open:
            circle = " -> ".join([*self._open[self._open.index(what) :], what])
            raise refused("EB012", path, f"a circle: {circle}")
        self._open.append(what)
        try:
            yield
        finally:
            self._open.pop()

    # -- parameters -----------------------------------------------------------------------------

    def unit(self, name: str) -> Unit:
        """Return the unit in which a parameter's table is held."""
        return self.symbols[name].unit or parse_unit("1")

    def table(self, name: str) -> Table:
        """Return the values of a parameter, in its own unit."""
        if name not in self._tables:
            number = self._parameter_numbers[name]
            path = f"{PATH}.parameters[{number}]"
            with self._once(f"parameter {name}", path), located(path, name):
                self._tables[name] = self._build_table(self.core.parameters[number])
        return self._tables[name]

    def _build_table(self, d: ParameterDef) -> Table:
        binders = self.binders(d.index)
        sets = tuple(self.index_set(b.set) for b in binders)
        shape = tuple(s.size for s in sets)
        kind = d.type or "number"
        if d.status == "missing":
            return Table(np.ones(shape), sets)
        if kind != "number":
            texts = inline_values(d, sets, labels=True) if d.data is None else None
            if texts is None:
                texts = file_values(d, sets, self.folder, labels=True)
            if kind == "label":
                return Table(texts, sets)
            target = self.index_set(kind.removeprefix("element of "))
            positions = element_positions(list(texts.reshape(-1)), target).reshape(texts.shape)
            return Table(positions, sets, target)
        if isinstance(d.value, str):
            return Table(self._expression_table(d, binders, sets), sets)
        if d.value is not None:
            return Table(inline_values(d, sets), sets)
        if d.data is None:
            raise ValueError("the parameter has neither 'value' nor 'data' nor 'status': 'missing'")
        return Table(file_values(d, sets, self.folder), sets)

    def _expression_table(
        self, d: ParameterDef, binders: tuple[Binder, ...], sets: tuple[IndexSet, ...]
    ) -> npt.NDArray[np.float64]:
        if d.name not in names_in(d.value):
            values = self.numbers(d.value, binders, unit_of(d), self.grid(binders))
            return np.array(values).reshape(tuple(s.size for s in sets))
        # It is defined by ``prev`` of itself: one position of its last index at a time.
        checker = self.checker()
        node = checker.number(parse(str(d.value)), checker.scope_of(binders), unit_of(d)).node
        grid = self.grid(binders)
        values = np.full(tuple(s.size for s in sets), np.nan)
        table = Table(values, sets)
        own = _DataEvaluator(self, {d.name: table})
        flat = values.reshape(-1)
        last = np.arange(grid.size) % sets[-1].size
        for position in range(sets[-1].size):
            rows = np.flatnonzero(last == position)
            flat[rows] = own.number(node, grid.take(rows))
        if not np.all(np.isfinite(values)):
            raise ValueError("the recursion does not start: use prev(x[t], x0) for the first value")
        return values


class _DataEvaluator(Evaluator):
    """Evaluates what stands in data; ``own`` holds tables in the making."""

    def __init__(self, elaboration: Elaboration, own: Mapping[str, Table] | None = None) -> None:
        known = own or {}
        super().__init__(
            elaboration.index_set,
            lambda name: known[name] if name in known else elaboration.table(name),
            elaboration.named,
        )
        self._variables = {v.name for v in elaboration.core.decision_variables}

    def is_variable(self, name: str) -> bool:
        """Whether a name is a decision variable, which has no place in data."""
        return name in self._variables


def refuse_double_names(groups: Iterable[tuple[str, tuple[Any, ...]]]) -> None:
    """Refuse names that two things have, and words of the expression syntax."""
    seen: dict[str, str] = {}
    found = []
    for group, items in groups:
        for position, item in enumerate(items):
            path = f"{PATH}.{group}[{position}]"
            if item.name in seen:
                message = f"the name {item.name!r} is already used under {seen[item.name]!r}"
                found.append(Diagnostic("EB012", "error", path, message))
            if iskeyword(item.name):
                message = f"the name {item.name!r} is a word of the expression syntax"
                rest = "no name may be one of: " + " ".join(kwlist)
                found.append(Diagnostic("EB012", "error", path, message, None, rest))
            seen.setdefault(item.name, group)
    if found:
        raise BlueprintError(found)


def _written_out(tree: Node, sizes: Mapping[str, int]) -> int:
    """Return how many nodes an expression has once the named ones in it are written out."""
    size = 0
    for node in walk(tree):
        size += 1 + (sizes.get(node.name, 0) if isinstance(node, Ref) else 0)
        if size > MAX_WRITTEN_OUT:
            text = f"written out, this expression has more than {MAX_WRITTEN_OUT} parts"
            hint = "make a variable of a part that is used often"
            raise ExpressionError(text, node.span[0] + 1, hint, "EB012")
    return size

"""The evaluation itself: whole arrays where possible, step by step where values need earlier ones.

At each step the states of the differential equations come first: they were carried there over the
period before, in which everything but the states kept the value that it had at the period's start
(sampled and held, as a controller does). Then come the definitions, in the order of the schedule.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.definitions import draws
from engiagent.blueprint.definitions.integrate import Integrator
from engiagent.blueprint.definitions.model import Item, Model
from engiagent.blueprint.definitions.schedule import Group, schedule, step_index
from engiagent.blueprint.diagnostics import located, refused
from engiagent.blueprint.document import DrawDef, EquationDef
from engiagent.blueprint.evaluate import Evaluator
from engiagent.blueprint.grammar import Binary, Node, Number, Ref, Text
from engiagent.blueprint.grid import Elements, Grid
from engiagent.blueprint.indexing import Place, Table, Value, evaluation_error, root_positions
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.timeaxis import Ints

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

MAX_STEPS = 5_000_000


class TableEvaluator(Evaluator):
    """Evaluates expressions over parameters and over what is computed so far."""

    def __init__(self, model: Model, tables: Mapping[str, Table]) -> None:
        self._made = tables
        self._model = model
        self._settled: list[Grid] = []
        self._places: dict[tuple[int, int], tuple[Ref, Place]] = {}
        super().__init__(model.elaboration.index_set, self._find)

    def _find(self, name: str) -> Table:
        found = self._made.get(name)
        return self._model.elaboration.table(name) if found is None else found

    def _located(self, elements: Elements, index_set: IndexSet, node: Node) -> Ints:
        """Let an instant name the period that begins there: ``flow[i-1]`` ends at ``i``."""
        periods = elements.set.root.periods_of
        if periods is not None and periods is index_set.root:
            elements = Elements(periods, root_positions(elements))
        return super()._located(elements, index_set, node)

    def settle(self, grids: list[Grid]) -> None:
        """Store the places on grids that come again and again, as in every stage of a period."""
        if grids is not self._settled:
            self._settled, self._places = grids, {}

    def place(self, ref: Ref, sets: tuple[IndexSet, ...], grid: Grid, history: int = 0) -> Place:
        """Return where a reference points; on a settled grid only the first time at some cost."""
        if not any(grid is kept for kept in self._settled) or not _is_fixed(ref):
            return super().place(ref, sets, grid, history)
        key = (id(ref), id(grid))
        if key not in self._places:
            # The reference is kept too: its id cannot come again for another one.
            self._places[key] = (ref, super().place(ref, sets, grid, history))
        return self._places[key][1]

    def number(self, node: Node, grid: Grid) -> Value:
        """Return numbers; a value that is not there yet is an error at its place."""
        value = super().number(node, grid)
        if isinstance(node, Ref) and node.name in self._made and np.isnan(value).any():
            row = int(np.flatnonzero(np.isnan(np.broadcast_to(value, (grid.size,))))[0])
            raise evaluation_error(
                "EB043",
                f"{node.name} is not known yet{place_of(grid, row)}",
                node,
                "use earlier values only, and prev(x[t], x0) at the first one",
            )
        return value


def _is_fixed(ref: Ref) -> bool:
    """Whether the indices are plain: names of binders, labels, whole-number offsets."""
    return all(
        isinstance(part, Text | Number)
        or (isinstance(part, Ref) and not part.indices)
        or (isinstance(part, Binary) and isinstance(part.right, Number))
        for part in ref.indices
    )


def place_of(grid: Grid, row: int) -> str:
    """Return `` at t = 2025-07-01T00:00`` for a row of a grid."""
    parts = []
    for name, part in grid.names.items():
        position = int(np.broadcast_to(part.positions, (grid.size,))[row])
        parts.append(f"{name} = {part.set.labels[position]}")
    return f" at {', '.join(parts)}" if parts else ""


class Engine:
    """One evaluation of a model.

    ``model``: the checked blueprint. ``refine``: by how much every step of the differential
    equations is divided. ``fixed``: tables that are known: choices, and what no choice changes.
    """

    def __init__(self, model: Model, refine: int = 1, fixed: Mapping[str, Table] | None = None):
        self.model = model
        self.refine = refine
        self.tables: dict[str, Table] = dict(fixed or {})
        self.evaluator = TableEvaluator(model, self.tables)
        self.fingerprints: dict[str, str] = {}

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The order of evaluation."""
        return schedule(self.model.items)

    def run(self, names: frozenset[str] | None = None) -> None:
        """Compute all names, or some of them; BlueprintError when a value cannot be computed."""
        for group in self.groups:
            if names is not None and not names & set(group.names):
                continue
            for name in group.names:
                item = self.model.items[name]
                shape = tuple(s.size for s in item.sets)
                self.tables[name] = Table(np.full(shape, np.nan), item.sets)
            if group.stepped:
                self._step_through(group)
            else:
                (name,) = group.names
                item = self.model.items[name]
                self._fill(item, self._grid(item), slice(None))
            for name in group.names:
                self._finish(self.model.items[name])

    def _grid(self, item: Item) -> Grid:
        with located(item.path, item.name):
            return self.model.elaboration.grid(item.binders)

    def _fill(self, item: Item, grid: Grid, rows: Rows | slice) -> None:
        """Compute the values of some rows of the item's own grid."""
        flat = self.tables[item.name].values.reshape(-1)
        if isinstance(item.definition, DrawDef):
            flat[rows] = self._sample(item, grid, rows)
            return
        with located(f"{item.path}.expression", item.name):
            value = np.broadcast_to(self.evaluator.number(item.nodes["body"], grid), (grid.size,))
            bad = np.flatnonzero(~np.isfinite(value))
            if bad.size:
                place = place_of(grid, int(bad[0]))
                raise evaluation_error(
                    "EB016", f"the value is not a finite number{place}", item.nodes["body"]
                )
        flat[rows] = value

    # -- draws ------------------------------------------------------------------------------------

    def _sample(self, item: Item, grid: Grid, rows: Rows | slice) -> Floats:
        definition = item.definition
        assert isinstance(definition, DrawDef)
        arguments: dict[str, Floats] = {}
        for key in draws.ARGUMENTS[definition.distribution]:
            for name in key:
                if name in item.lists:
                    arguments[name] = self.model.listed_values(item, name)
                    continue
                with located(f"{item.path}.arguments.{name}", item.name):
                    value = self.evaluator.number(item.nodes[name], grid)
                arguments[name] = np.asarray(value, dtype=np.float64)
        fault = draws.fault(definition.distribution, arguments)
        if fault is not None:
            raise refused("EB044", f"{item.path}.arguments", fault, None, item.name)
        chances = draws.probabilities(
            definition.generator, definition.seed, definition.name, item.size
        )
        return draws.QUANTILES[definition.distribution](chances[rows], arguments)

    def _finish(self, item: Item) -> None:
        """Freeze what is done, and hold a draw against the hash that the blueprint states."""
        values = self.tables[item.name].values
        values.flags.writeable = False
        definition = item.definition
        if not isinstance(definition, DrawDef):
            return
        found = draws.fingerprint(values)
        self.fingerprints[item.name] = found
        stated = definition.sha256
        if stated is not None and stated != found:
            text = f"the samples have the hash {found[:12]}…, declared is {stated[:12]}…"
            raise refused("EB044", f"{item.path}.sha256", text, None, item.name)

    # -- steps ------------------------------------------------------------------------------------

    def _step_through(self, group: Group) -> None:
        items = [self.model.items[name] for name in group.names]
        states = [item for item in items if isinstance(item.definition, EquationDef)]
        rest = [item for item in items if not isinstance(item.definition, EquationDef)]
        integrator = None
        if states:
            integrator = Integrator(self.model, states, self.tables, self.evaluator, self.refine)
            integrator.start()
        plans = [(item, *self._rows_by_step(item)) for item in rest]
        steps = max([len(rows) for _, _, rows in plans], default=0)
        if integrator is not None:
            steps = max(steps, integrator.periods + 1)
        if steps * len(items) > MAX_STEPS:
            text = f"{steps} steps of {len(items)} names; at most {MAX_STEPS} in all"
            raise refused("EB047", items[0].path, text, None, items[0].name)
        for step in range(steps):
            if integrator is not None and 0 < step <= integrator.periods:
                integrator.advance(step - 1)
            for item, grid, rows in plans:
                if step < len(rows) and rows[step].size:
                    self._fill(item, grid.take(rows[step]), rows[step])

    def _rows_by_step(self, item: Item) -> tuple[Grid, list[Rows]]:
        """Return the grid of an item, and its rows for every step."""
        grid = self._grid(item)
        which = step_index(item)
        assert which is not None
        here: Elements = grid.names[item.binders[which].names[0]]
        steps = np.broadcast_to(root_positions(here), (grid.size,))
        order = np.argsort(steps, kind="stable")
        counts = np.bincount(steps, minlength=1)
        return grid, np.split(order, np.cumsum(counts)[:-1])


def dependants(model: Model, names: Iterable[str]) -> frozenset[str]:
    """Return every computed name that some names change."""
    changed = set(names)
    while True:
        more = {n for n, item in model.items.items() if n not in changed and item.uses & changed}
        if not more:
            return frozenset(changed & model.items.keys())
        changed |= more

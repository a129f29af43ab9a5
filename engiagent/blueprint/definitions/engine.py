r"""The evaluation itself: whole arrays where possible, step by step where values need earlier ones.

At each step the states of the differential equations come first: they were carried there over the
period before, in which everything but the states kept the value that it had at the period's start
(sampled and held, as a controller does). Then come the definitions, in the order of the schedule.

Within a period a state follows :math:`\dot x = f(x)`. Each period is cut into equal steps of the
declared length :math:`h`:

* ``euler``: :math:`x + h f(x)`, of first order;
* ``rk4``: the classical method of Runge and Kutta, of fourth order;
* ``exact``: for :math:`f(x) = A x + b`, :math:`e^{A h} x + \int_0^h e^{A s}\,ds\, b`, exact at any
  step.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.definitions import draws
from engiagent.blueprint.definitions.model import Item, Model
from engiagent.blueprint.definitions.schedule import Group, schedule, step_index
from engiagent.blueprint.diagnostics import located, refused
from engiagent.blueprint.elements import DrawDef, EquationDef
from engiagent.blueprint.evaluate import Evaluator
from engiagent.blueprint.grammar import Node, Ref, walk
from engiagent.blueprint.grid import Elements, Grid
from engiagent.blueprint.indexing import Table, Value, evaluation_error, root_positions
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.timeaxis import Floats, Ints, parse_step

Rows = npt.NDArray[np.intp]
Rates = Callable[[Floats], Floats]

MAX_STEPS = 5_000_000
MAX_SUBSTEPS = 20_000_000
MAX_COUPLED = 400
ENLARGED = 2.0**20
"""How far from zero a slope is measured: far enough that a large constant part costs no digits."""


class TableEvaluator(Evaluator):
    """Evaluates expressions over parameters and over what is computed so far."""

    def __init__(self, model: Model, tables: Mapping[str, Table]) -> None:
        self._made = tables
        self._model = model
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

    def number(self, node: Node, grid: Grid) -> Value:
        """Return numbers; a value that is not there yet is an error at its place."""
        value = super().number(node, grid)
        if isinstance(node, Ref) and node.name in self._made and np.isnan(value).any():
            row = int(np.flatnonzero(np.isnan(np.broadcast_to(value, (grid.size,))))[0])
            text = f"{node.name} is not known yet{place_of(grid, row)}"
            hint = "use earlier values only, and prev(x[t], x0) at the first one"
            raise evaluation_error("EB043", text, node, hint)
        return value


def place_of(grid: Grid, row: int) -> str:
    """Return `` at t = 2025-07-01T00:00`` for a row of a grid."""
    where = grid.where(row)
    return f" at {where}" if where else ""


class Engine:
    """One evaluation of a model.

    ``refine``: by how much every step of the differential equations is divided. ``fixed``: tables
    that are known: choices, and what no choice changes.
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
            items = [self.model.items[name] for name in group.names]
            for item in items:
                shape = tuple(s.size for s in item.sets)
                self.tables[item.name] = Table(np.full(shape, np.nan), item.sets)
            if group.stepped:
                self._step_through(items)
            else:
                self._fill(items[0], self._grid(items[0]), slice(None))
            for item in items:
                self._finish(item)

    def _grid(self, item: Item) -> Grid:
        with located(item.path, item.name):
            return self.model.elaboration.grid(item.binders)

    def _fill(self, item: Item, grid: Grid, rows: Rows | slice) -> None:
        """Compute the values of some rows of the item's own grid."""
        flat = self.tables[item.name].values.reshape(-1)
        if isinstance(item.definition, DrawDef):
            flat[rows] = self._sample(item, item.definition, grid, rows)
            return
        with located(f"{item.path}.expression", item.name):
            value = np.broadcast_to(self.evaluator.number(item.nodes["body"], grid), (grid.size,))
            bad = np.flatnonzero(~np.isfinite(value))
            if bad.size:
                text = f"the value is not a finite number{place_of(grid, int(bad[0]))}"
                raise evaluation_error("EB016", text, item.nodes["body"])
        flat[rows] = value

    def _sample(self, item: Item, d: DrawDef, grid: Grid, rows: Rows | slice) -> Floats:
        arguments: dict[str, Floats] = {n: self.model.listed_values(item, n) for n in item.lists}
        for name, node in item.nodes.items():
            with located(f"{item.path}.arguments.{name}", item.name):
                value = self.evaluator.number(node, grid)
            arguments[name] = np.asarray(value, dtype=np.float64)
        fault = draws.fault(d.distribution, arguments)
        if fault is not None:
            raise refused("EB044", f"{item.path}.arguments", fault, None, item.name)
        chances = draws.probabilities(d.generator, d.seed, d.name, item.size)
        return draws.QUANTILES[d.distribution](chances[rows], arguments)

    def _finish(self, item: Item) -> None:
        """Freeze what is done, and hold a draw against the hash that the blueprint states."""
        values = self.tables[item.name].values
        values.flags.writeable = False
        if not isinstance(item.definition, DrawDef):
            return
        found, stated = draws.fingerprint(values), item.definition.sha256
        self.fingerprints[item.name] = found
        if stated is not None and stated != found:
            text = f"the samples have the hash {found[:12]}…, declared is {stated[:12]}…"
            raise refused("EB044", f"{item.path}.sha256", text, None, item.name)

    def _step_through(self, items: list[Item]) -> None:
        states = [item for item in items if isinstance(item.definition, EquationDef)]
        rest = [item for item in items if item not in states]
        integrator = Integrator(self, states) if states else None
        plans = [(item, *self._rows_by_step(item)) for item in rest]
        steps = max([len(rows) for _, _, rows in plans], default=0)
        if integrator is not None:
            integrator.start()
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
    changed, items = set(names), model.items
    while more := {n for n in items if n not in changed and items[n].uses & changed}:
        changed |= more
    return frozenset(changed & items.keys())


# -- differential equations -----------------------------------------------------------------------


class Integrator:
    """Carries the states of coupled equations from one instant to the next."""

    def __init__(self, engine: Engine, states: list[Item]) -> None:
        self.engine, self.states = engine, states
        first = _equation(states[0])
        self.scheme = first.scheme
        for item in states[1:]:
            if (_equation(item).scheme, _equation(item).step) != (first.scheme, first.step):
                text = f"{item.name} is coupled with {first.name} but has another scheme or step"
                raise refused("EB041", item.path, text, "give both the same", item.name)
        periods = states[0].sets[-1].periods_of
        assert periods is not None
        assert periods.axis is not None
        self.periods = periods.size
        self.lengths = periods.axis.steps
        self.cuts = self._cuts(first.step, periods.axis.step_unit)
        self.grids = [engine.model.elaboration.grid(item.binders) for item in states]
        self.borders = np.cumsum([grid.size // self.periods for grid in self.grids])[:-1]
        self._propagator: tuple[bytes, float, Floats] | None = None

    def _cuts(self, text: str | None, step_unit: str) -> Ints:
        """Return into how many steps each period is cut."""
        item, refine = self.states[0], self.engine.refine
        if text is None:
            return np.full(self.periods, refine, dtype=np.int64)
        with located(f"{item.path}.step", item.name):
            length, unit = parse_step(text)
            if unit != step_unit:
                raise ValueError(f"the step is in {unit}, the periods are in {step_unit}")
        ratio = self.lengths / (length / 3600.0 if unit == "h" else length)
        cuts = np.rint(ratio).astype(np.int64)
        if np.any(cuts < 1) or not np.all(np.abs(ratio - cuts) <= 1e-9 * ratio):
            found = f"a period of {self.lengths[0]:g} {step_unit} is no whole number of {text}"
            hint = "choose a step that divides every period"
            raise refused("EB041", f"{item.path}.step", found, hint, item.name)
        total = int(cuts.sum()) * refine * len(self.states)
        if total > MAX_SUBSTEPS:
            found = f"{total} steps of the differential equations; at most {MAX_SUBSTEPS}"
            raise refused("EB047", f"{item.path}.step", found, "use a longer step", item.name)
        return cuts * refine

    def start(self) -> None:
        """Write the initial values."""
        for item in self.states:
            with located(f"{item.path}.initial", item.name):
                grid = self.engine.model.elaboration.grid(item.binders[:-1])
                value = self.engine.evaluator.number(item.nodes["initial"], grid)
            self._edges(item)[:, 0] = value

    def _edges(self, item: Item) -> Floats:
        """Return the values of a state, shape (other indices, instants)."""
        return self.engine.tables[item.name].values.reshape(-1, self.periods + 1)

    def _write(self, state: Floats, instant: int) -> None:
        for item, values in zip(self.states, np.split(state, self.borders), strict=True):
            self._edges(item)[:, instant] = values

    def advance(self, period: int) -> None:
        """Carry all states over one period."""
        before = np.concatenate([self._edges(item)[:, period] for item in self.states])
        rates = self._rates(period)
        cuts = int(self.cuts[period])
        step = float(self.lengths[period]) / cuts
        scheme = {"euler": _euler, "rk4": _rk4, "exact": self._exact}[self.scheme]
        state = before
        for _ in range(cuts):
            with np.errstate(all="ignore"):
                state = scheme(rates, state, step)
        self._write(before, period)
        self._write(state, period + 1)
        for item in self.states:
            if not np.all(np.isfinite(self._edges(item)[:, period + 1])):
                label = item.sets[-1].labels[period + 1]
                text = f"{item.name} is no finite number any more at {label}"
                raise refused("EB016", f"{item.path}.rate", text, "use a shorter step", item.name)

    def _rates(self, period: int) -> Rates:
        """Return the right-hand sides in a period as a function of the states.

        They are per unit of the time step, in the order of the states.
        """
        rows = [np.arange(period, grid.size, self.periods) for grid in self.grids]
        grids = [grid.take(part) for grid, part in zip(self.grids, rows, strict=True)]

        def rates(state: Floats) -> Floats:
            self._write(state, period)
            result = []
            for item, grid in zip(self.states, grids, strict=True):
                node = item.nodes["rate"]
                with located(f"{item.path}.rate", item.name):
                    if not np.all(np.isfinite(state)):
                        text = f"{item.name} is no finite number any more"
                        raise evaluation_error("EB016", text, node, "use a shorter step")
                    value = self.engine.evaluator.number(node, grid)
                result.append(np.broadcast_to(value, (grid.size,)))
            return np.concatenate(result)

        return rates

    def _exact(self, rates: Rates, state: Floats, step: float) -> Floats:
        constant = rates(np.zeros_like(state))
        if self._is_diagonal:
            slope = (rates(np.full_like(state, ENLARGED)) - constant) / ENLARGED
            z = slope * step
            mean = np.where(z == 0.0, 1.0, np.expm1(z) / np.where(z == 0.0, 1.0, z))
            return np.asarray(state * np.exp(z) + constant * mean * step)
        from scipy.linalg import expm

        size = len(state)
        if size > MAX_COUPLED:
            text = f"{size} coupled states; exact takes at most {MAX_COUPLED}"
            raise refused("EB047", self.states[0].path, text, "use rk4", self.states[0].name)
        columns = [(rates(row) - constant) / ENLARGED for row in ENLARGED * np.eye(size)]
        matrix = np.zeros((size + 1, size + 1))
        matrix[:size, :size] = np.array(columns).T
        matrix[:size, size] = constant
        key = matrix.tobytes()
        if self._propagator is None or self._propagator[:2] != (key, step):
            self._propagator = (key, step, np.asarray(expm(matrix * step)))
        return np.asarray((self._propagator[2] @ np.append(state, 1.0))[:size])

    @cached_property
    def _is_diagonal(self) -> bool:
        """Whether every rate mentions only its own state at its own index."""
        names = {item.name for item in self.states}
        for item in self.states:
            own = [name for binder in item.binders for name in binder.names]
            for node in walk(item.nodes["rate"]):
                if isinstance(node, Ref) and node.name in names:
                    indices = [part.name if isinstance(part, Ref) else "" for part in node.indices]
                    if node.name != item.name or indices != own:
                        return False
        return True


def _equation(item: Item) -> EquationDef:
    assert isinstance(item.definition, EquationDef)
    return item.definition


def _euler(rates: Rates, x: Floats, h: float) -> Floats:
    return np.asarray(x + h * rates(x))


def _rk4(rates: Rates, x: Floats, h: float) -> Floats:
    one = rates(x)
    two = rates(x + h / 2.0 * one)
    three = rates(x + h / 2.0 * two)
    four = rates(x + h * three)
    return np.asarray(x + h / 6.0 * (one + 2.0 * two + 2.0 * three + four))

r"""Differential equations over the periods of a time set, by a declared scheme and step.

Within a period a state follows :math:`\dot x = f(x)`; whatever else :math:`f` uses keeps its value
of that period. Each period is cut into equal steps of the declared length :math:`h`:

* ``euler``: :math:`x + h f(x)`, of first order;
* ``rk4``: the classical method of Runge and Kutta, of fourth order;
* ``exact``: for :math:`f(x) = A x + b`, :math:`e^{A h} x + \int_0^h e^{A s}\,ds\, b`, exact at any
  step.
"""

from collections.abc import MutableMapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.definitions.model import Item, Model
from engiagent.blueprint.diagnostics import located, refused
from engiagent.blueprint.document import EquationDef
from engiagent.blueprint.grammar import Ref, walk
from engiagent.blueprint.grid import Grid
from engiagent.blueprint.indexing import Table, evaluation_error
from engiagent.blueprint.timeaxis import parse_step

if TYPE_CHECKING:
    from engiagent.blueprint.definitions.engine import TableEvaluator

Floats = npt.NDArray[np.float64]

MAX_SUBSTEPS = 20_000_000
MAX_COUPLED = 400
ENLARGED = 2.0**20
"""How far from zero a slope is measured: far enough that a large constant part costs no digits."""


class Integrator:
    """Carries the states of coupled equations from one instant to the next."""

    def __init__(
        self,
        model: Model,
        states: list[Item],
        tables: MutableMapping[str, Table],
        evaluator: "TableEvaluator",
        refine: int,
    ) -> None:
        self.model, self.states, self.tables = model, states, tables
        self.evaluator, self.refine = evaluator, refine
        first = states[0]
        self.scheme = _equation(first).scheme
        for item in states[1:]:
            other = _equation(item)
            if (other.scheme, other.step) != (self.scheme, _equation(first).step):
                text = f"{item.name} is coupled with {first.name} but has another scheme or step"
                raise refused("EB041", item.path, text, "give both the same", item.name)
        edges = first.sets[-1]
        assert edges.periods_of is not None
        assert edges.periods_of.axis is not None
        self.periods = edges.periods_of.size
        self.lengths = edges.periods_of.axis.steps
        self.cuts = self._cuts(edges.periods_of.axis.step_unit)
        self.grids = [model.elaboration.grid(item.binders) for item in states]
        self._slopes: tuple[bytes, Floats, float] | None = None

    def _cuts(self, step_unit: str) -> npt.NDArray[np.int64]:
        """Return into how many steps each period is cut."""
        item = self.states[0]
        text = _equation(item).step
        if text is None:
            return np.full(self.periods, self.refine, dtype=np.int64)
        with located(f"{item.path}.step", item.name):
            length, unit = parse_step(text)
            if unit != step_unit:
                raise ValueError(f"the step is in {unit}, the periods are in {step_unit}")
            step = length / 3600.0 if unit == "h" else length
        ratio = self.lengths / step
        cuts = np.rint(ratio).astype(np.int64)
        if np.any(cuts < 1) or not np.all(np.abs(ratio - cuts) <= 1e-9 * ratio):
            found = f"a period of {self.lengths[0]:g} {step_unit} is no whole number of {text}"
            hint = "choose a step that divides every period"
            raise refused("EB041", f"{item.path}.step", found, hint, item.name)
        total = int(cuts.sum()) * self.refine * len(self.states)
        if total > MAX_SUBSTEPS:
            found = f"{total} steps of the differential equations; at most {MAX_SUBSTEPS}"
            raise refused("EB047", f"{item.path}.step", found, "use a longer step", item.name)
        return cuts * self.refine

    def start(self) -> None:
        """Write the initial values."""
        for item in self.states:
            with located(f"{item.path}.initial", item.name):
                grid = self.model.elaboration.grid(item.binders[:-1])
                value = self.evaluator.number(item.nodes["initial"], grid)
            self._edges(item)[:, 0] = value

    def _edges(self, item: Item) -> Floats:
        """Return the values of a state, shape (other indices, instants)."""
        return self.tables[item.name].values.reshape(-1, self.periods + 1)

    def advance(self, period: int) -> None:
        """Carry all states over one period.

        Raises BlueprintError when a rate cannot be computed or a state leaves the finite numbers.
        """
        before = [self._edges(item)[:, period].copy() for item in self.states]
        rates = self._rates(period)
        cuts = int(self.cuts[period])
        step = float(self.lengths[period]) / cuts
        state = np.concatenate(before)
        advance = {"euler": _euler, "rk4": _rk4}.get(self.scheme)
        for _ in range(cuts):
            if advance is None:
                state = self._exact(state, step, rates)
            else:
                with np.errstate(all="ignore"):
                    state = advance(rates, state, step)
        self._write(before, period)
        after = np.split(state, np.cumsum([len(part) for part in before])[:-1])
        for item, values in zip(self.states, after, strict=True):
            if not np.all(np.isfinite(values)):
                label = item.sets[-1].labels[period + 1]
                text = f"{item.name} is no finite number any more at {label}"
                raise refused("EB016", f"{item.path}.rate", text, "use a shorter step", item.name)
            self._edges(item)[:, period + 1] = values

    def _write(self, parts: list[Floats], period: int) -> None:
        for item, values in zip(self.states, parts, strict=True):
            self._edges(item)[:, period] = values

    def _rates(self, period: int) -> "Rates":
        rows = [np.arange(period, grid.size, self.periods) for grid in self.grids]
        grids = [grid.take(part) for grid, part in zip(self.grids, rows, strict=True)]
        return Rates(self, grids, period)

    def _exact(self, state: Floats, step: float, rates: "Rates") -> Floats:
        constant = rates(np.zeros_like(state))
        if self._is_diagonal:
            slope = (rates(np.full_like(state, ENLARGED)) - constant) / ENLARGED
            z = slope * step
            safe = np.where(z == 0.0, 1.0, z)
            mean = np.where(z == 0.0, 1.0, np.expm1(z) / safe)
            return np.asarray(state * np.exp(z) + constant * mean * step)
        return self._exact_coupled(state, step, rates, constant)

    @cached_property
    def _is_diagonal(self) -> bool:
        """Whether every rate mentions only its own state at its own index."""
        for item in self.states:
            own = tuple(name for binder in item.binders for name in binder.names)
            for node in walk(item.nodes["rate"]):
                if not isinstance(node, Ref) or node.name not in {s.name for s in self.states}:
                    continue
                indices = tuple(i.name for i in node.indices if isinstance(i, Ref))
                if node.name != item.name or indices != own or len(indices) != len(node.indices):
                    return False
        return True

    def _exact_coupled(
        self, state: Floats, step: float, rates: "Rates", constant: Floats
    ) -> Floats:
        from scipy.linalg import expm

        size = len(state)
        if size > MAX_COUPLED:
            text = f"{size} coupled states; exact takes at most {MAX_COUPLED}"
            path = self.states[0].path
            raise refused("EB047", path, text, "use rk4", self.states[0].name)
        columns = [(rates(row) - constant) / ENLARGED for row in ENLARGED * np.eye(size)]
        matrix = np.zeros((size + 1, size + 1))
        matrix[:size, :size] = np.array(columns).T
        matrix[:size, size] = constant
        key = matrix.tobytes()
        if self._slopes is None or self._slopes[0] != key or self._slopes[2] != step:
            self._slopes = (key, np.asarray(expm(matrix * step)), step)
        return np.asarray((self._slopes[1] @ np.append(state, 1.0))[:size])


class Rates:
    """The right-hand sides of coupled equations in one period, as a function of the states."""

    def __init__(self, integrator: Integrator, grids: list[Grid], period: int) -> None:
        self.integrator, self.grids, self.period = integrator, grids, period
        self.cuts = np.cumsum([grid.size for grid in grids])[:-1]

    def __call__(self, state: Floats) -> Floats:
        """Return the rates per unit of the time step, in the order of the states."""
        owner = self.integrator
        owner.evaluator.settle(self.grids)
        owner._write(np.split(state, self.cuts), self.period)
        result = []
        for item, grid in zip(owner.states, self.grids, strict=True):
            with located(f"{item.path}.rate", item.name):
                if not np.all(np.isfinite(state)):
                    text = f"{item.name} is no finite number any more"
                    raise evaluation_error("EB016", text, item.nodes["rate"], "use a shorter step")
                value = owner.evaluator.number(item.nodes["rate"], grid)
            result.append(np.broadcast_to(value, (grid.size,)))
        return np.concatenate(result)


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

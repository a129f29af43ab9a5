"""A study in a few lines of Python: components and their buses, prices, requirements, an objective.

    >>> site = Site(start="2025-07-01T00:00", step="1 h", periods=4)
    >>> site.add("grid", "grid", bus="home", import_power_max="20 kW")
    'grid'
    >>> site.add("load", "load", bus="home", power=[3.0, 3.0, 6.0, 6.0])
    'load'
    >>> site.add("battery", "battery", bus="home", energy_capacity="10 kWh", initial_energy=0,
    ...          charge_power_max=5, discharge_power_max=5)
    'battery'
    >>> site.minimise_cost({"grid": [0.1, 0.1, 0.4, 0.4]})
    >>> float(round(site.solve().attrs["objective"], 6))
    2.4

Everything ends in one blueprint (:meth:`Site.blueprint`), which can be saved, checked, compiled and
drawn like any other; the models and their parameters are listed in the page on components.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.document import Blueprint
from engiagent.errors import InputError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.components import MODELS
from engiagent.plant.statement import COST, Statement
from engiagent.plant.values import Quantity, ValueFormError, literal, pieces
from engiagent.slots import Slot
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from engiagent.units.words import Conventions

if TYPE_CHECKING:  # both bring libraries that take long to load
    import xarray as xr


Json = dict[str, Any]
Value = float | str | npt.ArrayLike | tuple[npt.ArrayLike, str]
"""A number in the slot's own unit, a text with a unit ("200 kWh"), the name of a parameter or an
expression, a series of one number for each period, or a pair of a series and its unit."""

STATED = {"kind": "user", "note": "given in Python"}


@dataclass
class Site:
    """A study under construction; :mod:`engiagent.plant` reads the same from a file.

    Attributes
    ----------
    start, step, periods, zone
        The horizon, as a set of kind ``time`` takes it: ``start`` may lack the date, ``step`` may
        be one text or a list of them.
    currency
        In which prices are, where they name none.
    title
        What the study is about.
    """

    start: str
    step: str | Sequence[str]
    periods: int
    zone: str | None = None
    currency: str = "EUR"
    title: str = "a study"
    _statement: Statement = field(init=False)

    def __post_init__(self) -> None:
        step = self.step if isinstance(self.step, str) else list(self.step)
        time: Json = {
            "name": "T",
            "kind": "time",
            "start": self.start,
            "periods": self.periods,
            "step": step,
        }
        if self.zone is not None:
            time["zone"] = self.zone
        self._statement = Statement(self.title, time, self.currency)

    def parameter(self, name: str, value: Value, unit: str = "1") -> str:
        """Add a parameter, a number or a series over the periods, and return its name.

        A text ``"prices.csv#price"`` is a column of a file, read when the study is solved.
        """
        given: Any = value
        if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], str):
            given, unit = given
        source: Json = STATED
        if isinstance(given, str) and "#" in given:
            file, column = given.split("#", 1)
            source = {"kind": "file", "file": file, "column": column}
            content: Json = {"index": ["T"], "data": given}
        else:
            content = {"value": given} if isinstance(given, str) else self._numbers(name, given)
        return self._statement.add_parameter(name, unit, source, **content)

    def table(self, name: str, values: Sequence[float], unit: str = "1", over: str = "") -> str:
        """Add a parameter over a set of its own, for a slot that is a table; return its name.

        ``over`` names the set, so that several tables of as many entries can share one.
        """
        index = over or f"{name}_points"
        sets = self._statement.sets
        if all(s["name"] != index for s in sets):
            sets.append({"name": index, "kind": "range", "start": 0, "stop": len(values) - 1})
        numbers = [float(v) for v in values]
        return self._statement.add_parameter(name, unit, STATED, index=[index], value=numbers)

    def add(
        self,
        name: str,
        model: str,
        *,
        connections: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        **slots: Any,
    ) -> str:
        """Add a component and return its name.

        Parameters
        ----------
        name, model
            What to call it, and of which model it is.
        connections
            Those that cannot be given as a keyword, as the neighbours of a zone.
        options, slots
            The model's options, and its parameters, options and connections by their names.

        Raises
        ------
        InputError
            When the model is unknown, or a slot is none of its parameters, options or connections.
        """
        if model not in MODELS:
            raise InputError(
                f"component {name}: unknown model {model!r}", expected=", ".join(MODELS)
            )
        known = MODELS[model]
        parameters: Json = {}
        joined: Json = dict(connections or {})
        chosen: Json = dict(options or {})
        for slot, value in slots.items():
            if slot in known.slots:
                parameters[slot] = self._filled(
                    f"{name}_{slot}", value, self._unit(known.slots[slot])
                )
            elif slot in known.connections:
                joined[slot] = value
            elif slot in known.options:
                chosen[slot] = value
            else:
                names = (*known.slots, *known.options, *known.connections)
                raise InputError(
                    f"component {name} ({model}): unknown slot {slot!r}", expected=", ".join(names)
                )
        self._statement.add_component(
            name, model, STATED, parameters=parameters, connections=joined, options=chosen
        )
        return name

    def require(
        self,
        expression: str,
        *,
        over: str | None = "t in T",
        where: str | None = None,
        name: str = "",
        penalty: float | None = None,
    ) -> None:
        """Add a requirement, for every period unless ``over`` says otherwise; None for once.

        With a ``penalty`` (in the currency, per unit of the constraint) it may be broken.
        """
        number = len(self._statement.constraints) + 1
        self._statement.add_requirement(
            f"R{number}",
            expression,
            STATED,
            name=name or f"requirement {number}",
            hard=penalty is None,
            forall=None if over is None else [over],
            where=where,
            penalty=None if penalty is None else {"weight": penalty, "form": "linear"},
        )

    def minimise(self, expression: str, unit: str | None = None, sense: str = "minimize") -> None:
        """Set the objective to an expression in ``unit``, the currency by default."""
        self._statement.goal = {
            "name": "objective",
            "sense": sense,
            "expression": expression,
            "unit": unit or self.currency,
            "source_reference": STATED,
        }

    def maximise(self, expression: str, unit: str | None = None) -> None:
        """Set the objective to the greatest value of an expression."""
        self.minimise(expression, unit, "maximize")

    def minimise_cost(
        self, price: Mapping[str, Value], revenue: Mapping[str, Value] | None = None, also: str = ""
    ) -> None:
        """Set the objective to the cost of the horizon.

        It is the energy of the grids at their prices, less what export earns, and all costs that
        components declare themselves (starts, wear, lost load), also those added later.

        Parameters
        ----------
        price, revenue
            By the name of a grid, per kWh where no unit is given.
        also
            A further cost, as an expression.
        """
        unit = f"{self.currency}/kWh"
        components = {c["name"]: c for c in self._statement.components if c["model"] == "grid"}
        for way, prices in (("import", price), ("export", revenue or {})):
            for grid, value in prices.items():
                if grid not in components:
                    expected = ", ".join(components) or None
                    raise InputError(f"there is no grid {grid}", expected=expected)
                slot = f"{way}_price"
                components[grid]["parameters"][slot] = self._filled(f"{grid}_{slot}", value, unit)
        self._statement.also = [f"({also})"] if also else []
        self.minimise(COST)

    def blueprint(self) -> Blueprint:
        """Return the study as a blueprint, its components not yet written out.

        Raises
        ------
        InputError
            When something in it does not fit the language, with its place.
        """
        return self._statement.blueprint()

    def solve(
        self, folder: Path | None = None, options: SolveOptions | None = None
    ) -> "xr.Dataset":
        """Return the solution, as a run stores it; its status is the attribute ``status``.

        Parameters
        ----------
        folder
            Where data files lie.
        options
            For the solver.
        """
        program = compile_blueprint(self.blueprint(), folder)
        return to_dataset(program, solve(program, options or SolveOptions(), isolate=False))

    # -- what values become -----------------------------------------------------------------------

    def _numbers(self, name: str, value: npt.ArrayLike) -> Json:
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            array = np.full((), np.nan)
        if np.isnan(array).any():
            wanted = f"one number, or {self.periods} for the periods"
            raise InputError(f"{name} holds more than numbers", expected=wanted)
        if array.ndim == 0:
            return {"value": float(array)}
        if array.shape != (self.periods,):
            raise InputError(
                f"{name} has the shape {array.shape}",
                expected=f"one number, or {self.periods} for the periods",
            )
        return {"index": ["T"], "value": array.tolist()}

    def _filled(self, name: str, value: Any, unit: str) -> float | str:
        """Return what to write into a slot: a number, an expression or the name of a parameter."""
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str):
            try:
                found = pieces(value.strip(), Conventions(currency=self.currency))
            except ValueFormError:
                return value  # an expression over parameters
            plain = len(found) == 1 and isinstance(found[0], Quantity) and found[0].unit is not None
            return literal(found[0]) if plain else value  # type: ignore[arg-type]
        if isinstance(value, int | float | np.number):
            return float(value)
        return self.parameter(f"{name}_given", value, unit)

    def _unit(self, slot: Slot) -> str:
        """Return the unit of a slot; prices are in the currency of the study."""
        return slot.unit.replace("EUR", self.currency)

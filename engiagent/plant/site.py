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
    >>> solution = site.solve(progress=False)
    >>> round(solution.objective, 6), solution.certificate.verdict
    (2.4, 'certified')

Everything ends in one blueprint (:meth:`Site.blueprint`), which can be saved, checked, compiled and
drawn like any other; the models and their parameters are listed in the page on components.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.placement import WEIGHT
from engiagent.blueprint.timeaxis import parse_step
from engiagent.errors import InputError
from engiagent.formulations.components import MODELS
from engiagent.models.buildings import HeatNetwork
from engiagent.plant.reading import read_statement
from engiagent.plant.sizing import Amount, Size, Sizing
from engiagent.plant.slots import FINAL, WHOLES, final_requirement
from engiagent.plant.source import FormError, nearest
from engiagent.plant.statement import COST, Statement, costs_beside, one_way
from engiagent.plant.values import Quantity, literal, pieces, translated
from engiagent.plant.writing import to_yaml
from engiagent.slots import Component
from engiagent.text import Problem
from engiagent.units.headers import split_header
from engiagent.units.unit import parse_unit
from engiagent.units.words import Conventions, resolve_unit

if TYPE_CHECKING:  # both bring libraries that take long to load
    import pandas as pd

    from engiagent.control import ClosedLoop
    from engiagent.notebook.solution import Solution


Json = dict[str, Any]
Value = float | str | npt.ArrayLike | tuple[npt.ArrayLike, str]
"""A number in the slot's own unit, a text with a unit ("200 kWh"), the name of a parameter or an
expression, a series of one number for each period (of pandas with the stamps of the periods), a
pair of a series and its unit, or a :class:`Size` that is to be chosen."""

_PERCENT = re.compile(r"([\d.eE+-]+)\[%\]")
STATED = {"kind": "user", "note": "given in Python"}


@dataclass
class Site:
    """A study under construction; :mod:`engiagent.plant` reads the same from a file.

    The horizon is what a set of kind ``time`` takes: ``start`` may lack the date, ``step`` may be
    one text or a list of them.
    """

    start: str
    step: str | Sequence[str]
    periods: int
    zone: str | None = None
    currency: str = "EUR"  # of prices that name none
    title: str = "a study"  # what it is about
    # how many such horizons make a year, as 365 for a day: then all costs are those of a year
    weight: float | None = None
    _statement: Statement = field(init=False)
    _folder: Path | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        step = self.step if isinstance(self.step, str) else list(self.step)
        time: Json = {"name": "T", "kind": "time", "start": self.start, "periods": self.periods}
        time |= {"step": step} if self.zone is None else {"step": step, "zone": self.zone}
        self._statement = Statement(self.title, time, self.currency)
        if self.weight is not None:
            self._statement.weight = self.parameter(WEIGHT, self.weight)

    @property
    def _conventions(self) -> Conventions:
        return Conventions(currency=self.currency)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the site of a plant file, of a problem with a plant block, or of a blueprint.

        Raises InputError with all that is wrong in it, or when there is no plant block.
        """
        if Blueprint.is_in(path):
            return cls.of(Blueprint.load(path), Path(path).parent)
        problem = Problem.load(path)
        stated = read_statement(problem)
        if stated is None:
            raise InputError("there is no plant block", str(path))
        return cls._of(stated, problem.folder)

    @classmethod
    def of(cls, blueprint: Blueprint, folder: Path | None = None) -> Self:
        """Return the site that a blueprint is, whose components are not written out."""
        return cls._of(Statement.of(blueprint), folder or blueprint.home.folder)

    @classmethod
    def _of(cls, stated: Statement, folder: Path | None) -> Self:
        time = stated.time
        site = cls(time.get("start", "00:00"), time["step"], time["periods"], time.get("zone"))
        site.currency, site.title = stated.currency, stated.title
        site._statement, site._folder = stated, folder
        for part in fields(stated):
            setattr(stated, part.name, _as_stated(getattr(stated, part.name)))
        stated.unused = []  # of a text that is not there any more
        return site

    def to_yaml(self) -> str:
        """Return the site as the text of a plant file, which :meth:`load` reads again."""
        self._statement.connect()
        return to_yaml(self._statement)

    @classmethod
    def over(cls, stamps: "pd.Index[Any]", **about: Any) -> Self:
        """Return a site whose periods begin at the stamps of a table.

        ``about`` are further attributes, as ``title`` and ``currency``.

        Raises InputError when they are no stamps, or not evenly spaced; it names the first that is
        not.
        """
        import pandas as pd  # who has stamps has loaded it

        if not isinstance(stamps, pd.DatetimeIndex):
            raise InputError("the index holds no stamps", expected="a DatetimeIndex of pandas")
        steps = np.diff(stamps.asi8)
        odd = np.flatnonzero(steps != steps[:1])
        if stamps.size < 2 or odd.size or steps[0] <= 0:
            place = f"{stamps[odd[0]]}, then {stamps[odd[0] + 1]}" if odd.size else f"{stamps!r}"
            local = "; local time needs its zone: tz_localize('Europe/Berlin', ambiguous='infer')"
            wanted = "one step throughout" + (local if stamps.tz is None else "")
            raise InputError("the stamps are not evenly spaced", found=place, expected=wanted)
        minutes = (stamps[1] - stamps[0]).total_seconds() / 60
        first = stamps[0].tz_localize(None).isoformat()
        zone = None if stamps.tz is None else str(stamps.tz)
        return cls(first, f"{minutes:.12g} min", stamps.size, zone, **about)

    def parameter(self, name: str, value: Value, unit: str = "1") -> str:
        """Add a parameter, a number or a series over the periods, and return its name.

        A text ``"prices.csv#price"`` is a column of a file, read when the study is solved.
        """
        given: Any = value
        if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], str):
            given, unit = given
        unit = str(resolve_unit(unit, self._conventions) or unit)
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
        index = self._statement.points(over or f"{name}_points", len(values))
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

        ``name``, ``model``: what to call it, and of which model it is. ``connections``: those that
        cannot be given as a keyword, as the neighbours of a zone. ``options``, ``slots``: the
        model's options, and its parameters, options and connections by their names. Of a store
        ``final_energy_min`` is what its content is at least in the end, as ``"50 %"``. Raises
        InputError when the model is unknown, or a slot is none of its parameters, options or
        connections.
        """
        if model not in MODELS:
            said = f"component {name}: unknown model {model!r}"
            raise InputError(said, expected=nearest(model, MODELS))
        known = MODELS[model]
        parameters: Json = {}
        joined: Json = dict(connections or {})
        chosen: Json = dict(options or {})
        least = None
        # A share, as initial_energy="50 %", is one of another slot, which comes before it.
        for slot, value in sorted(slots.items(), key=lambda item: str(item[1]).endswith("%")):
            if slot in known.slots:
                unit = known.slots[slot].in_currency(self.currency).unit
                if isinstance(value, Size):
                    parameters[slot] = self._sized(name, slot, unit, value)
                else:
                    filled = self._filled(f"{name}_{slot}", value, unit)
                    parameters[slot] = _share(filled, unit, parameters, known) or filled
            elif slot in known.connections:
                joined[slot] = value
            elif slot in known.options:
                chosen[slot] = value
            elif slot == FINAL:
                with _refused():
                    text = value if isinstance(value, str) else f"{value} kWh"
                    least = final_requirement(name, known, text)
            else:
                names = (*known.slots, *known.options, *known.connections, FINAL)
                said = f"component {name} ({model}): unknown slot {slot!r}"
                raise InputError(said, expected=nearest(slot, names))
        self._statement.add_component(
            name, model, STATED, parameters=parameters, connections=joined, options=chosen
        )
        if least is not None:
            self.require(least, over=None, name=f"{name}_{FINAL}")
        return name

    def add_network(
        self,
        name: str,
        network: HeatNetwork,
        boundaries: Mapping[str, Value],
        heat: Mapping[str, Value] | None = None,
        initial_temperature: float | None = None,
        **more: Any,
    ) -> str:
        """Add a network of heat, as a zone of ISO 52016-1, as an ``rc_network``; return its name.

        ``boundaries``, ``heat``: the given temperatures [degC], and heat into nodes [kW], as
        numbers or series. ``initial_temperature``: of nodes that have none of their own. [degC]
        ``more``: further connections, as ``heated``, ``heat_bus`` and ``comfort``.
        """
        nodes: Json = {}
        for node in network.nodes:
            nodes[node.name] = {"capacity": f"{node.capacity!r}[kWh/K]"}
            start = node.initial_temperature
            start = initial_temperature if start is None else start
            if start is not None:
                nodes[node.name]["initial_temperature"] = f"{start!r}[degC]"
        links: Json = {}
        for number, link in enumerate(network.links, 1):
            if link.conductance > 0:
                ends = {"one": link.one, "other": link.other}
                ends["conductance"] = f"{link.conductance!r}[kW/K]"
                links[f"link{number}"] = ends | ({"one_way": True} if link.one_way else {})
        given = {b: self.parameter(f"{name}_{b}", v, "degC") for b, v in boundaries.items()}
        gains = {n: self.parameter(f"{name}_heat_{n}", v, "kW") for n, v in (heat or {}).items()}
        more |= {"heat": gains} if gains else {}
        parts = {"nodes": nodes, "links": links, "boundaries": given}
        return self.add(name, "rc_network", connections={**parts, **more})

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

        It is written as in a plant file, ``grid.import[t] <= 80 kW``, with quantities of the
        components that are there, or in the language of blueprints. With a ``penalty`` (in the
        currency, per unit of the constraint) it may be broken.
        """
        number = len(self._statement.constraints) + 1
        self._statement.add_requirement(
            name if name.isidentifier() else f"R{number}",
            self._translated(expression),
            STATED,
            name=name or f"requirement {number}",
            hard=penalty is None,
            forall=None if over is None else [over],
            where=None if where is None else self._translated(where),
            penalty=None if penalty is None else {"weight": penalty, "form": "linear"},
        )

    def minimise(self, expression: str, unit: str | None = None, sense: str = "minimize") -> None:
        """Set the objective to an expression in ``unit``, the currency by default."""
        self._statement.set_goal(sense, self._translated(expression), unit or self.currency, STATED)

    def maximise(self, expression: str, unit: str | None = None) -> None:
        """Set the objective to the greatest value of an expression."""
        self.minimise(expression, unit, "maximize")

    def minimise_cost(
        self,
        price: Mapping[str, Value] | None = None,
        revenue: Mapping[str, Value] | None = None,
        also: str = "",
    ) -> None:
        """Set the objective to the cost of the horizon.

        It is the energy of the grids at their prices, less what export earns, and all costs that
        components declare themselves (starts, wear, lost load), also those added later.

        ``price``, ``revenue``: by the name of a grid, per kWh where no unit is given, for grids
        whose ``import_price`` and ``export_price`` are not filled. ``also``: a further cost, as an
        expression.
        """
        unit = f"{self.currency}/kWh"
        components = {c["name"]: c for c in self._statement.components if c["model"] == "grid"}
        for way, prices in (("import", price or {}), ("export", revenue or {})):
            for grid, value in prices.items():
                if grid not in components:
                    expected = ", ".join(components) or None
                    raise InputError(f"there is no grid {grid}", expected=expected)
                slot = f"{way}_price"
                components[grid]["parameters"][slot] = self._filled(f"{grid}_{slot}", value, unit)
        further = f"{COST} + ({self._translated(also)})" if also else COST
        self._statement.also = costs_beside(further, "minimize") or []
        self.minimise(COST)

    def baseline(self, *without: str, rule: str | None = None) -> None:
        """Compare the plan with the same site without some components, or under a rule.

        It is the case ``baseline`` of the report, which ``engiagent run`` solves beside the plan.
        Rules are ``self-consumption`` of batteries and the ``thermostat`` of heating.
        """
        if bool(without) == (rule is not None):
            said = "a baseline leaves out components or has a rule"
            raise InputError(said, expected="one of both")
        known = [c["name"] for c in self._statement.components]
        if odd := [name for name in without if name not in known]:
            raise InputError(f"there is no component {odd[0]}", expected=", ".join(known))
        self._statement.without, self._statement.rule = without, rule

    def blueprint(self, folder: str | Path | None = None) -> Blueprint:
        """Return the study as a blueprint, its components not yet written out.

        Where no component names a bus of electricity, all that can be are on one.

        ``folder``: where data files lie. Raises InputError when something in it does not fit the
        language, with its place.
        """
        self._statement.connect()
        from engiagent.notebook.home import Home

        place = self._folder if folder is None else Path(folder)
        found, rule = self._statement.blueprint(), self._statement.rule
        if self._statement.representative is None:
            found = one_way(found, Elaboration(found.core, place))
        if rule is not None:
            from engiagent.plant.rules import with_rule  # few sites need the checker's physics

            found = with_rule(found, rule, place)
        return found.at_home(Home(place, name=self.title))

    def solve(
        self, folder: str | Path | None = None, *, progress: bool = True, **options: Any
    ) -> "Solution":
        """Solve the study: a plan with its certificate, charts, tables and explanations.

        ``folder``: where data files lie. ``progress``: show how far it has come. ``options``:
        limits and settings, as ``time_limit=60`` [s], ``gap=0.01`` or ``backend="scip"``.
        """
        return self.blueprint(folder).solve(progress=progress, **options)

    def control(
        self, steps: int | None = None, folder: str | Path | None = None, **given: Any
    ) -> "ClosedLoop":
        """Control the site in closed loop; ``given`` is what :meth:`Blueprint.control` takes."""
        return self.blueprint(folder).control(steps, **given)

    def _translated(self, text: str) -> str:
        """Return an expression as a plant file has it in the language of blueprints."""
        with _refused(found=repr(text)):
            return translated(text, self._statement.names(), self._conventions).text

    def _numbers(self, name: str, value: npt.ArrayLike) -> Json:
        self._check_stamps(name, getattr(value, "index", None))
        wanted = f"one number, or {self.periods} for the periods"
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            array = np.full((), np.nan)
        if np.isnan(array).any():
            places = getattr(value, "index", range(array.size))
            at = f" at {places[int(np.isnan(array).argmax())]}" if array.ndim == 1 else ""
            raise InputError(f"{name} holds more than numbers{at}", expected=wanted)
        if array.shape not in ((), (self.periods,)):
            raise InputError(f"{name} has the shape {array.shape}", expected=wanted)
        return {"value": array.tolist()} | ({"index": ["T"]} if array.ndim else {})

    def _check_stamps(self, name: str, stamps: Any) -> None:
        """Refuse a series of pandas whose stamps are not those of the periods."""
        if not hasattr(stamps, "tz_localize") or "-" not in self.start or len(stamps) == 0:
            return
        if stamps.tz is not None and self.zone is not None:
            stamps = stamps.tz_convert(self.zone)
        first = np.datetime64(self.start)
        if np.datetime64(stamps[0].tz_localize(None)) != first:
            wanted = f"{first}, as the periods do"
            raise InputError(f"{name} begins at {stamps[0]}", expected=wanted)
        if isinstance(self.step, str) and len(stamps) > 1:
            given, (seconds, unit) = (stamps[1] - stamps[0]).total_seconds(), parse_step(self.step)
            if unit == "h" and given != seconds:
                rule = "reindex(index, method='ffill')" if given > seconds else "resample(…).mean()"
                wanted = f"{self.step}, by .{rule}"
                raise InputError(f"{name} has steps of {given / 60:g} min", expected=wanted)

    def _sized(self, name: str, slot: str, unit: str, size: Size) -> str:
        """Return what fills a slot that is to be chosen."""
        given = size.given
        profile = given.pop("profile", None)
        if profile is not None:
            profile = self.parameter(f"{name}_{slot}_profile", profile)
        with _refused(f"component {name}: {slot}: "):
            amounts = {
                key: [self._amount(v) for v in value] if key == "between" else self._amount(value)
                for key, value in given.items()
            }
            return Sizing(self._statement, name, slot, unit, amounts, STATED).add(profile)

    def _amount(self, value: Any) -> Amount:
        """Return a number with its unit; a bare one is in the unit of its place."""
        if isinstance(value, str):
            match pieces(value.strip(), self._conventions):
                case [Quantity() as quantity]:
                    return Amount(quantity.number, quantity.unit, STATED)
            raise FormError(f"no quantity: {value!r}", 0, "a number with its unit")
        return Amount(float(value), None, STATED)

    def _filled(self, name: str, value: Any, unit: str) -> float | str:
        """Return what to write into a slot: a number, an expression or the name of a parameter."""
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str):
            with suppress(FormError):  # of an expression over parameters
                match pieces(value.strip(), self._conventions):
                    case [Quantity(unit=found) as quantity] if found is not None:
                        return literal(quantity)
            return value
        if isinstance(value, int | float | np.number):
            return float(value)
        self._check_unit(name, getattr(value, "name", None), unit)
        return self.parameter(f"{name}_given", value, unit)

    def _check_unit(self, name: str, title: object, unit: str) -> None:
        """Refuse a series of pandas whose name states another unit than its numbers count in."""
        stated = split_header(str(title or ""), self._conventions).unit
        wanted = parse_unit(unit)
        if stated is not None and replace(stated, text=wanted.text) != wanted:
            expected = f"numbers in {unit} under another name, or a pair (series, '{stated}')"
            raise InputError(f"{name} is in {unit}", found=repr(title), expected=expected)


@contextmanager
def _refused(place: str = "", found: str | None = None) -> Iterator[None]:
    """Say of what is wrong with a value where it was given."""
    try:
        yield
    except FormError as error:
        raise InputError(f"{place}{error.message}", found=found, expected=error.expected) from None


def _as_stated(value: Any) -> Any:
    """Return parts of a statement whose sources in a text are the user's own now."""
    if isinstance(value, list):
        return [_as_stated(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get("kind") == "text" or (value.get("kind") == "file" and "column" not in value):
        return STATED
    return {key: _as_stated(item) for key, item in value.items()}


def _share(value: Any, unit: str, given: Json, known: Component) -> str | None:
    """Return a percentage of another slot as an expression; None of any other value."""
    share = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    dimension = parse_unit(unit).dimension
    if share is None or not dimension:
        return None
    units = {s: parse_unit(known.slots[s].unit) for s in WHOLES if s in given}
    wholes = [s for s in units if units[s].dimension == dimension]
    if not wholes:
        raise InputError("a percentage of what?", found=value, expected=f"a value in {unit}")
    whole = given[wholes[0]]
    if isinstance(whole, float):
        whole = given[wholes[0]] = f"{whole!r}[{known.slots[wholes[0]].unit}]"
    return f"{float(share[1]) / 100:.15g}*({whole})"

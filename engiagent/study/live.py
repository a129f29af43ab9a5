"""A blueprint that is solved again and again with other numbers, compiled once.

A name of a study is that of a parameter, or ``component.slot``, as ``battery.energy_capacity``: a
number that stands in a slot becomes a parameter, so that every number changes in place in the
compiled program. What decides on structure compiles anew.

``battery.energy_capacity=100..400:7`` is seven values from 100 to 400, ``wear=1,2,5`` a list, and
``price=*0.8..1.2:5`` factors on the values as they stand, which is what series are varied by. A
unit follows in brackets, as ``E_max=1..4:4[MWh]``; without one, numbers are in the parameter's own.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.diagnostics import BlueprintError, MissingDataError
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import ComponentDef, ParameterDef, ReportDef, freeze
from engiagent.blueprint.grammar import Number, parse
from engiagent.blueprint.values import unit_of
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.components import MODELS
from engiagent.formulations.components.fragment import Surroundings
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.expansion import expand, unexpanded
from engiagent.formulations.parametric.program import compile_parametric, with_numbers
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.run.certify import certify
from engiagent.scale import Spread
from engiagent.solvers.goals import frontier
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.session import Session
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from engiagent.study.requests import Requests
from engiagent.units.unit import conversion, parse_unit
from engiagent.units.words import unit_beside

MOST: Final = 100_000
"""Points of one study; a grid of many parameters grows beyond any use."""
EXPECTED: Final = "NAME=LOW..HIGH:COUNT or NAME=V1,V2,…, as battery.energy_capacity=100..400:7[kWh]"
BEFORE: Final = "the plant, or the blueprint before its components were written out"
_SPEC = re.compile(r"(?P<factor>\*)?(?P<body>[^\[\]]+?)\s*(?:\[(?P<unit>[^\[\]]*)\])?")
_RANGE = re.compile(r"(?P<low>[^:]+?)\.\.(?P<high>[^:]+?)(?::(?P<count>\d+))?")


@dataclass(frozen=True)
class Variation:
    """A parameter with the values that it takes."""

    name: str  # a parameter, or a slot of a component
    # in order; for a range without a count its two ends, for a factor without ends none
    values: tuple[float, ...] = ()
    unit: str | None = None  # in which the values are; None for the parameter's own
    factor: bool = False  # whether they multiply what stands there

    @classmethod
    def parse(cls, text: str) -> "Variation":
        """Read ``NAME=SPEC``; InputError when it is none, or a number is not finite."""
        name, equals, spec = (part.strip() for part in text.partition("="))
        match = _SPEC.fullmatch(spec)
        if not (equals and name and match):
            raise InputError("this varies nothing", found=repr(text), expected=EXPECTED)
        span = _RANGE.fullmatch(match["body"].strip())
        if span is None:
            values = tuple(_number(part, text) for part in match["body"].split(","))
        else:
            values = _spaced(span, text)
        if len(set(values)) != len(values):
            raise InputError("a value stands twice", found=repr(text), expected=EXPECTED)
        unit = match["unit"].strip() if match["unit"] is not None else None
        if match["factor"] and unit is not None:
            raise InputError("a factor has no unit", found=repr(text), expected="price=*0.8..1.2:5")
        return cls(name, values, unit, bool(match["factor"]))

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "name": self.name,
            "values": list(self.values),
            "unit": self.unit,
            "factor": self.factor,
        }


def parse_factor(text: str) -> Variation:
    """Read ``NAME``, whose range is the study's, or ``NAME=LOW..HIGH`` with two ends of its own.

    Raises InputError when it does not give two ends.
    """
    if "=" not in text:
        return Variation(text.strip())
    found = Variation.parse(text)
    if len(found.values) != 2:
        raise InputError("a factor has two ends", found=repr(text), expected="E=80..120[kWh]")
    return found


def _spaced(span: re.Match[str], text: str) -> tuple[float, ...]:
    low, high = _number(span["low"], text), _number(span["high"], text)
    if low == high:
        raise InputError("both ends of a range are the same", found=repr(text), expected=EXPECTED)
    count = int(span["count"] or 2)
    if not 2 <= count <= MOST:
        raise InputError(f"a range takes 2 to {MOST} values", found=str(count), expected=EXPECTED)
    return tuple(float(value) for value in np.linspace(low, high, count))


def _number(text: str, whole: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{text.strip()!r} is no number", found=repr(whole), expected=EXPECTED)
    return value


def points_of(variations: Sequence[Variation]) -> list[tuple[float, ...]]:
    """Return every combination of values, the last name fastest.

    Raises InputError when nothing varies, a name comes twice, or there are too many points.
    """
    names = [item.name for item in variations]
    if not names:
        raise InputError("nothing is varied", expected=EXPECTED)
    if len(set(names)) != len(names):
        raise InputError("a name is varied twice", found=", ".join(names))
    count = math.prod(len(item.values) for item in variations)
    if not 1 <= count <= MOST:
        raise InputError(f"a study takes 1 to {MOST} points", found=str(count))
    return list(product(*(item.values for item in variations)))


Json = dict[str, Any]
OnPoint = Callable[[int, int, Any], None]


@dataclass(frozen=True)
class Setting:
    """How the points of a study are solved."""

    folder: Path | None = None  # where the data files of the blueprint lie
    options: SolveOptions = field(default_factory=SolveOptions)
    isolate: bool = True  # solve in processes of their own what no session keeps warm
    certify: bool = False  # whether the plan of each point goes to the checker
    name: str = "blueprint"  # what certificates call the blueprint
    # expressions to read from each solution, besides those of the blueprint's report
    show: tuple[str, ...] = ()
    # a folder that stores each point as it is found; started again, a study goes on from there
    out: Path | None = None
    force: bool = False  # begin anew in a folder that holds another study
    # where points are solved, each from nothing, lest which of several equally good plans is found
    # depend on the number of workers; None for one after the other in this process
    spread: Spread | None = None
    # called with the number of points done, of all points, and what the last one found
    on_point: OnPoint | None = None

    def solve(self, program: Program, options: SolveOptions | None = None) -> SolverResult:
        """Solve a program from nothing."""
        return solve(program, options or self.options, isolate=self.isolate)


@dataclass(frozen=True)
class Place:
    """A number of a blueprint: its name as it was asked for, its parameter and its unit."""

    name: str
    parameter: str
    unit: str


class Live:
    """A blueprint with places whose numbers change.

    ``blueprint``: a programme. ``names``: of the places. ``requests``: what to read instead, where
    it is there: of a case, what the base asks for. Raises EngiagentError when the blueprint is
    wrong, lacks data, or a name leads nowhere.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        names: Sequence[str],
        setting: Setting,
        requests: Requests | None = None,
    ) -> None:
        if blueprint.kind == "definitions":
            raise EngiagentError("definitions are computed once; a study needs a programme")
        self.setting = setting
        report = blueprint.core.report or ReportDef()
        asked = tuple(dict.fromkeys((*report.expressions, *setting.show)))
        own_report = None if requests else ReportDef(expressions=asked, duals=report.duals)
        blueprint = blueprint.with_core(report=own_report)
        self.places: dict[str, Place] = {}
        for name in names:
            blueprint, self.places[name] = _placed(blueprint, name)
        self.blueprint = blueprint
        found = analyse(expand(blueprint), setting.folder)
        if found.missing:
            raise MissingDataError(found.missing)
        if found.errors:
            raise BlueprintError(found.errors)
        self.numbers = {
            name: self.numbers_in(blueprint, place) for name, place in self.places.items()
        }
        self._refuse_frozen()
        self.requests = requests or Requests.of(blueprint, setting.folder)
        self._parametric = compile_parametric(
            self.requests.added_to(blueprint, setting.folder),
            setting.folder,
            [place.parameter for place in self.places.values()],
            structure="recompile",
        )
        self._session: Callable[[], SolverResult] | None = None

    @property
    def program(self) -> Program:
        """The program as its numbers stand."""
        return self._parametric.program

    @property
    def is_warm(self) -> bool:
        """Whether a solve starts from the one before.

        Mixed-integer programs start anew, so that which of several equally good plans is found
        does not depend on the points before.
        """
        program = self.program
        plain = not program.goals and self.setting.options.memory_limit_mb is None
        plain = plain and bool(self.places)  # what never changes is solved once, on its own
        plain = plain and self.setting.spread is None
        return self._parametric.in_place and plain and not program.is_mip and not program.nonlinear

    def numbers_in(self, blueprint: Blueprint, place: Place) -> Floats:
        """Return the numbers at a place of this blueprint, or of one with other numbers."""
        definition = next(p for p in blueprint.core.parameters if p.name == place.parameter)
        if definition.status == "missing":
            raise InputError(f"{place.name} is missing in the blueprint; give it a value first")
        values = Elaboration(blueprint.core, self.setting.folder).table(place.parameter).values
        return np.asarray(values, dtype=np.float64)

    def unit_of(self, variation: Variation) -> str:
        """Return the unit of what a variation takes."""
        if variation.factor:
            return "factor"
        return variation.unit or self.places[variation.name].unit

    def moved(self, variation: Variation, value: float) -> Floats:
        """Return the numbers that a value of a variation stands for, in the place's own unit."""
        own, values = self.places[variation.name].unit, self.numbers[variation.name]
        if variation.factor:
            return np.asarray(values * value)
        if variation.unit is not None:
            try:
                scale, shift = conversion(unit_beside(variation.unit, own), parse_unit(own))
            except (EngiagentError, ValueError) as error:
                said = f"{variation.name}: {error}"
                raise InputError(said, expected=f"a unit such as {own}") from None
            value = value * scale + shift
        return np.full(values.shape, float(value))

    def at(self, new: Mapping[str, Floats]) -> Blueprint:
        """Return the blueprint in which new numbers stand as if they had been written there."""
        values = {self.places[name].parameter: value for name, value in new.items()}
        return with_numbers(self.blueprint, self.setting.folder, values)

    def found(self, new: Mapping[str, Floats]) -> Json:
        """Return the record of a point; what goes wrong there is part of it."""
        try:
            self._move(new)
            if self.is_warm:
                if self._session is None:
                    self._session = Session(self._parametric, self.setting.options).solve
                result = self._session()
            else:
                result = self.setting.solve(self.program)
        except EngiagentError as error:
            self._session = None
            return failed(error)
        return self.record(result, new)

    def front(self, new: Mapping[str, Floats], points: int) -> list[Json]:
        """Return the record of a point, or those of its front where the blueprint has one."""
        if self.program.method != "frontier":
            return [self.found(new)]
        try:
            self._move(new)
            results = frontier(self.program, self.setting.solve, self.setting.options, points)
        except EngiagentError as error:
            return [failed(error)]
        return [self.record(result, new) for result in results]

    def program_at(self, new: Mapping[str, Floats]) -> Program:
        """Return the program with new numbers; it stands until the next ones come."""
        self._move(new)
        return self.program

    def _move(self, new: Mapping[str, Floats]) -> None:
        """Put new numbers at places, all others as they stand in the blueprint."""
        self.refuse_outside(new)
        whole = {**self.numbers, **new}
        at = ((self.places[name], value) for name, value in whole.items())
        self._parametric.update(**{p.parameter: (value, p.unit) for p, value in at})

    def _refuse_frozen(self) -> None:
        """Refuse numbers that components asked for when they were written out before."""
        read: set[str] = set()
        if any(component.expanded for component in self.blueprint.core.components):
            with suppress(EngiagentError):  # as that a name is taken, when all has been read
                expand(unexpanded(self.blueprint), read)
        for place in self.places.values():
            if place.parameter in read:
                text = f"components were written out with the number of {place.name}"
                raise InputError(text, expected=BEFORE)

    def refuse_outside(self, new: Mapping[str, Floats]) -> None:
        """Refuse numbers outside the range of a slot, as writing out its component does."""
        core, ends = self.blueprint.core, dict[str, ParameterDef]()
        for name, values in new.items():
            own, both = self.places[name], (float(values.min()), float(values.max()))
            ends[own.parameter] = ParameterDef(name=own.parameter, value=both, unit=own.unit)
        core = replace(core, parameters=tuple(ends.get(p.name, p) for p in core.parameters))
        for component in core.components:
            if ends.keys() & set(map(str, component.parameters.values())):
                Reader(component, Surroundings(core))

    def record(self, result: SolverResult, new: Mapping[str, Floats]) -> Json:
        """Return what is stored of a result: no seconds, which are never the same twice."""
        if result.status == "interrupted":
            raise KeyboardInterrupt  # what was cut off is no result that a folder may keep
        program = self.program
        values, absent = self.requests.read(program, result)
        stored: Json = {
            "status": result.status,
            "reason": result.reason,
            "objective": result.objective,
            "objective_unit": program.objective_unit,
            "bound": result.bound,
            "gap": result.gap,
            "values": {v.label: v.value for v in values if not v.index},
            "units": {v.label: v.unit for v in values if not v.index},
        }
        series = [
            {"name": v.label, "index": dict(v.index), "value": v.value, "unit": v.unit}
            for v in values
            if v.index
        ]
        stored |= {"series": series} if series else {}
        stored |= {"absent": list(absent)} if absent else {}
        if self.setting.certify:
            stored["verdict"] = self._verdict(result, new)
        return {key: _finite(value) for key, value in stored.items()}

    def _verdict(self, result: SolverResult, new: Mapping[str, Floats]) -> str:
        """Return what the checker says of a plan; it gets the point's own blueprint."""
        folder, name = self.setting.folder or Path(), self.setting.name
        blueprint, data = self.at(new).with_core(report=None), to_dataset(self.program, result)
        try:
            return certify(None, data, blueprint, folder=folder, name=name).verdict
        except EngiagentError as error:
            return f"not certified: {' '.join(str(error).split())}"


def failed(error: Exception) -> Json:
    """Return the record of a point that could not be solved."""
    return {"status": "error", "reason": " ".join(str(error).split())}


def _finite(value: Any) -> Any:
    """Return a number that JSON has, None for one that is not finite."""
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return value


# -- where names lead ------------------------------------------------------------------------------


def _placed(blueprint: Blueprint, name: str) -> tuple[Blueprint, Place]:
    """Return where a name leads; InputError where that is nowhere, or no number of its own."""
    core = blueprint.core
    by_name = {item.name: item for item in core.parameters}
    if name in by_name:
        return blueprint, _parameter(name, by_name[name])
    owner, _, slot = name.partition(".")
    component = next((item for item in core.components if item.name == owner), None)
    if component is None or component.model not in MODELS or not slot:
        known = [p.name for p in core.parameters if not isinstance(p.value, str)]
        known += [f"{c.name}.{slot}" for c in core.components for slot in c.parameters]
        close = get_close_matches(name, known, n=3, cutoff=0.4) or known[:8]
        text = f"one such as {', '.join(close)}"
        raise InputError(f"there is no parameter {name}", expected=text)
    return _slot(blueprint, component, slot, name)


def _parameter(name: str, definition: ParameterDef) -> Place:
    if (definition.type or "number") != "number" or isinstance(definition.value, str):
        raise InputError(
            f"{name} has no number of its own",
            found=str(definition.value or definition.type),
            expected="a parameter that it is computed from",
        )
    return Place(name, definition.name, str(unit_of(definition)))


def _slot(
    blueprint: Blueprint, component: ComponentDef, slot: str, name: str
) -> tuple[Blueprint, Place]:
    """Return the place of a component's slot, which becomes a parameter where it is none."""
    known = MODELS[component.model].slots
    if slot not in known:
        close = get_close_matches(slot, known, n=3) or list(known)
        text = ", ".join(close)
        raise InputError(f"a {component.model} has no {slot}", found=repr(name), expected=text)
    given = component.parameters.get(slot)
    parameters = {item.name: item for item in blueprint.core.parameters}
    if isinstance(given, str) and given in parameters:
        return blueprint, replace(_parameter(given, parameters[given]), name=name)
    node = parse(given) if isinstance(given, str) else None
    if isinstance(node, Number):
        value, unit = node.value, node.unit or str(known[slot].unit)
    elif isinstance(given, int | float) and not isinstance(given, bool):
        value, unit = float(given), str(known[slot].unit)
    else:
        raise InputError(
            f"{name} is not given as one number",
            found="nothing" if given is None else str(given),
            expected="a number there, or the name of a parameter that it is computed from",
        )
    if component.expanded:
        raise InputError(f"components were written out with the number of {name}", expected=BEFORE)
    own = f"{component.name}__{slot}"
    while own in parameters:
        own += "_"
    definition = ParameterDef(name=own, value=value, unit=unit, description=f"{slot} of a study")
    changed = replace(component, parameters=freeze({**component.parameters, slot: own}))
    components = tuple(changed if c is component else c for c in blueprint.core.components)
    core = {"parameters": (*blueprint.core.parameters, definition), "components": components}
    return blueprint.with_core(**core), Place(name, own, unit)

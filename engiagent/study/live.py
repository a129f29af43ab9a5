"""A blueprint that is solved again and again with other numbers, compiled once where that goes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.diagnostics import BlueprintError, MissingDataError
from engiagent.blueprint.document import Blueprint, ReportDef
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.parametric import compile_parametric
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.run.certify import certify
from engiagent.solvers.goals import frontier
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.session import Session
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from engiagent.study.checkpoint import Checkpoint, OnPoint
from engiagent.study.places import numbers_at, placed, with_numbers
from engiagent.study.requests import Requests
from engiagent.study.variation import Variation

Json = dict[str, Any]
NOT_CERTIFIED: Final = "not certified"
CHAIN: Final = 16
"""How many solves start from one another. A study that was cut off goes on at the beginning of
such a chain, so that every solve has the same ones before it and finds the same plan."""


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
    # a folder that stores each point as it is found; started again, a study goes on from there and
    # ends with the same result
    out: Path | None = None
    force: bool = False  # begin anew in a folder that holds another study
    # called with the number of points done, of all points, and what the last one found
    on_point: OnPoint | None = None

    def solve(self, program: Program, options: SolveOptions | None = None) -> SolverResult:
        """Solve a program from nothing."""
        return solve(program, options or self.options, isolate=self.isolate)


class Live:
    """A blueprint with places whose numbers change.

    ``blueprint``: a programme. ``names``: of the places; see :mod:`engiagent.study.places`.
    ``requests``: what to read instead, where it is there: of a case, what the base asks for. Raises
    EngiagentError when the blueprint is wrong, lacks data, or a name leads nowhere.
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
        self.blueprint, places = placed(blueprint, tuple(names))
        _refuse_wrong(self.blueprint, setting.folder)
        self.places = {place.name: place for place in places}
        self.numbers = {
            place.name: numbers_at(self.blueprint, setting.folder, place) for place in places
        }
        self.requests = requests or Requests.of(self.blueprint, setting.folder)
        self._ready = self.requests.added_to(self.blueprint, setting.folder)
        own = [place.parameter for place in places if place.parameter is not None]
        self._parametric = (
            compile_parametric(self._ready, setting.folder, own, structure="recompile")
            if len(own) == len(places)
            else None
        )
        self._session: Callable[[], SolverResult] | None = None
        self.program = (
            self._parametric.program
            if self._parametric is not None
            else compile_blueprint(self._ready, setting.folder)
        )

    @property
    def in_place(self) -> bool:
        """Whether numbers change in a compiled program; otherwise each point compiles anew."""
        return self._parametric is not None and self._parametric.in_place

    @property
    def is_warm(self) -> bool:
        """Whether a solve starts from the one before, so that its way depends on that one.

        Mixed-integer programs start anew: among equally good plans the one that is found must
        not depend on where a study was cut off.
        """
        program = self.program
        plain = not program.goals and self.setting.options.memory_limit_mb is None
        plain = plain and bool(self.places)  # what never changes is solved once, on its own
        return self.in_place and plain and not program.is_mip and not program.nonlinear

    def base(self) -> dict[str, Floats]:
        """Return the numbers as they stand in the blueprint, by place."""
        return {name: numbers.values for name, numbers in self.numbers.items()}

    def unit_of(self, variation: Variation) -> str:
        """Return the unit of what a variation takes."""
        if variation.factor:
            return "factor"
        return variation.unit or self.places[variation.name].unit

    def moved(self, variation: Variation, value: float) -> Floats:
        """Return the numbers that a value of a variation stands for, in the place's own unit."""
        own, numbers = self.places[variation.name].unit, self.numbers[variation.name]
        return numbers.moved(value, factor=variation.factor, unit=variation.unit, own=own)

    def restart(self) -> None:
        """Forget the solves up to here, so that the next one starts from nothing."""
        self._session = None

    def move(self, new: Mapping[str, Floats]) -> None:
        """Put new numbers at places, all others as they stand in the blueprint.

        Raises EngiagentError when they make no program.
        """
        whole = {**self.base(), **new}
        if self._parametric is not None:
            given = {str(self.places[name].parameter): value for name, value in whole.items()}
            self._parametric.update(**given)
            self.program = self._parametric.program
            return
        changed = self._at(self._ready, whole)
        _refuse_wrong(changed, self.setting.folder)
        self.program = compile_blueprint(changed, self.setting.folder)

    def at(self, new: Mapping[str, Floats]) -> Blueprint:
        """Return the blueprint in which new numbers stand as if they had been written there."""
        return self._at(self.blueprint, new)

    def _at(self, blueprint: Blueprint, new: Mapping[str, Floats]) -> Blueprint:
        for name, value in new.items():
            blueprint = with_numbers(blueprint, self.places[name], self.numbers[name], value)
        return blueprint

    def solve(self) -> SolverResult:
        """Solve the program as it stands, warm where that goes."""
        if not self.is_warm:
            return self.setting.solve(self.program)
        if self._session is None:
            assert self._parametric is not None
            self._session = Session(self._parametric, self.setting.options).solve
        return self._session()

    def found(self, new: Mapping[str, Floats]) -> Json:
        """Return the record of a point; what goes wrong there is part of it."""
        try:
            self.move(new)
            result = self.solve()
        except EngiagentError as error:
            self._session = None
            return failed(error)
        return self.record(result, new)

    def front(self, new: Mapping[str, Floats], points: int) -> list[Json]:
        """Return the record of a point, or those of its front where the blueprint has one."""
        if self.program.method != "frontier":
            return [self.found(new)]
        try:
            self.move(new)
            results = frontier(self.program, self.setting.solve, self.setting.options, points)
        except EngiagentError as error:
            return [failed(error)]
        return [self.record(result, new) for result in results]

    def record(
        self, result: SolverResult, new: Mapping[str, Floats], program: Program | None = None
    ) -> Json:
        """Return what is kept of a result: no seconds, which are never the same twice."""
        if result.status == "interrupted":
            raise KeyboardInterrupt  # what was cut off is no result that a folder may keep
        program = program or self.program
        values, absent = self.requests.read(program, result)
        kept: Json = {
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
        if series:
            kept["series"] = series
        if absent:
            kept["absent"] = list(absent)
        if self.setting.certify:
            kept["verdict"] = self._verdict(program, result, new)
        return {key: _finite(value) for key, value in kept.items()}

    def _verdict(self, program: Program, result: SolverResult, new: Mapping[str, Floats]) -> str:
        """Return what the checker says of a plan; it gets the point's own blueprint."""
        folder = self.setting.folder or Path()
        blueprint = self.at(new).with_core(report=None)
        data = to_dataset(program, result)
        try:
            return certify(None, data, blueprint, folder=folder, name=self.setting.name).verdict
        except EngiagentError as error:
            return f"{NOT_CERTIFIED}: {' '.join(str(error).split())}"


def failed(error: Exception) -> Json:
    """Return the record of a point that could not be solved."""
    return {"status": "error", "reason": " ".join(str(error).split())}


def solve_all(
    live: Live,
    moved: Mapping[str, Mapping[str, Floats]],
    kept: Checkpoint,
    find: Callable[[Mapping[str, Floats]], Any],
) -> None:
    """Find the points of new numbers, by their keys, in chains where solves are warm."""
    keys, length = list(moved), CHAIN if live.is_warm else 1

    def start() -> Callable[[str], Any]:
        live.restart()
        return lambda key: find(moved[key])

    for first in range(0, len(keys), length):
        kept.chain(keys[first : first + length], start)


def _refuse_wrong(blueprint: Blueprint, folder: Path | None) -> None:
    found = analyse(expand(blueprint), folder)
    if found.missing:
        raise MissingDataError(found.missing)
    if found.errors:
        raise BlueprintError(found.errors)


def _finite(value: Any) -> Any:
    """Return a number that JSON has, None for one that is not finite."""
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return value

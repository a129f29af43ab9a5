"""What a study may ask: cases of a report, a sweep, each factor at both ends, or a Pareto front.

Of a front the first goal is optimised with the others held at evenly spaced limits; then, at no
loss to the first, the others as well as they go, so that every point is efficient.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elements import GoalDef, ObjectiveDef, ReportDef, SweepDef, thaw
from engiagent.blueprint.reporting import BASE, case_of
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import OBJECTIVE, Goal, Program
from engiagent.formulations.values import Floats
from engiagent.solvers.goals import ROOM, goal_values, kept, only, solve_goals
from engiagent.solvers.result import SolverResult
from engiagent.solvers.session import Session
from engiagent.study.live import Json, Live, Setting, Variation, failed, parse_factor, points_of
from engiagent.study.outcome import Begun, Records, Row
from engiagent.units.unit import conversion, parse_unit

_REPORT: Final = "core_model_elements.report"
_DUALS: Final = (
    "a dual is the change of the objective, in its own sense, for one more unit of the "
    "constraint's right-hand side; integer variables are held fixed"
)
_RANGE: Final = 0.1
_NAMES: Final = ("parameter", "name", "factor")


# -- cases -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cases:
    """A blueprint, its cases and the sweeps of its report.

    A row's ``at`` has the ``case`` (``base``, or its name) and, for a sweep, ``sweep``, ``value``
    and ``unit``; on a front between several goals also ``front``, the number of the point.
    """

    points: int = 11  # how many points of a front between two goals
    kind: ClassVar[str] = "cases"

    def to_json(self) -> Json:
        """Return it as JSON has it."""
        return {"points": self.points}

    def begin(self, blueprint: Blueprint, setting: Setting) -> Begun:
        """Return the cases under way.

        Raises BlueprintError when the blueprint, or that of a case, is wrong.
        """
        if self.points < 2:
            raise InputError("a front needs at least two points", found=str(self.points))
        report = blueprint.core.report or ReportDef()
        variants = {case.name: case_of(blueprint, k) for k, case in enumerate(report.cases)}
        if blueprint.kind != "definitions":
            _refuse_wrong(blueprint, variants, setting.folder)
        base = Live(blueprint, (), setting)

        @cache
        def swept(name: str, parameter: str) -> Live:
            return Live(blueprint, [parameter], setting, base.requests)

        def solved(variant: Blueprint) -> list[Json]:
            try:
                live = base if variant is blueprint else Live(variant, (), setting, base.requests)
            except EngiagentError as error:
                return [failed(error)]
            return live.front({}, self.points)

        def at(sweep: SweepDef, value: Any) -> list[Json]:
            """Each solve is warm from the last where that is possible."""
            live = swept(sweep.name, sweep.parameter)
            return live.front({sweep.parameter: _numbers(live, sweep, value)}, self.points)

        every = {BASE: blueprint, **variants}
        solves = {f"case:{name}": partial(solved, variant) for name, variant in every.items()}
        solves |= {f"sweep:{s.name}:{k}": partial(at, s, v) for s, k, v in _values(report)}

        def rows(found: Records) -> Iterator[Row]:
            for name in every:
                yield from _numbered({"case": name}, found[f"case:{name}"])
            for sweep, k, value in _values(report):
                unit = sweep.unit or swept(sweep.name, sweep.parameter).places[sweep.parameter].unit
                about = {"case": BASE, "sweep": sweep.name, "value": thaw(value), "unit": unit}
                yield from _numbered(about, found[f"sweep:{sweep.name}:{k}"])

        notes, read = (_DUALS,) if report.duals else (), (blueprint, *variants.values())
        return Begun.of(base, solves, rows, notes, read, fronts=True)


def _values(report: ReportDef) -> Iterator[tuple[SweepDef, int, Any]]:
    for sweep in report.sweeps:
        for number, value in enumerate(sweep.values):
            yield sweep, number, value


def _refuse_wrong(base: Blueprint, variants: Mapping[str, Blueprint], folder: Path | None) -> None:
    """Refuse errors in the base and in the cases, each at its place."""
    errors = list(analyse(expand(base), folder).errors)
    for position, (name, variant) in enumerate(variants.items() if not errors else ()):
        # What a case does not have any more is left out of its rows, so it is no error there.
        try:
            found = analyse(expand(variant.with_core(report=None)), folder).errors
            texts = [str(error) for error in found]
        except EngiagentError as error:
            texts = [str(error)]
        path = f"{_REPORT}.cases[{position}].patch"
        errors += [
            Diagnostic("EB036", "error", path, f"the patched blueprint is wrong: {t}", name=name)
            for t in texts
        ]
    if errors:
        raise BlueprintError(errors)


def _numbers(live: Live, sweep: SweepDef, value: Any) -> Floats:
    """Return the numbers that a value of a sweep stands for, in the parameter's own unit."""
    place, core = live.places[sweep.parameter], live.blueprint.core
    unit = sweep.unit or place.unit
    fields: Json = {"value": value, "data": None, "keys": (), "unit": unit, "unit_override": None}
    parameters = tuple(
        replace(p, **fields) if p.name == sweep.parameter else p for p in core.parameters
    )
    changed = live.blueprint.with_core(parameters=parameters)
    scale, shift = conversion(parse_unit(unit), parse_unit(place.unit))
    return live.numbers_in(changed, place) * scale + shift


def _numbered(at: Json, records: Sequence[Json]) -> Iterator[Row]:
    for number, record in enumerate(records):
        yield ({**at, "front": number} if len(records) > 1 else at), record


# -- sweep -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sweep:
    """A programme at every point of a grid."""

    variations: tuple[Variation, ...]
    kind: ClassVar[str] = "sweep"

    def to_json(self) -> Json:
        """Return it as JSON has it."""
        return {"vary": [variation.to_json() for variation in self.variations]}

    def begin(self, blueprint: Blueprint, setting: Setting) -> Begun:
        """Return the sweep under way."""
        points = points_of(self.variations)
        live = Live(blueprint, [variation.name for variation in self.variations], setting)
        units = [live.unit_of(v) for v in self.variations]
        heads = [
            v.name if unit == "1" else f"{v.name} [{unit}]"
            for v, unit in zip(self.variations, units, strict=True)
        ]

        def new(point: tuple[float, ...]) -> dict[str, Floats]:
            return {v.name: live.moved(v, x) for v, x in zip(self.variations, point, strict=True)}

        def rows(found: Records) -> Iterator[Row]:
            for k, point in enumerate(points):
                yield dict(zip(heads, point, strict=True)), found[str(k)]

        solves = {str(k): partial(live.found, new(point)) for k, point in enumerate(points)}
        return Begun.of(live, solves, rows)


# -- sensitivity -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sensitivity:
    """A programme with each factor at both ends of its range, all others as they stand."""

    # empty for those that the blueprint declares, or else every parameter
    factors: tuple[Variation, ...] = ()
    width: float = _RANGE  # relative range of factors that give no ends of their own
    kind: ClassVar[str] = "sensitivity"

    def to_json(self) -> Json:
        """Return it as JSON has it."""
        return {"factors": [factor.to_json() for factor in self.factors], "width": self.width}

    def begin(self, blueprint: Blueprint, setting: Setting) -> Begun:
        """Return the sensitivity under way.

        Raises EngiagentError when there is no factor, a name leads nowhere, or the blueprint is
        wrong.
        """
        factors, notes = (self.factors, ()) if self.factors else declared_factors(blueprint)
        if not factors:
            factors = every_parameter(blueprint)
            notes = (*notes, "the blueprint names no factors: all parameters are moved")
        ends = [v if v.values else _relative(v.name, self.width) for v in factors]
        names = [v.name for v in ends]
        if not names:
            raise InputError("there is no factor", expected="sensitivity_factors, or --factor NAME")
        if len(set(names)) != len(names):
            raise InputError("a factor is given twice", found=", ".join(names))
        live = Live(blueprint, names, setting)

        ends_of = [(v, *end) for v in ends for end in zip(("low", "high"), v.values, strict=True)]
        free = {v.name for v in factors if not v.values}
        for v, end, x in [item for item in ends_of if item[0].name in free]:
            try:
                live.refuse_outside({v.name: live.moved(v, x)})
            except InputError as error:  # nobody asked for just this number
                notes = (*notes, f"{v.name} at {x:g} times is left out: {error}")
                ends_of.remove((v, end, x))
        moves = {f"{v.name}/{end}": {v.name: live.moved(v, x)} for v, end, x in ends_of}
        solves = {key: partial(live.found, new) for key, new in {"base": {}, **moves}.items()}

        def rows(found: Records) -> Iterator[Row]:
            yield {"factor": "base", "end": "base", "value": ""}, found["base"]
            for v, end, x in ends_of:
                at = {"factor": v.name, "end": end, "value": f"{x:.10g} {live.unit_of(v)}"}
                yield at, found[f"{v.name}/{end}"]

        return Begun.of(live, solves, rows, notes)


def declared_factors(blueprint: Blueprint) -> tuple[tuple[Variation, ...], tuple[str, ...]]:
    """Return the factors of a blueprint's ``sensitivity_factors``, and what it cannot say of some.

    An entry names its parameter under ``parameter``, ``name`` or ``factor``, and may give ``low``
    and ``high``, with a ``unit``, or a relative ``range``, as ``0.2`` or ``"20 %"``.
    """
    extended = blueprint.extended_analysis_and_robustness
    factors, notes = [], []
    for position, entry in enumerate(extended.sensitivity_factors if extended else ()):
        given = thaw(entry)
        name = next((given[key] for key in _NAMES if isinstance(given.get(key), str)), None)
        if name is None:
            notes.append(f"sensitivity_factors[{position}] names no parameter; it is left out")
            continue
        try:
            factors.append(_declared(name, given))
        except InputError as error:
            notes.append(f"{name} is left out: {error}")
    return tuple(factors), tuple(notes)


def _declared(name: str, given: Mapping[str, Any]) -> Variation:
    if "low" in given and "high" in given:
        unit = f"[{given['unit']}]" if given.get("unit") else ""
        return parse_factor(f"{name}={given['low']}..{given['high']}{unit}")
    if "range" not in given:
        return Variation(name)
    text = str(given["range"]).replace("±", "").strip()
    try:
        width = float(text.removesuffix("%")) * (0.01 if text.endswith("%") else 1.0)
    except ValueError:
        expected = "0.2 or 20 %"
        raise InputError("its range is no number", found=repr(text), expected=expected) from None
    return _relative(name, width)


def _relative(name: str, width: float) -> Variation:
    if not 0 < width < float("inf"):
        raise InputError("a range is a share above zero", found=str(width), expected="0.1 or 10 %")
    return Variation(name, (1.0 - width, 1.0 + width), factor=True)


def every_parameter(blueprint: Blueprint) -> tuple[Variation, ...]:
    """Return all parameters with numbers of their own."""
    return tuple(
        Variation(p.name)
        for p in blueprint.core.parameters
        if (p.type or "number") == "number" and not isinstance(p.value, str) and not p.status
    )


_SAME: Final = 1e-7
"""Goals of two points that differ by less of their range are the same."""
_ALIKE: Final = 1e-6
"""The same where a point is judged: rows that hold a goal leave it a little room."""
_EXPECTED: Final = "NAME=min:EXPRESSION or NAME=max:EXPRESSION, as co2=min:emissions"
_MOST: Final = 3


@dataclass(frozen=True)
class Pareto:
    """The front between the goals of a blueprint and further ones."""

    goals: tuple[GoalDef, ...] = ()  # further goals, beside those of the blueprint's own objective
    points: int = 11  # how many limits along each side of the front
    kind: ClassVar[str] = "pareto"

    def to_json(self) -> Json:
        """Return it as JSON has it; the goals are in the blueprint."""
        return {"points": self.points}

    def begin(self, blueprint: Blueprint, setting: Setting) -> Begun:
        """Return the front under way.

        Raises EngiagentError when the goals are not two or three linear ones.
        """
        if self.points < 2:
            raise InputError("a front needs at least two points", found=str(self.points))
        live = Live(with_goals(blueprint, self.goals), (), setting)
        _refuse_curved(live.program)
        goals = live.program.goals
        ends = [f"end:{k}" for k in range(len(goals))]
        finders: dict[str, Callable[[list[float]], Find]] = {}

        def spaced(found: Records) -> tuple[list[list[float]], list[float]] | None:
            """Return the limits of all goals but the first, and the scales of all."""
            if not all("goals" in found[key] for key in ends):
                return None  # without a plan there is no front
            values = [list(found[key]["goals"].values()) for key in ends]
            low, high = np.min(values, axis=0), np.max(values, axis=0)
            scale = np.maximum(high - low, _SAME * np.maximum(1.0, np.abs(high)))
            sides = [
                np.linspace(a, b, self.points).tolist() for a, b in zip(low, high, strict=True)
            ]
            limits = [[inner, *outer] for outer in product(*sides[2:]) for inner in sides[1]]
            return limits, (1.0 / scale).tolist()

        def batches(found: Records) -> Iterator[list[tuple[str, Any]]]:
            yield [(key, k) for k, key in enumerate(ends)]
            limits, scale = spaced(found) or ([], [])
            yield [(f"epsilon:{limit}", (limit, scale)) for limit in limits]

        def solve(argument: Any) -> Json:
            if isinstance(argument, int):
                first = goals[argument]
                order = (first, *(goal for goal in goals if goal is not first))
                return _record(live, _in_order(live, order))
            limit, scale = argument
            at = finders.setdefault(str(scale), _at_limits(live, np.array(scale)))
            return _record(live, at(limit))

        def rows(found: Records) -> list[Row]:
            lacking = [k for k, key in enumerate(ends) if "goals" not in found[key]]
            known = ends[: lacking[0] + 1] if lacking else list(ends)
            ats = [f"best {goal.name}" for goal, _ in zip(goals, known, strict=False)]
            for limit in (spaced(found) or ([], []))[0]:
                held = zip(goals[1:], limit, strict=True)
                ats.append(", ".join(f"{g.name} {round(x, 6):.6g}" for g, x in held))
                known.append(f"epsilon:{limit}")
            records = _judged(goals, [found[key] for key in known])
            return [({"at": at}, record) for at, record in zip(ats, records, strict=True)]

        total = len(goals) + self.points ** (len(goals) - 1)
        return Begun(live, batches, solve, rows, total)


Find = Callable[[], SolverResult]


def _in_order(live: Live, order: tuple[Goal, ...]) -> Find:
    """Return what optimises goals one after the other."""
    program = replace(live.program, method="lexicographic", goals=order)
    return lambda: solve_goals(program, live.setting.options, live.setting.solve)


def _at_limits(
    live: Live, scale: "np.ndarray[tuple[int], np.dtype[np.float64]]"
) -> Callable[[list[float]], Find]:
    """Return what finds the first goal's best at limits, then the others' at no loss to it."""
    program, options = live.program, live.setting.options
    first, *others = goals = program.goals
    one = _with_rows(only(program, first), others)
    two = _with_rows(replace(only(program, first), sense="minimize", offset=0.0), goals)
    weights = [0.0, *scale[1:].tolist()]
    two.cost[:] = sum(_sign(g) * w * g.cost for g, w in zip(goals, weights, strict=True))
    warm = live.setting.spread is None and options.memory_limit_mb is None
    warm = warm and not program.is_mip and program.is_linear
    solve_one, solve_two = (
        Session(p, options).solve if warm else partial(live.setting.solve, p) for p in (one, two)
    )

    def find(limits: list[float]) -> SolverResult:
        _hold(one, others, limits)
        found: SolverResult = solve_one()
        if found.x is None:
            return found
        best = goal_values(program, found.x)[0].value
        _hold(two, goals, [best, *limits])
        better: SolverResult = solve_two()
        return better if better.x is not None else found

    return lambda limits: lambda: find(limits)


def _with_rows(program: Program, goals: Sequence[Goal]) -> Program:
    """Return a program with a last row for each goal, and changing arrays of its own."""
    for goal in goals:
        program = kept(program, goal, goal.offset)
    return replace(
        program,
        cost=program.cost.copy(),
        row_lower=program.row_lower.copy(),
        row_upper=program.row_upper.copy(),
    )


def _hold(program: Program, goals: Sequence[Goal], values: Sequence[float]) -> None:
    """Hold each goal of the last rows at least as good as a value, with a little room."""
    start = program.row_count - len(goals)
    for k, (goal, value) in enumerate(zip(goals, values, strict=True)):
        ends = program.row_upper if goal.sense == "minimize" else program.row_lower
        ends[start + k] = value + _sign(goal) * ROOM * max(1.0, abs(value)) - goal.offset


def _record(live: Live, find: Find) -> Json:
    try:
        result = find()
    except EngiagentError as error:
        return failed(error)
    if result.status == "interrupted":
        raise KeyboardInterrupt
    if result.x is None:
        return {"status": result.status, "reason": result.reason}
    values = goal_values(live.program, result.x)
    bare = replace(result, objective=values[0].value, row_dual=None, column_dual=None, farkas=None)
    record = live.record(bare, {})
    names = {v.name for v in values}
    record["values"] = {k: v for k, v in record["values"].items() if k not in names}
    record["goals"] = {v.name: v.value for v in values}
    record["goal_units"] = {v.name: v.unit for v in values}
    return {k: v for k, v in record.items() if k not in ("bound", "gap")}


def _judged(goals: Sequence[Goal], rows: Sequence[Json]) -> list[Json]:
    """Say of each point whether it is efficient: none is at least as good in all and new."""
    known = [k for k, row in enumerate(rows) if row.get("goals")]
    judged = list(rows)
    if not known:
        return judged
    values = np.array([list(rows[k]["goals"].values()) for k in known])
    values = values * np.array([_sign(goal) for goal in goals])
    largest = np.abs(values).max(axis=0)
    values = values / np.maximum(np.ptp(values, axis=0), 1e-12 + _ALIKE * largest)
    for position, k in enumerate(known):
        differences = values - values[position]
        no_worse = (differences <= _ALIKE).all(axis=1)
        better = no_worse & (differences < -_ALIKE).any(axis=1)
        again = no_worse[:position] & ~better[:position]
        judged[k] = {**rows[k], "efficient": not bool(better.any() or again.any())}
    return judged


def parse_goal(text: str) -> GoalDef:
    """Read ``NAME=min:EXPRESSION``; InputError when it is none."""
    name, _, rest = (part.strip() for part in text.partition("="))
    sense, _, expression = (part.strip() for part in rest.partition(":"))
    if not (name and expression) or sense not in ("min", "max"):
        raise InputError("this is no goal", found=repr(text), expected=_EXPECTED)
    return GoalDef(
        name=name, sense="minimize" if sense == "min" else "maximize", expression=expression
    )


def with_goals(blueprint: Blueprint, more: tuple[GoalDef, ...]) -> Blueprint:
    """Return a blueprint with the goals of its objective and further ones, as a front.

    Raises InputError when these are not two or three, or have one name.
    """
    objective = blueprint.core.objective_function or ObjectiveDef(sense="minimize")
    own = tuple(replace(g, weight=None, limit=None, tolerance=None) for g in objective.terms)
    if not own and objective.expression is not None:
        name, unit = objective.name or "objective", objective.unit
        expression = objective.expression
        own = (GoalDef(name=name, sense=objective.sense, expression=expression, unit=unit),)
    goals = (*own, *more)
    names = [goal.name for goal in goals]
    if not 2 <= len(goals) <= _MOST:
        raise InputError(
            f"a front is between two or {_MOST} goals",
            found=", ".join(names) or "none",
            expected=f"--goal {_EXPECTED}",
        )
    if len(set(names)) != len(names):
        raise InputError("two goals have one name", found=", ".join(names))
    changed = replace(
        objective, name=names[0], expression=None, unit=None, combination="frontier", terms=goals
    )
    return blueprint.with_core(objective_function=changed)


def _refuse_curved(program: Program) -> None:
    """Refuse a goal that is not linear: no row could hold it; InputError naming the goal."""
    curved = bool(np.any(program.products.rows == OBJECTIVE)) or any(
        bool(np.any(part.row_numbers() < 0)) for part in program.nonlinear
    )
    if curved:
        raise InputError(
            f"the goal {program.goals[0].name} is not linear",
            expected="goals that are linear in the variables; piecewise(...) bends one",
        )


def _sign(goal: Goal) -> float:
    """Return what makes a goal one that is minimised."""
    return 1.0 if goal.sense == "minimize" else -1.0

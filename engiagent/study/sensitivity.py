"""Sensitivity: one factor at a time to both ends of its range, and slopes from duals.

With x and the multipliers y, r of the base held fixed, the Lagrange function of the programme

.. math:: L(p) = f(x; p) + y^T (b(p) - g(x; p)) + r^T (l(p) - x)

has the slope of the best objective in p. It is exact where the objective has no kink, which two
more solves beside the base show.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np

from engiagent.blueprint.document import Blueprint, thaw
from engiagent.errors import InputError
from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.result import SolverResult
from engiagent.study.checkpoint import Checkpoint
from engiagent.study.live import Live, Setting
from engiagent.study.outcome import Begun, Row
from engiagent.study.variation import Variation, parse_factor

RANGE: Final = 0.1
STEP: Final = 1e-3
"""How far the slopes to both sides look, relative to the range of the factor."""
AGREE: Final = 1e-3
"""How much the slopes of both sides may differ, relative to the greater, and still be one."""
NOISE: Final = 1e-9
"""Of an objective, relative: what solvers leave open."""
NAMES: Final = ("parameter", "name", "factor")


def declared_factors(blueprint: Blueprint) -> tuple[tuple[Variation, ...], tuple[str, ...]]:
    """Return the factors of a blueprint's ``sensitivity_factors``, and what it cannot say of some.

    An entry names its parameter under ``parameter``, ``name`` or ``factor``, and may give ``low``
    and ``high``, with a ``unit``, or a relative ``range``, as ``0.2`` or ``"20 %"``.
    """
    extended = blueprint.extended_analysis_and_robustness
    factors, notes = [], []
    for position, entry in enumerate(extended.sensitivity_factors if extended else ()):
        given = thaw(entry)
        name = next((given[key] for key in NAMES if isinstance(given.get(key), str)), None)
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
    share = text.removesuffix("%").strip()
    try:
        width = float(share) * (0.01 if text.endswith("%") else 1.0)
    except ValueError:
        raise InputError(
            "its range is no number", found=repr(text), expected="0.2 or 20 %"
        ) from None
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


@dataclass(frozen=True)
class Sensitivity:
    """A programme with each factor at both ends of its range, all others as they stand."""

    # None for those that the blueprint declares, or else every parameter
    factors: tuple[Variation, ...] = ()
    width: float = RANGE  # relative range of factors that give no ends of their own
    kind: ClassVar[str] = "sensitivity"

    def to_json(self) -> dict[str, Any]:
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
        return Begun(live, partial(_rows, live, ends), 1 + 3 * len(ends), notes)


def _rows(live: Live, ends: Sequence[Variation], kept: Checkpoint) -> Iterator[Row]:
    if kept.get("base") is None:
        kept.put("base", live.found({}))
    yield {"factor": "base", "end": "base", "value": ""}, kept.get("base")
    for v in ends:
        keys = [f"{v.name}/{end}" for end in ("low", "high", "slope")]
        kept.chain(keys, partial(_factor, live, v))
        unit = live.unit_of(v)
        values = (*(f"{x:.10g} {unit}" for x in v.values), "")
        for key, value in zip(keys, values, strict=True):
            yield {"factor": v.name, "end": key.rpartition("/")[2], "value": value}, kept.get(key)


def _factor(live: Live, v: Variation) -> Callable[[str], dict[str, Any]]:
    """Return what finds both ends and the slope of a factor, beginning at the base every time."""
    low, high = (live.moved(v, x) for x in v.values)
    live.restart()
    base = None
    if live.in_place and not live.program.is_mip:
        live.move({})
        base = live.solve()
    per = (v.values[1] - v.values[0], live.unit_of(v))

    def find(key: str) -> dict[str, Any]:
        if key.endswith("/slope"):
            return _slope(live, v.name, base, high - low, per)
        return live.found({v.name: low if key.endswith("/low") else high})

    return find


def _slope(
    live: Live, name: str, base: SolverResult | None, span: Floats, per: tuple[float, str]
) -> dict[str, Any]:
    """Return the slope of the objective at the base: that of the duals, and those to both sides."""
    if base is None or base.objective is None or base.row_dual is None or base.column_dual is None:
        return {"status": "optimal", "reason": "no slope: there are no duals of the base"}
    middle, step = live.numbers[name].values, STEP * span
    width = STEP * per[0]
    lagrange, best = [], []
    for side in (-1.0, 1.0):
        live.move({name: middle + side * step})
        lagrange.append(_lagrange(live.program, base))
        found = live.solve()
        best.append(found.objective if found.status == "optimal" else None)
    live.move({})
    unit = f"{live.program.objective_unit}/({per[1]})"
    values = {"slope": (lagrange[1] - lagrange[0]) / (2 * width)}
    sides = {"slope below": best[0], "slope above": best[1]}
    for sign, (label, objective) in zip((-1.0, 1.0), sides.items(), strict=True):
        if objective is not None:
            values[label] = sign * (objective - base.objective) / width
    units = dict.fromkeys(values, unit)
    noise = NOISE * max(1.0, abs(base.objective)) / abs(width)
    return {"status": "optimal", "reason": _said(values, noise), "values": values, "units": units}


def _said(values: Mapping[str, float], noise: float) -> str:
    """Return whether the slope is the same to both sides, but for what solvers leave open."""
    if len(values) < 3:
        return "the slope of the duals; to one side there is no plan"
    own, below, above = values.values()
    room = AGREE * max(abs(below), abs(above)) + noise
    if abs(below - above) <= room and abs(own - below) <= room:
        return "exact: duals and solves to both sides agree"
    return "at a kink: the slopes to both sides differ, and the duals have one between them"


def _lagrange(program: Program, base: SolverResult) -> float:
    """Return the Lagrange function at the base's plan and multipliers, for the arrays of now."""
    assert base.x is not None
    assert base.row_dual is not None
    assert base.column_dual is not None
    x = base.x
    activity = program.activity_at(x)
    rows = _nearest(activity, program.row_lower, program.row_upper) - activity
    columns = _nearest(x, program.column_lower, program.column_upper) - x
    total = program.objective_at(x)
    for dual, slack in ((base.row_dual, rows), (base.column_dual, columns)):
        used = np.abs(dual) > 1e-12
        total += float(dual[used] @ slack[used])
    return total


def _nearest(values: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return of two limits the one that is nearer."""
    return np.where(np.abs(values - lower) <= np.abs(upper - values), lower, upper)

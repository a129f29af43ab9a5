"""The base of a blueprint, the cases of its report, and the sweeps of its report, side by side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic
from engiagent.blueprint.document import Blueprint, ReportDef, SweepDef, thaw
from engiagent.blueprint.reporting import BASE, case_of
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.expansion import expand
from engiagent.formulations.values import Floats
from engiagent.study.checkpoint import Checkpoint
from engiagent.study.live import Json, Live, Setting, failed, solve_all
from engiagent.study.outcome import Begun, Row
from engiagent.study.places import numbers_at
from engiagent.units.unit import conversion, parse_unit

PATH: Final = "core_model_elements.report"
DUALS: Final = (
    "a dual is the change of the objective, in its own sense, for one more unit of the "
    "constraint's right-hand side; integer variables are held fixed"
)


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

        def rows(stored: Checkpoint) -> Iterator[Row]:
            for name, variant in {BASE: blueprint, **variants}.items():
                key = f"case:{name}"
                if stored.get(key) is None:
                    stored.put(key, _case(base, name, variant, self.points))
                yield from _rows({"case": name}, stored.get(key))
            for sweep in report.sweeps:
                yield from _swept(base, blueprint, sweep, self.points, stored)

        total = 1 + len(variants) + sum(len(sweep.values) for sweep in report.sweeps)
        notes = (DUALS,) if report.duals else ()
        return Begun(base, rows, total, notes, (blueprint, *variants.values()))


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
        path = f"{PATH}.cases[{position}].patch"
        errors += [
            Diagnostic("EB036", "error", path, f"the patched blueprint is wrong: {t}", name=name)
            for t in texts
        ]
    if errors:
        raise BlueprintError(errors)


def _case(base: Live, name: str, variant: Blueprint, points: int) -> list[Json]:
    if name == BASE:
        return base.front({}, points)
    try:
        live = Live(variant, (), base.setting, requests=base.requests)
    except EngiagentError as error:
        return [failed(error)]
    return live.front({}, points)


def _swept(
    base: Live, blueprint: Blueprint, sweep: SweepDef, points: int, kept: Checkpoint
) -> Iterator[Row]:
    """Yield the rows of a sweep, each solve warm from the last where that is possible."""
    live = Live(blueprint, [sweep.parameter], base.setting, requests=base.requests)
    keys = [f"sweep:{sweep.name}:{k}" for k in range(len(sweep.values))]
    moved = [{sweep.parameter: _numbers(live, sweep, value)} for value in sweep.values]
    solve_all(live, dict(zip(keys, moved, strict=True)), kept, lambda new: live.front(new, points))
    unit = sweep.unit or live.places[sweep.parameter].unit
    for key, value in zip(keys, sweep.values, strict=True):
        at = {"case": BASE, "sweep": sweep.name, "value": thaw(value), "unit": unit}
        yield from _rows(at, kept.get(key))


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
    return numbers_at(changed, live.setting.folder, place).values * scale + shift


def _rows(at: Json, records: Sequence[Json]) -> Iterator[Row]:
    for number, record in enumerate(records):
        yield ({**at, "front": number} if len(records) > 1 else at), record

"""The base of a blueprint, the cases of its report, and the sweeps of its report, side by side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic
from engiagent.blueprint.document import Blueprint, ReportDef, SweepDef, thaw
from engiagent.blueprint.reporting import BASE, case_of
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.expansion import expand
from engiagent.formulations.values import Floats
from engiagent.study.checkpoint import Checkpoint, OnPoint
from engiagent.study.live import Json, Live, Setting, failed, solve_all
from engiagent.study.outcome import Row, Study, studied
from engiagent.study.places import numbers_at
from engiagent.units.unit import conversion, parse_unit

PATH: Final = "core_model_elements.report"
DUALS: Final = (
    "a dual is the change of the objective, in its own sense, for one more unit of the "
    "constraint's right-hand side; with whole numbers in the model they are held fixed"
)


def run_cases(
    blueprint: Blueprint,
    setting: Setting | None = None,
    out: Path | None = None,
    *,
    points: int = 11,
    show: Sequence[str] = (),
    force: bool = False,
    on_point: OnPoint | None = None,
) -> Study:
    """Solve a blueprint, its cases and its sweeps, and return all of them in order.

    A row's ``at`` has the ``case`` (``base``, or its name) and, for a sweep, ``sweep``, ``value``
    and ``unit``; on a front between several goals also ``front``, the number of the point.

    Parameters
    ----------
    points
        How many points of a front between two goals.
    out, show, force, on_point
        As for :func:`engiagent.study.sweep.run_sweep`.

    Raises
    ------
    BlueprintError
        When the blueprint, or that of a case, is wrong; nothing has been solved then.
    EngiagentError
        When data is missing, or it is a blueprint of definitions.
    """
    setting = setting or Setting()
    if points < 2:
        raise InputError("a front needs at least two points", found=str(points))
    report = blueprint.core.report or ReportDef()
    variants = {case.name: case_of(blueprint, k) for k, case in enumerate(report.cases)}
    if blueprint.kind != "definitions":
        _refuse_wrong(blueprint, variants, setting.folder)
    base = Live(blueprint, (), setting, show)

    def rows(kept: Checkpoint) -> Iterator[Row]:
        for name, variant in {BASE: blueprint, **variants}.items():
            key = f"case:{name}"
            if kept.get(key) is None:
                kept.put(key, _case(base, name, variant, points))
            yield from _rows({"case": name}, kept.get(key))
        for sweep in report.sweeps:
            yield from _swept(base, blueprint, sweep, points, kept)

    found = studied(
        "cases",
        base,
        {"blueprint": blueprint.sha256, "points": points, "show": list(show)},
        rows,
        out,
        force=force,
        on_point=on_point,
        total=1 + len(variants) + sum(len(sweep.values) for sweep in report.sweeps),
        read=tuple(variants.values()),
    )
    notes = (*found.notes, *_absent(found.rows), *((DUALS,) if report.duals else ()))
    return replace(found, notes=notes)


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


def _absent(rows: Sequence[Json]) -> Iterator[str]:
    absent = {row["at"]["case"]: row["absent"] for row in rows if row.get("absent")}
    for case, names in absent.items():
        yield f"{case}: there is no {', '.join(names)}"

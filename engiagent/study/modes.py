"""What a study may ask: the cases of a report, a sweep over a grid, or each factor at both ends."""

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
from engiagent.study.live import Json, Live, Setting, Variation, failed, parse_factor, points_of
from engiagent.study.outcome import Begun, Checkpoint, Row
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

        def solved(variant: Blueprint) -> list[Json]:
            try:
                live = base if variant is blueprint else Live(variant, (), setting, base.requests)
            except EngiagentError as error:
                return [failed(error)]
            return live.front({}, self.points)

        def rows(stored: Checkpoint) -> Iterator[Row]:
            for name, variant in {BASE: blueprint, **variants}.items():
                yield from _numbered({"case": name}, stored.found(f"case:{name}", solved, variant))
            for sweep in report.sweeps:
                yield from self._swept(base, blueprint, sweep, stored)

        total = 1 + len(variants) + sum(len(sweep.values) for sweep in report.sweeps)
        notes = (_DUALS,) if report.duals else ()
        return Begun(base, rows, total, notes, (blueprint, *variants.values()))

    def _swept(
        self, base: Live, blueprint: Blueprint, sweep: SweepDef, stored: Checkpoint
    ) -> Iterator[Row]:
        """Yield the rows of a sweep, each solve warm from the last where that is possible."""
        live = Live(blueprint, [sweep.parameter], base.setting, base.requests)
        unit = sweep.unit or live.places[sweep.parameter].unit
        for k, value in enumerate(sweep.values):
            new = {sweep.parameter: _numbers(live, sweep, unit, value)}
            key = f"sweep:{sweep.name}:{k}"
            found = stored.found(key, live.front, new, self.points)
            at = {"case": BASE, "sweep": sweep.name, "value": thaw(value), "unit": unit}
            yield from _numbered(at, found)


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


def _numbers(live: Live, sweep: SweepDef, unit: str, value: Any) -> Floats:
    """Return the numbers that a value of a sweep stands for, in the parameter's own unit."""
    place, core = live.places[sweep.parameter], live.blueprint.core
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
        moved = [
            {v.name: live.moved(v, x) for v, x in zip(self.variations, point, strict=True)}
            for point in points
        ]

        def rows(stored: Checkpoint) -> Iterator[Row]:
            for k, point in enumerate(points):
                yield (
                    dict(zip(heads, point, strict=True)),
                    stored.found(str(k), live.found, moved[k]),
                )

        return Begun(live, rows, len(points))


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

        def rows(stored: Checkpoint) -> Iterator[Row]:
            yield (
                {"factor": "base", "end": "base", "value": ""},
                stored.found("base", live.found, {}),
            )
            for v in ends:
                for end, x in zip(("low", "high"), v.values, strict=True):
                    at = {"factor": v.name, "end": end, "value": f"{x:.10g} {live.unit_of(v)}"}
                    new = {v.name: live.moved(v, x)}
                    yield at, stored.found(f"{v.name}/{end}", live.found, new)

        return Begun(live, rows, 1 + 2 * len(ends), notes)


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

"""What may turn out another way than a plan supposes: the option ``--disturb``.

A list with commas: series with their noise, and how often they are drawn, as in
``load.power=5%, outdoor=0.5 K, runs=200, seed=1, correlation=0.8``.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from engiagent.blueprint.grammar import Compare, names_in, tree_of, walk
from engiagent.errors import EngiagentError, InputError
from engiagent.models.recursion import linear_recursion
from engiagent.slots import COMPONENTS
from engiagent.units.unit import Unit, UnitError, parse_unit
from engiagent.verify import values
from engiagent.verify.case import Case, declared_units
from engiagent.verify.certificate import Certificate
from engiagent.verify.documents import Bench
from engiagent.verify.findings import finite_or_none
from engiagent.verify.frames import Symbol
from engiagent.verify.levels.algebra import check_rules, rules_of_core
from engiagent.verify.levels.execution import Plant, grid_series, recomputed_series
from engiagent.verify.levels.physics import (
    LEVEL,
    Findings,
    check_excess,
    check_limits,
    check_states,
)
from engiagent.verify.levels.repeated import joined
from engiagent.verify.plants.run import Run
from engiagent.verify.requirements import Rule
from engiagent.verify.series import Series
from engiagent.verify.values import Floats

WHERE: Final = "--disturb"
RUNS: Final = 100
MOST_RUNS: Final = 100_000
SETTINGS: Final = {
    "runs": (1, MOST_RUNS, True),
    "seed": (0, 2**53 - 1, True),
    "correlation": (0, math.nextafter(1, 0), False),
}
"""Least, greatest, and whether it is a whole number."""
_AMOUNT: Final = re.compile(r"((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*\[?\s*([^\]]*?)\s*\]?")
EXPECTED: Final = "as load.power=5%, outdoor=0.5 K, runs=200, seed=1"


@dataclass(frozen=True)
class Disturbance:
    """Noise on a series."""

    target: str  # a parameter of a declared unit, ``load.power``, or of the document, ``outdoor``
    # standard deviation: a share of the value when ``relative``, else in ``unit``, or in the
    # series' own unit where that is None
    deviation: float
    relative: bool
    unit: Unit | None = None


@dataclass(frozen=True)
class Disturbances:
    """What is disturbed and how it is drawn."""

    items: tuple[Disturbance, ...]
    runs: int
    seed: int
    correlation: float  # of the noise of one period with that of the period before, 0 to below 1
    text: str  # as it was asked for


def parse_disturbances(text: str) -> Disturbances:
    """Read what is to be disturbed; InputError saying which part cannot be read.

    >>> found = parse_disturbances("load.power=5%, runs=20, seed=3")
    >>> found.items[0].deviation, found.runs, found.seed
    (0.05, 20, 3)
    """
    items: dict[str, Disturbance] = {}
    settings = {"runs": float(RUNS), "seed": 0.0, "correlation": 0.0}
    for part in (piece.strip() for piece in text.split(",")):
        name, _, amount = (word.strip() for word in part.partition("="))
        if not (name and amount):
            raise InputError("no disturbance", WHERE, found=repr(part), expected=EXPECTED)
        if name in items:
            raise InputError("a series is disturbed twice", WHERE, found=repr(name))
        if name in SETTINGS:
            settings[name] = _setting(name, amount)
        else:
            items[name] = _disturbance(name, amount)
    if not items:
        raise InputError("nothing is disturbed", WHERE, found=repr(text), expected=EXPECTED)
    runs, seed = int(settings["runs"]), int(settings["seed"])
    return Disturbances(tuple(items.values()), runs, seed, settings["correlation"], text)


def _setting(name: str, amount: str) -> float:
    least, most, whole = SETTINGS[name]
    try:
        value = float(amount)
    except ValueError:
        value = math.nan
    if not least <= value <= most or (whole and value != round(value)):
        kind = "a whole number" if whole else "a number"
        expected = f"{kind} from {least} to {most:g}"
        raise InputError(f"cannot read {name}", WHERE, found=repr(amount), expected=expected)
    return value


def _disturbance(name: str, amount: str) -> Disturbance:
    match = _AMOUNT.fullmatch(amount)
    relative = match is not None and match[2] == "%"
    try:
        number = float(match[1]) if match is not None else math.nan
        unit = None if match is None or relative or not match[2] else parse_unit(match[2])
    except (ValueError, UnitError):
        number, unit = math.nan, None
    if not (math.isfinite(number) and number > 0):
        what, expected = f"cannot read the noise of {name}", "a number above 0 with % or a unit"
        raise InputError(what, WHERE, found=repr(amount), expected=f"{expected}, as 5% or 0.5 K")
    return Disturbance(name, number / 100 if relative else number, relative, unit)


Mapped = Callable[[Callable[[Any, Any], Any], Any, Iterable[Any]], Iterable[Any]]
"""Gives a function of something shared and a task for every task, in the order of the tasks."""


def one_by_one(
    function: Callable[[Any, Any], Any], shared: Any, tasks: Iterable[Any]
) -> Iterator[Any]:
    """Yield what a function gives for every task."""
    return (function(shared, task) for task in tasks)


def with_disturbances(
    certificate: Certificate, case: Case, wanted: Disturbances, mapped: Mapped = one_by_one
) -> Certificate:
    """Return a certificate with the outcome of runs with disturbances at its physics level.

    ``mapped``: makes the runs. Raises InputError when a series that is to be disturbed does not
    exist, or no unit is declared.
    """
    units, _ = declared_units(case.blueprint, case.requirements, case.problem.folder)
    by_text = case.requirements is not None and bool(case.requirements.dynamics)
    bench = case.bench(by_text)
    if not units or bench is None or not case.series:
        raise InputError("there is no plan with declared units that could be disturbed", WHERE)
    rules: Sequence[Rule] = rules_of_core(bench.declarations.core)
    if by_text and case.requirements is not None:
        rules = case.requirements.requirements
    found = disturbed(Plant(bench, units), rules, wanted, mapped)
    bench.forget()
    physics = {**certificate.levels.get("physics", {"status": "unchecked"}), "disturbance": found}
    return replace(certificate, levels={**certificate.levels, "physics": physics})


def disturbances_of(certificate: Mapping[str, Any]) -> Disturbances | None:
    """Return what a certificate was disturbed by, None when it was not."""
    section = certificate.get("levels", {}).get("physics", {}).get("disturbance")
    spec = section.get("spec") if isinstance(section, Mapping) else None
    return parse_disturbances(spec) if isinstance(spec, str) else None


# --- runs with disturbances: decisions are kept, states and grids react, limits are counted -----


SHOWN = 1000
"""Limits that the certificate lists at most, those that are broken most often first."""


def disturbed(
    plant: Plant, rules: Sequence[Rule], wanted: Disturbances, mapped: Mapped = one_by_one
) -> dict[str, Any]:
    """Return in which share of the runs all limits hold, and how each limit fares."""
    tally: dict[str, dict[str, Any]] = {}
    held = 0
    notes: list[str] = []
    for records, unchecked in mapped(_run, (plant, rules), _draws(plant, wanted)):
        held += _count(tally, records)
        notes = unchecked
    ordered = sorted(tally.values(), key=lambda item: (-item["broken"], item["id"]))
    for item in ordered:
        item["broken"] = item["broken"] / wanted.runs
    return {
        "spec": wanted.text,
        "runs": wanted.runs,
        "seed": wanted.seed,
        "correlation": wanted.correlation,
        "held": held / wanted.runs,
        "limits": ordered[:SHOWN],
        "notes": notes,
    }


Draw = tuple[dict[tuple[str, str], Floats], dict[str, Symbol]]
"""What is added to series of units, and parameters of the document as they turn out."""


def _draws(plant: Plant, wanted: Disturbances) -> Iterator[Draw]:
    generator = np.random.default_rng(wanted.seed)
    targets = [_Target.of(plant, item) for item in wanted.items]
    for _ in range(wanted.runs):
        noise: dict[tuple[str, str], Floats] = {}
        symbols: dict[str, Symbol] = {}
        for target in targets:
            drawn = target.draw(generator, wanted.correlation)
            if isinstance(target.place, tuple):
                noise[target.place] = drawn
            else:
                symbols[target.place] = target.moved(drawn)
        yield noise, symbols


def _run(
    shared: tuple[Plant, Sequence[Rule]], drawn: Draw
) -> tuple[list[dict[str, Any]], list[str]]:
    (plant, rules), (noise, symbols) = shared, drawn
    declarations = plant.bench.declarations.with_parameters(symbols)
    bench = Bench(declarations, plant.bench.series)
    site = Plant(bench, plant.units, noise=noise)
    runs, findings = list(site.run()), Findings()
    series = recomputed_series((item for run in runs for item in run.found), site.units)
    series |= joined(dict(grid_series(site)), site.units)  # what differs from the plan
    _judge_limits(site, runs, series, findings)
    _judge_rules(bench, rules, series, symbols, findings)
    bench.forget()
    return findings.records, site.unchecked


def _count(tally: dict[str, dict[str, Any]], records: Sequence[Mapping[str, Any]]) -> bool:
    """Add one run to the tally; return whether all limits hold in it."""
    holds = True
    for record in records:
        if record["status"] not in ("pass", "fail"):
            continue
        worst = record["worst"] or {}
        slack = worst.get("slack")
        excess = worst.get("excess") if slack is None else -slack
        fresh = {"id": record["id"], "name": record["name"], "unit": worst.get("unit")}
        fresh |= {"broken": 0, "worst": None, "where": {}}
        item = tally.setdefault(record["id"], fresh)
        if record["status"] == "fail":
            item["broken"] += 1
            holds = False
        if excess is not None and (item["worst"] is None or excess > item["worst"]):
            item |= {"worst": finite_or_none(excess), "where": dict(worst.get("where") or {})}
    return holds


@dataclass(frozen=True)
class _Target:
    """A series with the standard deviation of its noise.

    ``place``: a unit and its parameter, or a parameter of the document, which is ``symbol`` then.
    ``steady``: whether it is off by one amount all the time.
    """

    place: tuple[str, str] | str
    base: Floats
    deviation: Floats
    symbol: Symbol | None = None
    steady: bool = False

    @classmethod
    def of(cls, plant: Plant, item: Disturbance) -> "_Target":
        """Return the target of a disturbance: a parameter of the document, or of a unit."""
        owner, _, slot = item.target.rpartition(".")
        unit = next((u for u in plant.units if u.name == owner), None)
        if (
            unit is not None
            and unit.model in COMPONENTS
            and slot in COMPONENTS[unit.model].executed_slots
        ):
            written = unit.parameters.get(slot)
            if isinstance(written, str) and written.isidentifier():
                return cls._parameter(plant, item, written)
            try:
                base = plant.of(unit).series(slot)
            except EngiagentError as error:
                raise InputError(f"{item.target} is not there: {error}", WHERE) from None
            known = COMPONENTS[unit.model].executed_slots[slot]
            noise = _scaled(item, base, parse_unit(known.unit), si=False)
            # What stays over time is off by the same all the time.
            return cls((owner, slot), base, noise, steady=known.kind == "number")
        return cls._parameter(plant, item, item.target)

    @classmethod
    def _parameter(cls, plant: Plant, item: Disturbance, name: str) -> "_Target":
        try:
            symbol = plant.bench.declarations.parameter(name)
        except EngiagentError as error:
            raise InputError(f"{item.target} is not there: {error}", WHERE) from None
        if symbol is None or symbol.value is None:
            known = [f"{u.name}.{s}" for u in plant.units for s in u.parameters]
            known += [p.name for p in plant.bench.declarations.core.parameters]
            what, expected = "nothing of that name can be disturbed", f"one of {', '.join(known)}"
            raise InputError(what, WHERE, found=repr(item.target), expected=expected)
        base = symbol.value.data
        return cls(name, base, _scaled(item, base, symbol.value.unit, si=True), symbol)

    def draw(self, generator: np.random.Generator, correlation: float) -> Floats:
        """Return what is added to the series in one run."""
        drawn = generator.standard_normal(1 if self.steady else self.base.size)
        if correlation > 0 and drawn.size > 1:
            steady = np.full(drawn.size - 1, correlation)
            fresh = np.sqrt(1.0 - correlation**2) * drawn[1:]
            drawn = linear_recursion(steady, fresh, float(drawn[0]))
        added = self.deviation * drawn
        point = self.symbol and self.symbol.value and self.symbol.value.unit.is_point
        positive = bool((self.base >= 0).all()) and not point
        return np.maximum(added, -self.base) if positive else added

    def moved(self, added: Floats) -> Symbol:
        """Return the parameter as it turned out."""
        assert self.symbol is not None
        assert self.symbol.value is not None
        unit = self.symbol.value.unit
        data = self.base + added
        fresh = replace(values.constant(np.zeros_like(data), unit), data=data, sizes=np.abs(data))
        return replace(self.symbol, value=fresh)


def _scaled(item: Disturbance, base: Floats, unit: Unit, *, si: bool) -> Floats:
    """Return the standard deviation of a series in its unit, or in SI."""
    if item.relative and unit.is_point:
        raise InputError(
            f"a share of a temperature means nothing: {item.target}", WHERE, expected="as 0.5 K"
        )
    if item.relative:
        return np.abs(base) * item.deviation
    own = unit.difference()
    given = own if item.unit is None else item.unit.difference()
    if given.dimension != own.dimension:
        what = f"the noise of {item.target} measures something else"
        raise InputError(what, WHERE, found=str(given), expected=str(own))
    factor = given.scale / (1.0 if si else own.scale)
    return np.full(base.shape, item.deviation * factor)


# --- what reacts ----------------------------------------------------------------------------------


def _judge_limits(
    plant: Plant, runs: Sequence[Run], series: dict[str, Series], findings: Findings
) -> None:
    """Hold units that have reacted against their own limits, whatever the plan says of states."""
    for run in runs:
        for trajectory in run.trajectories:
            check_states(replace(trajectory, claimed=None, defect=None), findings)
        for excess in run.excesses:
            check_excess(plant.bench, excess, findings)
    bench = Bench(plant.bench.declarations, {**plant.bench.series, **series})
    after = Plant(bench, plant.units, noise=plant.noise)
    for unit in plant.units:
        if unit.model in COMPONENTS:
            try:
                check_limits(after if unit.model == "grid" else plant, unit, findings)
            except EngiagentError:
                continue  # said of the plan itself
    bench.forget()


def _judge_rules(
    bench: Bench,
    rules: Sequence[Rule],
    series: dict[str, Series],
    changed: Collection[str],
    findings: Findings,
) -> None:
    """Judge the limits among the rules that speak of what has changed.

    ``bench``: of the plan, with the parameters as they turned out. ``series``: what reacted, by
    quantity. ``changed``: parameters that turned out another way.
    """
    core, known, moved = bench.declarations.core, {**bench.series, **series}, {*series, *changed}
    for definition in core.decision_variables:
        if definition.quantity in series:
            known[definition.name] = series[definition.quantity]
            moved.add(definition.name)
    moved |= {e.name for e in core.expressions if names_in(e.expression) & moved}
    chosen = [
        rule
        for rule in rules
        if rule.hard and names_in(rule.expression) & moved and not _has_equation(rule.expression)
    ]
    other = Bench(bench.declarations, known)
    findings.add(check_rules(other, chosen, LEVEL))
    other.forget()


def _has_equation(text: str) -> bool:
    """Whether a rule says how things hang together, and is no limit."""
    tree = tree_of(text)
    return tree is not None and any(isinstance(n, Compare) and "==" in n.ops for n in walk(tree))

"""Runs with disturbances: decisions are kept, states and grids react, limits are counted.

States and results follow by physics. What then lacks or is left over on a bus with one grid is
taken from it or given to it.

They tell how much a plan can bear and are no part of the verdict. The same text gives the same
numbers on every machine: noise comes from numpy's PCG64 with the seed that is asked for.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engiagent.blueprint.grammar import Compare, names_in, tree_of, walk
from engiagent.errors import EngiagentError, InputError
from engiagent.models.recursion import linear_recursion
from engiagent.slots import COMPONENTS
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify import values
from engiagent.verify.disturbances import WHERE, Disturbance, Disturbances
from engiagent.verify.documents import Bench
from engiagent.verify.findings import finite_or_none
from engiagent.verify.frames import Symbol
from engiagent.verify.levels.algebra import Rule, check_rules
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
from engiagent.verify.series import Series
from engiagent.verify.values import Floats

SHOWN = 1000
"""Limits that the certificate lists at most, those that are broken most often first."""


def disturbed(plant: Plant, rules: Sequence[Rule], wanted: Disturbances) -> dict[str, Any]:
    """Return in which share of the runs all limits hold, and how each limit fares."""
    generator = np.random.default_rng(wanted.seed)
    targets = [_Target.of(plant, item) for item in wanted.items]
    tally: dict[str, dict[str, Any]] = {}
    held = 0
    for _ in range(wanted.runs):
        noise: dict[tuple[str, str], Floats] = {}
        symbols: dict[str, Symbol] = {}
        for target in targets:
            drawn = target.draw(generator, wanted.correlation)
            if isinstance(target.place, tuple):
                noise[target.place] = drawn
            else:
                symbols[target.place] = target.moved(drawn)
        records, notes = _run(plant, rules, noise, symbols)
        held += _count(tally, records)
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


def _run(
    plant: Plant,
    rules: Sequence[Rule],
    noise: Mapping[tuple[str, str], Floats],
    symbols: Mapping[str, Symbol],
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the outcome of every limit in one run, and what could not be run."""
    declarations = plant.bench.declarations.with_parameters(symbols)
    bench = Bench(declarations, plant.bench.series)
    site = Plant(bench, plant.units, noise=noise)
    runs, findings = list(site.run()), Findings()
    series = _reacted(site, runs)
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
        item = tally.setdefault(
            record["id"],
            {
                "id": record["id"],
                "name": record["name"],
                "unit": worst.get("unit"),
                "broken": 0,
                "worst": None,
                "where": {},
            },
        )
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
            raise InputError(
                "nothing of that name can be disturbed",
                WHERE,
                found=repr(item.target),
                expected=f"one of {', '.join(known)}",
            )
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
        raise InputError(
            f"the noise of {item.target} measures something else",
            WHERE,
            found=str(given),
            expected=str(own),
        )
    factor = given.scale / (1.0 if si else own.scale)
    return np.full(base.shape, item.deviation * factor)


# --- what reacts ----------------------------------------------------------------------------------


def _reacted(plant: Plant, runs: Sequence[Run]) -> dict[str, Series]:
    """Return by quantity what differs from the plan: states, results, imports and exports."""
    found = recomputed_series((item for run in runs for item in run.found), plant.units)
    return found | joined(dict(grid_series(plant)), plant.units)


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
    chosen = [r for r in rules if r.hard and _limits(r) and names_in(r.expression) & moved]
    other = Bench(bench.declarations, known)
    findings.add(check_rules(other, chosen, LEVEL))
    other.forget()


def _limits(rule: Rule) -> bool:
    """Whether a rule is a limit: an equation says how things hang together."""
    tree = tree_of(rule.expression)
    nodes = () if tree is None else walk(tree)
    return not any(isinstance(n, Compare) and "==" in n.ops for n in nodes)

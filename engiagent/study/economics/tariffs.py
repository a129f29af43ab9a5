r"""A tariff in a blueprint: its charges as parameters, variables, rows and one expression of cost.

Energy :math:`E_g = \sum_{t \in g} P_t \Delta t` of a billing month (or day) and period fills tiers

.. math:: E_g = \sum_k e_{g,k}, \qquad 0 \le e_{g,k} \le w_{g,k}, \qquad
    \text{cost} = \sum_{g,k} p_{g,k} e_{g,k},

in their order by itself while prices rise; where one falls, a binary says that the tier below is
full. Demand of a month and period is the highest mean of its windows,

.. math:: D_d \ge \frac{1}{n} \sum_{t \in \text{window}} P_t, \qquad
    B_d \ge D_d, \qquad B_d \ge f_{d,d'} D_{d'},

with the fractions :math:`f` of a ratchet, and fills tiers of its own. Everything is written in the
blueprint language, so that whatever takes a blueprint takes its tariff. It is exact where the cost
is minimised; :func:`engiagent.models.tariffs.bill` computes the same bill from the schedule.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import (
    ConstraintDef,
    ExpressionDef,
    FrozenMap,
    Json,
    ObjectiveDef,
    ParameterDef,
    SetDef,
    VariableDef,
)
from engiagent.errors import InputError
from engiagent.formulations.expansion import expand
from engiagent.io.files import open_inside
from engiagent.io.jsontext import loads_strict
from engiagent.models.ranges import ParameterError
from engiagent.models.tariffs import (
    BillHistory,
    DemandCharge,
    EnergyCharge,
    MeterTimes,
    NetBilling,
    PriceSeries,
    Tariff,
    bill,
    from_urdb,
)
from engiagent.models.tariffs.bill import Metered, demand_tiers, measure, ratchet_floor, tier_limits
from engiagent.study.economics.cashflow import Floats

SOURCE: Json = FrozenMap({"kind": "user", "note": "of the tariff"})


@dataclass
class TariffParts:
    """The parts of one tariff; :meth:`write` makes them.

    ``limit`` is the most that is imported in period ``t``, as an expression, where it is known.
    """

    tariff: Tariff
    times: MeterTimes
    imported: str
    exported: str | None
    time: str
    name: str
    history: BillHistory
    limit: str | None = None
    sets: list[SetDef] = field(default_factory=list)
    parameters: list[ParameterDef] = field(default_factory=list)
    variables: list[VariableDef] = field(default_factory=list)
    constraints: list[ConstraintDef] = field(default_factory=list)
    costs: list[str] = field(default_factory=list)

    def write(self) -> None:
        """Make all parts; InputError when a charge has no exact form here."""
        tariff = self.tariff
        self._refuse()
        nothing = np.zeros(self.times.count)
        metered = measure(tariff, self.times, nothing, nothing)
        fixed = replace(tariff, energy=(), demand=(), export=None, taxes=())
        due = bill(fixed, self.times, nothing)
        for charge in tariff.fixed:
            self._constant(charge.name, due.of(charge.name) * self._taxed(charge.name))
        flat = np.zeros(self.times.count)
        for place, part in enumerate(tariff.energy):
            if isinstance(part, PriceSeries) or all(len(tiers) == 1 for tiers in part.periods):
                alone = Tariff(energy=(part,), currency=tariff.currency)
                flat += self._taxed(part.name) * alone.import_prices(self.times)
            else:
                self._energy(part, metered, f"{self.name}_energy{place + 1}")
        if tariff.energy:
            self._priced(f"{self.name}_price", flat, self.imported, "+")
        if isinstance(tariff.export, NetBilling) and self.exported is not None:
            self._priced(
                f"{self.name}_credit", tariff.export_prices(self.times), self.exported, "-"
            )
        for place, demand in enumerate(tariff.demand):
            self._demand(demand, metered, f"{self.name}_demand{place + 1}")

    def _refuse(self) -> None:
        """Refuse what has no exact form here."""
        tariff, export = self.tariff, self.tariff.export
        faults = {
            "net metering": export is not None and not isinstance(export, NetBilling),
            "export that is netted": isinstance(export, NetBilling)
            and export.netting_hours is not None,
            "minimum bills": max(tariff.minimum_per_month, tariff.minimum_per_year) > -np.inf,
        }
        for what, is_there in faults.items():
            if is_there:
                raise InputError(f"{what} cannot be planned with yet; bill the schedule with them")
        if isinstance(export, NetBilling) and self.exported is None:
            raise InputError("the tariff pays for export; name the variable that is 'exported'")
        for tax in tariff.taxes:
            if tax.on is None and export is not None:
                text = f"the tax {tax.name!r} is on credits too; name the charges that it is on"
                raise InputError(text)

    def _taxed(self, charge: str) -> float:
        """Return what a charge costs with its taxes, for one of it."""
        taxes = self.tariff.taxes
        return 1.0 + sum(tax.rate for tax in taxes if tax.on is None or charge in tax.on)

    # -- parts ------------------------------------------------------------------------------------

    def _constant(self, what: str, value: float) -> None:
        plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in what)
        name = f"{self.name}_{plain}"
        self._parameter(name, value, self.tariff.currency, what)
        self.costs.append(name)

    def _priced(self, name: str, prices: Floats, power: str, sign: str) -> None:
        unit = f"{self.tariff.currency}/kWh"
        self._parameter(name, prices.tolist(), unit, "price of a tariff", self.time)
        term = f"sum({name}[t]*{power}[t]*dt(t) for t in {self.time})"
        self.costs.append(term if sign == "+" else f"(-{term})")
        if sign == "+" and self.tariff.taxes and (prices < 0).any():
            raise InputError("a price below 0 is taxed; taxes on credits have no exact form here")

    def _energy(self, charge: EnergyCharge, metered: Metered, name: str) -> None:
        period = charge.schedule.at(metered.times)
        if any(tier.unit.startswith("kWh/kW") for tiers in charge.periods for tier in tiers):
            raise InputError(f"the tiers of {charge.name!r} depend on the peak; no exact form here")
        upper, price = tier_limits(charge, metered)
        key = self._whole(metered.month * len(charge.periods) + period, metered, charge.name)
        present, place = np.unique(key, return_inverse=True)
        groups, periods = present // len(charge.periods), present % len(charge.periods)
        if charge.tiers_by != "period" and len(np.unique(groups)) < len(groups):
            text = f"the tiers of {charge.name!r} are shared by several periods"
            raise InputError(f"{text}; only tiers_by='period' has an exact form here")
        before = self.history.energy_before(charge)
        used = np.where(groups == 0, before[periods], 0.0)
        limits = np.maximum(upper[groups, periods] - used[:, None], 0.0)
        labels = [
            f"{metered.labels[g].astype('datetime64[M]')} {g} {p}"
            for g, p in zip(groups, periods, strict=True)
        ]
        self._set(f"{name}_G", labels)
        members = [labels[k] for k in place]
        kind = f"element of {name}_G"
        self._parameter(f"{name}_at", members, None, "billing group", self.time, kind)
        amount = f"sum({self.imported}[t]*dt(t) for t in {self.time} if {name}_at[t] == g)"
        most = amount.replace(f"{self.imported}[t]", f"({self.limit})") if self.limit else None
        table = (limits, price[periods])
        self._tiers(name, amount, table, "kWh", self._taxed(charge.name), most)

    def _tiers(
        self,
        name: str,
        amount: str,
        table: tuple[Floats, Floats],
        unit: str,
        factor: float,
        most: str | None,
    ) -> None:
        """Fill tiers with an amount of each element ``g`` of the set ``<name>_G``.

        ``table`` has where tiers end and their prices, shape (groups, tiers).
        """
        limits, prices = table
        below = np.concatenate((np.zeros_like(limits[:, :1]), limits[:, :-1]), axis=1)
        widths = np.where(np.isinf(below), 0.0, limits - np.where(np.isinf(below), 0.0, below))
        groups, over = f"{name}_G", f"g in {name}_G"
        open_ended, parts = np.isinf(widths), []
        # Whether no tier with room is cheaper than one below it.
        rows = zip(prices, widths, strict=True)
        rises = all((np.diff(row[room > 0]) >= 0).all() for row, room in rows)
        for k in range(widths.shape[1]):
            tier, price = f"{name}_tier{k + 1}", (factor * prices[:, k]).tolist()
            what, money = f"price of tier {k + 1}", f"{self.tariff.currency}/{unit}"
            self._parameter(f"{tier}_price", price, money, what, groups)
            self._variable(tier, over, unit, 0, most, description=f"in tier {k + 1}")
            if not open_ended[:, k].all():
                self._width(tier, widths[:, k], unit, groups)
            parts.append(tier)
            self.costs.append(f"sum({tier}_price[g]*{tier}[g] for g in {groups})")
            if k and not rises and not open_ended[:, k - 1].all():
                self._in_order(parts[-2], tier, over)
        total = " + ".join(f"{part}[g]" for part in parts)
        self._row(f"{name}_filled", f"{total} == {amount}", over)

    def _width(self, tier: str, widths: Floats, unit: str, groups: str) -> None:
        """Limit a tier where it has an end."""
        ends = np.isfinite(widths)
        plain = np.where(ends, widths, 0.0).tolist()
        self._parameter(f"{tier}_width", plain, unit, "width; 0 where it has no end", groups)
        self._parameter(f"{tier}_ends", ends.astype(int).tolist(), "1", "has an end", groups)
        text = f"{tier}[g] <= {tier}_width[g]"
        self._row(f"{tier}_limit", text, f"g in {groups}", f"{tier}_ends[g] == 1")

    def _in_order(self, lower: str, tier: str, over: str) -> None:
        """Open a tier only when the one below it is full."""
        full, where = f"{lower}_full", f"{lower}_ends[g] == 1"
        self._variable(full, over, "1", 0, 1, type="binary")
        self._row(f"{full}_means", f"{lower}[g] >= {lower}_width[g]*{full}[g]", over, where)
        self._row(f"{full}_opens", f"implies(not {full}[g], {tier}[g] <= 0)", over, where)

    def _demand(self, charge: DemandCharge, metered: Metered, name: str) -> None:
        if any(tier.price < 0 for tiers in charge.periods for tier in tiers):
            raise InputError(f"a price of {charge.name!r} is below 0; nothing would hold its peak")
        parts, count = len(charge.periods), metered.times.count // metered.parts
        period = charge.schedule.at(metered.times)[metered.demand_at]
        key = metered.month[metered.demand_at] * parts + period
        so_far = self.history.peak_so_far.get(charge.name, {})
        present = np.unique(np.concatenate([key, np.array(list(so_far), dtype=np.int64)]))
        month, at = present // parts, present % parts
        labels = [
            f"{metered.labels[m].astype('datetime64[M]')} {p}"
            for m, p in zip(month, at, strict=True)
        ]
        known = [so_far.get(int(p), 0.0) if m == 0 else 0.0 for m, p in zip(month, at, strict=True)]
        zeros = np.zeros((metered.months, parts))
        least = np.full(zeros.shape, charge.minimum_demand)
        if charge.ratchet is not None:
            earlier = np.asarray(self.history.previous_peaks.get(charge.name, []), dtype=float)
            floor = ratchet_floor(charge.ratchet, zeros, metered, earlier, charge.name)
            least = np.maximum(least, floor)
        self._set(f"{name}_G", labels)
        over = f"g in {name}_G"
        self._parameter(f"{name}_so_far", known, "kW", "peak before the horizon", f"{name}_G")
        floor = least[month, at].tolist()
        self._parameter(f"{name}_least", floor, "kW", "least billed demand", f"{name}_G")
        most = None
        if self.limit is not None:
            known_most = float(max(*known, least.max(), 0.0))
            most = f"max(max({self.limit} for t in {self.time}), {known_most!r}[kW])"
        for word, low in (("peak", f"{name}_so_far[g]"), ("billed", f"{name}_least[g]")):
            self._variable(f"{name}_{word}", over, "kW", low, most)
        self._row(f"{name}_counts", f"{name}_billed[g] >= {name}_peak[g]", over)
        place = {int(k): label for k, label in zip(present, labels, strict=True)}
        self._windows(name, metered, [place[int(k)] for k in key], count)
        if charge.ratchet is not None:
            self._ratchet(charge, metered, name, month, at, labels)
        limits, prices = (table[at] for table in demand_tiers(charge))
        factor = self._taxed(charge.name)
        self._tiers(name, f"{name}_billed[g]", (limits, prices), "kW", factor, most)

    def _windows(self, name: str, metered: Metered, labels: list[str], count: int) -> None:
        """Hold the peak of each window's group above the window's mean."""
        starts = metered.demand_at
        if np.any(starts % metered.parts):
            raise InputError("demand windows start within periods; give shorter periods")
        starts = starts // metered.parts
        if self.tariff.demand_sliding and self.tariff.demand_window_hours is not None:
            steps = round(self.tariff.demand_window_hours / self.times.step_hours)
            lengths = np.full(len(starts), min(max(steps, 1), count))
        else:
            lengths = np.diff(np.append(starts, count))
        if np.any(lengths < 1):
            raise InputError("demand windows are shorter than periods; give shorter periods")
        length_at, label_at = np.zeros(count, dtype=np.int64), [labels[0]] * count
        for start, length, label in zip(starts.tolist(), lengths.tolist(), labels, strict=True):
            length_at[start], label_at[start] = length, label
        what, kind = "periods of the demand window that starts", f"element of {name}_G"
        self._parameter(f"{name}_window", length_at.tolist(), "1", what, self.time)
        self._parameter(f"{name}_at", label_at, None, "billed with", self.time, kind)
        for length in np.unique(lengths).tolist():
            terms = [f"{self.imported}[t{f' + {k}' if k else ''}]" for k in range(length)]
            mean = terms[0] if length == 1 else f"({' + '.join(terms)})/{length}"
            row, where = f"{name}_peak[{name}_at[t]] >= {mean}", f"{name}_window[t] == {length}"
            self._row(f"{name}_window{length}", row, f"t in {self.time}", where)

    def _ratchet(
        self,
        charge: DemandCharge,
        metered: Metered,
        name: str,
        month: Any,
        at: Any,
        labels: list[str],
    ) -> None:
        """Hold billed demand above the fractions of the horizon's own peaks."""
        assert charge.ratchet is not None
        pairs, fractions = [], []
        for source, (m, p) in enumerate(zip(month, at, strict=True)):
            # The floor is a maximum of multiples of peaks: a peak of 1 kW shows its multiples.
            one = np.zeros((metered.months, len(charge.periods)))
            one[m, p] = 1.0
            floor = np.broadcast_to(
                ratchet_floor(charge.ratchet, one, metered, np.zeros(0), charge.name), one.shape
            )
            for target, (m2, p2) in enumerate(zip(month, at, strict=True)):
                if floor[m2, p2] > 0:
                    pairs.append((labels[target], labels[source]))
                    fractions.append(float(floor[m2, p2]))
        for number, fraction in enumerate(sorted(set(fractions)), 1):
            chosen = [pair for pair, f in zip(pairs, fractions, strict=True) if f == fraction]
            pair, of = f"{name}_R{number}", (f"{name}_G", f"{name}_G")
            self.sets.append(SetDef(name=pair, kind="tuples", of=of, elements=tuple(chosen)))
            self._parameter(f"{name}_fraction{number}", fraction, "1", "of an earlier peak")
            row = f"{name}_billed[a] >= {name}_fraction{number}*{name}_peak[b]"
            self._row(f"{name}_ratchet{number}", row, f"(a, b) in {pair}")

    # -- pieces -----------------------------------------------------------------------------------

    def _whole(self, values: Any, metered: Metered, charge: str) -> Any:
        """Return a value of each period; refuse one that changes within a period."""
        parts = values.reshape(-1, metered.parts)
        if np.any(parts != parts[:, :1]):
            raise InputError(f"a boundary of {charge!r} cuts a period; give shorter periods")
        return parts[:, 0]

    def _set(self, name: str, labels: Iterable[str]) -> None:
        self.sets.append(SetDef(name=name, kind="labels", elements=tuple(labels)))

    def _parameter(
        self, name: str, value: Any, unit: str | None, what: str, over: str = "", kind: str = ""
    ) -> None:
        frozen = tuple(value) if isinstance(value, list) else value
        self.parameters.append(
            ParameterDef(
                name=name,
                index=(over,) if over else (),
                value=frozen,
                unit=unit,
                description=what,
                type=kind or None,
                source_reference=SOURCE,
            )
        )

    def _variable(self, name: str, over: str, unit: str, lower: Any, upper: Any, **m: Any) -> None:
        self.variables.append(
            VariableDef(
                name=name,
                index=(over,),
                unit=unit,
                lower=lower,
                upper=upper,
                role="auxiliary",
                source_reference=SOURCE,
                **m,
            )
        )

    def _row(self, name: str, expression: str, over: str, where: str | None = None) -> None:
        self.constraints.append(
            ConstraintDef(
                constraint_id=name,
                forall=(over,),
                where=where,
                expression=expression,
                hard=True,
                category="Operational Logic",
                source_reference=SOURCE,
            )
        )


def read_urdb(path: Path | str) -> Tariff:
    """Return the tariff of a JSON file of the Utility Rate Database.

    Raises InputError when the file cannot be read or is no rate; ParameterError when it says what
    no tariff here can.
    """
    where = Path(path)
    data = open_inside(where.parent, where.name)
    try:
        rate = loads_strict(data.decode("utf-8-sig"), where.name)
    except UnicodeDecodeError:
        raise InputError("no text in UTF-8", where.name) from None
    try:
        return from_urdb(rate)
    except ParameterError as error:
        raise ParameterError(f"{where.name}: {error}") from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"this is no rate of the database: {error}", where.name) from None


def meter_times(blueprint: Blueprint, time: str, folder: Path | None = None) -> MeterTimes:
    """Return the clock of a time set as a meter's.

    Raises InputError when the set has no date or no zone, or its periods differ in length.
    """
    index_set = Elaboration(blueprint.core, folder).index_set(time)
    axis = index_set.axis
    if axis is None or not axis.dated or axis.zone is None:
        text = f"the set {time} needs a date and a time zone, so that a tariff knows its hours"
        raise InputError(text, expected='as "start": "2025-07-01T00:00", "zone": "Europe/Berlin"')
    steps = np.unique(axis.steps)
    if len(steps) != 1:
        raise InputError(f"the periods of {time} differ in length; a meter's do not")
    start = datetime.fromtimestamp(float(axis.edges[0]), UTC).astimezone(ZoneInfo(axis.zone))
    return MeterTimes(start=start, step_hours=float(steps[0]), count=index_set.size)


def with_tariff(
    blueprint: Blueprint,
    tariff: Tariff,
    *,
    imported: str = "grid_import",
    exported: str | None = None,
    time: str = "T",
    name: str = "tariff",
    history: BillHistory | None = None,
    folder: Path | None = None,
) -> Blueprint:
    """Return a blueprint whose minimised cost has the bill of a tariff in it.

    ``blueprint``: with an objective to be minimised in the tariff's currency, or none. Components
    are expanded. ``tariff``: what is charged. ``imported``, ``exported``: variables over the time
    set: the power of the meter in each direction; of the grid ``grid`` these are ``grid_import``
    and ``grid_export``. [kW] ``time``: the time set; it has a date and a zone. ``name``: what the
    names of everything added begin with; the expression ``<name>_cost`` is the bill. ``history``:
    what happened in the first billing month before the horizon. ``folder``: where data files lie.
    Raises InputError when a part of the tariff has no exact form here, a boundary of it cuts a
    period, or the objective is not one cost to be minimised.
    """
    full = expand(blueprint)
    known = {variable.name: variable for variable in full.core.decision_variables}
    for power in (imported, *([exported] if exported else [])):
        if power not in known:
            raise InputError(f"there is no variable {power}", expected=", ".join(sorted(known)))
    times = meter_times(full, time, folder)
    writer = TariffParts(
        tariff,
        times,
        imported,
        exported,
        time,
        name,
        history or BillHistory(),
        _limit(known[imported], time),
    )
    writer.write()
    return _joined(full, writer)


def _limit(power: VariableDef, time: str) -> str | None:
    """Return the upper bound of a power in period ``t`` as an expression, None without one."""
    if power.upper is None or power.index != (f"t in {time}",):
        return None
    if isinstance(power.upper, int | float):
        return f"{power.upper!r}[{power.unit or '1'}]"
    return power.upper


def _joined(full: Blueprint, writer: TariffParts) -> Blueprint:
    core, name, currency = full.core, writer.name, writer.tariff.currency
    objective = core.objective_function
    if objective is not None and (objective.sense != "minimize" or objective.terms):
        raise InputError("a tariff is added to one cost that is minimised; this objective is not")
    assumed = "; ".join(writer.tariff.assumptions)
    total = ExpressionDef(
        name=f"{name}_cost",
        expression=" + ".join(writer.costs) or "0",
        unit=currency,
        description=f"bill of the tariff; assumed: {assumed}" if assumed else "bill of the tariff",
    )
    changed: dict[str, Any] = {
        "sets": core.sets + tuple(writer.sets),
        "parameters": core.parameters + tuple(writer.parameters),
        "decision_variables": core.decision_variables + tuple(writer.variables),
        "expressions": (*core.expressions, total),
        "constraints": core.constraints + tuple(writer.constraints),
    }
    if objective is not None:
        both = f"({objective.expression}) + {name}_cost"
        changed["objective_function"] = replace(objective, expression=both)
    else:
        goal = ObjectiveDef(name="bill", sense="minimize", expression=f"{name}_cost", unit=currency)
        changed["objective_function"] = goal
    return Blueprint.from_dict(full.with_core(**changed).to_dict())

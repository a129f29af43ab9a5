r"""Tool that names what may have failed: how an asset deviates from balances it kept when sound.

A balance says what a reading is by others, :math:`y = X\beta`, by least squares where the asset was
sound. Of an air handler: mixed air is outdoor and return air in a proportion that follows the
damper, and the coil takes from it what its valve lets through. Of all kinds: a reading that the
table of failure modes says to rise or fall, by its drivers.

A fault adds a known shape times a size of at least 0 to the balances: a sensor a constant, a stuck
damper :math:`(p - \kappa d)(T_o - T_r)`, a leak a part of what the closed valve holds back. A mode
is fitted to all balances of its asset at once; its evidence is by how much that lowers the mean
square of their residuals, summed over days, less ln(days) for each size (as Schwarz's criterion).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from engiagent.errors import InputError
from engiagent.report.charts import Axis, Curve, Panel
from engiagent.study.economics.cashflow import Floats
from engiagent.tools.asset import history as iot
from engiagent.tools.asset.modes import lines
from engiagent.tools.asset.series import changes, quadratic, residuals, shift, together
from engiagent.tools.modelling import plain
from engiagent.tools.registry import Json, Outcome, State
from engiagent.units.unit import conversion, parse_unit

DAY: Final = 24 * iot.HOUR
_WAYS: Final = {"rises": 1.0, "falls": -1.0}  # how symptoms begin: the sign of what they add
Cause = tuple[str, str]  # a mode, and which of its variants
Adds = dict[Cause, dict[tuple[str, str], Floats]]
"""By cause the shapes that it adds, by name and unit: one name is one size in all balances."""
Said = tuple[Floats, Sequence[Floats], Adds]  # a target, what explains it, what faults add
HIGH: Final = ("mixed temperature reads high", "K")
LOW: Final = ("mixed temperature reads low", "K")


def mixing(mixed: Floats, returned: Floats, outdoor: Floats, damper: Floats) -> Said:
    """Return the balance of mixed air: its temperature above that of the return air [K]."""
    pull, one = outdoor - returned, np.ones_like(mixed)
    adds: Adds = {
        ("stuck damper", ""): {
            ("outdoor air comes without command", "1"): pull,
            ("mixed air does not follow the damper", "1"): -damper * pull,
        },
        ("drifting sensor", "mixed, high"): {HIGH: one},
        ("drifting sensor", "mixed, low"): {LOW: -one},
    }
    return mixed - returned, (one, pull, damper * pull, damper**2 * pull), adds


def coil(supply: Floats, mixed: Floats, valve: Floats) -> Said:
    """Return the balance of a cooling coil: its supply above the mixed temperature [K]."""
    one = np.ones_like(mixed)
    adds: Adds = {
        ("leaking cooling valve", ""): {("supply is colder, valve closed", "K"): valve - 1},
        ("drifting sensor", "mixed, high"): {HIGH: -one},
        ("drifting sensor", "mixed, low"): {LOW: one},
        ("drifting sensor", "supply, high"): {("supply temperature reads high", "K"): one},
        ("drifting sensor", "supply, low"): {("supply temperature reads low", "K"): -one},
    }
    return supply - mixed, (one, valve, valve**2), adds


PHYSICS: Final[Mapping[str, Mapping[Callable[..., Said], tuple[str, ...]]]] = {
    "ahu": {
        mixing: (
            *("mixed temperature", "return temperature"),
            *("outdoor temperature", "damper command"),
        ),
        coil: ("supply temperature", "mixed temperature", "cooling valve command"),
    }
}
"""By kind of asset the balances, each with the quantities that it needs."""


@dataclass(frozen=True, eq=False)
class Balance:
    """How a reading differs from what others explain, in shares of what it did when sound."""

    reading: str
    days: Floats  # of each hour, shape (N,)
    rest: Floats
    adds: Adds
    beyond: float  # share of hours that are not judged, since the reference had none like them

    def since(self, day: float) -> "Balance":
        """Return the part of it from a day on."""
        own = self.days >= day
        adds = {c: {n: a[own] for n, a in shapes.items()} for c, shapes in self.adds.items()}
        return replace(self, days=self.days[own], rest=self.rest[own], adds=adds)


def _balance(reading: str, starts: Floats, said: Said, last: float) -> Balance:
    """Return a balance that is fitted to its reference."""
    target, columns, adds = said
    days, sound = starts // DAY, starts <= last
    rest, like = residuals(target, columns, days, sound)
    scale = float(np.sqrt((rest[sound] ** 2).mean())) or 1.0
    scaled = {c: {n: a[like] / scale for n, a in shapes.items()} for c, shapes in adds.items()}
    beyond = 1 - float(like[~sound].mean())
    return Balance(reading, days[like], rest[like] / scale, scaled, beyond)


def _balances(
    kind: str, known: Mapping[str, iot.History], drivers: Sequence[iot.History], last: float
) -> Iterator[Balance]:
    """Yield the balances of an asset whose readings are known by what they measure."""
    for balance, needed in PHYSICS.get(kind, {}).items():
        if all(name in known for name in needed):
            starts, columns = together([known[name] for name in needed])
            for k, name in enumerate(needed):  # in degC, commands from 0 to 1
                wanted = parse_unit("1" if name.endswith("command") else "degC")
                factor, zero = conversion(known[name].sensor.unit, wanted)
                columns[k] = factor * columns[k] + zero
            starts += known[needed[0]].ahead(starts)
            yield _balance(balance.__name__, starts, balance(*columns), last)
    shown: dict[str, list[tuple[str, str, float]]] = {}
    for line in lines():
        name, way = line["measures"], _WAYS.get(line["symptom"].partition(" ")[0])
        if line["kind"] == kind and way is not None and name in known:
            shown.setdefault(name, []).append((line["mode"], f"{name} {line['symptom']}", way))
    for name, ways in shown.items():
        sensor = known[name].sensor
        others = [history for history in drivers if history.sensor != sensor]
        starts, (values, *explained) = together([known[name], *others])
        starts, unit = starts + known[name].ahead(starts), "K" if sensor.unit.is_point else "%"
        if unit == "%":  # of all but temperatures a fault is a share
            works = values > 0
            starts, explained = starts[works], [e[works] for e in explained]
            values = np.log(values[works])
        one = np.ones_like(values)
        adds: Adds = {(mode, ""): {(said, unit): way * one} for mode, said, way in ways}
        design = (one, *quadratic(explained, starts <= last))
        yield _balance(name, starts, (values, design, adds), last)


def _sets(one: iot.Sensor, known: Iterable[iot.Sensor]) -> Iterator[dict[str, iot.Sensor]]:
    """Yield by which sensors an asset is judged: of a quantity with several by each in its turn."""
    used = {str(line["measures"]) for line in lines() if line["kind"] == one.kind}
    used = used.union(*PHYSICS.get(one.kind, {}).values())
    near = [s for s in known if s.site == one.site and s.measures in used]
    near = [s for s in near if s.asset == one.asset or "outdoor" in s.measures]
    usual = {s.measures: s for s in sorted(near, key=lambda s: s.asset == one.asset)}
    twins = (s for s in near if s.asset == usual[s.measures].asset)
    yield from ({**usual, s.measures: s} for s in twins if s is not usual[s.measures])
    yield usual


@iot.asset_tool(
    "register asset diagnose",
    "assets candidates: list of object; not_judged notes: list of text",
    access="write",
)
def fmsr_diagnose(state: State, given: Json) -> Outcome:
    """Name which assets deviate from what they were when sound, and rank failure modes that fit.

    The stated rate is how often a sound register may raise an alarm. A mode is judged by all the
    readings that show it at once; those of like evidence cannot be told apart by what is measured.
    """
    known = iot.register(state.root, given["sensors"])
    last = iot.seconds_of(given["reference_last"])
    recent = iot.seconds_of(given.get("recent_first") or given["reference_last"])
    first = max(last // DAY + 1, recent // DAY)
    drivers = iot.histories(state, given, given.get("drivers", ()))
    kinds = {str(line["kind"]) for line in lines()}
    assets = {(s.site, s.asset): s for s in iot.chosen(known, given)}
    cases = [(one, own) for one in assets.values() for own in _sets(one, known.values())]
    rate = given["rate"] / max(1, sum(one.kind in kinds for one, _ in cases))
    judged, candidates, notes, blind, panels = [], [], [], dict[str, None](), []
    for one, own in cases:
        about = {"asset": one.asset, "site": one.site, "sensors": [s.name for s in own.values()]}
        asset = " at ".join(filter(None, (one.asset, one.site)))
        state.watch.tell(f"judging {asset}")
        by_measure = {name: iot.history_of(state.root, s) for name, s in own.items()}
        balances = list(_balances(one.kind, by_measure, drivers, last))
        shown = {mode for balance in balances for mode, _ in balance.adds}
        modes = [line["mode"] for line in lines() if line["kind"] == one.kind]
        modes = modes or [f"no mode of {one.kind} is known"]
        blind |= dict.fromkeys(f"{asset}: {mode}" for mode in modes if mode not in shown)
        if balances:
            seen, panel = _alarm(balances, last, first, rate)
            panels.append(replace(panel, title=f"{asset}: {panel.title}"))
            judged.append({**about, **seen})
            if seen["alarm"]:
                ranked = _ranked(one.kind, [balance.since(first) for balance in balances])
                candidates += [{**about, **mode} for mode in ranked]
            share = max(balance.beyond for balance in balances)
            if share > 0.05:
                notes.append(f"{asset}: {share:.0%} of hours are like none of the reference")
    candidates.sort(key=lambda mode: -mode["evidence"])
    content = {"assets": judged, "candidates": candidates, "not_judged": [*blind], "notes": notes}
    return Outcome(plain(content), {}, iot.drawn(state, given, panels))


def _alarm(
    balances: Sequence[Balance], last: float, first: float, rate: float
) -> tuple[Json, Panel]:
    """Return whether a sound asset rarely deviates so much, in what, since when, and a picture.

    Of each balance the means of days are compared, and the mean squares of hours about them.
    """
    from scipy import stats  # slow to import, as optimize

    found = []
    for balance in balances:
        days, place = np.unique(balance.days, return_inverse=True)
        count = np.bincount(place)
        means = np.bincount(place, balance.rest) / count
        about = np.log(np.bincount(place, (balance.rest - means[place]) ** 2) / count + 1e-6)
        before, after = days <= last // DAY, days >= first
        if after.sum() < 3:
            raise InputError(f"{after.sum()} recent days can be judged", expected="3 at least")
        for daily, sides in ((means, 2), (about, 1)):
            by, spread, freedom = shift(daily[before], daily[after])
            t = (abs(by) if sides == 2 else by) / spread
            said = f"{balance.reading}, {'mean of the day' if sides == 2 else 'spread in the day'}"
            found.append((sides * float(stats.t.sf(t, freedom)), said, days, daily))
    p, said, days, daily = min(found, key=lambda one: one[0])
    alarm = p * len(found) < rate
    places = [0, *(changes(daily, 1)[0] if alarm else ()), len(days)]
    level = np.array([daily[a:b].mean() for a, b in pairwise(places)])
    ends = np.append(days, days[-1] + 1) * DAY
    curves = Curve(said, ends, daily, "step"), Curve("level", ends[places], level, "step")
    panel = Panel("residual over its size when sound", "1", Axis("time", "time", ends, ()), curves)
    since = iot.stamp_of(ends[places[1]])[:10] if len(level) > 1 else None
    p = min(1.0, p * len(found))
    return {"alarm": alarm, "p": p, "deviates": said, "since": since}, panel


def _ranked(kind: str, recent: Sequence[Balance]) -> list[Json]:
    """Return the modes that lower the residuals, each by its likeliest variant."""
    from scipy.optimize import nnls

    rest = np.concatenate([b.rest for b in recent])
    days = len(np.unique(np.concatenate([b.days for b in recent])))
    found: dict[str, Json] = {}
    for cause in dict.fromkeys(cause for b in recent for cause in b.adds):
        names = list(dict.fromkeys(name for b in recent for name in b.adds.get(cause, ())))
        rows = ([b.adds.get(cause, {}).get(n, 0 * b.rest) for n in names] for b in recent)
        sizes, left = nnls(np.concatenate([np.column_stack(row) for row in rows]), rest)
        count = max(1, int((sizes > 0).sum()))
        evidence = float((rest @ rest - left**2) * days / len(rest) - count * np.log(days))
        if evidence > max(0.0, found.get(cause[0], {}).get("evidence", 0.0)):
            line = next(n for n in lines() if n["kind"] == kind and n["mode"] == cause[0])
            found[cause[0]] = {
                **{"kind": kind, "mode": cause[0], "evidence": evidence},
                "explains": float(1 - left**2 / (rest @ rest)),
                "seen": [
                    {
                        "what": what,
                        "by": float(100 * np.expm1(size) if unit == "%" else size),
                        "unit": unit,
                    }
                    for (what, unit), size in zip(names, sizes, strict=True)
                    if size > 0
                ],
                "slots": line["slot"].split(";") if line["slot"] else [],
                **{"action": line["action"], "source": line["source"]},
            }
    return list(found.values())

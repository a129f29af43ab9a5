"""Controllers by rules, as a file states them: an input, and the rule that sets it.

Rules of :data:`RULES` go by their name alone and control a whole site, as the baseline of a plan
does under the rule of the same name.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np

from engiagent.environment.environment import Environment
from engiagent.environment.interface import (
    Controller,
    Drives,
    Moment,
    Runs,
    Signal,
    amount,
    between,
    driving,
    imported,
    is_place,
    of_user,
    read_yaml,
)
from engiagent.environment.running import INPUTS
from engiagent.errors import InputError
from engiagent.models.systems.system import two_point
from engiagent.plant.rules import Control, zone_limits
from engiagent.plant.source import nearest
from engiagent.verify.levels.execution import buses_of, sides_of
from engiagent.verify.plants.unit import Unit

T = TypeVar("T")
Rule = Callable[[Moment], float]
Band = tuple[float, float]
Limits = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


@dataclass
class Thermostat(Drives):
    """What is off and on, as ``powers``, from one limit of a temperature to the other.

    ``shift`` moves both limits by some kelvin for a part of the day: pre-heating, pre-cooling.
    """

    target: str
    reads: str
    band: Callable[[Moment], Band]
    powers: Band
    cooling: bool = False
    shift: Rule = lambda now: 0.0
    runs: bool = field(default=False, init=False)

    def reset(self, seed: int = 0) -> None:
        """Be off."""
        self.runs = False

    def step(self, now: Moment) -> dict[str, float]:
        """Switch where a limit is passed."""
        low, high = (limit + self.shift(now) for limit in self.band(now))
        here = now.seen.get(self.reads, low)  # means are not known before the first step
        self.runs = two_point(self.runs, here, low, high, cooling=self.cooling)
        return {self.target: self.powers[self.runs]}


@dataclass
class Excitation(Drives):
    """One of some levels by chance, each held for some seconds, which tells parameters apart."""

    target: str
    levels: Sequence[float]
    hold: float
    seed: int = 0
    of_run: int = field(default=0, init=False)  # the seed of the run, beside its own

    def reset(self, seed: int = 0) -> None:
        """Take the seed of a run."""
        self.of_run = seed

    def step(self, now: Moment) -> dict[str, float]:
        """Return the level of a time, which no step before it decides on."""
        place = int(now.step * now.seconds // self.hold)
        chance = np.random.default_rng([self.seed + self.of_run, place])
        return {self.target: self.levels[int(chance.integers(len(self.levels)))]}


def _over_day(entry: Any, read: Callable[[Any], T]) -> Callable[[Moment], T]:
    """Return a value, or one of several by the time of the day from which each holds."""
    if not isinstance(entry, Mapping):
        always = read(entry)
        return lambda now: always
    if not entry:
        raise ValueError("no values by the time of the day")
    found = {_clock(str(key)): read(value) for key, value in entry.items()}
    times = sorted(found)
    # Before the first time the value is that of the last one.
    return lambda now: found[times[bisect_right(times, now.clock + 1e-6) - 1]]


def read_controller(path: Path, signals: Mapping[str, Signal]) -> Controller:
    """Read rules from a file: by input a value, ``daily``, ``thermostat`` or ``levels``.

    Raises InputError for an input or a reading that there is not, and for values that cannot be
    read.
    """
    tree = read_yaml(path)
    if not isinstance(tree, Mapping):
        raise InputError("no mapping of inputs to rules", path.name, expected="INPUT: RULE")
    return by_rules(tree, signals, path.name)


def by_rules(tree: Mapping[str, Any], signals: Mapping[str, Signal], file: str = "") -> Controller:
    """Return the controller of rules by input; see :func:`read_controller`."""
    inputs = [name for name, signal in signals.items() if signal.role in INPUTS]
    rules: list[Controller] = []
    for name, entry in tree.items():
        if name not in inputs:
            said = f"there is no input {name!r}"
            raise InputError(said, file or None, expected=nearest(name, inputs))
        try:
            rules.append(_rule(str(name), entry, signals))
        except (InputError, KeyError, ValueError) as error:
            raise InputError(f"{name}: {error}", file or None, expected=_FORMS) from None
    return joined(*rules)


_FORMS: Final = (
    "a quantity; {daily: {'06:00': 21 degC, …}}; {levels: [0 kW, 5 kW], hold: 2 h}; or "
    "{thermostat: SIGNAL, between: [20 degC, 22 degC], on: 5 kW}"
)
_KEYS: Final = {
    "daily": ("daily",),
    "levels": ("levels", "hold", "seed"),
    "thermostat": ("thermostat", "between", "on", "off", "cooling", "shift"),
}


def _rule(name: str, entry: Any, signals: Mapping[str, Signal]) -> Controller:
    unit = signals[name].unit

    def number(value: Any) -> float:
        return _number(value, unit)

    if not isinstance(entry, Mapping) or set(entry) == {"daily"}:
        value = _over_day(entry["daily"] if isinstance(entry, Mapping) else entry, number)
        return lambda now: {name: value(now)}
    kind = next((key for key in _KEYS if key in entry), None)
    odd = set(entry) - set(_KEYS.get(kind or "", ()))
    if kind is None or odd:
        raise ValueError(f"no rule: {', '.join(odd or entry)}")
    if kind == "levels":
        levels = [number(item) for item in entry["levels"]]
        return Excitation(name, levels, _number(entry["hold"], "s"), int(entry.get("seed", 0)))
    reads = str(entry["thermostat"])
    if reads not in signals:
        raise ValueError(f"there is no signal {reads!r}; {nearest(reads, signals)} is one")
    shown = signals[reads].unit
    return Thermostat(
        name,
        reads,
        _over_day(entry["between"], lambda b: (_number(b[0], shown), _number(b[1], shown))),
        (number(entry.get("off", 0.0)), number(entry["on"])),
        cooling=entry.get("cooling") in (True, "yes"),
        shift=_over_day(entry.get("shift", 0.0), lambda value: _number(value, "K")),
    )


def _clock(text: str) -> float:
    hours, _, minutes = text.partition(":")
    return 3600.0 * int(hours) + 60.0 * int(minutes or 0)


def _number(value: Any, unit: str) -> float:
    if isinstance(value, bool | int | float):
        return float(value)
    return amount(value, "a value", unit)[0]


@dataclass
class Joined(Drives):
    """One controller of several; where two set an input the later one does."""

    parts: Sequence[Drives]

    def initialize(self, seconds: float) -> None:
        """Take the length of all steps. [s]."""
        for part in self.parts:
            part.initialize(seconds)

    def reset(self, seed: int = 0) -> None:
        """Return to what it was before the first step."""
        for part in self.parts:
            part.reset(seed)

    def step(self, now: Moment) -> dict[str, float]:
        """Return what the parts set."""
        found: dict[str, float] = {}
        for part in self.parts:
            with of_user(part):
                found |= part.step(now)
        return found


def joined(*controllers: Controller) -> Drives:
    """Return one controller of several; where two set an input the later one does."""
    return Joined([driving(part) for part in controllers])


# -- rules of a whole site ------------------------------------------------------------------------


def chosen(text: str, plant: Runs, planned: Callable[[], Environment] | None = None) -> Controller:
    """Return the controller that a rule's name, a file of rules or ``module:name`` stands for.

    ``planned``: makes the site whose limits a thermostat of another plant keeps. Raises InputError
    for a rule of a site where there is none, and for what a file has wrong.
    """
    if is_place(text):
        return driving(imported(text, "a rule, a file of rules, or module:name"))
    if text == DEFAULT:
        return joined()
    if text not in RULES:
        return read_controller(Path(text), plant.signals)
    if isinstance(plant, Environment):
        return ruled(text, plant)
    if planned is None or text not in OF_ANY_PLANT:
        raise InputError(f"the rule {text} needs a plant file", expected="a file of rules")
    return _thermostat(planned(), plant)


def ruled(name: str, site: Environment) -> Controller:
    """Return the rule of a name for a site, as a baseline has it.

    Raises InputError when there is no such rule, or nothing that it controls.
    """
    if name not in RULES:
        raise InputError("there is no such rule", found=name, expected=" or ".join(RULES))
    return RULES[name](site)


def _self_consumption(site: Environment) -> Controller:
    """Charge batteries from what generation gives beyond consumption; discharge to consumption."""
    groups = []
    for bus, units in buses_of(Control(site.blueprint, site.folder).plant).items():
        flows = [
            (f"{unit.name}.{word}", sign)
            for side, sign in zip(sides_of(bus, units), (1.0, -1.0), strict=True)
            for unit, word in side
            if unit.model not in ("grid", "battery")
        ]
        # What could be generated is known of the step that begins, what is drawn of the last one.
        known = [(n.removesuffix("power") + "available_power", n, sign) for n, sign in flows]
        flows = [(ahead if ahead in site.signals else name, sign) for ahead, name, sign in known]
        groups.append(([unit.name for unit in units if unit.model == "battery"], flows))
    if not any(batteries for batteries, _ in groups):
        raise InputError("the rule self-consumption has nothing to control", expected="a battery")

    def command(now: Moment) -> dict[str, float]:
        found: dict[str, float] = {}
        for batteries, flows in groups:
            surplus = sum(sign * now.seen.get(name, 0.0) for name, sign in flows)
            for battery in batteries:
                way = "charge" if surplus > 0 else "discharge"
                power = min(abs(surplus), site.signals[f"{battery}.{way}"].upper)
                found[f"{battery}.{way}"] = power
                surplus -= power if surplus > 0 else -power
        return found

    return command


def _heatings(site: Environment) -> list[tuple[str, Limits, str]]:
    """Return of each zone that has limits what is read, the limits, and the action that heats it.

    A wall has none and needs none. What heats a floor or a radiator without limits heats the one
    zone behind it that nothing else does.
    """
    control = Control(site.blueprint, site.folder)
    found: list[tuple[str, Limits, str]] = []
    spare: list[str] = []
    why = None
    for zone in site.built.units:
        try:
            found.extend(_heated(site, zone, control))
        except InputError as error:
            why, spare = why or error, [*spare, *_serving(site, zone)[:1]]
    bare = [k for k, heated in enumerate(found) if not np.isfinite(site.signals[heated[2]].upper)]
    if len(spare) == len(bare) == 1:
        found[bare[0]] = (*found[bare[0]][:2], spare[0])
    elif why is not None and (spare or not found):
        raise why
    return found


def _thermostat(site: Environment, plant: Runs | None = None) -> Controller:
    """Heat zones at full power between limits of their temperature; see :func:`zone_limits`.

    ``plant``: what is read and set, by its own units, where it is not the site.
    """
    signals, found = (plant or site).signals, _heatings(site)
    own = [n for n, signal in signals.items() if signal.role == "action" and n in site.signals]
    parts: list[Controller] = []
    for reads, (low, high), target in found:
        if reads not in signals or (target not in own and (len(found) > 1 or len(own) != 1)):
            said = f"the rule thermostat does not see {reads}, or what heats it"
            raise InputError(
                said, found=", ".join(signals), expected="its name, or a file of rules"
            )
        target = target if target in own else own[0]
        factor, shift = between("degC", signals[reads].unit)
        limits = factor * low + shift, factor * high + shift
        power = between(site.signals[target].unit, signals[target].unit)[0]
        most = min(power * site.signals[target].upper, signals[target].upper)
        parts.append(_two_point(reads, limits, target, float(site.built.units[0].hours[0]), most))
    if not parts:
        expected = "a zone with limits of its temperature, and what heats it"
        raise InputError("the rule thermostat has nothing to control", expected=expected)
    return joined(*parts)


def _serving(site: Environment, zone: Unit) -> list[str]:
    """Return the actions that heat a zone."""
    return [
        f"{u.name}.{word}"
        for u in site.built.units
        for word in ("electric_power", "heat")
        if u.connections.get("zone") == zone.name
        and u.model in ("heater", "emitter", "heat_pump", "boiler")
        and site.signals.get(f"{u.name}.{word}", Signal("1", "state")).role == "action"
    ]


def _heated(site: Environment, zone: Unit, control: Control) -> Iterator[tuple[str, Limits, str]]:
    """Yield what is read, its limits by period, and the action that heats it."""
    signals, serving = site.signals, _serving(site, zone)
    if zone.model == "thermal_zone":
        reads = zone.names("temperature")[0]
        targets = serving or [zone.names("heating")[0]]
        yield reads, zone_limits(control, zone.name), targets[0]
    elif zone.model == "zone_5r1c":
        low, high = (zone.slot(f"temperature_{side}") for side in ("min", "max"))
        if low is not None and high is not None:
            yield f"{zone.name}.air.mean_temperature", (low, high), f"{zone.name}.heating"
    elif zone.model == "rc_network":
        comfort = zone.connections.get("comfort") or {}
        for node in zone.connections.get("heated") or {}:
            band = comfort.get(node) or {}
            if {"low", "high"} <= set(band):
                limits = tuple(zone.number(band[side], "degC") for side in ("low", "high"))
                reads = f"{zone.name}.{node}.temperature"
                reads = reads if reads in signals else f"{zone.name}.{node}.mean_temperature"
                yield reads, (limits[0], limits[1]), f"{zone.name}.heating_{node}"


def _two_point(reads: str, limits: Limits, target: str, hours: float, most: float) -> Controller:
    if not np.isfinite(most):
        raise InputError(f"the rule thermostat needs the power of {target}", expected="its limit")

    def band(now: Moment) -> Band:
        place = int(now.step * now.seconds // (3600.0 * hours))
        low, high = (float(side[min(place, len(side) - 1)]) for side in limits)
        return low, high

    return Thermostat(target, reads, band, (0.0, most))


DEFAULT: Final = "default"
"""That nothing is set: simulators are left to their own control."""
RULES: Final[Mapping[str, Callable[[Environment], Controller]]] = {
    "self-consumption": _self_consumption,
    "thermostat": _thermostat,
}
"""By the names that baselines have."""
OF_ANY_PLANT: Final = ("thermostat",)  # rules for plants that are no sites as well

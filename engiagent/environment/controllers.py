"""Controllers by rules, as a file states them: an input, and the rule that sets it.

Each rule is a class whose fields are the keys of its entry; the key that tells it from the others
is its name. Rules of :data:`RULES` go by their name alone and control a whole site, as the baseline
of a plan does under the rule of the same name.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.environment.environment import Environment
from engiagent.environment.interface import Runs, Signal, Values, amount, read_yaml
from engiagent.environment.running import INPUTS, Controller, Moment
from engiagent.errors import InputError
from engiagent.models.systems.signals import two_point
from engiagent.plant.rules import Control, zone_limits
from engiagent.plant.source import nearest
from engiagent.verify.plants.unit import Unit

Rule = Callable[[Moment], float]


@dataclass(frozen=True)
class Daily:
    """Values by the time of the day: each holds from its time to the next."""

    times: tuple[float, ...]
    values: tuple[float, ...]

    def __call__(self, now: Moment) -> float:
        """Return the value of the moment; before the first time that of the last one."""
        place = int(np.searchsorted(self.times, now.clock + 1e-6, side="right")) - 1
        return self.values[place]


@dataclass
class Thermostat:
    """On from one limit of a temperature to the other; it heats, or cools where it is ``cooling``.

    ``shift`` moves both limits by some kelvin for a part of the day: pre-heating, pre-cooling.
    """

    reads: str
    low: Rule
    high: Rule
    on: float
    off: float = 0.0
    cooling: bool = False
    shift: Rule = field(default=lambda now: 0.0)
    _runs: bool = False

    def __call__(self, now: Moment) -> float:
        """Return ``on`` or ``off``."""
        if now.step == 0:
            self._runs = False
        moved = self.shift(now)
        low, high = self.low(now) + moved, self.high(now) + moved
        here = now.seen.get(self.reads, low)  # means are not known before the first step
        self._runs = two_point(self._runs, here, low, high, cooling=self.cooling)
        return self.on if self._runs else self.off


@dataclass(frozen=True)
class Excitation:
    """One of some levels by chance, each held for a while, which tells parameters apart."""

    levels: tuple[float, ...]
    hold: float
    seed: int = 0

    def __call__(self, now: Moment) -> float:
        """Return the level of the moment; a function of seed and time alone."""
        number = int(now.step * now.seconds // self.hold)
        chosen = np.random.default_rng([self.seed, number]).integers(len(self.levels))
        return self.levels[int(chosen)]


def read_controller(path: Path, signals: Mapping[str, Signal]) -> Controller:
    """Read rules from a file: by input a value, ``daily``, ``thermostat`` or ``levels``.

    Raises
    ------
    InputError
        For an input or a reading that there is not, and for values that cannot be read.
    """
    tree = read_yaml(path)
    if not isinstance(tree, Mapping):
        raise InputError("no mapping of inputs to rules", path.name, expected="INPUT: RULE")
    return by_rules(tree, signals, path.name)


def by_rules(tree: Mapping[str, Any], signals: Mapping[str, Signal], file: str = "") -> Controller:
    """Return the controller of rules by input; see :func:`read_controller`."""
    inputs = [name for name, signal in signals.items() if signal.role in INPUTS]
    rules: dict[str, Rule] = {}
    for name, entry in tree.items():
        if name not in inputs:
            said = f"there is no input {name!r}"
            raise InputError(said, file or None, expected=nearest(name, inputs))
        try:
            rules[str(name)] = _rule(entry, signals[name].unit, signals)
        except (InputError, KeyError, ValueError) as error:
            raise InputError(f"{name}: {error}", file or None, expected=_FORMS) from None
    return lambda now: {name: rule(now) for name, rule in rules.items()}


_FORMS: Final = (
    "a quantity; {daily: {'06:00': 21 degC, …}}; {levels: [0 kW, 5 kW], hold: 2 h}; or "
    "{thermostat: SIGNAL, between: [20 degC, 22 degC], on: 5 kW}"
)
_KEYS: Final = {
    "daily": ("daily",),
    "levels": ("levels", "hold", "seed"),
    "thermostat": ("thermostat", "between", "on", "off", "cooling", "shift"),
}


def _rule(entry: Any, unit: str, signals: Mapping[str, Signal]) -> Rule:
    if not isinstance(entry, Mapping):
        value = _number(entry, unit)
        return lambda now: value
    kind = next((key for key in _KEYS if key in entry), None)
    odd = set(entry) - set(_KEYS.get(kind or "", ()))
    if kind is None or odd:
        raise ValueError(f"no rule: {', '.join(odd or entry)}")
    if kind == "daily":
        return _daily(entry["daily"], lambda item: _number(item, unit))
    if kind == "levels":
        levels = tuple(_number(item, unit) for item in entry["levels"])
        return Excitation(levels, _number(entry["hold"], "s"), int(entry.get("seed", 0)))
    reads = str(entry["thermostat"])
    if reads not in signals:
        raise ValueError(f"there is no signal {reads!r}; {nearest(reads, signals)} is one")
    low, high = (_limit(entry["between"], side, signals[reads].unit) for side in (0, 1))
    shift: Rule = lambda now: 0.0  # noqa: E731
    if "shift" in entry:
        shift = _daily(entry["shift"], lambda item: _number(item, "K"))
    return Thermostat(
        reads,
        low,
        high,
        _number(entry["on"], unit),
        _number(entry.get("off", 0.0), unit),
        entry.get("cooling") in (True, "yes"),
        shift,
    )


def _limit(entry: Any, side: int, unit: str) -> Rule:
    """Return a limit of a band, which may be one for each part of the day."""
    if isinstance(entry, Mapping):
        return _daily(entry, lambda pair: _number(pair[side], unit))
    value = _number(entry[side], unit)
    return lambda now: value


def _daily(entry: Any, number: Callable[[Any], float]) -> Daily:
    if not isinstance(entry, Mapping) or not entry:
        raise ValueError("no values by the time of the day")
    found = sorted((_clock(str(key)), number(value)) for key, value in entry.items())
    return Daily(tuple(time for time, _ in found), tuple(value for _, value in found))


def _clock(text: str) -> float:
    hours, _, minutes = text.partition(":")
    return 3600.0 * int(hours) + 60.0 * int(minutes or 0)


def _number(value: Any, unit: str) -> float:
    if isinstance(value, bool | int | float):
        return float(value)
    return amount(value, "a value", unit)[0]


def joined(*controllers: Controller) -> Controller:
    """Return one controller of several; where two set an input the later one does."""

    def command(now: Moment) -> Values:
        found: dict[str, float] = {}
        for controller in controllers:
            found |= controller(now)
        return found

    return command


# -- rules of a whole site ------------------------------------------------------------------------


def chosen(text: str, plant: Runs) -> Controller:
    """Return the controller that a rule's name or a file of rules stands for.

    Raises
    ------
    InputError
        For a rule of a site where the plant is none, and for what a file has wrong.
    """
    if text not in RULES:
        return read_controller(Path(text), plant.signals)
    if not isinstance(plant, Environment):
        raise InputError(f"the rule {text} needs a plant file", expected="a file of rules")
    return ruled(text, plant)


def ruled(name: str, site: Environment) -> Controller:
    """Return the rule of a name for a site, as a baseline has it.

    Raises
    ------
    InputError
        When there is no such rule, or nothing that it controls.
    """
    if name not in RULES:
        raise InputError("there is no such rule", found=name, expected=" or ".join(RULES))
    return RULES[name](site)


def _self_consumption(site: Environment) -> Controller:
    """Charge batteries from what generation gives beyond consumption; discharge to consumption."""
    batteries = [u for u in site.built.units if u.model == "battery"]
    if not batteries:
        raise InputError("the rule self-consumption has nothing to control", expected="a battery")
    buses = {bus.name: bus.members for bus in site.built.system.all_buses}
    ports, own = site.built.system.ports, {unit.name for unit in batteries}
    reads = {str(known.reads): name for name, known in site.built.names.items()}
    available = {
        f"{u.name}.power": f"{u.name}.available_power"
        for u in site.built.units
        if f"{u.name}.available_power" in site.signals
    }
    joined_to = {
        member.rpartition(".")[0]: [
            (available.get(name, name), 1.0 if ports[other].way == "gives" else -1.0)
            for other in members
            if (name := reads.get(other)) is not None and other.rpartition(".")[0] not in own
        ]
        for members in buses.values()
        for member in members
        if member.rpartition(".")[0] in own
    }

    def command(now: Moment) -> Values:
        found: dict[str, float] = {}
        spent: dict[int, float] = {}
        for unit in batteries:
            flows = joined_to[unit.name]
            # What controllers and machines draw is known of the step before alone.
            surplus = sum(sign * now.seen.get(name, 0.0) for name, sign in flows)
            surplus -= spent.get(id(flows), 0.0)
            limit = "charge" if surplus > 0 else "discharge"
            power = min(abs(surplus), site.signals[f"{unit.name}.{limit}"].upper)
            found[f"{unit.name}.{limit}"] = power
            spent[id(flows)] = spent.get(id(flows), 0.0) + (power if surplus > 0 else -power)
        return found

    return command


def _thermostat(site: Environment) -> Controller:
    """Heat zones at full power from the lower limit of their temperature to the upper one."""
    parts: list[Controller] = []
    control = Control(site.blueprint, site.folder)
    for zone in site.built.units:
        for reads, limits, target in _heated(site, zone, control):
            parts.append(_two_point(reads, limits, target, site))
    if not parts:
        expected = "a zone with limits of its temperature, and what heats it"
        raise InputError("the rule thermostat has nothing to control", expected=expected)
    return joined(*parts)


Limits = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def _heated(site: Environment, zone: Unit, control: Control) -> Iterator[tuple[str, Limits, str]]:
    """Yield what is read, its limits by period, and the action that heats it."""
    signals = site.signals
    serving = [
        f"{u.name}.{word}"
        for u in site.built.units
        for word in ("electric_power", "heat")
        if u.connections.get("zone") == zone.name
        and u.model in ("heater", "emitter", "heat_pump", "boiler")
        and signals.get(f"{u.name}.{word}", Signal("1", "state")).role == "action"
    ]
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


def _two_point(reads: str, limits: Limits, target: str, site: Environment) -> Controller:
    most = site.signals[target].upper
    if not np.isfinite(most):
        raise InputError(f"the rule thermostat needs the power of {target}", expected="its limit")
    hours = float(site.built.units[0].hours[0]) * 3600.0

    def limit(side: int) -> Rule:
        values = limits[side]
        return lambda now: float(values[min(int(now.step * now.seconds // hours), len(values) - 1)])

    rule = Thermostat(reads, limit(0), limit(1), most)
    return lambda now: {target: rule(now)}


RULES: Final[Mapping[str, Callable[[Environment], Controller]]] = {
    "self-consumption": _self_consumption,
    "thermostat": _thermostat,
}
"""By the names that baselines have."""

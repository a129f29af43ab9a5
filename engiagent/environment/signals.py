"""Which signal of a plant is which of ours: a file, and the plant as it looks through it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.environment.interface import (
    CALLS,
    Runs,
    Signal,
    Values,
    amount,
    between,
    imported,
    ours,
    read_yaml,
)
from engiagent.errors import EngiagentError, InputError
from engiagent.plant.source import nearest
from engiagent.units.unit import UnitError, parse_unit

ACTS: Final = 1e-3
"""How far, relative to what was sent, a signal that is read back may be off."""


@dataclass(frozen=True)
class Input:
    """What one of our signals sets: a variable, its unit, and how it is made to act.

    ``full`` is our value, with its unit, at which theirs is 1; ``activate`` is set to 1 beside it,
    ``read_back`` is where the plant says what acts, ``at_least`` and ``at_most`` limit theirs.
    """

    variable: str
    unit: str | None = None
    full: tuple[float, str | None] = (1.0, None)
    activate: str | None = None
    read_back: str | None = None
    at_least: float = float("-inf")
    at_most: float = float("inf")


@dataclass(frozen=True)
class Output:
    """Where one of our signals is read, with the standard ``deviation`` of its noise and its unit.

    ``mean`` is that over the period; else it is the value at its end.
    """

    variable: str
    unit: str | None = None
    full: tuple[float, str | None] = (1.0, None)
    mean: bool = False
    deviation: tuple[float, str | None] = (0.0, None)  # in our unit where none stands there


@dataclass(frozen=True)
class Signals:
    """A file of signals."""

    # inputs, outputs: by our names
    inputs: Mapping[str, Input] = field(default_factory=dict)
    outputs: Mapping[str, Output] = field(default_factory=dict)
    # states of a plan that the plant does not show, with the standard deviation of what one step
    # adds to what is not known of them
    estimated: Mapping[str, tuple[float, str | None]] = field(default_factory=dict)
    # that of what is not known of them at the beginning
    initial_deviation: Mapping[str, tuple[float, str | None]] = field(default_factory=dict)
    # the date at which the plant's clock shows 0, as ``2026-01-01``; none is assumed
    time_zero: np.datetime64 | None = None
    # start_time, warmup: the plant's time at the first instant, and how long before that an FMU
    # begins to run with its own defaults and the ``held`` inputs. [s]
    start_time: float | None = None
    warmup: float = 0.0
    communication_step: float | None = None  # the longest of an FMU; the step itself when None. [s]
    # ``co-simulation`` or ``model exchange``; the first that an FMU offers when None
    kind: str | None = None
    # start values of an FMU, and inputs that have a value in the warm-up too, by its own names
    parameters: Mapping[str, Any] = field(default_factory=dict)
    held: Mapping[str, float] = field(default_factory=dict)
    weather: Path | None = None  # of a building of EnergyPlus: its EPW file

    @property
    def read(self) -> list[str]:
        """The variables that are read: outputs, and where what acts is shown."""
        back = [e.read_back for e in self.inputs.values() if e.read_back is not None]
        return list(dict.fromkeys([*(e.variable for e in self.outputs.values()), *back]))

    @property
    def averaged(self) -> list[str]:
        """Those of which the mean over a step is wanted."""
        return [e.variable for e in self.outputs.values() if e.mean]

    @property
    def begins(self) -> np.datetime64 | None:
        """When the first step begins, where the date of the plant's clock is known."""
        if self.time_zero is None:
            return None
        return self.time_zero + np.timedelta64(round(self.start_time or 0.0), "s")

    def beginning(self, begins: np.datetime64 | None) -> "Signals":
        """Return the same with the start at a date, where the date of the plant's clock is known.

        Raises InputError when a start is given and is another one.
        """
        if begins is None or self.time_zero is None:
            return self
        seconds = float((begins - self.time_zero) / np.timedelta64(1, "s"))
        if self.start_time not in (None, seconds):
            raise InputError(
                "the plant begins at another time",
                found=str(self.begins),
                expected=f"{begins}, or signals without start_time",
            )
        return replace(self, start_time=seconds)

    @classmethod
    def load(cls, path: str | Path) -> "Signals":
        """Read a file; InputError with the entry, what stands there and what was expected."""
        place = Path(path)
        tree = read_yaml(place)
        try:
            named = tree.get("estimated") if isinstance(tree, Mapping) else None
            if isinstance(named, str | list):
                tree = {**tree, "estimated": {}}
                for name in [named] if isinstance(named, str) else named:
                    tree = _identified(tree, place.parent, _text(name, "estimated"))
            read = _read(tree, _FILE, "")
            if "weather" in read:
                read["weather"] = place.parent / read["weather"]
            return cls(**read)
        except InputError as wrong:
            wrong.file = place.name
            raise


def _identified(tree: Mapping[str, Any], folder: Path, name: str) -> Mapping[str, Any]:
    """Return what a file states with what is known of noise by an identification that it names."""
    path = folder / name
    found = read_yaml(path / "identified.json" if path.is_dir() else path)
    known = found.get("uncertainty", {}) if isinstance(found, Mapping) else {}
    key = "initial_deviation"  # of all but what was measured
    if key not in known:
        said = "this is no record of identify --error one-step"
        raise InputError(said, found=name, expected="identified.json or its folder")
    outputs = dict(_mapping(tree.get("outputs"), "outputs"))
    for read in (outputs.keys() & known["estimated"]) - known[key].keys():
        entry = outputs[read] if isinstance(outputs[read], Mapping) else {"from": outputs[read]}
        outputs[read] = {"deviation": known["deviation"], **entry}
    first = {**known[key], **_mapping(tree.get(key), key)}
    steps = {**tree["estimated"], **known["estimated"]}
    return {**tree, "estimated": steps, key: first, "outputs": outputs}


_Reader = Callable[[Any, str], Any]
"""From what stands there, and what it is, to the value."""


def _read(tree: Any, readers: Mapping[str, _Reader], where: str) -> dict[str, Any]:
    """Return the values of a mapping whose keys are known."""
    for key in _mapping(tree, where or "the file"):
        if key not in readers:
            said = f"unknown key in {where or 'the file'}"
            raise InputError(said, found=key, expected=nearest(key, readers))
    of = f" of {where}" if where else ""
    return {key: readers[key](value, f"{key}{of}") for key, value in (tree or {}).items()}


def _mapping(tree: Any, what: str) -> Mapping[str, Any]:
    if tree is not None and not isinstance(tree, Mapping):
        expected = "lines of 'name: value'"
        raise InputError(f"{what} is no mapping", found=repr(tree)[:80], expected=expected)
    return tree or {}


def _each(reader: _Reader) -> _Reader:
    """Return a reader of a mapping of any names to values of one kind."""
    return lambda tree, what: {n: reader(v, n) for n, v in _mapping(tree, what).items()}


def _entry(kind: type[Input] | type[Output], key: str) -> _Reader:
    """Return a reader of inputs or outputs, which name their variable by a key, or alone."""
    readers = {f.name: _FIELDS[f.name] for f in fields(kind) if f.name != "variable"}

    def read(tree: Any, name: str) -> Input | Output:
        short = isinstance(tree, str)
        given = _read({key: tree} if short else tree, {key: _text, **readers}, name)
        if key not in given:
            said = f"{name} does not say {key} which variable"
            raise InputError(said, found=repr(tree)[:80], expected=f"{key}: NAME")
        return kind(given.pop(key), **given)

    return read


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{what} is no name", found=repr(value)[:80], expected="a name")
    return value


def _unit(value: Any, what: str) -> str:
    try:
        return str(parse_unit(str(value)))
    except UnitError as error:
        raise InputError(f"{what}: {error}", found=str(value), expected="a unit as W") from None


def _plain(value: Any, what: str) -> float:
    if isinstance(value, bool | int | float):
        return float(value)
    expected = "a number as the plant has it"
    raise InputError(f"{what} is no number", found=repr(value)[:80], expected=expected)


def _date(value: Any, what: str) -> np.datetime64:
    try:
        return np.datetime64(str(value), "s")
    except ValueError:
        expected = "a date as 2026-01-01"
        raise InputError(f"{what} is no date", found=str(value), expected=expected) from None


def duration(value: Any, what: str) -> float:
    """Return a time as people write it, in seconds; InputError when it is none, or below 0."""
    if (found := amount(value, what, "s")[0]) < 0:
        raise InputError(f"{what} is below 0", found=str(value), expected="a time as 1 d")
    return found


def _yes(value: Any, what: str) -> bool:
    if value not in (True, "yes", False, "no"):
        raise InputError(f"{what} is neither", found=repr(value)[:80], expected="yes or no")
    return value in (True, "yes")


_FIELDS: Final[Mapping[str, _Reader]] = {
    **{"unit": _unit, "full": amount, "deviation": amount, "activate": _text, "read_back": _text},
    **{"at_least": _plain, "at_most": _plain, "mean": _yes},
}
_FILE: Final[Mapping[str, _Reader]] = {
    **dict.fromkeys(("start_time", "warmup", "communication_step"), duration),
    **{"time_zero": _date, "kind": _text, "parameters": _mapping, "held": _each(_plain)},
    "weather": _text,
    **{"inputs": _each(_entry(Input, "to")), "outputs": _each(_entry(Output, "from"))},
    **dict.fromkeys(("estimated", "initial_deviation"), _each(amount)),
}


@dataclass
class _Wire:
    """How a number of ours becomes one of theirs: ``theirs = factor * ours + shift``."""

    other: str
    unit: str
    factor: float
    shift: float


class Connected:
    """A plant under our names and units.

    ``faults`` counts by variable how often what was sent did not act, with the last values.
    """

    def __init__(self, plant: Runs, signals: Signals) -> None:
        self.plant, self.file = plant, signals
        self._in = {n: self._wire(n, e) for n, e in signals.inputs.items()}
        self._out = {n: self._wire(n, e) for n, e in signals.outputs.items()}
        for entry in signals.inputs.values():
            for other in (entry.activate, entry.read_back):
                if other is not None:
                    self._known(other)
        self.signals = {
            **{n: Signal(w.unit, "action", *self._range(n, w)) for n, w in self._in.items()},
            **{name: Signal(w.unit, plant.signals[w.other].role) for name, w in self._out.items()},
        }
        self.faults: dict[str, tuple[int, float, float]] = {}
        self.steps = 0

    def _known(self, other: str) -> Signal:
        known = self.plant.signals
        if other not in known:
            said = f"the plant has no signal {other!r}"
            raise InputError(said, expected=nearest(other, known))
        return known[other]

    def _wire(self, name: str, entry: Input | Output) -> _Wire:
        other, (full, shown) = entry.variable, entry.full
        unit = entry.unit or self._known(other).unit
        if shown is not None:
            return _Wire(other, shown, 1.0 / full, 0.0)
        shown = ours(unit)
        try:
            return _Wire(other, shown, *between(shown, unit))
        except UnitError as error:
            raise InputError(f"{name}: {error}", expected="the unit of the variable") from None

    def _range(self, name: str, wire: _Wire) -> tuple[float | None, float, float]:
        """Return what an input is where nothing sets it, and between which it is kept, as ours."""
        rest, entry = self.plant.signals[wire.other].default, self.file.inputs[name]
        low, high = sorted((e - wire.shift) / wire.factor for e in (entry.at_least, entry.at_most))
        return None if rest is None else (rest - wire.shift) / wire.factor, low, high

    def initialize(self, seconds: float) -> None:
        """Set the length of all steps. [s]."""
        self.plant.initialize(seconds)

    def reset(self, initial: Values | None = None, seed: int = 0) -> dict[str, float]:
        """Return to the first instant; ``initial`` goes by the plant's own names."""
        self.faults, self.steps = {}, 0
        return self._seen(self.plant.reset(initial, seed))

    def step(self, inputs: Values) -> dict[str, float]:
        """Advance under our inputs; those that are not given are left to the plant."""
        sent: dict[str, float] = {}
        for name, value in inputs.items():
            wire, entry = self._in[name], self.file.inputs[name]
            theirs = wire.factor * float(value) + wire.shift
            sent[wire.other] = min(max(theirs, entry.at_least), entry.at_most)
            if entry.activate is not None:
                sent[entry.activate] = 1.0
        found = self.plant.step(sent)
        self.steps += 1
        for name in inputs:
            entry, wanted = self.file.inputs[name], sent[self._in[name].other]
            if entry.read_back is not None:
                acts = found[entry.read_back]
                if abs(acts - wanted) > ACTS * max(abs(acts), abs(wanted), ACTS):
                    count = self.faults.get(entry.variable, (0, 0.0, 0.0))[0]
                    self.faults[entry.variable] = (count + 1, wanted, acts)
        return self._seen(found)

    def _seen(self, found: Values) -> dict[str, float]:
        return {
            name: (found[wire.other] - wire.shift) / wire.factor
            for name, wire in self._out.items()
            if wire.other in found
        }

    def notes(self) -> Iterator[str]:
        """Yield which signals did not act."""
        for name, (count, wanted, acts) in self.faults.items():
            back = next(e.read_back for e in self.file.inputs.values() if e.variable == name)
            yield (
                f"{name} does not act in {count} of {self.steps} steps: "
                f"sent {wanted:g}, {back} reads {acts:g}"
            )

    def close(self) -> None:
        """Close what runs behind it."""
        getattr(self.plant, "close", lambda: None)()


SIMULATORS: Final = ("fmu", "energyplus")
"""Whose plants are named ``fmu:FILE`` and ``energyplus:FILE``."""


def simulated(place: str) -> tuple[str, Path] | None:
    """Return whose plant a place names, and its file; None where it is none of a simulator."""
    kind, colon, name = place.partition(":")
    return (kind, Path(name)) if colon and kind in SIMULATORS else None


def opened(place: str, signals: Signals | None) -> Any:
    """Return the plant at ``fmu:FILE``, ``energyplus:FILE`` or ``module:name``.

    The last may be a function that answers a plan. Raises InputError when there is none, or it is
    neither that nor a plant with all its calls.
    """
    other = simulated(place)
    if other is not None:
        return open_simulated(*other, signals)
    expected = "signals, initialize, reset and step; or a function (state, controls, disturbances)"
    found = imported(place, f"module:name of a plant with {expected}")
    lacking = ", ".join(name for name in ("signals", *CALLS) if not hasattr(found, name))
    if lacking and (signals is not None or not callable(found)):
        raise InputError(f"{place} has no {lacking}", expected=f"{expected}, without --signals")
    named = {} if lacking else found.signals
    if not isinstance(named, Mapping) or not all(isinstance(s, Signal) for s in named.values()):
        expected = "names with Signal(unit, role) of engiagent.environment.interface"
        raise InputError(f"{place} has no signals", found=repr(named)[:60], expected=expected)
    return found if signals is None else Connected(found, signals)


def open_simulated(kind: str, path: Path, signals: Signals | None) -> Connected:
    """Return a plant of a simulator under the names of a file of signals.

    Raises InputError without signals, and when a file, a variable or a setting does not fit.
    """
    if kind == "fmu":  # both are extras, and slow to import
        from engiagent.environment.fmu import Fmu, variables

        if signals is None:
            expected = "\n  ".join(["--signals FILE, with some of these:", *variables(path)])
            raise InputError("an FMU needs names", path.name, expected=expected)
        unit: Runs = Fmu(path, signals)
    elif signals is None:
        raise InputError(f"a plant {kind}:FILE needs names", expected="--signals FILE")
    else:
        from engiagent.environment.energyplus import EnergyPlus

        unit = EnergyPlus(path, signals)
    known = [name for name, signal in unit.signals.items() if signal.role == "action"]
    odd = [e.variable for e in signals.inputs.values() if e.variable not in known]
    if odd:
        raise EngiagentError(f"{path.name}: {odd[0]} is no input; {nearest(odd[0], known)} is one")
    return Connected(unit, signals)

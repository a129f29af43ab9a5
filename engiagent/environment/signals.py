"""Which signal of a plant is which of ours: a file, and the plant as it looks through it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.environment.interface import Runs, Signal, Values, between, ours
from engiagent.errors import EngiagentError, InputError
from engiagent.io.plainyaml import loads_yaml
from engiagent.plant.source import FormError, nearest
from engiagent.plant.values import Quantity, pieces
from engiagent.units.unit import UnitError, convert, parse_unit
from engiagent.units.words import Conventions

TOP: Final = (
    *("start_time", "time_zero", "warmup", "communication_step", "kind", "parameters", "held"),
    *("inputs", "outputs", "estimated"),
)
INPUT: Final = ("to", "unit", "full", "activate", "read_back", "at_least", "at_most")
OUTPUT: Final = ("from", "unit", "full", "mean", "deviation")
ACTS: Final = 1e-3
"""How far, relative to what was sent, a signal that is read back may be off."""


@dataclass(frozen=True)
class Input:
    """What one of our signals sets: a variable ``to``, its unit, and how it is made to act.

    ``full`` is our value at which theirs is 1, in ``shown``; ``activate`` is set to 1 beside it,
    ``read_back`` is where the plant says what acts, ``least`` and ``most`` limit theirs.
    """

    to: str
    unit: str | None = None
    full: float = 1.0
    shown: str | None = None
    activate: str | None = None
    read_back: str | None = None
    least: float = float("-inf")
    most: float = float("inf")


@dataclass(frozen=True)
class Output:
    """Where one of our signals is read, with the standard ``deviation`` of its noise in ``shown``.

    ``mean`` is that over the period; else it is the value at its end.
    """

    source: str
    unit: str | None = None
    full: float = 1.0
    shown: str | None = None
    mean: bool = False
    deviation: float = 0.0


@dataclass(frozen=True)
class Signals:
    """A file of signals.

    Attributes
    ----------
    inputs, outputs
        By our names.
    estimated
        States of a plan that the plant does not show, with the standard deviation of what one
        step adds to what is not known of them.
    time_zero
        The date at which the plant's clock shows 0, as ``2026-01-01``; none is assumed.
    start_time, warmup, communication_step, kind, parameters, held
        As of :class:`engiagent.environment.fmu.Fmu`. [s]
    """

    inputs: Mapping[str, Input] = field(default_factory=dict)
    outputs: Mapping[str, Output] = field(default_factory=dict)
    estimated: Mapping[str, float] = field(default_factory=dict)
    time_zero: np.datetime64 | None = None
    start_time: float | None = None
    warmup: float = 0.0
    communication_step: float | None = None
    kind: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    held: Mapping[str, float] = field(default_factory=dict)

    @property
    def begins(self) -> np.datetime64 | None:
        """When the first step begins, where the date of the plant's clock is known."""
        if self.time_zero is None:
            return None
        return self.time_zero + np.timedelta64(round(self.start_time or 0.0), "s")

    def beginning(self, begins: np.datetime64 | None) -> "Signals":
        """Return the same with the start at a date, where the date of the plant's clock is known.

        Raises
        ------
        InputError
            When a start is given and is another one.
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
        """Read a file.

        Raises
        ------
        InputError
            With the entry, what stands there and what was expected.
        """
        place = Path(path)
        try:
            text = place.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read the signals: {error}", str(place)) from None
        tree = loads_yaml(text, place.name)
        try:
            return cls(**dict(_read(_mapping(tree, "the file", TOP))))
        except _EntryError as wrong:
            raise InputError(
                wrong.message, place.name, found=wrong.found, expected=wrong.expected
            ) from None


@dataclass
class _EntryError(Exception):
    message: str
    expected: str
    found: str | None = None


def _mapping(tree: Any, where: str, known: tuple[str, ...] = ()) -> Mapping[str, Any]:
    if tree is None:
        return {}
    if not isinstance(tree, Mapping):
        raise _EntryError(f"{where} is no mapping", "lines of 'name: value'", repr(tree)[:80])
    for key in tree if known else ():
        if key not in known:
            raise _EntryError(f"unknown key in {where}", nearest(key, known), key)
    return tree


def _read(tree: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key in ("start_time", "warmup", "communication_step"):
        if key in tree:
            yield key, _amount(tree[key], key, "s")[0]
    if "time_zero" in tree:
        try:
            yield "time_zero", np.datetime64(str(tree["time_zero"]), "s")
        except ValueError:
            found = str(tree["time_zero"])
            raise _EntryError("time_zero is no date", "a date as 2026-01-01", found) from None
    if "kind" in tree:
        if tree["kind"] not in ("co-simulation", "model exchange"):
            raise _EntryError("unknown kind", "co-simulation or model exchange", str(tree["kind"]))
        yield "kind", tree["kind"]
    yield "parameters", _mapping(tree.get("parameters"), "parameters")
    held = _mapping(tree.get("held"), "held")
    yield "held", {name: _plain(value, name) for name, value in held.items()}
    inputs = _mapping(tree.get("inputs"), "inputs")
    yield "inputs", {name: _input(name, entry) for name, entry in inputs.items()}
    outputs = _mapping(tree.get("outputs"), "outputs")
    yield "outputs", {name: _output(name, entry) for name, entry in outputs.items()}
    estimated = _mapping(tree.get("estimated"), "estimated")
    yield "estimated", {n: _amount(v, f"estimated {n}", None)[0] for n, v in estimated.items()}


def _input(name: str, entry: Any) -> Input:
    tree = _mapping({"to": entry} if isinstance(entry, str) else entry, name, INPUT)
    full, shown = _amount(tree["full"], f"full of {name}", None) if "full" in tree else (1.0, None)
    least, most = (
        _plain(tree.get(key, usual), f"{key} of {name}")
        for key, usual in (("at_least", float("-inf")), ("at_most", float("inf")))
    )
    activate, back = (tree.get(key) for key in ("activate", "read_back"))
    to = _word(tree, "to", name)
    return Input(to, _unit(tree, name), full, shown, activate, back, least, most)


def _output(name: str, entry: Any) -> Output:
    tree = _mapping({"from": entry} if isinstance(entry, str) else entry, name, OUTPUT)
    full, shown = _amount(tree["full"], f"full of {name}", None) if "full" in tree else (1.0, None)
    deviation = _amount(tree.get("deviation", 0.0), f"deviation of {name}", None)[0]
    source, mean = _word(tree, "from", name), tree.get("mean") in (True, "yes")
    return Output(source, _unit(tree, name), full, shown, mean, deviation)


def _word(tree: Mapping[str, Any], key: str, name: str) -> str:
    if not isinstance(tree.get(key), str):
        raise _EntryError(
            f"{name} does not say {key} which variable", f"{key}: NAME", repr(tree)[:80]
        )
    return str(tree[key])


def _unit(tree: Mapping[str, Any], name: str) -> str | None:
    if "unit" not in tree:
        return None
    try:
        return str(parse_unit(str(tree["unit"])))
    except UnitError as error:
        raise _EntryError(f"{name}: {error}", "a unit as W", str(tree["unit"])) from None


def _plain(value: Any, what: str) -> float:
    if isinstance(value, bool | int | float):
        return float(value)
    raise _EntryError(f"{what} is no number", "a number as the plant has it", repr(value)[:80])


def _amount(value: Any, what: str, unit: str | None) -> tuple[float, str | None]:
    """Return a quantity as number and unit; in a unit, where one is wanted."""
    expected = f"a quantity in {unit}" if unit else "a quantity as 10 kW"
    try:
        found = pieces(str(value), Conventions())
        one = found[0]
        if len(found) != 1 or not isinstance(one, Quantity):
            raise _EntryError(f"{what} is no quantity", expected, str(value))
        if unit is None or one.unit is None:
            return one.number, None if one.unit is None else str(one.unit)
        return convert(one.number, one.unit, parse_unit(unit)), unit
    except (FormError, UnitError) as error:
        said = error.message if isinstance(error, FormError) else str(error)
        raise _EntryError(f"{what}: {said}", expected, str(value)) from None


def duration(text: str, what: str) -> float:
    """Return a time as people write it, in seconds.

    Raises
    ------
    InputError
        When it is none.
    """
    try:
        return _amount(text, what, "s")[0]
    except _EntryError as wrong:
        raise InputError(wrong.message, found=wrong.found, expected=wrong.expected) from None


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
        self._in = {n: self._wire(n, e.to, e) for n, e in signals.inputs.items()}
        self._out = {n: self._wire(n, e.source, e) for n, e in signals.outputs.items()}
        for entry in signals.inputs.values():
            for other in (entry.activate, entry.read_back):
                if other is not None:
                    self._known(other)
        self.signals = {
            **{name: Signal(w.unit, "action", self._at_rest(w)) for name, w in self._in.items()},
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

    def _wire(self, name: str, other: str, entry: Input | Output) -> _Wire:
        unit = entry.unit or self._known(other).unit
        shown = entry.shown or ours(unit)
        if entry.shown is not None:
            return _Wire(other, shown, 1.0 / entry.full, 0.0)
        try:
            return _Wire(other, shown, *between(shown, unit))
        except UnitError as error:
            raise InputError(f"{name}: {error}", expected="the unit of the variable") from None

    def _at_rest(self, wire: _Wire) -> float | None:
        known = self.plant.signals[wire.other].default
        return None if known is None else (known - wire.shift) / wire.factor

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
            sent[wire.other] = min(max(theirs, entry.least), entry.most)
            if entry.activate is not None:
                sent[entry.activate] = 1.0
        found = self.plant.step(sent)
        self.steps += 1
        for name in inputs:
            entry, wanted = self.file.inputs[name], sent[self._in[name].other]
            if entry.read_back is not None:
                acts = found[entry.read_back]
                if abs(acts - wanted) > ACTS * max(abs(acts), abs(wanted), ACTS):
                    count = self.faults.get(entry.to, (0, 0.0, 0.0))[0]
                    self.faults[entry.to] = (count + 1, wanted, acts)
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
            back = next(e.read_back for e in self.file.inputs.values() if e.to == name)
            yield (
                f"{name} does not act in {count} of {self.steps} steps: "
                f"sent {wanted:g}, {back} reads {acts:g}"
            )

    def close(self) -> None:
        """Close what runs behind it."""
        close: Callable[[], None] | None = getattr(self.plant, "close", None)
        if close is not None:
            close()


def open_fmu(path: Path, signals: Signals) -> Connected:
    """Return an FMU under the names of a file of signals."""
    from engiagent.environment.fmu import Fmu

    entries = signals.inputs.values()
    read = [e.source for e in signals.outputs.values()]
    read += [e.read_back for e in entries if e.read_back is not None]
    unit = Fmu(
        path,
        kind=signals.kind,  # type: ignore[arg-type]
        start=signals.start_time or 0.0,
        warmup=signals.warmup,
        communication=signals.communication_step,
        parameters=signals.parameters,
        held=signals.held,
        watched=read,
        averaged=[e.source for e in signals.outputs.values() if e.mean],
    )
    odd = [e.to for e in entries if unit.signals.get(e.to, Signal("1", "state")).role != "action"]
    if odd:
        known = [name for name, signal in unit.signals.items() if signal.role == "action"]
        raise EngiagentError(f"{path.name}: {odd[0]} is no input; {nearest(odd[0], known)} is one")
    return Connected(unit, signals)

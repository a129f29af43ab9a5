"""What runs, and what drives it: modules that are initialised, reset and stepped.

A site of our own physics, an FMU and whatever comes next answer the same three calls, so that a
controller, a recorder or a closed loop does not know which of them it drives. Controllers and
disturbances, which set the inputs of a plant, answer them as well.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, Literal, Protocol

from engiagent.errors import EngiagentError, InputError
from engiagent.io.plainyaml import loads_yaml
from engiagent.plant.source import FormError
from engiagent.plant.values import Quantity, pieces
from engiagent.units.unit import UnitError, conversion, parse_unit
from engiagent.units.words import Conventions

Role = Literal["action", "disturbance", "state", "observation"]
Values = Mapping[str, float]
ZERO = 273.15
"""0 degC in kelvin."""


@dataclass(frozen=True)
class Signal:
    """A named signal."""

    unit: str  # of its values
    # ``action`` and ``disturbance`` are inputs of a step, ``state`` belongs to instants,
    # ``observation`` is the mean of a period or, from a plant that is not ours, a sample
    role: Role
    # of an input: its value where none is given; None when one has to be given
    default: float | None = None
    # lower, upper: between which it has a meaning
    lower: float = float("-inf")
    upper: float = float("inf")


class Runs(Protocol):
    """A plant that runs in steps."""

    @property
    def signals(self) -> Mapping[str, Signal]:
        """All signals by name."""
        ...

    def initialize(self, seconds: float) -> None:
        """Set the length of all steps. [s]."""

    def reset(self, initial: Values | None = None, seed: int = 0) -> dict[str, float]:
        """Return to the first instant; ``initial`` replaces states, ``seed`` is that of chance."""
        ...

    def step(self, inputs: Values) -> dict[str, float]:
        """Advance by a step and return what is known at its end: states and observations."""
        ...


@dataclass(frozen=True)
class Moment:
    """What a controller or a disturbance knows at the start of a step."""

    # step, seconds: the number of the step from 0, and the length of all of them. [s]
    step: int
    seconds: float
    clock: float  # seconds since midnight at its start, by the clock on the wall
    # the last value of every signal that is known: states as they are now, observations of the step
    # before, disturbances of this one where something gives them
    seen: Values


class Drives(Protocol):
    """What sets inputs of a plant: a controller, or a disturbance as weather and occupancy.

    Those that remember nothing inherit the first two calls.
    """

    def initialize(self, seconds: float) -> None:
        """Take the length of all steps. [s]."""
        return

    def reset(self, seed: int = 0) -> None:
        """Return to what it was before the first step; ``seed`` is that of chance."""
        return

    def step(self, now: Moment) -> Values:
        """Return the values of inputs in a step; those that it leaves out keep their defaults."""
        ...


Controller = Drives | Callable[[Moment], Values]
"""A function that remembers nothing is one as well."""


CALLS: Final = ("initialize", "reset", "step")


def driving(part: Any) -> Drives:
    """Return a controller or a disturbance with its three calls; InputError names what it lacks."""
    lacking = [name for name in CALLS if not callable(getattr(part, name, None))]
    found = "a class" if isinstance(part, type) else f"no {', '.join(lacking)}"
    if found == "no ":
        driver: Drives = part
        return driver
    if callable(part) and len(lacking) == len(CALLS) and not isinstance(part, type):
        calls = {"initialize": lambda seconds: None, "reset": lambda seed=0: None, "step": part}
        return SimpleNamespace(**calls, function=part)
    said = f"{getattr(part, '__name__', type(part).__name__)} cannot set inputs"
    expected = "an object with initialize, reset and step, or a function of the moment"
    raise InputError(said, found=found, expected=expected)


def between(source: str, target: str) -> tuple[float, float]:
    """Return factor and shift from one unit to another, where a K may be a temperature.

    Simulators write absolute temperatures in K, which elsewhere are differences.

    Examples
    --------
    >>> between("K", "degC"), between("W", "kW")
    ((1.0, -273.15), (0.001, 0.0))
    """
    given, wanted = parse_unit(source), parse_unit(target)
    kelvin = parse_unit("K")
    if given.is_point == wanted.is_point or kelvin not in (given, wanted):
        return conversion(given, wanted)
    factor, shift = conversion(*(parse_unit("degC") if u == kelvin else u for u in (given, wanted)))
    return (factor, shift - factor * ZERO) if given == kelvin else (factor, shift + ZERO)


def element_name(name: str, label: str) -> str:
    """Return the name of an element, as ``house.air.temperature`` of ``house.temperature``."""
    if not label:
        return name
    owner, _, word = name.rpartition(".")
    return f"{owner}.{label}.{word}"


def ours(unit: str) -> str:
    """Return the unit in which a signal of a simulator is shown: degC, kW and kWh for SI units."""
    return {"W": "kW", "J": "kWh", "K": "degC"}.get(unit, unit or "1")


def amount(value: Any, what: str, unit: str | None = None) -> tuple[float, str | None]:
    """Return a quantity as number and unit; in a unit, where one is wanted.

    Raises InputError when it is none, or of another dimension.
    """
    try:
        found = pieces(str(value), Conventions())
        one = found[0] if len(found) == 1 else None
        if not isinstance(one, Quantity):
            raise FormError("no quantity")
        if one.unit is None or unit is None:
            return one.number, unit if one.unit is None else str(one.unit)
        factor, shift = between(str(one.unit), unit)
        return factor * one.number + shift, unit
    except (FormError, UnitError) as error:
        said = error.message if isinstance(error, FormError) else str(error)
        expected = f"a quantity in {unit}" if unit else "a quantity as 10 kW"
        raise InputError(f"{what}: {said}", found=str(value), expected=expected) from None


def read_yaml(path: Path) -> Any:
    """Return the plain values of a file; InputError when it cannot be read, or is no YAML."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read it: {error}", str(path)) from None
    return loads_yaml(text, path.name)


def is_place(place: str) -> bool:
    """Return whether this is no file but a place in a module, as ``module:name``, or simulator."""
    return ":" in place and not Path(place).exists()


def imported(place: str, expected: str) -> Any:
    """Return what stands at ``module:name``, of a class an object; InputError if there is none."""
    module, _, name = place.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"there is no plant or rule {place}: {error}", expected=expected) from None
    with of_user(found):
        return found() if isinstance(found, type) else found


@contextmanager
def of_user(part: Any) -> Iterator[None]:
    """Say which function or object of the user an error is of, in whatever it stands."""
    for within in ("function", "plant", "plant"):
        part = getattr(part, within, part)
    own = part if hasattr(part, "__name__") else type(part)
    try:
        yield
    except Exception as error:
        if isinstance(error, EngiagentError) or own.__module__.startswith("engiagent."):
            raise
        raise InputError(f"{own.__name__} raised {type(error).__name__}: {error}") from error


def numbers_of(answer: Mapping[str, Any]) -> dict[str, float]:
    """Return what a part answers by name as numbers; InputError for what is none."""
    found = {}
    for name, value in dict(answer).items():
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise InputError(f"{name} is set to no number", found=repr(value), expected="a number")
        found[name] = number
    return found


@contextmanager
def quiet() -> Iterator[None]:
    """Let packages that are older than what they rest on warn in vain."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield

"""What components take and give, each in a file of slots beside this module.

A file holds no equation. It says under which names, in which units and within which ranges a
component is described, and which modules have its algebra and its execution::

    summary: burns fuel that nobody takes
    connections: {fuel_bus: from which it burns}
    slots:
      power_max: {unit: kW, kind: series, required: true, at_least: 0, meaning: largest flow}
    quantities:
      burnt: kW decision

``name: group`` takes a slot from a group of ``shared.yaml`` and ``+group:`` all of a group. What
stands under ``checker`` may be given in the ``dynamics`` of requirements, not in a component.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, Literal

from engiagent.errors import InputError
from engiagent.units.unit import parse_unit

FOLDER: Final = Path(__file__).parent
SHARED: Final = "shared"


@dataclass(frozen=True)
class Slot:
    """A parameter of a component."""

    unit: str  # in which a bare number is read and the model takes it
    # ``number`` stays over time, ``series`` may change with the period, ``table`` is numbers in
    # brackets or a parameter over a set
    kind: Literal["number", "series", "table"] = "number"
    required: bool = False  # whether a component has to have it
    # its range; a value outside is refused wherever it is known before data files are read
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    default: float | str | None = None  # what holds when it is not given: a number, or words
    meaning: str = ""
    # units of other dimensions in which it may be given instead, as fuel by litres, by mass or by
    # energy; those of one component belong together by their places
    also: tuple[str, ...] = ()
    # words of which a text has to have one for its reader to be shown the slot, and what follows
    # from it; empty for what every reader is shown
    topics: tuple[str, ...] = ()

    @property
    def series(self) -> bool:
        """Whether it may change with the period."""
        return self.kind == "series"

    @property
    def table(self) -> bool:
        """Whether it holds several numbers."""
        return self.kind == "table"

    @property
    def number(self) -> float | None:
        """The default, where it is a number."""
        return None if self.default is None or isinstance(self.default, str) else self.default

    @property
    def usual(self) -> str:
        """The default in words, empty where there is none."""
        if isinstance(self.default, bool):
            return str(self.default).lower()
        return f"{self.default:g}" if isinstance(self.default, int | float) else self.default or ""

    @property
    def wanted(self) -> str:
        """What may stand in it, for messages."""
        return "a number" if self.unit == "1" else f"a value in {self.unit}"

    @property
    def range(self) -> str:
        """The range with its unit, for messages; empty where there is none."""
        limits = [f"above {self.above:g}"] if self.above is not None else []
        limits += [f"at least {self.at_least:g}"] if self.at_least is not None else []
        limits += [f"at most {self.at_most:g}"] if self.at_most is not None else []
        return ", ".join(limits) + ("" if self.unit == "1" or not limits else f" {self.unit}")

    def allows(self, number: float) -> bool:
        """Whether a number in the slot's unit is within its range."""
        return (
            (self.at_least is None or number >= self.at_least)
            and (self.above is None or number > self.above)
            and (self.at_most is None or number <= self.at_most)
        )

    def counts(self, unit: str) -> int | None:
        """Return the place of a value's unit among those that are possible, None if at none."""
        given = parse_unit(unit).dimension
        dimensions = [parse_unit(own).dimension for own in (self.unit, *self.also)]
        return dimensions.index(given) if given in dimensions else None

    def counted(self, place: int) -> "Slot":
        """Return the slot in the unit at a place alone."""
        units = (self.unit, *self.also)
        return replace(self, unit=units[place], also=()) if self.also else self

    def in_currency(self, currency: str) -> "Slot":
        """Return the slot with prices in a currency."""
        return replace(self, unit=self.unit.replace("EUR", currency))


@dataclass(frozen=True)
class Quantity:
    """A series of a component."""

    unit: str  # in which it is built, and read where a schedule names none
    # ``decision`` is an input when a plan is executed, ``state`` belongs to instants and is
    # recomputed, ``result`` follows from decisions of the same period; empty for what only the
    # algebra has
    kind: str = ""


@dataclass(frozen=True)
class Component:
    """What a component takes and gives."""

    name: str
    summary: str  # what it is, in a line
    group: str = "Others"  # its place on the page of components
    note: str = ""  # what a user has to know
    problem_class: str = "LP"  # of its algebra: on what its class depends
    leaves_out: str = ""  # which physics is not in its algebra
    executed_by: str = ""  # the simulation whose states a plan's equal, in ``engiagent.models``
    # the modules of ``formulations/components`` and ``verify/plants`` that have it, by default of
    # its own name; ``none`` where there is none
    algebra: str = ""
    execution: str = ""
    connections: Mapping[str, str] = field(default_factory=dict)  # by name with the meaning
    # an option with the words that it may be, its default first, where it is one of several
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    slots: Mapping[str, Slot] = field(default_factory=dict)
    quantities: Mapping[str, Quantity] = field(default_factory=dict)
    # what the checker takes and gives beyond that: ``connections``, ``slots``, ``quantities``;
    # ``optional`` are slots that it can do without, because the plan has them or has no limit
    checker: Mapping[str, Any] = field(default_factory=dict)

    def slots_in(self, currency: str) -> Mapping[str, Slot]:
        """Return the slots with prices in a currency."""
        return {name: slot.in_currency(currency) for name, slot in self.slots.items()}

    @cached_property
    def executed_slots(self) -> Mapping[str, Slot]:
        """The slots as the checker takes them."""
        optional = self.checker.get("optional", ())
        own = {
            name: replace(slot, required=False, default=None) if name in optional else slot
            for name, slot in self.slots.items()
        }
        return {**own, **self.checker.get("slots", {})}

    @cached_property
    def executed_series(self) -> Mapping[str, Quantity]:
        """The quantities that the checker knows."""
        known = {**self.quantities, **self.checker.get("quantities", {})}
        return {name: quantity for name, quantity in known.items() if quantity.kind}


class Catalogue(Mapping[str, Component]):
    """Components by name, in alphabetical order; a file is read when it is asked for."""

    def __init__(self, has: Callable[[Component], bool] = lambda component: True) -> None:
        self._has = has

    def __getitem__(self, name: str) -> Component:
        if name not in _names() or not self._has(component(name)):
            raise KeyError(name)
        return component(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name in _names() if self._has(component(name)))

    def __len__(self) -> int:
        return sum(1 for _ in self)


COMPONENTS: Final = Catalogue()


@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml") if path.stem != SHARED))


@cache
def component(name: str) -> Component:
    """Return a component; InputError where its file is not what Component and Slot are."""
    tree = _load(name)
    if isinstance(tree.get("checker"), Mapping):
        tree["checker"] = _typed(name, tree["checker"])
    try:
        return Component(**{"name": name, "algebra": name, "execution": name, **_typed(name, tree)})
    except TypeError as error:
        raise InputError(f"no component: {error}", f"{name}.yaml") from None


def _typed(name: str, tree: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(tree)
    if "slots" in made:
        made["slots"] = dict(_slots(name, made["slots"]))
    if "quantities" in made:
        made["quantities"] = {
            word: Quantity(*str(text).split()) for word, text in made["quantities"].items()
        }
    if "options" in made:  # a list of names, or each with the words that it may be
        written = made["options"]
        words = written if isinstance(written, Mapping) else dict.fromkeys(written)
        made["options"] = {name: tuple(choices or ()) for name, choices in words.items()}
    return made


def _slots(name: str, written: Mapping[str, Any]) -> Iterator[tuple[str, Slot]]:
    """Yield slots that are written out, or taken from a group."""
    for key, entry in written.items():
        if key.startswith("+"):
            yield from _slots(name, _load(SHARED)[key[1:]])
        elif isinstance(entry, str):
            yield from _slots(name, {key: _load(SHARED)[entry][key]})
        else:
            odd = set(entry) - {f.name for f in fields(Slot)}
            if odd:
                known = ", ".join(f.name for f in fields(Slot))
                raise InputError(f"{key} has {', '.join(odd)}", f"{name}.yaml", expected=known)
            lists = {word: tuple(map(str, entry.get(word, ()))) for word in ("also", "topics")}
            yield key, Slot(**{**entry, "unit": str(entry["unit"]), **lists})


@cache
def _load(name: str) -> dict[str, Any]:
    from ruamel.yaml import YAML  # 20 ms that no command pays which has no component

    tree: dict[str, Any] = YAML(typ="safe").load(FOLDER / f"{name}.yaml")
    return tree


def yes_or_no(written: object) -> bool | None:
    """Return what ``true``, ``no``, 1 and their like stand for; None for anything else."""
    word = f"{written:g}" if isinstance(written, float) else str(written).strip().lower()
    return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(word)

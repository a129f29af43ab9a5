"""Which column of a schedule is which quantity: by mapping, by name, or by a name that is close."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import Final

from engiagent.blueprint.document import Blueprint, Core, VariableDef
from engiagent.blueprint.grammar import references
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import EngiagentError, InputError
from engiagent.verify.documents import Declarations
from engiagent.verify.foreign import PAIRS, Reading
from engiagent.verify.reading import Content
from engiagent.verify.requirements import Requirements
from engiagent.verify.vocabulary import SERIES, is_state

CLOSE: Final = 0.72
_SPELT: Final = {
    "ch": "charge",
    "chg": "charge",
    "charging": "charge",
    "dis": "discharge",
    "dch": "discharge",
    "disch": "discharge",
    "dischg": "discharge",
    "discharging": "discharge",
    "soc": "stateofcharge",
    "imp": "import",
    "buy": "import",
    "purchase": "import",
    "exp": "export",
    "sell": "export",
    "feedin": "export",
    "bat": "battery",
    "batt": "battery",
    "bess": "battery",
    "temp": "temperature",
    "heat": "heating",
    "cool": "cooling",
    "curt": "curtailed",
    "curtailment": "curtailed",
    "pel": "electricpower",
}
_UNITS_AND_SIGNS: Final = frozenset(["p", "e", "kw", "mw", "w", "kwh", "mwh", "power", "value"])


@dataclass(frozen=True)
class Known:
    """What the documents of a check speak of.

    Attributes
    ----------
    declarations
        Of the blueprint and of the requirements, as many as there are.
    variables
        The blueprint's, by name.
    quantities
        All dotted names that the documents use.
    units
        By quantity the unit that its declared model has it in.
    """

    declarations: tuple[Declarations, ...] = ()
    variables: Mapping[str, VariableDef] = field(default_factory=dict)
    quantities: frozenset[str] = frozenset()
    units: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def by_quantity(self) -> dict[str, VariableDef]:
        """The variables that carry a quantity."""
        return {v.quantity: v for v in self.variables.values() if v.quantity is not None}

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name that a column may have."""
        return frozenset(self.variables) | frozenset(self.by_quantity) | self.quantities

    @cached_property
    def _plain(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for name in self.names:
            definition = self.definition(name)
            full = definition.quantity or definition.name if definition is not None else name
            found.setdefault(_squeezed(name), set()).add(full)
        return found

    def definition(self, name: str) -> VariableDef | None:
        """Return the variable of a name or a quantity."""
        return self.variables.get(name) or self.by_quantity.get(name)

    def declared(self, core: Core) -> Declarations:
        """Return the declarations of one of the documents, which are read once for a check."""
        return next(declarations for declarations in self.declarations if declarations.core is core)

    def dims(self, definition: VariableDef) -> tuple[IndexSet, ...]:
        """Return the sets of a variable; none where they cannot be read, which others will say."""
        for declarations in self.declarations:
            if any(v is definition for v in declarations.core.decision_variables):
                try:
                    return declarations.dims(definition.index)[0]
                except EngiagentError:
                    return ()
        return ()

    def time_sets(self) -> list[IndexSet]:
        """Return the time sets of all documents."""
        found = []
        for declarations in self.declarations:
            try:
                found += [s for s in declarations.sets.values() if s.kind == "time"]
            except EngiagentError:
                continue
        return found

    def full_name(self, name: str) -> str:
        """Return what a column's name stands for: itself, another spelling, or a last word.

        ``charge`` stands for ``battery.charge`` where no other quantity ends in it, and so does
        ``Battery charge`` for any but a variable of that very name.
        """
        if name in self.names:
            return name
        spelt = self._plain.get(_squeezed(name), set())
        if len(spelt) == 1:
            return next(iter(spelt))
        ending = {q for q in (*self.by_quantity, *self.quantities) if _last(q) == name}
        return next(iter(ending)) if len(ending) == 1 and "." not in name else name


def known_of(
    blueprint: Blueprint | None, requirements: Requirements | None, folder: Path | None
) -> Known:
    """Return what a blueprint and annotated requirements speak of."""
    texts: list[str] = []
    units: list[tuple[str, str]] = []
    documents: list[Core] = []
    variables: dict[str, VariableDef] = {}
    if blueprint is not None:
        documents.append(blueprint.core)
        variables = {v.name: v for v in blueprint.core.decision_variables}
        units += [(c.name, c.model) for c in blueprint.core.components]
    if requirements is not None:
        documents.append(requirements.core)
        texts += [r.expression for r in requirements.requirements]
        texts += [requirements.objective.expression] if requirements.objective is not None else []
        units += [(d.name, d.model) for d in requirements.dynamics]
    quantities = {q for text in texts for q in _quantities(text)}
    own: dict[str, str] = {}
    for name, model in units:
        for word, meaning in SERIES.get(model, {}).items():
            by_zone = f"zone.{name}.{word}"
            own[by_zone if by_zone in quantities else f"{name}.{word}"] = meaning.unit
    declarations = tuple(Declarations(core, folder) for core in documents)
    return Known(declarations, variables, frozenset({*quantities, *own}), own)


def _quantities(text: str) -> Iterator[str]:
    try:
        yield from (ref.name for ref in references(text) if "." in ref.name)
    except EngiagentError:
        return  # the level that needs the expression says what is wrong with it


@dataclass(frozen=True)
class Source:
    """Where a quantity comes from: a column, and whether its sign is turned."""

    target: str
    column: str
    turned: bool = False


def sources(reading: Reading, content: Content) -> list[Source]:
    """Return what the mapping says, every column of it being there.

    Raises
    ------
    InputError
        For a column that is not there, naming those that are and the nearest.
    """
    found = []
    for target, written in reading.mapping.items():
        name, turned = written, False
        if name not in content.columns and name.startswith("-"):
            name, turned = name[1:].strip(), True
        if name in content.faults:
            raise content.faults[name]
        if name not in content.columns:
            near = closest(name, content.columns)
            hint = f"; did you mean {near!r}?" if near is not None else ""
            raise InputError(
                f"the mapping names the column {name!r}{hint}",
                "the schedule",
                expected=f"one of {', '.join(content.columns) or 'none: it has no columns'}",
            )
        found.append(Source(target, name, turned))
    return found


def net_parts(target: str, reading: Reading) -> tuple[str, str] | None:
    """Return what positive and negative values of a net quantity are; None for any other one.

    Raises
    ------
    InputError
        For a ``battery.net`` of which nobody says what its positive values are.
    """
    owner, _, word = target.rpartition(".")
    prefix = f"{owner}." if owner else ""
    if word == "net":
        if reading.positive is None:
            raise InputError(
                f"{target} does not say what its positive values are",
                expected=f"{prefix}net_charge or {prefix}net_discharge, or --positive charge",
            )
        word = f"net_{reading.positive}"
    into = word.removeprefix("net_")
    if into == word or into not in PAIRS:
        return None
    return f"{prefix}{into}", f"{prefix}{PAIRS[into]}"


def suggestions(unused: Iterable[str], absent: Iterable[str]) -> list[str]:
    """Return which unused column may be which absent quantity, best first, each column once."""
    wanted = sorted(absent, key=lambda name: (is_state(name), name))
    scored = sorted(
        ((_closeness(column, name), column, name) for column in sorted(unused) for name in wanted),
        key=lambda item: (-item[0], item[1], item[2]),
    )
    said: list[str] = []
    taken: set[str] = set()
    for score, column, name in scored:
        if score >= CLOSE and column not in taken and name not in taken:
            taken |= {column, name}
            said.append(f"--map {name}={column}")
    return said


def closest(name: str, others: Iterable[str]) -> str | None:
    """Return the nearest of some names, None when none is near."""
    best = max(others, key=lambda other: _closeness(name, other), default=None)
    return best if best is not None and _closeness(name, best) >= CLOSE else None


def _closeness(a: str, b: str) -> float:
    """Return 1 for names that say the same, 0 for names without a letter in common."""
    first, second = (_words(name) for name in (a, b))
    if first and second and (first <= second or second <= first):
        return 0.95
    plain = SequenceMatcher(None, _squeezed(a), _squeezed(b)).ratio()
    last = SequenceMatcher(None, _squeezed(a), _squeezed(_last(b))).ratio()
    return max(plain, 0.97 * last if len(_squeezed(a)) > 3 else 0.0)


def _words(name: str) -> frozenset[str]:
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    words = [w for w in re.split(r"[^a-z0-9]+", apart.lower()) if w]
    joined = "".join(words)
    found = {_SPELT.get(word, word) for word in words} - _UNITS_AND_SIGNS
    if "stateofcharge" in joined:
        found = (found - {"state", "of", "charge"}) | {"stateofcharge"}
    return frozenset(found)


def _squeezed(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _last(name: str) -> str:
    return name.rpartition(".")[2]

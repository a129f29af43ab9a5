"""Which column of a schedule is which quantity: by its name, or by another spelling of it."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Final

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elements import Core, VariableDef
from engiagent.blueprint.grammar import references
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import EngiagentError
from engiagent.units.headers import split_header
from engiagent.verify.documents import Declarations
from engiagent.verify.requirements import Requirements
from engiagent.verify.vocabulary import SERIES

NEAREST: Final = 0.6
"""How alike names are of which one is proposed for the other."""


@dataclass(frozen=True)
class Known:
    """What the documents of a check speak of.

    The declarations of blueprint and requirements, the blueprint's variables by name, all dotted
    names in use, and by quantity the unit that its declared model has it in.
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
    def _spelt(self) -> dict[str, set[str]]:
        """By letters and digits the names that are spelt with them."""
        found: dict[str, set[str]] = {}
        for name in self.names:
            definition = self.definition(name)
            full = definition.quantity or definition.name if definition is not None else name
            found.setdefault(squeezed_name(name), set()).add(full)
        return found

    def definition(self, name: str) -> VariableDef | None:
        """Return the variable of a name or a quantity."""
        return self.variables.get(name) or self.by_quantity.get(name)

    def declared(self, core: Core) -> Declarations:
        """Return the declarations of one of the documents, which are read once for a check."""
        return next(declarations for declarations in self.declarations if declarations.core is core)

    def dims(self, definition: VariableDef) -> tuple[IndexSet, ...]:
        """Return the sets of a variable; none where they cannot be read, which others will say."""
        declarations = self._declaring.get(id(definition))
        try:
            return () if declarations is None else declarations.dims(definition.index)[0]
        except EngiagentError:
            return ()

    @cached_property
    def _declaring(self) -> dict[int, Declarations]:
        """The declarations to which a variable belongs, by its identity."""
        pairs = [(d, v) for d in self.declarations for v in d.core.decision_variables]
        return {id(v): d for d, v in reversed(pairs)}

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
        """Return what a column's name stands for: itself, or what has the same letters and digits.

        Columns that differ in the unit alone have it in their names.
        """
        for words in dict.fromkeys((name, split_header(name).name)):
            if words in self.names:
                return words
            found = self._spelt.get(squeezed_name(words), set())
            if len(found) == 1:
                return next(iter(found))
        return name


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
    for item in () if blueprint is None else blueprint.core.expressions:
        if item.quantity in own and item.unit is not None:  # as fuel, which may be in kg or kWh
            own[item.quantity] = item.unit
    declarations = tuple(Declarations(core, folder) for core in documents)
    return Known(declarations, variables, frozenset({*quantities, *own}), own)


def _quantities(text: str) -> Iterator[str]:
    try:
        yield from (ref.name for ref in references(text) if "." in ref.name)
    except EngiagentError:
        return  # the level that needs the expression says what is wrong with it


def proposed_map(unused: Iterable[str], absent: Sequence[str]) -> str:
    """Return the options of a map from absent quantities to unused columns with near names.

    Where no name is near, those of the first quantities for the user to fill in.
    """
    free = {squeezed_name(column): column for column in sorted(unused)}
    pairs = []
    for name in absent:
        for spelt in (squeezed_name(name), squeezed_name(name.rpartition(".")[2])):
            near = get_close_matches(spelt, list(free), 1, NEAREST)
            if near:
                pairs.append(f"--map {quote(f'{name}={free.pop(near[0])}')}")
                break
    return " ".join(pairs or [f"--map {name}=COLUMN" for name in absent[:3]])


def squeezed_name(name: str) -> str:
    """Return the letters and digits of a name: how it is compared with other spellings."""
    return re.sub(r"[\W_]", "", name.lower())

"""Which names follow the chosen parameters, and where these may not stand."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic
from engiagent.blueprint.document import Core, ParameterDef, VariableDef
from engiagent.blueprint.elaborate import PATH, Elaboration
from engiagent.blueprint.grammar import ExpressionError, Node, Ref, parse, walk
from engiagent.blueprint.indexing import Table
from engiagent.errors import EngiagentError

Floats = npt.NDArray[np.float64]
STRUCTURE = "structure"
"""The code of diagnostics about parameters that shape the program."""


class StructureError(EngiagentError):
    """A parameter shapes the program, so that new numbers in old places are not enough."""


def shapes(name: str, column: int = 1) -> ExpressionError:
    """Return the error of a parameter that stands where it decides on structure."""
    return ExpressionError(
        f"{name} decides here which rows and columns there are",
        column,
        "ask for structure='recompile', or leave it out of the parameters that change",
        STRUCTURE,
    )


def structural(error: BlueprintError) -> StructureError | BlueprintError:
    """Return the error to raise for a failed compilation."""
    if not any(d.code == STRUCTURE for d in error.diagnostics):
        return error
    found = [str(d).removeprefix(f"{STRUCTURE} ") for d in error.diagnostics if d.code == STRUCTURE]
    return StructureError("\n".join(found))


def dependents(core: Core, names: frozenset[str]) -> tuple[str, ...]:
    """Return the parameters computed from some others, in an order in which they can be."""
    uses = {
        p.name: names_in(p.value) - {p.name}
        for p in core.parameters
        if isinstance(p.value, str) and (p.type or "number") == "number"
    }
    found: list[str] = []
    reached = set(names)
    while True:
        more = [n for n, used in uses.items() if n not in reached and used & reached]
        if not more:
            return tuple(_ordered(found, uses))
        found += more
        reached |= set(more)


def _ordered(found: list[str], uses: Mapping[str, set[str]]) -> Iterator[str]:
    left = list(found)
    while left:
        ready = [name for name in left if not uses[name] & set(left)]
        yield from ready or left
        left = [name for name in left if ready and name not in ready]


def names_in(text: object) -> set[str]:
    """Return the names in an expression; nothing for numbers and for what cannot be read."""
    if not isinstance(text, str):
        return set()
    try:
        return {node.name for node in walk(parse(text)) if isinstance(node, Ref)}
    except ExpressionError:
        return set()  # whoever compiles it says what is wrong


class GivenElaboration(Elaboration):
    """An elaboration in which some parameters have given values.

    While it is guarded, what follows from them can be had by nobody but the compiler itself.

    Parameters
    ----------
    given
        Values in the parameters' own units, each of the shape of its sets.
    guarded
        Names of parameters that only forms may use.
    """

    def __init__(
        self,
        core: Core,
        folder: Path | None,
        given: Mapping[str, Floats],
        guarded: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(core, folder)
        self._given = given
        self._guarded = guarded
        self._is_open = False

    @contextmanager
    def open(self) -> Iterator[None]:
        """Let the current values of guarded parameters be used."""
        before, self._is_open = self._is_open, True
        try:
            yield
        finally:
            self._is_open = before

    def table(self, name: str) -> Table:
        """Return the values of a parameter; refuse a guarded one."""
        if name in self._guarded and not self._is_open:
            raise shapes(name)
        return super().table(name)

    def _build_table(self, d: ParameterDef) -> Table:
        if d.name not in self._given:
            return super()._build_table(d)
        sets = tuple(self.index_set(b.set) for b in self.binders(d.index))
        return Table(np.array(self._given[d.name], dtype=np.float64), sets)


def refuse_in_variables(core: Core, reached: frozenset[str]) -> None:
    """Refuse parameters in what decides which elements a variable has.

    Raises
    ------
    BlueprintError
        With the structural places found.
    """
    found = []
    for position, variable in enumerate(core.decision_variables):
        for field, text in _places(variable):
            for name in sorted(names_in(text) & reached):
                error = shapes(name)
                path = f"{PATH}.decision_variables[{position}].{field}"
                found.append(
                    Diagnostic(
                        STRUCTURE,
                        "error",
                        path,
                        error.message,
                        None,
                        error.suggestion,
                        variable.name,
                    )
                )
    if found:
        raise BlueprintError(found)


def _places(variable: VariableDef) -> Iterator[tuple[str, object]]:
    yield "where", variable.where
    initial = variable.initial
    for item in initial if isinstance(initial, tuple) else (initial,):
        yield "initial", item
    if variable.type in ("binary", "semicontinuous"):
        yield "lower", variable.lower
        yield "upper", variable.upper


def refuse(node: Node, reached: frozenset[str]) -> None:
    """Refuse a node that decides on structure and names a parameter that changes."""
    for part in walk(node):
        if isinstance(part, Ref) and part.name in reached:
            raise shapes(part.name, part.span[0] + 1)

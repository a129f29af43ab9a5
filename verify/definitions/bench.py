"""A blueprint of definitions together with the numbers that somebody computed for it, in SI."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from engiagent.blueprint.document import Core, DefinitionDef, DrawDef, EquationDef
from engiagent.blueprint.grammar import Node, parse_binder
from engiagent.blueprint.sets import IndexSet
from engiagent.errors import InputError
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify import arithmetic, values
from engiagent.verify.documents import Declarations
from engiagent.verify.evaluate import Evaluator
from engiagent.verify.frames import Bools, Elements, Environment, EvaluationError, Frame, Symbol
from engiagent.verify.places import Places, located
from engiagent.verify.values import Floats, Ints, Value

NEAR = 1e-9
"""A decision this close to its limit, relative to its terms, may fall the other way."""


class DecisionEvaluator(Evaluator):
    """Evaluates computed answers in SI units: conditions may look at values.

    ``close_calls``: how many comparisons of values fell within rounding of their limit without
    meeting it.
    """

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self.places = _Places(environment, self.number)
        self.close_calls = 0

    def number(self, node: Node, frame: Frame) -> Value:
        """Return the numbers of a node, one per row."""
        value = super().number(node, frame)
        if self.faults:
            raise EvaluationError(self.faults[0].text)
        return value

    def _compare(self, op: str, left: Node, right: Node, frame: Frame) -> Bools:
        result = super()._compare(op, left, right, frame)
        if self._are_numbers((left, right), frame):
            a, b = arithmetic.align([self._clock_or_number(p, frame) for p in (left, right)])
            gap = np.abs(a.data - b.data)
            near = (gap > 0.0) & (gap <= NEAR * (a.size + b.size))
            self.close_calls += int(near.sum())
        return result


class _Places(Places):
    """Index positions, where an instant may name the period that begins there."""

    def positions(self, node: Node, index_set: IndexSet, frame: Frame) -> Ints:
        """Return positions in ``index_set``; negative or beyond its size when outside."""
        found = self.element(node, frame, index_set)
        periods = found.set.root.periods_of
        if periods is None or periods is not index_set.root:
            return located(found, index_set)
        return located(Elements(periods, found.set.rooted(found.positions)), index_set)


Computed = DefinitionDef | EquationDef | DrawDef


def computed(core: Core) -> tuple[Computed, ...]:
    """Return everything that is computed: draws, definitions, equations."""
    return (*core.draws, *core.definitions, *core.equations)


@dataclass(frozen=True, eq=False)
class Answer:
    """Numbers by name as they were computed: values in ``unit`` over the dimensions in order."""

    values: Floats
    unit: str


def answers_of(results: Any) -> dict[str, Answer]:
    """Return the numbers of results, or of the dataset they were written to."""
    if hasattr(results, "series"):
        return {n: Answer(np.asarray(s.values), s.unit) for n, s in results.series.items()}
    if hasattr(results, "data_vars"):
        return {
            str(name): Answer(
                np.asarray(item.values, dtype=np.float64), str(item.attrs.get("units", "1"))
            )
            for name, item in results.data_vars.items()
        }
    raise InputError("these are no results", expected="Results or an xarray.Dataset")


class Bench:
    """Evaluates expressions over parameters, choices and what was computed.

    ``declarations``: sets and parameters. ``answers``: what was computed.
    """

    def __init__(self, declarations: Declarations, answers: Mapping[str, Answer]) -> None:
        self.declarations = declarations
        self.core: Core = declarations.core
        self.answers = answers
        self.symbols: dict[str, Symbol] = {}
        for item in computed(self.core):
            self.symbols[item.name] = self._symbol(item.name, self.sets_of(item))
        for choice in self.core.design.choices if self.core.design is not None else ():
            self.symbols[choice.name] = self._symbol(choice.name, ())

    def sets_of(self, item: Computed) -> tuple[IndexSet, ...]:
        """Return the sets of a computed quantity; those of a state end in instants."""
        dims, _ = self.declarations.dims(item.index)
        if isinstance(item, EquationDef):
            return (*dims[:-1], self.declarations.sets[item.instants])
        return dims

    def _symbol(self, name: str, dims: tuple[IndexSet, ...]) -> Symbol:
        answer = self.answers.get(name)
        if answer is None:
            raise InputError(f"{name} is not among the results", "the results")
        wanted = tuple(dim.size for dim in dims)
        if answer.values.shape != wanted:
            raise InputError(
                f"{name} has another shape",
                "the results",
                None,
                None,
                str(answer.values.shape),
                str(wanted),
            )
        if not np.isfinite(answer.values).all():
            raise InputError(f"{name} holds a value that is not finite", "the results")
        flat = np.asarray(answer.values, dtype=np.float64).reshape(-1)
        return Symbol(name, dims, values.constant(flat, parse_unit(answer.unit)))

    def sha256(self) -> str:
        """Return the hash of all numbers, by name."""
        digest = hashlib.sha256()
        for name in sorted(self.symbols):
            digest.update(name.encode() + b"\0")
            digest.update(np.ascontiguousarray(self.data(name).data, dtype="<f8").tobytes())
        return digest.hexdigest()

    def evaluator(self, changed: Mapping[str, Symbol] | None = None) -> DecisionEvaluator:
        """Return an evaluator, in which some symbols may stand for other numbers."""
        symbols = {**self.symbols, **(changed or {})}
        environment = Environment(self.declarations.sets, symbols, self.declarations.parameter)
        return DecisionEvaluator(environment)

    def frame(self, index: tuple[str, ...], where: str | None = None) -> Frame:
        """Return the rows of an index list, in the order in which its values are held."""
        binders = []
        for position, text in enumerate(index):
            spelled = text if " in " in text else f"i__{position} in {text}"
            parse_binder(spelled)
            binders.append(spelled)
        return self.evaluator().frame(tuple(binders), where)

    def data(self, name: str) -> Value:
        """Return the numbers of a computed name."""
        found = self.symbols[name].value
        assert found is not None
        return found


def in_unit(value: Value, unit: Unit) -> Value:
    """Return a value that was declared in a unit; a bare number takes it."""
    reference = Value(np.zeros(1), unit, np.zeros(1))
    return arithmetic.align([reference, value])[1]

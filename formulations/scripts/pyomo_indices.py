"""Indices and conditions of a blueprint as Python text for Pyomo scripts.

Every element of a set is its position, counted from 0 in the set that it was taken from; an
element of a tuple set is the tuple of its parts' positions.
"""

import builtins
from abc import ABC, abstractmethod
from typing import Any, Final

import numpy as np

from engiagent.blueprint.checked import ModelEvaluator, checked_variables
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.grammar import (
    Binary,
    Call,
    Compare,
    Logic,
    Members,
    Node,
    Number,
    Ref,
    Text,
    Unary,
)
from engiagent.blueprint.grid import EMPTY_GRID, Elements, Grid
from engiagent.blueprint.indexing import HALF_A_MILLISECOND
from engiagent.blueprint.sets import IndexSet
from engiagent.formulations.scripts.naming import Names

# The script's own names, and those that Pyomo keeps for itself in a model.
RESERVED: Final = frozenset(
    (
        *dir(builtins),
        "GOALS",
        "Matrix",
        "SOLVERS",
        "at_most_one",
        "best",
        "csv",
        "elements",
        "every",
        "flat",
        "inf",
        "main",
        "model",
        "nan",
        "np",
        "one",
        "optimum",
        "pyo",
        "relation",
        "rows",
        "rows_when",
        "sys",
        "_",
        "Skip",
        "activate",
        "active",
        "clear",
        "clone",
        "cname",
        "component",
        "config",
        "construct",
        "contains_component",
        "ctype",
        "deactivate",
        "dim",
        "display",
        "doc",
        "getname",
        "index",
        "index_set",
        "items",
        "iteritems",
        "iterkeys",
        "itervalues",
        "keys",
        "load",
        "local_name",
        "name",
        "nconstraints",
        "nobjectives",
        "nvariables",
        "objective",
        "parent_block",
        "pprint",
        "preprocess",
        "private_data",
        "reconstruct",
        "root_block",
        "set_value",
        "solutions",
        "statistics",
        "to_dense_data",
        "type",
        "values",
        "write",
    )
)


class UnsaidError(Exception):
    """What the script cannot say as it is written, and says by the compiled rows instead."""


class IndexPrinter(ABC):
    """Turns indices and conditions into Python text.

    Attributes
    ----------
    names
        The Python names of everything that was met.
    helpers
        Lookup lists that the printed text needs, as lines of Python by their name.
    """

    def __init__(self, elaboration: Elaboration) -> None:
        self.elaboration = elaboration
        self.names = Names(set(RESERVED))
        self.variables = {v.definition.name: v for v in checked_variables(elaboration)}
        self.evaluator = ModelEvaluator(elaboration, self.variables)
        self.helpers: dict[str, str] = {}

    @abstractmethod
    def expression(self, node: Node, scope: dict[str, IndexSet], outer: int = 0) -> str:
        """Return a numeric expression as Python."""

    def probability(self, scenarios: IndexSet, element: str) -> str:
        """Return the probability of a scenario that is an element of its root set."""
        return f"{self._list(scenarios.root, 'prob')}[{element}]"

    # -- indices and conditions -----------------------------------------------------------------

    def indices(
        self, node: Ref, sets: tuple[IndexSet, ...], scope: dict[str, IndexSet]
    ) -> list[str]:
        """Return the Python indices of a reference, one for each set of the symbol."""
        if len(node.indices) == len(sets):
            return [self.index(p, scope, s) for p, s in zip(node.indices, sets, strict=True)]
        texts, rest = [], node.indices
        for index_set in sets:
            count = len(index_set.root.factors) or 1
            factors = index_set.root.factors or (index_set,)
            pairs = zip(rest[:count], factors, strict=True)
            parts = [self.index(part, scope, factor) for part, factor in pairs]
            rest = rest[count:]
            texts.append(f"({', '.join(parts)})" if count > 1 else parts[0])
        return texts

    def index(self, node: Node, scope: dict[str, IndexSet], target: IndexSet) -> str:
        """Return an index expression as the element of ``target`` that it names."""
        if isinstance(node, Text | Number):
            elements = self.evaluator.index(node, EMPTY_GRID, target)
            return repr(element(target, int(elements.positions)))
        found = self._set_of(node, scope, target)
        if isinstance(node, Binary):
            base = self.index(node.left, scope, found)
            text = f"{base} {node.op} {self._offset(node.right, scope)}"
            to_edges = target.root.periods_of is found.root
            return f"({text}) % {found.root.size}" if found.root.cyclic and not to_edges else text
        text = self._element(node, scope)
        if found.root is target.root or target.root.periods_of is found.root:
            return text
        return self._mapped(text, found, target)

    def _element(self, node: Node, scope: dict[str, IndexSet]) -> str:
        """Return an element as a position in the root of its own set."""
        if isinstance(node, Call):
            if node.function == "at":
                return self._containing(node, scope)
            assert isinstance(node.args[0], Ref)
            name = self.names.of(node.args[0].name)
            return f"{name}[{0 if node.function == 'first' else -1}]"
        assert isinstance(node, Ref)
        if node.name in scope:
            return self.names.of(node.name)
        table = self.elaboration.table(node.name)
        keys = self.indices(node, table.sets, scope)
        return self.names.of(node.name) + subscript(keys, table.sets)

    def _containing(self, node: Call, scope: dict[str, IndexSet]) -> str:
        """Return the period of another time set in which an element lies, by a list of them."""
        here = self._set_of(node.args[0], scope).root
        target = self._set_of(node, scope)
        name = self.names.helper(f"{target.name}_at_{here.name}")
        if name not in self.helpers:
            grid = Grid(here.size, {"e": Elements(here, np.arange(here.size))})
            asked = Call(node.span, "at", (Ref(node.span, "e", ()), node.args[1]))
            found = self.evaluator.index(asked, grid)
            places = found.set.rooted(found.positions)
            self.helpers[name] = f"{name} = {compact(places.tolist())}"
        return f"{name}[{self.index(node.args[0], scope, here)}]"

    def _offset(self, node: Node, scope: dict[str, IndexSet]) -> str:
        if isinstance(node, Number):
            return str(int(node.value))
        return f"int({self.expression(node, scope)})"

    def _mapped(self, text: str, source: IndexSet, target: IndexSet) -> str:
        """Return an element of one set as the element of another with the same label."""
        mapping = source.root.map_to(target.root)
        if mapping is None:
            raise UnsaidError(f"elements of {source.name} in {target.name}")
        name = self.names.helper(f"{source.root.name}_in_{target.root.name}")
        self.helpers[name] = f"{name} = {mapping.tolist()}"
        return f"{name}[{text}]"

    def _set_of(
        self, node: Node, scope: dict[str, IndexSet], target: IndexSet | None = None
    ) -> IndexSet:
        """Return the set that an index expression runs over."""
        if isinstance(node, Binary):
            return self._set_of(node.left, scope, target).root
        if isinstance(node, Call):
            named = node.args[1 if node.function == "at" else 0]
            assert isinstance(named, Ref)
            return self.elaboration.index_set(named.name)
        if isinstance(node, Ref):
            if node.name in scope:
                return scope[node.name]
            element_of = self.elaboration.table(node.name).element_of
            if element_of is not None:
                return element_of
        if target is None:
            raise UnsaidError("the set of an element")
        return target

    def _list(self, index_set: IndexSet, what: str) -> str:
        """Return the name of a helper list: steps, clock times, probabilities, labels and so on."""
        name = self.names.helper(f"{index_set.name}_{what}")
        axis = index_set.axis
        values: list[Any]
        if what == "value":
            values = list(index_set.labels)
        elif what == "prob":
            assert index_set.probabilities is not None
            values = index_set.probabilities.tolist()
        elif axis is None:
            raise UnsaidError(f"{index_set.name} has no clock")
        elif what in ("begin", "end"):
            later = int(what == "end" and index_set.kind == "time")
            values = axis.edges[later : later + index_set.size].tolist()
        elif what == "dt":
            values = axis.steps.tolist()
        elif what == "weekday":
            values = axis.weekday.tolist()
        else:
            values = [v if what == "clock" else int(v + 1e-9) for v in axis.clock.tolist()]
        self.helpers[name] = f"{name} = {compact(values)}"
        return name

    def condition(self, node: Node, scope: dict[str, IndexSet]) -> str:
        """Return a condition as Python."""
        if isinstance(node, Logic):
            joined = (f"({self.condition(part, scope)})" for part in node.operands)
            return f" {node.op} ".join(joined)
        if isinstance(node, Unary):
            return f"not ({self.condition(node.operand, scope)})"
        if isinstance(node, Call):
            return self._within(node, scope)
        assert isinstance(node, Compare)
        if node.ops[0] in ("in", "not in"):
            return self._membership(node, scope)
        parts = zip(node.ops, node.operands, node.operands[1:], strict=False)
        return " and ".join(self._comparison(op, a, b, scope, node.zero) for op, a, b in parts)

    def _within(self, node: Call, scope: dict[str, IndexSet]) -> str:
        """Return whether one period lies inside another, by their edges in seconds."""
        if not all(isinstance(part, Ref) for part in node.args):
            raise UnsaidError("within takes periods that are named")
        sets = [self._set_of(part, scope).root for part in node.args]
        keys = [self.index(part, scope, s) for part, s in zip(node.args, sets, strict=True)]
        begin, end = (
            [f"{self._list(s, word)}[{k}]" for s, k in zip(sets, keys, strict=True)]
            for word in ("begin", "end")
        )
        slack = HALF_A_MILLISECOND
        return f"{begin[1]} - {slack} <= {begin[0]} and {end[0]} <= {end[1]} + {slack}"

    def _comparison(
        self, op: str, left: Node, right: Node, scope: dict[str, IndexSet], zero: float = 0.0
    ) -> str:
        """Return a comparison of elements, labels or numbers, in which no rounding decides."""
        sets = [s for s in (self._element_set(p, scope) for p in (left, right)) if s is not None]
        if sets:
            target = sets[0]
            return f"{self.index(left, scope, target)} {op} {self.index(right, scope, target)}"
        texts = [
            repr(side.value) if isinstance(side, Text) else self.expression(side, scope, 4)
            for side in (left, right)
        ]
        plain = f"{texts[0]} {op} {texts[1]}"
        if all(self._is_exact(side, scope) for side in (left, right)):
            return plain
        close = f"close({', '.join(texts)}{f', {zero!r}' if zero else ''})"
        if op in ("==", "!="):
            return close if op == "==" else f"not {close}"
        return f"({plain} or {close})" if "=" in op else f"({plain} and not {close})"

    def _is_exact(self, node: Node, scope: dict[str, IndexSet]) -> bool:
        """Whether no rounding reaches an operand: a label, a whole number, a number of an index."""
        if isinstance(node, Number):
            return float(node.value).is_integer()
        if isinstance(node, Ref) and node.name not in scope:
            return self.elaboration.table(node.name).values.dtype == object
        return isinstance(node, Text | Ref)

    def _element_set(self, node: Node, scope: dict[str, IndexSet]) -> IndexSet | None:
        """Return the set of an operand that is an element and no number."""
        if isinstance(node, Binary) and node.op in "+-":
            found = self._element_set(node.left, scope)
            return found.root if found is not None else None
        if isinstance(node, Call) and node.function in ("first", "last", "at"):
            return self._set_of(node, scope)
        if isinstance(node, Ref) and node.name in scope:
            found = scope[node.name]
            return found if found.numbers is None else None
        if isinstance(node, Ref) and self.elaboration.symbols[node.name].element_of:
            return self.elaboration.table(node.name).element_of
        return None

    def _combination(self, item: Node, scope: dict[str, IndexSet], target: IndexSet) -> str:
        """Return what may be an element: one index, or a tuple of them."""
        if not isinstance(item, Members):
            return self.index(item, scope, target)
        pairs = zip(item.items, target.root.factors, strict=True)
        return f"({', '.join(self.index(part, scope, factor) for part, factor in pairs)})"

    def _membership(self, node: Compare, scope: dict[str, IndexSet]) -> str:
        item, group = node.operands
        if isinstance(group, Ref):
            target = self.elaboration.index_set(group.name)
            text = self._combination(item, scope, target)
            return f"{text} {node.ops[0]} {self.names.of(group.name)}"
        assert isinstance(group, Members)
        parts = [self._comparison("==", item, member, scope) for member in group.items]
        joined = " or ".join(parts) or "False"
        return joined if node.ops[0] == "in" else f"not ({joined})"


def element(index_set: IndexSet, position: int) -> Any:
    """Return the Python element for a position: its place in the root set, or a tuple of places."""
    root_position = int(index_set.in_root[position])
    columns = index_set.root.columns
    return tuple(int(c[root_position]) for c in columns) if columns else root_position


def subscript(keys: list[str], sets: tuple[IndexSet, ...]) -> str:
    """Return the index brackets of a parameter: nested lists or one key."""
    if not keys:
        return ""
    if all(s.root is s and not s.columns for s in sets):
        return "".join(f"[{key}]" for key in keys)
    return f"[{keys[0]}]" if len(keys) == 1 else f"[({', '.join(keys)})]"


def compact(values: list[Any]) -> str:
    """Return a list literal; a constant one as a product."""
    if (
        len(values) > 3
        and all(value == values[0] for value in values)
        and not isinstance(values[0], list)
    ):
        return f"[{values[0]!r}] * {len(values)}"
    return repr(values)


def scope_of(binders: Any, sets: tuple[IndexSet, ...]) -> list[tuple[str, IndexSet]]:
    """Return the binder names with the set each one runs over."""
    pairs = []
    for names, index_set in zip(binders, sets, strict=True):
        members = index_set.root.factors if len(names) > 1 else (index_set,)
        pairs += list(zip(names, members, strict=True))
    return pairs

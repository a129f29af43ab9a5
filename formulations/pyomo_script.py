"""A blueprint as a standalone Pyomo script that an engineer can run without engiagent.

Every element of a set is written as its position, counted from 0 (a pair of positions for a tuple
set), so that ``soc[t + 1]`` is what it says; the labels stand beside the sets. Parameters are
written with their values, each in its own unit, and every change of unit is a visible factor.
"""

import builtins
import keyword
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from engiagent import __version__
from engiagent.blueprint.checked import (
    Constraint,
    ModelEvaluator,
    Variable,
    checked_constraint,
    checked_objective,
    checked_variables,
)
from engiagent.blueprint.diagnostics import MissingDataError
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.grammar import (
    Binary,
    Binder,
    Call,
    Choice,
    Compare,
    Convert,
    Logic,
    Members,
    Node,
    Number,
    Reduce,
    Ref,
    Text,
    Unary,
    parse,
)
from engiagent.blueprint.grid import EMPTY_GRID
from engiagent.blueprint.sets import IndexSet, is_timed
from engiagent.errors import EngiagentError
from engiagent.formulations.expand import expand

_RESERVED = frozenset(
    (*dir(builtins), "csv", "main", "math", "model", "pyo", "relation", "sys", "_")
)
_PRECEDENCE = {"+": 4, "-": 4, "*": 5, "/": 5, "//": 5, "%": 5, "**": 7}
_WIDTH = 96


def emit_pyomo(blueprint: Blueprint, folder: Path | str | None = None) -> str:
    """Return a Python script that builds and solves the blueprint with Pyomo and HiGHS.

    Raises
    ------
    BlueprintError
        When the blueprint is wrong.
    MissingDataError
        When parameters are declared as missing.
    EngiagentError
        When a construct has no counterpart in the script.
    """
    full = expand(blueprint)
    elaboration = Elaboration(full.core, Path(folder) if folder is not None else None)
    if elaboration.missing:
        raise MissingDataError(elaboration.missing)
    return _Script(full, elaboration).text()


@dataclass
class _Names:
    """Python names for the blueprint's names, each used once."""

    taken: set[str] = field(default_factory=lambda: set(_RESERVED))
    known: dict[str, str] = field(default_factory=dict)

    def of(self, name: str) -> str:
        if name not in self.known:
            self.known[name] = self.fresh(name)
        return self.known[name]

    def fresh(self, name: str) -> str:
        plain = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
        while plain in self.taken or keyword.iskeyword(plain):
            plain += "_"
        self.taken.add(plain)
        return plain


class _Script:
    """One script in the making."""

    def __init__(self, blueprint: Blueprint, elaboration: Elaboration) -> None:
        self.blueprint = blueprint
        self.elaboration = elaboration
        self.names = _Names()
        self.variables = {v.definition.name: v for v in checked_variables(elaboration)}
        self.evaluator = ModelEvaluator(elaboration, self.variables)
        self.helpers: dict[str, str] = {}

    def text(self) -> str:
        # The model comes first in the making, since it says which helper lists are needed.
        parts = [
            *self._section("Sets: elements are positions, counted from 0", self._sets()),
            *self._section("Parameters", self._parameters()),
            *self._section("Decision variables", self._variables()),
            *self._section("Named expressions", self._expressions()),
            *self._section("Constraints", self._constraints()),
            *self._section("Objective", self._objective()),
        ]
        body = "\n".join(parts)
        helpers = "\n".join(self._section("Lookups", list(self.helpers.values())))
        marker = "# --- Parameters "
        head, found, tail = body.partition(marker)
        body = head + (helpers + "\n" if self.helpers else "") + found + tail
        essence = self.blueprint.modeling_context.problem_essence
        return (
            _HEAD.format(essence=_comment(essence), version=__version__)
            + body
            + _TAIL.format(outputs=", ".join(f'"{n}": {self.names.of(n)}' for n in self.variables))
        )

    def _section(self, title: str, lines: list[str]) -> list[str]:
        if not lines:
            return []
        return ["", "", f"# --- {title} ".ljust(_WIDTH, "-"), *lines]

    # -- data -----------------------------------------------------------------------------------

    def _sets(self) -> list[str]:
        lines = []
        for definition in self.elaboration.core.sets:
            index_set = self.elaboration.index_set(definition.name)
            name = self.names.of(definition.name)
            lines.append(f"{name} = {_elements(index_set)}{_shown_labels(index_set)}")
        return lines

    def _parameters(self) -> list[str]:
        lines = []
        for definition in self.elaboration.core.parameters:
            table = self.elaboration.table(definition.name)
            unit = self.elaboration.symbols[definition.name].unit
            note = f"  # [{unit}] {_comment(definition.description or '')}".rstrip()
            values = table.values
            if table.element_of is not None:
                values = table.element_of.in_root[values]
            text = _literal(values, table.sets)
            lines.append(f"{self.names.of(definition.name)} = {text}{note}")
        return lines

    def _variables(self) -> list[str]:
        lines = []
        for name, variable in self.variables.items():
            definition = variable.definition
            python = self.names.of(name)
            note = f"  # [{variable.unit}] {_comment(definition.description or '')}".rstrip()
            domain = {"integer": "Integers", "binary": "Binary"}.get(definition.type, "Reals")
            index, bounds = self._index_and_bounds(variable)
            lines.append(f"{python} = pyo.Var({index}domain=pyo.{domain}, bounds={bounds}){note}")
            lines.append(f'model.add_component("{python}", {python})')
            if len(variable.history):
                early = [float(value) for value in variable.history]
                lines.append(f"{self._history(name)} = {early}  # before the first period")
        return lines

    def _history(self, name: str) -> str:
        return f"{self.names.of(name)}_before"

    def _index_and_bounds(self, variable: Variable) -> tuple[str, str]:
        """Return the index sets and the bounds, as one pair when all elements share it."""
        python = self.names.of(variable.definition.name)
        lower, upper = variable.lower, variable.upper
        same = len(set(lower)) <= 1 and len(set(upper)) <= 1 and len(lower) > 0
        bounds = f"({_bound(lower[0])}, {_bound(upper[0])})" if same else ""
        if not variable.sets:
            return "", bounds
        sets = ", ".join(self.names.of(s.name) for s in variable.sets)
        keys = _keys(variable)
        if variable.positions is not None:
            self.helpers[f"{python} keys"] = f"{python}_keys = {keys}"
            sets = f"{python}_keys"
        if not same:
            triples = zip(keys, lower, upper, strict=True)
            pairs = (f"{k}: ({_bound(a)}, {_bound(b)})" for k, a, b in triples)
            self.helpers[f"{python} bounds"] = f"{python}_bounds = {{{', '.join(pairs)}}}"
            key = "key[0] if len(key) == 1 else key"
            bounds = f"lambda _, *key: {python}_bounds[{key}]"
        return f"{sets}, ", bounds

    # -- algebra --------------------------------------------------------------------------------

    def _expressions(self) -> list[str]:
        lines = []
        for definition in self.elaboration.core.expressions:
            named = self.elaboration.named[definition.name]
            names = [n for binder in named.binders for n in binder]
            arguments = ", ".join(self.names.of(n) for n in names)
            body = self.expression(named.body, dict(_scope(named.binders, named.sets)))
            lines += [f"def {self.names.of(definition.name)}({arguments}):", f"    return {body}"]
        return lines

    def _constraints(self) -> list[str]:
        lines: list[str] = []
        for position in range(len(self.elaboration.core.constraints)):
            constraint = checked_constraint(self.elaboration, position)
            lines += self._constraint(constraint)
        return lines

    def _constraint(self, constraint: Constraint) -> list[str]:
        scope = dict(_scope([b.names for b in constraint.binders], constraint.sets))
        tree = constraint.comparison
        sides = [self.expression(part, scope) for part in tree.operands]
        title = constraint.definition.name or constraint.definition.constraint_id
        lines = [f"# {_comment(title)}"]
        pieces = zip(tree.ops, sides, sides[1:], strict=False)
        for number, (op, left, right) in enumerate(pieces, 1):
            suffix = "" if len(tree.ops) == 1 else f"__{number}"
            lines += self._relation(constraint, suffix, f"relation({left}, {op!r}, {right})", scope)
        return lines

    def _relation(
        self, constraint: Constraint, suffix: str, relation: str, scope: dict[str, IndexSet]
    ) -> list[str]:
        component = self.names.fresh(constraint.definition.constraint_id + suffix)
        if not constraint.binders:
            line = f'model.add_component("{component}", pyo.Constraint(rule=lambda _: {relation}))'
            return [line]
        arguments = ", ".join(self.names.of(n) for b in constraint.binders for n in b.names)
        sets = ", ".join(self.names.of(b.set) for b in constraint.binders)
        lines = [f"def {component}(_, {arguments}):"]
        where = constraint.definition.where
        if where is not None:
            checker = self.elaboration.checker()
            condition = checker.condition(parse(where), checker.scope_of(constraint.binders)).node
            lines += [
                f"    if not ({self.condition(condition, scope)}):",
                "        return pyo.Constraint.Skip",
            ]
        lines += [
            f"    return {relation}",
            f'model.add_component("{component}", pyo.Constraint({sets}, rule={component}))',
        ]
        return lines

    def _objective(self) -> list[str]:
        objective = checked_objective(self.elaboration)
        if objective is None:
            return ["model.objective = pyo.Objective(expr=0.0)"]
        sense = objective.definition.sense
        text = self.expression(objective.node, {})
        return [
            f"# {_comment(objective.definition.name or 'objective')} [{objective.unit}]",
            f"model.objective = pyo.Objective(expr={text}, sense=pyo.{sense})",
        ]

    # -- expressions ----------------------------------------------------------------------------

    def expression(self, node: Node, scope: dict[str, IndexSet], outer: int = 0) -> str:
        """Return a numeric expression as Python."""
        text, precedence = _PRINTERS[type(node)](self, node, scope)
        return f"({text})" if precedence < outer else text

    def _number(self, node: Number, scope: dict[str, IndexSet]) -> tuple[str, int]:
        return repr(node.value), 9 if node.value >= 0 else 6

    def _unary(self, node: Unary, scope: dict[str, IndexSet]) -> tuple[str, int]:
        return f"-{self.expression(node.operand, scope, 6)}", 6

    def _convert(self, node: Convert, scope: dict[str, IndexSet]) -> tuple[str, int]:
        text = self.expression(node.operand, scope, 5)
        if node.factor != 1.0:
            text = f"{node.factor!r} * {text}"
        return (f"{text} + {node.shift!r}", 4) if node.shift else (text, 5)

    def _binary(self, node: Binary, scope: dict[str, IndexSet]) -> tuple[str, int]:
        level = _PRECEDENCE[node.op]
        left = self.expression(node.left, scope, level)
        right = self.expression(node.right, scope, level + 1)
        return f"{left} {node.op} {right}", level

    def _choice(self, node: Choice, scope: dict[str, IndexSet]) -> tuple[str, int]:
        then, other = (
            self.expression(node.then, scope, 1),
            self.expression(node.otherwise, scope, 1),
        )
        return f"{then} if {self.condition(node.condition, scope)} else {other}", 0

    def _reduce(self, node: Reduce, scope: dict[str, IndexSet]) -> tuple[str, int]:
        inner = dict(scope)
        loops = []
        for binder in node.binders:
            index_set = self.elaboration.index_set(binder.set)
            inner |= dict(_scope([binder.names], (index_set,)))
            loops.append(f"for {_target(binder, self.names)} in {self.names.of(binder.set)}")
        where = f" if {self.condition(node.where, inner)}" if node.where is not None else ""
        body = self.expression(node.body, inner, 1)
        return f"{node.function}({body} {' '.join(loops)}{where})", 9

    def _ref(self, node: Ref, scope: dict[str, IndexSet]) -> tuple[str, int]:
        name = self.names.of(node.name)
        if node.name in scope:
            index_set = scope[node.name]
            return f"{self._list(index_set.root, 'value')}[{name}]", 9
        if node.name in self.elaboration.named:
            named = self.elaboration.named[node.name]
            return f"{name}({', '.join(self.indices(node, named.sets, scope))})", 9
        if node.name in self.variables:
            return self._variable(node, scope)
        table = self.elaboration.table(node.name)
        return name + _subscript(self.indices(node, table.sets, scope), table.sets), 9

    def _variable(self, node: Ref, scope: dict[str, IndexSet]) -> tuple[str, int]:
        variable = self.variables[node.name]
        keys = self.indices(node, variable.sets, scope)
        text = self.names.of(node.name) + (f"[{', '.join(keys)}]" if keys else "")
        if not len(variable.history):
            return text, 9
        timed = next(k for k, s in enumerate(variable.sets) if is_timed(s))
        early = f"{self._history(node.name)}[-({keys[timed]}) - 1]"
        return f"{text} if {keys[timed]} >= 0 else {early}", 0

    def _call(self, node: Call, scope: dict[str, IndexSet]) -> tuple[str, int]:
        if node.function == "prev":
            return self._prev(node, scope)
        if node.function == "len":
            assert isinstance(node.args[0], Ref)
            return f"len({self.names.of(node.args[0].name)})", 9
        if node.function in ("dt", "clock", "hour", "weekday", "pos"):
            index_set = self._set_of(node.args[0], scope)
            element = self.index(node.args[0], scope, index_set)
            if node.function == "pos":
                if index_set.root is index_set:
                    return element, 3
                return f"list({self.names.of(index_set.name)}).index({element})", 9
            return f"{self._list(index_set.root, node.function)}[{element}]", 9
        arguments = ", ".join(self.expression(part, scope, 1) for part in node.args)
        function = (
            node.function if node.function in ("abs", "min", "max") else f"math.{node.function}"
        )
        return f"{function}({arguments})", 9

    def _prev(self, node: Call, scope: dict[str, IndexSet]) -> tuple[str, int]:
        reference, start = node.args
        inner = reference.operand if isinstance(reference, Convert) else reference
        assert isinstance(inner, Ref)
        sets = [self._set_of(part, scope) for part in inner.indices]
        which = max((k for k, s in enumerate(sets) if is_timed(s)), default=len(sets) - 1)
        back = Binary(inner.span, "-", inner.indices[which], Number((0, 0), 1.0, None))
        moved: Node = Ref(
            inner.span, inner.name, (*inner.indices[:which], back, *inner.indices[which + 1 :])
        )
        if isinstance(reference, Convert):
            moved = Convert(reference.span, moved, reference.factor, reference.shift)
        earlier = self.expression(moved, scope, 1)
        here = self.index(inner.indices[which], scope, sets[which])
        if sets[which].cyclic:
            return earlier, 0
        first = sets[which].root.in_root[0] if sets[which].root is sets[which] else None
        condition = (
            f"{here} > 0"
            if first is not None
            else (f"{here} != {self.names.of(sets[which].name)}[0]")
        )
        return f"{earlier} if {condition} else {self.expression(start, scope, 1)}", 0

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
            return repr(_element(target, int(elements.positions)))
        found = self._set_of(node, scope, target)
        if isinstance(node, Binary):
            base = self.index(node.left, scope, found)
            text = f"{base} {node.op} {self._offset(node.right, scope)}"
            return f"({text}) % {found.root.size}" if found.root.cyclic else text
        if isinstance(node, Call):
            assert isinstance(node.args[0], Ref)
            name = self.names.of(node.args[0].name)
            return f"{name}[{0 if node.function == 'first' else -1}]"
        assert isinstance(node, Ref)
        if node.name in scope:
            text = self.names.of(node.name)
        else:
            table = self.elaboration.table(node.name)
            keys = self.indices(node, table.sets, scope)
            text = self.names.of(node.name) + _subscript(keys, table.sets)
        if found.root is target.root or target.root.periods_of is found.root:
            return text
        return self._mapped(text, found, target)

    def _offset(self, node: Node, scope: dict[str, IndexSet]) -> str:
        if isinstance(node, Number):
            return str(int(node.value))
        return f"int({self.expression(node, scope)})"

    def _mapped(self, text: str, source: IndexSet, target: IndexSet) -> str:
        """Return an element of one set as the element of another with the same label."""
        mapping = source.root.map_to(target.root)
        if mapping is None:
            raise EngiagentError(
                f"the Pyomo script cannot name elements of {source.name} in {target.name}"
            )
        name = f"{self.names.of(source.root.name)}_in_{self.names.of(target.root.name)}"
        self.helpers[name] = f"{name} = {mapping.tolist()}"
        return f"{name}[{text}]"

    def _set_of(
        self, node: Node, scope: dict[str, IndexSet], target: IndexSet | None = None
    ) -> IndexSet:
        """Return the set that an index expression runs over."""
        if isinstance(node, Binary):
            return self._set_of(node.left, scope, target).root
        if isinstance(node, Call):
            assert isinstance(node.args[0], Ref)
            return self.elaboration.index_set(node.args[0].name)
        if isinstance(node, Ref):
            if node.name in scope:
                return scope[node.name]
            element_of = self.elaboration.table(node.name).element_of
            if element_of is not None:
                return element_of
        if target is None:
            raise EngiagentError("the Pyomo script cannot tell the set of an element")
        return target

    def _list(self, index_set: IndexSet, what: str) -> str:
        """Return the name of a helper list: steps, clock times, weekdays or numeric labels."""
        name = f"{self.names.of(index_set.name)}_{what}"
        axis = index_set.axis
        values: list[Any]
        if what == "value":
            values = list(index_set.labels)
        elif axis is None:
            raise EngiagentError(f"{index_set.name} has no clock")
        elif what == "dt":
            values = axis.steps.tolist()
        elif what == "weekday":
            values = axis.weekday.tolist()
        else:
            values = [v if what == "clock" else int(v + 1e-9) for v in axis.clock.tolist()]
        self.helpers[name] = f"{name} = {_compact(values)}"
        return name

    def condition(self, node: Node, scope: dict[str, IndexSet]) -> str:
        """Return a condition as Python."""
        if isinstance(node, Logic):
            joined = (f"({self.condition(part, scope)})" for part in node.operands)
            return f" {node.op} ".join(joined)
        if isinstance(node, Unary):
            return f"not ({self.condition(node.operand, scope)})"
        assert isinstance(node, Compare)
        if node.ops[0] in ("in", "not in"):
            return self._membership(node, scope)
        parts = zip(node.ops, node.operands, node.operands[1:], strict=False)
        return " and ".join(self._comparison(op, a, b, scope) for op, a, b in parts)

    def _comparison(self, op: str, left: Node, right: Node, scope: dict[str, IndexSet]) -> str:
        sets = [s for s in (self._element_set(p, scope) for p in (left, right)) if s is not None]
        if sets:
            target = sets[0]
            return f"{self.index(left, scope, target)} {op} {self.index(right, scope, target)}"
        texts = [
            repr(side.value) if isinstance(side, Text) else self.expression(side, scope, 4)
            for side in (left, right)
        ]
        return f"{texts[0]} {op} {texts[1]}"

    def _element_set(self, node: Node, scope: dict[str, IndexSet]) -> IndexSet | None:
        """Return the set of an operand that is an element and no number."""
        if isinstance(node, Binary) and node.op in "+-":
            found = self._element_set(node.left, scope)
            return found.root if found is not None else None
        if isinstance(node, Call) and node.function in ("first", "last"):
            return self._set_of(node, scope)
        if isinstance(node, Ref) and node.name in scope:
            found = scope[node.name]
            return found if found.numbers is None else None
        if isinstance(node, Ref) and self.elaboration.symbols[node.name].element_of:
            return self.elaboration.table(node.name).element_of
        return None

    def _membership(self, node: Compare, scope: dict[str, IndexSet]) -> str:
        item, group = node.operands
        if isinstance(group, Ref):
            target = self.elaboration.index_set(group.name)
            return f"{self.index(item, scope, target)} {node.ops[0]} {self.names.of(group.name)}"
        assert isinstance(group, Members)
        parts = [self._comparison("==", item, member, scope) for member in group.items]
        joined = " or ".join(parts) or "False"
        return joined if node.ops[0] == "in" else f"not ({joined})"


# --- text --------------------------------------------------------------------------------------


def _comment(text: str) -> str:
    """Return text that cannot leave a comment or a docstring."""
    return " ".join(text.replace("\\", "/").replace('"""', "'''").split())


def _bound(value: float) -> str:
    return repr(float(value)) if np.isfinite(value) else "None"


def _element(index_set: IndexSet, position: int) -> Any:
    """Return the Python element for a position: its place in the root set, or a tuple of places."""
    root_position = int(index_set.in_root[position])
    columns = index_set.root.columns
    return tuple(int(c[root_position]) for c in columns) if columns else root_position


def _elements(index_set: IndexSet) -> str:
    if index_set.root is index_set and not index_set.columns:
        return f"range({index_set.size})"
    return _compact([_element(index_set, k) for k in range(index_set.size)])


def _shown_labels(index_set: IndexSet) -> str:
    if index_set.size == 0:
        return ""
    if index_set.kind == "labels":
        return f"  # {_comment(', '.join(map(str, index_set.labels[:12])))}"
    first, last = index_set.labels[0], index_set.labels[-1]
    return f"  # {_comment(f'{first} to {last}')}"


def _keys(variable: Variable) -> list[Any]:
    """Return the key of every element of a variable as Pyomo will ask for it."""
    shape = tuple(s.size for s in variable.sets)
    flat = variable.positions if variable.positions is not None else np.arange(variable.size)
    keys = []
    for place in zip(*np.unravel_index(flat, shape), strict=True):
        key: list[Any] = []
        for index_set, position in zip(variable.sets, place, strict=True):
            element = _element(index_set, int(position))
            key += element if isinstance(element, tuple) else [element]
        keys.append(key[0] if len(key) == 1 else tuple(key))
    return keys


def _literal(values: Any, sets: tuple[IndexSet, ...]) -> str:
    """Return a parameter's values: a number, nested lists, or a dictionary by element."""
    array = np.asarray(values)
    if not sets:
        return repr(array.item())
    if all(s.root is s and not s.columns for s in sets):
        return _compact(array.tolist())
    pairs = []
    for place in np.ndindex(*array.shape):
        key = tuple(_element(s, p) for s, p in zip(sets, place, strict=True))
        value = array[place]
        plain = value.item() if hasattr(value, "item") else value
        pairs.append(f"{key[0] if len(key) == 1 else key!r}: {plain!r}")
    return f"{{{', '.join(pairs)}}}"


def _subscript(keys: list[str], sets: tuple[IndexSet, ...]) -> str:
    if not keys:
        return ""
    if all(s.root is s and not s.columns for s in sets):
        return "".join(f"[{key}]" for key in keys)
    return f"[{keys[0]}]" if len(keys) == 1 else f"[({', '.join(keys)})]"


def _compact(values: list[Any]) -> str:
    """Return a list literal; a constant one as a product."""
    if (
        len(values) > 3
        and all(value == values[0] for value in values)
        and not isinstance(values[0], list)
    ):
        return f"[{values[0]!r}] * {len(values)}"
    return repr(values)


def _scope(binders: Any, sets: tuple[IndexSet, ...]) -> list[tuple[str, IndexSet]]:
    pairs = []
    for names, index_set in zip(binders, sets, strict=True):
        members = index_set.root.factors if len(names) > 1 else (index_set,)
        pairs += list(zip(names, members, strict=True))
    return pairs


def _target(binder: Binder, names: _Names) -> str:
    return ", ".join(names.of(name) for name in binder.names)


_PRINTERS: dict[type[Node], Callable[[_Script, Any, dict[str, IndexSet]], tuple[str, int]]] = {
    Binary: _Script._binary,
    Call: _Script._call,
    Choice: _Script._choice,
    Convert: _Script._convert,
    Number: _Script._number,
    Reduce: _Script._reduce,
    Ref: _Script._ref,
    Unary: _Script._unary,
}

_HEAD = '''"""{essence}

Written by engiagent {version}; needs only Pyomo and HiGHS: pip install pyomo highspy
Run it:  python model.py [schedule.csv]
"""

import csv
import math
import sys

import pyomo.environ as pyo

model = pyo.ConcreteModel()


def relation(left, op, right):
    """Return left op right; a relation between plain numbers is kept only as true or false."""
    result = left <= right if op == "<=" else left >= right if op == ">=" else left == right
    if result is True:
        return pyo.Constraint.Feasible
    if result is False:
        return pyo.Constraint.Infeasible
    return result
'''

_TAIL = """

# --- Solve --------------------------------------------------------------------------------------
def main():
    result = pyo.SolverFactory("appsi_highs").solve(model)
    print("status:", result.solver.termination_condition)
    print("objective:", repr(pyo.value(model.objective)))
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["variable", "index", "value"])
            for name, variable in {{{outputs}}}.items():
                for key in variable:
                    writer.writerow([name, key, pyo.value(variable[key])])


if __name__ == "__main__":
    main()
"""

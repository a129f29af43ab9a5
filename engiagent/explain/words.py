"""Constraints and bounds as an engineer reads them: quantities and numbers, not symbols."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from engiagent.blueprint.document import ConstraintDef, Core, ParameterDef, VariableDef
from engiagent.blueprint.grammar import Compare, GrammarError, Node, Ref, parse, walk
from engiagent.explain.labels import shown
from engiagent.explain.relaxed import names_in

DEEPEST: Final = 4
"""How many parameters that are made of others are followed."""


@dataclass(frozen=True)
class Words:
    """The names of a blueprint and what they stand for."""

    core: Core

    @cached_property
    def variables(self) -> dict[str, VariableDef]:
        """The variables by name."""
        return {v.name: v for v in self.core.decision_variables}

    @cached_property
    def parameters(self) -> dict[str, ParameterDef]:
        """The parameters by name."""
        return {p.name: p for p in self.core.parameters}

    def bound(self, variable: VariableDef, side: str) -> tuple[str, str, set[str]]:
        """Return a bound in words, as an expression, and the names that it rests on."""
        pieces, said, names = [], [], set()
        for end, limit, sign in (("lower", variable.lower, ">="), ("upper", variable.upper, "<=")):
            if side in (end, "both"):
                pieces.append(f"{sign} {limit}")
                said.append(f"{sign} {self._worth(limit, variable.unit)}")
                names |= names_in(limit)
        name = variable.quantity or variable.name
        expression = f"{variable.name} {' and '.join(pieces)}"
        return f"{name} {' and '.join(said)}", expression, names

    def constraint(
        self, definition: ConstraintDef, side: str, laws: Collection[str]
    ) -> tuple[str, str, set[str]]:
        """Return a constraint, or one side of a range, in words; a law by its name.

        Beside the words come the expression and the names that it rests on.
        """
        expression = one_sided(definition.expression, side)
        names = names_in(expression) | names_in(definition.where)
        name = definition.name or definition.constraint_id
        if definition.category in laws:
            values = [f"{n} = {v}" for n in sorted(names) if (v := self._number(n)) is not None]
            return f"{name}{' with ' if values else ''}{', '.join(values)}", expression, names
        return f"{name}: {self._filled(expression)}", expression, names

    def behind(self, names: Collection[str], depth: int = DEEPEST) -> Iterator[ParameterDef]:
        """Yield the parameters among some names, and those that they are made of."""
        for name in sorted(names):
            parameter = self.parameters.get(name)
            if parameter is None:
                continue
            yield parameter
            if depth > 1 and parameter.source_reference is None:
                yield from self.behind(names_in(parameter.value), depth - 1)

    def _filled(self, expression: str) -> str:
        """Return an expression with numbers for parameters and quantities for variables."""
        try:
            found = [n for n in walk(parse(expression)) if isinstance(n, Ref)]
        except GrammarError:
            return expression
        for node in sorted(found, key=lambda n: -n.span[0]):
            variable = self.variables.get(node.name)
            said = variable.quantity if variable is not None else self._number(node.name)
            if said is not None:
                start = node.span[0]
                expression = expression[:start] + said + expression[start + len(node.name) :]
        return expression

    def _number(self, name: str) -> str | None:
        parameter = self.parameters.get(name)
        if parameter is None or not isinstance(parameter.value, int | float):
            return None
        return shown(parameter.value, str(parameter.unit or ""))

    def _worth(self, limit: object, unit: str | None) -> str:
        if not isinstance(limit, str):
            return shown(limit, unit)
        return self._number(limit) or self._filled(limit)


def one_sided(expression: str, side: str) -> str:
    """Return the comparison of ``low <= x <= high`` that is its lower or its upper side.

    Anything else comes back as it is.

    >>> one_sided("18 <= x[t] <= 24", "upper")
    'x[t] <= 24'
    """
    try:
        tree: Node = parse(expression)
    except GrammarError:
        return expression
    if not isinstance(tree, Compare) or side == "both" or len(tree.operands) != 3:
        return expression
    rising = all(op in ("<=", "<") for op in tree.ops)
    if not rising and not all(op in (">=", ">") for op in tree.ops):
        return expression
    first = (side == "lower") == rising
    left, right = tree.operands[:2] if first else tree.operands[1:]
    return expression[left.span[0] : right.span[1]].strip()

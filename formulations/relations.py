"""Constraints of a blueprint as rows: comparisons, chains and logical functions."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engiagent.blueprint.checked import Constraint
from engiagent.blueprint.grammar import Call, Compare, Node
from engiagent.blueprint.grid import Grid
from engiagent.blueprint.indexing import Value
from engiagent.blueprint.relations import clauses, comparisons
from engiagent.formulations.lowering.builder import Builder
from engiagent.formulations.lowering.logic import Side, complements, conditional, either, exclusive
from engiagent.formulations.values import Floats, Form, as_form

Evaluate = Callable[[Node, Grid], Value]


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows ``lower <= form <= upper`` of one comparison.

    ``sign`` is 1 when only the upper bound is finite, -1 when only the lower is, else 0.
    """

    name: str
    form: Form
    lower: Floats | float
    upper: Floats | float

    @property
    def sign(self) -> int:
        """Which error of the form's value would do harm."""
        below = bool(np.any(np.isfinite(self.upper)))
        above = bool(np.any(np.isfinite(self.lower)))
        return int(below) - int(above)


def pieces(constraint: Constraint, tree: Compare, value: Evaluate) -> list[Piece]:
    """Return the rows of a comparison or a chain.

    A chain ``low <= x <= high`` with ends that depend on no variable is one row for each element;
    any other is one for each of its comparisons, named ``<id>__1``, ``<id>__2``.
    """
    size, name = constraint.grid.size, constraint.definition.constraint_id
    sides = [value(part, constraint.grid) for part in tree.operands]
    ranged = len(sides) == 3 and not any(isinstance(s, Form) for s in (sides[0], sides[2]))
    if ranged and set(tree.ops) in ({"<="}, {">="}):
        low, high = (sides[0], sides[2]) if tree.ops[0] != ">=" else (sides[2], sides[0])
        return [Piece(name, as_form(sides[1], size), low, high)]
    found = []
    for number, (op, left, right) in enumerate(zip(tree.ops, sides, sides[1:], strict=False), 1):
        lower = 0.0 if op in (">=", "==") else -np.inf
        upper = 0.0 if op in ("<=", "==") else np.inf
        label = name if len(tree.ops) == 1 else f"{name}__{number}"
        found.append(Piece(label, as_form(left - right, size), lower, upper))
    return found


Certain = Callable[[Constraint, Piece], list[Piece]]
"""Returns the rows that hold whatever uncertain numbers turn out to be."""


def state_relation(
    builder: Builder, constraint: Constraint, value: Evaluate, certain: Certain
) -> None:
    """Add the rows of a logical function; what ``implies`` holds is made certain."""
    node, size = constraint.relation, constraint.grid.size
    assert isinstance(node, Call)
    name = constraint.definition.constraint_id
    unit = str(constraint.typed.unit.difference())
    block = {"description": constraint.definition.description}

    def form(part: Node) -> Form:
        return as_form(value(part, constraint.grid), size)

    def stated(part: Node) -> list[Piece]:
        return [p for one in comparisons(part) for p in pieces(constraint, one, value)]

    def sides(found: list[Piece]) -> list[Side]:
        return [Side(piece.form, piece.lower, piece.upper, unit) for piece in found]

    if node.function == "implies":
        held = sides([row for p in stated(node.args[1]) for row in certain(constraint, p)])
        for clause in clauses(node.args[0]):
            literals = [form(ref) if wanted else 1.0 - form(ref) for ref, wanted in clause]
            conditional(builder, literals, held, name, **block)
    elif node.function == "either":
        either(builder, [sides(stated(part)) for part in node.args], name, **block)
    elif node.function == "exclusive":
        exclusive(builder, [form(part) for part in node.args], name, **block)
    else:
        ends = []
        for part in node.args:
            (side,) = sides(stated(part))
            forward = np.all(np.isfinite(side.lower))
            ends.append(side if forward else Side(-side.form, 0.0, np.inf, side.unit))
        complements(builder, ends[0], ends[1], name, **block)

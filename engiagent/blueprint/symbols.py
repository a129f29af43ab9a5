"""What type checking knows of sets and names, and what it finds out about expressions."""

from collections.abc import Mapping
from dataclasses import dataclass

from engiagent.blueprint.grammar import ExpressionError, Node
from engiagent.units.unit import Unit, parse_unit

ONE = parse_unit("1")
HOUR = parse_unit("h")
NONLINEAR = 3
NUMERIC_SETS = ("range", "periods")

Scope = Mapping[str, str]
"""Binder names with the set each one runs over."""


@dataclass(frozen=True)
class Symbol:
    """A name that expressions may use."""

    name: str
    kind: str  # ``parameter``, ``variable`` or ``expression``
    dims: tuple[str, ...]  # the sets it is indexed by
    unit: Unit | None  # the unit of its values; None for labels
    element_of: str | None = None  # for a parameter whose values are elements of a set: that set
    degree: int = 0  # the polynomial degree in the decision variables; 3 stands for nonlinear
    binary: bool = False  # whether it is a binary decision variable


@dataclass(frozen=True)
class SetInfo:
    """What type checking needs of a set."""

    kind: str  # its kind; for a subset that of the set it was taken from
    factors: tuple[str, ...] = ()  # for a tuple set, the sets of its parts
    step_unit: str | None = None  # for a set with steps, the unit of ``dt``


@dataclass(frozen=True)
class Typed:
    """A checked expression."""

    node: Node
    # ``number``, ``index`` (an element of ``set``), ``label``, ``condition`` or ``members``
    sort: str
    unit: Unit = ONE
    degree: int = 0
    # whether it is a literal without a unit, which may take the unit of its neighbour
    bare: bool = False
    set: str | None = None


def type_error(
    code: str, message: str, node: Node, suggestion: str | None = None
) -> ExpressionError:
    """Return an error at the place of a node."""
    return ExpressionError(message, node.span[0] + 1, suggestion, code)

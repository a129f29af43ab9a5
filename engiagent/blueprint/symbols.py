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
    """A name that expressions may use.

    Attributes
    ----------
    kind
        ``parameter``, ``variable`` or ``expression``.
    dims
        The sets it is indexed by.
    unit
        The unit of its values; None for labels.
    element_of
        For a parameter whose values are elements of a set: that set.
    degree
        The polynomial degree in the decision variables; 3 stands for nonlinear.
    binary
        Whether it is a binary decision variable.
    """

    name: str
    kind: str
    dims: tuple[str, ...]
    unit: Unit | None
    element_of: str | None = None
    degree: int = 0
    binary: bool = False


@dataclass(frozen=True)
class SetInfo:
    """What type checking needs of a set.

    Attributes
    ----------
    kind
        Its kind; for a subset that of the set it was taken from.
    factors
        For a tuple set, the sets of its parts.
    step_unit
        For a set with steps, the unit of ``dt``.
    """

    kind: str
    factors: tuple[str, ...] = ()
    step_unit: str | None = None


@dataclass(frozen=True)
class Typed:
    """A checked expression.

    Attributes
    ----------
    sort
        ``number``, ``index`` (an element of :attr:`set`), ``label``, ``condition`` or ``members``.
    bare
        Whether it is a literal without a unit, which may take the unit of its neighbour.
    """

    node: Node
    sort: str
    unit: Unit = ONE
    degree: int = 0
    bare: bool = False
    set: str | None = None


def type_error(
    code: str, message: str, node: Node, suggestion: str | None = None
) -> ExpressionError:
    """Return an error at the place of a node."""
    return ExpressionError(message, node.span[0] + 1, suggestion, code)

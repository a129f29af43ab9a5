"""Numbers that are written into expressions: each needs a source as every parameter does."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from engiagent.blueprint.grammar import (
    Binary,
    Call,
    Compare,
    Node,
    Number,
    Ref,
    Text,
    children,
    names_in,
    tree_of,
)
from engiagent.units.unit import Unit, UnitError, parse_unit
from engiagent.verify.figures import Figure, close_to, figures, without_counts
from engiagent.verify.findings import Violation, whole_name
from engiagent.verify.levels.sources import ProblemLike, all_leaves, read_sources, words_of

LEVEL = "data"
FREE = (0.0, 1.0)  # numbers that need no source, but as limits with a unit
_STAMP = re.compile(r"\d{4}-\d{2}-\d{2}[T ](\d{2}:\d{2}(?::\d{2})?)")


@dataclass
class Tracing:
    """What tracing collects.

    ``open``: what could not be verified: it keeps the level from passing. ``listed``: assumptions
    and a user's own values: never silent, no obstacle. ``steps``: the lengths of periods in
    seconds: a duration may be told as a number of them.
    """

    problem: ProblemLike
    open: list[str] = field(default_factory=list)
    listed: list[str] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    steps: frozenset[float] = frozenset()

    @cached_property
    def hours(self) -> tuple[float, ...]:
        """The times of day, and the durations in hours, of the text."""
        found = figures(self.problem.text)
        return tuple(f.value for f in found if str(f.unit or "") == "h")

    def accuse(self, name: str, message: str) -> None:
        """Record that something contradicts the problem."""
        self.violations.append(Violation(LEVEL, name, name, f"{name}: {message}"))

    def settle(self, names: Collection[str]) -> None:
        """Make remarks of what was found about numbers on which two readings agree."""
        known = {name.removeprefix("bounds:") for name in names}
        same = [v.message for v in self.violations if whole_name(v.check) in known]
        same += [text for text in self.open if whole_name(text.partition(":")[0]) in known]
        self.violations = [v for v in self.violations if whole_name(v.check) not in known]
        self.open = [text for text in self.open if text not in same]
        self.listed += [f"{text} (a second reading has the same number)" for text in same]


def check_literals(
    tracing: Tracing, name: str, text: str, reference: Any, parameters: Mapping[str, Any]
) -> None:
    """Hold every number that is written into an expression against its sources.

    ``reference``: the source reference of what the expression belongs to. ``parameters``: those of
    the parameters, by name: a figure that one of them stands for is no rival of a number beside it.
    """
    literals = _literals_of(text)
    if not literals:
        return
    if any(s.kind in ("assumption", "user") for s in read_sources(reference)):
        tracing.listed.append(f"{name}: {text} rests on an assumption")
        return
    known: list[Figure] = []
    for leaf in all_leaves(reference):
        known += _figures(leaf, tracing)
    used = [parameters[name] for name in sorted(names_in(text) & set(parameters))]
    taken = [f for r in used for leaf in all_leaves(r) for f in _figures(leaf, tracing)]
    for value, unit, is_clock in literals:
        # What is taken away is told with its sign, "-0.2 EUR", or without, "loses 0.2 kWh".
        if any(_same(v, unit, figure) for figure in known for v in {value, abs(value)}):
            continue
        if is_clock and any(close_to(value % 24, hour % 24) for hour in _hours(known, tracing)):
            continue
        rivals = [f for f in known if _rival(f, unit) and f not in taken]
        shown = f"{value:g} {unit or ''}".strip()
        if rivals:
            said = ", ".join(f"{f.value:g} {f.unit or ''}".strip() for f in rivals)
            tracing.accuse(name, f"{shown} stands in {text!r}, its source says {said}")
        else:
            tracing.open.append(f"{name}: the number {shown} in {text!r} has no source")


def _hours(known: Iterable[Figure], tracing: Tracing) -> Iterator[float]:
    """Yield the times of day of the text, those a period later or earlier, and bare ones.

    "In the hours beginning 8 AM through 5 PM" ends at 18:00, and what happens at 23:00 happens
    before the end of a period or after its beginning. ``known``: the figures of the source; of
    the steps k = 8, …, 17 of a day in steps of an hour step 17 begins at 17:00.
    """
    yield from tracing.hours
    for step in (seconds / 3600 for seconds in tracing.steps):
        yield from (hour + shift for hour in tracing.hours for shift in (step, -step))
        counts = [f.value * step for f in known if f.unit is None and f.value == int(f.value)]
        yield from (count + shift for count in counts for shift in (0.0, step, -step))


@lru_cache(maxsize=4096)
def _literals_of(text: str) -> tuple[tuple[float, Unit | None, bool], ...]:
    """Return the numbers that are written into an expression; see :func:`_literals`."""
    tree = tree_of(text)
    parts = () if tree is None else _unscaled(tree)
    return tuple(found for part in parts for found in _literals(part))


def _figures(leaf: Any, tracing: Tracing) -> list[Figure]:
    text = tracing.problem.text
    return list(figures(words_of(leaf, text), text))


def _rival(figure: Figure, unit: Unit | None) -> bool:
    """Whether a figure of the source could be what a literal was meant to be."""
    if figure.unit is None and figure.value in FREE:
        return False  # "one direction at a time"
    if unit is None:
        return figure.unit is None or figure.unit.is_dimensionless
    if figure.unit is None:
        return True
    hour = parse_unit("h").dimension
    return unit.dimension != hour or figure.unit.dimension == hour


def _unscaled(node: Node) -> list[Node]:
    """Return the parts of an expression, without a factor that all sides of a comparison share."""
    split = [_split(side) for side in node.operands] if isinstance(node, Compare) else [None]
    factors = {part[0] for part in split if part is not None}
    if None in split or len(factors) != 1:
        return [node]
    return [part[1] for part in split if part is not None]


def _split(node: Node) -> tuple[float, Node] | None:
    """Return the number, written without a unit, by which the rest of a product is multiplied."""
    if isinstance(node, Binary) and node.op == "*":
        for factor, rest in ((node.left, node.right), (node.right, node.left)):
            if isinstance(factor, Number) and factor.unit is None:
                return factor.value, rest
    return None


def _literals(
    node: Node, in_index: bool = False, negated: bool = False
) -> Iterator[tuple[float, Unit | None, bool]]:
    if isinstance(node, Compare) and all(_is_place(side) for side in node.operands):
        in_index = True  # how far one period is from another
    if isinstance(node, Compare):  # a limit of one unit; as a divisor 1[K] only takes a unit away
        ones = [side for side in node.operands if isinstance(side, Number) and side.value == 1.0]
        yield from ((1.0, parse_unit(side.unit), False) for side in ones if side.unit is not None)
    if isinstance(node, Number) and not in_index and node.value not in FREE:
        unit = None
        if node.unit is not None:
            try:
                unit = parse_unit(node.unit)
            except UnitError:
                return
        yield -node.value if negated else node.value, unit, False
    if isinstance(node, Text):
        stamp = _STAMP.match(node.value)  # of which the date is that of the period
        words = stamp[1] if stamp is not None else node.value
        clock = [f for f in figures(words) if ":" in node.value]
        yield from ((f.value, f.unit, True) for f in clock)
    exponent = getattr(node, "right", None) if getattr(node, "op", "") == "**" else None
    for child in children(node):
        if child is not exponent:
            op, is_first = getattr(node, "op", ""), getattr(node, "left", None) is child
            minus = negated and op in ("*", "/") if is_first else op == "-"  # right before it
            yield from _literals(child, in_index or isinstance(node, Ref), minus)


def _is_place(node: Node) -> bool:
    """Whether an expression is a place in an order, as ``pos(t)`` or ``pos(u) + 2``."""
    if isinstance(node, Binary):
        return _is_place(node.left) or _is_place(node.right)
    return isinstance(node, Call) and node.function == "pos"


def _same(value: float, unit: Unit | None, figure: Figure) -> bool:
    """Whether a literal is a figure of the text, units converted where both have one."""
    if unit is None or figure.unit is None:
        scaled = [figure.value]
        if figure.unit is not None:
            scaled.append(figure.value * figure.unit.scale)
        return any(close_to(value, candidate) for candidate in scaled)
    if without_counts(unit.dimension) != without_counts(figure.unit.dimension):
        return False
    return close_to(unit.to_si(value), figure.unit.to_si(figure.value)) or close_to(
        value * unit.scale, figure.value * figure.unit.scale
    )

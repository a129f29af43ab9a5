"""What the checker says of one reading's plan by the rows, bounds and goal of the other."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engiagent.agents.meeting.normalising import with_names
from engiagent.agents.meeting.plans import Side
from engiagent.blueprint.elements import Core, ObjectiveDef, ParameterDef
from engiagent.blueprint.grammar import Binary, Node, Reduce, Unary, parse, references
from engiagent.errors import EngiagentError
from engiagent.units.unit import parse_unit
from engiagent.verify.documents import Bench
from engiagent.verify.findings import Violation
from engiagent.verify.levels import algebra, goals, robust, variables
from engiagent.verify.levels.goals import Objective
from engiagent.verify.levels.sources import all_leaves
from engiagent.verify.series import Series
from engiagent.verify.tolerances import TOLERANCES


@dataclass(frozen=True)
class Row:
    """A row or a bound (``bounds:`` and the variable) of a reading, as a reader sees it.

    The formula is in quantity names, with the values of parameters that are single numbers; the
    quote are the words that it rests on, ``names`` the quantities in it.
    """

    id: str
    formula: str
    quote: str
    names: frozenset[str]


@dataclass(frozen=True)
class Broken:
    """A row that a plan breaks: where it is worst, and by how much."""

    row: Row
    where: Mapping[str, Any]
    amount: float | None
    unit: str | None
    share: float


@dataclass(frozen=True)
class Judgement:
    """The rows that a plan breaks, the worst first, and those that could not be evaluated."""

    broken: tuple[Broken, ...]
    unchecked: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether every row was evaluated and holds."""
        return not self.broken and not self.unchecked


def judged(side: Side, plan: Mapping[str, Series]) -> Judgement:
    """Return what the checker says of a plan in the names of ``side``."""
    core, bench = side.core, side.bench(plan)
    outcomes = [
        *algebra.check_rules(bench, algebra.rules_of_core(core)),
        *variables.check_variables(bench, core),
    ]
    try:
        uncertain = robust.swung(bench, core)
        outcomes += [] if uncertain is None else robust.check_robust(uncertain, core)
    except EngiagentError as error:
        return Judgement((), (str(error),))
    found = [v for outcome in outcomes for v in outcome.violations]
    unchecked = tuple(
        f"{o.record['id']}: {o.record.get('note')}" for o in outcomes if o.status == "unchecked"
    )
    rows = {row.id: row for row in rows_of(side)}
    broken = [_broken(rows, violation) for violation in found]
    unique = {item.row.id: item for item in sorted(broken, key=lambda item: item.share)}
    return Judgement(tuple(sorted(unique.values(), key=lambda b: (-b.share, b.row.id))), unchecked)


def _broken(rows: Mapping[str, Row], v: Violation) -> Broken:
    row_id = v.check.removeprefix("robust:")
    for prefix in ("integer:", "semicontinuous:"):
        row_id = f"bounds:{row_id.removeprefix(prefix)}" if row_id.startswith(prefix) else row_id
    row = rows.get(row_id) or Row(row_id, v.name, "", frozenset())
    amount = v.amount if v.amount is not None and math.isfinite(v.amount) else None
    share = math.inf if amount is None else amount / (v.tolerance or 1.0)
    return Broken(row, dict(v.where), amount, v.unit, share)


def goal_of(side: Side, plan: Mapping[str, Series]) -> Objective | None:
    """Return a reading's goal on a plan, None where it has none or it cannot be evaluated."""
    bench, core = side.bench(plan), side.core
    if core.objective_function is None:
        return None
    try:
        found = robust.declared_objective(bench, core)
    except EngiagentError:
        return None
    return found if math.isfinite(found.value) and not bench.evaluator.faults else None


def close(one: float, two: float) -> bool:
    """Whether two objective values are the same: within 1e-6 of the second, at least of 1."""
    return abs(one - two) <= TOLERANCES["objective"] * max(1.0, abs(two))


# --- rows as a reader sees them ----------------------------------------------------------------


def rows_of(side: Side) -> list[Row]:
    """Return the rows and bounds of a reading in quantity names."""
    core = side.core
    names = _shown_names(side)
    quantities = {v.name: v.quantity or v.name for v in core.decision_variables}
    quantities |= {e.name: e.quantity for e in core.expressions if e.quantity}
    found = []
    for c in core.constraints:
        over = f" for {', '.join(c.forall)}" if c.forall else ""
        where = f" where {with_names(c.where, names)}" if c.where else ""
        formula = with_names(c.expression, names) + over + where
        used = _used(c.expression, quantities, core)
        found.append(Row(c.constraint_id, formula, quote_of(c), used))
    for v in core.decision_variables:
        limits = [None if b is None else with_names(str(b), names) for b in (v.lower, v.upper)]
        name = quantities[v.name]
        formula = name if limits[0] is None else f"{limits[0]} <= {name}"
        formula = formula if limits[1] is None else f"{formula} <= {limits[1]}"
        whole = f", {v.type}" if v.type != "continuous" else ""
        formula = f"{formula} [{v.unit or '1'}]{whole}"
        found.append(Row(f"bounds:{v.name}", formula, quote_of(v), frozenset([name])))
    return found


def quote_of(item: Any) -> str:
    """Return the words that something rests on, the first source's."""
    return next(
        (" ".join(s.quote.split()) for s in all_leaves(item.source_reference) if s.quote), ""
    )


def _shown_names(side: Side) -> dict[str, str]:
    core = side.core
    names = {v.name: v.quantity for v in core.decision_variables if v.quantity}
    names |= {e.name: e.quantity for e in core.expressions if e.quantity}
    for p in core.parameters:
        shown = _single(p, side)
        if shown is not None:
            names[p.name] = shown
    return names


def _single(p: ParameterDef, side: Side) -> str | None:
    """Return the value of a parameter that is one number, as the language writes it."""
    if p.index or p.type not in (None, "number") or p.status == "missing":
        return None
    try:
        symbol = side.declarations.parameter(p.name)
    except EngiagentError:
        return None
    if symbol is None or symbol.value is None or symbol.value.data.size != 1:
        return None
    unit = symbol.value.unit
    number = f"{float(symbol.value.shown[0]):.9g}"
    shown = number if str(unit) in ("", "1") else f"{number}[{unit}]"
    return f"({shown})" if number.startswith("-") else shown


def _used(text: str, quantities: Mapping[str, str], core: Core) -> frozenset[str]:
    expressions = {e.name: e.expression for e in core.expressions}
    found: set[str] = set()
    open_, seen = [text], set()
    while open_:
        for ref in references(open_.pop()):
            if ref.name in quantities:
                found.add(quantities[ref.name])
            elif ref.name in expressions and ref.name not in seen:
                seen.add(ref.name)
                open_.append(expressions[ref.name])
    return frozenset(found)


def counterpart(row: Row, others: Sequence[Row]) -> Row | None:
    """Return the row of the other reading about the same: alike quantities, then words and form.

    None where no row has words in common, or is a bound or an equation as this one is.
    """

    def form(one: Row) -> tuple[bool, bool]:
        return one.id.startswith("bounds:"), "==" in one.formula

    def words(other: Row) -> bool:
        short, long = sorted((row.quote, other.quote), key=len)
        return bool(short) and short in long and 2 * len(short) >= len(long)

    def alike(other: Row) -> tuple[float, bool, bool, int]:
        both = len(row.names & other.names) / max(1, len(row.names | other.names))
        near = -abs(len(row.formula) - len(other.formula))
        return both, words(other), form(other) == form(row), near

    near = [other for other in others if words(other) or form(other) == form(row)]
    best = max(near, key=alike, default=None)
    return best if best is not None and row.names & best.names else None


# --- goals, term by term -----------------------------------------------------------------------


def terms_of(side: Side, plan: Mapping[str, Series]) -> list[tuple[str, float]]:
    """Return the additive terms of a goal with their values on a plan, as it is minimised."""
    goal = side.core.objective_function
    if goal is None:
        return []
    bench, names = side.bench(plan), _shown_names(side)
    sign = 1.0 if goal.sense == "minimize" else -1.0
    texts = [text for text in (goal.expression, *(t.expression for t in goal.terms)) if text]
    found = []
    for text in texts:
        for piece in _pieces(text):
            value = _value(bench, side.core, goal, piece)
            if value is not None:
                found.append((with_names(piece, names), sign * value))
    for soft in _soft(bench, side.core, goal):
        found.append((f"penalty of {soft.constraint}", soft.cost))
    return found


def _soft(bench: Bench, core: Core, goal: ObjectiveDef) -> Iterator[goals.SoftCost]:
    try:
        for _, entry in goals.soft_costs(bench, core, parse_unit(goal.unit or "1")):
            yield entry
    except EngiagentError:
        return


def _value(bench: Bench, core: Core, goal: ObjectiveDef, text: str) -> float | None:
    alone = replace(goal, expression=text, terms=(), components=(), combination=None)
    hard = tuple(c for c in core.constraints if c.hard is not False)
    try:
        value = goals.evaluate_declared(
            bench, replace(core, objective_function=alone, constraints=hard)
        ).value
    except EngiagentError:
        return None
    return value if math.isfinite(value) else None


def _pieces(text: str) -> list[str]:
    """Return the terms whose sum an expression is; sums over a set are taken apart."""
    return [("-" if sign < 0 else "") + piece for sign, piece in _split(parse(text), text)]


def _split(node: Node, text: str) -> Iterator[tuple[int, str]]:
    if isinstance(node, Binary) and node.op in "+-":
        yield from _split(node.left, text)
        factor = -1 if node.op == "-" else 1
        yield from ((factor * sign, piece) for sign, piece in _split(node.right, text))
    elif isinstance(node, Unary) and node.op in "+-":
        factor = -1 if node.op == "-" else 1
        yield from ((factor * sign, piece) for sign, piece in _split(node.operand, text))
    elif isinstance(node, Binary) and node.op in "*/" and not _is_sum(node.right):
        left = list(_split(node.left, text))
        tail = text[slice(*node.right.span)]
        yield from ((s, f"({p}){node.op}({tail})") for s, p in left)
    elif isinstance(node, Binary) and node.op == "*":
        head = text[slice(*node.left.span)]
        yield from ((s, f"({head})*({p})") for s, p in _split(node.right, text))
    elif isinstance(node, Reduce) and node.function == "sum":
        tail = text[node.span[0] : node.span[1]]
        end = tail[node.body.span[1] - node.span[0] :].lstrip(") ")
        yield from ((s, f"sum({p} {end}") for s, p in _split(node.body, text))
    else:
        yield 1, text[slice(*node.span)]


def _is_sum(node: Node) -> bool:
    return isinstance(node, Reduce) or (isinstance(node, Binary) and node.op in "+-")


def differing(
    one: Sequence[tuple[str, float]], two: Sequence[tuple[str, float]]
) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """Return the terms of either goal that have no equal in the other."""
    left, right = list(one), list(two)
    scale = max([1.0, *(abs(value) for _, value in (*one, *two))])
    for term in one:
        match = next((t for t in right if abs(t[1] - term[1]) <= 1e-7 * scale), None)
        if match is not None:
            left.remove(term)
            right.remove(match)
    return [t for t in left if abs(t[1]) > 1e-9 * scale], [
        t for t in right if abs(t[1]) > 1e-9 * scale
    ]


# --- what confirms nothing ---------------------------------------------------------------------


def vacuous(side: Side) -> str | None:
    """Return why a reading confirms nothing: no goal, a constant one, or no row that can bind."""
    goal, program = side.core.objective_function, side.program
    if goal is None:
        return "it has no goal"
    nonlinear = any((p.row_numbers() == -1).any() for p in program.nonlinear)
    curved = len(program.products.of_objective().rows) > 0
    if not program.cost.any() and not nonlinear and not curved and not program.goals:
        return "its goal is constant"
    if not _binding(side):
        return "none of its rows can bind"
    return None


def _binding(side: Side) -> bool:
    """Whether a row can be active within the bounds, or a bound of its own differs from zero."""
    program = side.program
    named = [slice(b.start, b.stop) for b in program.columns if not b.generated]
    ends = [np.concatenate((program.column_lower[s], program.column_upper[s])) for s in named]
    if any((np.isfinite(e) & (e != 0.0)).any() for e in ends):
        return True
    special = len(program.indicators.rows) or len(program.products.of_rows().rows)
    if special or program.nonlinear or program.sos1:
        return True
    counts = np.diff(program.row_starts)
    rows = np.repeat(np.arange(program.row_count), counts)
    a, j = program.row_values, program.row_columns
    kept = a != 0.0
    with np.errstate(invalid="ignore"):
        low = np.where(a > 0, a * program.column_lower[j], a * program.column_upper[j])
        high = np.where(a > 0, a * program.column_upper[j], a * program.column_lower[j])
    least = np.bincount(rows[kept], low[kept], program.row_count)
    most = np.bincount(rows[kept], high[kept], program.row_count)
    return bool(((program.row_lower > least) | (program.row_upper < most)).any())

"""Rows of a programme, and what is known of its best: a bound, a proof, the gap to a plan."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engiagent.blueprint.document import Core
from engiagent.errors import EngiagentError
from engiagent.verify import arithmetic
from engiagent.verify.documents import Bench
from engiagent.verify.frames import Frame
from engiagent.verify.levels.algebra import Rule, rules_of_core
from engiagent.verify.values import Value


@dataclass(frozen=True)
class DualBound:
    """A bound of the objective that holds for every allowed plan.

    ``value``: in SI; None when the bound is lost. ``reason``: why there is none. ``method``: what
    it rests on, where there are several ways.
    """

    value: float | None
    reason: str | None = None
    method: str = ""


@dataclass(frozen=True, eq=False)
class Row:
    """The rows of one comparison of a rule over a frame.

    ``number``: which comparison of a chain, from 1. ``op``: as it is written. ``excess``: what must
    not be positive, of an equation what must be zero, in SI.
    """

    rule: Rule
    number: int
    op: str
    excess: Value
    frame: Frame

    @property
    def equal(self) -> bool:
        """Whether the excess must be zero."""
        return self.op == "=="


def rows_of(
    bench: Bench, core: Core, left_out: list[str] | None = None, rules: Sequence[Rule] | None = None
) -> Iterator[Row]:
    """Yield the comparisons of the hard rules of a core, or of given ones.

    What is no comparison, or cannot be evaluated, is left out, which only loosens a bound;
    ``left_out`` collects why.
    """
    for rule in rules_of_core(core) if rules is None else rules:
        if not rule.hard:
            continue
        try:
            frame = bench.evaluator.frame(rule.forall, rule.where)
            compared = bench.evaluator.compared(rule.expression, frame) if frame.size else []
        except EngiagentError as error:
            if left_out is not None:
                left_out.append(f"{rule.id}: {error}")
            continue
        for number, (op, left, right) in enumerate(compared, 1):
            sides = (right, left) if op == ">=" else (left, right)
            yield Row(rule, number, op, arithmetic.add(*sides, -1.0), frame)


def only_affine(bench: Bench, core: Core) -> bool:
    """Whether every constraint compares what is affine in the variables."""
    left_out: list[str] = []
    affine = all(row.excess.degree < 2 for row in rows_of(bench, core, left_out))
    return affine and not left_out


@dataclass(frozen=True)
class Proof:
    """The outcome of a claim that nothing is allowed.

    ``margin``: by how much the weighted rows exceed what the box can reach, in the ray's own
    measure; above zero it is a proof. ``weights``: the share of each constraint in the proof,
    largest first.
    """

    margin: float | None
    weights: tuple[tuple[str, float], ...] = ()
    reason: str | None = None

    @property
    def proven(self) -> bool:
        """Whether nothing can be allowed."""
        return self.margin is not None and self.margin > 0


def gap_of(value: float, bound: float, sense: str) -> float:
    """Return by how much a plan may be worse than the best, relative to its objective.

    Below one unit of the objective the gap is absolute: a plan that costs nothing has no scale.
    """
    difference = value - bound if sense == "minimize" else bound - value
    return difference / max(abs(value), abs(bound), 1.0)

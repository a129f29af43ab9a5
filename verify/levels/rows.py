"""The hard rules of a programme as rows ``excess <= 0`` or ``excess == 0``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engiagent.blueprint.document import Core
from engiagent.errors import EngiagentError
from engiagent.verify import arithmetic
from engiagent.verify.documents import Bench
from engiagent.verify.frames import Frame
from engiagent.verify.levels.algebra import Rule, rules_of_core
from engiagent.verify.values import Value


@dataclass(frozen=True, eq=False)
class Row:
    """The rows of one comparison of a rule over a frame.

    Attributes
    ----------
    number
        Which comparison of a chain, from 1.
    op
        As it is written.
    excess
        What must not be positive, of an equation what must be zero, in SI.
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

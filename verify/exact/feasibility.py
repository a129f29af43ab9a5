"""Whether a plan keeps rows, bounds and whole numbers, each violation as a fraction."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from engiagent.units.unit import Unit
from engiagent.verify.exact.numbers import Fractions, listed, written
from engiagent.verify.exact.programme import Box, ExactProgramme
from engiagent.verify.findings import Violation
from engiagent.verify.frames import Frame
from engiagent.verify.levels.algebra import judge_of
from engiagent.verify.levels.variables import bound_tolerance
from engiagent.verify.relations import parts_of
from engiagent.verify.tolerances import TOLERANCES
from engiagent.verify.values import ONE, Floats

ZERO = Fraction(0)


@dataclass(frozen=True)
class Finding:
    """How one rule, or one side of the bounds of a variable, came out.

    ``worst``: the largest violation in SI; ``row`` is where it is. ``excess``: by how much it is
    beyond what is allowed there; not above zero when the rule holds.
    """

    id: str
    rows: int
    broken: int
    worst: Fraction
    excess: Fraction
    tolerance: Fraction
    row: int
    unit: Unit
    frame: Frame

    @property
    def holds(self) -> bool:
        """Whether every row is within its tolerance."""
        return self.broken == 0

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON, figures as text, in the unit of the rule."""
        return {
            "id": self.id,
            "rows": self.rows,
            "broken": self.broken,
            "violation": written(self.worst / self.unit.factor),
            "tolerance": written(self.tolerance / self.unit.factor),
            "unit": str(self.unit),
            "where": self.frame.labels(self.row),
        }

    def violation(self) -> Violation:
        """Return what is wrong, for the certificate."""
        amount = self.worst / self.unit.factor
        where = self.frame.labels(self.row)
        place = "".join(f" at {name} = {label}" for name, label in where.items())
        text = f"{self.id} is broken by exactly {written(amount)} {self.unit}{place}"
        allowed = float(self.tolerance / self.unit.factor)
        return Violation(
            "algebra", self.id, self.id, text, where, float(amount), str(self.unit), allowed
        )


def findings_of(programme: ExactProgramme) -> Iterator[Finding]:
    """Yield how every rule and every variable of a programme comes out.

    What is allowed is the tolerance in doubles, compared exactly.
    """
    bench = programme.bench.floating
    for row in programme.rows:
        rule = row.rule
        excess: Any = row.excess.data
        parts = parts_of(bench.evaluator, rule.expression, row.frame, judge_of(bench, rule))
        amounts = abs(excess) if row.equal else listed(max(number, ZERO) for number in excess)
        part = parts[row.number - 1]
        yield _finding(rule.id, amounts, part.tolerance, part.unit, row.frame)
    for box in programme.boxes:
        yield from _of_box(programme, box)


def _of_box(programme: ExactProgramme, box: Box) -> Iterator[Finding]:
    """Yield how the bounds of a variable come out, and its integers."""
    bench = programme.bench.floating
    definition = next(v for v in bench.declarations.core.decision_variables if v.name == box.name)
    frame, x = bench.grid(definition.index), programme.bench.variables[box.name].data
    value = bench.variables[box.name]
    if any(end is not None for end in (*box.lower, *box.upper)):
        beyond = [
            max(_below(low, number), _below(number, high)) if here else ZERO
            for low, number, high, here in zip(box.lower, x, box.upper, box.exists, strict=True)
        ]
        name = "bounds"
        if box.kind == "semicontinuous":
            name = "semicontinuous"
            beyond = [
                min(abs(number - box.zero), far) for number, far in zip(x, beyond, strict=True)
            ]
        allowed = bound_tolerance(bench, box.name, value)
        unit = value.unit.difference()
        yield _finding(f"{name}:{box.name}", listed(beyond), allowed, unit, frame)
    if box.whole is not None:
        shown = [
            (number - box.zero) / box.whole if here else ZERO
            for number, here in zip(x, box.exists, strict=True)
        ]
        off = listed(abs(number - round(number)) for number in shown)
        allowed = np.full(x.size, TOLERANCES["integrality"])
        yield _finding(f"integer:{box.name}", off, allowed, ONE, frame)


def _below(low: Fraction | None, high: Fraction | None) -> Fraction:
    """Return by how much the first is above the second, zero where there is no end."""
    return ZERO if low is None or high is None else max(low - high, ZERO)


def _finding(name: str, amounts: Fractions, tolerance: Floats, unit: Unit, frame: Frame) -> Finding:
    """Return how amounts compare with what is allowed of each, taken as the double it is."""
    places = [place for place, amount in enumerate(amounts) if amount > 0]
    excess = {place: amounts[place] - Fraction(float(tolerance[place])) for place in places}
    broken = [place for place in places if excess[place] > 0]
    row = max(excess, key=lambda place: excess[place], default=0)
    allowed = Fraction(float(tolerance[row])) if len(tolerance) else ZERO
    worst = amounts[row] if len(amounts) else ZERO
    return Finding(
        name, len(amounts), len(broken), worst, worst - allowed, allowed, row, unit, frame
    )

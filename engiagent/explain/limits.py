"""What a family of limits limits, in which unit, and whether it could give way.

Only what people decide can give way: the size of a device, a bound, a requirement, the value that a
state starts from. A law of physics, a balance, a quantity that cannot be negative and the logic of
switches cannot, and a proposal never touches them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np

from engiagent.blueprint.elements import ConstraintDef
from engiagent.blueprint.grammar import Compare, parse
from engiagent.explain.conflicts import LAWS, Statements
from engiagent.explain.labels import difference_unit, is_point, where_of
from engiagent.formulations.program import Block, ColumnBlock, Program
from engiagent.formulations.values import Floats, Ints
from engiagent.solvers.iis import Family, families_of, positions_of

Side = Literal["lower", "upper", "both"]
DECIDED: Final = frozenset({"Resource Capacity", "Strategic Requirements"})


@dataclass(frozen=True, eq=False, kw_only=True)
class Limit:
    """A family of limits on one quantity."""

    family: Family
    places: Ints  # rows or columns, (k,)
    subject: str  # the quantity that is limited, else the name of the constraint
    side: Side  # as people read it: ``-x >= -5`` is an upper limit of x
    unit: str
    step_unit: str  # unit of a change of the limit: K where the quantity is in °C
    values: Floats  # the limits in the unit of the quantity, (k,)
    # how many units of a row one unit of the quantity is; negative where the row is turned
    scale: float
    plain: bool  # whether the limit is one of a single quantity, and ``values`` are what it may be
    gates: Ints  # the switch with which each limit comes and goes, (k,); -1 without one
    active: int  # the value of the switch, 0 or 1, at which the limit is there
    # soft, reason: whether the family could give way, and why
    soft: bool
    reason: str
    block: Block
    where: str = ""  # at which elements, if the rows have none of their own and their quantity has

    @property
    def title(self) -> str:
        """The quantity, with the name of the constraint where it is one that limits it."""
        named = self.is_row and self.subject != self.block.name
        return f"{self.subject} (“{self.block.name}”)" if named else self.subject

    @property
    def is_row(self) -> bool:
        """Whether it limits rows and not columns."""
        return self.family.kind == "constraint"

    @property
    def is_fixed(self) -> bool:
        """Whether it is an equation, or a bound that fixes a quantity."""
        return self.family.side == "both"

    @property
    def gated(self) -> bool:
        """Whether a switch turns it on and off."""
        return bool(np.any(self.gates >= 0))


@dataclass(frozen=True, eq=False)
class Limits:
    """All families of a program with the blueprint behind it."""

    program: Program
    said: Statements

    @cached_property
    def families(self) -> dict[Family, tuple[Ints, Ints]]:
        """Places of the lower and of the upper limits of each family."""
        return families_of(self.program)

    def all(self) -> list[Limit]:
        """Return every family as a limit."""
        return [self.of(family) for family in self.families]

    def of(self, family: Family) -> Limit:
        """Return a family as a limit."""
        places = np.union1d(*self.families[family]).astype(np.int64)
        return self._bound(family, places) if family.kind == "bound" else self._rows(family, places)

    def where(self, limit: Limit, places: Ints) -> str:
        """Return at which elements some of a limit's places are; empty for all of them."""
        block = limit.block
        if limit.where or not block.shape:
            return limit.where
        positions = positions_of(self.program, limit.family, places)
        return where_of(block.sets, block.shape, positions, self.program)

    # -- bounds -------------------------------------------------------------------------------

    def _bound(self, family: Family, places: Ints) -> Limit:
        program = self.program
        block = program.column_block(family.name)
        values = (program.column_lower if family.side == "lower" else program.column_upper)[places]
        if family.side == "both" and not np.any(values) and not is_point(block.unit):
            # What is held at nothing is a capacity of nothing: less than that cannot be had.
            family = Family("bound", family.name, "upper")
        soft, reason = self._bound_softness(family, values, block)
        return Limit(
            family=family,
            places=places,
            subject=block.quantity or block.name,
            side=family.side,
            unit=block.unit,
            step_unit=difference_unit(block.unit),
            values=values,
            scale=1.0,
            plain=True,
            gates=np.full(len(places), -1),
            active=1,
            soft=soft,
            reason=reason,
            block=block,
        )

    def _bound_softness(
        self, family: Family, values: Floats, block: ColumnBlock
    ) -> tuple[bool, str]:
        bound = str(getattr(self.said.variables.get(family.name), family.side, ""))
        if self.said.is_data(family) and "_max" not in bound:
            return False, "it follows from given data, as the sun that there is"
        known = family.name in self.said.variables
        if not known or block.kind in ("binary", "semicontinuous"):
            return False, "a switch is on or off"
        if family.side == "lower" and not np.any(values) and not is_point(block.unit):
            return False, "the quantity cannot be negative"
        if family.side == "both":
            return True, "a value that is given"
        said = "a requirement" if family.side == "lower" else "a capacity"
        return True, f"a bound, {said}"

    # -- constraints --------------------------------------------------------------------------

    def _rows(self, family: Family, places: Ints) -> Limit:
        program = self.program
        block = program.row_block(family.name)
        shape = _shape_of(program, places)
        definition = self.said.constraint(family.name)
        soft, reason = _row_softness(family, definition, shape)
        scale = shape.scale
        raw = (program.row_lower if family.side == "lower" else program.row_upper)[places]
        gates, active = np.full(len(places), -1), 1
        if shape.switched and family.side != "both" and not np.any(raw):
            gates, raw = shape.gates, -shape.gate_values
        elif shape.switched and family.side != "both" and np.array_equal(raw, shape.gate_values):
            gates, active = shape.gates, 0
        side = family.side if scale > 0 or family.side == "both" else _OTHER[family.side]
        subject, unit, where = block.name, block.unit, ""
        if shape.column is not None:
            quantity = program.column_block_at(shape.column)
            subject, unit = quantity.quantity or quantity.name, quantity.unit
            if not block.shape and quantity.shape:
                where = where_of(
                    quantity.sets,
                    quantity.shape,
                    positions_of(
                        program, Family("bound", quantity.name, "both"), np.array([shape.column])
                    ),
                    program,
                )
        elif definition is not None:
            subject = definition.name or definition.constraint_id
        return Limit(
            family=family,
            places=places,
            subject=subject,
            side=side,
            unit=unit,
            step_unit=difference_unit(unit),
            values=raw / scale + 0.0,
            scale=scale,
            plain=shape.column is not None or (shape.one_sign and bool(np.any(raw))),
            gates=gates,
            active=active,
            soft=soft,
            reason=reason,
            block=block,
            where=where,
        )


_FIRM: Final = {
    "Physical Laws": "a law of physics holds whatever we want",
    "Supply-Demand Balance": "supply has to meet demand, whatever we want",
}
_OTHER: Final[Mapping[str, Side]] = {"lower": "upper", "upper": "lower", "both": "both"}


@dataclass(frozen=True, eq=False)
class _Shape:
    """What some rows look like."""

    rows: int
    # a column of the only variable in the rows, where each row has one entry besides a switch, all
    # of one size; None else
    column: int | None
    scale: float
    one_sign: bool
    single_variable: bool
    whole: bool
    # switches, constant: how many whole numbers each row has at least, and whether it has a limit
    # other than zero
    switches: int
    constant: bool
    switched: bool  # whether each row has exactly one whole number, and other columns
    gates: Ints
    gate_values: Floats


def _shape_of(program: Program, places: Ints) -> _Shape:
    starts = program.row_starts.astype(np.int64)
    lengths = starts[places + 1] - starts[places]
    owner = np.repeat(np.arange(len(places)), lengths)
    before = np.cumsum(lengths) - lengths
    entries = np.arange(len(owner)) - before[owner] + starts[places][owner]
    columns, values = program.row_columns[entries], program.row_values[entries]
    whole = program.integrality[columns]
    count = np.bincount(owner[whole], minlength=len(places))
    ends = np.concatenate([program.row_lower[places], program.row_upper[places]])
    ends = ends[np.isfinite(ends)]
    others = np.bincount(owner[~whole], minlength=len(places))
    switched = bool(np.all(count == 1) and np.all(others >= 1))
    rest = ~whole if switched else np.ones(len(values), dtype=np.bool_)
    some = bool(np.any(rest))
    variables = np.searchsorted(program.column_stops, columns[rest], side="right")
    single = some and bool(np.all(variables == variables[0]))
    same = some and bool(np.all(values[rest] == values[rest][0]))
    alone = single and same and bool(np.all(np.bincount(owner[rest], minlength=len(places)) == 1))
    negative = some and bool(np.all(values[rest] < 0))
    gates, gate_values = np.full(len(places), -1), np.zeros(len(places))
    if switched:
        gates[owner[whole]], gate_values[owner[whole]] = columns[whole], values[whole]
    return _Shape(
        rows=len(places),
        column=int(columns[rest][0]) if alone else None,
        scale=float(values[rest][0]) if alone else -1.0 if negative else 1.0,
        one_sign=negative or (some and bool(np.all(values[rest] > 0))),
        single_variable=single,
        whole=bool(len(whole)) and bool(np.all(whole)),
        switches=int(np.min(count, initial=len(whole))),
        constant=bool(np.any(ends)),
        switched=switched,
        gates=gates,
        gate_values=gate_values,
    )


def _row_softness(
    family: Family, definition: ConstraintDef | None, shape: _Shape
) -> tuple[bool, str]:
    if definition is None:
        return False, "it belongs to no constraint of the blueprint"
    if not isinstance(parse(definition.expression), Compare):
        return False, "it says how switches hang together"
    if definition.category in LAWS:
        sets = family.side == "both" and shape.column is not None and shape.rows == 1
        if sets and definition.category == "Physical Laws":
            return True, "it sets one value, that a state starts from or ends at"
        return False, _FIRM[definition.category or ""]
    logic = shape.whole or (shape.switches > 1 and not shape.constant)
    if logic and definition.category not in DECIDED:
        return False, "it says how switches hang together"
    if family.side == "both" and shape.column is None and not shape.single_variable:
        return False, "an equation between several quantities, taken as a balance"
    if family.side == "both" and shape.column is None and shape.rows > 1:
        return False, "an equation from one element to the next, taken as a law"
    kind = {
        "Resource Capacity": "a capacity",
        "Strategic Requirements": "a requirement",
        "Operational Logic": "an operating rule",
    }.get(definition.category or "", "a limit")
    return True, "a value that is given" if family.side == "both" else kind

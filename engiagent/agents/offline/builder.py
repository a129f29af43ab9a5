"""A blueprint under construction: parameters with their numbers, sets, components, rows."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from engiagent.agents.offline.amounts import kind_of
from engiagent.agents.offline.draft import Blocks, Cell, Draft, Json, Reading, Value
from engiagent.agents.offline.results import Missing
from engiagent.agents.offline.timing import Axis
from engiagent.blueprint.grammar import Binary, Call, Node, Number, Ref, Unary, parse
from engiagent.blueprint.units import convert, parse_unit

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

Floats = npt.NDArray[np.float64]
CANONICAL = {
    "energy": "kWh", "power": "kW", "percent": "1", "number": "1", "temperature": "degC",
    "heat_capacity": "kWh/K", "resistance": "K/kW", "conductance": "kW/K", "rate": "1/h",
    "cycles": "cycle", "daily_cycles": "cycle/d", "power_per_cold": "1", "cold_per_power": "1",
}  # fmt: skip


@dataclass
class Builder:
    """Collects the parts of a blueprint; :attr:`numbers` holds values in canonical units.

    ``variants`` are the series that a series stands for in other scenarios, by the identity of its
    source; its numbers are then those of all of them.
    """

    problem: "Problem"
    draft: Draft
    axis: Axis
    parameters: list[Json] = field(default_factory=list)
    sets: list[Json] = field(default_factory=list)
    components: list[Json] = field(default_factory=list)
    variables: list[Json] = field(default_factory=list)
    constraints: list[Json] = field(default_factory=list)
    expressions: list[Json] = field(default_factory=list)
    numbers: dict[str, Floats] = field(default_factory=dict)
    indexed: set[str] = field(default_factory=set)
    used: list[Json] = field(default_factory=list)
    variants: Mapping[int, Sequence[Value]] = field(default_factory=dict)

    # -- parameters ---------------------------------------------------------------------------

    def parameter(self, name: str, unit: str, description: str, **fields: Any) -> str:
        """Add a parameter; a name that is taken gets a number."""
        known = {p["name"] for p in self.parameters}
        unique, k = name, 2
        while unique in known:
            unique, k = f"{name}_{k}", k + 1
        entry: Json = {"param_id": f"PARAM_{len(self.parameters) + 1:02d}", "name": unique}
        entry |= {key: v for key, v in fields.items() if v is not None}
        entry |= {"unit": unit or "1", "description": description}
        self.parameters.append(entry)
        if fields.get("index"):
            self.indexed.add(unique)
        return unique

    def value(self, name: str, value: Value, description: str, unit: str = "") -> str:
        """Add a value as it stands in its source, and what follows from it."""
        self.used.append(value.source)
        if value.cell is not None and value.number is not None:
            return self._of_row(name, value, description, unit)
        if value.blocks is not None:
            return self._of_blocks(name, value, description, unit)
        plain = value.expression == "x0"
        base = name if plain else f"{name}_stated"
        index = ["T"] if value.is_series else None
        data = value.data
        inline = list(value.numbers) if value.numbers is not None else value.number
        made = self.parameter(
            base,
            value.unit,
            description,
            index=index,
            data=data,
            value=None if data else inline,
            unit_override=_whose_cents(value),
            source_reference=value.source,
        )
        self.numbers[made] = self._canonical(value)
        if plain:
            return made
        shown = f"{made}[t]" if value.is_series else made
        return self.derived(
            name, value.expression.replace("x0", shown), unit or value.unit, description,
            [made], series=value.is_series,
        )  # fmt: skip

    def _of_blocks(self, name: str, value: Value, description: str, unit: str) -> str:
        """Add a series over blocks, and what it is in each period of theirs."""
        assert value.blocks is not None
        made = self.by_block(f"{name}_by_block", value, description)
        blocks = value.blocks.name
        text = value.expression.replace("x0", f"{made}[at(t, {blocks})]")
        result = self.derived(
            name, text, unit or value.unit, description, [made], series=True,
            note=f"the value of the block that a period lies in: {text}",
        )  # fmt: skip
        each = round(value.blocks.step_minutes / self.axis.step_minutes)
        self.numbers[result] = np.repeat(self.numbers[made], each)
        return result

    def by_block(self, name: str, value: Value, description: str) -> str:
        """Add a series over blocks as it stands in its source, and the blocks where they lack."""
        assert value.blocks is not None
        self.use_blocks(value.blocks)
        self.used.append(value.source)
        made = self.parameter(
            name, value.unit, description, index=[value.blocks.name], data=value.data,
            value=None if value.data or value.numbers is None else list(value.numbers),
            unit_override=_whose_cents(value), source_reference=value.source,
        )  # fmt: skip
        self.indexed.discard(made)
        self.numbers[made] = self._canonical(value)
        return made

    def use_blocks(self, blocks: Blocks) -> None:
        """Add the set of some blocks, once."""
        if any(entry["name"] == blocks.name for entry in self.sets):
            return
        entry: Json = {"name": blocks.name, "kind": "time", "start": blocks.start,
                       "step": blocks.step_text, "periods": blocks.periods}  # fmt: skip
        if blocks.zone is not None and "T" in blocks.start:
            entry["zone"] = blocks.zone
        self.sets.append(entry)

    def _of_row(self, name: str, value: Value, description: str, unit: str) -> str:
        """Add the value of one unit out of a file with a row for each."""
        assert value.cell is not None
        shown = f"{self.table(value.cell, unit=value.unit)}['{value.cell.label}']"
        text = value.expression.replace("x0", shown)
        made = self.derived(name, text, unit or value.unit, description, [shown.split("[")[0]])
        self.numbers[made] = self._canonical(value)
        return made

    def table(self, cell: Cell, **fields: Any) -> str:
        """Add a column of a file over the units that it names, once; return the parameter."""
        data = f"{cell.file}#{cell.column}"
        known = next((p["name"] for p in self.parameters if p.get("data") == data), None)
        if known is not None:
            return str(known)
        stem = re.sub(r"\W+", "_", cell.file.rsplit(".", 1)[0]).strip("_")
        names = f"{stem}_rows"
        source = {"kind": "file", "file": cell.file}
        heads = cell.head.split(",")
        if len(heads) > 1 and all(entry["name"] != names for entry in self.sets):
            among = next(e["name"] for e in self.sets if e["kind"] == "labels")
            self.sets.append(
                {"name": names, "kind": "tuples", "of": [among] * len(heads),
                 "data": f"{cell.file}#{cell.head}",
                 "source_reference": {**source, "column": heads[0]}}
            )  # fmt: skip
        elif all(entry["name"] != names for entry in self.sets):
            self.sets.append(
                {"name": names, "kind": "labels", "data": f"{cell.file}#{cell.head}",
                 "source_reference": {**source, "column": cell.head}}
            )  # fmt: skip
        column = re.sub(r"\W+", "_", cell.column).strip("_")
        unit = str(fields.pop("unit", ""))
        made = self.parameter(
            f"{stem}_{column}", unit, f"column {cell.column} of {cell.file}", index=[names],
            data=data, keys=heads, source_reference={**source, "column": cell.column},
            **fields,
        )  # fmt: skip
        self.indexed.discard(made)
        return made

    def derived(
        self,
        name: str,
        expression: str,
        unit: str,
        description: str,
        inputs: list[str],
        series: bool = False,
        note: str = "",
        more: tuple[Json, ...] = (),
        spoken: Json | None = None,
    ) -> str:
        """Add a parameter that follows from others; ``more`` and ``spoken`` are of its numbers."""
        known = {p["name"]: p for p in self.parameters}
        sources: list[Json] = []
        for name_of_input in inputs:
            reference = known[name_of_input].get("source_reference")
            if reference is not None:
                sources += reference if isinstance(reference, list) else [reference]
        sources += more
        derived: Json = {"kind": "derived", "of": sources, "note": note or expression}
        source: Any = derived if spoken is None else [derived, spoken]
        made = self.parameter(
            name,
            unit,
            description,
            index=["t in T"] if series else None,
            value=expression,
            source_reference=source if sources else {"kind": "assumption", "reason": note},
        )
        self.numbers[made] = self.evaluate(expression)
        return made

    def missing(
        self, name: str, unit: str, description: str, report: Missing, series: bool = False
    ) -> str:
        """Add a parameter without a value, and report it."""
        if report not in self.draft.missing:
            self.draft.missing.append(report)
        return self.parameter(
            name, unit, description, index=["T"] if series else None, status="missing"
        )

    def assumed(self, name: str, number: float, unit: str, description: str, reason: str) -> str:
        """Add a parameter whose value is a convention, and announce it."""
        self.draft.assume(reason)
        made = self.parameter(
            name, unit, description, value=number,
            source_reference={"kind": "assumption", "reason": reason},
        )  # fmt: skip
        self.numbers[made] = np.array(_in_canonical(number, unit))
        return made

    def at(self, name: str, index: str = "t") -> str:
        """Return a parameter as a term of an expression over the periods."""
        return f"{name}[{index}]" if name in self.indexed else name

    # -- numbers ------------------------------------------------------------------------------

    def _canonical(self, value: Value) -> Floats:
        others = self.variants.get(id(value.source), ())
        if others:
            return np.stack([self._one_canonical(other) for other in others])
        return self._one_canonical(value)

    def _one_canonical(self, value: Value) -> Floats:
        if value.data is not None:
            file, column = value.data.split("#", 1)
            raw = np.asarray(self.problem.data[file].column(column).numbers(), dtype=float)
        else:
            raw = np.asarray(value.number if value.numbers is None else value.numbers, dtype=float)
        return np.asarray([_in_canonical(x, value.unit) for x in raw.ravel()]).reshape(raw.shape)

    def evaluate(self, expression: str) -> Floats:
        """Return the value of plain arithmetic over parameters; NaN where one is missing."""
        try:
            return np.asarray(_evaluate(parse(expression), self), dtype=float)
        except (KeyError, ValueError, TypeError):
            return np.array(np.nan)


def _whose_cents(value: Value) -> Json | None:
    """Return the unit of a column of cents, where its head does not say of which currency."""
    if value.data is None or not value.unit.startswith("ct_"):
        return None
    currency = value.unit.split("/")[0].removeprefix("ct_")
    if currency.lower() in value.data.split("#", 1)[1].lower():
        return None
    return {"unit": value.unit, "reason": f"the text speaks of {currency}"}


def _in_canonical(value: float, unit: str) -> float:
    kind = kind_of(unit)
    if kind == "price":
        from engiagent.agents.offline.amounts import currency_of

        return convert(value, parse_unit(unit), parse_unit(f"{currency_of(unit)}/kWh"))
    target = CANONICAL.get(kind)
    if target is None:
        return value
    return convert(value, parse_unit(unit), parse_unit(target))


_FUNCTIONS: dict[str, Any] = {"sqrt": np.sqrt, "log": np.log, "exp": np.exp}


def _evaluate(node: Node, builder: Builder) -> Any:
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Ref):
        return builder.numbers[node.name]
    if isinstance(node, Unary):
        return -_evaluate(node.operand, builder)
    if isinstance(node, Call):
        if node.function == "dt":
            return builder.axis.step_minutes / 60
        return _FUNCTIONS[node.function](_evaluate(node.args[0], builder))
    if isinstance(node, Binary):
        left, right = _evaluate(node.left, builder), _evaluate(node.right, builder)
        with np.errstate(all="ignore"):
            return {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[node.op](
                left, right
            )
    raise KeyError(type(node).__name__)


def for_owner(draft: Draft, component: str, owner: str) -> dict[str, list[Reading]]:
    """Return the readings of one instance by slot; those for all instances included."""
    found: dict[str, list[Reading]] = {}
    for reading in draft.readings:
        if reading.slot.component == component and reading.owner in (owner, "*"):
            found.setdefault(reading.slot.name, []).append(reading)
    return found


def single(builder: Builder, readings: list[Reading]) -> Reading:
    """Return one of several readings of a slot; report them when they differ."""
    first = readings[0]
    for other in readings[1:]:
        a, b = (builder._canonical(r.value) if r.value.number is not None else None
                for r in (first, other))  # fmt: skip
        if a is None or b is None or not np.allclose(a, b, rtol=1e-12, atol=0):
            builder.draft.clash(
                other.line,
                "two-values",
                (first.owner if first.owner != "*" else first.slot.component, first.slot.name),
                f"{first.slot.component}: two different values for {first.slot.said}",
                (builder.draft.place(first), builder.draft.place(other)),
            )
        elif other.line >= 0 and first.slot.name.startswith("initial_") and _asks(builder, other):
            builder.draft.refuse(other.line, "a requirement with the value of the initial state")
        else:
            note_repeat(builder, other.value)
    return first


def _asks(builder: Builder, reading: Reading) -> bool:
    """Whether the sentence of a reading asks for something."""
    line = builder.draft.lines[reading.line].line
    return (
        re.search(r"\b(?:must|shall|has to|have to|should|again|at least|required)\b", line)
        is not None
    )


def note_repeat(builder: "Builder", value: Value) -> None:
    """Account for a number that says again what another one said."""
    draft = builder.draft
    builder.used.append(value.source)
    if not isinstance(value.source, dict) or value.source.get("kind") != "text":
        return
    entry = {
        "span": value.source["span"],
        "quote": value.source["quote"],
        "reason": "says again what was said before",
    }
    if entry not in draft.unused:
        draft.unused.append(entry)


def plain(value: Value) -> Value:
    """Return a value without what follows from it."""
    return replace(value, expression="x0")

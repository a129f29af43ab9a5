"""The elements of a blueprint as immutable typed records, and their way from and to plain JSON.

The classes mirror ``blueprint.schema.json`` field by field. A field that is absent in the JSON is
None or an empty tuple here and is left out again on writing, so that a canonical file survives
reading and writing byte for byte.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

Json = Any
"""A JSON value with lists frozen to tuples and objects to :class:`FrozenMap`."""


class FrozenMap(Mapping[str, Json]):
    """An immutable JSON object that keeps its order."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Json]) -> None:
        self._items = {key: freeze(value) for key, value in items.items()}

    def __getitem__(self, key: str) -> Json:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(tuple(self._items.items()))

    def __repr__(self) -> str:
        return f"FrozenMap({self._items!r})"


def freeze(value: Any) -> Json:
    """Return a JSON value that nobody can change."""
    if isinstance(value, Mapping):
        return FrozenMap(value)
    if isinstance(value, list | tuple):
        return tuple(freeze(item) for item in value)
    return value


def thaw(value: Any) -> Any:
    """Return plain lists and dictionaries again."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, tuple):
        return [thaw(item) for item in value]
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    return {
        name: thaw(item)
        for name, always in _written(type(value))  # type: ignore[arg-type]
        if (item := getattr(value, name)) is not None and (item != () or always)
    }


@lru_cache(maxsize=64)
def _written(cls: Any) -> tuple[tuple[str, bool], ...]:
    """Return the fields of a dataclass that are written, and whether also when they are empty."""
    return tuple(
        (part.name, bool(part.metadata.get("always")))
        for part in fields(cls)
        if not part.name.startswith("_")
    )


def _always() -> Any:
    """Return a list field that is written even when it is empty."""
    return field(default=(), metadata={"always": True})


@dataclass(frozen=True, kw_only=True)
class Context:
    """What the problem is about."""

    problem_essence: str
    engineering_domain: str | None = None
    modeling_paradigm: str | None = None
    solution_scope: str | None = None


@dataclass(frozen=True, kw_only=True)
class SetDef:
    """An index set; which fields apply depends on ``kind``."""

    name: str
    kind: str
    symbol: str | None = None
    description: str | None = None
    start: str | int | None = None
    stop: int | None = None
    step: str | int | tuple[str, ...] | None = None
    periods: int | None = None
    zone: str | None = None
    cyclic: bool | None = None
    of: str | tuple[str, ...] | None = None
    elements: tuple[Json, ...] = ()
    probabilities: Json = None
    tree: tuple[tuple[str | int, ...], ...] = ()
    data: str | None = None
    binder: str | None = None
    where: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class UncertainDef:
    """By how much the values of a parameter may differ from those given, to either side.

    In a ``box`` each value may on its own; with a ``budget`` at most so many of them in full.
    """

    deviation: int | float | str
    set: Literal["box", "budget"]
    budget: int | float | None = None


@dataclass(frozen=True, kw_only=True)
class ParameterDef:
    """A number, or an array of numbers or labels, with its unit and its source."""

    param_id: str | None = None
    name: str
    symbol: str | None = None
    index: tuple[str, ...] = ()
    type: str | None = None
    value: Json = None
    data: str | None = None
    keys: tuple[str, ...] = ()
    status: Literal["missing"] | None = None
    unit: Json = None
    unit_override: Json = None
    uncertain: UncertainDef | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class VariableDef:
    """A decision variable over its binders."""

    name: str
    symbol: str | None = None
    index: tuple[str, ...] = ()
    where: str | None = None
    type: Literal["continuous", "integer", "binary", "semicontinuous"] = "continuous"
    lower: int | float | str | None = None
    upper: int | float | str | None = None
    initial: Json = None
    stage: int | str | None = None
    unit: str | None = None
    quantity: str | None = None
    role: Literal["decision", "state", "auxiliary"] | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class ComponentDef:
    """A physical unit by the name of its model."""

    name: str
    model: str
    index: str | tuple[str, ...] | None = None
    parameters: FrozenMap = field(default_factory=lambda: FrozenMap({}))
    connections: FrozenMap | None = None
    options: FrozenMap | None = None
    expanded: bool | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class ExpressionDef:
    """A named intermediate quantity."""

    name: str
    symbol: str | None = None
    index: tuple[str, ...] = ()
    where: str | None = None
    expression: str
    unit: str | None = None
    quantity: str | None = None
    description: str | None = None


@dataclass(frozen=True, kw_only=True)
class GoalDef:
    """One of several goals; its sense is the objective's where it names none."""

    name: str
    sense: Literal["minimize", "maximize"] | None = None
    expression: str
    unit: str | None = None
    weight: int | float | str | None = None
    tolerance: int | float | str | None = None
    limit: int | float | str | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class RiskDef:
    """How the values of an objective in several scenarios count together."""

    measure: Literal["expected", "worst", "cvar"]
    alpha: float | None = None


@dataclass(frozen=True, kw_only=True)
class PenaltyDef:
    """What a broken soft constraint costs per unit of slack, or per squared unit."""

    weight: int | float | str
    form: Literal["linear", "quadratic"] | None = None


@dataclass(frozen=True, kw_only=True)
class ObjectiveDef:
    """What is minimised or maximised: an expression, or several ``terms``."""

    name: str | None = None
    sense: Literal["minimize", "maximize"]
    expression: str | None = None
    unit: str | None = None
    scenario: str | None = None
    risk: RiskDef | None = None
    combination: Literal["single", "weighted", "lexicographic", "epsilon", "frontier"] | None = None
    terms: tuple[GoalDef, ...] = ()
    components: tuple[Json, ...] = ()
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class ConstraintDef:
    """A comparison, or a chain of two, for every element of its binders."""

    constraint_id: str
    name: str | None = None
    forall: tuple[str, ...] = ()
    where: str | None = None
    expression: str
    category: str | None = None
    hard: bool | None = None
    penalty: PenaltyDef | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class DefinitionDef:
    """A value that is computed, for every element of its binders."""

    name: str
    symbol: str | None = None
    index: tuple[str, ...] = ()
    expression: str
    unit: str | None = None
    quantity: str | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class EquationDef:
    """A differential equation: its rate holds within the periods that its index runs over."""

    name: str
    symbol: str | None = None
    index: tuple[str, ...]
    instants: str
    rate: str
    initial: int | float | str
    unit: str
    scheme: Literal["euler", "rk4", "exact"]
    step: str | None = None
    quantity: str | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class DrawDef:
    """Random numbers, one for every element of its binders, from a named generator and seed."""

    name: str
    symbol: str | None = None
    index: tuple[str, ...] = ()
    distribution: str
    arguments: FrozenMap
    unit: str | None = None
    generator: str
    seed: int
    sha256: str | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class ChoiceDef:
    """Something that is chosen: among listed values, or between two bounds."""

    name: str
    symbol: str | None = None
    values: tuple[int | float, ...] = ()
    lower: int | float | None = None
    upper: int | float | None = None
    points: int | None = None
    unit: str | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class DesignDef:
    """Choices on a grid, or at random in a box, and the merit by which the best is taken."""

    choices: tuple[ChoiceDef, ...]
    sense: Literal["minimize", "maximize"]
    merit: str
    unit: str | None = None
    where: str | None = None
    samples: int | None = None
    generator: str | None = None
    seed: int | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class ClaimDef:
    """A comparison that the answer asserts, with its tolerance."""

    claim_id: str
    name: str | None = None
    forall: tuple[str, ...] = ()
    where: str | None = None
    expression: str
    tolerance: int | float | str
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class CaseDef:
    """A variant of the model: the JSON patch (RFC 6902) that makes it of the blueprint."""

    name: str
    description: str | None = None
    patch: tuple[Json, ...] = _always()


@dataclass(frozen=True, kw_only=True)
class SweepDef:
    """A parameter that takes several values, one after the other."""

    name: str
    parameter: str
    values: tuple[Json, ...]
    unit: str | None = None
    description: str | None = None


@dataclass(frozen=True, kw_only=True)
class ReportDef:
    """What is asked for besides the schedule."""

    expressions: tuple[str, ...] = ()
    duals: tuple[str, ...] = ()
    cases: tuple[CaseDef, ...] = ()
    sweeps: tuple[SweepDef, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Core:
    """The model itself."""

    description: str | None = None
    sets: tuple[SetDef, ...] = _always()
    parameters: tuple[ParameterDef, ...] = _always()
    decision_variables: tuple[VariableDef, ...] = _always()
    components: tuple[ComponentDef, ...] = ()
    expressions: tuple[ExpressionDef, ...] = ()
    objective_function: ObjectiveDef | None = None
    constraints: tuple[ConstraintDef, ...] = _always()
    draws: tuple[DrawDef, ...] = ()
    definitions: tuple[DefinitionDef, ...] = ()
    equations: tuple[EquationDef, ...] = ()
    design: DesignDef | None = None
    claims: tuple[ClaimDef, ...] = ()
    report: ReportDef | None = None


@dataclass(frozen=True, kw_only=True)
class Extended:
    """What stands beside the model: assumptions, uncertainty, trade-offs, unused numbers."""

    description: str | None = None
    key_assumptions: tuple[Json, ...] = ()
    uncertainty_sources: tuple[Json, ...] = ()
    trade_off_analysis: Json = None
    sensitivity_factors: tuple[Json, ...] = ()
    unused: tuple[Json, ...] = ()


def read_as(cls: Any, data: Mapping[str, Any]) -> Any:
    """Build a dataclass from validated JSON; fields that are absent keep their defaults."""
    values = {}
    for name, hint in _hints(cls).items():
        if name in data:
            values[name] = _convert(hint, data[name])
    return cls(**values)


_hints = lru_cache(maxsize=64)(get_type_hints)


def _convert(hint: Any, value: Any) -> Any:
    if isinstance(hint, type) and is_dataclass(hint):
        return read_as(hint, value)
    options = get_args(hint)
    if get_origin(hint) is tuple and is_dataclass(options[0]):
        return tuple(read_as(options[0], item) for item in value)
    for option in options:
        if isinstance(option, type) and is_dataclass(option):
            return read_as(option, value)
    return freeze(value)

"""Declarations of a component: a variable, an expression, a row, a derived parameter, each named.

Every name begins with the component's own, and every series carries the quantity
``<component>.<series>``.
"""

from engiagent.blueprint.document import (
    ConstraintDef,
    ExpressionDef,
    Json,
    ParameterDef,
    VariableDef,
)
from engiagent.formulations.components.fragment import Fragment, Reader, Surroundings
from engiagent.units.unit import UnitError, parse_unit

PHYSICS = "Physical Laws"
CAPACITY = "Resource Capacity"
OPERATION = "Operational Logic"
REQUIREMENT = "Strategic Requirements"


def variable(
    reader: Reader,
    series: str,
    unit: str,
    description: str,
    *,
    lower: float | str | None = 0,
    upper: float | str | None = None,
    kind: str = "continuous",
    role: str = "decision",
    instants: bool = False,
    slots: tuple[str, ...] = (),
) -> Fragment:
    """Return a series of the component, over its periods or at its instants.

    ``kind`` and ``role`` are the type and role of the variable; ``slots`` are the parameters that
    its bounds come from.
    """
    return Fragment(
        variables=(
            VariableDef(
                name=f"{reader.name}_{series}",
                index=(f"i in {reader.instants}",) if instants else reader.periods,
                type=kind,  # type: ignore[arg-type]
                lower=lower,
                upper=upper,
                unit=unit,
                quantity=f"{reader.name}.{series}",
                role=role,  # type: ignore[arg-type]
                description=f"{description} of {reader.name}",
                source_reference=reader.source(*slots),
            ),
        )
    )


def expression(
    reader: Reader,
    series: str,
    unit: str,
    text: str,
    description: str,
    *,
    index: tuple[str, ...] | None = None,
) -> Fragment:
    """Return a named quantity of the component, over its periods unless an index is given."""
    return Fragment(
        expressions=(
            ExpressionDef(
                name=f"{reader.name}_{series}",
                index=reader.periods if index is None else index,
                expression=text,
                unit=unit,
                quantity=f"{reader.name}.{series}",
                description=f"{description} of {reader.name}",
            ),
        )
    )


def row(
    reader: Reader,
    suffix: str,
    text: str,
    name: str,
    category: str = PHYSICS,
    *,
    index: tuple[str, ...] | None = None,
    where: str | None = None,
    slots: tuple[str, ...] = (),
) -> Fragment:
    """Return a constraint of the component, for its periods unless an index is given."""
    return Fragment(
        constraints=(
            ConstraintDef(
                constraint_id=f"{reader.name}_{suffix}",
                name=f"{name} of {reader.name}",
                forall=reader.periods if index is None else index,
                where=where,
                expression=text,
                category=category,
                hard=True,
                source_reference=reader.source(*slots),
            ),
        )
    )


def derived(
    reader: Reader,
    suffix: str,
    unit: str,
    value: Json,
    description: str,
    *,
    index: tuple[str, ...] | None = None,
    slots: tuple[str, ...] = (),
) -> Fragment:
    """Return a parameter computed from others, over the periods unless an index is given."""
    return Fragment(
        parameters=(
            ParameterDef(
                name=f"{reader.name}_{suffix}",
                index=reader.periods if index is None else index,
                value=value,
                unit=unit,
                description=f"{description} of {reader.name}",
                source_reference=reader.derived(description, *slots),
            ),
        )
    )


def initial(reader: Reader, series: str, slot: str) -> Fragment:
    """Return the row that fixes a state at the first instant."""
    return row(
        reader,
        "initial",
        f"{reader.name}_{series}[first({reader.instants})] == {reader.text(slot)}",
        "state at the start",
        index=(),
        slots=(slot,),
    )


def currency(around: Surroundings) -> str:
    """Return the currency of the objective, EUR where there is none.

    An objective that is no money leaves prices in the currency of the parameters.
    """
    objective = around.core.objective_function
    if objective is None:
        return "EUR"
    unit = objective.unit or next((t.unit for t in objective.terms if t.unit), None) or "EUR"
    if _money(unit) is not None:
        return unit
    units = (p.unit for p in around.core.parameters if isinstance(p.unit, str))
    return next((money for money in map(_money, units) if money is not None), unit)


def _money(unit: str) -> str | None:
    """Return the currency in a unit, None when there is none."""
    try:
        dimension = parse_unit(unit).dimension
    except UnitError:
        return None
    names = (name for name, _ in dimension)
    return next((n for n in names if len(n) == 3 and n.isupper()), None)

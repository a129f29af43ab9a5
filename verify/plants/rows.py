"""What executing demands, written as rows in the language of requirements."""

from collections.abc import Iterator

from engiagent.blueprint.document import ConstraintDef
from engiagent.errors import EngiagentError
from engiagent.models import Battery
from engiagent.verify.plants.unit import Unit


def row(name: str, expression: str, over: str | None) -> ConstraintDef:
    """Return a row for every period ``t`` of a set, or a single one."""
    forall = () if over is None else (f"t in {over}",)
    return ConstraintDef(constraint_id=name, expression=expression, forall=forall)


def written(unit: Unit, slot: str) -> str | None:
    """Return a parameter as an expression of the period ``t``, None when it is not given."""
    given = unit.parameters.get(slot)
    if given is None:
        return None
    text = str(given)
    if text.isidentifier():
        try:
            dims = unit.plant.bench.evaluator.environment.symbol(text).dims
        except EngiagentError:
            return None
        return f"{text}[t]" if len(dims) == 1 else text
    return f"({text})"


def known(unit: Unit, word: str) -> str | None:
    """Return the quantity by which the schedule has a series of a unit."""
    names = unit.plant.names(unit.declared, word)
    return next((name for name in names if name in unit.plant.bench.series), None)


def storage_rows(unit: Unit, battery: Battery, word: str) -> Iterator[ConstraintDef]:
    """Yield dynamics, start and limits of a store of energy whose content is called ``word``."""
    over = unit.periods
    instants = unit.instants
    names = [known(unit, series) for series in ("charge", "discharge", word)]
    if instants is None or None in names:
        return
    charge, discharge, state = names
    hours = unit.hours
    if not (hours == hours[0]).all():
        return
    decay, gain = battery.coefficients(hours[:1], "euler" if unit.scheme == "euler" else "exact")
    flow = (
        f"{battery.charge_efficiency!r}*{charge}[t] - {discharge}[t]"
        f"/{battery.discharge_efficiency!r}"
    )
    yield row(
        f"{unit.name} dynamics",
        f"{state}[t+1] == {float(decay[0])!r}*{state}[t] + {float(gain[0])!r}[h]*({flow})",
        over.name,
    )
    given = unit.slot("initial_energy")
    if given is not None:
        text = f"{state}[first({instants.name})] == {float(given[0])!r}[kWh]"
        yield row(f"{unit.name} start", text, None)
    low, high = battery.minimum_energy, battery.upper_energy
    yield ConstraintDef(
        constraint_id=f"{unit.name} energy",
        expression=f"{low!r}[kWh] <= {state}[i] <= {high!r}[kWh]",
        forall=(f"i in {instants.name}",),
    )

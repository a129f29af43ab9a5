"""What executing demands, written as rows in the language of requirements."""

from engiagent.blueprint.document import ConstraintDef
from engiagent.blueprint.grammar import references
from engiagent.errors import EngiagentError
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
    names = unit.names(word)
    return next((name for name in names if name in unit.plant.bench.series), None)


def chosen(unit: Unit) -> set[str]:
    """Return the parameters that the plan itself decides: they speak of its quantities."""
    return {
        slot
        for slot, text in unit.parameters.items()
        if isinstance(text, str) and any("." in ref.name for ref in references(text))
    }

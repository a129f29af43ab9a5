"""A record of a plant as a solution of its blueprint, so that whatever reads plans reads it too."""

from collections.abc import Iterable, Iterator
from itertools import product

import numpy as np

from engiagent.blueprint.document import ExpressionDef, VariableDef
from engiagent.blueprint.elaborate import Elaboration
from engiagent.environment.interface import between, element_name
from engiagent.solvers.arrays import AnySolution, NamedArray, SolutionArrays


def as_solution(elaboration: Elaboration, record: AnySolution) -> SolutionArrays:
    """Return the quantities of a blueprint with the values of a record, without those it has not.

    ``elaboration``: of the blueprint with components written out, over the periods of the record.
    ``record``: signals by name over ``time`` and ``instant``, each with ``units``.
    """
    items: Iterable[VariableDef | ExpressionDef]
    items = (*elaboration.core.decision_variables, *elaboration.core.expressions)
    found = (array for item in items for array in _recorded(elaboration, item, record))
    return SolutionArrays({array.name: array for array in found}, {}, {})


def _recorded(
    elaboration: Elaboration, item: VariableDef | ExpressionDef, record: AnySolution
) -> Iterator[NamedArray]:
    """Yield an item with the values of a record where this shows all of its elements."""
    sets = [elaboration.index_set(binder.set) for binder in elaboration.binders(item.index)]
    times = [k for k, s in enumerate(sets) if s.root.kind in ("time", "instants")]
    if item.quantity is None or len(times) != 1:
        return
    unit = str(elaboration.symbols[item.name].unit or "1")
    others = [s for k, s in enumerate(sets) if k != times[0]]
    columns = []
    for label in product(*(s.labels for s in others)):
        name = element_name(item.quantity, ".".join(map(str, label)))
        if name not in record or record[name].size != sets[times[0]].size:
            return
        signal = record[name]
        factor, shift = between(signal.attrs["units"], unit)
        columns.append(factor * signal.values + shift)
    values = np.reshape(columns, (*(s.size for s in others), -1))
    about = {"units": unit, "quantity": item.quantity}
    dims = tuple(s.name for s in sets)
    yield NamedArray(item.name, dims, np.moveaxis(values, -1, times[0]), about)

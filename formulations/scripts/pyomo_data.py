"""Sets and values of a blueprint as Python text for Pyomo scripts."""

from typing import Any

import numpy as np

from engiagent.blueprint.checked import Variable
from engiagent.blueprint.sets import IndexSet
from engiagent.formulations.scripts.printing import comment
from engiagent.formulations.scripts.pyomo_indices import compact, element


def elements(index_set: IndexSet) -> str:
    """Return the elements of a set."""
    if index_set.root is index_set and not index_set.columns:
        return f"range({index_set.size})"
    return compact([element(index_set, k) for k in range(index_set.size)])


def shown_labels(index_set: IndexSet) -> str:
    """Return a comment on the labels of a set: all of a few, else the first and the last."""
    if index_set.size == 0:
        return ""
    if index_set.kind == "labels":
        return f"  # {comment(', '.join(map(str, index_set.labels[:12])))}"
    first, last = index_set.labels[0], index_set.labels[-1]
    return f"  # {comment(f'{first} to {last}')}"


def keys_of(variable: Variable) -> list[Any]:
    """Return the key of every element of a variable as Pyomo will ask for it."""
    shape = tuple(s.size for s in variable.sets)
    flat = variable.positions if variable.positions is not None else np.arange(variable.size)
    keys = []
    for place in zip(*np.unravel_index(flat, shape), strict=True):
        key: list[Any] = []
        for index_set, position in zip(variable.sets, place, strict=True):
            part = element(index_set, int(position))
            key += part if isinstance(part, tuple) else [part]
        keys.append(key[0] if len(key) == 1 else tuple(key))
    return keys


def literal(values: Any, sets: tuple[IndexSet, ...]) -> str:
    """Return a parameter's values: a number, nested lists, or a dictionary by element."""
    array = np.asarray(values)
    if not sets:
        return repr(array.item())
    if all(s.root is s and not s.columns for s in sets):
        return compact(array.tolist())
    pairs = []
    for place in np.ndindex(*array.shape):
        key = tuple(element(s, p) for s, p in zip(sets, place, strict=True))
        value = array[place]
        plain = value.item() if hasattr(value, "item") else value
        pairs.append(f"{key[0] if len(key) == 1 else key!r}: {plain!r}")
    return f"{{{', '.join(pairs)}}}"

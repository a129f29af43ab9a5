"""Models with structure, and with structure that is broken here and there, imported exactly."""

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.exchange.families import split_name
from engiagent.formulations.exchange.model import Collector, LinearModel, Row, source_of
from engiagent.formulations.exchange.to_blueprint import to_blueprint
from engiagent.formulations.program import Program
from tests.formulations.exchange.test_import import elements

POOLS = (
    ["1", "2", "3", "4"],
    ["2", "3", "4", "5", "6"],
    ["north", "south", "old town"],
    ["0007", "0008", "0010"],
    ["a", "b", 'q"x', "Ü"],
)
Labels = tuple[str, ...]


@st.composite
def structured(draw: DrawFn) -> LinearModel:
    """Draw a model whose rows mostly follow from their labels."""
    collector = Collector(source_of("", "drawn.lp"))
    families = []
    for name in draw(
        st.lists(
            st.sampled_from(["x", "y", "flow", "if", "sum", "i"]),
            min_size=1,
            max_size=3,
            unique=True,
        )
    ):
        families.append(_family(draw, collector, name))
    kinds = draw(
        st.lists(
            st.sampled_from(["same", "shift", "slice", "all", "random"]), min_size=1, max_size=4
        )
    )
    for number, kind in enumerate(kinds):
        _rows(draw, collector, families, kind, f"c{'abcd'[number]}")
    if draw(st.booleans()):
        for column in range(len(collector.columns)):
            if draw(st.booleans()):
                collector.objective.terms[column] = float(draw(st.integers(-3, 3)))
    return collector.model()


def _family(draw: DrawFn, collector: Collector, name: str) -> dict[Labels, int]:
    pools = draw(st.lists(st.sampled_from(POOLS), min_size=1, max_size=2))
    elements_ = [(a,) for a in pools[0]]
    if len(pools) == 2:
        elements_ = [(a, b) for a in pools[0] for b in pools[1]]  # type: ignore[misc]
    if draw(st.booleans()):
        elements_ = [e for e in elements_ if draw(st.integers(0, 3))] or elements_[:1]
    same = draw(st.booleans())
    found: dict[Labels, int] = {}
    for labels in elements_:
        column = collector.column(f"{name}[{','.join(labels)}]", 1)
        entry = collector.columns[f"{name}[{','.join(labels)}]"]
        entry.lower = 0.0 if same else float(draw(st.integers(-2, 2)))
        entry.upper = 9.0 if same or draw(st.integers(0, 4)) else np.inf
        found[labels] = column
    return found


def _rows(
    draw: DrawFn, collector: Collector, families: list[dict[Labels, int]], kind: str, name: str
) -> None:
    pool = draw(st.sampled_from(POOLS))
    equal = draw(st.sampled_from([1.0, -2.5, None]))
    for position, label in enumerate(pool):
        chosen: list[int] = []
        for family in families:
            if kind == "same":
                chosen += [c for labels, c in family.items() if set(labels) == {label}]
            elif kind == "shift":
                near = set(pool[max(position - 1, 0) : position + 2])
                chosen += [c for labels, c in family.items() if labels[0] in near]
            elif kind == "slice":
                chosen += [c for labels, c in family.items() if label in labels]
            elif kind == "all":
                chosen += family.values()
            else:
                chosen += [c for c in family.values() if draw(st.booleans())]
        if draw(st.integers(0, 9)) == 0:
            chosen = chosen[1:]
        lower, upper = draw(st.sampled_from([(2.0, 2.0), (-np.inf, 4.0), (0.5, np.inf), (-1, 7)]))
        terms = {c: equal if equal is not None else float(draw(st.integers(1, 4))) for c in chosen}
        collector.add_row(Row(f"{name}({label})", 1, lower, upper, terms))


def rows_of(model: LinearModel | Program, names: dict[int, Any]) -> Counter[Any]:
    """Return how often each row occurs, by what it says."""
    found: Counter[Any] = Counter()
    for row in range(len(model.row_lower)):
        span = slice(int(model.row_starts[row]), int(model.row_starts[row + 1]))
        columns = [names[int(c)] for c in model.row_columns[span]]
        terms = frozenset(zip(columns, model.row_values[span].tolist(), strict=True))
        found[terms, float(model.row_lower[row]), float(model.row_upper[row])] += 1
    return found


def bounds_of(model: LinearModel | Program, names: dict[int, Any]) -> dict[Any, Any]:
    """Return the bounds of the columns by name."""
    sides = zip(model.column_lower.tolist(), model.column_upper.tolist(), strict=True)
    return {names[k]: side for k, side in enumerate(sides)}


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(structured())
def test_every_row_and_every_bound_is_there_and_nothing_else(model: LinearModel) -> None:
    blueprint = to_blueprint(model)
    program = compile_blueprint(blueprint)
    keys = elements(blueprint, program)
    theirs = {column: key for key, column in keys.items()}
    mine = {}
    for k, name in enumerate(model.column_names):
        plain = split_name(name.replace('q"x', "q_x").replace("Ü", "_"))
        mine[k] = plain if plain in keys else (name, ())
    expected, found = rows_of(model, mine), rows_of(program, theirs)
    sides = bounds_of(program, theirs)
    for name, (lower, upper) in bounds_of(model, mine).items():
        # Where bounds are infinite in part only, rows of one column say them.
        for side, mirror in (
            ((lower, np.inf), sides[name][0] == lower),
            ((-np.inf, upper), sides[name][1] == upper),
        ):
            if not mirror:
                found.subtract({(frozenset({(name, 1.0)}), *side): 1})
    assert +found == expected - Counter({(frozenset(), -np.inf, np.inf): 10**6})
    assert not -found
    cost = {mine[k]: value for k, value in enumerate(model.cost.tolist())}
    assert {theirs[k]: v for k, v in enumerate(program.cost.tolist())} == cost

"""Models with structure, and with structure that is broken here and there, imported exactly."""

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.exchange.families import split_name
from engiagent.formulations.exchange.model import FileModel, Row, source_of
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
def structured(draw: DrawFn) -> FileModel:
    """Draw a model whose rows mostly follow from their labels."""
    model = FileModel(source_of("", "drawn.lp"))
    families = []
    for name in draw(
        st.lists(
            st.sampled_from(["x", "y", "flow", "if", "sum", "i"]),
            min_size=1,
            max_size=3,
            unique=True,
        )
    ):
        families.append(_family(draw, model, name))
    kinds = draw(
        st.lists(
            st.sampled_from(["same", "shift", "slice", "all", "random"]), min_size=1, max_size=4
        )
    )
    for number, kind in enumerate(kinds):
        _rows(draw, model, families, kind, f"c{'abcd'[number]}")
    if draw(st.booleans()):
        for column in model.columns:
            if draw(st.booleans()):
                model.objective.terms[column] = float(draw(st.integers(-3, 3)))
    return model.finished()


def _family(draw: DrawFn, model: FileModel, name: str) -> dict[Labels, str]:
    pools = draw(st.lists(st.sampled_from(POOLS), min_size=1, max_size=2))
    elements_ = [(a,) for a in pools[0]]
    if len(pools) == 2:
        elements_ = [(a, b) for a in pools[0] for b in pools[1]]  # type: ignore[misc]
    if draw(st.booleans()):
        elements_ = [e for e in elements_ if draw(st.integers(0, 3))] or elements_[:1]
    same = draw(st.booleans())
    found: dict[Labels, str] = {}
    for labels in elements_:
        entry = model.column(f"{name}[{','.join(labels)}]", 1)
        entry.lower = 0.0 if same else float(draw(st.integers(-2, 2)))
        entry.upper = 9.0 if same or draw(st.integers(0, 4)) else np.inf
        found[labels] = entry.name
    return found


def _rows(
    draw: DrawFn, model: FileModel, families: list[dict[Labels, str]], kind: str, name: str
) -> None:
    pool = draw(st.sampled_from(POOLS))
    equal = draw(st.sampled_from([1.0, -2.5, None]))
    for position, label in enumerate(pool):
        chosen: list[str] = []
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
        model.add_row(Row(f"{name}({label})", 1, lower, upper, terms))


def rows_of(program: Program, names: dict[int, Any]) -> Counter[Any]:
    """Return how often each row occurs, by what it says."""
    found: Counter[Any] = Counter()
    for row in range(program.row_count):
        span = slice(int(program.row_starts[row]), int(program.row_starts[row + 1]))
        columns = [names[int(c)] for c in program.row_columns[span]]
        terms = frozenset(zip(columns, program.row_values[span].tolist(), strict=True))
        found[terms, float(program.row_lower[row]), float(program.row_upper[row])] += 1
    return found


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(structured())
def test_every_row_and_every_bound_is_there_and_nothing_else(model: FileModel) -> None:
    blueprint = to_blueprint(model)
    program = compile_blueprint(blueprint)
    keys = elements(blueprint, program)
    theirs = {column: key for key, column in keys.items()}
    mine = {}
    for name in model.columns:
        plain = split_name(name.replace('q"x', "q_x").replace("Ü", "_"))
        mine[name] = plain if plain in keys else (name, ())
    expected = Counter(
        (frozenset((mine[k], v) for k, v in row.terms.items()), row.lower, row.upper)
        for row in model.rows.values()
    )
    found = rows_of(program, theirs)
    bounds = zip(program.column_lower.tolist(), program.column_upper.tolist(), strict=True)
    sides = {theirs[k]: side for k, side in enumerate(bounds)}
    for column in model.columns.values():
        key, lower, upper = mine[column.name], column.lower, column.upper
        # Where bounds are infinite in part only, rows of one column say them.
        for side, mirror in (
            ((lower, np.inf), sides[key][0] == lower),
            ((-np.inf, upper), sides[key][1] == upper),
        ):
            if not mirror:
                found.subtract({(frozenset({(key, 1.0)}), *side): 1})
    assert +found == expected - Counter({(frozenset(), -np.inf, np.inf): 10**6})
    assert not -found
    cost = {mine[k]: model.objective.terms.get(k, 0.0) for k in model.columns}
    assert {theirs[k]: v for k, v in enumerate(program.cost.tolist())} == cost

"""A model of an LP or MPS file as a blueprint: checked, explained and solved like any other.

Names that spell an index become indexed variables and constraints. Rows whose structure is the
same become one constraint over a set; what has no structure goes into tables, exact all the same.
The files know no units, so everything is a pure number.
"""

from pathlib import Path

import numpy as np

from engiagent.blueprint.document import SCHEMA, Blueprint
from engiagent.errors import InputError
from engiagent.formulations.exchange.families import Labels
from engiagent.formulations.exchange.flat import FlatModel
from engiagent.formulations.exchange.lowering import lowered
from engiagent.formulations.exchange.lp_reader import read_lp
from engiagent.formulations.exchange.lp_writer import number
from engiagent.formulations.exchange.mps_reader import read_mps
from engiagent.formulations.exchange.parts import Index, Json
from engiagent.formulations.exchange.slot_rows import products, remaining_rows
from engiagent.formulations.exchange.source import form_of
from engiagent.formulations.exchange.translation import Translation, scaled
from engiagent.formulations.exchange.uniform_rows import uniform_rows
from engiagent.formulations.program import OBJECTIVE

FEW = 4
_READERS = {"lp": read_lp, "mps": read_mps}


def read_model(path: Path) -> FlatModel:
    """Return the model in an LP or MPS file, by its name; both may be packed with gzip.

    Raises
    ------
    InputError
        With the line, what was found there and what was expected.
    """
    return _READERS[form_of(path)](path)


def import_model(path: Path) -> Blueprint:
    """Return the blueprint of an LP or MPS file.

    Raises
    ------
    InputError
        When the file cannot be read or says what a blueprint cannot.
    """
    return to_blueprint(read_model(path))


def to_blueprint(model: FlatModel) -> Blueprint:
    """Return the blueprint of a model; its bounds, rows and objective are exactly the model's.

    Raises
    ------
    InputError
        When the model has no variables, or conditions on columns without finite bounds.
    """
    file = model.places.file if model.places is not None else "model"
    if not model.column_count:
        raise InputError("the model has no variables", file)
    flat = lowered(model)
    t = Translation(flat, file)
    variables = [_variable(t, k) for k in range(len(t.columns))]
    objective = _objective(t)
    left: list[int] = []
    quadratic = set(flat.products.rows.tolist())
    for position, family in enumerate(t.rows):
        if quadratic.isdisjoint(family.members):
            left += uniform_rows(t, position)
        else:
            left += family.members
    remaining_rows(t, left)
    return Blueprint.from_dict(_document(t, file, variables, objective), file)


def _document(t: Translation, file: str, variables: list[Json], objective: Json) -> Json:
    model = t.model
    size = f"{model.column_count} columns and {model.row_count} rows"
    core: Json = {
        "description": f"imported from {file}: {size}",
        "sets": t.parts.sets,
        "parameters": t.parts.parameters,
        "decision_variables": variables,
        "expressions": t.expressions,
        "objective_function": objective,
        "constraints": t.constraints,
    }
    document: Json = {
        "schema": SCHEMA,
        "kind": "programme",
        "modeling_context": {"problem_essence": f"the model {model.name} of {file}"},
        "core_model_elements": {k: v for k, v in core.items() if k != "expressions" or v},
    }
    assumptions = ["the file has no units; every number is taken as a pure one", *model.assumptions]
    document["extended_analysis_and_robustness"] = {
        "key_assumptions": [
            {"assumption_id": f"A{k}", "content": text} for k, text in enumerate(assumptions, 1)
        ]
    }
    return document


# --- variables ---------------------------------------------------------------------------------


def _variable(t: Translation, position: int) -> Json:
    family, index, name = t.columns[position], t.indices[position], t.variables[position]
    members = np.array(family.members)
    model = t.model
    line = 1 if model.places is None else int(model.places.columns[members[0]])
    entry: Json = {"name": name}
    if family.base != name:
        entry["symbol"] = family.base
    if index is not None:
        entry["index"] = index.binders(t.parts.letters[: family.arity])
    integral, binary = bool(model.integrality[members[0]]), bool(model.binary[members[0]])
    entry["type"] = "binary" if binary else "integer" if integral else "continuous"
    # Said outright, since without a unit a name such as charge would be taken for a power.
    entry["unit"] = "1"
    if not binary:
        for side in ("lower", "upper"):
            text = _bound(t, position, side, line)
            if text is not None:
                entry[side] = text
    entry["source_reference"] = t.parts.source(line)
    return entry


def _bound(t: Translation, position: int, side: str, line: int) -> float | str | None:
    """Return a side of a variable's bounds; where it is partly infinite, constraints say it."""
    family, index, name = t.columns[position], t.indices[position], t.variables[position]
    values = getattr(t.model, f"column_{side}")[np.array(family.members)]
    finite = np.isfinite(values)
    if not finite.any():
        return None
    table = dict(zip(family.labels, values.tolist(), strict=True))
    if index is None or len(set(table.values())) == 1:
        return float(values[0])
    names = t.parts.letters[: family.arity]
    if finite.all():
        return t.parts.values(f"{name}_{side}", index, names, table, line)
    bounded = {labels: value for labels, value in table.items() if np.isfinite(value)}
    _bound_rows(t, (name, side), index, bounded, line)
    return None


def _bound_rows(
    t: Translation, what: tuple[str, str], index: Index, bounded: dict[Labels, float], line: int
) -> None:
    name, side = what
    names = t.parts.letters[: len(index.roots)]
    subset = t.parts.index(index.roots, list(bounded), f"{name}_{side}")
    value = t.parts.values(f"{name}_{side}", subset, names, bounded, line)
    relation = ">=" if side == "lower" else "<="
    expression = f"{name}[{', '.join(names)}] {relation} {value}"
    t.add(f"{name}_{side}", f"{side} bound of {name}", subset.binders(names), expression, line)


# --- objective ---------------------------------------------------------------------------------


def _objective(t: Translation) -> Json:
    model, line = t.model, t.line(OBJECTIVE)
    pieces = [piece for k in range(len(t.columns)) for piece in _costs(t, k, line)]
    pieces += products(t, OBJECTIVE, "objective")
    if model.offset or not pieces:
        pieces.append(number(model.offset))
    return {
        "name": model.objective_name,
        "sense": model.sense,
        "expression": t.total(pieces, "objective", [], []),
        "unit": "1",
        "source_reference": t.parts.source(line),
    }


def _costs(t: Translation, position: int, line: int) -> list[str]:
    """Return the objective's terms of one family of columns."""
    family, index, name = t.columns[position], t.indices[position], t.variables[position]
    costs = t.model.cost[np.array(family.members)]
    priced = np.flatnonzero(costs).tolist()
    same = len(set(costs.tolist())) == 1
    if index is None or (len(priced) <= FEW and not (same and len(costs) > 1)):
        return [scaled(float(costs[k]), t.reference(family.members[k])) for k in priced]
    if not priced:
        return []
    names = t.parts.letters[: family.arity]
    reference = f"{name}[{', '.join(names)}]"
    binders = " for ".join(index.binders(names))
    if same:
        return [scaled(float(costs[0]), f"sum({reference} for {binders})")]
    table = dict(zip(family.labels, costs.tolist(), strict=True))
    parameter = t.parts.parameter(f"{name}_cost", [index], table, line)
    inside = f"{parameter}[{', '.join(names)}]"
    return [f"sum({inside}*{reference} for {binders})"]

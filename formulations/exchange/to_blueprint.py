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
from engiagent.formulations.exchange.lp_reader import parse_lp
from engiagent.formulations.exchange.model import LinearModel, number, read_source
from engiagent.formulations.exchange.mps_reader import parse_mps
from engiagent.formulations.exchange.parts import Index, Json
from engiagent.formulations.exchange.translation import Translation, compared, scaled
from engiagent.formulations.exchange.uniform_rows import uniform_rows
from engiagent.formulations.program import OBJECTIVE

FEW = 4


def read_model(path: Path) -> LinearModel:
    """Return the model in an LP or MPS file, by its name; both may be packed with gzip.

    Raises
    ------
    InputError
        With the line, what was found there and what was expected.
    """
    for suffix, parse in ((".lp", parse_lp), (".mps", parse_mps)):
        if path.name.lower().removesuffix(".gz").endswith(suffix):
            return parse(read_source(path))
    raise InputError(
        "it is not clear in which format the model is written",
        path.name,
        found=repr(path.suffix or path.name),
        expected="a name that ends in .lp, .mps, .lp.gz or .mps.gz",
    )


def import_model(path: Path) -> Blueprint:
    """Return the blueprint of an LP or MPS file.

    Raises
    ------
    InputError
        When the file cannot be read or has sections that a blueprint is not made of.
    """
    return to_blueprint(read_model(path))


def to_blueprint(model: LinearModel) -> Blueprint:
    """Return the blueprint of a model; its bounds, rows and objective are exactly the model's.

    Raises
    ------
    InputError
        When the model has no variables.
    """
    if not model.column_names:
        raise InputError("the model has no variables", model.file)
    t = Translation(model)
    variables = [_variable(t, k) for k in range(len(t.columns))]
    objective = _objective(t)
    for position in range(len(t.rows)):
        for row in uniform_rows(t, position):
            _single_row(t, row)
    return Blueprint.from_dict(_document(t, variables, objective), model.file)


def _single_row(t: Translation, row: int) -> None:
    """Add a row that is like no other as a constraint of its own."""
    name, kind = t.model.row_names[row], t.kind(row)
    if kind:
        # Without terms 0 <= 5 says nothing, but 0 <= -5 says that there is no solution.
        terms = t.terms(row) or [(0, 0.0)]
        body = t.total([scaled(v, t.reference(column)) for column, v in terms], name, [], [])
        lower, upper = (number(float(s[row])) for s in (t.model.row_lower, t.model.row_upper))
        t.add(name, name, [], compared(body, kind, lower, upper), t.line(row))


def _document(t: Translation, variables: list[Json], objective: Json) -> Json:
    model, file = t.model, t.model.file
    size = f"{len(model.column_names)} columns and {len(model.row_names)} rows"
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
    line, kind = t.model.column_lines[family.members[0]], t.kinds[family.members[0]]
    entry: Json = {"name": name}
    if family.base != name:
        entry["symbol"] = family.base
    if index is not None:
        entry["index"] = index.binders(t.parts.letters[: family.arity])
    entry["type"] = kind
    # Said outright, since without a unit a name such as charge would be taken for a power.
    entry["unit"] = "1"
    if kind != "binary":
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
    for (i, j), value in model.products.items():
        square = f"{t.reference(i)}**2"
        pieces.append(scaled(value, square if i == j else f"{t.reference(j)}*{t.reference(i)}"))
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

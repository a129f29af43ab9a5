"""A model of an LP or MPS file as a blueprint: checked, explained and solved like any other.

Names that spell an index become indexed variables and constraints. Rows whose structure is the
same become one constraint over a set; what has no structure goes into tables, exact all the same.
The files know no units, so everything is a pure number.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from engiagent.blueprint.document import SCHEMA, Blueprint
from engiagent.errors import InputError
from engiagent.formulations.exchange.draft import Json, scaled
from engiagent.formulations.exchange.lp_reader import parse_lp
from engiagent.formulations.exchange.model import LinearModel, number, read_source
from engiagent.formulations.exchange.mps_reader import parse_mps
from engiagent.formulations.exchange.rows import add_rows
from engiagent.formulations.exchange.translation import Translation, Variable
from engiagent.formulations.program import OBJECTIVE

FEW: Final = 4


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
    variables = [_variable(t, variable) for variable in t.variables]
    objective = _objective(t)
    add_rows(t)
    size = f"{len(model.column_names)} columns and {len(model.row_names)} rows"
    core: Json = {
        "description": f"imported from {model.file}: {size}",
        "sets": t.draft.sets,
        "parameters": t.draft.parameters,
        "decision_variables": variables,
        "expressions": t.draft.expressions,
        "objective_function": objective,
        "constraints": list(t.draft.constraints.values()),
    }
    assumptions = ["the file has no units; every number is taken as a pure one", *model.assumptions]
    document: Json = {
        "schema": SCHEMA,
        "kind": "programme",
        "modeling_context": {"problem_essence": f"the model {model.name} of {model.file}"},
        "core_model_elements": {k: v for k, v in core.items() if k != "expressions" or v},
        "extended_analysis_and_robustness": {
            "key_assumptions": [
                {"assumption_id": f"A{k}", "content": text} for k, text in enumerate(assumptions, 1)
            ]
        },
    }
    return Blueprint.from_dict(document, model.file)


# --- variables ---------------------------------------------------------------------------------


def _variable(t: Translation, variable: Variable) -> Json:
    first = int(variable.family.members.min())
    line, kind = t.model.column_lines[first], t.types[first]
    entry: Json = {"name": variable.name}
    if variable.family.base != variable.name:
        entry["symbol"] = variable.family.base
    if variable.index is not None:
        entry["index"] = variable.index.binders(_letters(t, variable))
    # The unit is stated, since without one a name such as charge would be taken for a power.
    entry |= {"type": kind, "unit": "1"}
    for side in ("lower", "upper") if kind != "binary" else ():
        bound = _bound(t, variable, side, line)
        if bound is not None:
            entry[side] = bound
    return entry | {"source_reference": t.draft.source(line)}


def _letters(t: Translation, variable: Variable) -> tuple[str, ...]:
    return t.draft.letters[: len(variable.family.domains)]


def _bound(t: Translation, variable: Variable, side: str, line: int) -> float | str | None:
    """Return a side of a variable's bounds; where it is partly infinite, constraints say it."""
    family, index, wanted = variable.family, variable.index, f"{variable.name}_{side}"
    values = getattr(t.model, f"column_{side}")[family.members]
    finite = np.isfinite(values)
    if not finite.any():
        return None
    if index is None or np.all(values == values[0]):
        return float(values[0])
    letters = _letters(t, variable)
    if finite.all():
        return t.draft.factor(wanted, index, letters, values, line)
    some = t.draft.index(family.domains, family.places[finite], wanted)
    value = t.draft.factor(wanted, some, letters, values[finite], line)
    relation = ">=" if side == "lower" else "<="
    text = f"{variable.name}[{', '.join(letters)}] {relation} {value}"
    t.draft.add(wanted, f"{side} bound of {variable.name}", some.binders(letters), text, line)
    return None


# --- objective ---------------------------------------------------------------------------------


def _objective(t: Translation) -> Json:
    model, line = t.model, t.line(OBJECTIVE)
    pieces = [piece for variable in t.variables for piece in _costs(t, variable, line)]
    for (i, j), value in model.products.items():
        square = f"{t.reference(i)}**2"
        pieces.append(scaled(value, square if i == j else f"{t.reference(j)}*{t.reference(i)}"))
    if model.offset or not pieces:
        pieces.append(number(model.offset))
    return {
        "name": model.objective_name,
        "sense": model.sense,
        "expression": t.draft.total(pieces, "objective", [], []),
        "unit": "1",
        "source_reference": t.draft.source(line),
    }


def _costs(t: Translation, variable: Variable, line: int) -> Iterator[str]:
    """Yield the objective's terms of one family of columns."""
    members, index = variable.family.members, variable.index
    costs = t.model.cost[members]
    priced = np.flatnonzero(costs)
    same = len(costs) > 1 and bool(np.all(costs == costs[0]))
    if index is None or (len(priced) <= FEW and not same):
        for k in priced.tolist():
            yield scaled(float(costs[k]), t.reference(int(members[k])))
    elif len(priced):
        letters = _letters(t, variable)
        text = f"{variable.name}[{', '.join(letters)}]"
        binders = " for ".join(index.binders(letters))
        if same:
            yield scaled(float(costs[0]), f"sum({text} for {binders})")
        else:
            factor = t.draft.factor(f"{variable.name}_cost", index, letters, costs, line)
            yield f"sum({scaled(factor, text)} for {binders})"

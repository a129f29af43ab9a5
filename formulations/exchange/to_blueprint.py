"""A model of an LP or MPS file as a blueprint: checked, explained and solved like any other.

Names that spell an index become indexed variables and constraints. Rows whose structure is the
same become one constraint over a set; what has no structure goes into tables, exact all the same.
The files know no units, so everything is a pure number.
"""

from pathlib import Path

import numpy as np

from engiagent.blueprint.document import SCHEMA, Blueprint
from engiagent.errors import InputError
from engiagent.formulations.exchange.draft import Json, indexed
from engiagent.formulations.exchange.families import Family
from engiagent.formulations.exchange.lp_reader import parse_lp
from engiagent.formulations.exchange.model import FileModel, number, read_source
from engiagent.formulations.exchange.mps_reader import parse_mps
from engiagent.formulations.exchange.rows import FamilyOfRows, add_rows
from engiagent.formulations.exchange.translation import Translation, Variable, type_of


def read_model(path: Path) -> FileModel:
    """Return the model in an LP or MPS file, by its name.

    Raises InputError with the line, what was found there and what was expected.
    """
    for suffix, parse in ((".lp", parse_lp), (".mps", parse_mps)):
        if path.name.lower().endswith(suffix):
            return parse(read_source(path))
    raise InputError(
        "it is not clear in which format the model is written",
        path.name,
        found=repr(path.suffix or path.name),
        expected="a name that ends in .lp or .mps; unpack it first",
    )


def import_model(path: Path) -> Blueprint:
    """Return the blueprint of an LP or MPS file.

    Raises InputError when the file cannot be read or has sections that a blueprint is not made of.
    """
    return to_blueprint(read_model(path))


def to_blueprint(model: FileModel) -> Blueprint:
    """Return the blueprint of a model; its bounds, rows and objective are exactly the model's.

    Raises InputError when the model has no variables.
    """
    file = model.source.file
    if not model.columns:
        raise InputError("the model has no variables", file)
    t = Translation(model)
    variables = [_variable(t, variable) for variable in t.variables]
    objective = _objective(t)
    add_rows(t)
    size = f"{len(model.columns)} columns and {len(model.rows)} rows"
    core: Json = {
        "description": f"imported from {file}: {size}",
        "sets": list(t.draft.sets.values()),
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
        "modeling_context": {"problem_essence": f"the model {model.name} of {file}"},
        "core_model_elements": {k: v for k, v in core.items() if k != "expressions" or v},
        "extended_analysis_and_robustness": {
            "key_assumptions": [
                {"assumption_id": f"A{k}", "content": text} for k, text in enumerate(assumptions, 1)
            ]
        },
    }
    return Blueprint.from_dict(document, file)


def _variable(t: Translation, variable: Variable) -> Json:
    first = t.columns[int(variable.family.members.min())]
    entry: Json = {"name": variable.name}
    if variable.family.base != variable.name:
        entry["symbol"] = variable.family.base
    if variable.index.parts:
        entry["index"] = variable.index.binders()
    # The unit is stated, since without one a name such as charge would be taken for a power.
    entry |= {"type": type_of(first), "unit": "1"}
    for side in ("lower", "upper") if entry["type"] != "binary" else ():
        bound = _bound(t, variable, side)
        if bound is not None:
            entry[side] = bound
    return entry | {"source_reference": t.draft.source(first.line)}


def _bound(t: Translation, variable: Variable, side: str) -> float | str | None:
    """Return a side of a variable's bounds; where it is partly infinite, constraints say it."""
    index, wanted = variable.index, f"{variable.name}_{side}"
    values = np.array([getattr(t.columns[k], side) for k in variable.family.members.tolist()])
    finite = np.isfinite(values)
    if not finite.any():
        return None
    if np.all(values == values[0]):
        return float(values[0])
    if finite.all():
        return t.draft.factor(wanted, [index], values)
    some = t.draft.index(index.domains, index.places[finite], wanted, index.line)
    value = t.draft.factor(wanted, [some], values[finite])
    relation = ">=" if side == "lower" else "<="
    text = f"{indexed(variable.name, some.letters)} {relation} {value}"
    t.draft.add(wanted, f"{side} bound of {variable.name}", some, text)
    return None


def _objective(t: Translation) -> Json:
    model = t.model
    family = Family.single("cost", len(model.rows))
    index = t.draft.index((), family.places, family.base, model.objective.line)
    pieces = FamilyOfRows(t, family).pieces(np.zeros(1, dtype=np.int64), index)
    if model.offset or not pieces:
        pieces.append(number(model.offset))
    return {
        "name": model.objective.name,
        "sense": model.sense,
        "expression": t.draft.total(pieces, "objective", index),
        "unit": "1",
        "source_reference": t.draft.source(model.objective.line),
    }

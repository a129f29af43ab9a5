"""A model of an LP or MPS file as a blueprint: checked, explained and solved like any other.

Names that spell an index become indexed variables and constraints. A row names each of its columns
by a *pattern*: the family of the column, and for each of its indices an index of the row, perhaps
some steps on (``x[t+1]``), or a fixed label (``x["hub"]``); where all rows of a family have all
members of a variable, it is a sum over that. Rows with the same patterns become one constraint over
a set; every other row stands alone, exact all the same. The files know no units, so everything is
a pure number.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from engiagent.blueprint.document import SCHEMA, Blueprint
from engiagent.errors import InputError
from engiagent.formulations.exchange.draft import Draft, Index, Json, identifier, indexed, scaled
from engiagent.formulations.exchange.families import Domain, Family, families
from engiagent.formulations.exchange.model import Column, FileModel, number, read_source
from engiagent.formulations.exchange.names import unused
from engiagent.formulations.exchange.readers import parse_lp, parse_mps
from engiagent.formulations.values import Floats, Ints

FEW: Final = 4
"""How many priced elements of a family the objective names one by one."""
MAX_STEPS: Final = 3
MAX_GROUPS: Final = 8
MAX_TERMS: Final = 24
SUM: Final = (0, 0, 0)
"""The place of a pattern that sums over all members of its variable."""


def read_model(path: Path) -> FileModel:
    """Return the model in an LP or MPS file, by its name; InputError with the line."""
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
    """Return the blueprint of an LP or MPS file; InputError when it cannot be read."""
    return to_blueprint(read_model(path))


def to_blueprint(model: FileModel) -> Blueprint:
    """Return the blueprint of a model; InputError when the model has no variables."""
    file = model.source.file
    if not model.columns:
        raise InputError("the model has no variables", file)
    t = _Translation(model)
    variables = [_variable(t, variable) for variable in t.variables]
    objective = _objective(t)
    left = [row for family in t.rows for row in _FamilyOfRows(t, family).add(least=2)]
    for row in sorted(left):
        if t.kinds[row]:
            _FamilyOfRows(t, Family.single(t.names[row], row)).add(least=1)
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


@dataclass(frozen=True, eq=False)
class _Variable:
    """A family of columns with its name in the blueprint."""

    name: str
    family: Family
    index: Index


class _Translation:
    """What all parts of the translation share.

    ``matrix`` has the rows of the model, the last of which is the objective; ``lines`` and
    ``names`` say where in the file they stand and how they are called, ``lower``, ``upper`` and
    ``kinds`` (``==``, ``<=``, ``>=``, ``range`` or nothing) what limits them. ``owner`` and
    ``member`` give for each column its variable, and which member of that it is.
    """

    def __init__(self, model: FileModel) -> None:
        from scipy.sparse import csr_array  # a third of a second, for every command

        self.model, self.columns = model, list(model.columns.values())
        rows = [*model.rows.values(), model.objective]
        self.lines, self.names = [row.line for row in rows], [row.name for row in rows]
        self.lower = np.array([row.lower for row in rows])
        self.upper = np.array([row.upper for row in rows])
        self.kinds = [_relation(low, up) for low, up in zip(self.lower, self.upper, strict=True)]
        kinds = [type_of(column) for column in self.columns]
        columns, self.rows = families(list(model.columns), kinds, list(model.rows))
        taken: dict[str, None] = {}
        for family in columns:
            taken[unused(identifier(family.base), taken, "_")] = None
        self.draft = Draft(model.source.file, taken)
        self.variables = []
        for name, family in zip(taken, columns, strict=True):
            line = self.columns[int(family.members.min())].line
            index = self.draft.index(family.domains, family.places, name, line)
            self.variables.append(_Variable(name, family, index))
        self.owner = np.zeros(len(self.columns), dtype=np.int64)
        self.member = np.zeros_like(self.owner)
        for k, family in enumerate(columns):
            self.owner[family.members] = k
            self.member[family.members] = np.arange(len(family.members))
        number = {name: k for k, name in enumerate(model.columns)}
        found = [
            (k, number[name], value)
            for k, row in enumerate(model.rows.values())
            for name, value in row.terms.items()
            if value != 0.0
        ]
        found += [(len(model.rows), k, value) for k, value in self._costs()]
        at, where, values = np.array(found, dtype=np.float64).reshape(-1, 3).T
        shape = len(rows), len(self.columns)
        self.matrix = csr_array((values, (at.astype(np.int64), where.astype(np.int64))), shape)

    def _costs(self) -> Iterator[tuple[int, float]]:
        """Yield the costs by column, those of a whole family where the objective sums it up."""
        terms = self.model.objective.terms
        for variable in self.variables:
            members = variable.family.members.tolist()
            costs = [terms.get(self.columns[k].name, 0.0) for k in members]
            priced = np.count_nonzero(costs)
            whole = priced > FEW or (priced and len(set(costs)) == 1)
            yield from ((k, c) for k, c in zip(members, costs, strict=True) if c != 0.0 or whole)

    def reference(self, column: int) -> str:
        """Return a column as it is named in expressions."""
        variable = self.variables[int(self.owner[column])]
        places = variable.index.places[self.member[column]].tolist()
        pairs = zip(variable.index.domains, places, strict=True)
        return indexed(variable.name, [domain.literal(k) for domain, k in pairs])


def type_of(column: Column) -> str:
    """Return the type of a column, as a blueprint says it."""
    if column.integral:
        return "binary" if (column.lower, column.upper) == (0.0, 1.0) else "integer"
    return "continuous"


def _relation(lower: float, upper: float) -> str:
    if np.isinf(lower) or np.isinf(upper):
        return ">=" if np.isfinite(lower) else "<=" if np.isfinite(upper) else ""
    return "==" if lower == upper else "range"


def _variable(t: _Translation, variable: _Variable) -> Json:
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


def _bound(t: _Translation, variable: _Variable, side: str) -> float | str | None:
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


def _objective(t: _Translation) -> Json:
    model = t.model
    family = Family.single("cost", len(model.rows))
    index = t.draft.index((), family.places, family.base, model.objective.line)
    pieces = _FamilyOfRows(t, family).pieces(np.zeros(1, dtype=np.int64), index)
    if model.offset or not pieces:
        pieces.append(number(model.offset))
    return {
        "name": model.objective.name,
        "sense": model.sense,
        "expression": t.draft.total(pieces, "objective", index),
        "unit": "1",
        "source_reference": t.draft.source(model.objective.line),
    }


class _Pattern(NamedTuple):
    """A variable, and for each index ``(p, d)``: d steps on from the row's index p, or place d."""

    variable: int
    places: tuple[tuple[int, ...], ...]

    @property
    def is_sum(self) -> bool:
        """Whether all members of the variable are summed up."""
        return self.places == (SUM,)


def _same(keys: Ints, values: Floats) -> bool:
    """Whether values of the same key are the same."""
    last = np.zeros(int(keys.max(initial=-1)) + 1)
    last[keys] = values
    return bool(np.all(last[keys] == values))


class _FamilyOfRows:
    """The terms of one family of rows: of which row, the column, the value, and the pattern."""

    def __init__(self, t: _Translation, family: Family) -> None:
        self.t = t
        self.family = family
        terms = t.matrix[family.members].tocoo()
        self.at, self.columns, self.values = terms.row, terms.col, terms.data
        self.owner = t.owner[self.columns]
        self.patterns: dict[_Pattern, Ints] = {}
        for owner in np.unique(self.owner).tolist():
            entries = np.flatnonzero(self.owner == owner)
            size = len(t.variables[owner].family.members)
            full = np.bincount(self.at[entries], minlength=len(family.members)) == size
            if size > 1 and full.all():
                self.patterns[_Pattern(owner, (SUM,))] = entries
            else:
                self.patterns |= self._singles(owner, entries)
        order = sorted(self.patterns, key=lambda pattern: (not pattern.is_sum, pattern))
        self.patterns = {pattern: self.patterns[pattern] for pattern in order}

    def _singles(self, owner: int, entries: Ints) -> dict[_Pattern, Ints]:
        """Return the patterns of terms as they look from their rows."""
        index = self.t.variables[owner].index
        theirs = index.places[self.t.member[self.columns[entries]]]
        mine = self.family.places[self.at[entries]]
        columns = []
        for q, domain in enumerate(index.domains):
            base, step = np.full(len(entries), -1), theirs[:, q].copy()
            nearest = np.full(len(entries), MAX_STEPS + 1)
            for p, own in enumerate(self.family.domains):
                steps = theirs[:, q] - mine[:, p]
                near = (np.abs(steps) < nearest) & (own is domain)
                base[near], step[near], nearest[near] = p, steps[near], np.abs(steps[near])
            columns.append(list(zip(base.tolist(), step.tolist(), strict=True)))
        found: dict[_Pattern, list[int]] = {}
        shapes = zip(*columns, strict=True) if columns else [()] * len(entries)
        for entry, places in zip(entries.tolist(), shapes, strict=True):
            found.setdefault(_Pattern(owner, places), []).append(entry)
        return {pattern: np.array(part) for pattern, part in found.items()}

    # -- constraints ----------------------------------------------------------------------------

    def add(self, least: float) -> list[int]:
        """Add constraints of ``least`` rows and more; return the rows left over."""
        rows = self.family.members.tolist()
        signatures: list[list[_Pattern]] = [[] for _ in rows]
        sums = any(pattern.is_sum for pattern in self.patterns)
        for pattern, entries in self.patterns.items():
            for position in [] if pattern.is_sum else self.at[entries].tolist():
                signatures[position].append(pattern)
        groups: dict[tuple[str, tuple[_Pattern, ...]], list[int]] = {}
        for position, (row, found) in enumerate(zip(rows, signatures, strict=True)):
            groups.setdefault((self.t.kinds[row], tuple(found)), []).append(position)
        if sum(len(group) > 1 for group in groups.values()) > MAX_GROUPS:
            least = len(rows) / MAX_GROUPS
        left: list[int] = []
        for (kind, signature), positions in groups.items():
            whole = len(positions) >= least or (len(positions) == len(rows) and sums)
            short = least == 1 or (len(signature) <= MAX_TERMS and (signature or sums))
            if kind and whole and short:
                self._constraint(np.array(positions))
            else:
                left += [rows[position] for position in positions]
        return left

    def _constraint(self, positions: Ints) -> None:
        t, family, rows = self.t, self.family, self.family.members[positions]
        name, line = identifier(family.base), t.lines[int(rows.min())]
        index = t.draft.index(family.domains, family.places[positions], name, line)
        kind = t.kinds[rows[0]]
        # Without terms 0 <= 5 says nothing, but 0 <= -5 says that there is no solution.
        pieces = self.pieces(positions, index) or [scaled(0.0, t.reference(0))]
        body = t.draft.total(pieces, name, index)

        def side(values: Floats, word: str) -> str:
            return t.draft.factor(f"{name}_{word}", [index], values[rows])

        if kind == "range":
            text = f"{side(t.lower, 'min')} <= {body} <= {side(t.upper, 'max')}"
        else:
            text = f"{body} {kind} {side(t.upper if kind == '<=' else t.lower, 'rhs')}"
        t.draft.add(family.base, family.base, index, text)

    def pieces(self, positions: Ints, index: Index) -> list[str]:
        """Return the terms of some rows as expressions of their index."""
        inside = np.isin(self.at, positions)
        parts = {pattern: part[inside[part]] for pattern, part in self.patterns.items()}
        return [
            self._piece(pattern, entries, positions, index)
            for pattern, entries in parts.items()
            if len(entries)
        ]

    def _piece(self, pattern: _Pattern, entries: Ints, positions: Ints, index: Index) -> str:
        draft, variable = self.t.draft, self.t.variables[pattern.variable]
        own, letters = variable.index, draft.letters[len(index.letters) :]
        inner = letters[: len(own.domains)]
        if not pattern.is_sum:
            places = zip(own.domains, pattern.places, strict=True)
            inner = tuple(_place(index, domain, *place) for domain, place in places)
        own = replace(own, letters=inner, line=index.line)
        wanted = f"{identifier(self.family.base)}_{variable.name}"
        outer, body, values = "1", indexed(variable.name, inner), self.values[entries]
        at = np.searchsorted(positions, self.at[entries])
        if _same(at, values):
            by_row = np.full(len(positions), values[0])  # also of rows whose sum is empty
            by_row[at] = values
            outer = draft.factor(wanted, [index], by_row)
        else:
            over = [own] if _same(self.columns[entries], values) else [index, own]
            table = np.zeros((len(positions) if len(over) > 1 else 1, len(own.places)))
            table[at if len(over) > 1 else 0, self.t.member[self.columns[entries]]] = values
            body = scaled(draft.factor(wanted, over, table.reshape(-1)), body)
        if pattern.is_sum:
            body = f"sum({body} for {' for '.join(own.binders())})"
        return scaled(outer, body)


def _place(index: Index, domain: Domain, p: int, step: int) -> str:
    """Return an index of a column as the row of an index names it."""
    if p < 0:
        return domain.literal(step)
    return f"{index.letters[p]}{step:+d}" if step else index.letters[p]

"""A set of demands that cannot hold together, in the blueprint's own words, with its proof.

Each member is said with its numbers and with the places of the text that it rests on. The whole set
is handed to the checker as a blueprint of its own, with the multipliers that prove it.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.blueprint import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import ConstraintDef, ParameterDef, VariableDef
from engiagent.blueprint.grammar import Compare, GrammarError, Ref, parse, walk
from engiagent.errors import EngiagentError
from engiagent.explain.labels import shown, where_of
from engiagent.explain.places import MOST_CELLS, Part, Text
from engiagent.explain.relaxed import names_in, only
from engiagent.formulations.program import Program
from engiagent.run.certify import certify
from engiagent.run.limits import follows_series
from engiagent.solvers.iis import Conflict, Family, Member
from engiagent.solvers.result import SolverResult
from engiagent.solvers.solution import to_dataset

LAWS: Final = frozenset({"Physical Laws", "Supply-Demand Balance"})
DEEPEST: Final = 4
"""How many parameters that are made of others are followed."""


def one_sided(expression: str, side: str) -> str:
    """Return the comparison of ``low <= x <= high`` that is its lower or its upper side.

    Anything else comes back as it is.

    >>> one_sided("18 <= x[t] <= 24", "upper")
    'x[t] <= 24'
    """
    try:
        tree = parse(expression)
    except GrammarError:
        return expression
    if not isinstance(tree, Compare) or side == "both" or len(tree.operands) != 3:
        return expression
    rising = all(op in ("<=", "<") for op in tree.ops)
    if not rising and not all(op in (">=", ">") for op in tree.ops):
        return expression
    first = (side == "lower") == rising
    left, right = tree.operands[:2] if first else tree.operands[1:]
    return expression[left.span[0] : right.span[1]].strip()


@dataclass(frozen=True)
class Statements:
    """A blueprint of demands, and how its parts are said in words."""

    demands: Blueprint
    folder: Path
    text: Text

    @cached_property
    def variables(self) -> dict[str, VariableDef]:
        """The variables by name."""
        return {v.name: v for v in self.demands.core.decision_variables}

    @cached_property
    def parameters(self) -> dict[str, ParameterDef]:
        """The parameters by name."""
        return {p.name: p for p in self.demands.core.parameters}

    # -- members ------------------------------------------------------------------------------

    def is_stated(self, family: Family) -> bool:
        """Whether a family is a demand of the text and no law of physics."""
        if family.kind == "bound":
            return True
        definition = self.constraint(family.name)
        return definition is None or definition.category not in LAWS

    def is_data(self, family: Family) -> bool:
        """Whether a bound follows from given series, and is no limit that the problem states."""
        variable = self.variables.get(family.name)
        bound = None if variable is None else getattr(variable, family.side, None)
        if not isinstance(bound, str):
            return False
        return follows_series(self.elaboration, parse(bound), family.name)

    @cached_property
    def elaboration(self) -> Elaboration:
        """The sets and data of the blueprint."""
        return Elaboration(self.demands.core, self.folder)

    def is_balance(self, family: Family) -> bool:
        """Whether a family says what a flow is made of, so that another flow could change it."""
        if family.kind == "bound":
            return False
        definition = self.constraint(family.name)
        if definition is None or definition.category not in LAWS:
            return False
        return len(names_in(definition.expression) & set(self.variables)) > 1

    def constraint(self, name: str) -> ConstraintDef | None:
        """Return a constraint by its id or by the number that one of several blocks has."""
        return self._by_id.get(name) or self._by_id.get(re.sub(r"__\d+$", "", name))

    @cached_property
    def _by_id(self) -> dict[str, ConstraintDef]:
        return {c.constraint_id: c for c in self.demands.core.constraints}

    def variable_of(self, family: Family) -> str | None:
        """Return the variable that a family bounds, or the first that its constraint names."""
        if family.kind == "bound":
            return family.name
        definition = self.constraint(family.name)
        used = names_in(definition.expression) if definition is not None else set()
        return next((name for name in self.variables if name in used), None)

    def subject(self, members: Sequence[Member]) -> tuple[str, str]:
        """Return component and quantity of the member that is most of a demand."""

        def rank(family: Family) -> tuple[bool, str]:
            return (family.kind == "bound" or not self.is_stated(family), family.name)

        for family in sorted((m.family for m in members), key=rank):
            name = self.variable_of(family)
            if name is None:
                continue
            quantity = self.variables[name].quantity or name
            component, _, rest = quantity.rpartition(".")
            return component or quantity, rest if component else ""
        return "problem", ""

    # -- words --------------------------------------------------------------------------------

    def parts(self, conflict: Conflict) -> tuple[Part, ...]:
        """Return the members in words; both sides of one demand are one part."""
        members = {m.family: m for m in conflict.members}
        parts: dict[Part, None] = {}
        for family, member in members.items():
            sides = {f.side for f in members if (f.kind, f.name) == (family.kind, family.name)}
            side = family.side if len(sides) == 1 else "both"
            parts[self.part(member, side, conflict.program)] = None
        return tuple(parts)

    def part(self, member: Member, side: str, program: Program) -> Part:
        """Return a member, or both sides of it, in words with its places."""
        where = where_of(member.sets, member.shape, member.positions, program)
        if member.family.kind == "bound":
            variable = self.variables[member.family.name]
            text, expression, names = self._bound(variable, side)
            plain = not names & set(self.parameters) and not expression.endswith("= 0")
            source = variable.source_reference if plain else None
        else:
            definition = self.constraint(member.family.name)
            if definition is None:
                return Part(member.family.name, "", where, ())
            text, expression, names = self._row(definition, side)
            source = definition.source_reference
        places = list(self.text.of(source))
        for parameter in self._behind(names):
            places += self.text.of(*_rows(parameter, member))
        at = f" ({where})" if where else ""
        return Part(text + at, expression, where, tuple(dict.fromkeys(places)))

    def _bound(self, variable: VariableDef, side: str) -> tuple[str, str, set[str]]:
        """Return a bound in words, as an expression, and the names that it rests on."""
        pieces, said, names = [], [], set()
        low, high = variable.lower, variable.upper
        if variable.type == "binary":
            low, high = (0 if low is None else low), (1 if high is None else high)
        for end, limit, sign in (("lower", low, ">="), ("upper", high, "<=")):
            if side in (end, "both"):
                pieces.append(f"{sign} {limit}")
                said.append(f"{sign} {self._worth(limit, variable.unit)}")
                names |= names_in(limit)
        name = variable.quantity or variable.name
        expression = f"{variable.name} {' and '.join(pieces)}"
        return f"{name} {' and '.join(said)}", expression, names

    def _row(self, definition: ConstraintDef, side: str) -> tuple[str, str, set[str]]:
        """Return a constraint, or one side of a range, in words; a law by its name.

        Beside the words come the expression and the names that it rests on.
        """
        expression = one_sided(definition.expression, side)
        names = names_in(expression) | names_in(definition.where)
        name = definition.name or definition.constraint_id
        if definition.category in LAWS:
            values = [f"{n} = {v}" for n in sorted(names) if (v := self._number(n)) is not None]
            return f"{name}{' with ' if values else ''}{', '.join(values)}", expression, names
        return f"{name}: {self._filled(expression)}", expression, names

    def _behind(self, names: Collection[str], depth: int = DEEPEST) -> Iterator[ParameterDef]:
        """Yield the parameters among some names, and those that they are made of."""
        for name in sorted(names):
            parameter = self.parameters.get(name)
            if parameter is None:
                continue
            yield parameter
            if depth > 1 and parameter.source_reference is None:
                yield from self._behind(names_in(parameter.value), depth - 1)

    def _filled(self, expression: str) -> str:
        """Return an expression with numbers for parameters and quantities for variables."""
        try:
            found = [n for n in walk(parse(expression)) if isinstance(n, Ref)]
        except GrammarError:
            return expression
        for node in sorted(found, key=lambda n: -n.span[0]):
            variable = self.variables.get(node.name)
            said = variable.quantity if variable is not None else self._number(node.name)
            if said is not None:
                start = node.span[0]
                expression = expression[:start] + said + expression[start + len(node.name) :]
        return expression

    def _number(self, name: str) -> str | None:
        parameter = self.parameters.get(name)
        if parameter is None or not isinstance(parameter.value, int | float):
            return None
        return shown(parameter.value, str(parameter.unit or ""))

    def _worth(self, limit: object, unit: str | None) -> str:
        if not isinstance(limit, str):
            return shown(limit, unit)
        return self._number(limit) or self._filled(limit)

    # -- proof --------------------------------------------------------------------------------

    def proof(self, conflict: Conflict) -> dict[str, Any]:
        """Return how a conflict is known, after the checker has looked at it where it can."""
        method = "limits that cross" if conflict.crossing else "Farkas ray"
        method = "branch and bound; no duals" if conflict.whole_numbers else method
        checked, margin = self._checked(conflict)
        found = {"method": method, "checked": checked, "margin": margin}
        return {**found, "irreducible": conflict.irreducible}

    def _checked(self, conflict: Conflict) -> tuple[bool, float | None]:
        """Let the checker judge just this set with its ray; then with all bounds beside it.

        The bounds of variables outside the set carry no weight, but the checker needs them to
        tell a weight from rounding.
        """
        if conflict.farkas is None and not conflict.crossing:
            return False, None
        ids = {re.sub(r"__\d+$", "", m.family.name) for m in conflict.members}
        ids |= {m.family.name for m in conflict.members}
        own = {
            (m.family.name, side)
            for m in conflict.members
            if m.family.kind == "bound"
            for side in ("lower", "upper")
            if m.family.side in (side, "both")
        }
        every = {(name, side) for name in self.variables for side in ("lower", "upper")}
        for bounds in (own, every):
            found = self._judged(only(self.demands, ids, bounds), conflict)
            if found is not None and found["status"] == "pass":
                return True, found.get("margin")
        return False, None

    def _judged(self, alone: Blueprint, conflict: Conflict) -> dict[str, Any] | None:
        """Return what the checker says of the claim that a blueprint has no solution."""
        name = "demands that clash"
        try:
            claim = self._claim(alone, conflict)
            with np.errstate(invalid="ignore"):
                certificate = certify(None, claim, alone, folder=self.folder, name=name)
        except EngiagentError:
            return None
        return dict(certificate.to_dict()["levels"]["optimality"])

    def _claim(self, alone: Blueprint, conflict: Conflict) -> Any:
        """Return the claim that a set has no solution as a solution file would make it."""
        result = SolverResult(
            status="infeasible",
            reason="an irreducible set of demands",
            is_mip=False,
            solver="audit",
            solver_version="1",
            farkas=conflict.farkas,
        )
        program = replace(conflict.program, blueprint_sha256=alone.sha256)
        if conflict.farkas is not None or conflict.members[0].family.kind == "bound":
            return to_dataset(program, result)
        return self._crossing(program, result, conflict.members[0])

    def _crossing(self, program: Program, result: Any, member: Member) -> Any:
        """Return the claim that both ends of ``low <= x <= high`` cannot hold.

        Each of the two comparisons has a multiplier of its own, of the sign that counts.
        """
        name = member.family.name
        definition = self.constraint(name)
        sign = 1.0 if definition is not None and ">" in definition.expression else -1.0
        block = program.row_block(name)
        ray = np.zeros(program.row_count)
        crossed = program.row_lower > program.row_upper
        crossed[: block.start] = False
        crossed[block.stop :] = False
        ray[crossed] = sign
        dataset = to_dataset(program, replace(result, farkas=ray))
        whole = f"farkas__{name}"
        both = {f"{whole}__1": dataset[whole], f"{whole}__2": dataset[whole]}
        return dataset.drop_vars(whole).assign(both)


def _rows(parameter: ParameterDef, member: Member) -> tuple[Any, list[int]]:
    """Return the source of a parameter, and which of its elements a member needs."""
    reference = parameter.source_reference
    if len(member.shape) != 1 or not parameter.index:
        return reference, []
    if member.sets[0] not in parameter.index[0].split():
        return reference, []
    rows = [int(p) for p in member.positions]
    if isinstance(reference, tuple | list) and len(reference) == member.shape[0]:
        return [reference[row] for row in rows[:MOST_CELLS]], []
    return reference, rows

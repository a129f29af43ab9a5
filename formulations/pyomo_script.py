"""A blueprint as a standalone Pyomo script that an engineer can run without engiagent.

Every element of a set is written as its position, counted from 0 (a pair of positions for a tuple
set), so that ``soc[t + 1]`` is what it says; the labels stand beside the sets. Parameters are
written with their values, each in its own unit, and every change of unit is a visible factor.
"""

from collections.abc import Iterator
from pathlib import Path

from engiagent import __version__
from engiagent.blueprint.checked import Constraint, Variable, checked_constraint
from engiagent.blueprint.document import Blueprint, ConstraintDef
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.goals import Goal, Objective, checked_objective
from engiagent.blueprint.grammar import Compare, parse
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.uncertainty import names_in, reached_names
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import ColumnBlock, Program, RowBlock
from engiagent.formulations.pyomo_expressions import ExpressionPrinter
from engiagent.formulations.scripts.algebra import number
from engiagent.formulations.scripts.lowered import columns_beside, rows_with
from engiagent.formulations.scripts.printing import about, comment, section
from engiagent.formulations.scripts.pyomo_data import elements, keys_of, literal, shown_labels
from engiagent.formulations.scripts.pyomo_indices import UnsaidError, scope_of
from engiagent.formulations.scripts.pyomo_rows import RowPrinter, limit
from engiagent.formulations.scripts.pyomo_text import functions_for, head, tail


def emit_pyomo(blueprint: Blueprint, folder: Path | str | None = None) -> str:
    """Return a Python script that builds and solves the blueprint with Pyomo.

    Linear programs go to HiGHS, convex ones without whole numbers to IPOPT where it is there,
    and everything else to SCIP.

    Raises
    ------
    BlueprintError
        When the blueprint is wrong.
    MissingDataError
        When parameters are declared as missing.
    """
    full = expand(blueprint)
    # Every error in a blueprint is found and located by the compiler; none is left for the printer.
    program = compile_blueprint(full, folder)
    elaboration = Elaboration(full.core, Path(folder) if folder is not None else None)
    return _Script(full, elaboration, program).text()


class _Script:
    """One script in the making.

    What the blueprint says is written as it says it, as rules over its sets. Where it says what
    no rule can (a kink, logic, a soft limit, an uncertain number), the compiled rows stand for it.
    """

    def __init__(self, blueprint: Blueprint, elaboration: Elaboration, program: Program) -> None:
        self.blueprint = blueprint
        self.elaboration = elaboration
        self.program = program
        self.printer = ExpressionPrinter(elaboration)
        self.names = self.printer.names
        self.variables = self.printer.variables
        self.helpers = self.printer.helpers
        core = elaboration.core
        for name in (*(s.name for s in core.sets), *(p.name for p in core.parameters)):
            self.names.of(name)
        self.declared = {
            block: self.names.of(block.name)
            for block in program.columns
            if block.name in self.variables and not block.generated
        }
        self.rows = RowPrinter(program, self.names, self.declared)
        beside = columns_beside(program, self.variables)
        self.compiled, self.goal_compiled = rows_with(program, beside)
        self.uncertain = reached_names(elaboration.core)
        self.said: set[RowBlock] = set()

    def text(self) -> str:
        # The lookups come last in the making, since printing the model says which are needed.
        sets = _section("Sets: elements are positions, counted from 0", self._sets())
        model = [
            *_section("Parameters", self._parameters()),
            *_section("Decision variables", self._variables()),
            *_section("Named expressions", self._expressions()),
        ]
        constraints = list(self._constraints())
        compiled = self._compiled()
        objective = self._objective()
        beside = self._beside()
        arrays = self.rows.arrays_in([*compiled, *objective])
        if compiled or beside or self.rows.lines:
            model += _section(
                "Variables and numbers of the compiled rows", [*beside, *arrays, *self.rows.lines]
            )
        else:
            model += arrays
        model += _section("Constraints", constraints)
        model += _section("Constraints that no rule can say, as compiled rows", compiled)
        model += _section("Objective", objective)
        lookups = _section("Lookups", list(self.helpers.values()))
        outputs = ", ".join(f'"{n}": {self.names.of(n)}' for n in self.variables)
        body = "\n".join([*sets, *lookups, *model]) + tail(self.program, outputs)
        functions = functions_for(body)
        essence = comment(self.blueprint.modeling_context.problem_essence)
        return head(essence, __version__, self.program, functions + body) + functions + body

    # -- data -----------------------------------------------------------------------------------

    def _sets(self) -> list[str]:
        lines = []
        for definition in self.elaboration.core.sets:
            index_set = self.elaboration.index_set(definition.name)
            name = self.names.of(definition.name)
            lines.append(f"{name} = {elements(index_set)}{shown_labels(index_set)}")
        return lines

    def _parameters(self) -> list[str]:
        lines = []
        for definition in self.elaboration.core.parameters:
            table = self.elaboration.table(definition.name)
            unit = self.elaboration.symbols[definition.name].unit
            values = table.values
            if table.element_of is not None:
                values = table.element_of.in_root[values]
            text = literal(values, table.sets)
            note = _note(str(unit), definition.description)
            lines.append(f"{self.names.of(definition.name)} = {text}{note}")
        return lines

    def _variables(self) -> list[str]:
        lines = []
        for block, python in self.declared.items():
            variable = self.variables[block.name]
            definition = variable.definition
            domain = {"integer": "Integers", "binary": "Binary"}.get(definition.type, "Reals")
            index, bounds = self._index_and_bounds(block, variable)
            note = _note(str(variable.unit), definition.description)
            lines.append(f"{python} = pyo.Var({index}domain=pyo.{domain}, bounds={bounds}){note}")
            lines.append(f'model.add_component("{python}", {python})')
            if len(variable.history):
                early = [float(value) for value in variable.history]
                name = self.printer.history(block.name)
                lines.append(f"{name} = {early}  # before the first period")
        return lines

    def _index_and_bounds(self, block: ColumnBlock, variable: Variable) -> tuple[str, str]:
        """Return the index sets and the bounds, as one pair when all elements share it."""
        program, inside = self.program, slice(block.start, block.stop)
        lower, upper = program.column_lower[inside].tolist(), program.column_upper[inside].tolist()
        same = len(set(lower)) <= 1 and len(set(upper)) <= 1 and len(lower) > 0
        bounds = f"({limit(lower[0])}, {limit(upper[0])})" if same else ""
        if not variable.sets:
            return "", bounds
        sets = ", ".join(self.names.of(s.name) for s in variable.sets)
        keys = keys_of(variable)
        if variable.positions is not None:
            sets = self.names.helper(f"{block.name}_keys")
            self.helpers[sets] = f"{sets} = {keys}"
        if not same:
            table = self.names.helper(f"{block.name}_bounds")
            triples = zip(keys, lower, upper, strict=True)
            pairs = (f"{k}: ({limit(a)}, {limit(b)})" for k, a, b in triples)
            self.helpers[table] = f"{table} = {{{', '.join(pairs)}}}"
            bounds = f"lambda _, *key: {table}[key[0] if len(key) == 1 else key]"
        return f"{sets}, ", bounds

    def _beside(self) -> list[str]:
        """Return the lines that declare what the compiler put in."""
        return [
            line
            for block in self.program.columns
            if block not in self.declared and block.size
            for line in self.rows.column(block, f"  # {about(block)}".rstrip(" #"))
        ]

    # -- algebra --------------------------------------------------------------------------------

    def _expressions(self) -> list[str]:
        lines = []
        for definition in self.elaboration.core.expressions:
            named = self.elaboration.named[definition.name]
            arguments, tuples = [], []
            for binder in named.binders:
                names = [self.names.of(name) for name in binder]
                arguments.append("_".join(names))
                if len(names) > 1:
                    tuples.append(f"    {', '.join(names)} = {arguments[-1]}")
            unit = str(self.elaboration.symbols[definition.name].unit)
            note = _note(unit, definition.description)
            try:
                scope = dict(scope_of(named.binders, named.sets))
                body = self.printer.expression(named.body, scope)
            except UnsaidError as error:
                self.printer.unsaid.add(definition.name)
                lines.append(f"# {comment(definition.name)} is {comment(str(error))}: see the rows")
                continue
            name = self.names.of(definition.name)
            lines += [f"def {name}({', '.join(arguments)}):{note}", *tuples]
            lines.append(f"    return {body}")
        return lines

    def _constraints(self) -> Iterator[str]:
        """Yield what rules can say, and strike their rows off those that are left."""
        for position, definition in enumerate(self.elaboration.core.constraints):
            constraint = checked_constraint(self.elaboration, position)
            if not self._may_be_said(constraint):
                continue
            try:
                lines = self._constraint(constraint)
            except UnsaidError:
                continue
            for block in self._blocks_of(constraint):
                self.compiled[block.start : block.stop] = False
                self.said.add(block)
            yield f"# {_title(definition)}"
            yield from lines

    def _blocks_of(self, constraint: Constraint) -> list[RowBlock]:
        """Return the rows of a comparison: one block, a range too, or one for each of its signs."""
        assert isinstance(constraint.relation, Compare)
        name = constraint.definition.constraint_id
        count = len(constraint.relation.ops)
        wanted = {name, *(f"{name}__{k}" for k in range(1, count + 1) if count > 1)}
        return [b for b in self.program.rows if b.constraint_id in wanted and not b.generated]

    def _may_be_said(self, constraint: Constraint) -> bool:
        definition = constraint.definition
        if not isinstance(constraint.relation, Compare) or definition.hard is False:
            return False
        used = names_in(definition.expression) | names_in(definition.where)
        if used & self.uncertain:
            return False
        blocks = self._blocks_of(constraint)
        return not any(self.compiled[block.start : block.stop].any() for block in blocks)

    def _constraint(self, constraint: Constraint) -> list[str]:
        scope = dict(scope_of([b.names for b in constraint.binders], constraint.sets))
        tree = constraint.relation
        assert isinstance(tree, Compare)
        sides = [self.printer.expression(part, scope) for part in tree.operands]
        lines = []
        pieces = zip(tree.ops, sides, sides[1:], strict=False)
        for place, (op, left, right) in enumerate(pieces, 1):
            suffix = "" if len(tree.ops) == 1 else f"__{place}"
            lines += self._relation(constraint, suffix, f"relation({left}, {op!r}, {right})", scope)
        return lines

    def _relation(
        self, constraint: Constraint, suffix: str, relation: str, scope: dict[str, IndexSet]
    ) -> list[str]:
        component = self.names.fresh(constraint.definition.constraint_id + suffix)
        if not constraint.binders:
            line = f'model.add_component("{component}", pyo.Constraint(rule=lambda _: {relation}))'
            return [line]
        arguments, tuples = self._arguments(constraint)
        sets = ", ".join(self.names.of(b.set) for b in constraint.binders)
        lines = [f"def {component}(_, {arguments}):", *tuples]
        where = constraint.definition.where
        if where is not None:
            checker = self.elaboration.checker()
            condition = checker.condition(parse(where), checker.scope_of(constraint.binders)).node
            lines += [
                f"    if not ({self.printer.condition(condition, scope)}):",
                "        return pyo.Constraint.Skip",
            ]
        lines += [
            f"    return {relation}",
            f'model.add_component("{component}", pyo.Constraint({sets}, rule={component}))',
        ]
        return lines

    def _arguments(self, constraint: Constraint) -> tuple[str, list[str]]:
        """Return the arguments of a rule, and lines that join what Pyomo takes apart.

        Pyomo hands over the parts of a tuple one by one, whatever the binder's names.
        """
        arguments, lines = [], []
        for binder, index_set in zip(constraint.binders, constraint.sets, strict=True):
            names = [self.names.of(name) for name in binder.names]
            width = len(index_set.root.factors) or 1
            if len(names) < width:
                parts = [f"{names[0]}_{k}" for k in range(width)]
                lines.append(f"    {names[0]} = ({', '.join(parts)})")
                names = parts
            arguments += names
        return ", ".join(arguments), lines

    def _compiled(self) -> list[str]:
        """Return the rows that no rule says, each below what the blueprint says."""
        lines: list[str] = []
        titles = {d.constraint_id: _title(d) for d in self.elaboration.core.constraints}
        told: set[str] = set()
        for block in self.program.rows:
            if block in self.said or not block.size:
                continue
            for name, title in titles.items():
                ours = block.constraint_id == name or block.name.startswith(f"{name}__")
                if ours and name not in told:
                    told.add(name)
                    lines.append(f"# {title}")
            lines += self.rows.row(block, self.names.fresh(block.constraint_id))
        return lines + self.rows.groups()

    # -- the objective --------------------------------------------------------------------------

    def _objective(self) -> list[str]:
        objective = checked_objective(self.elaboration)
        if objective is None:
            return ["model.objective = pyo.Objective(expr=0.0)"]
        if objective.method is None:
            goal = objective.goals[0]
            text = self._said(objective, goal) or self.rows.objective()
            return [
                *_stated(objective, goal),
                f"model.objective = pyo.Objective(expr={text}, sense=pyo.{goal.sense})",
            ]
        pairs = list(zip(objective.goals, self.program.goals, strict=True))
        texts = [self._said(objective, goal) or self.rows.goal(row) for goal, row in pairs]
        if objective.method != "epsilon":
            lines = ["GOALS = ["]
            for (goal, _), text in zip(pairs, texts, strict=True):
                lines += [f"    {line}" for line in _stated(objective, goal)]
                name = comment(goal.name)
                tolerance = number(goal.tolerance)
                lines.append(f"    ({name!r}, pyo.{goal.sense}, {text}, {tolerance}),")
            return [*lines, "]"]
        first = objective.goals[0]
        lines = [
            *_stated(objective, first),
            f"model.objective = pyo.Objective(expr={texts[0]}, sense=pyo.{first.sense})",
        ]
        for (goal, _), text in zip(pairs[1:], texts[1:], strict=True):
            assert goal.limit is not None
            op = "<=" if goal.sense == "minimize" else ">="
            name = self.names.fresh(f"goal__{goal.name}")
            rule = f'relation({text}, "{op}", {number(goal.limit)})'
            lines += _stated(objective, goal)
            lines.append(f'model.add_component("{name}", pyo.Constraint(expr={rule}))')
        return lines

    def _said(self, objective: Objective, goal: Goal) -> str | None:
        """Return a goal as the blueprint says it; None where only the compiled rows can."""
        definition = objective.definition
        expressions = [definition.expression, *(term.expression for term in definition.terms)]
        uncertain = any(names_in(text) & self.uncertain for text in expressions)
        expected = objective.risk is not None and objective.risk.measure == "expected"
        if self.goal_compiled or uncertain or (objective.risk is not None and not expected):
            return None
        try:
            if objective.risk is None:
                return self.printer.expression(goal.node, {})
            (binder,) = self.elaboration.binders((definition.scenario or "",))
            scenarios = objective.risk.scenarios
            scope = dict(scope_of([binder.names], (scenarios,)))
            body = self.printer.expression(goal.node, scope, 5)
            weight = self.printer.probability(scenarios, self.names.of(binder.names[0]))
        except UnsaidError:
            return None
        over = f"for {self.names.of(binder.names[0])} in {self.names.of(binder.set)}"
        return f"sum({weight} * {body} {over})"


def _section(title: str, lines: list[str]) -> list[str]:
    return [*section(title), *lines] if lines else []


def _note(unit: str, description: str | None) -> str:
    return f"  # [{comment(unit)}] {comment(description or '')}".rstrip()


def _title(definition: ConstraintDef) -> str:
    """Return what a blueprint says of a constraint, in one line."""
    title = comment(definition.name or definition.constraint_id)
    over = f" for {', '.join(definition.forall)}" if definition.forall else ""
    where = f" where {definition.where}" if definition.where else ""
    return f"{title}: {comment(definition.expression + over + where)}"


def _stated(objective: Objective, goal: Goal) -> list[str]:
    """Return comments on a goal: its name and unit, and what the blueprint says."""
    definition = objective.definition
    texts = {term.name: term.expression for term in definition.terms}
    text = definition.expression or texts.get(goal.name) or " and ".join(texts.values())
    risk = objective.risk
    how = "" if risk is None else f", {risk.measure} over {risk.scenarios.name}"
    return [f"# {comment(goal.name)} [{comment(str(goal.unit))}]{comment(how)}: {comment(text)}"]

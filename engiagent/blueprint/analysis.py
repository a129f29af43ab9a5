"""Static analysis: everything that can be said about a blueprint before any solver runs."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engiagent.blueprint.checked import (
    Constraint,
    ModelEvaluator,
    Variable,
    checked_constraint,
    checked_variable,
)
from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic, Severity, collected, located
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import PATH, Elaboration
from engiagent.blueprint.goals import Objective, checked_objective, checked_penalty
from engiagent.blueprint.grammar import Ref, names_in
from engiagent.blueprint.grid import Grid
from engiagent.blueprint.indexing import Value
from engiagent.blueprint.occurrences import listed_as_unused
from engiagent.blueprint.relations import numeric_parts
from engiagent.blueprint.reporting import report_findings
from engiagent.blueprint.sets import IndexSet
from engiagent.blueprint.stages import stage_findings
from engiagent.blueprint.uncertainty import uncertainty_findings

WHOLE = 1e-9
"""How far a bound may lie beside a whole number and still mean it."""


@dataclass(frozen=True)
class Analysis:
    """What static analysis found."""

    # errors first, then warnings, then notes, each in the order of the document
    diagnostics: tuple[Diagnostic, ...]
    # variables, constraints: how many single variables and rows there are
    variables: int
    constraints: int
    missing: tuple[str, ...]  # parameters that are declared as missing
    # sets, parameters and symbols with what was checked over them; None where these are wrong
    elaboration: Elaboration | None

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The findings that forbid compilation."""
        return tuple(d for d in self.diagnostics if d.severity == "error")


def analyse(blueprint: Blueprint, folder: Path | str | None = None) -> Analysis:
    """Return all findings about a blueprint whose components are expanded.

    Never raises for what the blueprint says; unreadable data files are findings too.
    """
    return _Analyser(blueprint, Path(folder) if folder is not None else None).run()


class _PartialEvaluator(ModelEvaluator):
    """Evaluates what rests on right variables; a wrong one is reported where it is declared."""

    def __init__(self, elaboration: Elaboration, variables: dict[str, Variable]) -> None:
        super().__init__(elaboration, variables)
        self.declared = {definition.name for definition in elaboration.core.decision_variables}

    def is_variable(self, name: str) -> bool:
        """Whether a name is declared as a variable, right or wrong."""
        return name in self.declared

    def sets_of(self, name: str) -> tuple[IndexSet, ...]:
        """Return the sets of a name; give up on a wrong variable as :meth:`variable` does."""
        if name in self.declared - set(self.variables):
            raise BlueprintError(())
        return super().sets_of(name)

    def variable(self, ref: Ref, grid: Grid) -> Value:
        """Return the value of a right variable; give up without a word on a wrong one."""
        if ref.name not in self.variables:
            raise BlueprintError(())
        return super().variable(ref, grid)


class _Analyser:
    """One analysis."""

    def __init__(self, blueprint: Blueprint, folder: Path | None) -> None:
        self.blueprint = blueprint
        self.core = blueprint.core
        self.folder = folder
        self.found: list[Diagnostic] = []
        self.used: set[str] = set()
        self.constrained: set[str] = set()
        self.rows = 0

    def run(self) -> Analysis:
        variables: dict[str, Variable] = {}
        missing: tuple[str, ...] = ()
        checked: Elaboration | None = None
        try:
            elaboration = Elaboration(self.core, self.folder)
            missing = elaboration.missing
            _ = elaboration.symbols
        except BlueprintError as error:
            self.found += error.diagnostics
        else:
            checked = elaboration
            self._data(elaboration)
            variables = self._variables(elaboration)
            self.found += stage_findings(elaboration)
            self.found += uncertainty_findings(elaboration)
            evaluator = _PartialEvaluator(elaboration, variables)
            self._expressions(elaboration, evaluator)
            objective = self._objective(elaboration, evaluator)
            self._constraints(elaboration, evaluator, objective)
            self.found += report_findings(self.blueprint, elaboration)
            self._unused(variables)
        for name in missing:
            self._note("EB015", "warning", "parameters", name, "its value is missing")
        order = {"error": 0, "warning": 1, "info": 2}
        self.found = sorted(dict.fromkeys(self.found), key=lambda d: order[d.severity])
        size = sum(v.size for v in variables.values())
        return Analysis(tuple(self.found), size, self.rows, missing, checked)

    def _note(
        self,
        code: str,
        severity: Severity,
        group: str,
        name: str,
        message: str,
        hint: str | None = None,
    ) -> None:
        items = getattr(self.core, group)
        position = next(k for k, item in enumerate(items) if item.name == name)
        path = f"{PATH}.{group}[{position}]"
        self.found.append(Diagnostic(code, severity, path, message, None, hint, name))

    def _data(self, elaboration: Elaboration) -> None:
        for definition in self.core.sets:
            with collected(self.found):
                elaboration.index_set(definition.name)
        for parameter in self.core.parameters:
            with collected(self.found):
                values = elaboration.table(parameter.name).values
                if values.dtype == np.float64 and not np.all(np.isfinite(values)):
                    text = "a value is not finite"
                    self._note("EB016", "error", "parameters", parameter.name, text)
                if parameter.uncertain is not None:
                    self.used |= names_in(parameter.uncertain.deviation)
                if (parameter.type or "number") == "number":
                    self.used |= names_in(parameter.value)

    def _variables(self, elaboration: Elaboration) -> dict[str, Variable]:
        variables = {}
        for position, definition in enumerate(self.core.decision_variables):
            with collected(self.found):
                variable = checked_variable(elaboration, position)
                variables[definition.name] = variable
                for text in (
                    definition.lower,
                    definition.upper,
                    definition.where,
                    definition.stage,
                ):
                    self.used |= names_in(text)
                self._bounds(variable)
        return variables

    def _bounds(self, variable: Variable) -> None:
        name, group = variable.definition.name, "decision_variables"
        low, high = variable.lower, variable.upper
        crossed = low > high
        if crossed.any():
            row = int(np.argmax(crossed))
            text = f"the lower bound {low[row]:g} lies above the upper bound {high[row]:g}"
            self._note("EB018", "warning", group, name, text)
        elif variable.definition.type in ("integer", "binary"):
            none = np.ceil(low - WHOLE) > np.floor(high + WHOLE)
            if none.any():
                row = int(np.argmax(none))
                text = f"no whole number lies between its bounds {low[row]:g} and {high[row]:g}"
                self._note("EB018", "warning", group, name, text)
        if not np.all(np.isfinite(low) & np.isfinite(high)):
            hint = "give every variable its physical bounds; certificates are sharper with them"
            self._note("EB019", "info", group, name, "it has no finite bound on one side", hint)

    def _expressions(self, elaboration: Elaboration, evaluator: ModelEvaluator) -> None:
        """Try every named expression on its whole grid: all of them are reported."""
        for position, definition in enumerate(self.core.expressions):
            path = f"{PATH}.expressions[{position}]"
            with collected(self.found):
                with located(f"{path}.where", definition.name):
                    binders = elaboration.binders(definition.index)
                    grid = elaboration.grid(binders, definition.where)
                with located(f"{path}.expression", definition.name):
                    evaluator.number(elaboration.named[definition.name].body, grid)

    def _constraints(
        self, elaboration: Elaboration, evaluator: ModelEvaluator, objective: Objective | None
    ) -> None:
        seen: set[str] = set()
        for position, definition in enumerate(self.core.constraints):
            path = f"{PATH}.constraints[{position}]"
            label = definition.name or definition.constraint_id
            if definition.constraint_id in seen:
                message = f"the id {definition.constraint_id!r} is used twice"
                self.found.append(Diagnostic("EB012", "error", path, message, name=label))
            seen.add(definition.constraint_id)
            with collected(self.found):
                constraint = checked_constraint(elaboration, position)
                with located(f"{path}.expression", label):
                    for side in numeric_parts(constraint.relation):
                        evaluator.number(side, constraint.grid)
                checked_penalty(elaboration, constraint, objective)
                self._constraint(constraint, path, label, evaluator)

    def _constraint(
        self, constraint: Constraint, path: str, label: str, evaluator: ModelEvaluator
    ) -> None:
        """Note what is odd about a constraint that is right, and what it uses."""
        self.rows += constraint.grid.size
        if constraint.grid.size == 0:
            message = "its filter or its sets leave nothing, so it holds nowhere"
            hint = "compare the labels and numbers of the filter with the data"
            self.found.append(Diagnostic("EB025", "warning", path, message, None, hint, label))
        definition = constraint.definition
        weight = definition.penalty.weight if definition.penalty is not None else None
        met = names_in(definition.expression) | names_in(definition.where) | names_in(weight)
        for column, text in constraint.notes:
            place = f"{path}.expression"
            self.found.append(Diagnostic("EB021", "info", place, text, column, name=label))
        self.used |= met
        self.constrained |= met
        if not any(self._reaches_variable(name, evaluator) for name in met):
            message = "no variable occurs in it, so it decides nothing"
            self.found.append(Diagnostic("EB023", "warning", path, message, name=label))

    def _reaches_variable(self, name: str, evaluator: ModelEvaluator) -> bool:
        if name in evaluator.variables:
            return True
        named = evaluator.named.get(name)
        inner = names_in(named.body) if named is not None else ()
        return any(self._reaches_variable(part, evaluator) for part in inner)

    def _objective(self, elaboration: Elaboration, evaluator: ModelEvaluator) -> Objective | None:
        with collected(self.found):
            objective = checked_objective(elaboration)
            if objective is None:
                path = f"{PATH}.objective_function"
                message = "there is no objective: any feasible schedule will do"
                self.found.append(Diagnostic("EB022", "warning", path, message))
                return None
            for goal in objective.goals:
                with located(goal.path, goal.name):
                    evaluator.number(goal.node, objective.grid)
            for place, column, text in objective.notes:
                name = objective.definition.name
                self.found.append(Diagnostic("EB021", "info", place, text, column, name=name))
            self.used |= names_in(objective.definition.expression)
            for term in objective.definition.terms:
                for part in (term.expression, term.weight, term.tolerance, term.limit):
                    self.used |= names_in(part)
            return objective
        return None

    def _unused(self, variables: dict[str, Variable]) -> None:
        report = self.core.report
        if report is not None:
            self.used |= {sweep.parameter for sweep in report.sweeps}
            self.used = self.used.union(*map(names_in, report.expressions))
        self._mark_expressions()
        self.used = self.used.union(*(names_in(s.where) for s in self.core.sets))
        for component in self.core.components:
            self.used = self.used.union(*map(names_in, component.parameters.values()))
        listed = listed_as_unused(self.blueprint)
        for parameter in self.core.parameters:
            if parameter.name not in self.used and parameter.name not in listed:
                self._note("EB020", "warning", "parameters", parameter.name, "nothing uses it")
        for name in variables:
            if name not in self.used:
                self._note("EB020", "warning", "decision_variables", name, "nothing uses it")
            elif name not in self.constrained:
                self._note("EB024", "info", "decision_variables", name, "no constraint holds it")

    def _mark_expressions(self) -> None:
        """Follow what is used or constrained through named expressions and those within them."""
        inside = {e.name: names_in(e.expression) for e in self.core.expressions}
        self.used |= {e.name for e in self.core.expressions if e.quantity is not None}
        for names in (self.used, self.constrained):
            waiting = [name for name in names if name in inside]
            while waiting:
                more = inside[waiting.pop()] - names
                names |= more
                waiting += [name for name in more if name in inside]

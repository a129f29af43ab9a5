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
from engiagent.blueprint.diagnostics import Diagnostic, Severity, collected, located
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import PATH, Elaboration
from engiagent.blueprint.goals import Objective, checked_objective, checked_penalty
from engiagent.blueprint.grammar import names_in
from engiagent.blueprint.occurrences import listed_as_unused, reached
from engiagent.blueprint.relations import numeric_parts
from engiagent.blueprint.reporting import report_findings
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
    found: list[Diagnostic] = []
    elaboration: Elaboration | None = None
    missing: tuple[str, ...] = ()
    variables = rows = 0
    with collected(found):
        made = Elaboration(blueprint.core, Path(folder) if folder is not None else None)
        missing = made.missing
        _ = made.symbols
        elaboration = made
    if elaboration is not None:
        analyser = _Analyser(blueprint, elaboration, found)
        analyser.run()
        variables = sum(v.size for v in analyser.variables.values())
        rows = analyser.rows
    for position, parameter in enumerate(blueprint.core.parameters):
        if parameter.name in missing:
            path = f"{PATH}.parameters[{position}]"
            text = "its value is missing"
            found.append(Diagnostic("EB015", "warning", path, text, name=parameter.name))
    order = {"error": 0, "warning": 1, "info": 2}
    ordered = sorted(dict.fromkeys(found), key=lambda d: order[d.severity])
    return Analysis(tuple(ordered), variables, rows, missing, elaboration)


class _Analyser:
    """One analysis of what rests on right symbols."""

    def __init__(
        self, blueprint: Blueprint, elaboration: Elaboration, found: list[Diagnostic]
    ) -> None:
        self.blueprint, self.core = blueprint, blueprint.core
        self.elaboration, self.found = elaboration, found
        self.used: set[str] = set()
        self.constrained: set[str] = set()
        self.variables: dict[str, Variable] = {}
        self.rows = 0

    def run(self) -> None:
        """Add every finding."""
        self._data()
        for position in range(len(self.core.decision_variables)):
            self._variable(position)
        self.found += stage_findings(self.elaboration)
        self.found += uncertainty_findings(self.elaboration)
        evaluator = None  # a wrong variable is reported where it is declared, and nowhere else
        if len(self.variables) == len(self.core.decision_variables):
            evaluator = ModelEvaluator(self.elaboration, self.variables)
        self._expressions(evaluator)
        objective = self._objective(evaluator)
        self._constraints(evaluator, objective)
        self.found += report_findings(self.blueprint, self.elaboration)
        self._unused()

    def _note(
        self, code: str, severity: Severity, path: str, name: str | None, *words: str | None
    ) -> None:
        """Add a finding with its message and its hint."""
        message, hint = str(words[0]), words[1] if len(words) > 1 else None
        self.found.append(Diagnostic(code, severity, f"{PATH}.{path}", message, None, hint, name))

    def _data(self) -> None:
        for definition in self.core.sets:
            with collected(self.found):
                self.elaboration.index_set(definition.name)
        for position, parameter in enumerate(self.core.parameters):
            with collected(self.found):
                values = self.elaboration.table(parameter.name).values
                if values.dtype == np.float64 and not np.all(np.isfinite(values)):
                    path, text = f"parameters[{position}]", "a value is not finite"
                    self._note("EB016", "error", path, parameter.name, text)
                if parameter.uncertain is not None:
                    self.used |= names_in(parameter.uncertain.deviation)
                if (parameter.type or "number") == "number":
                    self.used |= names_in(parameter.value)

    def _variable(self, position: int) -> None:
        with collected(self.found):
            variable = checked_variable(self.elaboration, position)
            d, path = variable.definition, f"decision_variables[{position}]"
            self.variables[d.name] = variable
            self.used = self.used.union(*map(names_in, (d.lower, d.upper, d.where, d.stage)))
            low, high = variable.lower, variable.upper
            crossed, text = low > high, "the lower bound {:g} lies above the upper bound {:g}"
            if d.type in ("integer", "binary") and not crossed.any():
                crossed = np.ceil(low - WHOLE) > np.floor(high + WHOLE)
                text = "no whole number lies between its bounds {:g} and {:g}"
            if crossed.any():
                row = int(np.argmax(crossed))
                self._note("EB018", "warning", path, d.name, text.format(low[row], high[row]))
            if not np.all(np.isfinite(low) & np.isfinite(high)):
                text = "it has no finite bound on one side"
                hint = "give every variable its physical bounds; certificates are sharper with them"
                self._note("EB019", "info", path, d.name, text, hint)

    def _expressions(self, evaluator: ModelEvaluator | None) -> None:
        """Try every named expression on its whole grid: all of them are reported."""
        for position, definition in enumerate(self.core.expressions):
            path = f"{PATH}.expressions[{position}]"
            with collected(self.found):
                with located(f"{path}.where", definition.name):
                    binders = self.elaboration.binders(definition.index)
                    grid = self.elaboration.grid(binders, definition.where)
                with located(f"{path}.expression", definition.name):
                    if evaluator is not None:
                        evaluator.number(self.elaboration.named[definition.name].body, grid)

    def _constraints(self, evaluator: ModelEvaluator | None, objective: Objective | None) -> None:
        seen: set[str] = set()
        for position, definition in enumerate(self.core.constraints):
            path = f"constraints[{position}]"
            label = definition.name or definition.constraint_id
            if definition.constraint_id in seen:
                text = f"the id {definition.constraint_id!r} is used twice"
                self._note("EB012", "error", path, label, text)
            seen.add(definition.constraint_id)
            with collected(self.found):
                constraint = checked_constraint(self.elaboration, position)
                with located(f"{PATH}.{path}.expression", label):
                    if evaluator is not None:
                        for side in numeric_parts(constraint.relation):
                            evaluator.number(side, constraint.grid)
                checked_penalty(self.elaboration, constraint, objective)
                self._constraint(constraint, path, label)

    def _constraint(self, constraint: Constraint, path: str, label: str) -> None:
        """Note what is odd about a constraint that is right, and what it uses."""
        self.rows += constraint.grid.size
        if constraint.grid.size == 0:
            text = "its filter or its sets leave nothing, so it holds nowhere"
            hint = "compare the labels and numbers of the filter with the data"
            self._note("EB025", "warning", path, label, text, hint)
        d = constraint.definition
        weight = d.penalty.weight if d.penalty is not None else None
        met = names_in(d.expression) | names_in(d.where) | names_in(weight)
        place = f"{PATH}.{path}.expression"
        for column, text in constraint.notes:
            self.found.append(Diagnostic("EB021", "info", place, text, column, name=label))
        self.used |= met
        self.constrained |= met
        bodies = {e.name: e.expression for e in self.core.expressions}
        texts = map(str, (d.expression, d.where, weight))
        if not reached(texts, bodies) & {v.name for v in self.core.decision_variables}:
            text = "no variable occurs in it, so it decides nothing"
            self._note("EB023", "warning", path, label, text)

    def _objective(self, evaluator: ModelEvaluator | None) -> Objective | None:
        with collected(self.found):
            objective = checked_objective(self.elaboration)
            if objective is None:
                text = "there is no objective: any feasible schedule will do"
                self._note("EB022", "warning", "objective_function", None, text)
                return None
            for goal in objective.goals:
                with located(goal.path, goal.name):
                    if evaluator is not None:
                        evaluator.number(goal.node, objective.grid)
            name = objective.definition.name
            for place, column, text in objective.notes:
                self.found.append(Diagnostic("EB021", "info", place, text, column, name=name))
            self.used |= names_in(objective.definition.expression)
            for term in objective.definition.terms:
                parts = term.expression, term.weight, term.tolerance, term.limit
                self.used = self.used.union(*map(names_in, parts))
            return objective
        return None

    def _unused(self) -> None:
        report = self.core.report
        if report is not None:
            self.used |= {sweep.parameter for sweep in report.sweeps}
            self.used = self.used.union(*map(names_in, report.expressions))
        self.used |= {e.name for e in self.core.expressions if e.quantity is not None}
        bodies = {e.name: e.expression for e in self.core.expressions}
        for names in (self.used, self.constrained):  # through named expressions
            names |= reached([bodies[name] for name in names if name in bodies], bodies)
        self.used = self.used.union(*(names_in(s.where) for s in self.core.sets))
        for component in self.core.components:
            self.used = self.used.union(*map(names_in, component.parameters.values()))
        listed = listed_as_unused(self.blueprint)
        for position, parameter in enumerate(self.core.parameters):
            path, name = f"parameters[{position}]", parameter.name
            if name not in self.used and name not in listed:
                self._note("EB020", "warning", path, name, "nothing uses it")
        for position, variable in enumerate(self.core.decision_variables):
            path, name = f"decision_variables[{position}]", variable.name
            if name in self.variables and name not in self.used:
                self._note("EB020", "warning", path, name, "nothing uses it")
            elif name in self.variables and name not in self.constrained:
                self._note("EB024", "info", path, name, "no constraint holds it")

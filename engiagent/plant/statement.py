"""Declared components on the way to a blueprint, whoever declares them: a plant file or Python."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from engiagent.blueprint.document import Blueprint
from engiagent.errors import InputError
from engiagent.formulations.expansion import expand

Json = dict[str, Any]
PROFIT = "profit"
COST = "cost"
BUS = "electricity"
"""The bus of components that name none."""


@dataclass
class Statement:
    """The parts of a blueprint, in its JSON form, as they are declared one after the other.

    The expression of the goal may be ``cost`` or ``profit``, which stand for all costs that
    components declare, at least one where it ``needs_cost``; ``also`` are further costs beside
    ``cost``, as expressions. ``unused`` are places of the text that state nothing, each with its
    reason.
    """

    title: str
    time: Json
    currency: str = "EUR"
    sets: list[Json] = field(default_factory=list)
    parameters: list[Json] = field(default_factory=list)
    components: list[Json] = field(default_factory=list)
    constraints: list[Json] = field(default_factory=list)
    cases: list[Json] = field(default_factory=list)
    unused: list[Json] = field(default_factory=list)
    also: Sequence[str] = ()
    needs_cost: bool = False
    goal: Json = field(init=False)

    def __post_init__(self) -> None:
        self.goal = {"sense": "minimize", "expression": "0", "unit": self.currency}

    def add_parameter(self, name: str, unit: str, source: Any, **content: Any) -> str:
        """Add a parameter with ``value`` or ``data`` and return its name."""
        number = f"P{len(self.parameters) + 1}"
        entry = {"param_id": number, "name": name, "unit": unit, "source_reference": source}
        self.parameters.append(entry | content)
        return name

    def points(self, name: str, count: int) -> str:
        """Add a set of points for tables, which those of one component share; return its name."""
        if all(known["name"] != name for known in self.sets):
            self.sets.append({"name": name, "kind": "range", "start": 0, "stop": count - 1})
        return name

    def add_component(self, name: str, model: str, source: Any, **content: Any) -> None:
        """Add a component; what is empty of ``connections`` and ``options`` is left out."""
        entry = {"name": name, "model": model, "index": "T", "source_reference": source}
        self.components.append(entry | {k: v for k, v in content.items() if v or k == "parameters"})

    def add_requirement(self, identity: str, expression: str, source: Any, **content: Any) -> None:
        """Add a constraint that the site has to satisfy."""
        entry = {
            "constraint_id": identity,
            "name": identity,
            "expression": expression,
            "category": "Strategic Requirements",
            "hard": True,
            "source_reference": source,
        }
        self.constraints.append(entry | {k: v for k, v in content.items() if v is not None})

    def set_goal(self, sense: str, expression: str, unit: str, source: Any) -> None:
        """Set what is to be minimized or maximized."""
        self.goal = {
            "name": "objective",
            "sense": sense,
            "expression": expression,
            "unit": unit,
            "source_reference": source,
        }

    def costs(self) -> list[str]:
        """Return the costs that components declare, each as an expression over the horizon."""
        nothing = {"sense": "minimize", "expression": "0", "unit": self.currency}
        core = expand(Blueprint.from_dict(self._document(nothing))).core
        found = [e for e in core.expressions if e.name.endswith("_cost") and e.quantity]
        return [f"sum({e.name}[t] for t in T)" if e.index else e.name for e in found]

    def blueprint(self) -> Blueprint:
        """Return the blueprint, its components not yet written out."""
        goal = self.goal
        if goal["expression"] in (COST, PROFIT):
            terms = [*self.also, *self.costs()]
            if not terms and self.needs_cost:
                raise InputError(
                    f"no component declares a cost, so that there is no {COST}",
                    expected="import_price of a grid, or another price",
                )
            total = " + ".join(terms) or "0"
            goal = goal | {"expression": f"-({total})" if goal["expression"] == PROFIT else total}
        return Blueprint.from_dict(self._document(goal))

    def _document(self, goal: Json) -> Json:
        document: Json = {
            "schema": "engiagent-blueprint/1",
            "kind": "programme",
            "modeling_context": {"problem_essence": self.title},
            "core_model_elements": {
                "sets": [self.time, *self.sets],
                "parameters": self.parameters,
                "decision_variables": [],
                "components": self.components,
                "objective_function": goal,
                "constraints": self.constraints,
            },
        }
        if self.cases:
            document["core_model_elements"]["report"] = {"cases": self.cases}
        if self.unused:
            document["extended_analysis_and_robustness"] = {"unused": self.unused}
        return document

"""Declared components on the way to a blueprint, whoever declares them: a plant file or Python."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self

from engiagent.blueprint.diagnostics import BlueprintError
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.elements import ComponentDef, FrozenMap
from engiagent.blueprint.grammar import Binary, Node, Unary, tree_of
from engiagent.blueprint.placement import WEIGHT
from engiagent.errors import InputError
from engiagent.formulations.components import MODELS
from engiagent.formulations.expansion import expand
from engiagent.units.unit import parse_unit

Json = dict[str, Any]
PROFIT = "profit"
COST = "cost"
SHORT = ("shortfall", "unmet", "discomfort")  # by which what is soft lacks something
BASELINE = "baseline"
"""The case that a plan's saving is counted against."""
UNDER_RULE = "the rule "
"""Before the name of a rule, in the description of a baseline that goes by it."""
_SIZED = re.compile(r"(\w+)(?:\[p\])?(?:\*(\w+)\[(?:p, )?t\])?")
"""What fills a slot that holds a size: the decision, and the profile that it is multiplied by."""
BUS = "electricity"
"""The bus of components that name none."""


_STORES = ("battery", "thermal_store", "ev")
_LIMITS = ("charge_power_max", "discharge_power_max")


def one_way(blueprint: Blueprint, elaboration: Elaboration) -> Blueprint:
    """Return the blueprint with one direction at a time where running both could pay.

    Of stores that is where a price of a grid is below 0, so that losing energy pays, also in other
    periods to make room; of a grid also where it buys dearer than it sells. Such a plan could be
    neither carried out nor metered. They get the option ``exclusive_on`` where they have none.
    """
    core = blueprint.core
    units = {item.name: item.unit for item in core.parameters}

    def price(part: ComponentDef, slot: str) -> Any:
        """Return a price in SI, None where none is stated, or its file is not at hand yet."""
        name = str(part.parameters.get(slot))
        unit = units.get(name)
        with suppress(BlueprintError):
            return elaboration.table(name).values * parse_unit(unit).scale if unit else None
        return None

    grids = [part for part in core.components if part.model == "grid"]
    prices = [(price(g, "import_price"), price(g, "export_price")) for g in grids]
    below = any((p < 0).any() for pair in prices for p in pair if p is not None)
    pumps = any(b is not None and s is not None and (s > b).any() for b, s in prices)
    if not (below or pumps):
        return blueprint
    stores = [p for p in core.components if p.model in _STORES and set(_LIMITS) <= {*p.parameters}]
    # The limits of a grid may be those of the balance of its bus; where there are none it stays.
    for chosen in ([*grids, *stores] if below else grids, stores if below else []):
        changed = {
            p.name: replace(p, options=FrozenMap({"exclusive_on": "T", **(p.options or {})}))
            for p in chosen
        }
        parts = tuple(changed.get(part.name, part) for part in core.components)
        found = blueprint.with_core(components=parts)
        with suppress(InputError):
            expand(found)
            return found
    return blueprint


def costs_beside(goal: str, sense: str) -> list[str] | None:
    """Return what a goal adds to ``cost`` or takes from ``profit``, each term as a cost.

    None where it is no sum of which one of the two is a term, counted as what it is.
    """
    terms = _summands(tree_of(goal), sense == "minimize")
    named = [(added, goal[slice(*term.span)]) for added, term in terms]
    rest = [term for term in named if term not in ((True, COST), (False, PROFIT))]
    texts = [f"({text})" if added else f"-({text})" for added, text in rest]
    return texts if len(rest) == len(named) - 1 else None


def _summands(node: Node | None, added: bool) -> Iterator[tuple[bool, Node]]:
    """Yield the terms of a sum, each with whether it is added or taken away."""
    match node:
        case Binary(op="+" | "-" as op, left=left, right=right):
            yield from _summands(left, added)
            yield from _summands(right, added == (op == "+"))
        case Unary(op="+" | "-" as op, operand=operand):
            yield from _summands(operand, added == (op == "+"))
        case Node():
            yield added, node


@dataclass
class Statement:
    """The parts of a blueprint, in its JSON form, as they are declared one after the other.

    ``without`` names the components that the baseline leaves out, ``rule`` the control of one that
    has all of them.

    The expression of the goal may be ``cost`` or ``profit``, which stand for all costs that
    components declare, at least one where it ``needs_cost``; ``also`` are further costs beside
    ``cost``, as expressions. ``rules`` and ``yearly`` are the constraints and the yearly costs of
    sizes that are to be chosen, ``sizes`` says by what fills a slot how it was stated, and
    ``weight`` is the parameter that says how many such horizons make a year. It is one number, or
    one for each ``representative`` horizon, the set of which is then there: components stand in
    each of them, sizes are the same in all. ``unused`` are places of the text that state nothing,
    each with its reason.
    """

    title: str
    time: Json
    currency: str = "EUR"
    sets: list[Json] = field(default_factory=list)
    parameters: list[Json] = field(default_factory=list)
    decisions: list[Json] = field(default_factory=list)
    expressions: list[Json] = field(default_factory=list)
    components: list[Json] = field(default_factory=list)
    constraints: list[Json] = field(default_factory=list)
    cases: list[Json] = field(default_factory=list)
    unused: list[Json] = field(default_factory=list)
    without: Sequence[str] = ()
    rule: str | None = None
    also: Sequence[str] = ()
    rules: list[Json] = field(default_factory=list)
    yearly: list[str] = field(default_factory=list)
    weight: str | None = None
    representative: str | None = None
    sizes: dict[str, Json] = field(default_factory=dict)
    needs_cost: bool = False
    goal: Json = field(init=False)

    def __post_init__(self) -> None:
        self.goal = {"sense": "minimize", "expression": "0", "unit": self.currency}

    @classmethod
    def of(cls, blueprint: Blueprint) -> Self:
        """Return the declarations of a blueprint whose components are not written out.

        Raises InputError when it holds more than a plant file states.
        """
        core = blueprint.to_dict()["core_model_elements"]
        times = [entry for entry in core["sets"] if entry["kind"] == "time"]
        goal, components = core.get("objective_function"), core.get("components", [])
        if len(times) != 1 or goal is None or any(part.get("expanded") for part in components):
            expected = "one set of time, a goal, and components that are not written out"
            raise InputError("the blueprint is no plant", expected=expected)
        currency = re.match("[A-Z]{3}", goal["unit"])
        title = str(blueprint.modeling_context.problem_essence or "a study")
        made = cls(title, times[0], currency[0] if currency else "EUR")
        made.sets = [entry for entry in core["sets"] if entry is not times[0]]
        made.parameters, made.components = core.get("parameters", []), components
        made.decisions = core.get("decision_variables", [])
        made.expressions = core.get("expressions", [])
        made.yearly = [e["name"] for e in made.expressions if e["name"].endswith("_yearly")]
        for entry in made.parameters:
            if entry["name"] == WEIGHT:
                made.weight, made.representative = WEIGHT, next(iter(entry.get("index", [])), None)
        for entry in core.get("constraints", []):
            is_rule = entry["constraint_id"].endswith(("_in_modules", "_only_if_built"))
            (made.rules if is_rule else made.constraints).append(entry)
        sizes = {entry["name"] for entry in made.decisions if entry["name"].endswith("_size")}
        for value in (v for part in components for v in part["parameters"].values()):
            found = _SIZED.fullmatch(str(value))
            if found is not None and found[1] in sizes:
                made.sizes[value] = {"variable": found[1], "profile": found[2]}
        cases = core.get("report", {}).get("cases", [])
        made.cases = [case for case in cases if case["name"] != BASELINE]
        for case in (case for case in cases if case["name"] == BASELINE):
            if case.get("description", "").startswith(UNDER_RULE):
                made.rule = case["description"].removeprefix(UNDER_RULE).partition(";")[0]
            for change in case["patch"]:
                if change["path"].endswith("/components"):
                    left = {part["name"] for part in change["value"]}
                    made.without = [p["name"] for p in components if p["name"] not in left]
        extended = blueprint.to_dict().get("extended_analysis_and_robustness", {})
        made.unused = extended.get("unused", [])
        for words in (COST, PROFIT):
            made.goal = {**goal, "expression": words}
            if made._goal()["expression"] == goal["expression"]:
                return made
        made.goal = goal
        return made

    def add_parameter(self, name: str, unit: str, source: Any, **content: Any) -> str:
        """Add a parameter with ``value`` or ``data`` and return its name."""
        number = f"P{len(self.parameters) + 1}"
        entry = {"param_id": number, "name": name, "unit": unit, "source_reference": source}
        self.parameters.append(entry | content)
        return name

    def of_each(self) -> Iterator[str]:
        """Yield parameters and decisions of which each representative horizon has its own."""
        for entry in (*self.parameters, *self.decisions):
            if entry.get("index", [""])[0] in ("P", "p in P"):
                yield entry["name"]

    def names(self) -> dict[str, dict[str, str]]:
        """Return by component what its quantities and slots are called in the blueprint.

        A size that is to be chosen goes by its slot, or as ``size`` where that is a series.
        """
        found = {}
        for entry in self.components:
            owner = entry["name"]
            names = {k: v for k, v in entry["parameters"].items() if isinstance(v, str)}
            sizes = {k: self.sizes[v]["variable"] for k, v in names.items() if v in self.sizes}
            series = MODELS[entry["model"]].quantities
            names |= {**sizes, **{name: f"{owner}_{name}" for name in series}}
            for slot, size in sizes.items():
                names.setdefault("size", size)
                names.setdefault("investment", f"{owner}_{slot}_investment")
            found[str(owner)] = names
        return found

    def connect(self) -> None:
        """Put all that can be on the one bus of electricity where no component names a bus."""
        able = [part for part in self.components if "bus" in MODELS[part["model"]].connections]
        if len(able) > 1 and not any("bus" in part.get("connections", {}) for part in able):
            for part in able:
                part["connections"] = {**part.get("connections", {}), "bus": BUS}

    def points(self, name: str, count: int) -> str:
        """Add a set of points for tables, which those of one component share; return its name."""
        if all(known["name"] != name for known in self.sets):
            self.sets.append({"name": name, "kind": "range", "start": 0, "stop": count - 1})
        return name

    def add_component(self, name: str, model: str, source: Any, **content: Any) -> None:
        """Add a component; what is empty of ``connections`` and ``options`` is left out."""
        over: Any = ["p in P", "T"] if self.representative else "T"
        entry = {"name": name, "model": model, "index": over, "source_reference": source}
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
        if self.representative is None:
            return [f"sum({e.name}[t] for t in T)" if e.index else e.name for e in found]
        timed = {e.name: " for t in T" if len(e.index) > 1 else "" for e in found}
        return [
            f"sum({self.weight}[p]*{name}[p{', t' if over else ''}] for p in P{over})"
            for name, over in timed.items()
        ]

    def _baseline(self) -> Json:
        """Return the case of the same site without some components, and without what names them."""
        without = self.without
        gone = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, without))})_\w+")
        left = replace(
            self,
            components=[c for c in self.components if c["name"] not in without],
            constraints=[c for c in self.constraints if not gone.search(str(c))],
            decisions=[d for d in self.decisions if not gone.fullmatch(d["name"])],
            expressions=[e for e in self.expressions if not gone.fullmatch(e["name"])],
            rules=[r for r in self.rules if not gone.fullmatch(r["constraint_id"])],
            yearly=[name for name in self.yearly if not gone.fullmatch(name)],
            also=[text for text in self.also if not gone.search(text)],
            without=(),
        )
        left.goal = self.goal
        core = left._document(left._goal())["core_model_elements"]
        parts = ("components", "constraints", "decision_variables", "expressions")
        patch = [_put(f"/core_model_elements/{part}", core[part]) for part in parts]
        goal = core["objective_function"]["expression"]
        patch.append(_put("/core_model_elements/objective_function/expression", goal))
        asked = {"expressions": [entry["name"] for entry in core["expressions"]]}
        patch.append(_put("/core_model_elements/report", asked))
        return {"name": BASELINE, "patch": patch}

    def blueprint(self) -> Blueprint:
        """Return the blueprint, its components not yet written out."""
        return Blueprint.from_dict(self._document(self._goal()))

    def _goal(self) -> Json:
        """Return the objective with all costs that components declare in the place of ``cost``."""
        goal = self.goal
        if goal["expression"] in (COST, PROFIT):
            self._refuse_unpriced()
            terms = [*self.also, *self.costs()]
            if not terms and self.needs_cost:
                raise InputError(
                    f"no component declares a cost, so that there is no {COST}",
                    expected="import_price of a grid, or another price",
                )
            total = self._of_a_year(" + ".join(terms) or "0")
            goal = goal | {"expression": f"-({total})" if goal["expression"] == PROFIT else total}
        return goal

    def _refuse_unpriced(self) -> None:
        """Refuse a limit that is soft, and that to leave costs nothing."""
        stated = str((*self.also, *self.expressions, *self.constraints))
        for part in self.components:
            name, model = part["name"], part["model"]
            known = [word.partition(".")[0] for word in MODELS[model].quantities]
            short = next((word for word in SHORT if word in known), "")
            if part.get("options", {}).get("soft") is True and f"{name}_{short}" not in stated:
                raise InputError(
                    f"component {name} ({model}): soft has no price: {name}.{short} costs nothing",
                    expected=f"a goal of {COST} + a price * {name}.{short}, or a limit of it",
                )

    def _of_a_year(self, total: str) -> str:
        """Return the cost of the horizon, or that of a year where sizes cost by the year."""
        if self.yearly and self.weight is None:
            raise InputError(
                "sizes cost by the year, and the horizon does not say how many such make one",
                expected="a weight of the horizon, as 365 for a day",
            )
        of_all = self.weight is None or self.representative is not None
        weighted = total if of_all else f"{self.weight}*({total})"
        return " + ".join([weighted, *self.yearly])

    def _document(self, goal: Json) -> Json:
        document: Json = {
            "schema": "engiagent-blueprint/1",
            "kind": "programme",
            "modeling_context": {"problem_essence": self.title},
            "core_model_elements": {
                "sets": [self.time, *self.sets],
                "parameters": self.parameters,
                "decision_variables": self.decisions,
                "expressions": self.expressions,
                "components": self.components,
                "objective_function": goal,
                "constraints": [*self.rules, *self.constraints],
            },
        }
        names = [entry["name"] for entry in self.expressions]
        cases = [*self.cases, *([self._baseline()] if self.without else [])]
        if cases or names:
            asked = {"cases": cases, "expressions": names}
            document["core_model_elements"]["report"] = asked
        if self.unused:
            document["extended_analysis_and_robustness"] = {"unused": self.unused}
        return document


def _put(path: str, value: Any) -> Json:
    return {"op": "add", "path": path, "value": value}

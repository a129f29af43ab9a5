"""From a plant block to a blueprint: what each key of it means, and every error at its place."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.blueprint.grammar import Reduce, names_in, references, tree_of, walk
from engiagent.blueprint.placement import WEIGHT, respelled
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.components import MODELS
from engiagent.formulations.components.fragment import PORTS
from engiagent.formulations.expansion import expand
from engiagent.plant.cluster import OWNERS, Cluster, is_cluster, read_cluster
from engiagent.plant.horizon import Horizon, read_horizon, read_rule
from engiagent.plant.slots import FINAL, SERIES, YES_NO, Filler, Part, columns_in, final_requirement
from engiagent.plant.source import FormError, PlantError, Source, find_source, nearest
from engiagent.plant.statement import BUS, COST, PROFIT, Statement, costs_beside, one_way
from engiagent.plant.values import Quantity, Term, literal, pieces, translated
from engiagent.readings import Reading
from engiagent.text import Problem
from engiagent.text.frontmatter import Node, read_nodes
from engiagent.units.unit import parse_unit
from engiagent.units.words import Conventions, conventions_of

KEYS: Final = (
    "title",
    "currency",
    "horizon",
    "components",
    "requirements",
    "goal",
    "baseline",
    "cases",
)
REQUIREMENT: Final = ("for", "where", "must", "penalty")
NAMING: Final = "a letter, then letters, digits, _"
NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_COMPONENT: Final = re.compile(r"component (\w+) \(\w+\): (?:the parameter )?(\w*)")


def read_plant(problem: Problem) -> Reading | None:
    """Return what the plant block of a problem states; None when it has none."""
    plant = _plant_of(problem)
    return None if plant is None else plant.read()


def read_statement(problem: Problem) -> Statement | None:
    """Return the declarations of a plant block; None for a problem without one."""
    plant = _plant_of(problem)
    return None if plant is None else plant.stated()


def cluster_of(problem: Problem) -> Cluster | None:
    """Return the cluster that a problem states; None for one that states none."""
    found = _stated(problem)
    return read_cluster(*found) if found is not None and is_cluster(found[1]) else None


def read_building(cluster: Cluster, name: str, share: float | None) -> Blueprint:
    """Return one building of a cluster alone, with a share of the cluster's limits.

    Raises PlantError with all that is wrong in it.
    """
    blueprint = _Plant(cluster.source, cluster.plant(name, share)).read().blueprint
    assert blueprint is not None  # a plant block is understood or refused
    return blueprint


def _plant_of(problem: Problem) -> "_Plant | None":
    found = _stated(problem)
    if found is None:
        return None
    source, root = found
    return _Plant(source, read_cluster(source, root).plant() if is_cluster(root) else root)


def _stated(problem: Problem) -> tuple[Source, Node] | None:
    """Return where a problem's plant is stated, and as what tree."""
    source = find_source(problem)
    if source is None:
        return None
    try:
        root = read_nodes(source.yaml, source.file, "the plant block", source.first_line)
    except InputError as error:
        if "flow" in error.message or "expected ',' or '}'" in error.message:
            error.expected = "quotation marks around a value with [unit] inside braces"
        raise PlantError([error]) from None
    if root is None:
        expected = "components, horizon and goal"
        empty = ("the plant block is empty", source.file, source.first_line, 1)
        raise PlantError([InputError(*empty, expected=expected)])
    return source, root


class _Plant:
    """One plant block while it is read."""

    def __init__(self, source: Source, root: Node) -> None:
        self.source, self.root = source, root
        self.top = source.entries(root, "the plant block", KEYS)
        self.currency = self._currency()
        self.conventions = Conventions(currency=self.currency)
        self.parts: dict[str, Part] = {}
        self.misread: set[str] = set()  # components whose fault is recorded: naming them is right
        self.names: dict[str, dict[str, str]] = {}
        self.places: dict[str, Node] = {}
        self.terms: dict[str, Term] = {}

    def read(self) -> Reading:
        statement = self.stated()
        blueprint = self._checked(statement)
        if statement.rule is not None:
            from engiagent.plant.rules import with_rule  # few plants need the checker's physics

            try:
                blueprint = with_rule(blueprint, statement.rule, self.source.problem.folder)
            except InputError as error:
                raise PlantError([self._moved(error, self.top["baseline"])]) from None
        return Reading(blueprint, notes=tuple(self.source.notes))

    def stated(self) -> Statement:
        """Return what is stated; all that is wrong with it is one error."""
        source = self.source
        if "components" not in self.top:
            expected = "components: {name: {model: …}}"
            source.fault(self.root, "there are no components", expected, found="none")
        for key, node in source.entries(self.top.get("components"), "components").items():
            self._component(key, node)
        parts = self.parts.values()
        slots = [node for part in parts for node in (*part.slots.values(), *part.series.values())]
        used = [c.file for node in slots for c in columns_in(node, self.conventions)]
        horizon = read_horizon(source, self.top.get("horizon"), used)
        if horizon is None:
            raise PlantError(source.errors)
        title = source.text(self.top.get("title"), "the title") or source.problem.title
        statement = Statement(title, horizon.entry, self.currency, unused=source.silent())
        filler = Filler(source, horizon, statement, self.conventions, self.places)
        if horizon.weight is not None or horizon.weights:
            name = "weights" if horizon.weights else "weight"
            with source.recording(horizon.weight or self.top["horizon"], name):
                self._weight(statement, horizon)
        self._connect()
        for part in self.parts.values():
            for slot, node in part.slots.items():
                filler.fill(part, slot, node)
            for name, node in part.series.items():
                filler.connect(part, name, node)
            statement.add_component(
                part.name,
                part.model,
                self._whole(part.key, part.node),
                parameters=part.parameters,
                connections=part.connections,
                options=part.options,
            )
        self.names = statement.names()
        for part in self.parts.values():
            if part.final is not None:
                with source.recording(part.final[1], f"{part.name}.{FINAL}"):
                    self._final(statement, part, *part.final)
        for key, node in source.entries(self.top.get("requirements"), "requirements").items():
            with source.recording(key.node):
                self._requirement(statement, key, node)
        with source.recording(self.top.get("goal", self.root)):
            self._goal(statement)
        self._baseline(statement)
        for key, node in source.entries(self.top.get("cases"), "cases").items():
            self._case(filler, key, node)
        if source.errors:
            raise PlantError(source.errors)
        return statement

    def _currency(self) -> str:
        node = self.top.get("currency")
        stated = self.source.text(node, "the currency")
        found = stated or conventions_of(self.source.yaml).currency or "EUR"
        if node is not None and not re.fullmatch(r"[A-Z]{3}", found):
            self.source.fault(node, "no currency", "three letters, as EUR")
            return "EUR"
        return found

    def _whole(self, key: Node, value: Node) -> Any:
        return self.source.reference(Node(None, key.line, key.column, key.start, value.end))

    # -- components -------------------------------------------------------------------------------

    def _component(self, key: Any, node: Node) -> None:
        """Note a component with the nodes of its slots; none of the values is read yet."""
        source = self.source
        given = source.entries(node, f"component {key}")
        if not NAME.fullmatch(key):
            source.fault(key.node, "no name of a component", NAMING)
            return
        model = source.text(given.get("model"), "the model")
        if model is None or model not in MODELS:
            what = "the component has no model" if model is None else "unknown model"
            source.fault(given.get("model", key.node), what, nearest(model or "", MODELS))
            self.misread.add(str(key))
            return
        part = self.parts[str(key)] = Part(str(key), key.node, node, model, MODELS[model])
        for name, value in given.items():
            self._sort(part, name, value)
        for slot, known in part.known.slots.items():
            if known.required and slot not in part.slots:
                source.fault(key.node, f"{key} ({model}): {slot} is not given", known.wanted)

    def _sort(self, part: Part, name: Any, value: Node) -> None:
        """Put an entry of a component where it belongs: a slot, an option, a connection."""
        known = part.known
        if name in known.connections:
            part.connections[str(name)] = self._plain(value)
            if name in SERIES and isinstance(value.value, dict):
                part.series[str(name)] = value
        elif name in known.options:
            part.options[str(name)] = self._plain(value)
        elif name in known.slots:
            part.slots[str(name)] = value
        elif name == FINAL:
            part.final = name.node, value
        elif name == "align":
            part.align = read_rule(self.source, value)
        elif name != "model":
            names = (*known.slots, *known.options, *known.connections, "align", FINAL)
            said = f"{part.name} ({part.model}): unknown slot {str(name)!r}"
            self.source.fault(name.node, said, nearest(name, names))

    def _plain(self, node: Node) -> Any:
        """Return a connection or an option as JSON; quantities become literals."""
        if isinstance(node.value, dict):
            return {str(key): self._plain(value) for key, value in node.value.items()}
        if isinstance(node.value, list):
            return [self._plain(item) for item in node.value]
        text = str(node.value).strip()
        if text.lower() in YES_NO:
            return YES_NO[text.lower()]
        try:
            found = pieces(text, self.conventions)
        except FormError:
            return text
        if len(found) != 1 or not isinstance(found[0], Quantity):
            return text
        number = found[0].number
        plain = int(number) if number.is_integer() and "." not in text else number
        return plain if found[0].unit is None else literal(found[0])

    def _connect(self) -> None:
        """Put components on the one bus of electricity where none is named."""
        on = [part for part in self.parts.values() if "bus" in part.known.connections]
        stated = {str(p.connections["bus"]) for p in on if "bus" in p.connections}
        for part in on:
            if part.connections.get("bus") in ("none", None) and "bus" in part.connections:
                del part.connections["bus"]
            elif "bus" not in part.connections and stated - {"none"}:
                buses = " or ".join(sorted(stated - {"none"}))
                expected = f"bus: {buses}, or bus: none for what is on no bus of electricity"
                self.source.fault(part.key, f"{part.name} names no bus, others do", expected)
            else:
                part.connections.setdefault("bus", BUS)
        for part in self.parts.values():
            for name in OWNERS:
                target = part.connections.get(name)
                if isinstance(target, str):
                    self._check_named(part.node.value[name], target, f"{part.name}: ")
        if not self.misread:
            self._check_buses()

    def _check_named(self, node: Node, name: str, place: str = "") -> None:
        """Refuse the name of a component that nobody states."""
        if name not in self.parts and name not in self.misread:
            said = f"{place}there is no component {name!r}"
            self.source.fault(node, said, nearest(name, self.parts))

    def _check_buses(self) -> None:
        """Refuse a component that is alone on a bus."""
        buses: dict[str, list[tuple[Part, str]]] = {}
        for part in self.parts.values():
            for port in PORTS:
                if port in part.connections:
                    buses.setdefault(str(part.connections[port]), []).append((part, port))
            own = part.connections.get("buses")
            for bus in own if isinstance(own, Mapping) else ():
                buses.setdefault(str(bus), []).extend([(part, "")] * 2)
        others = [bus for bus, members in buses.items() if len(members) > 1]
        for bus, members in buses.items():
            if len(members) == 1 and len(self.parts) > 1:
                part, port = members[0]
                node = part.node.value.get(port, part.key)
                expected = nearest(bus, others) if others else "a bus with others on it"
                self.source.fault(node, f"{part.name} is alone on the bus {bus!r}", expected)

    # -- requirements, goal, cases ----------------------------------------------------------------

    def _final(self, statement: Statement, part: Part, key: Node, node: Node) -> None:
        """Require the least content of a store in the end."""
        text = self.source.text(node, FINAL)
        if text is not None:
            least = final_requirement(part.name, part.known, text)
            given: Mapping[Any, Node] = {"must": replace(node, value=least)}
            name = f"{part.name}_{FINAL}"
            self._require(statement, name, self._whole(key, node), given)
            self.terms.pop(f"{name}.must", None)  # what is wrong with it stands at the value

    def _requirement(self, statement: Statement, key: Any, node: Node) -> None:
        source = self.source
        if not NAME.fullmatch(key):
            raise FormError("no name of a requirement", 0, NAMING)
        given: Mapping[Any, Node] = {"must": node}
        if not node.is_text:
            given = source.entries(node, f"the requirement {key}", REQUIREMENT)
        self._require(statement, str(key), self._whole(key.node, node), given)

    def _require(
        self, statement: Statement, key: str, reference: Any, given: Mapping[Any, Node]
    ) -> None:
        """Add a requirement of which the parts are given."""
        source = self.source
        if source.text(given.get("must"), "must") is None:
            example = 'must: "grid.import[t] <= 80 kW"'
            raise FormError(f"the requirement {key} demands nothing", 0, example)
        over = source.text(given.get("for"), "for")
        names = [name for name in ("must", "where", "penalty") if name in given]
        texts = {name: self._term(given[name], f"{key}.{name}") for name in names}
        must, weight = texts["must"], texts.get("penalty")
        if must is None or None in texts.values():
            return
        if over is None and "[t]" in must:
            over = "t in T"
            tree = tree_of(must)
            reduced = (n for n in (walk(tree) if tree else ()) if isinstance(n, Reduce))
            if any("t" in binder.names for node in reduced for binder in node.binders):
                text = f"the index 't' is used twice: {key} holds for every t in T, as [t] says"
                wanted = "another index inside, as sum(grid.import[s]*dt(s) for s in T)"
                at = re.search(r"\bfor\s.*?\bt\b", str(source.text(given["must"], "must")))
                raise FormError(text, at.start() if at else 0, wanted, given["must"])
        self.places[key] = given["must"]
        forall = [over] if over else []
        if statement.representative:
            series = (
                f"{part.name}_{name}"
                for part in self.parts.values()
                for name in part.known.quantities
            )
            first = dict.fromkeys((*series, *statement.of_each()), "p")  # what each horizon has
            used = {ref.name for text in texts.values() if text for ref in references(text)}
            forall = ["p in P", *forall] if used & first.keys() else forall
            texts = {name: text and respelled(text, {}, first) for name, text in texts.items()}
            must, weight = str(texts["must"]), texts.get("penalty")
        statement.add_requirement(
            key,
            must,
            reference,
            where=texts.get("where"),
            forall=forall or None,
            hard=weight is None,
            penalty=weight and {"weight": weight, "form": "linear"},
        )

    def _term(self, node: Node, name: str) -> str | None:
        """Return an expression in the language; None after recording what is wrong with it."""
        text = self.source.text(node, name)
        with self.source.recording(node):
            if text is not None and not self.misread & set(re.findall(r"\w+(?=\.)", text)):
                self.terms[name] = translated(text, self.names, self.conventions)
                return self.terms[name].text
        return None

    def _goal(self, statement: Statement) -> None:
        source, node = self.source, self.top.get("goal")
        given = source.entries(node, "the goal", ("minimize", "maximize", "unit"))
        if "minimize" in given and "maximize" in given:
            two = given["maximize"]
            raise FormError("a goal is minimized or maximized", 0, "one of the two", node=two)
        sense = next((k for k in ("minimize", "maximize") if k in given), None)
        if node is None or sense is None:
            if not source.errors or node is None:
                raise FormError("there is no goal", 0, "goal: {minimize: cost}", found="none")
            return
        aim = given[sense]
        written = source.text(aim, "the goal")
        unit, expression = source.text(given.get("unit"), "the unit") or self.currency, written
        try:
            parse_unit(unit)
        except EngiagentError as error:
            source.fault(given["unit"], str(error), "a unit such as kWh")
        if written not in (COST, PROFIT):
            if statement.representative:
                said = "the goal over representative horizons is that of a year"
                raise FormError(said, 0, f"minimize: {COST}, or maximize: {PROFIT}", node=aim)
            expression = self._term(aim, "objective")
            beside = costs_beside(expression or "", sense)
            if beside is not None:
                statement.also, expression = beside, COST if sense == "minimize" else PROFIT
                del self.terms["objective"]  # what is wrong with it stands at the goal
            elif {COST, PROFIT} & names_in(expression):
                said = f"{COST} and {PROFIT} are all costs at once, a term of a goal that is a sum"
                raise FormError(said, 0, f"minimize: {COST} + 12 EUR/kW * …", node=aim)
        elif (written == PROFIT) != (sense == "maximize"):
            right = "maximized" if written == PROFIT else "minimized"
            raise FormError(f"{written} is to be {right}", node=aim)
        self.places["objective"] = aim
        statement.set_goal(sense, expression or "0", unit, source.reference(node))
        statement.needs_cost = True

    def _weight(self, statement: Statement, horizon: Horizon) -> None:
        """Add how many such horizons make a year, or how many of each representative one."""
        content: dict[str, Any] = {}
        if horizon.weight is not None:
            source: Any = self.source.reference(horizon.weight)
            expected = "how many such horizons make a year, as 365"
            content["value"] = self._count(horizon.weight, expected)
        else:
            expected = "how many of it make a year, as 26"
            numbers = {str(k): self._count(node, expected) for k, node in horizon.weights.items()}
            source = [self.source.reference(node) for node in horizon.weights.values()]
            statement.representative = "P"
            statement.sets.append({"name": "P", "kind": "scenario", "elements": list(numbers)})
            content |= {"index": ["P"], "value": numbers}
        statement.weight = statement.add_parameter(WEIGHT, "1", source, **content)

    def _count(self, node: Node, expected: str) -> float:
        """Return how many of a horizon make a year."""
        match pieces(node.value.strip(), self.conventions) if node.is_text else []:
            case [Quantity(number=number, unit=None)] if number > 0:
                return number
        raise FormError("no weight", 0, expected, node=node)

    def _baseline(self, statement: Statement) -> None:
        """Note the rule of the baseline, or the components that it does without."""
        source, top = self.source, self.top.get("baseline")
        if top is None:
            return
        given = source.entries(top, "the baseline", ("without", "rule"))
        about = "the baseline, solved beside the plan"
        statement.unused += source.aside(source.reference(top), about)
        if "rule" not in given:
            statement.without = self._without(top, given.get("without"))
        elif "without" in given:
            source.fault(given["rule"], "a baseline has a rule or leaves out units", "one of both")
        else:
            statement.rule = source.text(given["rule"], "the rule")

    def _without(self, top: Node, node: Node | None) -> list[str]:
        """Return the components that the baseline does without."""
        source = self.source
        listed = node.value if node is not None and isinstance(node.value, list) else [node]
        names = [child.value.strip() for child in listed if child is not None and child.is_text]
        if not names or len(names) < len(listed):
            source.fault(node or top, "the baseline leaves out nothing", "without: [battery]")
        for child in listed if names else ():
            if child is not None and child.is_text:
                self._check_named(child, child.value.strip())
        return names

    def _case(self, filler: Filler, key: Any, node: Node) -> None:
        source, statement = self.source, filler.statement
        patch = []
        for name, value in source.entries(node, f"case {key}").items():
            owner, _, slot = name.partition(".")
            part = self.parts.get(owner)
            if part is None or slot not in part.known.slots:
                known = [f"{p.name}.{s}" for p in self.parts.values() for s in p.known.slots]
                said = f"case {key}: there is no slot {str(name)!r}"
                source.fault(name.node, said, nearest(name, known))
            elif not value.is_text or "#" in value.value:
                source.fault(
                    value, "a case changes one number", "a quantity", found="another value"
                )
            else:
                patch += filler.patched(part, slot, value)
        about = "a case, solved beside the plan"
        statement.unused += source.aside(self._whole(key.node, node), about)
        statement.cases.append({"name": str(key), "patch": patch})

    # -- the language's own findings --------------------------------------------------------------

    def _checked(self, statement: Statement) -> Blueprint:
        """Return the blueprint; what the language finds wrong in it is located in the block."""
        try:
            blueprint = statement.blueprint()
            analysis = analyse(expand(blueprint), self.source.problem.folder)
            found = analysis.errors
        except BlueprintError as error:
            found = error.diagnostics
        except InputError as error:
            raise PlantError([self._of_component(error)]) from None
        if found:
            raise PlantError(list({str(e): e for e in map(self._located, found)}.values()))
        if analysis.elaboration is not None:
            self._refuse_range(statement, analysis.elaboration)
        if analysis.elaboration is None or statement.representative is not None:
            return blueprint
        directed = one_way(blueprint, analysis.elaboration)
        if directed != blueprint:
            said = "a price pays for both directions at once: grids and stores go one way at a time"
            self.source.notes.append(said)
        return directed

    def _refuse_range(self, statement: Statement, elaboration: Elaboration) -> None:
        """Refuse slots whose computed values, in the unit of the slot, are out of its range."""
        computed = {p["name"] for p in statement.parameters if isinstance(p.get("value"), str)}
        for part in self.parts.values():
            for slot, name in part.parameters.items():
                known = part.known.slots[slot].in_currency(self.currency)
                values = elaboration.table(name).values.flat if name in computed else ()
                # What differs from an end by rounding, as 0.1 + 0.2 - 0.3 from 0, is not out of it.
                out = (v for v in map(float, values) if not known.allows(v))
                odd = next((v for v in out if not known.allows(round(v, 9))), None)
                if odd is not None:
                    said = f"{part.name}.{slot}: the value is {odd:g} {known.unit}, out of range"
                    self.source.fault(part.slots[slot], said, known.range)
        if self.source.errors:
            raise PlantError(self.source.errors)

    def _of_component(self, error: InputError) -> InputError:
        match = _COMPONENT.match(error.message)
        node = self.places.get("objective", self.root)
        if match is not None and match[1] in self.parts:
            part = self.parts[match[1]]
            node = part.node.value.get(match[2], part.key)
        return self._moved(error, node)

    def _moved(self, error: InputError, node: Node) -> InputError:
        """Return an error at a node."""
        return self.source.error(node, str(error.message), error.expected, found=error.found)

    def _located(self, finding: Diagnostic) -> InputError:
        """Return a finding about the blueprint as an error about the line that it comes from."""
        name = finding.name or ""
        objective = "objective_function" in finding.path
        kind = "where" if finding.path.endswith("where") else "must"
        node = self.places.get("objective" if objective else name)
        term = self.terms.get("objective" if objective else f"{name}.{kind}")
        if node is None:
            owners = [k for k in self.parts if name == k or name.startswith(f"{k}_")]
            node = self.parts[max(owners, key=len)].key if owners else self.root
        at = 0
        if term is not None and finding.column is not None:
            at = term.origin(finding.column)
        said = f"{name}: {finding.message}" if name else finding.message
        return self.source.error(node, said, finding.suggestion, at=at)

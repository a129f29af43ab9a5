"""From a plant block to a blueprint: what each key of it means, and every error at its place."""

import re
from collections.abc import Mapping
from typing import Any, Final

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic
from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.components import MODELS
from engiagent.formulations.expansion import expand
from engiagent.plant.horizon import RULES, Files, read_horizon
from engiagent.plant.slots import YES_NO, Filler, Part, columns_in
from engiagent.plant.source import PlantError, Source, entries, find_source, nearest, text_of
from engiagent.plant.statement import BUS, COST, PROFIT, Statement
from engiagent.plant.values import Quantity, Term, ValueFormError, literal, pieces, translated
from engiagent.readings import Reading
from engiagent.text import Problem
from engiagent.text.frontmatter import Node
from engiagent.units.unit import convert, parse_unit
from engiagent.units.words import Conventions, conventions_of

KEYS: Final = ("title", "currency", "horizon", "components", "requirements", "goal", "cases")
REQUIREMENT: Final = ("for", "where", "must", "penalty")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_COMPONENT: Final = re.compile(r"component (\w+) \(\w+\): (?:the parameter )?(\w*)")


def read_plant(problem: Problem, overrides: Mapping[str, str] | None = None) -> Reading | None:
    """Return what the plant block of a problem states; None when it has none.

    Parameters
    ----------
    overrides
        Slots that the user sets, as ``{"battery.energy_capacity": "400 kWh"}``.
    """
    source = find_source(problem)
    if source is None:
        return None
    try:
        root = source.root()
    except InputError as error:
        if "flow" in error.message or "expected ',' or '}'" in error.message:
            error.expected = "quotation marks around a value with [unit] inside braces"
        raise PlantError([error]) from None
    if root is None:
        expected = "components, horizon and goal"
        empty = ("the plant block is empty", source.file, source.first_line, 1)
        raise PlantError([InputError(*empty, expected=expected)])
    return _Plant(source, root, dict(overrides or {})).read()


class _Plant:
    """One plant block while it is read."""

    def __init__(self, source: Source, root: Node, overrides: dict[str, str]) -> None:
        self.source, self.root, self.overrides = source, root, overrides
        self.stated = frozenset(overrides)
        stated = root.value if isinstance(root.value, dict) else {}
        known = (*KEYS, "baseline") if "baseline" in stated else KEYS
        self.top = entries(source, root, "the plant block", known)
        if "baseline" in self.top:
            case = "a case under 'cases', as {no_battery: {battery.energy_capacity: 0 kWh}}"
            key = next(key for key in self.top if key == "baseline")
            source.fault(key.node, "a baseline cannot be solved yet", case)
        self.currency = self._currency()
        self.conventions = Conventions(currency=self.currency)
        self.places: dict[str, Node] = {}
        self.terms: dict[str, Term] = {}

    def read(self) -> Reading:
        source = self.source
        parts = self._parts()
        horizon_node = self.top.get("horizon")
        zone = self._zone(horizon_node)
        files = Files(source, zone)
        used = [
            c.file
            for part in parts.values()
            for node in part.slots.values()
            for c in columns_in(node, self.conventions)
        ]
        horizon = read_horizon(source, horizon_node, files, used)
        if horizon is None:
            raise PlantError(source.errors)
        title = text_of(source, self.top.get("title"), "the title")
        statement = Statement(title or source.problem.title, horizon.entry, self.currency)
        statement.unused = source.silent()
        about = (source, files, horizon, statement, self.conventions)
        filler = Filler(*about, self.places, self.stated)
        for part in parts.values():
            self._fill(filler, part)
        self._connect(parts)
        for part in parts.values():
            statement.add_component(
                part.name,
                part.model,
                self._whole(part.key, part.node),
                parameters=part.parameters,
                connections=part.connections,
                options=part.options,
            )
        names = {part.name: _names_of(part) for part in parts.values()}
        self._requirements(statement, names)
        self._goal(statement, names)
        self._cases(statement, parts)
        for name in self.overrides:
            said = f"--set {name}: there is no such slot"
            source.errors.append(InputError(said, expected=nearest(name, _slots(parts))))
        if source.errors:
            raise PlantError(source.errors)
        return Reading(self._checked(statement), notes=tuple(source.notes))

    def _currency(self) -> str:
        node = self.top.get("currency")
        stated = text_of(self.source, node, "the currency")
        found = stated or conventions_of(self.source.yaml).currency or "EUR"
        if node is not None and not re.fullmatch(r"[A-Z]{3}", found):
            self.source.fault(node, "no currency", "three letters, as EUR")
            return "EUR"
        return found

    def _zone(self, horizon: Node | None) -> str | None:
        if horizon is None or not isinstance(horizon.value, dict):
            return None
        node = horizon.value.get("zone")
        return str(node.value).strip() if node is not None and node.is_text else None

    def _named(self, key: Any, what: str) -> bool:
        """Whether a key is a name; one that is none is recorded."""
        if _NAME.fullmatch(key):
            return True
        self.source.fault(key.node, f"no name of {what}", "a letter, then letters, digits, _")
        return False

    def _whole(self, key: Node, value: Node) -> Any:
        return self.source.reference(Node(None, key.line, key.column, key.start, value.end))

    # -- components -------------------------------------------------------------------------------

    def _parts(self) -> dict[str, Part]:
        """Return the components with the nodes of their slots; none of the values is read yet."""
        source, result = self.source, {}
        listed = self.top.get("components")
        if listed is None:
            expected = "components: {name: {model: …}}"
            source.fault(self.root, "there are no components", expected, found="none")
        for key, node in entries(source, listed, "components").items():
            given = entries(source, node, f"component {key}")
            if not self._named(key, "a component"):
                continue
            model = text_of(source, given.get("model"), "the model")
            if model is None or model not in MODELS:
                where = given.get("model", key.node)
                what = "the component has no model" if model is None else "unknown model"
                source.fault(where, what, nearest(model or "", MODELS))
                continue
            known = MODELS[model]
            part = Part(key, key.node, node, model, known, {}, given.get("align"))
            for name, value in given.items():
                self._sort(part, name, value)
            for setting in [s for s in self.overrides if s.startswith(f"{key}.")]:
                slot = setting.removeprefix(f"{key}.")
                if slot in known.slots:
                    text, place = self.overrides.pop(setting), key.node
                    part.slots[slot] = Node(text, place.line, place.column)
            for slot, description in known.slots.items():
                if description.required and slot not in part.slots:
                    unit = description.unit
                    expected = "a number" if unit == "1" else f"a value in {unit}"
                    source.fault(key.node, f"{key} ({model}): {slot} is not given", expected)
            result[str(key)] = part
        return result

    def _sort(self, part: Part, name: Any, value: Node) -> None:
        """Put an entry of a component where it belongs: a slot, an option, a connection."""
        known = part.known
        if name in known.connections:
            part.connections[str(name)] = self._plain(value)
        elif name in known.options:
            part.options[str(name)] = self._plain(value)
        elif name in known.slots:
            part.slots[str(name)] = value
        elif name == "align":
            if value.value not in RULES:
                expected = nearest(str(value.value), RULES)
                self.source.fault(value, "unknown rule of alignment", expected)
        elif name != "model":
            names = (*known.slots, *known.options, *known.connections, "align")
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
        except ValueFormError:
            return text
        if len(found) != 1 or not isinstance(found[0], Quantity):
            return text
        number = found[0].number
        plain = int(number) if number.is_integer() and "." not in text else number
        return plain if found[0].unit is None else literal(found[0])

    def _fill(self, filler: Filler, part: Part) -> None:
        for slot, node in part.slots.items():
            filler.fill(part, slot, node)
        wholes = [p for p in filler.statement.parameters if isinstance(p.get("value"), str)]
        for entry in wholes:  # a share may be written before what it is a share of
            filler.statement.parameters.remove(entry)
            filler.statement.parameters.append(entry)

    def _connect(self, parts: Mapping[str, Part]) -> None:
        """Put components on the one bus of electricity where none is named."""
        on = [part for part in parts.values() if "bus" in part.known.connections]
        stated = {str(p.connections["bus"]) for p in on if "bus" in p.connections}
        for part in on:
            if part.connections.get("bus") in ("none", None) and "bus" in part.connections:
                del part.connections["bus"]
            elif "bus" not in part.connections and stated - {"none"}:
                expected = f"bus: {' or '.join(sorted(stated))}"
                self.source.fault(part.key, f"{part.name} names no bus, others do", expected)
            else:
                part.connections.setdefault("bus", BUS)
        self._known_targets(parts)

    def _known_targets(self, parts: Mapping[str, Part]) -> None:
        """Refuse a zone, a grid or a neighbour that is no component."""
        for part in parts.values():
            for name in ("zone", "grid", "air_handler"):
                target = part.connections.get(name)
                if isinstance(target, str) and target not in parts:
                    said = f"{part.name}: there is no component {target!r}"
                    self.source.fault(part.node.value[name], said, nearest(target, parts))
        buses: dict[str, list[tuple[Part, str]]] = {}
        for part in parts.values():
            for port in ("bus", "heat_bus", "cooling_bus", "fuel_bus"):
                if port in part.connections:
                    buses.setdefault(str(part.connections[port]), []).append((part, port))
            own = part.connections.get("buses")
            for bus in own if isinstance(own, Mapping) else ():
                buses.setdefault(str(bus), []).extend([(part, "")] * 2)
        for bus, members in buses.items():
            if len(members) == 1 and len(parts) > 1:
                part, port = members[0]
                node = part.node.value.get(port, part.key)
                others = [b for b, m in buses.items() if len(m) > 1]
                expected = nearest(bus, others) if others else "a bus with others on it"
                self.source.fault(node, f"{part.name} is alone on the bus {bus!r}", expected)

    # -- requirements, goal, cases ----------------------------------------------------------------

    def _requirements(self, statement: Statement, names: Mapping[str, Mapping[str, str]]) -> None:
        source = self.source
        for key, node in entries(source, self.top.get("requirements"), "requirements").items():
            if not self._named(key, "a requirement"):
                continue
            given: Mapping[Any, Node] = {"must": node}
            if not node.is_text:
                given = entries(source, node, f"the requirement {key}", REQUIREMENT)
            must = text_of(source, given.get("must"), "must")
            if must is None:
                example = 'must: "grid.import[t] <= 80 kW"'
                source.fault(key.node, f"the requirement {key} demands nothing", example)
                continue
            over = text_of(source, given.get("for"), "for")
            terms = {
                name: self._term(given[name], f"{key}.{name}", names)
                for name in ("must", "where", "penalty")
                if name in given
            }
            if any(term is None for term in terms.values()):
                continue
            texts = {name: term.text for name, term in terms.items() if term is not None}
            if over is None and "[t]" in texts["must"]:
                over = "t in T"
            self.places[str(key)] = given["must"]
            weight = texts.get("penalty")
            statement.add_requirement(
                str(key),
                texts["must"],
                self._whole(key.node, node),
                where=texts.get("where"),
                forall=[over] if over else None,
                hard=weight is None,
                penalty=weight and {"weight": weight, "form": "linear"},
            )

    def _term(self, node: Node, name: str, names: Mapping[str, Mapping[str, str]]) -> Term | None:
        text = text_of(self.source, node, name)
        if text is None:
            return None
        try:
            term = translated(text, names, self.conventions)
        except ValueFormError as fault:
            self.source.fault(node, fault.message, fault.expected, at=fault.at)
            return None
        self.terms[name] = term
        return term

    def _goal(self, statement: Statement, names: Mapping[str, Mapping[str, str]]) -> None:
        source, node = self.source, self.top.get("goal")
        given = entries(source, node, "the goal", ("minimize", "maximize", "unit"))
        sense = next((k for k in ("minimize", "maximize") if k in given), None)
        if sense is None:
            place = node or self.root
            if not source.errors or node is None:
                source.fault(place, "there is no goal", "goal: {minimize: cost}", found="none")
            return
        if "minimize" in given and "maximize" in given:
            source.fault(given["maximize"], "a goal is minimized or maximized", "one of the two")
        assert node is not None
        written = text_of(source, given[sense], "the goal")
        unit, expression = self.currency, written
        if "unit" in given:
            try:
                parse_unit(unit := str(text_of(source, given["unit"], "the unit")))
            except EngiagentError as error:
                source.fault(given["unit"], str(error), "a unit such as kWh")
        if written not in (COST, PROFIT):
            term = self._term(given[sense], "objective", names)
            expression = None if term is None else term.text
        elif (written == PROFIT) != (sense == "maximize"):
            right = "maximized" if written == PROFIT else "minimized"
            source.fault(given[sense], f"{written} is to be {right}")
        self.places["objective"] = given[sense]
        statement.goal = {
            "name": "objective",
            "sense": sense,
            "expression": expression or "0",
            "unit": unit,
            "source_reference": source.reference(node),
            "stated": True,
        }

    def _cases(self, statement: Statement, parts: Mapping[str, Part]) -> None:
        source = self.source
        for key, node in entries(source, self.top.get("cases"), "cases").items():
            patch = []
            for name, value in entries(source, node, f"case {key}").items():
                owner, _, slot = name.partition(".")
                part = parts.get(owner)
                if part is None or slot not in part.known.slots:
                    said = f"case {key}: there is no slot {str(name)!r}"
                    source.fault(name.node, said, nearest(name, _slots(parts)))
                    continue
                patch.append(self._patched(statement, part, slot, value))
            whole = self._whole(key.node, node)
            if source.in_text:
                reason = "a case, solved beside the plan"
                place = {"span": whole["span"], "quote": whole["quote"], "reason": reason}
                statement.unused.append(place)
            statement.cases.append({"name": str(key), "patch": [p for p in patch if p]})

    def _patched(
        self, statement: Statement, part: Part, slot: str, node: Node
    ) -> dict[str, Any] | None:
        """Return the operation that gives a slot one other value."""
        trial = Statement("", statement.time, self.currency)
        filler = Filler(self.source, Files(self.source, None), None, trial, self.conventions)  # type: ignore[arg-type]
        what = Part(part.name, part.key, part.node, part.model, part.known, part.slots)
        if (node.is_text and "#" in node.value) or not node.is_text:
            said = "a case changes one number"
            self.source.fault(node, said, "a quantity", found="another value")
            return None
        filler.fill(what, slot, node)
        if slot not in what.parameters:
            return None
        entry = trial.parameters[-1] if trial.parameters else None
        for place, known in enumerate(statement.parameters):
            if entry is not None and known["name"] == entry["name"] and "value" in known:
                value = entry["value"]
                if isinstance(value, float):
                    value = convert(value, parse_unit(entry["unit"]), parse_unit(known["unit"]))
                path = f"/core_model_elements/parameters/{place}/value"
                return {"op": "replace", "path": path, "value": value}
        place = [c["name"] for c in statement.components].index(part.name)
        value = what.parameters[slot] if entry is None else entry["value"]
        if entry is not None and isinstance(value, float):
            value = literal(Quantity(value, parse_unit(entry["unit"])))
        path = f"/core_model_elements/components/{place}/parameters/{slot}"
        return {"op": "add", "path": path, "value": value}

    # -- the language's own findings --------------------------------------------------------------

    def _checked(self, statement: Statement) -> Blueprint:
        """Return the blueprint; what the language finds wrong in it is located in the block."""
        try:
            blueprint = statement.blueprint()
            found = analyse(expand(blueprint), self.source.problem.folder).errors
        except BlueprintError as error:
            found = error.diagnostics
        except InputError as error:
            raise PlantError([self._of_component(error)]) from None
        if found:
            raise PlantError(list({str(e): e for e in map(self._located, found)}.values()))
        return blueprint

    def _of_component(self, error: InputError) -> InputError:
        match = _COMPONENT.match(error.message)
        listed = self.top.get("components")
        if match is None or listed is None or match[1] not in listed.value:
            node = self.places.get("objective", self.root)
        else:
            owner = listed.value[match[1]]
            key = next(k for k in listed.value if k == match[1])
            node = owner.value.get(match[2], key.node)
        return InputError(
            error.message, self.source.file, node.line, node.column, error.found, error.expected
        )

    def _located(self, finding: Diagnostic) -> InputError:
        """Return a finding about the blueprint as an error about the line that it comes from."""
        name = finding.name or ""
        objective = "objective_function" in finding.path
        kind = "where" if finding.path.endswith("where") else "must"
        node = self.places.get("objective" if objective else name)
        term = self.terms.get("objective" if objective else f"{name}.{kind}")
        if node is None:
            listed = entries(self.source, self.top.get("components"), "components")
            owners = [k for k in listed if name == k or name.startswith(f"{k}_")]
            node = max(owners, key=len).node if owners else self.root
        column = node.column
        if term is not None and finding.column is not None:
            column += self.source._shift(node, term.origin(finding.column))
        said = f"{name}: {finding.message}" if name else finding.message
        expected = finding.suggestion
        return InputError(said, self.source.file, node.line, column, expected=expected)


def _names_of(part: Part) -> dict[str, str]:
    """Return what a component's quantities are called in the blueprint, and its slots."""
    slots = {slot: value for slot, value in part.parameters.items() if isinstance(value, str)}
    series = {name: f"{part.name}_{name}" for name in part.known.quantities}
    return {**slots, **series}


def _slots(parts: Mapping[str, Part]) -> list[str]:
    return [f"{part.name}.{slot}" for part in parts.values() for slot in part.known.slots]

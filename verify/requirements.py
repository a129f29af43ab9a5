"""Requirements annotated from the text alone: ``requirements.yaml``."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elements import Core
from engiagent.errors import InputError
from engiagent.io.plainyaml import load_tree, plain

SCHEMA: Final = "engiagent-requirements/1"
MAX_BYTES: Final = 5_000_000
SCHEMES: Final = ("exact", "euler", "implicit", "linear")


@dataclass(frozen=True)
class Dynamics:
    """A physical unit whose behaviour the problem declares."""

    name: str
    model: str
    index: str | None
    scheme: str | None  # one of ``SCHEMES``; None when the problem declares none
    parameters: Mapping[str, Any]  # expressions or numbers by the names of the unit's model
    connections: Mapping[str, Any]
    element: "Element | None" = None  # which of several alike it is; None for a unit of its own


@dataclass(frozen=True)
class Element:
    """Which of the units it is that a component stands for, one for each element of some sets."""

    component: str  # the name that all of them share
    labels: Mapping[str, str]  # its element by set, in the order of the component's index
    scenario: tuple[str, ...]  # the elements of scenario sets among them; a bus is balanced in each


def shared_name(name: str, element: Element) -> str:
    """Return the quantity of all units that one of them has its slice of."""
    return name.replace(f"[{','.join(element.labels.values())}]", "", 1)


@dataclass(frozen=True)
class Rule:
    """A comparison that has to hold on every row: a requirement of the text, or a constraint."""

    id: str
    expression: str
    name: str | None = None
    quote: str | None = None
    forall: tuple[str, ...] = ()
    where: str | None = None
    tolerance: str | None = None
    hard: bool = True


@dataclass(frozen=True)
class Goal:
    """The objective of the text."""

    sense: str
    expression: str
    unit: str | None = None
    quote: str | None = None


Whole = Literal["integer", "binary"]


@dataclass(frozen=True)
class Counted:
    """A quantity that takes whole numbers only."""

    name: str
    type: Whole
    quote: str | None = None


@dataclass(frozen=True)
class Requirements:
    """A requirements file."""

    file: str
    core: Core
    dynamics: tuple[Dynamics, ...]
    requirements: tuple[Rule, ...]
    objective: Goal | None
    sha256: str
    counted: tuple[Counted, ...] = ()  # quantities that count things, or say yes or no


def load_requirements(path: Path) -> Requirements:
    """Read a requirements file."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"a requirements file has at most {MAX_BYTES} bytes", path.name)
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"cannot be read: {reason}", path.name) from None
    return parse_requirements(text, path.name)


def parse_requirements(text: str, file: str = "requirements.yaml") -> Requirements:
    """Read requirements from their YAML text; see :func:`load_requirements`."""
    tree = load_tree(text, file)
    reader = _Reader(file)
    top = reader.mapping(tree, "the file", *_TOP)
    if top.get("schema") != SCHEMA:
        raise InputError(
            "a wrong schema", file, 1, found=repr(top.get("schema")), expected=repr(SCHEMA)
        )
    core = _core(plain(top.get("sets", [])), plain(top.get("parameters", [])), file)
    dynamics = tuple(reader.dynamics(item) for item in reader.items(top, "dynamics"))
    requirements = tuple(reader.requirement(item) for item in reader.items(top, "requirements"))
    identifiers = [r.id for r in requirements]
    twice = next((i for i in identifiers if identifiers.count(i) > 1), None)
    if twice is not None:
        raise InputError("two requirements have one id", file, found=repr(twice))
    goal = reader.goal(top["objective"]) if top.get("objective") is not None else None
    digest = hashlib.sha256(text.encode()).hexdigest()
    counted = tuple(reader.counted(item) for item in reader.items(top, "quantities"))
    return Requirements(file, core, dynamics, requirements, goal, digest, counted)


def _core(sets: Any, parameters: Any, file: str) -> Core:
    """Validate sets and parameters by the schema of blueprints, whose form they have."""
    document = {
        "schema": "engiagent-blueprint/1",
        "kind": "programme",
        "modeling_context": {"problem_essence": "requirements"},
        "core_model_elements": {
            "sets": sets,
            "parameters": parameters,
            "decision_variables": [],
            "constraints": [],
        },
    }
    return Blueprint.from_dict(document, file).core


_TOP = ("schema", "sets", "parameters", "quantities", "dynamics", "requirements", "objective")


class _Reader:
    """Turns YAML nodes into records; every error has the line of its node."""

    def __init__(self, file: str) -> None:
        self.file = file

    def fault(
        self, message: str, node: Any, key: Any, found: Any = None, expected: str | None = None
    ) -> InputError:
        """Return the error that points at a key of a mapping."""
        line, column = _mark(node, key)
        shown = None if found is None else repr(found)
        return InputError(message, self.file, line, column, shown, expected)

    def mapping(self, node: Any, what: str, *known: str) -> Mapping[str, Any]:
        if not isinstance(node, Mapping):
            raise InputError(f"{what} is no mapping", self.file, found=type(node).__name__)
        odd = next((key for key in node if key not in known), None)
        if odd is not None:
            expected = f"one of {', '.join(known)}"
            raise self.fault(f"unknown key in {what}", node, odd, odd, expected)
        return node

    def items(self, top: Mapping[str, Any], key: str) -> list[Any]:
        value = top.get(key) or []
        if not isinstance(value, list):
            raise self.fault(f"{key} is no list", top, key)
        return value

    def text(self, node: Mapping[str, Any], key: str, what: str) -> str:
        value = node.get(key)
        if value is None or isinstance(value, Mapping | list):
            raise self.fault(f"{what} has no {key}", node, key if key in node else None)
        return str(value)

    def choice(self, node: Mapping[str, Any], key: str, of: str, allowed: Collection[str]) -> str:
        """Return a text that is one of a few."""
        value = self.text(node, key, of)
        if value not in allowed:
            owner = "" if of == "the objective" else f" of {of.removeprefix('the quantity ')}"
            expected = " or ".join(allowed) if len(allowed) == 2 else f"one of {', '.join(allowed)}"
            raise self.fault(f"an unknown {key}{owner}", node, key, value, expected)
        return value

    def dynamics(self, item: Any) -> Dynamics:
        known = ("name", "model", "index", "scheme", "parameters", "connections", "quote")
        node = self.mapping(item, "a dynamics entry", *known)
        name = self.text(node, "name", "a dynamics entry")
        return Dynamics(
            name,
            self.text(node, "model", f"the unit {name}"),
            _optional(node, "index"),
            None if node.get("scheme") is None else self.choice(node, "scheme", name, SCHEMES),
            plain(node.get("parameters") or {}),
            plain(node.get("connections") or {}),
        )

    def counted(self, item: Any) -> Counted:
        node = self.mapping(item, "a quantity", "name", "type", "quote")
        name = self.text(node, "name", "a quantity")
        kind = self.choice(node, "type", f"the quantity {name}", get_args(Whole))
        return Counted(name, cast(Whole, kind), _optional(node, "quote"))

    def requirement(self, item: Any) -> Rule:
        known = ("id", "name", "quote", "forall", "where", "expression", "tolerance")
        node = self.mapping(item, "a requirement", *known)
        identifier = self.text(node, "id", "a requirement")
        binders = node.get("forall") or []
        name, quote, where, tolerance = (
            _optional(node, key) for key in ("name", "quote", "where", "tolerance")
        )
        forall = tuple(map(str, [binders] if isinstance(binders, str) else binders))
        expression = self.text(node, "expression", f"the requirement {identifier}")
        return Rule(identifier, expression, name, quote, forall, where, tolerance)

    def goal(self, item: Any) -> Goal:
        what = "the objective"
        node = self.mapping(item, what, "sense", "unit", "expression", "quote", "name")
        sense = self.choice(node, "sense", what, ("minimize", "maximize"))
        expression = self.text(node, "expression", what)
        return Goal(sense, expression, _optional(node, "unit"), _optional(node, "quote"))


def _optional(node: Mapping[str, Any], key: str) -> str | None:
    return None if node.get(key) is None else str(node[key])


def _mark(node: Any, key: Any) -> tuple[int | None, int | None]:
    """Return line and column of a key, or of its mapping, counted from 1."""
    place = getattr(node, "lc", None)
    if place is None:
        return None, None
    try:
        line, column = place.key(key) if key is not None else (place.line, place.col)
    except (KeyError, TypeError):
        line, column = place.line, place.col
    return line + 1, column + 1


def squeezed(text: str) -> str:
    """Return a text with every run of white space as one blank."""
    return " ".join(text.split())


def quote_findings(requirements: Requirements, text: str) -> list[str]:
    """Return what is wrong with the quotes: each must stand in the text, white space aside."""
    body = squeezed(text)
    findings = []
    quotes = [(r.id, r.quote) for r in requirements.requirements]
    quotes += [(c.name, c.quote) for c in requirements.counted]
    if requirements.objective is not None:
        quotes.append(("objective", requirements.objective.quote))
    for name, quote in quotes:
        if quote is None:
            findings.append(f"requirement {name} quotes nothing")
        elif squeezed(quote) not in body:
            findings.append(f"requirement {name}: the text does not say {squeezed(quote)!r}")
    return findings

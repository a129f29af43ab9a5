"""The blueprint as an immutable typed document, and its way from and to JSON.

The classes mirror ``blueprint.schema.json`` field by field. A field that is absent in the JSON is
None or an empty tuple here and is left out again on writing, so that a canonical file survives
reading and writing byte for byte.
"""

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self, get_args, get_origin, get_type_hints

from engiagent.errors import InputError
from engiagent.io.jsontext import dumps_canonical, loads_strict
from engiagent.io.plainyaml import loads_yaml
from engiagent.io.shows import Shows

if TYPE_CHECKING:  # what the verbs return stands above the language
    import pandas as pd

    from engiagent.control import ClosedLoop
    from engiagent.explain import Explanation
    from engiagent.notebook.home import Home
    from engiagent.notebook.run import Run
    from engiagent.notebook.solution import Solution
    from engiagent.notebook.views import Equations, Findings
    from engiagent.study.outcome import Study
    from engiagent.verify.certificate import Certificate

SCHEMA: Final = "engiagent-blueprint/1"
MAX_BYTES: Final = 100_000_000
_YAML_MARK: Final = re.compile(rf"""(?m)^["']?schema["']?: *["']?{SCHEMA}""")

Json = Any
"""A JSON value with lists frozen to tuples and objects to :class:`FrozenMap`."""


class FrozenMap(Mapping[str, Json]):
    """An immutable JSON object that keeps its order."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Json]) -> None:
        self._items = {key: freeze(value) for key, value in items.items()}

    def __getitem__(self, key: str) -> Json:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(tuple(self._items.items()))

    def __repr__(self) -> str:
        return f"FrozenMap({self._items!r})"


def freeze(value: Any) -> Json:
    """Return a JSON value that nobody can change."""
    if isinstance(value, Mapping):
        return FrozenMap(value)
    if isinstance(value, list | tuple):
        return tuple(freeze(item) for item in value)
    return value


def thaw(value: Any) -> Any:
    """Return plain lists and dictionaries again."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, tuple):
        return [thaw(item) for item in value]
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    return {
        name: thaw(item)
        for name, always in _written(type(value))  # type: ignore[arg-type]
        if (item := getattr(value, name)) is not None and (item != () or always)
    }


@lru_cache(maxsize=64)
def _written(cls: Any) -> tuple[tuple[str, bool], ...]:
    """Return the fields of a dataclass that are written, and whether also when they are empty."""
    return tuple(
        (part.name, bool(part.metadata.get("always")))
        for part in fields(cls)
        if not part.name.startswith("_")
    )


def _always() -> Any:
    """Return a list field that is written even when it is empty."""
    return field(default=(), metadata={"always": True})


@dataclass(frozen=True, kw_only=True)
class Context:
    """What the problem is about."""

    problem_essence: str
    engineering_domain: str | None = None
    modeling_paradigm: str | None = None
    solution_scope: str | None = None


@dataclass(frozen=True, kw_only=True)
class SetDef:
    """An index set; which fields apply depends on ``kind``."""

    name: str
    kind: str
    symbol: str | None = None
    description: str | None = None
    start: str | int | None = None
    stop: int | None = None
    step: str | int | tuple[str, ...] | None = None
    periods: int | None = None
    zone: str | None = None
    cyclic: bool | None = None
    of: str | tuple[str, ...] | None = None
    elements: tuple[Json, ...] = ()
    probabilities: Json = None
    tree: tuple[tuple[str | int, ...], ...] = ()
    data: str | None = None
    binder: str | None = None
    where: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class UncertainDef:
    """By how much the values of a parameter may differ from those given, to either side.

    In a ``box`` each value may on its own; with a ``budget`` at most so many of them in full.
    """

    deviation: int | float | str
    set: Literal["box", "budget"]
    budget: int | float | None = None


@dataclass(frozen=True, kw_only=True)
class ParameterDef:
    """A number, or an array of numbers or labels, with its unit and its source."""

    param_id: str | None = None
    name: str
    symbol: str | None = None
    index: tuple[str, ...] = ()
    type: str | None = None
    value: Json = None
    data: str | None = None
    keys: tuple[str, ...] = ()
    status: Literal["missing"] | None = None
    unit: Json = None
    unit_override: Json = None
    uncertain: UncertainDef | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class VariableDef:
    """A decision variable over its binders."""

    name: str
    symbol: str | None = None
    index: tuple[str, ...] = ()
    where: str | None = None
    type: Literal["continuous", "integer", "binary", "semicontinuous"] = "continuous"
    lower: int | float | str | None = None
    upper: int | float | str | None = None
    initial: Json = None
    stage: int | str | None = None
    unit: str | None = None
    quantity: str | None = None
    role: Literal["decision", "state", "auxiliary"] | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class ComponentDef:
    """A physical unit by the name of its model."""

    name: str
    model: str
    index: str | tuple[str, ...] | None = None
    parameters: FrozenMap = field(default_factory=lambda: FrozenMap({}))
    connections: FrozenMap | None = None
    options: FrozenMap | None = None
    expanded: bool | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class ExpressionDef:
    """A named intermediate quantity."""

    name: str
    symbol: str | None = None
    index: tuple[str, ...] = ()
    where: str | None = None
    expression: str
    unit: str | None = None
    quantity: str | None = None
    description: str | None = None


@dataclass(frozen=True, kw_only=True)
class GoalDef:
    """One of several goals; its sense is the objective's where it names none."""

    name: str
    sense: Literal["minimize", "maximize"] | None = None
    expression: str
    unit: str | None = None
    weight: int | float | str | None = None
    tolerance: int | float | str | None = None
    limit: int | float | str | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class RiskDef:
    """How the values of an objective in several scenarios count together."""

    measure: Literal["expected", "worst", "cvar"]
    alpha: float | None = None


@dataclass(frozen=True, kw_only=True)
class PenaltyDef:
    """What a broken soft constraint costs per unit of slack, or per squared unit."""

    weight: int | float | str
    form: Literal["linear", "quadratic"] | None = None


@dataclass(frozen=True, kw_only=True)
class ObjectiveDef:
    """What is minimised or maximised: an expression, or several ``terms``."""

    name: str | None = None
    sense: Literal["minimize", "maximize"]
    expression: str | None = None
    unit: str | None = None
    scenario: str | None = None
    risk: RiskDef | None = None
    combination: Literal["single", "weighted", "lexicographic", "epsilon", "frontier"] | None = None
    terms: tuple[GoalDef, ...] = ()
    components: tuple[Json, ...] = ()
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class ConstraintDef:
    """A comparison, or a chain of two, for every element of its binders."""

    constraint_id: str
    name: str | None = None
    forall: tuple[str, ...] = ()
    where: str | None = None
    expression: str
    category: str | None = None
    hard: bool | None = None
    penalty: PenaltyDef | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class DefinitionDef:
    """A value that is computed, for every element of its binders."""

    name: str
    symbol: str | None = None
    index: tuple[str, ...] = ()
    expression: str
    unit: str | None = None
    quantity: str | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class EquationDef:
    """A differential equation: its rate holds within the periods that its index runs over."""

    name: str
    symbol: str | None = None
    index: tuple[str, ...]
    instants: str
    rate: str
    initial: int | float | str
    unit: str
    scheme: Literal["euler", "rk4", "exact"]
    step: str | None = None
    quantity: str | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class DrawDef:
    """Random numbers, one for every element of its binders, from a named generator and seed."""

    name: str
    symbol: str | None = None
    index: tuple[str, ...] = ()
    distribution: str
    arguments: FrozenMap
    unit: str | None = None
    generator: str
    seed: int
    sha256: str | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class ChoiceDef:
    """Something that is chosen: among listed values, or between two bounds."""

    name: str
    symbol: str | None = None
    values: tuple[int | float, ...] = ()
    lower: int | float | None = None
    upper: int | float | None = None
    points: int | None = None
    unit: str | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class DesignDef:
    """Choices on a grid, or at random in a box, and the merit by which the best is taken."""

    choices: tuple[ChoiceDef, ...]
    sense: Literal["minimize", "maximize"]
    merit: str
    unit: str | None = None
    where: str | None = None
    samples: int | None = None
    generator: str | None = None
    seed: int | None = None
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class ClaimDef:
    """A comparison that the answer asserts, with its tolerance."""

    claim_id: str
    name: str | None = None
    forall: tuple[str, ...] = ()
    where: str | None = None
    expression: str
    tolerance: int | float | str
    description: str | None = None
    source_reference: Json = None


@dataclass(frozen=True, kw_only=True)
class CaseDef:
    """A variant of the model: the JSON patch (RFC 6902) that makes it of the blueprint."""

    name: str
    description: str | None = None
    patch: tuple[Json, ...] = _always()


@dataclass(frozen=True, kw_only=True)
class SweepDef:
    """A parameter that takes several values, one after the other."""

    name: str
    parameter: str
    values: tuple[Json, ...]
    unit: str | None = None
    description: str | None = None


@dataclass(frozen=True, kw_only=True)
class ReportDef:
    """What is asked for besides the schedule."""

    expressions: tuple[str, ...] = ()
    duals: tuple[str, ...] = ()
    cases: tuple[CaseDef, ...] = ()
    sweeps: tuple[SweepDef, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Core:
    """The model itself."""

    description: str | None = None
    sets: tuple[SetDef, ...] = _always()
    parameters: tuple[ParameterDef, ...] = _always()
    decision_variables: tuple[VariableDef, ...] = _always()
    components: tuple[ComponentDef, ...] = ()
    expressions: tuple[ExpressionDef, ...] = ()
    objective_function: ObjectiveDef | None = None
    constraints: tuple[ConstraintDef, ...] = _always()
    draws: tuple[DrawDef, ...] = ()
    definitions: tuple[DefinitionDef, ...] = ()
    equations: tuple[EquationDef, ...] = ()
    design: DesignDef | None = None
    claims: tuple[ClaimDef, ...] = ()
    report: ReportDef | None = None


@dataclass(frozen=True, kw_only=True)
class Extended:
    """What stands beside the model: assumptions, uncertainty, trade-offs, unused numbers."""

    description: str | None = None
    key_assumptions: tuple[Json, ...] = ()
    uncertainty_sources: tuple[Json, ...] = ()
    trade_off_analysis: Json = None
    sensitivity_factors: tuple[Json, ...] = ()
    unused: tuple[Json, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False)
class Blueprint(Shows):
    """A whole blueprint, with what can be done with it.

    Nothing changes in place: an edit returns another blueprint. What needs more than the language
    (solvers, the checker, charts) is in :mod:`engiagent.notebook` and imported when it is called.
    """

    schema: str = SCHEMA
    kind: Literal["programme", "definitions"] = "programme"
    modeling_context: Context
    core_model_elements: Core
    extended_analysis_and_robustness: Extended | None = None
    _home: Any = field(default=None, compare=False)
    """The file that it was read from, or its :attr:`home`; neither written nor compared."""

    @property
    def core(self) -> Core:
        """The model itself, by its short name."""
        return self.core_model_elements

    @staticmethod
    def is_in(path: str | Path) -> bool:
        """Whether a file is a blueprint: by JSON, or as YAML that says of itself to be one."""
        place = Path(path)
        if place.suffix.lower() not in (".yaml", ".yml"):
            return place.suffix.lower() == ".json"
        try:
            with place.open(encoding="utf-8", errors="replace") as stream:
                return _YAML_MARK.search(stream.read(4096)) is not None
        except OSError:
            return False

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a blueprint file, JSON or YAML of the same form.

        Raises InputError when the file is unreadable, no JSON, or does not fit the schema.
        """
        place = Path(path)
        try:
            if place.stat().st_size > MAX_BYTES:
                raise InputError(f"a blueprint has at most {MAX_BYTES} bytes", str(path))
            text = place.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise InputError(f"cannot read the blueprint: {reason}", str(path)) from None
        if place.suffix.lower() in (".yaml", ".yml"):
            return replace(cls.from_dict(loads_yaml(text, place.name), place.name), _home=place)
        return replace(cls.from_json(text, file=place.name), _home=place)

    @classmethod
    def from_json(cls, text: str, file: str = "blueprint") -> Self:
        """Read a blueprint from its JSON text; errors name the JSON path."""
        data = loads_strict(text, file)
        _validate(data, file)
        result: Self = read_as(cls, data)
        return result

    @classmethod
    def from_dict(cls, data: Any, file: str = "blueprint") -> Self:
        """Read a blueprint from plain lists and dictionaries, validated against the schema."""
        path = _not_finite(data)
        if path is not None:
            place = f"{json_path(path)}{_name_of(data, path)}"
            raise InputError(f"{place}: a number that is not finite", file)
        _validate(data, file)
        result: Self = read_as(cls, data)
        return result

    def to_dict(self) -> dict[str, Any]:
        """Return the blueprint as plain lists and dictionaries, in the schema's order."""
        return dict(thaw(self))

    def to_json(self) -> str:
        """Return the canonical JSON text; reading it gives an equal blueprint."""
        return dumps_canonical(self.to_dict())

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the canonical text."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def with_core(self, **changes: Any) -> Self:
        """Return a copy in which fields of the core are replaced."""
        return replace(self, core_model_elements=replace(self.core, **changes))

    # -- verbs, each in the module of engiagent.notebook that it imports -----------------------

    @cached_property
    def home(self) -> "Home":
        """Its problem, where its data lie, what was not understood, and what was edited."""
        from engiagent.notebook.home import home_of

        return home_of(self._home)

    def at_home(self, home: "Home") -> Self:
        """Return the blueprint with where it comes from."""
        return replace(self, _home=home)

    @property
    def expanded(self) -> "Blueprint":
        """The blueprint with all that its components stand for written out."""
        from engiagent.notebook import blueprints

        return blueprints.expanded(self)

    def lint(self) -> "Findings":
        """Return what static analysis finds: names, shapes, units, unused data."""
        from engiagent.notebook import blueprints

        return blueprints.lint(self)

    def equations(self) -> "Equations":
        """Return objective and constraints as formulas that a notebook sets."""
        from engiagent.notebook.views import Equations

        return Equations(self)

    def diff(self, other: "Blueprint") -> "pd.DataFrame":
        """Return what is different in another blueprint."""
        from engiagent.notebook.difference import diff

        return diff(self, other)

    def to_pyomo(self) -> str:
        """Return a Pyomo script that solves the blueprint without engiagent."""
        from engiagent.notebook import blueprints

        return blueprints.to_pyomo(self)

    def to_latex(self) -> str:
        """Return a LaTeX document that says what the blueprint says."""
        from engiagent.notebook import blueprints

        return blueprints.to_latex(self)

    def _repr_latex_(self) -> str:
        return self.equations()._repr_latex_()

    def set(self, name: str, value: Any, unit: str | None = None) -> "Blueprint":
        """Return the blueprint with another value at a place.

        ``name``: a parameter, a component's slot as ``battery.energy_capacity``, or a bound as
        ``charge.upper``. ``value``: a number; for what has an index also numbers in order, or a
        mapping from labels; in ``unit``, by default that of the place.
        """
        from engiagent.notebook import blueprints

        return blueprints.with_value(self, name, value, unit)

    def patch(self, operations: Sequence[Mapping[str, Any]]) -> "Blueprint":
        """Return the blueprint changed by a JSON patch (RFC 6902), whole or not at all.

        A step into a list may be the name of the element, as in
        ``/core_model_elements/constraints/C1/expression``.
        """
        from engiagent.notebook import blueprints

        return blueprints.with_patch(self, operations)

    def solve(self, *, progress: bool = True, **options: Any) -> "Solution":
        """Solve in memory, the solver in a process of its own.

        ``options``: limits and settings, as ``time_limit=60`` [s], ``gap=0.01`` or
        ``backend="scip"``.
        """
        from engiagent.notebook import blueprints

        return blueprints.solve(self, options, progress=progress)

    def run(
        self,
        out: str | Path | None = None,
        *,
        force: bool = False,
        progress: bool = True,
        **options: Any,
    ) -> "Run":
        """Take the blueprint through every stage and store all of it in a folder."""
        from engiagent.notebook import blueprints

        return blueprints.run(self, out, options, force=force, progress=progress)

    def check(
        self, schedule: Any, mapping: Mapping[str, str] | None = None, *, exact: bool = False
    ) -> "Certificate":
        """Have an external schedule checked against the blueprint, as by ``Problem.check``."""
        from engiagent.notebook import blueprints

        return blueprints.check(self, schedule, mapping, exact=exact)

    def explain(self, *, seconds: float = 10.0, **options: Any) -> "Explanation":
        """Say why there is no plan, no best one, or just this one; solves for it."""
        return self.solve(progress=False, **options).explain(seconds=seconds)

    def sweep(self, *variations: str, **given: Any) -> "Study":
        """Solve over a grid of values, as ``"battery.energy_capacity=10..40:4[MWh]"``.

        ``given``: ``show`` (expressions to read from each plan), ``certify``, ``out`` (a folder
        that a sweep goes on from), ``progress``, and settings of the solver.
        """
        from engiagent.notebook.blueprints import study

        return study("sweep", self, variations, given)

    def pareto(self, *goals: str, **given: Any) -> "Study":
        """Return the front with further goals, as ``"peak=min:max(grid[t] for t in T)"``.

        ``given``: ``method``, ``points``, and what :meth:`sweep` takes.
        """
        from engiagent.notebook.blueprints import study

        return study("pareto", self, goals, given)

    def sensitivity(self, *factors: str, **given: Any) -> "Study":
        """Solve with each factor at both ends of its range, all others as they stand.

        ``factors``: as ``"price"`` or ``"battery.energy_capacity=10..30[MWh]"``; none for those
        that the blueprint declares, or else every parameter with a number of its own. ``given``:
        ``width`` (the relative range, 0.1), and what :meth:`sweep` takes.
        """
        from engiagent.notebook.blueprints import study

        return study("sensitivity", self, factors, given)

    def control(self, steps: int | None = None, **given: Any) -> "ClosedLoop":
        """Close the loop: plan, apply the first period, measure, plan again.

        ``steps``: how many periods are applied, by default as many as the data allow. ``given``:
        see :func:`engiagent.control.control`, and ``progress``.
        """
        from engiagent.notebook.blueprints import control

        return control(self, steps, given)


def read_as(cls: Any, data: Mapping[str, Any]) -> Any:
    """Build a dataclass from validated JSON; fields that are absent keep their defaults."""
    values = {}
    for name, hint in _hints(cls).items():
        if name in data:
            values[name] = _convert(hint, data[name])
    return cls(**values)


_hints = lru_cache(maxsize=64)(get_type_hints)


def _convert(hint: Any, value: Any) -> Any:
    if isinstance(hint, type) and is_dataclass(hint):
        return read_as(hint, value)
    options = get_args(hint)
    if get_origin(hint) is tuple and is_dataclass(options[0]):
        return tuple(read_as(options[0], item) for item in value)
    for option in options:
        if isinstance(option, type) and is_dataclass(option):
            return read_as(option, value)
    return freeze(value)


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of blueprints."""
    text = files("engiagent.blueprint").joinpath("blueprint.schema.json").read_text("utf-8")
    result: dict[str, Any] = loads_strict(text)
    return result


@lru_cache(maxsize=1)
def _validator() -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    # JSON Schema takes 24.0 for an integer; a number of periods is written 24.
    whole = Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    return extend(Draft202012Validator, type_checker=whole)(schema())  # type: ignore[no-untyped-call]


def _not_finite(value: Any) -> list[Any] | None:
    """Return the path of the first number that JSON has no word for, None where there is none."""
    if isinstance(value, float):
        return None if math.isfinite(value) else []
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, Mapping):
        items = value.items()
    elif isinstance(value, list | tuple):
        items = enumerate(value)
    for key, item in items:
        path = _not_finite(item)
        if path is not None:
            return [key, *path]
    return None


MOST_ERRORS = 12
"""Of a document against its schema that are named at once."""


def _validate(data: Any, file: str) -> None:
    errors = sorted(
        _validator().iter_errors(data), key=lambda e: [str(p).zfill(9) for p in e.absolute_path]
    )
    found = []
    for error in errors:
        while error.context:  # of an 'anyOf' the error that lies deepest
            error = max(error.context, key=lambda e: len(e.absolute_path))
        path = list(error.absolute_path)
        found.append(f"{json_path(path)}{_name_of(data, path)}: {_message(error)}")
    if found:
        more = [f"and {len(found) - MOST_ERRORS} more"] if len(found) > MOST_ERRORS else []
        raise InputError("\n".join([*dict.fromkeys(found[:MOST_ERRORS]), *more]), file)


_FORMS: Final = {
    "type": "'number', 'label' or 'element of S' for a set S",
    "quantity": "a dotted name, as battery.charge",
    "sha256": "64 hexadecimal digits",
}
"""What a field is to look like whose texts have a form of their own."""


def _message(error: Any) -> str:
    found = repr(error.instance)
    found = found if len(found) <= 60 else found[:57] + "..."
    wanted = error.validator_value
    match error.validator:
        case "additionalProperties":
            known = sorted(error.schema.get("properties", {}))
            extra = ", ".join(repr(key) for key in error.instance if key not in known)
            return f"unknown field {extra}; known are {', '.join(known)}"
        case "required":
            absent = ", ".join(repr(key) for key in wanted if key not in error.instance)
            return f"the field {absent} is missing"
        case "enum":
            return f"found {found}; expected one of {', '.join(map(repr, wanted))}"
        case "const":
            return f"found {found}; expected {wanted!r}"
        case "type":
            wanted = wanted if isinstance(wanted, str) else " or ".join(wanted)
            return f"found {found}; expected {wanted}"
        case "pattern":
            field = str(error.absolute_path[-1]) if error.absolute_path else ""
            return f"found {found}; expected {_FORMS.get(field, 'an identifier, as soc or P_max')}"
        case "maxLength":
            return f"too long: {len(error.instance)} characters; expected at most {wanted}"
    return str(error.message).replace(repr(error.instance), found)


def json_path(parts: Any) -> str:
    """Return ``core_model_elements.constraints[3].expression`` for a sequence of steps."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f"{'.' if text else ''}{part}"
    return text or "the document"


def _name_of(data: Any, path: list[Any]) -> str:
    """Return the name of the set, parameter, constraint … in which a path ends."""
    name = ""
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            break
        if isinstance(data, dict):
            label = data.get("constraint_id") or data.get("name")
            name = f' "{label}"' if isinstance(label, str) else name
    return name

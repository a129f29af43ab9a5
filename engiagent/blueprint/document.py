"""The blueprint as an immutable typed document, and its way from and to JSON.

Its elements are in :mod:`engiagent.blueprint.elements`.
"""

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from engiagent.blueprint.elements import Context, Core, Extended, read_as, thaw
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

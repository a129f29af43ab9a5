"""How blueprints, their findings and their formulas show themselves."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.diagnostics import Diagnostic
from engiagent.blueprint.document import ParameterDef, VariableDef
from engiagent.errors import EngiagentError
from engiagent.formulations.latex import Formula, formulas
from engiagent.notebook import markup
from engiagent.report import words
from engiagent.report.charts import numerals

if TYPE_CHECKING:
    from engiagent.notebook.blueprint import Blueprint

MOST_FORMULAS = 40
_TONES = {"error": "bad", "warning": "open", "info": "open"}


@dataclass(frozen=True)
class Findings:
    """What static analysis says of a blueprint: a sequence of diagnostics."""

    name: str
    diagnostics: tuple[Diagnostic, ...]

    def __len__(self) -> int:
        return len(self.diagnostics)

    def __getitem__(self, position: int) -> Diagnostic:
        return self.diagnostics[position]

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """Those that keep the blueprint from being solved."""
        return tuple(d for d in self.diagnostics if d.severity == "error")

    def __repr__(self) -> str:
        lines = [f"{d.severity}: {d}" for d in self.diagnostics]
        return "\n".join([f"{self.name}: {len(self)} finding(s)", *lines])

    def _repr_html_(self) -> str:
        rows = [
            (
                d.severity,
                d.code,
                d.path.removeprefix("core_model_elements."),
                "" if d.column is None else str(d.column),
                d.message,
                d.suggestion or "",
            )
            for d in self.diagnostics
        ]
        head = ("", "code", "place", "column", "what", "instead")
        none = "" if rows else "Nothing was found."
        return markup.card(self.name, none, markup.table(head, rows, "", (3,)), kicker="findings")


class Equations:
    """Objective and constraints of a blueprint as formulas."""

    def __init__(self, blueprint: "Blueprint") -> None:
        self.formulas: tuple[Formula, ...] = formulas(blueprint.plain)

    def to_latex(self) -> str:
        """Return all of them as one aligned display."""
        return _aligned(self.formulas)

    def __repr__(self) -> str:
        return "\n".join(f"{f.name}: {' '.join(f.lines)}" for f in self.formulas)

    def _repr_latex_(self) -> str:
        rest = len(self.formulas) - MOST_FORMULAS
        more = rf" \\ & \text{{and {rest} more}}" if rest > 0 else ""
        body = _rows(self.formulas[:MOST_FORMULAS])
        return f"$$\\begin{{aligned}}\n{body}{more}\n\\end{{aligned}}$$"


def _aligned(formulas: tuple[Formula, ...]) -> str:
    return f"\\begin{{aligned}}\n{_rows(formulas)}\n\\end{{aligned}}"


def _rows(formulas: tuple[Formula, ...]) -> str:
    rows = []
    for formula in formulas:
        first, *rest = formula.lines
        lines = [rf"& {first}", *(rf"& \quad {line}" for line in rest)]
        if formula.for_all:
            lines[-1] += rf" \qquad \forall\, {formula.for_all}"
        rows += lines
    return " \\\\\n".join(rows)


def blueprint_text(blueprint: "Blueprint") -> str:
    """Return a blueprint in a few lines."""
    core, home = blueprint.core, blueprint.home
    counts = (
        f"{len(core.sets)} sets, {len(core.parameters)} parameters, "
        f"{len(core.decision_variables)} variables, {len(core.constraints)} constraints"
    )
    units = ", ".join(f"{c.name} ({c.model})" for c in core.components)
    lines = [f"Blueprint({home.name!r}: {counts})"]
    lines += [f"  components: {units}"] if units else []
    lines += [f"  edited: {text}" for text in home.edits]
    lines += [f"  missing: {text}" for text in home.missing]
    lines += [f"  not understood: {text}" for text in home.not_understood]
    return "\n".join(lines)


def blueprint_html(blueprint: "Blueprint") -> str:
    """Return a blueprint as tables with units, sources and formulas in words."""
    core, home = blueprint.core, blueprint.home
    goal = core.objective_function
    aim = "" if goal is None else f"{goal.sense} {goal.name or 'objective'}, in {goal.unit or '–'}"
    components = [
        (c.name, c.model, ", ".join(f"{k} {v}" for k, v in (c.connections or {}).items()))
        for c in core.components
    ]
    return markup.card(
        home.name,
        blueprint.modeling_context.problem_essence or "",
        markup.facts([("objective", aim), ("size", _size_of(blueprint))]),
        markup.bullets(
            [
                *(f"edited: {text}" for text in home.edits),
                *(f"missing: {text}" for text in home.missing),
                *(f"not understood: {text}" for text in home.not_understood),
            ]
        ),
        markup.table(("component", "model", "connections"), components, "Components"),
        markup.table(
            ("parameter", "value", "unit", "where it comes from"),
            [_parameter(p) for p in core.parameters],
            "Parameters",
            (1,),
        ),
        _decisions(blueprint),
        kicker="blueprint",
    )


def _decisions(blueprint: "Blueprint") -> Markup:
    """Return variables and constraints, folded away: components have many."""
    try:
        core = blueprint.expanded.core
    except EngiagentError:
        core = blueprint.core
    variables = [_variable(item) for item in core.decision_variables]
    constraints = [
        (item.name or item.constraint_id, item.expression, ", ".join(item.forall))
        for item in core.constraints
    ]
    return markup.folded(
        f"{len(variables)} variables",
        markup.table(("variable", "index", "from", "to", "unit", "quantity"), variables),
    ) + markup.folded(
        f"{len(constraints)} constraints",
        markup.table(("constraint", "states", "for all"), constraints),
    )


def _size_of(blueprint: "Blueprint") -> str:
    """Return how large the program is; nothing where the blueprint does not hold."""
    if blueprint.kind == "definitions":
        return "definitions, computed and not decided"
    try:
        found = analyse(blueprint.expanded.plain, blueprint.home.folder)
    except EngiagentError:
        return ""
    return f"{found.variables} variables, {found.constraints} rows"


def _parameter(item: ParameterDef) -> tuple[str, str, str, str]:
    name = f"{item.name}[{', '.join(item.index)}]" if item.index else item.name
    unit = item.unit if isinstance(item.unit, str) else "several"
    shown = words.source(item.source_reference)
    return name, _value(item), numerals.unit(unit) or "–", shown


def _value(item: ParameterDef) -> str:
    value: Any = item.value
    if item.status == "missing":
        return "missing"
    if value is None:
        return str(item.data or "")
    if isinstance(value, int | float):
        return numerals.number(float(value))
    if isinstance(value, str):
        return value
    return f"{len(value)} values"


def _variable(item: VariableDef) -> tuple[str, str, str, str, str, str]:
    low, high = ("" if end is None else str(end) for end in (item.lower, item.upper))
    kind = "" if item.type in (None, "continuous") else f" ({item.type})"
    unit = numerals.unit(item.unit) or "–"
    return f"{item.name}{kind}", ", ".join(item.index), low, high, unit, item.quantity or ""

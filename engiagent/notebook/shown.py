"""How problems, blueprints, certificates, explanations, audits and studies show themselves.

:class:`engiagent.io.shows.Shows` calls :func:`text` in a console and :func:`html` in a notebook.
"""

from collections.abc import Mapping
from functools import singledispatch
from typing import Any, Final

from markupsafe import Markup

from engiagent.blueprint import Blueprint
from engiagent.blueprint.elements import ParameterDef, VariableDef
from engiagent.errors import EngiagentError
from engiagent.explain import Explanation
from engiagent.explain.audit import Audit
from engiagent.explain.text import lines_of
from engiagent.notebook import markup
from engiagent.notebook.figures import of_study
from engiagent.report import words
from engiagent.report.charts import numerals
from engiagent.study.outcome import Study
from engiagent.text import Problem
from engiagent.verify.certificate import Certificate
from engiagent.verify.claims import overrides_line, plan_line, reading_line

_TONES: Final = {"complete": "good", "contradictory": "bad", "missing": "bad"}
_MARKS: Final = {"good": "✔", "bad": "✘", "open": "?"}


@singledispatch
def text(item: Any) -> str:
    """Return an object as a console shows it."""
    raise TypeError(f"{type(item).__name__} has no text")


@singledispatch
def html(item: Any) -> str:
    """Return an object as a notebook shows it."""
    raise TypeError(f"{type(item).__name__} has no HTML")


def verdict_badge(verdict: Any, state: Any = None) -> Markup:
    """Return a verdict with its mark, and what it means for whoever wants the plan."""
    said = words.verdict(verdict, state)
    return markup.badge(said.word, said.tone, said.symbol) + markup.paragraph(said.meaning)


def amount(value: Any, unit: Any) -> str:
    """Return a number with its unit, a dash where there is none."""
    number = float(value) if isinstance(value, int | float) else None
    return numerals.quantity(number, unit, 9).replace("\xa0", " ")


# -- problems -----------------------------------------------------------------------------------


@text.register
def _(problem: Problem) -> str:
    return (
        f"Problem({problem.id!r}: {problem.title!r}, {len(problem.sentences)} sentences, "
        f"{len(problem.quantities)} quantities, {len(problem.tables)} tables, "
        f"data {list(problem.data)})"
    )


@html.register
def _(problem: Problem) -> str:
    about = {"id": problem.id, "family": problem.family or "", "tags": ", ".join(problem.tags)}
    files = [
        (
            name,
            str(file.rows),
            ", ".join(f"{k} [{c.unit}]" if c.unit else k for k, c in file.columns.items()),
        )
        for name, file in problem.data.items()
    ]
    return markup.card(
        problem.title,
        markup.facts(about.items()),
        markup.table(("file", "rows", "columns"), files, "Data", (1,)),
        markup.folded("The text", markup.preformatted(problem.body.strip())),
        kicker="problem",
    )


# -- blueprints ---------------------------------------------------------------------------------


@text.register
def _(blueprint: Blueprint) -> str:
    core, home = blueprint.core, blueprint.home
    counts = (
        f"{len(core.sets)} sets, {len(core.parameters)} parameters, "
        f"{len(core.decision_variables)} variables, {len(core.constraints)} constraints"
    )
    units = ", ".join(f"{c.name} ({c.model})" for c in core.components)
    lines = [f"components: {units}"] if units else []
    lines += _remarks(blueprint)
    return "\n  ".join([f"Blueprint({home.name!r}: {counts})", *lines])


def _remarks(blueprint: Blueprint) -> list[str]:
    """Return what was edited, is missing or was not understood, as lines."""
    home = blueprint.home
    parts = {"edited": home.edits, "missing": home.missing, "not understood": home.not_understood}
    return [f"{word}: {text}" for word, texts in parts.items() for text in texts]


@html.register
def _(blueprint: Blueprint) -> str:
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
        markup.facts([("objective", aim)]),
        markup.bullets(_remarks(blueprint)),
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


def _decisions(blueprint: Blueprint) -> Markup:
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


# -- certificates ---------------------------------------------------------------------------------


@text.register
def _(certificate: Certificate) -> str:
    goal, bound = certificate.objective or {}, certificate.bound or {}
    text = f"Certificate({certificate.problem!r}: {certificate.line}"
    if goal.get("value") is not None:
        text += f", {amount(goal['value'], goal.get('unit'))}"
    if bound.get("gap") is not None:
        text += f", gap {100 * float(bound['gap']):.3g} %"
    lines = [text + ")"]
    lines += [f"  {name}: {text}" for name, text in _claims(certificate)]
    lines += [f"  violated: {item.get('message') or item}" for item in certificate.violations]
    lines += [f"  missing: {item}" for item in certificate.missing]
    lines += [f"  not understood: {item}" for item in certificate.not_understood]
    return "\n".join(lines)


def _claims(certificate: Certificate) -> list[tuple[str, str]]:
    lines = {"plan": plan_line, "reading": reading_line, "changed": overrides_line}
    found = {name: getattr(certificate, name) for name in ("plan", "reading", "overrides")}
    pairs = ((name, line(found)) for name, line in lines.items())
    return [pair for pair in pairs if pair[1]]


@html.register
def _(certificate: Certificate) -> str:
    violations = [
        (
            str(v.get("name") or v.get("check")),
            _where(v.get("where")),
            amount(v.get("amount"), v.get("unit")),
            str(v.get("message") or ""),
        )
        for v in certificate.violations
    ]
    levels = [
        (name, str(level.get("status")), "; ".join(str(f) for f in level.get("findings") or ()))
        for name, level in certificate.levels.items()
    ]
    lists = {
        "missing": certificate.missing,
        "these clash": certificate.contradictions,
        "open": certificate.reading.get("open", ()),
        "not understood": certificate.not_understood,
    }
    return markup.card(
        certificate.problem,
        verdict_badge(certificate.verdict),
        markup.facts(
            [*_claims(certificate), *_goal(certificate.objective or {}, certificate.bound or {})]
        ),
        markup.table(("what is broken", "where", "by", ""), violations, "Violations", (2,)),
        markup.bullets(f"{word}: {item}" for word, items in lists.items() for item in items),
        markup.table(("level", "status", ""), levels, "Levels"),
        markup.folded(f"{len(certificate.notes)} notes", markup.bullets(certificate.notes)),
        kicker="certificate",
    )


def _goal(goal: Mapping[str, Any], bound: Mapping[str, Any]) -> list[tuple[str, str]]:
    pairs = []
    if goal.get("value") is not None:
        what = f"objective, {words.sense(goal.get('sense'))}"
        pairs.append((what, amount(goal["value"], goal.get("unit"))))
    if bound.get("value") is not None:
        pairs.append(("bound", amount(bound["value"], goal.get("unit"))))
    if bound.get("gap") is not None:
        pairs.append(("gap to the bound", f"{100 * float(bound['gap']):.3g} %"))
    if bound.get("method"):
        pairs.append(("how the bound is known", str(bound["method"])))
    return pairs


def _where(place: Any) -> str:
    if not isinstance(place, Mapping):
        return "" if place is None else str(place)
    return ", ".join(f"{key} {value}" for key, value in place.items())


# -- explanations and audits ---------------------------------------------------------------------


@text.register
def _(explanation: Explanation) -> str:
    return "\n".join([explanation.summary, *(str(line) for line in lines_of(explanation))])


@html.register
def _(explanation: Explanation) -> str:
    lines = markup.preformatted("\n".join(str(line) for line in lines_of(explanation)))
    title = f"{explanation.problem}: {explanation.kind}"
    return markup.card(title, explanation.summary, lines, kicker="explanation")


@text.register
def _(audit: Audit) -> str:
    lines = [f"{audit.problem}: {audit.verdict}"]
    lines += [f"  {finding.severity}: {finding.explanation}" for finding in audit.findings]
    lines += [f"  not understood: {text}" for text in audit.not_understood]
    return "\n".join(lines)


@html.register
def _(audit: Audit) -> str:
    tone = _TONES.get(audit.verdict, "open")
    rows = [
        (f.severity, f"{f.subject}: {f.explanation}", "; ".join(str(place) for place in f.places))
        for f in audit.findings
    ]
    return markup.card(
        audit.problem,
        markup.badge(audit.verdict, tone, _MARKS[tone]),
        markup.table(("severity", "finding", "where"), rows),
        markup.folded(
            f"{len(audit.not_understood)} sentences that nothing here can judge",
            markup.bullets(audit.not_understood),
        ),
        markup.folded(f"{len(audit.notes)} notes", markup.bullets(audit.notes)),
        kicker="audit",
    )


# -- studies ------------------------------------------------------------------------------------


@text.register
def _(study: Study) -> str:
    done = sum(row.get("status") == "optimal" for row in study.rows)
    return f"Study({study.title}: {len(study.rows)} points, {done} optimal)"


@html.register
def _(study: Study) -> str:
    rows = study.table()
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[_cell(row.get(name)) for name in names] for row in rows]
    return markup.card(
        study.title,
        of_study(study).picture(),
        markup.folded(f"{len(rows)} points", markup.table(names, cells)),
        markup.bullets(study.notes),
        kicker="study",
    )


def _cell(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return numerals.number(float(value), 8) if is_number else str(value or "")

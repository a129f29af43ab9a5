"""A blueprint as a LaTeX document of its own: sets, parameters, variables and every equation.

The document needs ``amsmath``, ``amssymb``, ``array``, ``booktabs``, ``geometry`` and ``longtable``
only, which every distribution of LaTeX has.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint.diagnostics import located
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import PATH, Elaboration
from engiagent.blueprint.elements import (
    ConstraintDef,
    FrozenMap,
    ObjectiveDef,
    ParameterDef,
    SetDef,
    VariableDef,
)
from engiagent.errors import EngiagentError
from engiagent.formulations.expansion import expand
from engiagent.formulations.latex.expressions import Printer, escaped, number, units_text, width

_GROUPS: Final = ("sets", "parameters", "decision_variables", "expressions", "definitions")
_RISKS: Final = {
    "expected": r"\mathbb{E}",
    "worst": r"\operatorname{worst}",
    "cvar": r"\operatorname{CVaR}",
}


@dataclass(frozen=True)
class Formula:
    """A formula of a blueprint."""

    name: str  # of what it states
    # in LaTeX's mathematics, the later ones being the continuation of the first; none where a
    # heading stands alone
    lines: tuple[str, ...]
    for_all: str = ""  # the elements that it holds for, empty for a single statement
    # section, tag: the part of a document in which it stands, and by what it is referred to there
    section: str = ""
    tag: str = ""
    # heading, notes, description: what is said of it, as LaTeX's text
    heading: str = ""
    notes: str = ""
    description: str = ""


def printer_of(core: Any) -> Printer:
    """Return a printer that knows the symbols of everything that a blueprint declares."""
    items = [item for group in _GROUPS for item in getattr(core, group, ())]
    return Printer({item.name: getattr(item, "symbol", None) for item in items})


def formulas(blueprint: Blueprint) -> tuple[Formula, ...]:
    """Return the formulas of a blueprint: objective, definitions, constraints."""
    core = expand(blueprint).core if blueprint.kind == "programme" else blueprint.core
    order = ("Objective", "Named expressions", "Definitions", "Constraints")
    found = [f for f in statements(core, printer_of(core)) if f.lines and f.section in order]
    return tuple(sorted(found, key=lambda formula: order.index(formula.section)))


def statements(core: Any, printer: Printer) -> Iterator[Formula]:
    """Yield every formula in the order of a document."""
    for group, section in (("expressions", "Named expressions"), ("definitions", "Definitions")):
        for position, d in enumerate(getattr(core, group, ())):
            with located(f"{PATH}.{group}[{position}].expression", d.name):
                first, *rest = printer.lines(d.expression)
                lines = f"{printer.declared(d.name, d.index)} = {first}", *rest
                for_all = printer.for_all(d.index, getattr(d, "where", None))
            found = Formula(d.name, lines, for_all, section, d.name, notes=units_text(d.unit))
            yield replace(found, description=d.description or "")
    if core.objective_function is not None:
        yield from _objective(core.objective_function, printer)
    for position, d in enumerate(core.constraints):
        label = d.name or d.constraint_id
        with located(f"{PATH}.constraints[{position}].expression", label):
            lines = tuple(printer.lines(d.expression))
        with located(f"{PATH}.constraints[{position}].forall", label):
            for_all = printer.for_all(d.forall, d.where)
        found = Formula(label, lines, for_all, "Constraints", d.constraint_id, escaped(label))
        yield replace(found, notes=_remarks(d), description=d.description or "")


def _objective(objective: ObjectiveDef, printer: Printer) -> Iterator[Formula]:
    """Yield the objective, which may be a heading alone, and each of several goals."""
    risk, lines = _risk_measure(objective), tuple[str, ...]()
    if objective.expression is not None:
        with located(f"{PATH}.objective_function.expression", objective.name):
            lines = _optimised(printer, objective.sense, objective.expression, risk)
    texts = [escaped(text) for text in (objective.name, objective.description) if text]
    name, notes = objective.name or "objective", units_text(objective.unit)
    yield Formula(name, lines, "", "Objective", "objective", ". ".join(texts), notes)
    if objective.terms:
        text = f"Several goals, combination: {objective.combination or 'weighted'}."
        yield Formula(name, (), section="Objective", description=text)
    for position, goal in enumerate(objective.terms):
        with located(f"{PATH}.objective_function.terms[{position}].expression", goal.name):
            sense = goal.sense or objective.sense
            lines = _optimised(printer, sense, goal.expression, risk)
        words = [(word, getattr(goal, word)) for word in ("weight", "tolerance", "limit")]
        numbers = [f"{word} {escaped(str(value))}" for word, value in words if value is not None]
        heading, notes = "; ".join([escaped(goal.name), *numbers]), units_text(goal.unit)
        found = Formula(goal.name, lines, "", "Objective", goal.name, heading, notes)
        yield replace(found, description=goal.description or "")


def _optimised(printer: Printer, sense: str, expression: str, risk: str = "") -> tuple[str, ...]:
    word = r"\max" if sense == "maximize" else r"\min"
    first, *rest = printer.lines(expression)
    return rf"{word} \quad {risk}{first}", *rest


def _risk_measure(objective: ObjectiveDef) -> str:
    """Return how the scenarios of an objective count together."""
    risk = getattr(objective, "risk", None)
    if risk is None:
        return ""
    alpha = f"_{{{number(risk.alpha)}}}" if risk.alpha is not None else ""
    return rf"{_RISKS.get(risk.measure, risk.measure)}{alpha}\; "


def _remarks(d: ConstraintDef) -> str:
    """Return the category of a constraint and whether it may be broken."""
    notes = [escaped(d.category)] if d.category else []
    penalty = getattr(d, "penalty", None)
    if d.hard is False:
        notes.append("soft")
    if penalty is not None:
        notes.append(f"penalty {escaped(str(penalty.weight))}, {penalty.form or 'linear'}")
    return "; ".join(notes)


FEW: Final = 6
NARROW: Final = 24
_HEAD: Final = r"""\documentclass[a4paper]{article}
\usepackage[margin=2cm]{geometry}
\usepackage[T1]{fontenc}
\usepackage{textcomp}
\usepackage{amsmath}
\usepackage{amssymb}
\usepackage{array}
\usepackage{booktabs}
\usepackage{longtable}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
"""


def emit_latex(blueprint: Blueprint, folder: Path | str | None = None) -> str:
    """Return a LaTeX document that says what the blueprint says.

    ``folder``: where its data files lie. Raises BlueprintError when a set or a parameter cannot be
    built or an expression cannot be read; EngiagentError when it is no programme.
    """
    if blueprint.kind != "programme":
        raise EngiagentError("definitions have no LaTeX document; a programme has one")
    full = expand(blueprint)
    elaboration = Elaboration(full.core, Path(folder) if folder is not None else None)
    elaboration.build()
    _ = elaboration.symbols  # the indices of every name, so that a wrong one is located
    return "\n".join(_Document(full, elaboration).lines()) + "\n"


class _Document:
    """One document in the making."""

    def __init__(self, blueprint: Blueprint, elaboration: Elaboration) -> None:
        self.blueprint = blueprint
        self.core: Any = blueprint.core
        self.elaboration = elaboration
        self.printer = printer_of(self.core)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the document, its sections in a fixed order."""
        yield _HEAD + r"\begin{document}"
        yield r"\section*{The problem}"
        yield escaped(self.blueprint.modeling_context.problem_essence)
        sections = {
            "Sets": self._table("sets", self._set, "p{.2}lp{.37}p{.27}"),
            "Parameters": self._parameters(),
            "Decision variables": self._table(
                "decision_variables", self._variable, "p{.17}p{.25}p{.08}p{.17}p{.18}"
            ),
        }
        for found in statements(self.core, self.printer):
            sections.setdefault(found.section, []).extend(_shown(found))
        sections["Assumptions"] = self._assumptions()
        for title, body in sections.items():
            if body:
                yield from ("", rf"\section*{{{title}}}", *body)
        yield "\n\\end{document}"

    def _table(self, group: str, row: Callable[[Any], dict[str, str]], columns: str) -> list[str]:
        rows = []
        for position, d in enumerate(getattr(self.core, group, ())):
            with located(f"{PATH}.{group}[{position}]", d.name):
                rows.append(row(d))
        return list(_table(rows, columns))

    def _set(self, d: SetDef) -> dict[str, str]:
        size = self.elaboration.index_set(d.name).size
        return {
            "Set": self._math(d.name),
            "Size": str(size),
            "Elements": self._elements(d, size),
            "Meaning": escaped(d.description or ""),
        }

    def _elements(self, d: SetDef, size: int) -> str:
        labels = self.elaboration.index_set(d.name).labels
        if d.where is not None:
            of = d.of if isinstance(d.of, tuple) else (d.of or "",)
            parents = r" \times ".join(self.printer.name(name) for name in of if name)
            return f"those of ${parents}$ with ${self.printer.text(d.where)}$"
        if d.data is not None:
            return rf"from \texttt{{{escaped(d.data)}}}"
        shown = [escaped(_label_text(label)) for label in labels]
        step = f" in steps of {escaped(d.step)}" if isinstance(d.step, str) else ""
        zone = f", {escaped(d.zone)}" if d.zone else ""
        if size > 2 * FEW:
            shown = [rf"{shown[0]}, \dots, {shown[-1]}"]
        return ", ".join(shown) + step + zone

    def _parameters(self) -> list[str]:
        columns = "p{.19}p{.25}p{.1}p{.33}"
        lines = self._table("parameters", self._parameter, columns)
        for d in self.core.parameters:
            if _is_formula(d) and width(self.printer.text(d.value)) > NARROW:
                first, *rest = self.printer.lines(d.value)
                body = [f"{self.printer.declared(d.name, d.index)} = {first}", *rest]
                lines += _display(body, self.printer.for_all(d.index, None), d.name)
        return lines

    def _parameter(self, d: ParameterDef) -> dict[str, str]:
        return {
            "Parameter": self._math(d.name, d.index),
            "Value": self._value(d),
            "Unit": units_text(d.unit),
            "Meaning": escaped(d.description or ""),
        }

    def _value(self, d: ParameterDef) -> str:
        if d.status == "missing":
            return r"\emph{missing}"
        if d.value is None:
            return rf"\texttt{{{escaped(d.data or '')}}}"
        if _is_formula(d):
            text = self.printer.value(d.value)
            return f"${text}$" if width(text) <= NARROW else "see below"
        values = list(_leaves(d.value))
        shown = [escaped(str(v)) if isinstance(v, str) else f"${number(v)}$" for v in values[:FEW]]
        more = rf", \dots\ ({len(values)} values)" if len(values) > FEW else ""
        return ", ".join(shown) + more

    def _variable(self, d: VariableDef) -> dict[str, str]:
        where = [f"${self.printer.binder(text)}$" for text in d.index]
        where += [f"${self.printer.text(d.where)}$"] if d.where else []
        return {
            "Variable": self._math(d.name, d.index),
            "Domain": f"${self._domain(d)}$",
            "Unit": units_text(d.unit),
            "For": ", ".join(where),
            "Meaning": escaped(d.description or ""),
        }

    def _domain(self, d: VariableDef) -> str:
        name = self.printer.declared(d.name, d.index)
        if d.type == "binary":
            return rf"{name} \in \{{0, 1\}}"
        lower, upper = self.printer.value(d.lower), self.printer.value(d.upper)
        if lower and upper:
            text = rf"{lower} \le {name} \le {upper}"
        elif lower:
            text = rf"{name} \ge {lower}"
        else:
            text = rf"{name} \le {upper}" if upper else rf"{name} \in \mathbb{{R}}"
        if d.type == "semicontinuous":
            return rf"{name} = 0 \lor {text}"
        if d.type == "integer":
            whole = rf"{name} \in \mathbb{{Z}}"
            return f"{whole}$, ${text}" if lower or upper else whole
        return text

    def _assumptions(self) -> list[str]:
        extended = self.blueprint.extended_analysis_and_robustness
        items = extended.key_assumptions if extended else []
        texts = [rf"\item {escaped(item['content'])}" for item in items]
        return [r"\begin{itemize}", *texts, r"\end{itemize}"] if texts else []

    def _math(self, name: str, index: Sequence[str] = ()) -> str:
        return f"${self.printer.declared(name, index)}$"


def _is_formula(d: ParameterDef) -> bool:
    return isinstance(d.value, str) and (d.type or "number") == "number"


def _shown(formula: Formula) -> Iterator[str]:
    """Yield a formula below what is said of it."""
    parts = [
        rf"\textbf{{{formula.heading}}}" if formula.heading else "",
        f"({formula.notes})" if formula.notes else "",
        escaped(formula.description),
    ]
    text = " ".join(part for part in parts if part)
    yield from ["", text] if text else [""]
    if formula.lines:
        yield from _display(formula.lines, formula.for_all, formula.tag)


def _display(lines: Sequence[str], for_all: str, tag: str) -> Iterator[str]:
    """Yield an equation with its name beside it and what it holds for below or behind."""
    label = rf"\tag*{{\texttt{{{escaped(tag)}}}}}"
    condition = rf"\forall\, {for_all}" if for_all else ""
    yield r"\begin{gather*}"
    if len(lines) == 1 and len(lines[0]) + len(condition) < 180:
        behind = rf" \qquad {condition}" if condition else ""
        yield f"{lines[0]}{behind} {label}"
    else:
        rows = [lines[0], *(rf"\quad {line}" for line in lines[1:])]
        rows += [rf"\quad {condition}"] if condition else []
        body = " \\\\\n".join(rf"& {row}" for row in rows)
        yield f"\\begin{{aligned}}\n{body}\n\\end{{aligned}} {label}"
    yield r"\end{gather*}"


def _table(rows: Sequence[Mapping[str, str]], columns: str) -> Iterator[str]:
    """Yield a table of rows by heading, over several pages; widths are fractions of the line."""
    if not rows:
        return
    ragged = columns.replace("p{", r">{\raggedright\arraybackslash}p{")
    layout = re.sub(r"p\{([.\d]+)\}", r"p{\1\\linewidth}", ragged)
    yield r"{\footnotesize"
    yield rf"\begin{{longtable}}{{@{{}}{layout}@{{}}}}"
    yield rf"\toprule {' & '.join(rows[0])} \\ \midrule \endhead"
    for row in rows:  # in which long names of files and columns may run on to the next line
        text = " & ".join(row.values())
        yield re.sub(r"(\_|\#|/)(?=\w)", r"\1\\allowbreak{}", text) + r" \\"
    yield r"\bottomrule"
    yield r"\end{longtable}}"


def _leaves(value: Any) -> Iterable[Any]:
    """Yield the single values of a nested one."""
    if isinstance(value, FrozenMap):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, tuple):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _label_text(label: Any) -> str:
    """Return an element of a set as text."""
    return f"({', '.join(map(str, label))})" if isinstance(label, tuple) else str(label)

"""A blueprint as a LaTeX document of its own: sets, parameters, variables and every equation.

The document needs ``amsmath``, ``amssymb``, ``array``, ``booktabs``, ``geometry`` and ``longtable``
only, which every distribution of LaTeX has.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint.diagnostics import located
from engiagent.blueprint.document import Blueprint, ObjectiveDef, ParameterDef, SetDef, VariableDef
from engiagent.blueprint.elaborate import PATH, Elaboration
from engiagent.formulations.expansion import expand
from engiagent.formulations.latex.expressions import Printer, width
from engiagent.formulations.latex.layout import (
    display,
    label_text,
    leaves,
    remarks,
    risk_measure,
    source_text,
    table,
    units_text,
)
from engiagent.formulations.latex.text import escaped, number

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
_DOMAINS: Final = {"integer": r"\mathbb{Z}", "binary": r"\{0, 1\}"}


def emit_latex(blueprint: Blueprint, folder: Path | str | None = None) -> str:
    """Return a LaTeX document that says what the blueprint says.

    Parameters
    ----------
    folder
        Where its data files lie.

    Raises
    ------
    BlueprintError
        When a set or a parameter cannot be built or an expression cannot be read.
    """
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
        groups = (
            "sets",
            "parameters",
            "decision_variables",
            "expressions",
            "definitions",
            "equations",
            "draws",
        )
        self.printer = Printer(
            {item.name: item.symbol for g in groups for item in getattr(self.core, g, ())}
        )

    def lines(self) -> Iterator[str]:
        context = self.blueprint.modeling_context
        yield _HEAD + r"\begin{document}"
        yield r"\section*{The problem}"
        yield escaped(context.problem_essence)
        sections = (
            ("Sets", self._sets()),
            ("Parameters", self._parameters()),
            ("Random numbers", self._draws()),
            ("Decision variables", self._variables()),
            ("Named expressions", self._expressions("expressions")),
            ("Definitions", self._expressions("definitions")),
            ("Differential equations", self._equations()),
            ("Objective", self._objective()),
            ("Constraints", self._constraints()),
            ("Claims", self._claims()),
            ("Assumptions", self._assumptions()),
        )
        for title, lines in sections:
            body = list(lines)
            if body:
                yield from ("", rf"\section*{{{title}}}", *body)
        yield "\n\\end{document}"

    # -- tables ---------------------------------------------------------------------------------

    def _sets(self) -> Iterator[str]:
        rows = []
        for position, d in enumerate(self.core.sets):
            with located(f"{PATH}.sets[{position}]", d.name):
                size = self.elaboration.index_set(d.name).size
                rows.append(
                    (
                        self._math(d.name),
                        str(size),
                        self._elements(d, size),
                        escaped(d.description or ""),
                    )
                )
        yield from table(("Set", "Size", "Elements", "Meaning"), rows, "p{.2}lp{.37}p{.27}")

    def _elements(self, d: SetDef, size: int) -> str:
        labels = self.elaboration.index_set(d.name).labels
        if d.where is not None:
            of = d.of if isinstance(d.of, tuple) else (d.of or "",)
            parents = r" \times ".join(self.printer.name(name) for name in of if name)
            return f"those of ${parents}$ with ${self.printer.text(d.where)}$"
        if d.data is not None:
            return rf"from \texttt{{{escaped(d.data)}}}"
        if d.kind in ("time", "instants", "periods"):
            step = f" in steps of {escaped(d.step)}" if isinstance(d.step, str) else ""
            zone = f", {escaped(d.zone)}" if d.zone else ""
            return (
                f"{escaped(label_text(labels[0]))} to {escaped(label_text(labels[-1]))}{step}{zone}"
            )
        if d.kind == "range" and size > 2:
            return f"{label_text(labels[0])}, \\dots, {label_text(labels[-1])}"
        shown = [escaped(label_text(label)) for label in labels[: 2 * FEW]]
        return ", ".join(shown) + (r", \dots" if size > 2 * FEW else "")

    def _parameters(self) -> Iterator[str]:
        rows = []
        for position, d in enumerate(self.core.parameters):
            with located(f"{PATH}.parameters[{position}]", d.name):
                rows.append(
                    (
                        self._math(d.name, d.index),
                        self._value(d),
                        units_text(d.unit),
                        escaped(d.description or ""),
                        self._source(d),
                    )
                )
        head = ("Parameter", "Value", "Unit", "Meaning", "Source")
        yield from table(head, rows, "p{.19}p{.19}p{.1}p{.2}p{.18}")
        for d in self.core.parameters:
            formula = isinstance(d.value, str) and (d.type or "number") == "number"
            if formula and width(self.printer.text(d.value)) > NARROW:
                left = self.printer.name(d.name, self._index_names(d.index))
                body = self.printer.lines(d.value)
                for_all = self._for_all(d.index, None)
                yield from display([f"{left} = {body[0]}", *body[1:]], for_all, d.name)

    def _value(self, d: ParameterDef) -> str:
        if d.status == "missing":
            return r"\emph{missing}"
        if d.value is None:
            return rf"\texttt{{{escaped(d.data or '')}}}"
        if isinstance(d.value, str):
            if (d.type or "number") == "number":
                text = self.printer.text(d.value)
                return f"${text}$" if width(text) <= NARROW else "see below"
            return escaped(d.value)
        if isinstance(d.value, int | float):
            return f"${number(d.value)}$"
        values = list(leaves(d.value))
        shown = [
            f"${number(v)}$" if isinstance(v, int | float) else escaped(str(v))
            for v in values[:FEW]
        ]
        more = rf", \dots\ ({len(values)} values)" if len(values) > FEW else ""
        return ", ".join(shown) + more

    def _source(self, d: ParameterDef) -> str:
        return escaped(source_text(d.source_reference))

    def _variables(self) -> Iterator[str]:
        rows = []
        for position, d in enumerate(self.core.decision_variables):
            with located(f"{PATH}.decision_variables[{position}]", d.name):
                where, meaning = self._binders(d.index, d.where), escaped(d.description or "")
                name = self._math(d.name, d.index)
                rows.append((name, self._domain(d), units_text(d.unit), where, meaning))
        head = ("Variable", "Domain", "Unit", "For", "Meaning")
        yield from table(head, rows, "p{.17}p{.25}p{.08}p{.17}p{.18}")

    def _domain(self, d: VariableDef) -> str:
        name = self.printer.name(d.name, self._index_names(d.index))
        if d.type == "binary":
            return rf"${name} \in {_DOMAINS['binary']}$"
        lower, upper = self._bound(d.lower), self._bound(d.upper)
        if lower and upper:
            text = rf"{lower} \le {name} \le {upper}"
        elif lower:
            text = rf"{name} \ge {lower}"
        else:
            text = rf"{name} \le {upper}" if upper else rf"{name} \in \mathbb{{R}}"
        if d.type == "semicontinuous":
            text = rf"{name} = 0 \lor {text}"
        if d.type == "integer":
            whole = rf"{name} \in {_DOMAINS['integer']}"
            text = f"{whole}$, ${text}" if lower or upper else whole
        return f"${text}$"

    def _bound(self, value: int | float | str | None) -> str:
        if value is None:
            return ""
        return self.printer.text(value) if isinstance(value, str) else number(value)

    def _draws(self) -> Iterator[str]:
        rows = []
        for d in getattr(self.core, "draws", ()):
            inside = ", ".join(f"{escaped(k)} = {escaped(str(v))}" for k, v in d.arguments.items())
            what = f"{escaped(d.distribution)}({inside}), {escaped(d.generator)}, seed {d.seed}"
            rows.append(
                (
                    self._math(d.name, d.index),
                    what,
                    units_text(d.unit),
                    escaped(d.description or ""),
                )
            )
        yield from table(("Name", "Drawn from", "Unit", "Meaning"), rows, "p{.19}p{.33}p{.1}p{.25}")

    # -- equations ------------------------------------------------------------------------------

    def _expressions(self, group: str) -> Iterator[str]:
        for position, d in enumerate(getattr(self.core, group, ())):
            with located(f"{PATH}.{group}[{position}].expression", d.name):
                left = self.printer.name(d.name, self._index_names(d.index))
                body = self.printer.lines(d.expression)
                yield from self._headed(d.description, units_text(d.unit))
                for_all = self._for_all(d.index, getattr(d, "where", None))
                yield from display([f"{left} = {body[0]}", *body[1:]], for_all, d.name)

    def _equations(self) -> Iterator[str]:
        for position, d in enumerate(getattr(self.core, "equations", ())):
            with located(f"{PATH}.equations[{position}].rate", d.name):
                name = self.printer.name(d.name)
                body = self.printer.lines(d.rate)
                start = self._bound(d.initial)
                method = f"{escaped(d.scheme)}{', step ' + escaped(d.step) if d.step else ''}"
                yield from self._headed(d.description, f"{units_text(d.unit)}; {method}")
                rate = rf"\frac{{\mathrm{{d}}}}{{\mathrm{{d}}t}} {name} = "
                first = rf"{name}(0) = {start},"
                lines = [rate + body[0], *body[1:]]
                lines[-1] += rf",\quad {first[:-1]}"
                yield from display(lines, self._for_all(d.index, None), d.name)

    def _objective(self) -> Iterator[str]:
        objective: ObjectiveDef | None = self.core.objective_function
        design = getattr(self.core, "design", None)
        if design is not None:
            with located(f"{PATH}.design.merit"):
                yield from display(self._optimised(design.sense, design.merit, ""), "", "merit")
        if objective is None:
            return
        unit_text = units_text(objective.unit)
        notes = [objective.name or "", objective.description or ""]
        heading = ". ".join(escaped(note) for note in notes if note)
        yield from self._headed(None, unit_text, heading)
        risk = risk_measure(objective)
        if objective.expression is not None:
            with located(f"{PATH}.objective_function.expression", objective.name):
                lines = self._optimised(objective.sense, objective.expression, risk)
            yield from display(lines, "", "objective")
        yield from self._goals(objective, risk)

    def _goals(self, objective: ObjectiveDef, risk: str) -> Iterator[str]:
        goals: Sequence[Any] = getattr(objective, "terms", ())
        if goals:
            combination = getattr(objective, "combination", None) or "weighted"
            yield f"Several goals, combination: {escaped(combination)}."
        for position, goal in enumerate(goals):
            notes = [
                f"{word} {escaped(str(value))}"
                for word in ("weight", "tolerance", "limit")
                if (value := getattr(goal, word)) is not None
            ]
            with located(f"{PATH}.objective_function.terms[{position}].expression", goal.name):
                lines = self._optimised(goal.sense or objective.sense, goal.expression, risk)
            heading = "; ".join([escaped(goal.name), *notes])
            yield from self._headed(goal.description, units_text(goal.unit), heading)
            yield from display(lines, "", goal.name)

    def _optimised(self, sense: str, expression: str, risk: str) -> list[str]:
        word = r"\max" if sense == "maximize" else r"\min"
        body = self.printer.lines(expression)
        return [rf"{word} \quad {risk}{body[0]}", *body[1:]]

    def _constraints(self) -> Iterator[str]:
        for position, d in enumerate(self.core.constraints):
            label = d.name or d.constraint_id
            with located(f"{PATH}.constraints[{position}].expression", label):
                body = self.printer.lines(d.expression)
            with located(f"{PATH}.constraints[{position}].forall", label):
                for_all = self._for_all(d.forall, d.where)
            yield from self._headed(d.description, remarks(d), escaped(label))
            yield from display(body, for_all, d.constraint_id)

    def _claims(self) -> Iterator[str]:
        for position, d in enumerate(getattr(self.core, "claims", ())):
            with located(f"{PATH}.claims[{position}].expression", d.claim_id):
                body = self.printer.lines(d.expression)
                for_all = self._for_all(d.forall, d.where)
            heading = escaped(d.name or d.claim_id)
            yield from self._headed(
                d.description, f"tolerance {escaped(str(d.tolerance))}", heading
            )
            yield from display(body, for_all, d.claim_id)

    def _assumptions(self) -> Iterator[str]:
        extended = self.blueprint.extended_analysis_and_robustness
        texts = [item["content"] for item in extended.key_assumptions] if extended else []
        if texts:
            yield r"\begin{itemize}"
            yield from (rf"\item {escaped(text)}" for text in texts)
            yield r"\end{itemize}"

    # -- pieces ---------------------------------------------------------------------------------

    def _headed(self, description: str | None, notes: str, heading: str = "") -> Iterator[str]:
        parts = [
            rf"\textbf{{{heading}}}" if heading else "",
            f"({notes})" if notes else "",
            escaped(description or ""),
        ]
        text = " ".join(part for part in parts if part)
        yield ""
        if text:
            yield text

    def _math(self, name: str, index: Sequence[str] = ()) -> str:
        return f"${self.printer.name(name, self._index_names(index))}$"

    def _index_names(self, index: Sequence[str]) -> list[str]:
        """Return the indices of a declaration as its binders name them, else by their sets."""
        names = []
        for text in index:
            left, separator, _ = text.partition(" in ")
            parts = left.strip("() ").split(",") if separator else [text]
            names += [self.printer.name(part.strip()) for part in parts]
        return names

    def _binders(self, index: Sequence[str], where: str | None) -> str:
        parts = [f"${self.printer.binder(text)}$" for text in index]
        if where:
            parts.append(f"${self.printer.text(where)}$")
        return ", ".join(parts)

    def _for_all(self, index: Sequence[str], where: str | None) -> str:
        text = ",\\; ".join(self.printer.binder(item) for item in index)
        if where:
            text += f" : {self.printer.text(where)}"
        return text

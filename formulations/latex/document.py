"""A blueprint as a LaTeX document of its own: sets, parameters, variables and every equation.

The document needs ``amsmath``, ``amssymb``, ``array``, ``booktabs``, ``geometry`` and ``longtable``
only, which every distribution of LaTeX has.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint.diagnostics import located
from engiagent.blueprint.document import Blueprint, FrozenMap, ParameterDef, SetDef, VariableDef
from engiagent.blueprint.elaborate import PATH, Elaboration
from engiagent.errors import EngiagentError
from engiagent.formulations.expansion import expand
from engiagent.formulations.latex.expressions import escaped, number, units_text, width
from engiagent.formulations.latex.statements import Formula, printer_of, statements

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
        if d.kind in ("time", "instants", "periods"):
            step = f" in steps of {escaped(d.step)}" if isinstance(d.step, str) else ""
            zone = f", {escaped(d.zone)}" if d.zone else ""
            first, last = (escaped(_label_text(labels[k])) for k in (0, -1))
            return f"{first} to {last}{step}{zone}"
        if d.kind == "range" and size > 2:
            return f"{_label_text(labels[0])}, \\dots, {_label_text(labels[-1])}"
        shown = [escaped(_label_text(label)) for label in labels[: 2 * FEW]]
        return ", ".join(shown) + (r", \dots" if size > 2 * FEW else "")

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

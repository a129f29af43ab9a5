"""What static analysis finds, and formulas, as answers that show themselves."""

from typing import Final

from engiagent.blueprint import Blueprint
from engiagent.blueprint.diagnostics import Diagnostic
from engiagent.formulations.latex import Formula, formulas
from engiagent.notebook import markup

MOST_FORMULAS: Final = 40


class Findings(tuple[Diagnostic, ...]):
    """What static analysis says of a blueprint: a tuple of diagnostics."""

    __slots__ = ()

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """Those that keep the blueprint from being solved."""
        return tuple(d for d in self if d.severity == "error")

    def __repr__(self) -> str:
        return "\n".join([f"{len(self)} finding(s)", *(f"{d.severity}: {d}" for d in self)])

    def _repr_html_(self) -> str:
        rows = [
            (
                *(d.severity, d.code, d.path.removeprefix("core_model_elements.")),
                *("" if d.column is None else str(d.column), d.message, d.suggestion or ""),
            )
            for d in self
        ]
        head = ("", "code", "place", "column", "what", "instead")
        none = "" if rows else "Nothing was found."
        return markup.card("Findings", none, markup.table(head, rows, "", (3,)))


class Equations:
    """Objective and constraints of a blueprint as formulas."""

    def __init__(self, blueprint: Blueprint) -> None:
        self.formulas: tuple[Formula, ...] = formulas(blueprint)

    def to_latex(self) -> str:
        """Return all of them as one aligned display."""
        return f"\\begin{{aligned}}\n{_rows(self.formulas)}\n\\end{{aligned}}"

    def __repr__(self) -> str:
        return "\n".join(f"{f.name}: {' '.join(f.lines)}" for f in self.formulas)

    def _repr_latex_(self) -> str:
        rest = len(self.formulas) - MOST_FORMULAS
        more = rf" \\ & \text{{and {rest} more}}" if rest > 0 else ""
        body = _rows(self.formulas[:MOST_FORMULAS])
        return f"$$\\begin{{aligned}}\n{body}{more}\n\\end{{aligned}}$$"


def _rows(formulas: tuple[Formula, ...]) -> str:
    rows = []
    for formula in formulas:
        first, *rest = formula.lines
        lines = [rf"& {first}", *(rf"& \quad {line}" for line in rest)]
        if formula.for_all:
            lines[-1] += rf" \qquad \forall\, {formula.for_all}"
        rows += lines
    return " \\\\\n".join(rows)

"""What a blueprint does not give: values, files, columns, rows, an objective, a horizon."""

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from engiagent.blueprint import Blueprint
from engiagent.blueprint.document import ParameterDef
from engiagent.blueprint.elaborate import Elaboration
from engiagent.errors import EngiagentError
from engiagent.explain.audit.findings import Finding
from engiagent.explain.places import Text
from engiagent.io.tabular import SUFFIXES
from engiagent.text import Problem

_FILE: Final = re.compile(
    r"(?<![\w./\\-])[\w-][\w./-]*?(?:" + "|".join(re.escape(s) for s in SUFFIXES) + r")(?![\w-])",
    re.I,
)


def blueprint_gaps(blueprint: Blueprint, folder: Path, text: Text) -> Iterator[Finding]:
    """Yield what keeps a blueprint from being solved because it is not there."""
    core = blueprint.core
    slots = {
        name: (component.name, slot)
        for component in core.components
        for slot, name in component.parameters.items()
        if isinstance(name, str)
    }
    for parameter in core.parameters:
        component, quantity = slots.get(parameter.name, ("parameter", parameter.name))
        if parameter.status == "missing":
            yield Finding(
                code="missing-value",
                severity="missing",
                component=component,
                quantity=quantity,
                explanation=f"{parameter.description or parameter.name} has no value",
                suggestion=f"give {parameter.name} a value in {parameter.unit or '1'}",
                places=text.of(parameter.source_reference),
            )
        elif parameter.data is not None:
            yield from _series(blueprint, parameter, component, quantity, folder, text)
    if blueprint.kind == "programme" and core.objective_function is None:
        yield Finding(
            code="missing-objective",
            severity="missing",
            component="objective",
            quantity="sense",
            explanation="the blueprint has no objective",
            suggestion="add an objective_function, or a constant one if any schedule will do",
        )


def _series(
    blueprint: Blueprint,
    parameter: ParameterDef,
    component: str,
    quantity: str,
    folder: Path,
    text: Text,
) -> Iterator[Finding]:
    """Yield a series that cannot be read: no file, no column, too few rows, a cell without number.

    Sets that cannot be built are the business of static analysis.
    """
    try:
        Elaboration(blueprint.core, folder).table(parameter.name)
        return
    except EngiagentError as error:
        reason = str(error)
    file, _, column = str(parameter.data).partition("#")
    yield Finding(
        code="missing-series" if (folder / file).is_file() else "missing-file",
        severity="missing",
        component=component,
        quantity=quantity,
        explanation=f"{parameter.name} cannot be read from {file}: {reason}",
        suggestion="complete the file, or correct its name, column or length",
        places=tuple(text.cells(file, column or None, ())),
    )


def missing_files(problem: Problem, text: Text) -> Iterator[Finding]:
    """Yield the data files that the text names and that do not lie beside it."""
    seen: set[str] = set()
    for match in _FILE.finditer(problem.text, problem.body_start):
        name = match[0]
        known = name in problem.data or (problem.folder / name).is_file()
        if known or name in seen or name == problem.path.name:
            continue
        seen.add(name)
        beside = sorted(p.name for p in problem.folder.iterdir() if p.suffix.lower() in SUFFIXES)
        close = difflib.get_close_matches(name, beside, 1)
        hint = f"; did you mean {close[0]}?" if close else ""
        yield Finding(
            code="missing-file",
            severity="missing",
            component="data",
            quantity=name,
            explanation=f"the file {name} does not lie beside the problem",
            suggestion=f"put it there{hint}",
            places=(text.at(match.span()),),
        )

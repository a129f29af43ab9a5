"""What a blueprint asks to be reported: expressions, duals, cases and sweeps, all checked."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from engiagent.blueprint.diagnostics import Diagnostic, collected, located, refused
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import PATH, Elaboration
from engiagent.blueprint.elements import Core, ParameterDef, ReportDef, SweepDef, thaw
from engiagent.blueprint.grammar import Ref, parse
from engiagent.blueprint.patching import PatchError, patched
from engiagent.blueprint.typecheck import TypeChecker
from engiagent.blueprint.values import inline_values, unit_of
from engiagent.errors import InputError
from engiagent.units.unit import conversion, parse_unit

BASE: Final = "base"
REQUEST: Final = "EB035"
PATCH: Final = "EB036"
_PART = re.compile(r"__\d+$")


def named_whole(text: str, checker: TypeChecker) -> str | None:
    """Return the name that a request is, with all of its elements; None for an expression."""
    node = parse(text)
    plain = isinstance(node, Ref) and not node.indices
    known = checker.symbols.get(node.name) if plain and isinstance(node, Ref) else None
    return known.name if known is not None and known.kind != "parameter" else None


def case_of(blueprint: Blueprint, position: int) -> Blueprint:
    """Return the blueprint of one of the cases of its report."""
    report = blueprint.core.report
    assert report is not None
    case = report.cases[position]
    path = f"{PATH}.report.cases[{position}].patch"
    try:
        document = patched(blueprint.to_dict(), thaw(case.patch))
    except PatchError as error:
        place = f"{path}[{error.operation}]"
        raise refused(PATCH, place, str(error), name=case.name) from None
    try:
        return Blueprint.from_dict(document, "the patched blueprint")
    except InputError as error:
        raise refused(PATCH, path, str(error), name=case.name) from None


def report_findings(blueprint: Blueprint, elaboration: Elaboration) -> list[Diagnostic]:
    """Return what is wrong with what a blueprint asks for."""
    report = blueprint.core.report
    if report is None:
        return []
    found = [*_requests(report, blueprint.core, elaboration), *_names(report)]
    # Positions in an expanded blueprint have moved; who runs the study has it as it was written.
    if not any(component.expanded for component in blueprint.core.components):
        for position in range(len(report.cases)):
            with collected(found):
                case_of(blueprint, position)
    return [*found, *_sweeps(report, blueprint.core, elaboration)]


def _finding(field: str, text: str, hint: str | None = None, name: str | None = None) -> Diagnostic:
    return Diagnostic(REQUEST, "error", f"{PATH}.report.{field}", text, None, hint, name)


def _requests(report: ReportDef, core: Core, elaboration: Elaboration) -> Iterator[Diagnostic]:
    found: list[Diagnostic] = []
    for position, text in enumerate(report.expressions):
        with collected(found), located(f"{PATH}.report.expressions[{position}]"):
            checker = elaboration.checker()
            if named_whole(text, checker) is None:
                checker.number(parse(text), {})
    yield from found
    known = {c.constraint_id for c in core.constraints}
    for position, name in enumerate(report.duals):
        if name not in known and _PART.sub("", name) not in known:
            hint = f"declared are {', '.join(sorted(known)) or 'none'}"
            yield _finding(f"duals[{position}]", f"unknown constraint {name!r}", hint)


def _names(report: ReportDef) -> Iterator[Diagnostic]:
    seen = {BASE}
    names = [(f"cases[{k}]", case.name) for k, case in enumerate(report.cases)]
    names += [(f"sweeps[{k}]", sweep.name) for k, sweep in enumerate(report.sweeps)]
    for place, name in names:
        if name in seen:
            yield _finding(f"{place}.name", f"the name {name!r} is taken", "give each its own")
        seen.add(name)


def _sweeps(report: ReportDef, core: Core, elaboration: Elaboration) -> Iterator[Diagnostic]:
    for position, sweep in enumerate(report.sweeps):
        place = f"sweeps[{position}]"
        definition = next((p for p in core.parameters if p.name == sweep.parameter), None)
        if definition is None:
            text = f"unknown parameter {sweep.parameter!r}"
            yield _finding(f"{place}.parameter", text, None, sweep.name)
        elif (definition.type or "number") != "number" or isinstance(definition.value, str):
            text = f"{sweep.parameter} has no numbers of its own"
            hint = "sweep a parameter that it is computed from"
            yield _finding(f"{place}.parameter", text, hint, sweep.name)
        else:
            found: list[Diagnostic] = []
            with collected(found):
                _check_values(sweep, definition, elaboration, f"{PATH}.report.{place}")
            yield from found


def _check_values(
    sweep: SweepDef, definition: ParameterDef, elaboration: Elaboration, path: str
) -> None:
    if sweep.unit is not None:
        with located(f"{path}.unit", sweep.name):
            conversion(parse_unit(sweep.unit), unit_of(definition))
    with located(f"{path}.parameter", sweep.name):
        sets = tuple(elaboration.index_set(b.set) for b in elaboration.binders(definition.index))
    for position, value in enumerate(sweep.values):
        with located(f"{path}.values[{position}]", sweep.name):
            inline_values(replace(definition, value=value), sets)

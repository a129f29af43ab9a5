"""Runs the language test-suite in files; see README.md beside this file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.definitions import check_definitions, evaluate_definitions
from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic, MissingDataError
from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.errors import EngiagentError
from engiagent.formulations.classify import classify
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import Program
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.solving import solve
from tests.language.building import blueprint_of, read_case
from tests.language.rows import (
    column_names,
    element_names,
    linear_text,
    read_linear,
    read_row,
    rows_of,
    squeezed,
)
from tests.language.second_route import compare_readings

CASES = Path(__file__).parent / "cases"
ACCURACY = 1e-6


def collected() -> list[Any]:
    """Return all cases, those that say under ``xfail`` why they do not pass yet marked so."""
    found = []
    for path in sorted(CASES.rglob("*.yaml")):
        marked = "\nxfail:" in path.read_text(encoding="utf-8")  # to parse them all takes seconds
        reason = read_case(path)["xfail"] if marked else None
        marks = [pytest.mark.xfail(reason=reason)] if reason else []
        found.append(pytest.param(path, id=f"{path.parent.name}/{path.stem}", marks=marks))
    return found


@pytest.mark.parametrize("path", collected())
def test_case(path: Path, tmp_path: Path) -> None:
    case = read_case(path)
    expect = case["expect"]
    write_files(case, tmp_path)
    if "refused" in expect:
        with pytest.raises(EngiagentError) as caught:
            expand(Blueprint.from_dict(blueprint_of(case)))
        check_words(expect["refused"], str(caught.value))
        return
    blueprint = Blueprint.from_dict(blueprint_of(case))
    assert Blueprint.from_json(blueprint.to_json()) == blueprint
    if blueprint.kind == "definitions":
        check_computed(expect, blueprint, tmp_path)
        return
    full = expand(blueprint)
    analysis = analyse(full, tmp_path)
    program, found = None, list(analysis.diagnostics)
    try:
        program = compile_blueprint(full, tmp_path)
    except BlueprintError as error:
        # What only rewriting finds out, as a divisor that may be zero.
        found += error.diagnostics
    except MissingDataError:
        assert analysis.missing
    assert program is None or not analysis.errors
    check_diagnostics(expect.get("diagnostics") or [], found)
    if analysis.errors:
        return
    check_data(expect, Elaboration(full.core, tmp_path))
    if set(expect) - {"diagnostics", "elements", "values"}:
        assert program is not None
        check_program(expect, program, full, tmp_path)


@pytest.mark.parametrize("path", collected())
def test_compiler_and_checker_read_a_case_alike(path: Path, tmp_path: Path) -> None:
    case = read_case(path)
    write_files(case, tmp_path)
    try:
        blueprint = expand(Blueprint.from_dict(blueprint_of(case)))
        if blueprint.kind == "definitions":
            return  # nothing is compiled
        program = compile_blueprint(blueprint, tmp_path)
    except EngiagentError:
        return  # what has to be said of it, the other test demands
    compare_readings(program, blueprint, tmp_path)


def write_files(case: Mapping[str, Any], folder: Path) -> None:
    for name, text in (case.get("files") or {}).items():
        (folder / name).write_text(text, encoding="utf-8")


def check_words(wanted: str | list[str], text: str) -> None:
    for words in [wanted] if isinstance(wanted, str) else wanted:
        assert words in text


def check_computed(expect: Mapping[str, Any], blueprint: Blueprint, folder: Path) -> None:
    """Compare a blueprint of definitions: findings of its analysis, then what it computes."""
    found = list(check_definitions(blueprint, folder))
    results = None
    if not any(d.severity == "error" for d in found):
        try:
            results = evaluate_definitions(blueprint, folder)
        except BlueprintError as error:
            found += error.diagnostics
    check_diagnostics(expect.get("diagnostics") or [], found)
    if results is None:
        return
    for name, wanted in (expect.get("computed") or {}).items():
        values = results.series[name].values
        np.testing.assert_allclose(values, np.array(wanted, float), rtol=1e-9, atol=1e-9)
    for name, wanted in (expect.get("chosen") or {}).items():
        assert results.design is not None
        assert results.design.choices[name] == pytest.approx(wanted)


def check_diagnostics(wanted: list[Any], found: Sequence[Diagnostic]) -> None:
    """Every finding listed is there, and every error is listed."""
    listed = [item if isinstance(item, dict) else {"code": item} for item in wanted]
    shown = "\n".join(f"{d.severity} {d}" for d in found)
    for item in listed:
        assert any(fits(item, d) for d in found), f"no {item} in\n{shown}"
    for diagnostic in (d for d in found if d.severity == "error"):
        assert any(fits(item, diagnostic) for item in listed), f"unexpected error in\n{shown}"


def fits(item: Mapping[str, Any], found: Diagnostic) -> bool:
    said = f"{found.message}; {found.suggestion or ''}"
    words = item.get("says") or []
    words = words if isinstance(words, list) else [words]
    return (
        found.code == item["code"]
        and found.path.endswith(str(item.get("at", "")))
        and item.get("column", found.column) == found.column
        and item.get("severity", found.severity) == found.severity
        and all(str(word) in said for word in words)
    )


def check_data(expect: Mapping[str, Any], elaboration: Elaboration) -> None:
    for name, wanted in (expect.get("elements") or {}).items():
        found = [list(e) if isinstance(e, tuple) else e for e in elaboration.index_set(name).labels]
        assert found == wanted, name
    for name, wanted in (expect.get("values") or {}).items():
        values = elaboration.table(name).values
        if values.dtype == object:
            assert values.tolist() == wanted
        else:
            np.testing.assert_allclose(values, np.array(wanted, float), rtol=1e-12, atol=1e-12)


def check_program(
    expect: Mapping[str, Any], program: Program, blueprint: Blueprint, folder: Path
) -> None:
    elaboration = Elaboration(blueprint.core, folder)

    def labels(name: str) -> tuple[object, ...]:
        return elaboration.index_set(name).labels

    if "matrix" in expect:
        check_matrix(expect["matrix"], list(rows_of(program, labels)))
    names = column_names(program, labels)
    for name, wanted in (expect.get("bounds") or {}).items():
        chosen = [k for k, column in enumerate(names) if belongs(column, name)]
        assert chosen, f"{name} is not one of {names}"
        for k in chosen:
            found = [program.column_lower[k], program.column_upper[k]]
            assert found == pytest.approx([float(limit) for limit in wanted]), names[k]
    if "objective" in expect:
        terms, constant = read_linear(str(expect["objective"]))
        found_terms = {names[k]: float(program.cost[k]) for k in np.flatnonzero(program.cost)}
        shown = linear_text(found_terms, program.offset)
        assert {k: v for k, v in terms.items() if v} == pytest.approx(found_terms), shown
        assert constant == pytest.approx(program.offset), shown
    if "class" in expect:
        assert classify(program).problem_class == expect["class"]
    if "convexity" in expect:
        assert classify(program).convexity == expect["convexity"]
    if {"optimum", "solution", "status"} & set(expect):
        check_solution(expect, program, names, labels)


def belongs(column: str, name: str) -> bool:
    return column == squeezed(name) or column.startswith(f"{name}[")


def check_matrix(text: str, found: list[Any]) -> None:
    wanted = dict(read_row(line) for line in text.splitlines() if line.strip())
    shown = "\n".join(f"{name}: {row}" for name, row, _ in found)
    there = {name: row for name, row, _ in found}
    stated = [name for name, _, generated in found if not generated]
    absent = [name for name in stated if name not in wanted]
    assert not absent, f"the case does not list {absent} of\n{shown}"
    for name, row in wanted.items():
        assert name in there, f"there is no row {name} in\n{shown}"
        assert row.same(there[name]), f"{name} is not as listed in\n{shown}"


def check_solution(
    expect: Mapping[str, Any], program: Program, names: list[str], labels: Any
) -> None:
    result: SolverResult = solve(program, SolveOptions(gap=1e-9), isolate=False)
    assert result.status == expect.get("status", "optimal"), result.reason
    if result.status != "optimal":
        return
    assert result.x is not None
    if "optimum" in expect:
        value = program.objective_at(result.x)
        assert value == pytest.approx(float(expect["optimum"]), rel=ACCURACY, abs=ACCURACY)
    values = dict(zip(names, result.x.tolist(), strict=True))
    for block in program.expressions:
        own = element_names(block, block.name, labels)
        values |= dict(zip(own, block.evaluate(result.x).tolist(), strict=True))
    for name, wanted in (expect.get("solution") or {}).items():
        chosen = [value for column, value in values.items() if belongs(column, name)]
        given = wanted if isinstance(wanted, list) else [wanted]
        assert chosen == pytest.approx(list(map(float, given)), rel=ACCURACY, abs=ACCURACY), name

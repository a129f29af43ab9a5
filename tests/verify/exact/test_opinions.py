"""A second solver beside the first: agreement is reported, contradiction takes the certificate."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.run.certify import certify
from engiagent.run.proofs import second_opinion
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from engiagent.text import Problem, corpus_root
from engiagent.verify.certificate import Certificate
from engiagent.verify.opinions import Opinion
from engiagent.verify.requirements import load_requirements
from tests.verify.small import document

KNAPSACK = {"A": (4.0, 12.0), "B": (2.0, 2.0), "C": (1.0, 1.0), "D": (10.0, 4.0), "E": (2.0, 1.0)}
"""Values and weights; of 15 kg the best is B, C, D, E with 15 EUR."""


def knapsack(kind: str = "binary", needed: float = 0.0) -> Blueprint:
    values, weights = ({k: v[n] for k, v in KNAPSACK.items()} for n in (0, 1))
    return document(
        [{"name": "take", "index": ["g in G"], "type": kind, "unit": "1", "lower": 0, "upper": 1}],
        [
            {"constraint_id": "weight", "expression": "sum(w[g]*take[g] for g in G) <= 15[kg]"},
            {
                "constraint_id": "needed",
                "expression": f"sum(w[g]*take[g] for g in G) >= {needed}[kg]",
            },
        ],
        {"sense": "maximize", "unit": "EUR", "expression": "sum(v[g]*take[g] for g in G)"},
        sets=[{"name": "G", "kind": "labels", "elements": list(KNAPSACK)}],
        parameters=[
            {"name": "v", "index": ["G"], "unit": "EUR", "value": values},
            {"name": "w", "index": ["G"], "unit": "kg", "value": weights},
        ],
    )


def plan(take: list[float], **claims: Any) -> xr.Dataset:
    """Return a plan of a solver called own; it claims what it has, also as bound."""
    value = sum(t * v for t, (v, _) in zip(take, KNAPSACK.values(), strict=True))
    claims = {
        "status": "optimal",
        "objective": value,
        "bound": value,
        "objective_unit": "EUR",
        "is_mip": 1,
        "solver": "own",
        **claims,
    }
    return xr.Dataset({"take": (("G",), take, {"units": "1"})}, {"G": list(KNAPSACK)}, claims)


BEST = [0.0, 1, 1, 1, 1]


def reported(
    status: str, value: float | None = None, over: str = "the blueprint", complete: bool = True
) -> Opinion:
    return Opinion(
        solver="other",
        version="1",
        status=status,
        objective=value,
        bound=value,
        unit="EUR",
        over=over,
        complete=complete,
    )


def opinion(take: list[float], solver: str) -> Opinion:
    return second_opinion(
        None, plan(take), knapsack(), solver, SolveOptions(), folder=Path(), name="knapsack"
    )


def judged(take: list[float], said: Opinion | None) -> Certificate:
    return certify(None, plan(take), knapsack(), folder=Path(), name="knapsack", opinion=said)


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_every_solver_gets_the_stated_programme_and_finds_its_optimum(solver: str) -> None:
    if solver == "scip":
        pytest.importorskip("pyscipopt")
    said = opinion(BEST, solver)
    assert said.status == "optimal"
    assert said.objective == pytest.approx(15.0)
    assert said.bound == pytest.approx(15.0)
    assert said.complete
    section = judged(BEST, said).levels["optimality"]
    assert section["second_solver"]["agrees"] is True
    assert section["second_solver"]["note"] == "reported, not recomputed"
    assert section["reported_bound"] == {
        "value": 15.0,
        "by": "own",
        "note": "reported, not recomputed",
    }


def test_a_bound_is_tight_where_limits_are_rows_and_the_plan_is_nought() -> None:
    # In joules the coefficient beside a column of size one would be too small for a solver.
    names = ("first", "then")
    blueprint = document(
        [{"name": n, "unit": "MWh"} for n in names],
        [
            {"constraint_id": "low", "expression": "first >= 0"},
            {"constraint_id": "high", "expression": "first <= 7.2"},
            {"constraint_id": "link", "expression": "then == 0.95*first"},
        ],
        {"sense": "minimize", "unit": "MWh", "expression": "then"},
    )
    found = certify(
        None, dict.fromkeys(names, 0.0), blueprint, folder=Path(), name="rows", exact=True
    )
    section = found.levels["optimality"]["exact"]
    assert section["bound"] == section["objective"] == "0"


def test_a_plan_that_a_second_solver_beats_has_no_certificate() -> None:
    worse = [0.0, 0, 1, 1, 1]
    assert judged(worse, None).verdict == "feasible"
    found = judged(worse, opinion(worse, "highs"))
    assert found.verdict == "undecided"
    assert found.bound is None
    section = found.levels["optimality"]
    assert section["second_solver"]["agrees"] is False
    assert "beyond the bound" in section["second_solver"]["contradiction"]
    assert any("contradict" in text for text in section["findings"])


@pytest.mark.parametrize(("status", "agrees"), [("infeasible", True), ("optimal", False)])
def test_that_nothing_is_allowed_takes_agreement_and_gives_way_to_a_plan(
    status: str, agrees: bool
) -> None:
    said = reported(status)
    found = certify(
        None,
        {"status": "infeasible"},
        knapsack(needed=30),
        folder=Path(),
        name="k",
        exact=True,
        opinion=said,
    )
    assert found.levels["optimality"]["second_solver"]["agrees"] is agrees
    assert found.verdict == ("proven infeasible" if agrees else "undecided")


def test_a_solver_is_no_second_opinion_on_its_own_plan(tmp_path: Path) -> None:
    program = compile_blueprint(knapsack(), tmp_path)
    solution = to_dataset(program, solve(program, SolveOptions(backend="highs"), isolate=False))
    with pytest.raises(EngiagentError, match="no second opinion"):
        second_opinion(
            None, solution, knapsack(), "highs", SolveOptions(), folder=tmp_path, name="k"
        )


def test_an_opinion_survives_its_file_and_nonsense_does_not() -> None:
    said = opinion(BEST, "highs")
    assert Opinion.from_json(said.to_dict()) == said
    for wrong in ({}, {**said.to_dict(), "bound": "15"}, {**said.to_dict(), "status": "fine"}):
        with pytest.raises(InputError):
            Opinion.from_json(wrong)


def test_requirements_that_were_read_from_the_text_count_for_the_second_solver(
    tmp_path: Path,
) -> None:
    house = corpus_root() / "planning" / "rooftop_pv"
    shutil.copytree(house, tmp_path, ignore=shutil.ignore_patterns("expert"), dirs_exist_ok=True)
    problem, blueprint = Problem.load(tmp_path), Blueprint.load(house / "expert/blueprint.json")
    program = compile_blueprint(expand(blueprint), tmp_path)
    schedule = to_dataset(program, solve(program, SolveOptions(backend="scip")))
    read = load_requirements(house / "expert/requirements.yaml")
    for requirements, over in ((None, "the blueprint"), (read, "the stated requirements")):
        said = second_opinion(
            problem,
            schedule,
            blueprint,
            "highs",
            SolveOptions(),
            folder=tmp_path,
            name="house",
            requirements=requirements,
        )
        assert said.over.startswith(over)
        assert said.objective == pytest.approx(float(schedule.attrs["objective"]), rel=1e-6)

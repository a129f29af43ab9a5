"""``--exact`` and ``--second-solver`` on the command line, and their certificates once more."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from engiagent.cli.check import check
from engiagent.cli.run import solve
from tests.verify.exact.test_opinions import knapsack


def ran(command: Any, *words: object) -> tuple[int, dict[str, Any]]:
    result = CliRunner().invoke(command, [*map(str, words), "--json"], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return int(result.return_value), json.loads(result.stdout)


@pytest.fixture
def blueprint(tmp_path: Path) -> Path:
    path = tmp_path / "blueprint.json"
    path.write_text(knapsack().to_json())
    return path


def certificate_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "certificate.json").read_text()))


def test_a_run_says_what_was_asked_and_its_folder_checks_again(
    blueprint: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    code, _ = ran(
        solve, blueprint, "--out", out, "--exact", "--second-solver", "scip", "--backend", "highs"
    )
    assert code == 0
    found = certificate_of(out)
    assert found["levels"]["algebra"]["exact"]["arithmetic"] == "exact"
    assert found["objective"]["exact"] == "15"
    assert found["levels"]["optimality"]["second_solver"]["agrees"] is True
    code, said = ran(check, out)
    assert (code, said["verified"]) == (0, True)
    # What a file says a solver said is no evidence: the solver is asked again.
    stored = (out / "opinion.json").read_text()
    (out / "opinion.json").write_text(stored.replace("15.0", "14.0"))
    code, said = ran(check, out)
    assert (code, said["verified"]) == (0, True)


def test_a_forged_second_opinion_does_not_make_a_plan_the_best(
    blueprint: Path, tmp_path: Path
) -> None:
    """A worse plan claims to be its own bound, and its folder that another solver agrees."""
    schedule, out = tmp_path / "plan.json", tmp_path / "kept"
    worse = {"take": [0, 0, 1, 1, 1]}
    schedule.write_text(json.dumps(worse))
    ran(check, blueprint, "--solution", schedule, "--out", out)
    value = certificate_of(out)["objective"]["value"]
    claims = {"solver": "highs", "bound": value, "is_mip": 1, "nodes": 7, "status": "optimal"}
    (out / "schedule.json").write_text(json.dumps({**worse, **claims}))
    opinion = {
        "solver": "scip",
        "version": "1",
        "status": "optimal",
        "objective": value,
        "bound": value,
        "unit": "EUR",
        "over": "the blueprint",
        "complete": True,
    }
    (out / "opinion.json").write_text(json.dumps(opinion))
    _, said = ran(check, out)
    assert said["verdict"] != "certified"


def test_an_infeasible_run_brings_an_exact_ray(tmp_path: Path) -> None:
    path, out = tmp_path / "blueprint.json", tmp_path / "run"
    path.write_text(knapsack(needed=20).to_json())
    ran(solve, path, "--out", out, "--exact", "--backend", "highs")
    found = certificate_of(out)
    assert found["verdict"] == "proven infeasible"
    assert found["levels"]["optimality"]["exact"]["proven"] is True
    assert ran(check, out)[1]["verified"] is True

"""Two runs of one input give the same bytes: blueprint, solution values, certificate, script.

Once in one process, and once in two processes whose hash seeds differ, so that no order of a set or
a dictionary can leak into a result.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engiagent.blueprint.document import Blueprint
from engiagent.formulations import compile_blueprint, emit_pyomo, expand
from engiagent.problems import Problem
from engiagent.solvers import load_solution, solve, to_dataset
from engiagent.verify import check

ROOT = Path(__file__).parents[1]
PROBLEMS = ("battery/merchant_day", "thermal/two_zone_workshop", "planning/rooftop_pv")


def artefacts(name: str) -> dict[str, str]:
    """Return the hashes of everything that one problem is turned into."""
    folder = ROOT / "problems" / name
    blueprint = expand(Blueprint.load(folder / "expert" / "blueprint.json"))
    program = compile_blueprint(blueprint, folder)
    schedule = to_dataset(program, solve(program))
    certificate = check(Problem.load(folder), schedule, blueprint)
    values = b"".join(
        str(key).encode() + series.values.astype(float).tobytes()
        for key, series in schedule.data_vars.items()
    )
    parts = {
        "blueprint": blueprint.to_json().encode(),
        "matrix": program.row_values.tobytes() + program.row_columns.tobytes(),
        "script": emit_pyomo(blueprint, folder).encode(),
        "solution": values + repr(schedule.attrs["objective"]).encode(),
        "certificate": certificate.to_json().encode(),
    }
    return {part: hashlib.sha256(data).hexdigest() for part, data in parts.items()}


@pytest.mark.parametrize("name", PROBLEMS)
def test_two_runs_in_one_process_give_the_same_bytes(name: str) -> None:
    assert artefacts(name) == artefacts(name)


def test_two_processes_with_other_hash_seeds_give_the_same_bytes() -> None:
    code = (
        "from tests.test_determinism import PROBLEMS, artefacts\n"
        "for name in PROBLEMS:\n    print(name, artefacts(name))"
    )
    outputs = []
    for seed in ("0", "4711"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert outputs[0].count("certificate") == len(PROBLEMS)


@pytest.mark.parametrize("name", ["battery/merchant_day", "thermal/office_heat_pump"])
def test_two_runs_of_the_command_from_the_text_give_the_same_bytes(
    name: str, tmp_path: Path
) -> None:
    runs = []
    for seed in ("0", "4711"):
        out = tmp_path / seed
        command = [sys.executable, "-m", "engiagent", "run", str(ROOT / "problems" / name)]
        subprocess.run(
            [*command, "--out", str(out)],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            timeout=120,
        )
        runs.append(out)
    for artefact in ("blueprint.json", "certificate.json", "model.py"):
        assert (runs[0] / artefact).read_bytes() == (runs[1] / artefact).read_bytes(), artefact
    one, two = (load_solution(run / "solution.nc") for run in runs)
    assert set(one.data_vars) == set(two.data_vars)
    for key in one.data_vars:
        assert one[key].values.tobytes() == two[key].values.tobytes(), key

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
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.pyomo_script import emit_pyomo
from engiagent.solvers.solution import load_solution, to_dataset
from engiagent.solvers.solving import solve
from engiagent.text import Problem
from engiagent.verify.checking import check
from tests.cli.asking import invoke

ROOT = Path(__file__).parents[1]
PROBLEMS = ("battery/merchant_day", "thermal/two_zone_workshop", "planning/rooftop_pv")
TEXTS = ("battery/merchant_day", "thermal/office_heat_pump")


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


def everything(out: Path) -> None:
    """Print the hashes of all problems, and run problems from their texts into a folder."""
    for name in PROBLEMS:
        print(name, artefacts(name))
    for name in TEXTS:
        assert invoke("run", ROOT / "problems" / name, "--out", out / name).exit_code == 0


def test_two_processes_with_other_hash_seeds_give_the_same_bytes(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib, tests.test_determinism as t; t.everything(pathlib.Path(sys.argv[1]))"
    )
    outputs = []
    for seed in ("0", "4711"):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / seed)],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=240,
            check=True,
        )
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert outputs[0].count("certificate") == len(PROBLEMS)
    for name in TEXTS:
        runs = [tmp_path / seed / name for seed in ("0", "4711")]
        for artefact in ("blueprint.json", "certificate.json", "model.py"):
            assert (runs[0] / artefact).read_bytes() == (runs[1] / artefact).read_bytes(), artefact
        one, two = (load_solution(run / "solution.nc") for run in runs)
        assert set(one.data_vars) == set(two.data_vars)
        for key in one.data_vars:
            assert one[key].values.tobytes() == two[key].values.tobytes(), key

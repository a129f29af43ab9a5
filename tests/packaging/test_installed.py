"""The installed package works by itself: outside the checkout, with what it declares."""

import json
from pathlib import Path

import pytest

from tests.docs.blocks import Follower, Said, blocks
from tests.docs.test_blocks import BY_OTHERS
from tests.packaging.conftest import ROOT, Command


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("elsewhere")


@pytest.fixture(scope="module")
def day(installed: Command, place: Path) -> Path:
    """Run a problem of the corpus by its name."""
    done = installed("engiagent", "run", "battery/merchant_day", "--out", "runs/day", cwd=place)
    assert done.returncode == 0, done.stderr
    assert "merchant_day: certified" in done.stderr
    return place / "runs/day"


def test_it_is_the_installed_package_that_runs(installed: Command, place: Path) -> None:
    done = installed("python", "-c", "import engiagent; print(engiagent.__file__)", cwd=place)
    assert "site-packages" in done.stdout
    assert str(ROOT) not in done.stdout


def test_nothing_of_an_extra_is_there(installed: Command, place: Path) -> None:
    done = installed("engiagent", "doctor", "--json", cwd=place)
    found = json.loads(done.stdout)
    assert found["ok"], found
    missing = {solver["backend"] for solver in found["solvers"] if solver["install"]}
    assert {"scip", "piqp", "clarabel", "ipopt"} <= missing
    assert "highs" not in missing


def test_the_whole_corpus_is_there(installed: Command, place: Path) -> None:
    done = installed("engiagent", "problems", "list", "--json", cwd=place)
    names = {problem["name"] for problem in json.loads(done.stdout)["problems"]}
    kept = {
        str(p.parent.relative_to(ROOT / "problems")) for p in ROOT.glob("problems/*/*/problem.md")
    }
    assert names == kept
    assert kept


@pytest.mark.parametrize(
    "words",
    [
        ["lint", "runs/day/blueprint.json"],
        ["lint", "--explain", "EB005"],
        ["emit", "runs/day/blueprint.json", "--to", "latex", "-o", "day.tex"],
        ["schema"],
        ["schema", "--reference"],
        ["trace", "runs/day"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("day")
def test_a_command_needs_nothing_from_the_checkout(
    installed: Command, place: Path, words: list[str]
) -> None:
    done = installed("engiagent", *words, cwd=place)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", BY_OTHERS)
def test_the_tutorials_can_be_followed(
    installed: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    """Commands, and Python that imports engiagent, are the installed package's."""
    monkeypatch.chdir(tmp_path)

    def run(words: list[str]) -> Said:
        done = installed("engiagent", *words, cwd=tmp_path)
        return Said(done.returncode, done.stdout, done.stdout + done.stderr)

    follower = Follower(run)
    for block in blocks(ROOT / f"docs/tutorials/{page}.md", ROOT):
        if block.language == "python" and "engiagent" in block.text:
            done = installed("python", "-c", block.text, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
        else:
            follower.follow(block)


@pytest.mark.usefixtures("day")
def test_the_script_of_a_run_needs_no_engiagent(installed: Command, day: Path) -> None:
    assert "objective: 3866.58" in installed("python", "model.py", cwd=day).stdout


# What is asked for, and what the answer must name.
MISSING = {
    "solver": ("solve runs/day/blueprint.json --backend scip --out runs/scip", "solvers"),
    "language model": ("run merchant_day --engine anthropic --out runs/asked", "llm"),
    "server of tools": ("mcp", "mcp"),
}


@pytest.mark.parametrize("case", MISSING)
@pytest.mark.usefixtures("day")
def test_what_needs_an_extra_names_it(installed: Command, place: Path, case: str) -> None:
    words, extra = MISSING[case]
    done = installed("engiagent", *words.split(), cwd=place, ANTHROPIC_API_KEY="none")
    assert done.returncode == 2
    assert f"pip install 'engiagent[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr

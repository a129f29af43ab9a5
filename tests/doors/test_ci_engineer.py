"""A CI engineer with a client of tools: a folder of plants, the action, the hooks, a server."""

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import anyio
import pytest
from mcp import Client, StdioServerParameters
from ruamel.yaml import YAML

from tests.action import steps_of_action
from tests.doors.conftest import COMMANDS, Door

ROOT = Path(__file__).parents[2]
PRICES = [0.31, 0.12, 0.09, 0.28, 0.44, 0.20]
PLANT = """title: Pumping station
horizon: {start: 2026-05-04T06:00, step: 2 h, periods: 6, zone: Europe/Vienna}
components:
  grid: {model: grid, import_price: market.csv#price, export_power_max: 0 kW}
  pumps: {model: load, power: 25 kW}
  battery:
    model: battery
    energy_capacity: 80 kWh
    charge_power_max: 30 kW
    discharge_power_max: 30 kW
    initial_energy: 10 kWh
goal: {minimize: cost}
"""


def best(capacity: float) -> float:
    """Return the least cost by enumeration over the battery's content in steps of 10 kWh."""
    contents = {10: 0.0}
    for price in PRICES:
        nearby: dict[int, float] = {}
        for held, spent in contents.items():
            for then in range(0, round(capacity) + 1, 10):
                power = 25 + (then - held) / 2
                if abs(then - held) <= 60 and power >= 0:
                    cost = spent + 2 * price * power
                    nearby[then] = min(cost, nearby.get(then, cost))
        contents = nearby
    return min(contents.values())


@pytest.fixture
def repository(door: Door) -> Path:
    """A throw-away git repository with two plants, a schedule and a stored run."""
    plant = Path("problems/pumps")
    plant.mkdir(parents=True)
    (plant / "plant.yaml").write_text(PLANT, "utf-8")
    stamps = [f"2026-05-04T{hour:02}:00" for hour in range(6, 18, 2)]
    rows = [f"{stamp},{price}" for stamp, price in zip(stamps, PRICES, strict=True)]
    (plant / "market.csv").write_text("\n".join(["time,price [EUR/kWh]", *rows]), "utf-8")
    rows = [f"{stamp},{15 * (k == 1)},{15 * (k == 4)}" for k, stamp in enumerate(stamps)]
    header = "time,battery.charge [kW],battery.discharge [kW]"
    (plant / "schedule.csv").write_text("\n".join([header, *rows]), "utf-8")
    git("init", "-q")
    git("config", "user.email", "ci@example.org")
    git("config", "user.name", "CI")
    return plant


def git(*words: str, code: int = 0) -> str:
    done = subprocess.run(
        ["git", *words], capture_output=True, text=True, timeout=60, env=dict(os.environ)
    )
    assert done.returncode == code, (words, done.stdout, done.stderr)
    return done.stdout + done.stderr


def load(name: str) -> Any:
    return YAML(typ="safe").load((ROOT / name).read_text("utf-8"))


def action(door: Door, page: Path) -> list[int]:
    """Run the steps of the action that follow on an installation; return how they ended."""
    ends = []
    for step in steps_of_action()[1:]:
        with door.step(f"action: {step.name}"):
            done = step.run(PATH=COMMANDS, GITHUB_STEP_SUMMARY=str(page))
        ends.append(done.returncode)
    return ends


def install_hooks() -> None:
    """Let git run the hooks as pre-commit does: those whose pattern a staged file fits."""
    lines = ["#!/bin/sh", "staged=$(git diff --cached --name-only)"]
    for hook in load(".pre-commit-hooks.yaml"):
        command = shlex.join([*shlex.split(hook["entry"]), *hook.get("args", ())])
        fitting = f"fitting=$(echo \"$staged\" | grep -E '{hook['files']}')"
        passed = " $fitting" if hook.get("pass_filenames", True) else ""
        lines += [fitting, f'[ -z "$fitting" ] || {command}{passed} || exit 1']
    script = Path(".git/hooks/pre-commit")
    script.parent.mkdir(exist_ok=True)
    script.write_text("\n".join([*lines, ""]), "utf-8")
    script.chmod(0o755)


def test_a_folder_of_plants_runs_and_schedules(door: Door, repository: Path) -> None:
    door.types(f"engiagent run {repository} --out runs/monday")
    said = door.types("engiagent check . --junit reports/ci/junit.xml")
    assert "2 of 2 as they should be" in said
    said = door.types("engiagent check . --junit .git/config/junit.xml", code=2)
    assert "cannot make the folder" in said
    assert "as they should be" not in said  # before anything is computed
    suite = ElementTree.parse("reports/ci/junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "0")
    schedule = repository / "schedule.csv"
    schedule.write_text(schedule.read_text("utf-8").replace(",15,", ",45,"), "utf-8")
    said = door.types("engiagent check . --junit junit.xml --github", code=1)
    assert "::error file=problems/pumps/plant.yaml,line=" in said


def test_the_action_passes_and_fails_as_it_must(door: Door, repository: Path) -> None:
    page = Path("summary.md").absolute()
    assert action(door, page) == [0, 0]
    found = {path.name for path in Path("engiagent-reports").iterdir()}
    assert found == {"junit.xml", "lint.sarif", "summary.md"}
    plant = repository / "plant.yaml"
    plant.write_text(PLANT.replace("charge_power_max: 30 kW", "charge_power_max: 30 kWh"), "utf-8")
    lint, check = action(door, page)
    assert lint == 1
    assert check != 0
    assert "problems/pumps" in page.read_text("utf-8")


def test_the_hooks_let_a_sound_commit_through_and_no_other(door: Door, repository: Path) -> None:
    install_hooks()
    git("add", "problems")
    with door.step("git commit of a sound plant"):
        git("commit", "-q", "-m", "A pumping station")
    plant = repository / "plant.yaml"
    plant.write_text(PLANT.replace("model: battery", "model: batery"), "utf-8")
    git("add", "problems")
    with door.step("git commit of a slip"):
        said = git("commit", "-q", "-m", "A slip", code=1)
    assert "unknown model" in said
    assert "expected 'battery'" in said
    plant.write_text(PLANT, "utf-8")
    schedule = repository / "schedule.csv"
    schedule.write_text(schedule.read_text("utf-8").replace(",15,", ",45,"), "utf-8")
    git("add", "problems")
    with door.step("git commit of a schedule that breaks a limit"):
        said = git("commit", "-q", "-m", "A broken plan", code=1)
    assert "violated" in said
    assert git("rev-list", "--count", "HEAD").strip() == "1"


def test_a_client_that_sees_only_tools(door: Door, repository: Path) -> None:
    """What to call next comes from the answers alone."""
    command = StdioServerParameters(
        command="engiagent", args=["mcp", "--workspace", "problems"], env=dict(os.environ)
    )

    async def talk() -> dict[float, Any]:
        found: dict[float, Any] = {}
        async with Client(command) as client:
            described = {tool.name: tool.description for tool in (await client.list_tools()).tools}
            assert all(described.values())

            async def reach(tool: str, **arguments: Any) -> Any:
                answer = await client.call_tool(tool, arguments)
                while answer.structured_content.get("status") == "blocked":
                    await reach(answer.structured_content["first"])
                    answer = await client.call_tool(tool, arguments)
                assert not answer.is_error, answer.content
                return answer.structured_content

            await reach("load_problem", path="pumps")
            found[80] = await reach("check")
            for capacity in (40, 120):
                change = {"name": "battery.energy_capacity", "value": capacity, "unit": "kWh"}
                await reach("set_parameter", **change)
                found[capacity] = await reach("check")
            await reach("report", folder="larger")
        return found

    with door.step("MCP over standard input and output: three sizes"):
        found = anyio.run(talk)
    for capacity, answer in found.items():
        assert answer["verdict"] == "certified"
        assert answer["objective"]["value"] == pytest.approx(best(capacity))
    assert found[80]["overrides"] == []
    assert found[80]["line"] == "certified"
    (changed,) = found[120]["overrides"]
    assert (changed["before"], changed["after"], changed["unit"]) == (80, 120, "kWh")
    said = door.types("engiagent check problems/larger")
    assert f"pumps: {found[120]['line']}\n" in said
    assert found[120]["line"].startswith("certified with 1 value changed by the user: ")
    assert "the stored certificate holds" in said

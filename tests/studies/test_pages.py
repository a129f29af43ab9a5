"""The commands on the pages about studies and continuous integration give what is shown there."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from engiagent.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = ("studies.md", "continuous-integration.md")


def examples(page: str) -> list[tuple[str, list[str]]]:
    """Return each command of a page with the lines shown below it."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    shown = re.findall(r"^```console\n\$ (.*?)^```$", text, re.M | re.S)
    return [(block.split("\n")[0], block.rstrip("\n").split("\n")[1:]) for block in shown]


@pytest.mark.parametrize(
    ("command", "lines"), [e for page in PAGES for e in examples(page)], ids=lambda e: str(e)[:40]
)
def test_the_commands_give_what_is_shown(
    command: str, lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "problems").symlink_to(ROOT / "problems")
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command)
    assert words[0] == "engiagent"
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == 0, result.output
    assert lines
    for line in lines:
        assert line in result.output


def test_the_inputs_of_the_action_are_those_on_the_page() -> None:
    action = YAML(typ="safe").load((ROOT / "action.yml").read_text("utf-8"))
    text = (ROOT / "docs/continuous-integration.md").read_text("utf-8")
    table = text.partition("| input |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", table, re.M) == list(action["inputs"])


def test_the_hooks_on_the_page_exist() -> None:
    hooks = {h["id"] for h in YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    text = (ROOT / "docs/continuous-integration.md").read_text("utf-8")
    assert set(re.findall(r"- id: (engiagent-\w+)", text)) == hooks

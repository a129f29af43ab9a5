"""The page on continuous integration names the inputs and hooks that there are."""

import re
from pathlib import Path

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]


def test_the_inputs_of_the_action_are_those_on_the_page() -> None:
    action = YAML(typ="safe").load((ROOT / "action.yml").read_text("utf-8"))
    text = (ROOT / "docs/continuous-integration.md").read_text("utf-8")
    table = text.partition("| input |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", table, re.M) == list(action["inputs"])


def test_the_hooks_on_the_page_exist() -> None:
    hooks = {h["id"] for h in YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    text = (ROOT / "docs/continuous-integration.md").read_text("utf-8")
    assert set(re.findall(r"- id: (engiagent-\w+)", text)) == hooks

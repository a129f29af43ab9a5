"""The steps of the GitHub action, run as GitHub runs them."""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Step:
    """A step that runs a script in bash, with what stands in its environment."""

    name: str
    script: str
    settings: Mapping[str, str]

    def run(self, **around: str) -> subprocess.CompletedProcess[str]:
        """Run it in the working folder of this process."""
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", self.script]
        env = {**os.environ, **self.settings, **around}
        return subprocess.run(shell, env=env, capture_output=True, text=True, timeout=300)


def steps_of_action(place: Path = ROOT) -> list[Step]:
    """Return the steps of the action in a checkout of it, with its default inputs."""
    wanted = YAML(typ="safe").load((place / "action.yml").read_text("utf-8"))
    known = {f"inputs.{name}": str(item["default"]) for name, item in wanted["inputs"].items()}
    known["github.action_path"] = str(place)

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: known[found[1]], text)

    return [
        Step(step["name"], step["run"], {k: filled(v) for k, v in step["env"].items()})
        for step in wanted["runs"]["steps"]
        if "run" in step
    ]

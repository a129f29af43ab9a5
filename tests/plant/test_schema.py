"""The JSON Schema of plant files says of a file what the reader says of its shape."""

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from engiagent.cli.app import app
from engiagent.cli.problems import TEMPLATES
from engiagent.io.plainyaml import loads_yaml
from tests.plant.plants import SMALL


@pytest.fixture(scope="module")
def validator() -> Any:
    text = CliRunner().invoke(app, ["schema", "plant"]).output
    jsonschema.Draft202012Validator.check_schema(json.loads(text))
    return jsonschema.Draft202012Validator(json.loads(text))


def test_what_is_read_is_valid(validator: Any) -> None:
    assert files("engiagent.plant").joinpath("schema.py").is_file()
    validator.validate(loads_yaml(SMALL, "plant.yaml"))
    for name in TEMPLATES:
        text = files("engiagent.cli").joinpath("templates", name, "problem.md").read_text("utf-8")
        validator.validate(loads_yaml(text.split("```yaml engiagent\n")[1].split("```")[0], name))


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("energy_capacity", "energy_capacty"),
        ("model: battery", "model: batery"),
        ("step: 1 h", "stp: 1 h"),
        ("goal:", "gaol:"),
        ("  load:", "  2load:"),
    ],
)
def test_what_is_refused_is_invalid(written: str, instead: str, validator: Any) -> None:
    assert not validator.is_valid(loads_yaml(SMALL.replace(written, instead), "plant.yaml"))

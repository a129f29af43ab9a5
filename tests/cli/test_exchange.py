"""``emit`` to LP, MPS and LaTeX, and ``import`` of what others wrote."""

import json
from pathlib import Path

import pytest

from engiagent.blueprint import Blueprint
from tests.cli import blueprints
from tests.cli.asking import invoke


@pytest.mark.parametrize(
    ("form", "start"), [("lp", "Maximize\n"), ("mps", "NAME "), ("latex", "\\documentclass")]
)
def test_emit(tmp_path: Path, form: str, start: str) -> None:
    path = blueprints.products(tmp_path / "products.json")
    out = tmp_path / "out.txt"
    result = invoke("emit", path, "--to", form, "-o", out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert out.read_text().startswith(start)
    assert invoke("emit", path, "--to", form).stdout == out.read_text()


def test_the_blueprint_goes_to_standard_output_without_a_file(tmp_path: Path) -> None:
    model = tmp_path / "model.lp"
    model.write_text("max 2 x\nst\n c: x <= 4\nend\n")
    assert Blueprint.from_json(invoke("import", model).stdout).core.decision_variables
    result = invoke("import", model, "--json")
    assert result.exit_code == 2
    assert "--out" in result.stderr


def test_what_cannot_be_read_is_located(tmp_path: Path) -> None:
    model = tmp_path / "model.lp"
    model.write_text("max 2 x\nst\n c: x <= four\nend\n")
    out = tmp_path / "b.json"
    out.write_text("kept")
    model.write_text("max 2 x\nst\n c: 2 <= <= 4\nend\n")
    result = invoke("import", model, "--out", out, "--json")
    assert result.exit_code == 2
    assert "model.lp:3: this is no sum; found '<= <= 4'; expected terms left" in result.stderr
    assert json.loads(result.stdout)["error"]
    assert out.read_text() == "kept"
    assert invoke("import", tmp_path / "none.mps").exit_code == 2
    assert invoke("import", tmp_path, "--out", out).exit_code == 2

"""What is made from the code is what the code says now."""

import ast
import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("certificate", "components", "physics", "reference")
MADE = {**{name: f"{name}.md" for name in PAGES}, "drawing": "packages.svg"}


@pytest.mark.parametrize("script", MADE)
def test_a_page_made_from_the_code_is_up_to_date(
    script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(ROOT / f"docs/_ext/{script}.py"), run_name="__main__")
    kept = (ROOT / "docs" / MADE[script]).read_text("utf-8")
    assert capsys.readouterr().out == kept, "run make pages"


def test_every_model_with_an_equation_or_a_source_is_on_the_page() -> None:
    text = (ROOT / "docs/physics.md").read_text("utf-8")
    for path in (ROOT / "models").rglob("*.py"):
        docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        if ".. math::" in docstring or "Source: " in docstring:
            parts = path.relative_to(ROOT).with_suffix("").parts
            assert f"### `{'.'.join(('engiagent', *parts))}`" in text
    for left in (".. math::", ":math:", "::", "\n===="):
        assert left not in text


def test_the_drawing_shows_every_package_and_loads_nothing() -> None:
    text = (ROOT / "docs/packages.svg").read_text("utf-8")
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    shown = {node.text for node in root.iter(f"{space}text")}
    packages = {path.parent.name for path in (ROOT / "engiagent").glob("*/__init__.py")}
    assert packages <= shown
    assert not list(root.iter(f"{space}script"))
    assert "href" not in text

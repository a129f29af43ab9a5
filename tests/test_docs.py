"""The pages say what is so."""

import importlib.util
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from ruamel.yaml import YAML

from engiagent import __version__
from engiagent.cli.exit_codes import MEANINGS

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "notebooks/README.md"])
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s#]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text("utf-8")):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (page.parent / target).exists(), target


def anchors(page: Path) -> set[str]:
    """Return the names that GitHub gives to the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_a_heading_find_it(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)\s#:]*)#([^)]+)\)", page.read_text("utf-8")):
        assert anchor in anchors(page.parent / target if target else page), (target, anchor)


def test_the_table_of_exit_codes_is_the_one_in_use() -> None:
    text = (ROOT / "docs/exit-codes.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", text, re.MULTILINE)
    assert {int(code): meaning for code, meaning in rows} == dict(MEANINGS)


def test_the_citation_file_is_valid_and_current() -> None:
    citation = YAML(typ="safe").load((ROOT / "CITATION.cff").read_text("utf-8"))
    required = {"cff-version", "message", "title", "authors"}
    known = required | {"type", "abstract", "license", "version", "keywords"}
    assert required <= set(citation) <= known
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == __version__


def test_decisions_are_numbered_without_a_gap() -> None:
    names = [p.name for p in sorted((ROOT / "docs/decisions").glob("[0-9]*.md"))]
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))


def test_modules_named_in_the_architecture_exist() -> None:
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        package = re.match(r"`(engiagent\.\w+)`", part)
        tables = re.findall(r"^\| module \| what \|\n\|---\|---\|\n((?:\|.+\n)+)", part, re.M)
        for row in "".join(tables).splitlines():
            for name in re.findall(r"`([\w.]+)`", row.split(" | ")[0]):
                assert package is not None
                assert importlib.util.find_spec(f"{package[1]}.{name}"), name


def test_make_targets_named_in_the_pages_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        assert set(re.findall(r"(?:`|^)make ([a-z]+)", page.read_text("utf-8"), re.M)) <= targets


def test_the_python_of_the_page_on_definitions_runs() -> None:
    text = (ROOT / "docs/definitions.md").read_text("utf-8")
    (snippet,) = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    core = json.loads(re.findall(r"^```json run\n(.*?)^```$", text, re.M | re.S)[0])
    document = {
        "schema": "engiagent-blueprint/1",
        "kind": "definitions",
        "modeling_context": {"problem_essence": "the first example of the page"},
        "core_model_elements": {"decision_variables": [], "constraints": [], **core},
    }
    scope: dict[str, Any] = {"document": document}
    exec(compile(snippet, "definitions.md", "exec"), scope)
    assert set(scope["dataset"].data_vars) >= {item["name"] for item in core["definitions"]}


def test_the_picture_of_the_readme_is_a_drawing_of_ours_and_loads_nothing() -> None:
    text = (ROOT / "docs/merchant_day.svg").read_text("utf-8")
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "href" not in text
    assert "url(" not in text
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))

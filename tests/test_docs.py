"""The pages say what is so."""

import re
import subprocess
import sys
from pathlib import Path
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


def test_make_targets_named_in_the_pages_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        assert set(re.findall(r"(?:`|^)make ([a-z]+)", page.read_text("utf-8"), re.M)) <= targets


def test_the_notebook_runs_as_a_script(tmp_path: Path) -> None:
    script = ROOT / "notebooks/battery_day.py"
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "certified" in done.stdout
    assert "battery.state_of_charge: " in done.stdout
    assert "report.html" in done.stdout


def test_the_picture_of_the_readme_is_a_drawing_of_ours_and_loads_nothing() -> None:
    text = (ROOT / "docs/merchant_day.svg").read_text("utf-8")
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "href" not in text
    assert "url(" not in text
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))

"""The site builds without a warning, leads nowhere in vain, and asks nobody for anything."""

import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOADING = {
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "image": "href",
    "img": "src",
    "input": "src",
    "link": "href",
    "object": "data",
    "script": "src",
    "source": "src",
    "track": "src",
    "use": "href",
    "video": "src",
}
"""Elements whose attribute a browser fetches by itself."""


class Page(HTMLParser):
    """What a page loads, where it leads, and what can be led to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag in LOADING and LOADING[tag] in found:
            self.loads.append(found[LOADING[tag]])
        self.loads += [found[name] for name in ("srcset", "poster") if name in found]
        self.loads += styled(found.get("style", ""))
        if tag == "a" and "href" in found:
            self.leads.append(found["href"])
        self.anchors |= {found[name] for name in ("id", "name") if name in found}


def styled(text: str) -> list[str]:
    """Return what a style sheet loads."""
    return re.findall(r"""(?:url\(|@import\s)\s*["']?([^"')\s;]+)""", text)


@cache
def parsed(page: Path) -> Page:
    return Page(page.read_text("utf-8"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as ``make docs`` does: any warning is an error."""
    out = tmp_path_factory.mktemp("site")
    trees = tmp_path_factory.mktemp("doctrees")
    done = subprocess.run(
        f"{sys.executable} -m sphinx -W --keep-going -q -b html -d {trees} docs {out}".split(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    return out


def test_every_page_is_there(site: Path) -> None:
    sources = (ROOT / "docs").rglob("*.md")
    names = {path.relative_to(ROOT / "docs").with_suffix("") for path in sources}
    assert names <= {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")}


def test_a_browser_fetches_nothing_from_outside(site: Path) -> None:
    for page in site.rglob("*.html"):
        for target in parsed(page).loads:
            found = urlsplit(target)
            assert found.scheme in ("", "data"), (page.name, target)
            assert not found.netloc, (page.name, target)
            if not found.scheme and found.path:
                assert (page.parent / unquote(found.path)).is_file(), (page.name, target)
    for sheet in site.rglob("*.css"):
        for target in styled(sheet.read_text("utf-8")):
            assert urlsplit(target).scheme in ("", "data"), (sheet.name, target)
            assert not target.startswith("//"), (sheet.name, target)
    for script in site.rglob("*.js"):
        text = script.read_text("utf-8")
        assert not re.search(r"""(?:fetch|open|import)\(\s*["'`](?:https?:)?//""", text), (
            script.name
        )


def test_every_link_inside_leads_to_a_page_and_a_heading_of_it(site: Path) -> None:
    for page in site.rglob("*.html"):
        for target in parsed(page).leads:
            found = urlsplit(target)
            if found.scheme or found.netloc:
                continue
            goal = page.parent / unquote(found.path) if found.path else page
            assert goal.is_file(), (page.name, target)
            if found.fragment and goal.suffix == ".html":
                assert unquote(found.fragment) in parsed(goal.resolve()).anchors, (
                    page.name,
                    target,
                )


def test_formulas_are_drawn_by_the_browser_itself(tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text(
        "# A page\n\n$E = m c^2$ and\n\n$$\n\\frac{dE}{dt} = -k E\n$$\n"
    )
    build = [sys.executable, "-m", "sphinx", "-W", "-q", "-c", str(ROOT / "docs")]
    done = subprocess.run(
        [*build, str(tmp_path), str(tmp_path / "out")], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out/index.html").read_text("utf-8")
    assert text.count("<math") == 2
    assert "<mfrac>" in text
    assert not re.search(r"<script[^>]*mathjax", text, re.IGNORECASE)

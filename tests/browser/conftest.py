"""Chromium, and pages of real runs for it: a report, a batch, a comparison, the viewer.

Where there is no Chromium the tests are skipped.
"""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import pytest
from click.testing import CliRunner
from playwright.sync_api import ViewportSize

from engiagent.agents.runs import run_problem, solve_blueprint
from engiagent.blueprint import Blueprint
from engiagent.cli.app import app
from engiagent.report import compare, write_batch
from engiagent.text import corpus_root
from tests.plant.plants import problem
from tests.plant.test_representative import DAYS
from tests.plant.test_representative import PLANT as YEAR

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM: Final = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
# As root a sandbox needs what a container has not; the rest keeps the browser from calling home.
FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--hide-scrollbars",
)
WIDE: Final = ViewportSize(width=1200, height=900)
MODES: Final[dict[str, tuple[ViewportSize, Literal["light", "dark"], str]]] = {
    # What a page is asked about: everything once, then what light and width can change.
    "light": (WIDE, "light", "{}"),
    "dark": (WIDE, "dark", "{runOnly: ['color-contrast']}"),
    "print": (ViewportSize(width=688, height=970), "light", "{runOnly: ['color-contrast']}"),
    "narrow": (
        ViewportSize(width=360, height=740),
        "light",
        "{runOnly: ['scrollable-region-focusable', 'target-size', 'meta-viewport']}",
    ),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip where there is no browser."""
    if CHROMIUM is not None:
        return
    skip = pytest.mark.skip(reason="there is no Chromium; on Debian: apt-get install chromium")
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(skip)


@dataclass
class Opened:
    """An open page with everything that it asked for and complained of."""

    page: "Page"
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def turn(self, mode: str) -> None:
        """Make it light, dark, narrow or printed on A4."""
        viewport, light, _ = MODES[mode]
        media: Literal["print", "screen"] = "print" if mode == "print" else "screen"
        self.page.emulate_media(color_scheme=light, media=media)
        self.page.set_viewport_size(viewport)

    def axe(self, mode: str) -> list[str]:
        """Return what axe finds wrong, a line for each rule."""
        if not self.page.evaluate("'axe' in self"):
            self.page.evaluate(_axe())
        rest = "" if mode == "light" else "tbody tr:nth-child(n+6)"
        found: list[str] = self.page.evaluate(_FINDINGS, [MODES[mode][2], rest])
        return found

    def sticks_out(self) -> int:
        """Return by how many pixels the page is wider than the window."""
        wide: int = self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return wide

    def clipped(self) -> list[str]:
        """Return the tables of which a part is hidden, wider than what holds them."""
        found: list[str] = self.page.evaluate(_CLIPPED)
        return found


# Rows of one table are alike in all that light and width change; the first ones stand for all.
_FINDINGS: Final = """([rules, rest]) => axe.run(
    {include: [['html']], exclude: rest ? [[rest]] : []}, eval(`(${rules})`)
).then(found => found.violations.map(
    one => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map(node => node.html.slice(0, 200))}`
))"""


_CLIPPED: Final = """Array.from(document.querySelectorAll('.scroll:has(table)'))
    .filter(box => !box.matches('details:not([open]) *'))
    .filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.ariaLabel)"""


def _axe() -> str:
    return files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")


# For one file only: while Playwright runs so does its loop, and other tests need one of theirs.
@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield chromium
        chromium.close()


Open = Callable[..., Opened]


@pytest.fixture
def visit(browser: "Browser") -> Iterator[Open]:
    """Return a function that opens an address in a window of its own."""
    contexts: list[BrowserContext] = []

    def go(address: str, *, script: bool = True) -> Opened:
        # What a page may load is kept in force but where axe, a script, has to be let in.
        context = browser.new_context(
            viewport=WIDE, bypass_csp=script, java_script_enabled=script, accept_downloads=True
        )
        contexts.append(context)
        opened = Opened(context.new_page())
        opened.page.on("request", lambda request: opened.asked.append(request.url))
        opened.page.on("console", lambda message: _heard(opened, message.type, message.text))
        opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        opened.page.goto(address)
        return opened

    yield go
    for context in contexts:
        context.close()


def _heard(opened: Opened, kind: str, text: str) -> None:
    if kind in ("error", "warning"):
        opened.complaints.append(text)


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs: two certified, one of them a year, one lacks data, one is infeasible."""
    folder, corpus = tmp_path_factory.mktemp("work") / "runs", corpus_root()
    run_problem(corpus / "battery" / "merchant_day", out=folder / "merchant_day")
    run_problem(corpus / "battery" / "missing_efficiency", out=folder / "missing_efficiency")
    run_problem(corpus / "hvac" / "campus_tank_year", out=folder / "campus_tank_year")
    cold = corpus / "thermal" / "cold_snap_infeasible" / "expert" / "blueprint.json"
    solve_blueprint(cold, folder / "cold_snap")
    return folder


@pytest.fixture(scope="session")
def pages(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The addresses of every kind of page that stands alone."""
    out = tmp_path_factory.mktemp("pages")
    (out / "compare.html").write_text(compare([runs / "merchant_day", runs / "cold_snap"]))
    spec = ["study", "sweep", str(corpus_root() / "battery" / "merchant_day")]
    spec += ["--vary", "battery.energy_capacity=20,30[MWh]", "--out", str(out / "study")]
    assert CliRunner().invoke(app, spec).exit_code == 0
    shutil.move(out / "study" / "sweep.html", out / "study.html")
    shutil.rmtree(out / "study")
    batch = write_batch(runs)
    shutil.copy(batch, out / "batch.html")
    batch.unlink()
    found = {path.stem: path.as_uri() for path in out.iterdir()}
    cold = Blueprint.load(runs / "cold_snap" / "blueprint.json")
    cold.control(6, progress=False, actual={"T_out": [-8.0] * 6}).report(out / "loop.html")
    found["loop"] = (out / "loop.html").as_uri()
    sized = tmp_path_factory.mktemp("sized")
    problem(sized, YEAR, days_csv=DAYS)
    run_problem(sized / "plant.yaml", out=sized / "run")
    found["report_sized"] = (sized / "run" / "report.html").as_uri()
    return found | {
        f"report_{run}": (runs / run / "report.html").as_uri()
        for run in ("merchant_day", "missing_efficiency", "cold_snap", "campus_tank_year")
    }

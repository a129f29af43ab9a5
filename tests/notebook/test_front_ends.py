"""What front ends get: HTML that survives their sanitisers, formulas, progress, a magic, tasks."""

import asyncio
import base64
import io
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.notebook.magics import Reading, read_cell
from engiagent.notebook.progress import Shown
from engiagent.solvers.result import Progress
from engiagent.text import Problem, corpus_root
from tests.cli.blueprints import market_split

# What JupyterLab leaves of the output of a notebook that is not trusted, as far as it is used here
# (its sanitizer.ts, November 2026): neither svg nor style nor script nor math.
PLAIN = "b br caption details div li p pre small span summary table tbody td thead tr ul"
ALLOWED = {**dict.fromkeys(PLAIN.split(), ()), "img": ("alt", "src", "width"), "th": ("scope",)}
STYLES = (
    "border, border-radius, color, cursor, font-size, font-weight, margin, max-width, opacity, "
    "padding, padding-left, text-align, white-space"
)
VOID = {"img", "br"}


class Sanitiser(HTMLParser):
    """Notes what would be taken out, and what is not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[str] = []
        self.open: list[str] = []
        self.images: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        if tag not in ALLOWED:
            self.taken.append(tag)
        for name, value in attrs:
            if name == "style":
                styles = [part.partition(":") for part in (value or "").split(";")]
                self.taken += [
                    n.strip() for n, _, _ in styles if n.strip() not in (*STYLES.split(", "), "")
                ]
                self.taken += [v for _, _, v in styles if "(" in v]  # no var(), no url()
            elif name not in ALLOWED.get(tag, ()):
                self.taken.append(f"{tag} {name}")
            if name == "src":
                self.images.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def everything() -> list[Any]:
    problem = Problem.load("merchant_day")
    blueprint = problem.analyse()
    solution = blueprint.solve()
    edited = blueprint.set("battery.charge_power_max", 6, "MW")
    return [
        problem,
        problem.audit(),
        blueprint,
        blueprint.lint(),
        solution,
        solution.certificate,
        edited.solve().check(against="problem"),
        solution.explain(),
        blueprint.diff(edited),
        solution.plot(),
        Reading(problem, None, None, "a <b>trouble</b>"),
    ]


@pytest.fixture(scope="module")
def shown() -> list[Any]:
    return everything()


def test_everything_shows_itself_where_a_notebook_is_not_trusted(shown: list[Any]) -> None:
    images = 0
    for item in shown:
        reader = Sanitiser()
        reader.feed(item._repr_html_())
        assert reader.taken == [], type(item)
        assert reader.open == []
        for source in reader.images:
            head, _, data = source.partition(",")
            assert head == "data:image/svg+xml;base64"
            svg = base64.b64decode(data).decode("utf-8")
            assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
            images += 1
    assert images >= 2


def test_everything_has_a_plain_repr_for_a_console(shown: list[Any]) -> None:
    for item in shown:
        text = repr(item)
        assert text
        assert "object at 0x" not in text
        assert "<div" not in text


def test_what_a_text_says_is_never_markup(tmp_path: Path) -> None:
    text = "# <img src=x onerror=alert(1)>\n\nThe <script>alert(1)</script> stores 5 kWh.\n"
    html = Problem.from_text(text, folder=tmp_path / "p")._repr_html_()
    assert "<script" not in html
    assert "<img" not in html


def test_formulas_are_set_by_a_notebook_and_are_those_of_the_document(shown: list[Any]) -> None:
    blueprint = shown[2]
    latex = blueprint._repr_latex_()
    assert latex.startswith("$$\\begin{aligned}")
    assert latex.endswith("\\end{aligned}$$")
    assert latex.count("{") == latex.count("}")
    document = "".join(blueprint.to_latex().split())
    for formula in blueprint.equations().formulas:
        assert "".join(formula.lines[0].split()) in document
    assert r"\forall\, t \in" in latex


class Terminal(io.StringIO):
    """A terminal that remembers."""

    def isatty(self) -> bool:
        return True


def test_progress_is_one_line_of_a_terminal_and_is_taken_back() -> None:
    stream = Terminal()
    with Shown("day", stream) as shown:
        shown(Progress(elapsed=1.0, iterations=5))
        shown(Progress(elapsed=2.0, objective=3.5))
    text = stream.getvalue()
    assert "\n" not in text
    assert "best 3.5" in text
    assert text.endswith(f"{' ' * 100}\r")


def test_progress_says_nothing_into_a_log() -> None:
    stream = io.StringIO()
    with Shown("day", stream) as shown:
        shown(Progress(elapsed=1.0, iterations=5))
    assert stream.getvalue() == ""


def test_a_task_solves_beside_others_and_gives_the_same() -> None:
    blueprint = Problem.load("merchant_day").analyse()

    async def both() -> tuple[float | None, int]:
        ticks = 0
        task = asyncio.ensure_future(blueprint.asolve())
        while not task.done():
            await asyncio.sleep(0.01)
            ticks += 1
        return task.result().objective, ticks

    objective, ticks = asyncio.run(both())
    assert objective == pytest.approx(blueprint.solve().objective, rel=1e-9)
    assert ticks > 3


def test_a_cancelled_task_stops_the_solver(tmp_path: Path) -> None:
    blueprint = Blueprint.load(market_split(tmp_path / "split.json"))

    async def cancelled() -> float:
        task = asyncio.ensure_future(blueprint.asolve(time_limit=60))
        await asyncio.sleep(1.0)
        began = time.perf_counter()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return time.perf_counter() - began

    assert asyncio.run(cancelled()) < 10.0


def cell() -> str:
    return (corpus_root() / "battery" / "merchant_day" / "problem.md").read_text("utf-8")


DATA = corpus_root() / "battery" / "merchant_day"


def test_a_cell_is_a_problem_with_its_audit_and_what_keeps_it_from_a_plan() -> None:
    name, found = read_cell(f"day --data '{DATA}'", cell())
    assert name == "day"
    assert found.problem.id == "merchant_day"
    assert found.audit is not None
    assert found.audit.verdict == "undecided"  # prose alone, nothing is stored beside it
    assert found.blueprint is None
    assert "engiagent new" in found.trouble


def test_a_text_that_cannot_be_modelled_says_so_and_keeps_the_problem() -> None:
    _, found = read_cell("--no-audit", "# Poem\n\nThe river is wide and slow.\n")
    assert found.blueprint is None
    assert "could not be modelled" in repr(found)
    with pytest.raises(EngiagentError, match="could not be modelled"):
        found.solve()


@pytest.mark.parametrize("line", ["1x", "--engine", "--set a", "'", "a b"])
def test_a_line_that_cannot_be_read_says_how_it_is_written(line: str) -> None:
    with pytest.raises(InputError):
        read_cell(line, cell())

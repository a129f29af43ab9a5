"""What front ends get: HTML that survives their sanitisers, formulas, progress."""

import base64
import io
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from engiagent.notebook.progress import Shown
from engiagent.solvers.result import Progress
from engiagent.text import Problem

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
        solution.plot(),
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

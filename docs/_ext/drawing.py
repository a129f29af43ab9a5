"""The drawing of the packages and their imports on the page about architecture.

``python docs/_ext/drawing.py > docs/packages.svg`` writes it; a test holds it to the code.
"""

from collections.abc import Iterator
from html import escape
from typing import Final

from imports import Graph, condensed, levels, packages, reduced

WIDTH: Final = 860
BOX: Final = 28
STEP: Final = 78
LETTER: Final = 7.4
STYLE: Final = (
    "rect{fill:#fff;stroke:#345} rect.circle{fill:#eef3f8;stroke:#345;stroke-dasharray:4 3}"
    " path{fill:none;stroke:#678;stroke-width:1.2} text{fill:#123;font:13px sans-serif;"
    "text-anchor:middle} marker path{fill:#678;stroke:none}"
)
HEAD: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
    'aria-labelledby="title about"><title id="title">Packages of engiagent and their imports'
    '</title><desc id="about">{about}</desc><style>{style}</style><defs><marker id="tip" '
    'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0 8 4 0 8z"/></marker></defs>'
    '<rect x="0" y="0" width="{width}" height="{height}" style="stroke:none"/>'
)

Group = frozenset[str]


def drawing(graph: Graph) -> str:
    """Return the drawing: rows of packages, an arrow from each to what it imports.

    An import that follows from others is left out; packages that all import one another in the
    end share a frame.
    """
    rows = levels(graph)[::-1]
    places = {group: place for number, row in enumerate(rows) for group, place in _row(row, number)}
    edges = reduced(condensed(graph))
    about = "; ".join(f"{_name(a)} imports {_name(b)}" for a, b in edges)
    height = len(rows) * STEP - STEP + 3 * BOX
    lines = [HEAD.format(width=WIDTH, height=height, about=escape(about), style=STYLE)]
    lines += [_arrow(places[one], places[other]) for one, other in edges]
    for group, place in sorted(places.items(), key=lambda item: sorted(item[0])):
        lines += _box(group, place)
    return "\n".join([*lines, "</svg>", ""])


def _name(group: Group) -> str:
    return " + ".join(sorted(group))


def _width(text: str) -> float:
    return round(len(text) * LETTER + 18, 1)


def _span(group: Group) -> float:
    inner = sum(_width(name) for name in sorted(group)) + 8 * (len(group) - 1)
    return inner + (16 if len(group) > 1 else 0)


Place = tuple[float, float, float]
"""Left, top and width of a group."""


def _row(row: list[Group], number: int) -> Iterator[tuple[Group, Place]]:
    """Yield where the groups of a row stand, spread over the width."""
    free = (WIDTH - sum(map(_span, row))) / (len(row) + 1)
    left = free
    for group in row:
        yield group, (left, BOX + number * STEP, _span(group))
        left += _span(group) + free


def _arrow(start: Place, end: Place) -> str:
    frame = 8
    x1, y1 = start[0] + start[2] / 2, start[1] + BOX + frame / 2
    x2, y2 = end[0] + end[2] / 2, end[1] - frame
    bend = (y2 - y1) / 2
    return (
        f'<path marker-end="url(#tip)" d="M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 + bend:.0f} '
        f'{x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2:.0f}"/>'
    )


def _box(group: Group, place: Place) -> Iterator[str]:
    left, top, width = place
    if len(group) > 1:
        yield (
            f'<rect class="circle" x="{left:.1f}" y="{top - 7}" width="{width:.1f}" '
            f'height="{BOX + 14}" rx="8"/>'
        )
        left += 8
    for name in sorted(group):
        wide = _width(name)
        yield f'<rect x="{left:.1f}" y="{top}" width="{wide:.1f}" height="{BOX}" rx="4"/>'
        yield f'<text x="{left + wide / 2:.1f}" y="{top + 19}">{escape(name)}</text>'
        left += wide + 8


if __name__ == "__main__":
    print(drawing(packages()), end="")

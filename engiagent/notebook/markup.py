"""HTML that notebooks show without being trusted: no script, no style sheet, no SVG element.

Jupyter takes everything else out of the output of a notebook that somebody else ran. So styles
stand inline and pictures are images with their data inside; colours are left to the page, which may
be light or dark.
"""

import base64
from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

from engiagent.report.charts.markup import printable

TONES = {"good": "#1a7f37", "bad": "#cf222e", "open": "#9a6700"}
"""Readable on white and on black."""
_CELL = "text-align: left; padding: 2px 12px 2px 0px"
_NUMBER = "text-align: right; padding: 2px 12px 2px 0px"
MOST_ROWS = 40


def card(title: str, *parts: Markup | str, kicker: str = "") -> str:
    """Return a block with a heading; texts among the parts become paragraphs."""
    above = Markup('<div style="font-size: 85%; opacity: 0.8">{}</div>').format(kicker)
    body = _body(parts)
    head = Markup('<div style="font-weight: bold; font-size: 115%">{}</div>').format(title)
    whole = Markup('<div style="margin: 4px 0px 12px 0px">{}{}{}</div>')
    return printable(str(whole.format(above if kicker else "", head, body)))


def _body(parts: Iterable[Markup | str]) -> Markup:
    return Markup("").join(part if isinstance(part, Markup) else paragraph(part) for part in parts)


def paragraph(text: str) -> Markup:
    """Return a paragraph; nothing for an empty text."""
    return Markup('<p style="margin: 4px 0px">{}</p>').format(text) if text else Markup("")


def badge(word: str, tone: str, symbol: str = "") -> Markup:
    """Return a word that stands out, by its mark and its frame as well as by its colour."""
    colour = TONES.get(tone, "")
    look = f"border: 1px solid {colour}; color: {colour}" if colour else "border: 1px solid"
    return Markup(
        '<span style="{}; border-radius: 4px; padding: 1px 8px; font-weight: bold">{}{}</span>'
    ).format(look, f"{symbol} " if symbol else "", word)


def facts(pairs: Iterable[tuple[str, str]]) -> Markup:
    """Return names and values as two columns."""
    rows = Markup("").join(
        Markup('<tr><th scope="row" style="{}">{}</th><td style="{}">{}</td></tr>').format(
            _CELL, name, _CELL, value
        )
        for name, value in pairs
        if value != ""
    )
    return Markup("<table>{}</table>").format(rows) if rows else Markup("")


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    caption: str = "",
    numbers: Sequence[int] = (),
    most: int = MOST_ROWS,
) -> Markup:
    """Return a table; what is beyond its most rows is counted.

    ``numbers``: the columns that hold numbers, which stand on the right.
    """
    if not rows:
        return Markup("")
    looks = [_NUMBER if column in numbers else _CELL for column in range(len(head))]

    def cells(form: str, row: Sequence[str]) -> Markup:
        pairs = zip(looks, row, strict=True)
        return Markup("").join(Markup(form).format(look, cell) for look, cell in pairs)

    heads = cells('<th scope="col" style="{}">{}</th>', head)
    lines = Markup("").join(
        Markup("<tr>{}</tr>").format(cells('<td style="{}">{}</td>', row)) for row in rows[:most]
    )
    said = Markup('<caption style="text-align: left; font-weight: bold">{}</caption>')
    whole = Markup("<table>{}<thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(
        said.format(caption) if caption else "", heads, lines
    )
    rest = len(rows) - most
    return whole + (paragraph(f"and {rest} more") if rest > 0 else Markup(""))


def bullets(lines: Iterable[str]) -> Markup:
    """Return lines as a list."""
    items = Markup("").join(Markup("<li>{}</li>").format(line) for line in lines)
    style = "margin: 4px 0px; padding-left: 20px"
    return Markup('<ul style="{}">{}</ul>').format(style, items) if items else Markup("")


def folded(summary: str, *parts: Markup | str) -> Markup:
    """Return what is shown when somebody asks for it."""
    body = _body(parts)
    form = Markup('<details><summary style="cursor: pointer">{}</summary>{}</details>')
    return form.format(summary, body) if body else Markup("")


def picture(svg: str, said: str, width: int = 760) -> Markup:
    """Return a drawing as an image with its data inside."""
    data = base64.b64encode(svg.encode("utf-8")).decode("ascii")
    return Markup(
        '<img alt="{}" width="{}" style="max-width: 100%" src="data:image/svg+xml;base64,{}">'
    ).format(said, width, data)


def preformatted(text: str) -> Markup:
    """Return a text as it stands, as a problem or a formula is written."""
    style = "white-space: pre-wrap; margin: 4px 0px"
    return Markup('<pre style="{}">{}</pre>').format(style, escape(text))

"""Elements of SVG and MathML, built as trees so that every text and attribute is escaped."""

import re
from xml.etree import ElementTree

from markupsafe import Markup

Element = ElementTree.Element

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def element(tag: str, *children: Element | str, **attributes: str | float) -> Element:
    """Return an element; a trailing underscore of an attribute's name falls away (``class_``).

    >>> render(element("text", "a < b", class_="label", x=1.25))
    Markup('<text class="label" x="1.25">a &lt; b</text>')
    """
    result = Element(
        tag,
        {name.rstrip("_").replace("_", "-"): _text(value) for name, value in attributes.items()},
    )
    for child in children:
        if isinstance(child, str):
            append_text(result, child)
        else:
            result.append(child)
    return result


def append_text(parent: Element, text: str) -> None:
    """Append a text after whatever stands in ``parent`` so far."""
    clean = printable(text)
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + clean
    else:
        parent.text = (parent.text or "") + clean


def render(root: Element) -> Markup:
    """Return the element as markup that stands in an HTML page as it is."""
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def printable(text: str) -> str:
    """Replace characters that no page may hold, as control characters, by a visible mark."""
    return _CONTROL.sub("\ufffd", text)


def _text(value: str | float) -> str:
    return printable(value) if isinstance(value, str) else f"{round(value, 2):g}"

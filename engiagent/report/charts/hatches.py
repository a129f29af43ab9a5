"""Hatches of areas: with a pattern for each style, stacked areas read in grey."""

from typing import Final

from engiagent.report.charts.markup import Element, element

_SIZE: Final = 8
_LINES: Final = (
    "",  # a plain, denser tone
    "M-2 2L2 -2M0 8L8 0M6 10L10 6",
    "M-2 6L2 10M0 0L8 8M6 -2L10 2",
    "M0 2H8M0 6H8",
    "M2 0V8M6 0V8",
    "M0 4H8M4 0V8",
)


def hatches(name: str) -> Element:
    """Return the patterns of all styles; their ids begin with ``name``."""
    group = element("defs")
    for index, lines in enumerate(_LINES):
        pattern = element("pattern", id=f"{name}-s{index}", width=_SIZE, height=_SIZE)
        pattern.set("patternUnits", "userSpaceOnUse")
        tone = "ground" if lines else "solid"
        pattern.append(element("rect", width=_SIZE, height=_SIZE, class_=f"{tone} fill{index}"))
        if lines:
            pattern.append(element("path", d=lines, class_=f"hatch s{index}"))
        group.append(pattern)
    return group

"""The colours and dashes of charts, and the style sheet made from them.

Six colours that stand out from paper and are told apart with every kind of colour blindness; lines
go with dashes of their own, so that they read in grey. Text, axes and grid take the colour of the
text around them.
"""

from collections.abc import Mapping
from typing import Final, Literal

Theme = Literal["auto", "light", "dark"]

STYLES: Final = 6
"""How many series of one chart can be told apart."""

LIGHT: Final[Mapping[str, str]] = {
    "ink": "#1b1f24",
    "paper": "#ffffff",
    "limit": "#5c6470",
    "band": "#09744f",
    "s0": "#073c94",
    "s1": "#bb4d07",
    "s2": "#09744f",
    "s3": "#964085",
    "s4": "#573700",
    "s5": "#353739",
}
DARK: Final[Mapping[str, str]] = {
    "ink": "#e8eaed",
    "paper": "#14171b",
    "limit": "#9aa4b0",
    "band": "#4ed6a7",
    "s0": "#4f99ec",
    "s1": "#e98d5e",
    "s2": "#4ed6a7",
    "s3": "#f6a0df",
    "s4": "#e3ce54",
    "s5": "#fbf1f7",
}
DASHES: Final = ("", "7 3", "2 2", "9 3 2 3", "14 4", "4 4")
_SERIES: Final = ("s0", "s1", "s2", "s3", "s4", "s5", "limit", "band")
_RULES: Final = """\
.drawing text { font-size: 12px; fill: currentColor; font-variant-numeric: tabular-nums; }
.drawing .unit { opacity: .8; }
.drawing .grid { stroke: currentColor; stroke-opacity: .13; }
.drawing .zero, .drawing .base { stroke: currentColor; stroke-opacity: .65; stroke-width: 1; }
.drawing .curve { stroke-width: 2; stroke-linejoin: round; }
.drawing .dense { stroke-width: .8; stroke-dasharray: none; opacity: .85; }
.drawing .limit { stroke: var(--limit); stroke-width: 1.4; stroke-dasharray: 1 4; \
stroke-linecap: round; }
.drawing .over { stroke: currentColor; stroke-opacity: .85; stroke-width: 1.5; \
stroke-dasharray: 10 3 1 3; }
.drawing .band { fill: var(--band); fill-opacity: .16; }
.drawing .area { stroke-width: .7; stroke-dasharray: none; fill-opacity: .6; }
.drawing .mark { stroke-width: 1.6; stroke-dasharray: none; }
.drawing .bar { stroke-width: 1.2; stroke-dasharray: none; fill-opacity: .7; }
.drawing .light { fill-opacity: .15; }
.drawing .heat { stroke: var(--s0); stroke-width: 1; fill: none; }
.drawing .below { stroke: var(--s1); } .drawing .key { stroke-width: 7; }
"""


def style(theme: Theme = "auto") -> str:
    """Return the style sheet of drawings.

    ``theme``: ``auto`` follows the reader's choice of light or dark; ``light`` and ``dark`` write
    the colours out, for programs that know no CSS variables.
    """
    rules = "".join(_series_rule(index) for index in range(STYLES)) + _RULES
    if theme != "auto":
        for name, colour in (LIGHT if theme == "light" else DARK).items():
            rules = rules.replace(f"var(--{name})", colour)
        return rules
    light, dark = (_variables(palette) for palette in (LIGHT, DARK))
    return (
        f".drawing {{ {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ .drawing {{ {dark} }} }}\n{rules}"
    )


def _variables(palette: Mapping[str, str]) -> str:
    return " ".join(f"--{name}: {palette[name]};" for name in _SERIES)


def _series_rule(index: int) -> str:
    dash = f" stroke-dasharray: {DASHES[index]};" if DASHES[index] else ""
    line = f".drawing .s{index} {{ stroke: var(--s{index});{dash} }}"
    return f"{line} .drawing .fill{index} {{ fill: var(--s{index}); }}\n"

"""What the page of diagnostics says of each code; the page ships with the package."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

PAGE: Final = "docs/diagnostics.md"
_HEADING: Final = re.compile(r"^## (EB\d{3}): (error|warning|info), (.+)$", re.MULTILINE)
_FENCE: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Explanation:
    """One code on the page."""

    code: str
    severity: str
    title: str  # what it is, in a few words
    text: str  # what it means and what to do, as one line
    markdown: str  # the whole part of the page, with both examples
    anchor: str  # the name of the heading as a link target

    @property
    def link(self) -> str:
        """Where the page explains the code."""
        return f"{PAGE}#{self.anchor}"


@lru_cache(maxsize=1)
def explanations() -> Mapping[str, Explanation]:
    """Return every code that the page explains, in its order."""
    page = files("engiagent.blueprint").joinpath("diagnostics.md").read_text("utf-8")
    headings = list(_HEADING.finditer(page))
    ends = [match.start() for match in headings[1:]] + [len(page)]
    found = [
        _explanation(match, page[match.start() : end])
        for match, end in zip(headings, ends, strict=True)
    ]
    return MappingProxyType({item.code: item for item in found})


def _explanation(heading: re.Match[str], part: str) -> Explanation:
    body = part[heading.end() - heading.start() :]
    text = " ".join(_FENCE.sub("", body).split())
    title = heading[0].removeprefix("## ").lower()
    # GitHub's rule: letters, digits, hyphens and underscores stay, blanks become hyphens.
    anchor = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
    return Explanation(heading[1], heading[2], heading[3], text, part.strip() + "\n", anchor)

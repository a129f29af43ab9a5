"""The names of headings as GitHub gives them, so that a link works on both sites."""

import re


def anchor(title: str) -> str:
    """Return what a heading is called in a link.

    >>> anchor("A plan, and `what` holds it back")
    'a-plan-and-what-holds-it-back'
    """
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")

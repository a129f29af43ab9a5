"""Expressions with quantities whose last word is a word of Python's own syntax: ``grid.import``."""

import keyword
import re
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

from engiagent.blueprint.grammar import Node, Ref, parse

_RESERVED = re.compile(r"\.(" + "|".join(keyword.kwlist) + r")\b")
_MARK = "__reserved"


@lru_cache(maxsize=4096)
def read_expression(text: str) -> Node:
    """Return the tree of an expression; ``grid.import[t]`` is a quantity as any other.

    Raises
    ------
    GrammarError
        As the grammar says.
    """
    marked = _RESERVED.sub(rf".\1{_MARK}", text)
    tree = parse(marked)
    return tree if marked == text else _restored(tree)


def _restored(node: Node) -> Node:
    changes: dict[str, Any] = {}
    for part in fields(node):
        value = getattr(node, part.name)
        if isinstance(value, Node):
            changes[part.name] = _restored(value)
        elif isinstance(value, tuple) and any(isinstance(item, Node) for item in value):
            changes[part.name] = tuple(_restored(item) for item in value)
    if isinstance(node, Ref):
        changes["name"] = node.name.removesuffix(_MARK)
    return replace(node, **changes)

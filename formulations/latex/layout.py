"""Pieces of a LaTeX document: displays, tables, and short texts about declarations."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from engiagent.blueprint.document import FrozenMap
from engiagent.formulations.latex.text import escaped, unit


def display(lines: Sequence[str], for_all: str, tag: str) -> Iterator[str]:
    """Yield an equation with its name beside it and what it holds for below or behind."""
    label = rf"\tag*{{\texttt{{{escaped(tag)}}}}}"
    condition = rf"\forall\, {for_all}" if for_all else ""
    yield r"\begin{gather*}"
    if len(lines) == 1 and len(lines[0]) + len(condition) < 180:
        behind = rf" \qquad {condition}" if condition else ""
        yield f"{lines[0]}{behind} {label}"
    else:
        rows = [lines[0], *(rf"\quad {line}" for line in lines[1:])]
        rows += [rf"\quad {condition}"] if condition else []
        body = " \\\\\n".join(rf"& {row}" for row in rows)
        yield f"\\begin{{aligned}}\n{body}\n\\end{{aligned}} {label}"
    yield r"\end{gather*}"


def table(rows: Sequence[Mapping[str, str]], columns: str) -> Iterator[str]:
    """Yield a table of rows by heading, over several pages; widths are fractions of the line."""
    if not rows:
        return
    ragged = columns.replace("p{", r">{\raggedright\arraybackslash}p{")
    layout = re.sub(r"p\{([.\d]+)\}", r"p{\1\\linewidth}", ragged)
    yield r"{\footnotesize"
    yield rf"\begin{{longtable}}{{@{{}}{layout}@{{}}}}"
    yield rf"\toprule {' & '.join(rows[0])} \\ \midrule \endhead"
    yield from (breakable(rf"{' & '.join(row.values())} \\") for row in rows)
    yield r"\bottomrule"
    yield r"\end{longtable}}"


def breakable(row: str) -> str:
    """Return a row in which long names of files and columns may run on to the next line."""
    return re.sub(r"(\_|\#|/)(?=\w)", r"\1\\allowbreak{}", row)


def leaves(value: Any) -> Iterable[Any]:
    """Yield the single values of a nested one."""
    if isinstance(value, FrozenMap):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, tuple):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def label_text(label: Any) -> str:
    """Return an element of a set as text."""
    return f"({', '.join(map(str, label))})" if isinstance(label, tuple) else str(label)


def units_text(value: Any) -> str:
    """Return a unit, or units by label."""
    if isinstance(value, FrozenMap):
        return ", ".join(f"{escaped(k)}: {unit(v) or '1'}" for k, v in value.items())
    return unit(value)


def source_text(source: Any) -> str:
    """Return where a number comes from, in a few words."""
    if source is None:
        return ""
    if isinstance(source, str):
        return source
    if isinstance(source, tuple):
        return "; ".join(source_text(part) for part in source)
    kind = str(source.get("kind", ""))
    for word in ("quote", "reason", "note"):
        if source.get(word):
            text = str(source[word])
            return f"\u201c{text}\u201d" if word == "quote" else f"{kind}: {text}"
    if kind == "file":
        places = [f"{w} {source[w]}" for w in ("column", "row") if source.get(w) is not None]
        return ", ".join([str(source.get("file", "")), *places])
    inner = source.get("of")
    return f"{kind}: {source_text(inner)}" if inner else kind

"""Pieces of a LaTeX document: displays, tables, and short texts about declarations."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from engiagent.blueprint.document import ConstraintDef, FrozenMap, ObjectiveDef
from engiagent.formulations.latex.text import escaped, number, unit


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


def table(head: Sequence[str], rows: Sequence[Sequence[str]], columns: str) -> Iterator[str]:
    """Yield a table that may run over several pages; widths are fractions of the line."""
    if not rows:
        return
    ragged = columns.replace("p{", r">{\raggedright\arraybackslash}p{")
    layout = re.sub(r"p\{([.\d]+)\}", r"p{\1\\linewidth}", ragged)
    yield r"{\footnotesize"
    yield rf"\begin{{longtable}}{{@{{}}{layout}@{{}}}}"
    yield rf"\toprule {' & '.join(head)} \\ \midrule \endhead"
    yield from (breakable(rf"{' & '.join(row)} \\") for row in rows)
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


def risk_measure(objective: ObjectiveDef) -> str:
    """Return how the scenarios of an objective count together."""
    risk = getattr(objective, "risk", None)
    if risk is None:
        return ""
    alpha = f"_{{{number(risk.alpha)}}}" if risk.alpha is not None else ""
    names = {
        "expected": r"\mathbb{E}",
        "worst": r"\operatorname{worst}",
        "cvar": r"\operatorname{CVaR}",
    }
    return rf"{names.get(risk.measure, risk.measure)}{alpha}\; "


def remarks(d: ConstraintDef) -> str:
    """Return the category of a constraint and whether it may be broken."""
    notes = [escaped(d.category)] if d.category else []
    penalty = getattr(d, "penalty", None)
    if d.hard is False:
        notes.append("soft")
    if penalty is not None:
        notes.append(f"penalty {escaped(str(penalty.weight))}, {penalty.form or 'linear'}")
    return "; ".join(notes)


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

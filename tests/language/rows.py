"""Rows of a matrix as text, both ways: ``C1[a]: 2*x[a] - 3*y <= 4``."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from engiagent.formulations.program import Block, Program

Labels = Callable[[str], tuple[object, ...]]

_NAME = r"[A-Za-z_]\w*(?:\[[^\]]*\])?"
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_TERM = re.compile(rf"\s*([+-])?\s*(?:({_NUMBER})\s*\*\s*)?({_NAME})\s*")
_CONSTANT = re.compile(rf"\s*([+-])?\s*({_NUMBER}|inf)\s*")
_COMPARISON = re.compile(r"(<=|>=|==)")


@dataclass(frozen=True)
class Row:
    """``lower <= sum of terms <= upper``."""

    terms: Mapping[str, float]
    lower: float
    upper: float

    def same(self, other: "Row") -> bool:
        """Whether two rows say the same, up to rounding."""
        names = set(self.terms) | set(other.terms)
        pairs = [(self.terms.get(n, 0.0), other.terms.get(n, 0.0)) for n in names]
        pairs += [(self.lower, other.lower), (self.upper, other.upper)]
        return all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) for a, b in pairs)

    def __str__(self) -> str:
        body = linear_text(self.terms)
        if self.lower == self.upper:
            return f"{body} == {self.lower:g}"
        if math.isinf(self.lower):
            return f"{body} <= {self.upper:.12g}"
        if math.isinf(self.upper):
            return f"{body} >= {self.lower:.12g}"
        return f"{self.lower:.12g} <= {body} <= {self.upper:.12g}"


def linear_text(terms: Mapping[str, float], constant: float = 0.0) -> str:
    """Return a sum as text."""
    parts = [f"{'-' if c < 0 else '+'} {abs(c):.12g}*{name}" for name, c in terms.items()]
    if constant or not parts:
        parts.append(f"{'-' if constant < 0 else '+'} {abs(constant):.12g}")
    return " ".join(parts).removeprefix("+ ")


def read_linear(text: str) -> tuple[dict[str, float], float]:
    """Return the terms and the constant of a sum."""
    terms: dict[str, float] = {}
    constant, at = 0.0, 0
    while at < len(text.rstrip()):
        match = _TERM.match(text, at)
        if match:
            factor = float(match[2] or 1) * (-1 if match[1] == "-" else 1)
            name = squeezed(match[3])
            terms[name] = terms.get(name, 0.0) + factor
        else:
            match = _CONSTANT.match(text, at)
            if match is None:
                raise ValueError(f"cannot read {text[at:]!r} in {text!r}")
            constant += float(match[2]) * (-1 if match[1] == "-" else 1)
        at = match.end()
    return terms, constant


def read_row(text: str) -> tuple[str, Row]:
    """Return the name of a row and the row."""
    head = re.match(rf"\s*({_NAME})\s*:(.*)", text)
    if head is None:
        raise ValueError(f"a row is written as 'C1[a]: 2*x[a] <= 3', not {text!r}")
    parts = _COMPARISON.split(head[2])
    lower, upper = -math.inf, math.inf
    if len(parts) == 5:
        terms, constant = read_linear(parts[2])
        lower, upper = read_linear(parts[0])[1], read_linear(parts[4])[1]
    elif len(parts) == 3:
        terms, constant = read_linear(parts[0])
        limit = read_linear(parts[2])[1]
        lower = limit if parts[1] != "<=" else lower
        upper = limit if parts[1] != ">=" else upper
    else:
        raise ValueError(f"no comparison in {text!r}")
    return squeezed(head[1]), Row(terms, lower - constant, upper - constant)


def squeezed(name: str) -> str:
    """Return a name without blanks and without quotation marks around its labels."""
    return re.sub(r"[\s'\"]", "", name)


def element_names(block: Block, title: str, labels: Labels) -> list[str]:
    """Return ``x[G1,00:00]`` for every element of a block."""
    if not block.sets:
        return [title]
    positions = block.positions
    if positions is None:
        positions = np.arange(block.size, dtype=np.int64)
    places = np.unravel_index(positions, block.shape)
    columns = [
        [_label(labels(s)[int(p)]) for p in c] for s, c in zip(block.sets, places, strict=True)
    ]
    return [squeezed(f"{title}[{','.join(parts)}]") for parts in zip(*columns, strict=True)]


def _label(label: object) -> str:
    return ",".join(map(str, label)) if isinstance(label, tuple) else str(label)


def column_names(program: Program, labels: Labels) -> list[str]:
    """Return the name of every column; those that the compiler put in are ``name[k]``."""
    names: list[str] = []
    for block in program.columns:
        if block.generated:
            names += [f"{block.name}[{k}]" for k in range(block.size)]
        else:
            names += element_names(block, block.name, labels)
    return names


def rows_of(program: Program, labels: Labels) -> Iterator[tuple[str, Row, bool]]:
    """Yield every row with its name and whether the compiler put it in."""
    columns = column_names(program, labels)
    for block in program.rows:
        if block.generated:
            names = [f"{block.constraint_id}[{k}]" for k in range(block.size)]
        else:
            names = element_names(block, block.constraint_id, labels)
        for offset, name in enumerate(names):
            row = block.start + offset
            span = slice(program.row_starts[row], program.row_starts[row + 1])
            pairs = zip(program.row_columns[span], program.row_values[span], strict=True)
            terms = {columns[int(c)]: float(v) for c, v in pairs}
            lower, upper = float(program.row_lower[row]), float(program.row_upper[row])
            yield name, Row(terms, lower, upper), block.generated

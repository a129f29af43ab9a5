"""Rows of a program as text over whole arrays, so that a script reads like the model it is.

A block of rows is a sum over blocks of columns. Where the coefficients follow the order of both,
as in ``soc[1:25] - soc[0:24]``, the text says so; elsewhere a sparse matrix stands for them.
"""

import builtins
import keyword
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from engiagent import __version__
from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.lowering.products import entries
from engiagent.formulations.program import OBJECTIVE, ColumnBlock, Program, RowBlock
from engiagent.formulations.values import Atom, Floats, Form, Ints, Part

WIDTH = 96
MOST_SLICES = 6
_USED: Final = """
    np sp ca cp sys csv x main best schedule infinity rows lower upper lowest highest objective
    problem constraints
"""
RESERVED: Final = frozenset((*dir(builtins), *_USED.split()))
"""Names that a script uses itself."""


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a library writes what every script needs, as patterns to be filled in."""

    array: str  # the name of what makes an array of a list
    nothing: str  # ``count`` rows in which no variable stands
    matrix: str  # a sparse matrix of ``data``, ``indices``, ``starts`` and ``shape``
    functions: Mapping[str, str]  # the library's names of elementary functions
    # times, total: the product of an array and a vector, element by element, and the sum of a
    # vector
    times: str
    total: str
    # a quadratic form of ``vector`` and ``matrix``; empty where products stand for themselves
    quadratic: str = ""


@dataclass
class Names:
    """Python names for what a script speaks of."""

    taken: set[str]  # names in use, those of the script's own imports and functions from the start

    def fresh(self, name: str) -> str:
        """Return an identifier like ``name`` that nothing else uses."""
        plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
        plain = plain if plain[:1].isalpha() else f"v_{plain}"
        while plain in self.taken or keyword.iskeyword(plain):
            plain += "_"
        self.taken.add(plain)
        return plain


def number(value: float) -> str:
    """Return a number in full precision; infinity by its name in the scripts."""
    if np.isposinf(value):
        return "infinity"
    if np.isneginf(value):
        return "-infinity"
    plain = float(value)
    return repr(int(plain)) if plain.is_integer() and abs(plain) < 1e15 else repr(plain)


def listed(values: npt.NDArray[np.generic]) -> str:
    """Return a list of numbers."""
    return "[" + ", ".join(number(float(v)) for v in np.asarray(values).reshape(-1)) + "]"


class Algebra:
    """Prints the rows of one program in one dialect."""

    def __init__(
        self,
        program: Program,
        dialect: Dialect,
        names: Names | None = None,
        of_block: dict[ColumnBlock, str] | None = None,
    ) -> None:
        self.program = program
        self.dialect = dialect
        self.names = names or Names(set(RESERVED))
        self.of_block = of_block or {b: self.names.fresh(b.name) for b in program.columns}
        self.starts = np.array([block.start for block in program.columns])
        self.lines: list[str] = []

    def rows(self, start: int, stop: int) -> str:
        """Return everything in rows ``start:stop`` as one expression."""
        program = self.program
        lo, hi = program.row_starts[start], program.row_starts[stop]
        counts = np.diff(program.row_starts[start : stop + 1])
        rows = np.repeat(np.arange(stop - start), counts)
        columns, values = program.row_columns[lo:hi], program.row_values[lo:hi]
        parts = self._linear(rows, columns, values, stop - start)
        parts += self._curved(start, stop)
        return _joined(parts) if parts else self.dialect.nothing.format(count=stop - start)

    def objective(self) -> str:
        """Return the objective as one expression."""
        return self.goal(self.program.cost, self.program.offset, curved=True)

    def goal(self, cost: Floats, offset: float, curved: bool = False) -> str:
        """Return a linear objective, with all that is curved in the program's if asked for."""
        used = np.flatnonzero(cost)
        parts = self._linear(np.zeros(len(used), dtype=np.int64), used, cost[used], 1)
        parts += self._curved(OBJECTIVE, OBJECTIVE + 1) if curved else []
        if offset or not parts:
            parts.append(number(offset))
        return _joined(parts)

    def columns(self, chosen: Ints) -> str:
        """Return some columns, one after the other."""
        count = len(chosen)
        return _joined(self._linear(np.arange(count), chosen, np.ones(count), count))

    # -- linear ---------------------------------------------------------------------------------

    def _linear(self, rows: Ints, columns: Ints, values: Floats, size: int) -> list[str]:
        parts = []
        owners = np.searchsorted(self.starts, columns, side="right") - 1
        for owner in np.unique(owners):
            block, inside = self.program.columns[owner], owners == owner
            local = columns[inside] - block.start
            parts.append(self._term(block, rows[inside], local, values[inside], size))
        return parts

    def _term(
        self, block: ColumnBlock, rows: Ints, columns: Ints, values: Floats, size: int
    ) -> str:
        name = self.of_block[block]
        order = np.argsort(rows, kind="stable")
        rows, columns, values = rows[order], columns[order], values[order]
        each = len(rows) // max(size, 1)
        if 0 < each <= MOST_SLICES and np.array_equal(rows, np.repeat(np.arange(size), each)):
            along, weights = columns.reshape(size, each), values.reshape(size, each)
            if np.array_equal(along, along[0] + np.arange(size)[:, None]):
                starts = along[0].tolist()
                slices = [self._slice(block, int(first), size) for first in starts]
                pairs = zip(slices, weights.T, strict=True)
                return _joined([self._scaled(factors, text) for text, factors in pairs])
        if size == 1 and np.array_equal(columns, np.arange(block.size)):
            if np.all(values == values[0]):
                return self._scaled(values[:1], self.dialect.total.format(name))
            return self.dialect.total.format(
                self.dialect.times.format(self._array(name, values), name)
            )
        return f"{self._matrix(name, rows, columns, values, (size, block.size))} @ {name}"

    def _slice(self, block: ColumnBlock, first: int, size: int) -> str:
        name = self.of_block[block]
        whole = first == 0 and size == block.size
        return name if whole else f"{name}[{first}:{first + size}]"

    def _scaled(self, values: Floats, vector: str) -> str:
        if np.all(values == values[0]):
            value = float(values[0])
            if value in (1.0, -1.0):
                return vector if value > 0 else f"-{vector}"
            return f"{number(value)} * {vector}"
        return self.dialect.times.format(self._array(vector.partition("[")[0], values), vector)

    def _array(self, about: str, values: Floats) -> str:
        text = f"{self.dialect.array}({listed(values)})"
        if len(text) <= 60:
            return text
        name = self.names.fresh(f"of_{about}")
        self.lines.append(f"{name} = {text}")
        return name

    def _matrix(
        self, about: str, rows: Ints, columns: Ints, values: Floats, shape: tuple[int, int]
    ) -> str:
        matrix = csr_array((values, (rows, columns)), shape=shape)
        matrix.sum_duplicates()
        name = self.names.fresh(f"on_{about}")
        text = self.dialect.matrix.format(
            data=listed(matrix.data),
            indices=listed(matrix.indices),
            starts=listed(matrix.indptr),
            shape=shape,
        )
        self.lines.append(f"{name} = {text}")
        return name

    # -- everything else ------------------------------------------------------------------------

    def _curved(self, start: int, stop: int) -> list[str]:
        parts = []
        products = self.program.products
        inside = np.flatnonzero((products.rows >= start) & (products.rows < stop))
        if len(inside):
            parts.append(self._products(inside, start, stop - start))
        for part in self.program.nonlinear:
            rows = part.row_numbers()
            chosen = np.flatnonzero((rows >= start) & (rows < stop))
            if len(chosen):
                weights = np.broadcast_to(part.coefficients, rows.shape)[chosen]
                moved = Part(rows[chosen] - start, weights, part.atom.take(chosen))
                parts.append(self._part(moved, stop - start))
        return parts

    def _products(self, entries: Ints, start: int, size: int) -> str:
        """Return products of two columns; squares as squares, so that convexity shows."""
        if self.dialect.quadratic:
            return self._forms(entries, start, size)
        products = self.program.products
        square = products.first[entries] == products.second[entries]
        texts = []
        for chosen, is_square in ((entries[square], True), (entries[~square], False)):
            if len(chosen):
                first, second = (
                    f"({self.columns(p[chosen])})" for p in (products.first, products.second)
                )
                text = f"{first} ** 2" if is_square else self.dialect.times.format(first, second)
                rows, values = products.rows[chosen] - start, products.values[chosen]
                if size == 1 < len(chosen) and np.all(values == values[0]):
                    texts.append(self._scaled(values[:1], self.dialect.total.format(text)))
                else:
                    texts.append(self._gathered(text, rows, values, size))
        return _joined(texts)

    def _gathered(self, text: str, rows: Ints, values: Floats, size: int) -> str:
        """Return rows that are sums of the elements of a vector, each with its coefficient."""
        count = len(values)
        if count == size and np.array_equal(rows, np.arange(size)):
            return self._scaled(values, f"({text})")
        return f"{self._matrix('terms', rows, np.arange(count), values, (size, count))} @ ({text})"

    def _forms(self, entries: Ints, start: int, size: int) -> str:
        """Return the products of each row as a quadratic form of its columns."""
        products, texts = self.program.products, []
        for row in range(size):
            here = entries[products.rows[entries] == start + row]
            if not len(here):
                texts.append("0")
                continue
            pairs = np.stack([products.first[here], products.second[here]])
            used, places = np.unique(pairs, return_inverse=True)
            count = len(used)
            first, second = places.reshape(pairs.shape)
            half = np.zeros((count, count))
            np.add.at(half, (first, second), products.values[here] / 2)
            form = half + half.T
            sign = -1.0 if np.trace(form) < 0 else 1.0
            rows, columns = np.nonzero(form)
            values = sign * form[rows, columns]
            matrix = self._matrix("quadratic", rows, columns, values, form.shape)
            text = self.dialect.quadratic.format(vector=self.columns(used), matrix=matrix)
            texts.append(f"-{text}" if sign < 0 else text)
        return texts[0] if size == 1 else f"cp.hstack([{', '.join(texts)}])"

    def _part(self, part: Part, size: int) -> str:
        weights = np.broadcast_to(part.coefficients, (part.atom.size,)).astype(np.float64)
        return self._gathered(self._atom(part.atom), part.row_numbers(), weights, size)

    def _atom(self, atom: Atom) -> str:
        if atom.function in self.dialect.functions:
            return f"{self.dialect.functions[atom.function]}({self._form(atom.args[0])})"
        if atom.function == "power":
            exponents = np.unique(atom.numbers[0])
            if len(exponents) == 1:
                return f"({self._form(atom.args[0])}) ** {number(exponents[0])}"
        if atom.function in ("product", "quotient"):
            pair = [f"({self._form(form)})" for form in atom.args]
            return (
                self.dialect.times.format(*pair) if atom.function == "product" else " / ".join(pair)
            )
        text = f"{atom.origin or 'the objective'}: the script cannot say {atom.function!r}"
        raise EngiagentError(text)

    def _form(self, form: Form) -> str:
        rows, columns, values = _entries(form)
        parts = self._linear(rows, columns, values, form.size)
        parts += [self._part(part, form.size) for part in form.parts]
        start = np.broadcast_to(form.constant, (form.size,))
        if np.any(start != 0) or not parts:
            same = np.all(start == start[0])
            parts.append(number(start[0]) if same and parts else self._array("constants", start))
        return _joined(parts)


def _entries(form: Form) -> tuple[Ints, Ints, Floats]:
    rows, columns, values = entries(form)
    shape = form.size, int(columns.max(initial=0)) + 1
    matrix = csr_array((values, (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    counts = np.diff(matrix.indptr)
    return np.repeat(np.arange(form.size), counts), matrix.indices, matrix.data


def _joined(parts: list[str]) -> str:
    text = parts[0]
    for part in parts[1:]:
        text += f" - {part[1:]}" if part.startswith("-") else f" + {part}"
    return text


_HEAD: Final = '''"""{essence}

Written by engiagent {version}; needs {needs}
Run it:  python model.py [schedule.csv]
"""

import csv
import sys
{imports}'''
_MAIN: Final = """

def main():
    ending, value = best()
    print("status:", ending)
    if ending != "optimal":
        sys.exit("there is no optimal schedule")
    print("objective:", repr(value))
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["variable", "index", "value"])
            for name, variable in {{{outputs}}}.items():
                for key, element in enumerate({elements}):
                    writer.writerow([name, key, {value}])  # empty where unused


if __name__ == "__main__":
    main()
"""


def head(blueprint: Blueprint, needs: str, imports: str) -> str:
    """Return the beginning of a script: what it is about, what it needs and what it imports."""
    essence = comment(blueprint.modeling_context.problem_essence)
    return _HEAD.format(essence=essence, version=__version__, needs=needs, imports=imports)


def body(parts: Mapping[str, list[str]]) -> str:
    """Return the parts of a script that are not empty, each below its title."""
    return "\n".join(
        line for title, lines in parts.items() if lines for line in (*section(title), *lines)
    )


def main(
    algebra: Algebra, elements: str, value: str, output: Callable[[ColumnBlock], str] | None = None
) -> str:
    """Return the end of a script, which calls ``best()`` and writes the schedule as CSV."""
    shown = [block for block in algebra.program.columns if block.size and not block.generated]
    names = algebra.of_block
    pairs = ((names[b], output(b) if output is not None else names[b]) for b in shown)
    outputs = ", ".join(f'"{name}": {text}' for name, text in pairs)
    return _MAIN.format(outputs=outputs, elements=elements, value=value)


def section(title: str) -> list[str]:
    """Return a heading."""
    return ["", "", f"# --- {comment(title)} ".ljust(WIDTH, "-")]


def comment(text: str) -> str:
    """Return text that cannot leave a comment or a docstring."""
    plain = text.replace("\\", "/").replace('"""', "'''")
    return " ".join("".join(c if c.isprintable() else " " for c in plain).split())


def about(block: ColumnBlock | RowBlock) -> str:
    """Return a comment on a block: its unit, its sets and what it is."""
    over = f" over {', '.join(block.sets)}" if block.sets else ""
    return comment(f"[{block.unit}]{over} {block.description or ''}".strip())


def side(values: Floats, array: str) -> str:
    """Return a bound: one number where all rows share it, else an array."""
    return number(values[0]) if np.all(values == values[0]) else f"{array}({listed(values)})"


def refuse_conditional(program: Program, library: str) -> None:
    """Refuse conditional rows, groups of columns, and several goals."""
    if len(program.indicators.rows) or program.sos1:
        text = "rows hold conditionally, since variables lack bounds; give them bounds"
        raise EngiagentError(f"a {library} script cannot say it: {text}")
    if program.method is not None:
        raise EngiagentError(f"a {library} script has one objective, this blueprint has several")


def row_sections(algebra: Algebra) -> Iterator[tuple[str, str, Floats, Floats]]:
    """Yield for every block of rows a comment, its expression and its sides."""
    program = algebra.program
    for block in program.rows:
        if block.size:
            rows = slice(block.start, block.stop)
            title = f"# {comment(block.name)} {about(block)}"
            text = algebra.rows(block.start, block.stop)
            yield title, text, program.row_lower[rows], program.row_upper[rows]

"""What scripts of every library have in common: head, parts in order, and the schedule's file."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np

from engiagent import __version__
from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.program import ColumnBlock, Program, RowBlock
from engiagent.formulations.scripts.algebra import WIDTH, Algebra, listed, number
from engiagent.formulations.values import Floats

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

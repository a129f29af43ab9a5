"""What scripts of every library have in common: the order of their parts, bounds, comments."""

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.program import ColumnBlock, Program, RowBlock
from engiagent.formulations.scripts.algebra import WIDTH, Algebra, listed, number
from engiagent.formulations.values import Floats


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


def essence(blueprint: Blueprint) -> str:
    """Return what a blueprint is about, for the head of a script."""
    return comment(blueprint.modeling_context.problem_essence)


def refuse_conditional(program: Program, library: str) -> None:
    """Refuse what no row can say.

    Raises
    ------
    EngiagentError
        When rows hold conditionally, columns exclude one another without bounds, or there are
        several goals.
    """
    if len(program.indicators.rows) or program.sos1:
        text = "rows hold conditionally, since variables lack bounds; give them bounds"
        raise EngiagentError(f"a {library} script cannot say it: {text}")
    if program.method is not None:
        raise EngiagentError(f"a {library} script has one objective, this blueprint has several")


def row_sections(program: Program, algebra: Algebra) -> list[tuple[RowBlock, str, Floats, Floats]]:
    """Return every block of rows with its expression and its sides."""
    found = []
    for block in program.rows:
        if block.size:
            rows = slice(block.start, block.stop)
            text = algebra.rows(block.start, block.stop)
            found.append((block, text, program.row_lower[rows], program.row_upper[rows]))
    return found

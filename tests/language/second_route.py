"""The checker's own reading of a case: rows and objective, evaluated without the compiler."""

from pathlib import Path

import numpy as np

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.grammar import Compare, parse
from engiagent.formulations.program import ColumnBlock, Program
from engiagent.formulations.values import Floats
from engiagent.units.unit import parse_unit
from engiagent.verify import arithmetic
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.levels.robust import swung
from engiagent.verify.series import Series


def compare_readings(program: Program, blueprint: Blueprint, folder: Path) -> None:
    """Assert that compiler and checker give every row the same slack at a random point."""
    low = np.where(np.isfinite(program.column_lower), program.column_lower, -100.0)
    high = np.where(np.isfinite(program.column_upper), program.column_upper, 100.0)
    x = np.random.default_rng(1).uniform(np.minimum(low, high), high)
    own = [block for block in program.columns if not block.generated]
    series = {block.name: _series(block, x[block.start : block.stop]) for block in own}
    bench = Bench(Declarations(blueprint.core, folder), series)
    uncertain = swung(bench, blueprint.core)
    evaluator = (uncertain.bench if uncertain else bench).evaluator
    activity = program.activity_at(x)
    blocks = {b.constraint_id: b for b in program.rows}
    added = {b.constraint_id for b in program.rows if b.generated}
    for constraint in blueprint.core.constraints:
        node = parse(constraint.expression)
        block = blocks.get(constraint.constraint_id)
        if not isinstance(node, Compare) or len(node.ops) > 1 or block is None:
            continue
        if constraint.hard is False or any(
            name.startswith(f"{constraint.constraint_id}__") for name in added
        ):
            continue  # slack or auxiliary columns stand in the row
        frame = evaluator.frame(constraint.forall, constraint.where)
        ((op, left, right),) = evaluator.compared(constraint.expression, frame)
        rows = slice(block.start, block.stop)
        limit = (program.row_lower if op == ">=" else program.row_upper)[rows]
        excess = arithmetic.add(left, right, -1.0)
        # Whatever is uncertain takes the value that is worst for the row.
        worst = uncertain.growth(excess) if uncertain else 0.0
        worst = -worst if op == ">=" else worst
        theirs = (excess.data + worst) / float(parse_unit(block.unit).factor)
        np.testing.assert_allclose(activity[rows] - limit, theirs, rtol=1e-9, atol=1e-6)


def _series(block: ColumnBlock, found: Floats) -> Series:
    """Return the values of a variable as the checker takes them, NaN in the holes of a filter."""
    full = np.full(int(np.prod(block.shape, dtype=int)), np.nan)
    full[slice(None) if block.positions is None else block.positions] = found
    return Series(block.name, full.reshape(block.shape), parse_unit(block.unit), block.sets)

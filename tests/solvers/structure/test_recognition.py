"""What is recognised in programs, and what is not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engiagent.formulations.program import Program
from engiagent.solvers.structure.graphs import find_blocks, find_network
from engiagent.solvers.structure.recognition import recognise
from tests.solvers.structure.instances import Sheet, storage


def flow(gain: float = 1.0, turn: int = -1) -> Program:
    """Return a ring of five nodes with chords; ``gain`` and ``turn`` change one arc and one row."""
    sheet = Sheet()
    arcs = [(i, (i + 1) % 5) for i in range(5)] + [(0, 2), (1, 3)]
    columns = sheet.columns(1.0, 0.0, 9.0, len(arcs))
    for node in range(5):
        sign = -3.0 if node == turn else 1.0
        terms = {}
        for column, (tail, head) in zip(columns, arcs, strict=True):
            if tail == node:
                terms[column] = -sign
            if head == node:
                terms[column] = sign * (gain if column == 3 else 1.0)
        sheet.row(terms, 0.0, 0.0)
    return sheet.program()


def test_a_network_is_recognised_however_its_rows_are_turned_and_scaled() -> None:
    network = find_network(flow(turn=2))
    assert network is not None
    assert (network.nodes, network.arcs, network.gains) == (5, 7, False)
    lossy = find_network(flow(gain=0.9))
    assert lossy is not None
    assert lossy.gains


def test_an_arc_with_two_heads_in_a_triangle_is_no_network() -> None:
    sheet = Sheet()
    x = sheet.columns(1.0, 0.0, 1.0, 3)
    for one, two in ((0, 1), (1, 2), (2, 0)):
        sheet.row({x[one]: 1.0, x[two]: 1.0}, 0.0, 1.0)
    assert find_network(sheet.program()) is None


def _plants(link: bool, shared: bool) -> Program:
    sheet = Sheet()
    common = sheet.column(1.0, 0.0, 5.0) if shared else -1
    used = []
    for _ in range(40):
        x = sheet.columns(1.0, 0.0, 2.0, 4)
        for k in range(4):
            terms = {x[k]: 1.0, x[(k + 1) % 4]: 1.0}
            if shared and k == 0:
                terms[common] = -1.0
            sheet.row(terms, -5.0, 1.0)
        used.append(x[0])
    if link:
        sheet.row(dict.fromkeys(used, 1.0), 0.0, 3.0)
    return sheet.program()


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_blocks_are_counted_with_what_ties_them(link: bool, shared: bool) -> None:
    blocks = find_blocks(_plants(link, shared))
    assert blocks is not None
    assert blocks.count == 40
    assert blocks.largest == 4
    assert (blocks.linking_rows, blocks.linking_columns) == (int(link), int(shared))


@given(st.integers(0, 2**31))
def test_names_do_not_matter_and_lines_can_be_printed(seed: int) -> None:
    program = storage(seed)
    structure = recognise(program)
    assert structure.chain is not None
    assert f"{structure.chain.steps} steps" in structure.lines()[0]
    shuffled = replace(program, objective_name="x", objective_unit="y", blueprint_sha256="z")
    assert recognise(shuffled).lines() == structure.lines()


def test_a_program_without_rows_has_no_structure() -> None:
    program = Sheet([1.0], [0.0], [1.0]).program()
    assert recognise(program).lines() == ()
    assert np.array_equal(program.cost, [1.0])

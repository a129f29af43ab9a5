"""What a vague blueprint leaves out: numbers that enter nothing, states that nothing moves.

What physics answers (``role: state``) has to follow from what an operator sets. Each value of a
state needs an equation of its own, which is a matching of states with equality rows; where more
than half of a variable's values go without, an equation is missing, whatever its bounds say.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from engiagent.agents.faults import of_certificate
from engiagent.agents.protocol import Board, Fault
from engiagent.blueprint import Blueprint
from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.document import thaw
from engiagent.errors import EngiagentError
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import Program
from engiagent.formulations.values import Part
from engiagent.text import Problem
from engiagent.verify.checking import check
from engiagent.verify.levels.coverage import obliges

IDLE: Final = "EB020"


def data_faults(board: Board) -> tuple[Fault, ...]:
    """Return what the checker says of the blueprint's numbers, both ways, without a schedule."""
    assert board.blueprint is not None
    assert board.problem is not None
    try:
        certificate = check(board.problem, None, expand(board.blueprint)).to_dict()
    except EngiagentError as error:
        return (Fault("formulation", str(error)),)
    text = board.problem.text  # of other sentences agreement decides, or they stay open
    silent = [words for words in certificate["not_understood"] if obliges(words, text)]
    certificate["not_understood"] = silent
    return tuple(f for f in of_certificate(certificate) if f.kind.startswith("data-"))


def idle_numbers(blueprint: Blueprint, data: Path, problem: Problem | None) -> tuple[Fault, ...]:
    """Return a fault for every number of the text that is read and then enters nothing.

    Its place in the text is traced, and yet what the text says with it is in no expression.
    """
    try:
        found = analyse(expand(blueprint), data).diagnostics
    except EngiagentError:
        return ()  # what keeps it from being analysed is told by whoever compiles it
    return tuple(
        Fault(
            "data-ignored",
            f"nothing uses the number '{d.name}', so what it limits or costs is missing",
            str(d.name),
            _said(blueprint, str(d.name), problem),
        )
        for d in found
        if d.code == IDLE and "parameters" in d.path
    )


def idle_files(blueprint: Blueprint, problem: Problem) -> tuple[Fault, ...]:
    """Return a fault for every data file of the problem that the blueprint takes nothing from."""
    text = blueprint.to_json()
    sources = [(p.name, thaw(p.source_reference)) for p in blueprint.core.parameters]
    assumed = [
        name for name, s in sources if isinstance(s, Mapping) and s.get("kind") == "assumption"
    ]
    instead = f"assumed instead of read: {', '.join(assumed)}" if assumed else ""
    said = "nothing is read from the file '{}' of the problem"
    unread = [name for name in problem.data if name not in text]
    return tuple(Fault("data-ignored", said.format(name), name, instead) for name in unread)


def _said(blueprint: Blueprint, name: str, problem: Problem | None) -> str:
    """Return the sentences of the text that a parameter's numbers come from; empty if none."""
    if problem is None:
        return ""
    parameter = next((p for p in blueprint.core.parameters if p.name == name), None)
    places = list(_spans(None if parameter is None else thaw(parameter.source_reference)))
    found = [
        " ".join(problem.text[s.span[0] : s.span[1]].split())
        for s in problem.sentences
        if any(s.span[0] <= start < s.span[1] for start, _ in places)
    ]
    return f"the text says: {' / '.join(dict.fromkeys(found))}" if found else ""


def _spans(source: Any) -> Iterator[tuple[int, int]]:
    if isinstance(source, Mapping):
        span = source.get("span")
        if isinstance(span, list | tuple) and len(span) == 2:
            yield int(span[0]), int(span[1])
        yield from _spans(source.get("of"))
    elif isinstance(source, list | tuple):
        for item in source:
            yield from _spans(item)


def free_states(program: Program) -> tuple[Fault, ...]:
    """Return a fault for every state that the equations leave free."""
    states = [b for b in program.columns if b.role == "state" and not b.generated]
    if not states:
        return ()
    owned = _matched(program)
    found = []
    for block in states:
        free = int(block.size - owned[block.start : block.stop].sum())
        if 2 * free > block.size:
            said = (
                f"the state '{block.name}' is left free at {free} of {block.size} places: no "
                "equation says what it follows from"
            )
            found.append(Fault("physics-violated", said, block.quantity or block.name))
    return tuple(found)


def _matched(program: Program) -> np.ndarray:
    """Return which columns have an equation of their own, states only; shape (n,)."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    chosen = np.zeros(program.column_count, dtype=bool)
    for block in program.columns:
        if block.role == "state" and not block.generated:
            chosen[block.start : block.stop] = True
    equal = program.row_lower == program.row_upper
    counts = np.diff(program.row_starts)
    pairs = [
        (np.repeat(np.arange(program.row_count), counts), program.row_columns),
        (program.products.rows, program.products.first),
        (program.products.rows, program.products.second),
    ]
    for part in program.nonlinear:
        pairs += list(_nonlinear(part))
    rows, columns = (
        np.concatenate([np.asarray(p[k], dtype=np.int64) for p in pairs]) for k in (0, 1)
    )
    kept = (rows >= 0) & chosen[columns]
    rows, columns = rows[kept], columns[kept]
    kept = equal[rows]
    shape = (program.row_count, program.column_count)
    graph = csr_array((np.ones(kept.sum()), (rows[kept], columns[kept])), shape=shape)
    matching = maximum_bipartite_matching(graph, perm_type="row")
    # A bound that holds a state at one value says what it is, as an equation does.
    fixed = chosen & (program.column_lower == program.column_upper)
    owned: np.ndarray = (matching >= 0) | fixed
    return owned


def _nonlinear(part: Part) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows and the columns that a function in them depends on, however deep."""
    rows, groups = np.asarray(part.row_numbers()), part.atom.groups
    for argument in part.atom.args:
        inner = [(np.asarray(term.row_numbers()), term.columns) for term in argument.terms]
        inner += [pair for deeper in argument.parts for pair in _nonlinear(deeper)]
        for within, columns in inner:
            yield rows[within if groups is None else groups[within]], columns

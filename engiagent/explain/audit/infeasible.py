"""Requirements that cannot hold together: an irreducible set of them, proven, in the text's words.

The demands of a blueprint are compiled without its objective. Where they have no solution, the
smallest sets of constraints and bounds that have none are found one after the other, and each is
handed to the checker as a blueprint of its own with the multipliers that prove it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.explain.audit.findings import Finding
from engiagent.explain.conflicts import Statements
from engiagent.explain.places import Part, Text
from engiagent.explain.relaxed import without_gaps
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import Program
from engiagent.solvers.iis import Conflict, irreducible_set, without

MOST_CONFLICTS: Final = 4


@dataclass(frozen=True)
class Examined:
    """What came of an examination, and what kept it from being made."""

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


def examine(
    blueprint: Blueprint, folder: Path, text: Text, *, understood: bool = True, seconds: float
) -> Examined:
    """Return the sets of demands of a blueprint that cannot hold together.

    Parameters
    ----------
    blueprint
        Expanded or not; what rests on missing values is left out.
    understood
        Whether the blueprint stands for all of the text. If not, a set that rests on a balance
        could be resolved by what was not understood, and is only noted.
    """
    if blueprint.kind == "definitions":
        return Examined()
    try:
        demands = without_gaps(expand(blueprint))
        program: Program = compile_blueprint(demands, folder)
    except EngiagentError as error:
        return Examined(notes=(f"whether the requirements can hold was not examined: {error}",))
    said = Statements(demands, folder, text)
    findings: list[Finding] = []
    notes: list[str] = []
    while len(findings) < MOST_CONFLICTS:
        try:
            conflict = irreducible_set(program, seconds=seconds)
        except EngiagentError as error:
            notes.append(f"the search for clashes ended early: {error}")
            break
        if conflict is None:
            break
        finding = _finding(said, conflict)
        # What was not understood in the text could still resolve what rests on a balance.
        if understood or not any(said.is_balance(m.family) for m in conflict.members):
            findings.append(finding)
        else:
            notes.append(f"as far as the text was understood, {finding.explanation}")
        stated = [m.family for m in conflict.members if said.is_stated(m.family)]
        if not stated:
            break
        program = without(program, stated)
    return Examined(tuple(findings), tuple(notes))


def _finding(said: Statements, conflict: Conflict) -> Finding:
    """Return a conflict as a finding."""
    parts = said.parts(conflict)
    proof = said.proof(conflict)
    laws = any(said.is_balance(m.family) for m in conflict.members)
    certain = bool(proof["checked"])
    component, quantity = said.subject(conflict.members)
    explanation = f"these {len(parts)} demands cannot all hold: {'; '.join(_numbered(parts))}"
    if len(parts) == 1:
        explanation = f"this cannot hold: {parts[0].text}"
    single = len({said.variable_of(m.family) for m in conflict.members}) == 1
    return Finding(
        code="limits-clash" if single and not laws else "infeasible",
        severity="contradictory" if certain else "suspicious",
        component=component,
        quantity=quantity,
        explanation=explanation,
        suggestion="one of these has to give way: correct the number that is wrong, or say "
        "which demand may be broken",
        places=tuple(dict.fromkeys(place for part in parts for place in part.places)),
        parts=parts,
        proof=proof,
    )


def _numbered(parts: Sequence[Part]) -> Iterator[str]:
    for number, part in enumerate(parts, 1):
        yield f"({number}) {part.text}"

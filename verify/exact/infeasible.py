"""A claim that nothing is allowed, proven by a ray in rational arithmetic."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from engiagent.errors import InputError
from engiagent.io.jsontext import loads_strict
from engiagent.units.unit import parse_unit
from engiagent.verify.case import Case
from engiagent.verify.certificate import Certificate
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.exact import bounds, conflict, proposals
from engiagent.verify.exact.numbers import Fractions, NotExactError, written
from engiagent.verify.exact.programme import ExactProgramme, Linear, linear_of, programme_of
from engiagent.verify.series import Series


def with_exact_ray(certificate: Certificate, case: Case) -> Certificate:
    """Return the certificate of a claim of infeasibility with what an exact ray says of it.

    A proof in doubles that exactness takes back is none; one that only exactness gives counts
    where the blueprint alone says what is asked.
    """
    from engiagent.verify.exact.addition import EXACT, implied

    if case.blueprint is None:
        return certificate
    core = case.blueprint.core
    declarations = Declarations(core, case.problem.folder)
    bench = Bench(declarations, noughts(declarations))
    for variable in core.decision_variables:
        bench.evaluator.environment.symbol(variable.name)
    programme = programme_of(bench, core, None, "minimize")
    system = linear_of(programme)
    body: dict[str, Any] = {"arithmetic": EXACT, "margin": None}
    claimed = _conflict(case)
    if claimed is not None:
        certificate = _with_conflict(certificate, programme, system, claimed)
    for whose, read in _rays(case, programme, system):
        try:
            found = bounds.repaired(
                lambda y, ends: bounds.farkas_margin(system, y, ends),
                read,
                [(system.lower, system.upper), implied(programme, system)],
            )
        except NotExactError as error:
            body["reason"] = str(error)
            continue
        if found.value is None:
            body["reason"] = found.reason
            continue
        body["margin"] = written(found.value, up=False)
        if found.value > 0:
            body |= {"proven": True, "ray": whose, "size": written(_size(read(17)))}
            body.pop("reason", None)
            return _concluded(certificate, case, body)
        body["reason"] = "the ray proves nothing"
    return _concluded(certificate, case, {**body, "proven": _by_set(certificate)})


def _by_set(certificate: Certificate) -> bool:
    """Whether the irreducible set is shown to allow nothing: then all of it allows nothing."""
    found = certificate.levels.get("optimality", {}).get("irreducible_set") or {}
    return found.get("infeasible") is True


def _conflict(case: Case) -> Any:
    """Return the irreducible set that a claim brings, None when it brings none."""
    claim = case.schedule.claims.get("conflict")
    if isinstance(claim, str):
        try:
            return loads_strict(claim, "the schedule")
        except InputError:
            return ()
    return claim


def _with_conflict(
    certificate: Certificate, programme: ExactProgramme, system: Linear, claim: Any
) -> Certificate:
    """Return a certificate that says whether a set of members is infeasible, and irreducible."""
    members = conflict.members_of(claim)
    if members is None:
        body: dict[str, Any] = {
            "infeasible": None,
            "irreducible": None,
            "reason": "the claim names no members",
        }
    else:
        body = conflict.checked(programme, system, members)
    levels = dict(certificate.levels)
    level = levels.get("optimality", {"status": "unchecked"})
    levels["optimality"] = {**level, "irreducible_set": body}
    return replace(certificate, levels=levels)


def _size(weights: Fractions) -> Fraction:
    """Return the largest weight: a margin says something beside it."""
    return max((abs(weight) for weight in weights), default=Fraction(0))


def _rays(case: Case, programme: ExactProgramme, system: Linear) -> Iterator[tuple[str, Any]]:
    if case.schedule.farkas:
        yield (
            "the claim",
            lambda digits: bounds.weights_of(
                programme, system, case.schedule.farkas, None, 1, digits
            ),
        )
    proposed = proposals.ray(system, programme.point)
    if proposed is not None:
        weights = np.where(
            np.abs(proposed) > 1e-12 * np.abs(proposed).max(initial=0.0), proposed, 0
        )
        yield "the checker", lambda digits: _array(bounds.read_off(weights, digits))


def noughts(declarations: Declarations) -> dict[str, Series]:
    """Return some number for every variable: which, does not matter to what is affine."""
    points: dict[str, Series] = {}
    for variable in declarations.core.decision_variables:
        dims, _ = declarations.dims(variable.index)
        shape = tuple(dim.size for dim in dims)
        unit = parse_unit(variable.unit or "1")
        names = tuple(dim.name for dim in dims)
        points[variable.name] = Series(variable.name, np.zeros(shape), unit, names)
    return points


def _array(numbers: list[Fraction]) -> Fractions:
    result = np.empty(len(numbers), dtype=object)
    result[:] = numbers
    return result


def _concluded(certificate: Certificate, case: Case, body: dict[str, Any]) -> Certificate:
    levels = dict(certificate.levels)
    level = {**levels.get("optimality", {"status": "unchecked"}), "exact": body}
    if body["proven"] and case.requirements is None:
        level |= {"status": "pass", "evidence": "recomputed"}
    return certificate.judged(levels={**levels, "optimality": level})

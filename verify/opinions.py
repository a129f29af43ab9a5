"""What a second solver says of a plan, beside what the certificate says: agreement or none.

No solver is believed here. A second one that contradicts a certificate takes it away; one that
agrees with the first adds a bound that is reported twice and recomputed never, and is called so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from engiagent.errors import InputError
from engiagent.verify.certificate import Certificate
from engiagent.verify.claims import none_allowed
from engiagent.verify.findings import finite_or_none
from engiagent.verify.levels.algebra import gap_of
from engiagent.verify.tolerances import TOLERANCES

SECOND: Final = "second_solver"
STATUSES: Final = ("optimal", "feasible", "infeasible", "unbounded", "limit", "error")


@dataclass(frozen=True, kw_only=True)
class Opinion:
    """What a second solver said."""

    solver: str
    version: str
    status: str  # one of ``STATUSES``
    # objective, bound: of its own plan and of all plans, in ``unit``; None where it has none
    objective: float | None
    bound: float | None
    unit: str
    over: str  # what it was given
    complete: bool  # whether that was all that is asked; else a better plan of its own says nothing
    reason: str | None = None

    @classmethod
    def from_json(cls, data: Any) -> "Opinion":
        """Return an opinion that :meth:`to_dict` wrote; InputError when it is none."""
        names = cls.__dataclass_fields__
        texts = ("solver", "version", "status", "unit", "over")
        numbers = (data.get("objective"), data.get("bound")) if isinstance(data, Mapping) else ()
        if (
            not isinstance(data, Mapping)
            or set(data) - set(names)
            or not all(isinstance(data.get(name), str) for name in texts)
            or data["status"] not in STATUSES
            or any(isinstance(n, bool) or not isinstance(n, int | float | None) for n in numbers)
            or not isinstance(data.get("complete"), bool)
        ):
            raise InputError("no opinion of a second solver", "run.json")
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return found | {
            "objective": finite_or_none(self.objective),
            "bound": finite_or_none(self.bound),
        }


def with_opinion(certificate: Certificate, opinion: Opinion) -> Certificate:
    """Return a certificate that reports a second solver's opinion and holds only if they agree."""
    contradiction = _contradiction(certificate, opinion)
    closes = _closes(certificate, opinion)
    level = dict(certificate.levels.get("optimality", {"status": "unchecked"}))
    section = {**opinion.to_dict(), "note": "reported, not recomputed"}
    section["agrees"] = False if contradiction else True if closes else None
    level[SECOND] = section
    findings = list(level.get("findings") or ())
    if contradiction is not None:
        section["contradiction"] = contradiction
        level |= {"findings": [*findings, f"the solvers contradict one another: {contradiction}"]}
        level["status"] = "unchecked" if level["status"] == "pass" else level["status"]
        level["evidence"] = "contradicted"
        return certificate.judged(levels={**certificate.levels, "optimality": level}, bound=None)
    certificate = replace(certificate, levels={**certificate.levels, "optimality": level})
    return _twice_reported(certificate, opinion) if closes else certificate


def _contradiction(certificate: Certificate, opinion: Opinion) -> str | None:
    """Return in what a second solver and the certificate cannot both be right."""
    by = opinion.solver
    if none_allowed({"plan": certificate.plan}):
        found = opinion.complete and opinion.status in ("optimal", "feasible")
        return f"nothing is allowed, but {by} has a plan" if found else None
    goal = certificate.objective
    if goal is None or goal.get("value") is None or certificate.verdict == "violated":
        return None
    if opinion.status == "infeasible":
        return f"{by} says that nothing is allowed, and here is a plan"
    value, sense, unit = goal["value"], goal["sense"], goal["unit"]
    if opinion.unit != unit:
        return None
    if opinion.bound is not None and gap_of(value, opinion.bound, sense) < -TOLERANCES["gap"]:
        return f"the plan has {value!r} {unit}, but {by} says none is beyond {opinion.bound!r}"
    if not opinion.complete or certificate.bound is None:
        return None
    bound = certificate.bound.get("value")
    if bound is None:
        return None
    if opinion.status == "unbounded":
        return f"{by} says that there is no bound, and the certificate has {bound!r} {unit}"
    if opinion.objective is not None and gap_of(opinion.objective, bound, sense) < (
        -TOLERANCES["gap"]
    ):
        return f"{by} has a plan of {opinion.objective!r} {unit}, beyond the bound {bound!r}"
    return None


def _closes(certificate: Certificate, opinion: Opinion) -> bool:
    """Whether the second solver says the same: that the plan is the best, or that there is none."""
    goal = certificate.objective
    if none_allowed({"plan": certificate.plan}):
        return opinion.status == "infeasible"
    if goal is None or opinion.bound is None or opinion.unit != goal.get("unit"):
        return False
    if goal.get("value") is None:
        return False
    return abs(gap_of(goal["value"], opinion.bound, goal["sense"])) <= TOLERANCES["gap"]


def _twice_reported(certificate: Certificate, opinion: Opinion) -> Certificate:
    """Return a certificate whose bound two solvers report, where none could be recomputed."""
    level = dict(certificate.levels["optimality"])
    first, goal = level.get("reported_bound"), certificate.objective
    if level.get("evidence") != "reported" or not isinstance(first, Mapping) or goal is None:
        return certificate
    if opinion.status != "optimal" or str(first.get("by")) == opinion.solver:
        return certificate
    level |= {"status": "pass", "evidence": "agreed"}
    method = (
        f"branch-and-bound bounds as reported by {first['by']} and, over {opinion.over}, by "
        f"{opinion.solver}, which agree; not recomputed"
    )
    own = gap_of(goal["value"], opinion.bound or 0.0, goal["sense"])
    bound = {"value": opinion.bound, "gap": own, "method": method}
    return certificate.judged(levels={**certificate.levels, "optimality": level}, bound=bound)

"""The certificate: what was checked, on which inputs, with which outcome; the same bytes always."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from engiagent.blueprint.document import Blueprint
from engiagent.errors import InputError
from engiagent.io.jsontext import dumps_canonical, loads_strict
from engiagent.io.shows import Shows
from engiagent.verify.claims import (
    CLAIMS,
    EVIDENCE,
    GRADES,
    Claim,
    Reading,
    overrides_of,
    plan_of,
    verdict_of,
)
from engiagent.verify.findings import Report, Violation, finite_or_none
from engiagent.verify.verdicts import VERDICTS

SCHEMA: Final = "engiagent-certificate/2"
SEAL: Final = "sha256"
"""The key of a certificate's hash, which counts everything else in canonical form."""

_Schema = dict[str, Any]
_NUMBER: Final = ["number", "null"]


def certificate_schema() -> _Schema:
    """Return the JSON Schema (draft 2020-12) of certificates.

    ``levels`` say more than their status; what, depends on the level and may grow. Figures under
    ``exact`` are fractions as text; one that begins with ``~`` is rounded to the safe side.
    """
    fields = {
        "schema": {"const": SCHEMA, "description": "Name and version of this format."},
        "verdict": {"enum": list(VERDICTS), "description": "What follows from the two claims."},
        "plan": _plan(),
        "reading": _reading(),
        "overrides": _list(_override(), "Values that the user put in the place of the problem's."),
        "problem": _is("string", "Id of the problem."),
        "inputs": _map(_digest("SHA-256 of one input."), "Every input by its name."),
        "objective": _objective(),
        "bound": _bound(),
        "levels": _map(_level(), "The levels `data`, `algebra`, `physics` and `optimality`."),
        "violations": _list(_violation(), "What is wrong; empty unless the verdict is `violated`."),
        "missing": _texts("Data that the problem does not give."),
        "contradictions": _texts("Statements of the problem that clash."),
        "not_understood": _texts("Sentences of the text that nobody accounted for."),
        "notes": _texts("What was assumed on the way: units, signs, a first state."),
        "tolerances": _map(_is("number", "A tolerance."), "Every tolerance in force, by name."),
        "tolerances_sha256": _is("string", "SHA-256 of `tolerances` in canonical form."),
        "versions": _map(_is("string", "A version."), "Versions of what the checker ran on."),
        SEAL: _digest("The seal: SHA-256 of everything else in canonical form."),
    }
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    closed = {"additionalProperties": False, "properties": fields}
    outside = {"type": "object", "required": list(fields), **closed}
    return {**head, "title": "engiagent certificate", **outside}


def _plan() -> _Schema:
    fields = {
        "claim": _one_of(CLAIMS, "What was checked"),
        "holds": {
            "enum": ["pass", "fail", "unchecked"],
            "description": "Rows and execution; of a claim that no plan is allowed, its proof.",
        },
        "optimum": _one_of(EVIDENCE, "What shows that the plan is the best"),
    }
    return _object(fields, "The claim about the plan, against the blueprint.")


def _reading() -> _Schema:
    fields = {
        "grade": _one_of(GRADES, "Who has read the text"),
        "by": _is("string", "Who read it besides the author; what states it; or empty."),
        "what": _is("string", "What that reading is, as a file or a hash; or empty."),
        "open": _texts("Numbers and requirements of the text that remain open, by name."),
    }
    return _object(fields, "The claim about the reading, against the text.")


def _override() -> _Schema:
    known = ["number", "string", "null"]
    fields = {
        "name": _is("string", "Of the parameter, slot or bound."),
        "before": _is(known, "What the problem states; null where it states nothing."),
        "after": _is(["number", "string"], "What the user gave."),
        "unit": _is("string", "Of both."),
    }
    return _object(fields, "One value.")


def _one_of(meanings: Mapping[str, str], title: str) -> _Schema:
    """Return a field whose values come from a table of their meanings."""
    listed = "; ".join(f"`{name}`: {meaning}" for name, meaning in meanings.items())
    return {"enum": list(meanings), "description": f"{title}. {listed}."}


def _objective() -> _Schema:
    fields = {
        "value": _is(_NUMBER, "Computed from the schedule, by the stated objective."),
        "unit": _is("string", "Of `value`."),
        "sense": _is("string", "`minimize` or `maximize`."),
        "claimed": _is(_NUMBER, "What the schedule says of itself."),
        "exact": _is("string", "`value` as a fraction."),
    }
    return _or_null(fields, "What the schedule comes to; null without an objective.")


def _bound() -> _Schema:
    fields = {
        "value": _is(_NUMBER, "No schedule that keeps the requirements is better than this."),
        "gap": _is(_NUMBER, "Between objective and bound, relative to the objective."),
        "method": _is("string", "What the bound rests on."),
        "exact": _is("string", "`value` as a fraction."),
    }
    return _or_null(fields, "A bound on the best; null without one.")


def _level() -> _Schema:
    exact = _object(
        {"arithmetic": {"enum": ["exact", "floating point"], "description": "Of its figures."}},
        "The level in rational arithmetic, where `--exact` was given.",
    )
    second = ("solver", "status", "bound", "over", "note", "agrees")
    fields = {
        "status": {"enum": ["pass", "fail", "unchecked"], "description": "How the level ended."},
        "exact": exact,
        "evidence": {"enum": list(EVIDENCE), "description": "As `optimum` of `plan`."},
        "second_solver": _object({}, "What another solver says, where it was asked.", *second),
    }
    return _object(fields, "What one level found; more keys by level.", "status")


def _violation() -> _Schema:
    fields = {
        "level": _is("string", "At which level it was found."),
        "check": _is("string", "Id of the requirement, or name of the check."),
        "name": _is("string", "What is broken, in words."),
        "message": _is("string", "The finding as a sentence."),
        "where": _is("object", 'Element of each set, as `{"T": "2025-07-01T03:00"}`.'),
        "amount": _is(_NUMBER, "By how much."),
        "unit": _is(["string", "null"], "Of `amount` and `tolerance`."),
        "tolerance": _is(_NUMBER, "What would still have passed."),
    }
    return _object(fields, "One thing that is wrong.", "level", "check", "name", "message")


def _is(kind: str | list[str], description: str) -> _Schema:
    return {"type": kind, "description": description}


def _digest(description: str) -> _Schema:
    return {"type": "string", "pattern": "^[0-9a-f]{64}$", "description": description}


def _list(items: _Schema, description: str) -> _Schema:
    return {"type": "array", "items": items, "description": description}


def _texts(description: str) -> _Schema:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _map(values: _Schema, description: str) -> _Schema:
    return {"type": "object", "additionalProperties": values, "description": description}


def _object(fields: _Schema, description: str, *required: str) -> _Schema:
    """Return an object in which some fields are required, by default all."""
    result: _Schema = {"type": "object", "required": list(required or fields)}
    if fields:
        result["properties"] = fields
    return {**result, "description": description}


def _or_null(fields: _Schema, description: str) -> _Schema:
    """Return an object that may be null, of which all but ``exact`` is required."""
    required = [name for name in fields if name != "exact"]
    return {**_object(fields, description, *required), "type": ["object", "null"]}


# --- the certificate ----------------------------------------------------------------------


UNCHECKED: Final = Report("unchecked", {"findings": ["there is nothing to check"]})
LEVELS: Final = ("data", "algebra", "physics", "optimality")
_FIELDS: Final[Mapping[str, Any]] = {
    key: kind for key, kind in certificate_schema()["properties"].items() if key != SEAL
}


@dataclass(frozen=True, repr=False)
class Certificate(Shows):
    """The outcome of a check."""

    verdict: str  # one of ``VERDICTS``
    problem: str  # the problem's id
    # plan, reading: the two claims, as ``Plan`` and ``Reading`` write them
    plan: Mapping[str, Any] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)
    # values that the user put in the place of the problem's
    overrides: tuple[Mapping[str, Any], ...] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)  # SHA-256 of every input by its name
    # ``value, unit, sense, claimed``; None without an objective
    objective: Mapping[str, Any] | None = None
    bound: Mapping[str, Any] | None = None  # ``value, gap, method``; None when there is none
    # ``data, algebra, physics, optimality``: each with its ``status``
    levels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # what is wrong, with place, amount, unit and tolerance
    violations: tuple[Mapping[str, Any], ...] = ()
    # missing, contradictions, not_understood: data that the problem does not give; statements of it
    # that clash; requirements of the text that nobody accounted for
    missing: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()
    not_understood: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # what was assumed on the way: units, signs, a first state
    tolerances: Mapping[str, float] = field(default_factory=dict)
    tolerances_sha256: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    schema: str = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain lists and dictionaries, sealed."""
        content = self._content()
        return {**content, SEAL: seal_of(content)}

    def _content(self) -> dict[str, Any]:
        result: dict[str, Any] = _clean({key: getattr(self, key) for key in _FIELDS})
        for name in ("inputs", "tolerances", "versions"):
            result[name] = dict(sorted(result[name].items()))
        return result

    def to_json(self) -> str:
        """Return the canonical text, which reading and writing again does not change."""
        return dumps_canonical(self.to_dict())

    @property
    def line(self) -> str:
        """The verdict with the values that the user changed or gave."""
        from engiagent.verify.claims import verdict_line

        return verdict_line({"verdict": self.verdict, "overrides": self.overrides})

    def judged(self, **changes: Any) -> Self:
        """Return the certificate with changes, and with the verdict that follows from it all.

        ``changes``: fields; ``reading`` may be a :class:`~engiagent.verify.claims.Reading`.
        """
        if isinstance(changes.get("reading"), Reading):
            changes["reading"] = changes["reading"].to_dict()
        found = replace(self, **changes)
        plan = plan_of(found.plan["claim"], found.levels, found.violations)
        verdict = verdict_of(
            plan,
            Reading.from_dict(found.reading),
            missing=bool(found.missing or found.contradictions),
            not_understood=bool(found.not_understood),
        )
        return replace(found, plan=plan.to_dict(), verdict=verdict)

    @property
    def sha256(self) -> str:
        """The seal: the SHA-256 of the canonical text of everything else."""
        return seal_of(self._content())

    @classmethod
    def from_json(cls, text: str, file: str = "certificate.json") -> Self:
        """Read a certificate."""
        data = read_certificate(text, file)
        seal = data.pop(SEAL)
        if seal != seal_of(data):
            raise InputError("the certificate was changed after it was sealed", file)
        for key, kind in _FIELDS.items():
            data[key] = tuple(data[key]) if kind.get("type") == "array" else data[key]
        return cls(**data)


def certificate_of(
    problem: Any,
    blueprint: Blueprint | None,
    claim: Claim,
    reports: Mapping[str, Report],
    violations: Sequence[Violation],
    reading: Reading,
    *,
    inputs: Mapping[str, str],
    **fields: Any,
) -> Certificate:
    """Return the certificate of what the levels report, with the verdict that follows from it.

    ``inputs``: hashes beside those of the problem and the blueprint. ``fields``: as they are.
    """
    import numpy as np  # certificates are read where no number is checked

    import engiagent
    from engiagent.verify.tolerances import TOLERANCES, tolerances_sha256

    known = (
        problem.sha256 if isinstance(problem.sha256, Mapping) else {"problem.md": problem.sha256}
    )
    own = {} if blueprint is None else {"blueprint": blueprint.sha256}
    return Certificate(
        verdict="undecided",
        problem=problem.id,
        plan={"claim": claim},
        overrides=tuple(item.to_dict() for item in overrides_of(blueprint)),
        inputs={**{str(name): str(digest) for name, digest in known.items()}, **inputs, **own},
        levels={name: reports.get(name, UNCHECKED).to_dict() for name in LEVELS},
        violations=tuple(violation.to_dict() for violation in violations),
        tolerances=TOLERANCES,
        tolerances_sha256=tolerances_sha256(),
        versions={"engiagent": engiagent.__version__, "numpy": np.__version__},
        **fields,
    ).judged(reading=reading)


def read_certificate(text: str, file: str = "certificate.json") -> dict[str, Any]:
    """Return a certificate as plain JSON; whether its seal is whole is not looked at."""
    from jsonschema import Draft202012Validator

    data = loads_strict(text, file)
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise InputError("no certificate", file, expected=f'"schema": "{SCHEMA}"')
    error = next(Draft202012Validator(certificate_schema()).iter_errors(data), None)
    if error is not None:
        raise InputError(f"{error.json_path}: {error.message[:200]}", file)
    return data


def seal_of(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a certificate without its seal, in canonical form."""
    return hashlib.sha256(dumps_canonical(dict(content)).encode()).hexdigest()


def _clean(value: Any) -> Any:
    """Return plain JSON values; what is no finite number becomes null."""
    if isinstance(value, Mapping):
        return {str(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    if isinstance(value, float):
        return finite_or_none(value)
    return value

"""The certificate: what was checked, on which inputs, with which outcome; the same bytes always."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from engiagent.errors import InputError
from engiagent.io.jsontext import dumps_canonical, loads_strict
from engiagent.io.shows import Shows
from engiagent.verify.claims import Reading, plan_of, verdict_of
from engiagent.verify.findings import finite_or_none
from engiagent.verify.schema import SCHEMA, SEAL, certificate_schema

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

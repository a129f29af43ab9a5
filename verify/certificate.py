"""The certificate: what was checked, on which inputs, with which outcome; the same bytes always."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from engiagent.errors import InputError
from engiagent.jsontext import dumps_canonical, loads_strict
from engiagent.verify.findings import finite_or_none
from engiagent.verify.schema import SCHEMA, SEAL, certificate_schema

LEVELS: Final = ("data", "algebra", "physics", "optimality")
_KEYS: Final = (
    "schema",
    "verdict",
    "problem",
    "inputs",
    "objective",
    "bound",
    "levels",
    "violations",
    "missing",
    "not_understood",
    "notes",
    "tolerances",
    "tolerances_sha256",
    "versions",
)


@dataclass(frozen=True)
class Certificate:
    """The outcome of a check.

    Attributes
    ----------
    verdict
        One of those of :mod:`engiagent.verify.schema`.
    problem
        The problem's id.
    inputs
        SHA-256 of every input by its name.
    objective
        ``value, unit, sense, claimed``; None without an objective.
    bound
        ``value, gap, method``; None when there is none.
    levels
        ``data, algebra, physics, optimality``: each with its ``status``.
    violations
        What is wrong, with place, amount, unit and tolerance.
    missing, not_understood
        Data that the problem does not give; demands of the text that nobody accounted for.
    notes
        What was assumed on the way: units, signs, a first state.
    """

    verdict: str
    problem: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    objective: Mapping[str, Any] | None = None
    bound: Mapping[str, Any] | None = None
    levels: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    violations: tuple[Mapping[str, Any], ...] = ()
    missing: tuple[str, ...] = ()
    not_understood: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tolerances: Mapping[str, float] = field(default_factory=dict)
    tolerances_sha256: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    schema: str = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain lists and dictionaries, sealed."""
        content = self._content()
        return {**content, SEAL: seal_of(content)}

    def _content(self) -> dict[str, Any]:
        result: dict[str, Any] = _clean({key: getattr(self, key) for key in _KEYS})
        for name in ("inputs", "tolerances", "versions"):
            result[name] = dict(sorted(result[name].items()))
        return result

    def to_json(self) -> str:
        """Return the canonical text, which reading and writing again does not change."""
        return dumps_canonical(self.to_dict())

    @property
    def sha256(self) -> str:
        """The seal: the SHA-256 of the canonical text of everything else."""
        return seal_of(self._content())

    @classmethod
    def from_json(cls, text: str, file: str = "certificate.json") -> Self:
        """Read a certificate.

        Raises
        ------
        InputError
            When it is no JSON, is not as the schema has it, or was changed after it was sealed.
        """
        data = read_certificate(text, file)
        seal = data.pop(SEAL)
        if seal != seal_of(data):
            raise InputError("the certificate was changed after it was sealed", file)
        for key in ("violations", "missing", "not_understood", "notes"):
            data[key] = tuple(data[key])
        return cls(**data)


def read_certificate(text: str, file: str = "certificate.json") -> dict[str, Any]:
    """Return a certificate as plain JSON; whether its seal is whole is not looked at.

    Raises
    ------
    InputError
        With the place, when it is no JSON or is not as the schema has it.
    """
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


def decide(
    statuses: Mapping[str, str],
    annotated: bool,
    violated: bool,
    missing: bool,
    not_understood: bool,
) -> str:
    """Return the verdict on a schedule.

    Parameters
    ----------
    statuses
        The status of every level.
    annotated
        Whether the rules were annotated from the text and not taken from the blueprint alone.
    """
    if violated or "fail" in statuses.values():
        return "violated"
    if missing or not_understood:
        return "undecided"
    if statuses["algebra"] != "pass":
        return "undecided"
    if not annotated and statuses["data"] != "pass":
        return "undecided"
    if all(statuses[level] == "pass" for level in LEVELS):
        return "certified"
    return "feasible" if statuses["physics"] == "pass" else "undecided"

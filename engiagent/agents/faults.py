"""From what stages and checks say to faults of the taxonomy."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from engiagent.agents.protocol import AGENTS, AgentName, Board, Fault
from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic, MissingDataError
from engiagent.errors import EngiagentError
from engiagent.formulations.expansion import expand
from engiagent.io.files import packaged_yaml
from engiagent.verify.checking import check
from engiagent.verify.findings import whole_name
from engiagent.verify.levels.coverage import obliges

REPLIES: Final = (
    "reply-malformed",
    "reply-truncated",
    "engine-refused",
    "engine-unreachable",
    "budget-spent",
)
"""Kinds that say something of an answer and nothing of a blueprint."""
SAME: Final = "same"
PRIORITIES: Final = ("high", "medium", "low")
_CODES: Final = {
    "syntax": ("EB001", "EB010", "EB011"),
    "unknown-name": ("EB002",),
    "index": ("EB003", "EB004"),
    "unit-mismatch": ("EB005", "EB006", "EB007"),
    "not-supported": ("EB008", "EB009"),
    "blueprint-invalid": ("EB012", "EB014", "EB016"),
}
_KINDS: Final = {code: kind for kind, codes in _CODES.items() for code in codes}


@dataclass(frozen=True)
class Kind:
    """One kind of fault, as ``taxonomy.yaml`` has it.

    Of the ``owners`` who can mend it ``same`` is the agent that ran into it; ``success`` is how
    likely the first one is to; with ``script`` a script may answer in the blueprint's place.
    """

    name: str
    about: str
    priority: str
    owners: tuple[AgentName | str, ...] = ()
    strategy: str = ""
    success: float = 0.0
    ends: bool = False
    script: bool = False


@cache
def taxonomy() -> Mapping[str, Kind]:
    """Return every kind of fault by name."""
    kinds = {}
    for name, entry in packaged_yaml("engiagent.agents", "taxonomy.yaml").items():
        kind = Kind(name, **{**entry, "owners": tuple(entry.get("owners", ()))})
        unknown = [o for o in kind.owners if o != SAME and o not in AGENTS]
        if unknown or kind.priority not in PRIORITIES:
            raise EngiagentError(f"taxonomy.yaml: {name}: {unknown or kind.priority}")
        kinds[name] = kind
    return kinds


def worst_first(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Return faults by priority, those that end a run first of all."""
    known = taxonomy()

    def rank(fault: Fault) -> tuple[bool, int]:
        kind = known[fault.kind]
        return not kind.ends, PRIORITIES.index(kind.priority)

    return tuple(sorted(faults, key=rank))


def standing(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Return the faults that stay until they are mended; a bad reply is over with the next one."""
    return tuple(fault for fault in faults if fault.kind not in REPLIES)


def of_error(error: EngiagentError) -> tuple[Fault, ...]:
    """Return the faults behind an error of a stage."""
    if isinstance(error, BlueprintError):
        return tuple(of_diagnostic(item) for item in error.diagnostics if item.severity == "error")
    if isinstance(error, MissingDataError):
        return tuple(Fault("data-missing", f"no value is known for {n}", n) for n in error.names)
    return (Fault("formulation", str(error)),)


def of_diagnostic(found: Diagnostic) -> Fault:
    """Return a finding of static analysis as a fault."""
    place = found.path if found.column is None else f"{found.path}, column {found.column}"
    name = f'"{found.name}": ' if found.name else ""
    kind = _KINDS.get(found.code, "formulation")
    return Fault(kind, f"{found.code} {name}{found.message}", place, found.suggestion or "")


def of_status(status: str, reason: str | None) -> tuple[Fault, ...]:
    """Return the fault of a solver's status; none for a status with a schedule."""
    kinds = {
        "infeasible": "infeasible",
        "unbounded": "unbounded",
        "limit": "solver-limit",
        "error": "solver-trouble",
    }
    return (Fault(kinds[status], reason or status),) if status in kinds else ()


MOST_OF_A_SERIES: Final = 3
"""Findings about values of one series that are shown; the others are counted."""


def of_certificate(certificate: Mapping[str, Any]) -> tuple[Fault, ...]:
    """Return what a certificate holds against a blueprint and its schedule."""
    found = [*_violations(certificate), *_gaps(certificate), *_unchecked(certificate)]
    return worst_first(dict.fromkeys(found))


_DATA: Final = {
    "untraced": "data-untraced",
    "unused": "data-ignored",
    "unaccounted": "data-ignored",
    "coverage": "data-ignored",
}


def _violations(certificate: Mapping[str, Any]) -> Iterator[Fault]:
    for entry, more in _few_of_a_series(certificate.get("violations") or ()):
        level, check = entry["level"], str(entry["check"])
        kind = {
            "data": next((k for word, k in _DATA.items() if word in check), "data-altered"),
            "algebra": "requirement-violated",
            "physics": "physics-violated",
            "optimality": "not-best",
        }[level]
        quote = _quote(certificate, check)
        where = ", ".join(f"{k} {v}" for k, v in (entry.get("where") or {}).items())
        place = f"{entry.get('name') or check}" + (f" at {where}" if where else "")
        said = str(entry["message"]) + (f"; so are {more} more of its values" if more else "")
        yield Fault(kind, said, place, quote and f"the text says: {quote}")


def _few_of_a_series(
    entries: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[Mapping[str, Any], int]]:
    """Yield violations; of a series the first few, and with the last how many more there are."""
    total = Counter(whole_name(str(e["check"])) for e in entries if e["level"] == "data")
    shown: Counter[str] = Counter()
    for entry in entries:
        name = whole_name(str(entry["check"]))
        if entry["level"] != "data":
            yield entry, 0
            continue
        shown[name] += 1
        if shown[name] < MOST_OF_A_SERIES:
            yield entry, 0
        elif shown[name] == MOST_OF_A_SERIES:
            yield entry, total[name] - MOST_OF_A_SERIES


def _quote(certificate: Mapping[str, Any], check: str) -> str:
    """Return the words of the text on which a broken requirement rests; empty if none."""
    algebra = (certificate.get("levels") or {}).get("algebra") or {}
    checks = algebra.get("checks") or ()
    found = next((c.get("quote") for c in checks if str(c.get("id")) == check), None)
    return " ".join(str(found or "").split())


def _gaps(certificate: Mapping[str, Any]) -> Iterator[Fault]:
    for name in certificate.get("missing") or ():
        yield Fault("data-missing", f"no value is known for {name}", str(name))
    for text in certificate.get("not_understood") or ():
        yield Fault("data-ignored", f"not accounted for: {text}")


def _unchecked(certificate: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield hard requirements that could not be evaluated: their quantity is nowhere."""
    algebra = (certificate.get("levels") or {}).get("algebra") or {}
    for entry in algebra.get("checks") or ():
        if entry.get("status") == "unchecked":
            said = entry.get("note") or "it could not be evaluated"
            yield Fault(
                "quantity-absent",
                f"{entry.get('quote') or entry.get('text')}: {said}",
                str(entry.get("name") or entry.get("id")),
            )


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

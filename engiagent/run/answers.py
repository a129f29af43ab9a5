"""A result held against the answer that is stored for its problem."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engiagent.units.unit import convert, parse_unit

DEFAULT_TOLERANCE = 1e-6


def against_answer(
    verdict: str | None, objective: Mapping[str, Any], missing: Iterable[str], answer: Any
) -> Iterator[str]:
    """Yield a sentence for everything in which a result differs from the stored answer."""
    if not isinstance(answer, dict):
        yield "the answer is no JSON object"
        return
    if verdict != answer.get("verdict"):
        yield f"the verdict is {verdict}, the answer says {answer.get('verdict')}"
    expected = answer.get("objective") or {}
    if expected.get("value") is not None:
        yield from objectives(objective, expected, answer.get("relative_tolerance"))
    names = {str(item) for item in answer.get("missing") or ()}
    given = set(missing)
    if names != given:
        yield f"missing is {sorted(given)}, the answer says {sorted(names)}"


def objectives(
    found: Mapping[str, Any], expected: Mapping[str, Any], tolerance: float | None
) -> Iterator[str]:
    """Yield a sentence for everything in which an objective differs from the stored one."""
    value = found.get("value")
    if value is None:
        yield f"there is no objective, the answer says {expected['value']}"
        return
    unit, wanted = str(found.get("unit") or "1"), str(expected.get("unit") or "1")
    value = convert(float(value), parse_unit(unit), parse_unit(wanted))
    allowed = (tolerance or DEFAULT_TOLERANCE) * max(1.0, abs(expected["value"]))
    if not abs(value - expected["value"]) <= allowed:
        yield f"the objective is {value:.10g} {wanted}, the answer says {expected['value']:.10g}"
    if found.get("sense") != expected.get("sense"):
        yield f"the sense is {found.get('sense')}, the answer says {expected.get('sense')}"

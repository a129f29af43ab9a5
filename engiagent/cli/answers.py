"""Where a checked corpus problem and its stored expert material disagree."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from engiagent.blueprint import Blueprint
from engiagent.verify.verdicts import USABLE

if TYPE_CHECKING:
    from engiagent.cli.checked import CheckResult

DEFAULT_TOLERANCE = 1e-6


def quotes_astray(blueprint: Blueprint, text: str) -> Iterator[str]:
    """Yield a sentence for every quote that does not stand at its place in the text."""
    for quote, span in _quotes(blueprint.to_dict()):
        start, stop = span
        if text[start:stop] != quote:
            yield f"the quote {quote!r} is not at {start}:{stop}, where {text[start:stop]!r} stands"


def _quotes(value: Any) -> Iterator[tuple[str, tuple[int, int]]]:
    if isinstance(value, dict):
        span, quote = value.get("span"), value.get("quote")
        if isinstance(quote, str) and isinstance(span, list) and len(span) == 2:
            yield quote, (span[0], span[1])
        for item in value.values():
            yield from _quotes(item)
    elif isinstance(value, list):
        for item in value:
            yield from _quotes(item)


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
        yield from _objectives(objective, expected, answer.get("relative_tolerance"))
    names = {str(item) for item in answer.get("missing") or ()}
    given = set(missing)
    if names != given:
        yield f"missing is {sorted(given)}, the answer says {sorted(names)}"


def against_bound(verdict: str | None, bound: Any, answer: Any) -> Iterator[str]:
    """Yield why a plan that should be the best one is not, as far as the bounds tell.

    The bound is that of the stated requirements; one that is better than the answer's means that
    they allow more than the answer does.
    """
    stored = answer.get("bound") if isinstance(answer, dict) else None
    found = bound.get("value") if isinstance(bound, Mapping) else None
    if verdict != "feasible" or stored is None or answer.get("verdict") != "certified":
        return
    if isinstance(stored, int | float) and isinstance(found, int | float):
        yield (
            f"the requirements allow {found:.10g}, the bound of the answer is {stored:.10g}: "
            "a requirement may be missing or too loose"
        )


def against_schedule(result: "CheckResult", answer: Any) -> Iterator[str]:
    """Yield a sentence for everything in which a stored schedule differs from the answer.

    A schedule on its own may prove no optimum, so that ``feasible`` is as good as ``certified``.
    """
    from engiagent.cli.output import item_text

    if result.verdict not in USABLE:
        reasons = [item_text(item) for item in result.certified("violations") or ()]
        yield "; ".join([f"the verdict is {result.verdict}", *reasons[:3]])
        return
    expected = answer.get("objective") if isinstance(answer, dict) else None
    if isinstance(expected, dict) and expected.get("value") is not None:
        found = result.certified("objective") or {}
        yield from _objectives(found, expected, answer.get("relative_tolerance"))


def _objectives(
    found: Mapping[str, Any], expected: Mapping[str, Any], tolerance: float | None
) -> Iterator[str]:
    from engiagent.units.unit import convert, parse_unit

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

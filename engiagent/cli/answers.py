"""Where a checked corpus problem and its stored expert material disagree."""

from collections.abc import Iterator, Mapping
from typing import Any

from engiagent.blueprint import Blueprint
from engiagent.cli.checked import CheckResult
from engiagent.cli.output import item_text
from engiagent.run.answers import objectives
from engiagent.verify.verdicts import USABLE


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


def against_schedule(result: CheckResult, answer: Any) -> Iterator[str]:
    """Yield a sentence for everything in which a stored schedule differs from the answer.

    A schedule on its own may prove no optimum, so that ``feasible`` is as good as ``certified``.
    """
    if result.verdict not in USABLE:
        reasons = [item_text(item) for item in result.certified("violations") or ()]
        yield "; ".join([f"the verdict is {result.verdict}", *reasons[:3]])
        return
    expected = answer.get("objective") if isinstance(answer, dict) else None
    if isinstance(expected, dict) and expected.get("value") is not None:
        found = result.certified("objective") or {}
        yield from objectives(found, expected, answer.get("relative_tolerance"))

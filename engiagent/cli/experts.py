"""A corpus problem against its expert material: what is absent, and where the two disagree."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint.grammar import ExpressionError, Number, parse, walk
from engiagent.text import Problem
from engiagent.verify.requirements import Requirements

ANSWER: Final = "answer.json"
MAPPING: Final = "mapping.yaml"
SCHEDULES: Final = (".csv", ".json", ".nc", ".parquet", ".xlsx")
_FACTORS: Final = (1.0, 100.0, 1e-2, 1e3, 1e-3, 1e6, 1e-6, 60.0, 1 / 60)
"""Between a number and the same one in per cent, another prefix, or minutes instead of hours."""
_DIGITS: Final = re.compile(r"\d[\d\u00a0\u202f ,.']*")
_PLAIN: Final = re.compile(r"\d+(?:\.\d+)?")


def stored_schedules(expert: Path) -> list[Path]:
    """Return the schedules that are kept beside the answer: files named ``schedule…``."""
    found = (path for path in expert.glob("schedule*") if path.suffix in SCHEDULES)
    return sorted(path for path in found if path.is_file())


def numbers_astray(requirements: Requirements, problem: Problem) -> Iterator[str]:
    """Yield a sentence for every number of the requirements that the text does not have.

    Literals with a unit and values of parameters count, in any usual prefix, as per cent or per
    unit. Bare literals in formulas do not: exponents and factors belong to no text; neither do
    powers of ten, which bring quantities to a base.
    """
    known = numbers_of(problem)
    for name, number, unit in _stated(requirements):
        if not _is_known(abs(number), known):
            amount = f"{number:.10g} {unit}" if unit not in (None, "1") else f"{number:.10g}"
            yield f"{name}: {amount} is no number of the text"


def numbers_of(problem: Problem) -> frozenset[float]:
    """Return every number that can be read out of a text, digits grouped or not."""
    found = {float(quantity.value) for quantity in problem.quantities}
    for match in _DIGITS.findall(problem.text):
        found |= {float(part) for part in _PLAIN.findall(match)}
        joined = re.sub(r"[\u00a0\u202f ,']", "", match).rstrip(".")
        if _PLAIN.fullmatch(joined):
            found.add(float(joined))
    return frozenset(abs(number) for number in found)


def _stated(requirements: Requirements) -> Iterator[tuple[str, float, str | None]]:
    texts = [(item.id, item.expression) for item in requirements.requirements]
    if requirements.objective is not None:
        texts.append(("objective", requirements.objective.expression))
    for item in requirements.core.parameters:
        if isinstance(item.value, int | float):
            yield item.name, float(item.value), str(item.unit) if item.unit else None
    for name, text in texts:
        try:
            nodes = [node for node in walk(parse(text)) if isinstance(node, Number)]
        except ExpressionError:
            continue  # the checker says what is wrong with it
        yield from ((name, node.value, node.unit) for node in nodes if node.unit is not None)


def _is_known(number: float, known: frozenset[float]) -> bool:
    if number == 0 or f"{number:.9e}".startswith("1.000000000e"):  # a power of ten
        return True
    return any(
        abs(number * factor - other) <= 1e-9 * max(1e-9, other)
        for factor in _FACTORS
        for other in known
    )


def quotes_astray(value: Any, text: str) -> Iterator[str]:
    """Yield a sentence for every quote in a JSON document that is not at its place in the text."""
    if isinstance(value, dict):
        span, quote = value.get("span"), value.get("quote")
        if isinstance(quote, str) and isinstance(span, list) and len(span) == 2:
            start, stop = span
            if (found := text[start:stop]) != quote:
                yield f"the quote {quote!r} is not at {start}:{stop}, where {found!r} stands"
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from quotes_astray(item, text)


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

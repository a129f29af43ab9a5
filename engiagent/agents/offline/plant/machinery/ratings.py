"""Ratings of sources whose available power is given: 'a 10 MW solar plant' limits nothing more."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.amounts import Amount, kind_of
from engiagent.agents.offline.draft import Draft, Value
from engiagent.agents.offline.plant.units import Plant
from engiagent.blueprint.units import convert, parse_unit

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

_BEFORE: Final = r"(?:^|(?<![a-z])(?:an?|our|the|this|its|their|with|and|have|has|runs?|owns?) )"


def take_ratings(
    problem: "Problem", draft: Draft, plant: Plant, others: Mapping[int, Sequence[Value]]
) -> None:
    """Account for ratings that no value of the given series exceeds.

    Parameters
    ----------
    problem, draft, plant
        The problem, what was read of it, its units.
    others
        All series that one stands for, by the identity of its source.
    """
    for instance in plant.instances:
        series = draft.series.get((instance.name, "available_power"))
        if series is None or kind_of(series.unit) != "power":
            continue
        nouns = f"(?:{instance.unit.nouns})"
        pattern = re.compile(
            rf"{_BEFORE}<power#(?P<a>\d+)>(?: [a-z-]+)? {nouns}(?![a-z-])"
            rf"|{_BEFORE}{nouns} (?:of|with|rated(?: at)?|[(]) ?<power#(?P<b>\d+)>"
            r"(?: peak)?(?: [)])?"
        )
        every = others.get(id(series.source)) or [series]
        most = max(_largest(problem, value) for value in every)
        for n, line in enumerate(draft.lines):
            if line.sentence.is_heading or n in draft.table_lines:
                continue
            for match in pattern.finditer(line.line):
                i = int(match["a"] or match["b"])
                amount = line.tokens[i].amount
                if amount is None or draft.is_taken(n, i) or _in_kw(amount) < most - 1e-9:
                    continue
                draft.take(n, [i])
                reason = "a rating that the given available power never exceeds"
                entry = {"span": list(amount.span), "quote": amount.quote, "reason": reason}
                draft.unused.append(entry)


def _in_kw(amount: Amount) -> float:
    return convert(amount.value, parse_unit(amount.unit), parse_unit("kW"))


def _largest(problem: "Problem", value: Value) -> float:
    """Return the largest value of a series in kW; infinite where it cannot be read."""
    numbers = value.numbers
    if value.data is not None:
        file, column = value.data.split("#", 1)
        numbers = tuple(map(float, problem.data[file].column(column).numbers()))
    if not numbers:
        return float("inf")
    return convert(max(numbers), parse_unit(value.unit), parse_unit("kW"))

r"""Scores of an answer against what a case expects, all by rule from its calls and findings.

Recall of tools and agents, plan steps, argument keys and values are equations 1 to 5 of the paper
on agents for building energy (its appendix on the benchmark); pass@k and the equivalence of
dependency graphs are those of PowerDAG (appendix F):

.. math:: \mathrm{pass@}k = 1 - \binom{n-s}{k} / \binom{n}{k}, \qquad
          \mathrm{pass}^k = \binom{s}{k} / \binom{n}{k}

with ``s`` successes in ``n`` runs; pass^k and the six criteria are those of AssetOpsBench, and
approach, accuracy and source stay three scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import comb, isclose
from typing import Any

from engiagent.ask.answers import Answered
from engiagent.ask.execution import Call
from engiagent.tools.registry import Json
from engiagent.units.unit import UnitError, convert, parse_unit

_RELATIVE = 1e-6


@dataclass(frozen=True)
class ExpectedStep:
    """A step that is expected: who calls which tools, with which arguments by tool."""

    agent_id: str
    required_tools: tuple[str, ...]
    expected_parameters: Mapping[str, Json]


@dataclass(frozen=True)
class ExpectedValue:
    """A number that the answer has to have, within ``tolerance``, in ``unit``."""

    value: float
    tolerance: float
    unit: str


@dataclass(frozen=True)
class Scores:
    """Of one run; None where a case expects nothing of the kind."""

    tool_recall: float
    agent_recall: float
    plan_steps: float
    argument_keys: float
    argument_values: float
    accuracy: float | None
    source: float | None
    criteria: Mapping[str, bool | None]

    @property
    def approach(self) -> float:
        """Whether the way was right, whatever came of it."""
        return 0.5 * (self.tool_recall + self.plan_steps)

    @property
    def success(self) -> bool:
        """Whether the run did all that was expected and came to the expected numbers."""
        good = self.tool_recall == self.argument_values == 1.0 and self.accuracy in (None, 1.0)
        return good and bool(self.criteria["task_completion"])


def scores(
    found: Answered,
    agents: Sequence[str],
    names: Sequence[str],
    steps: Sequence[ExpectedStep],
    values: Sequence[ExpectedValue] = (),
) -> Scores:
    """Return the scores of an answer."""
    calls = [call for call in found.calls if call.done]
    tool_recall = recall(names, [call.tool for call in calls])
    ordered = plan_steps(steps, calls)
    keys, matched = arguments(steps, calls)
    accuracy = _share([_has(found, value) for value in values])
    source = _share([_call(calls, item["call"]) in names for item in found.findings])
    criteria = {
        "task_completion": found.status == "answered" and tool_recall == 1.0,
        "data_retrieval": matched == 1.0,
        "result_verification": None if accuracy is None else accuracy == 1.0,
        "agent_sequence": ordered == 1.0,
        "clarity_and_justification": bool(found.prose and found.findings and not found.not_done),
        "no_hallucination": not found.struck_out,
    }
    agent_recall = recall(agents, [call.agent for call in calls])
    return Scores(tool_recall, agent_recall, ordered, keys, matched, accuracy, source, criteria)


def recall(expected: Sequence[str], actual: Sequence[str]) -> float:
    """Return the share of what is expected that is there (equations 1 and 2).

    >>> recall(["a", "b"], ["b", "c"])
    0.5
    """
    wanted = set(expected)
    return len(wanted & set(actual)) / len(wanted) if wanted else 1.0


def plan_steps(expected: Sequence[ExpectedStep], calls: Sequence[Call]) -> float:
    """Return the share of expected calls that were made in their order (equation 3).

    It is the longest common subsequence of pairs of agent and tool; a step of several tools counts
    as that many.
    """
    wanted = [(step.agent_id, tool) for step in expected for tool in step.required_tools]
    if not wanted:
        return 1.0
    lengths = [0] * (len(calls) + 1)
    for pair in wanted:
        row = [0]
        for k, call in enumerate(calls):
            same = pair == (call.agent, call.tool)
            row.append(lengths[k] + 1 if same else max(lengths[k + 1], row[-1]))
        lengths = row
    return lengths[-1] / len(wanted)


def arguments(expected: Sequence[ExpectedStep], calls: Sequence[Call]) -> tuple[float, float]:
    """Return the shares of expected argument keys and values (equations 4 and 5).

    Each expected call is held against the call of its tool that fits it best and that no other has.
    """
    left, keys, values, total = list(calls), 0, 0, 0
    for step in expected:
        for tool in step.required_tools:
            wanted = step.expected_parameters.get(tool, {})
            rivals = [call for call in left if call.tool == tool]
            best = max(rivals, key=lambda call: _fit(wanted, call.arguments), default=None)
            total += len(wanted)
            if best is not None:
                left.remove(best)
                matched, there = _fit(wanted, best.arguments)
                keys, values = keys + there, values + matched
    return (keys / total, values / total) if total else (1.0, 1.0)


def _fit(wanted: Json, given: Json) -> tuple[int, int]:
    """Return how many values and how many keys of a call are as expected."""
    there = [key for key in wanted if key in given]
    return sum(same(wanted[key], given[key]) for key in there), len(there)


def same(one: Any, two: Any) -> bool:
    """Whether two arguments are the same: numbers and times by value, texts whatever their case.

    >>> same(20, "20.0"), same("Office", "office "), same([1, 2], [1, 3])
    (True, True, False)
    >>> same("2026-07-13", "2026-07-13T00:00")
    True
    """
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same, one, two))
    try:
        return isclose(float(one), float(two), rel_tol=_RELATIVE)
    except (TypeError, ValueError):
        texts = str(one).strip().casefold(), str(two).strip().casefold()
    try:
        return datetime.fromisoformat(texts[0]) == datetime.fromisoformat(texts[1])
    except ValueError:
        return texts[0] == texts[1]


def _has(found: Answered, wanted: ExpectedValue) -> bool:
    return any(_near(item, wanted) for item in found.findings)


def _near(item: Json, wanted: ExpectedValue) -> bool:
    if isinstance(item["value"], bool) or not isinstance(item["value"], int | float):
        return False
    try:
        stated = (item["unit"] or "1").replace(" ", "*")  # K h
        units = parse_unit(stated), parse_unit(wanted.unit)
        value = convert(float(item["value"]), *units)
    except UnitError:
        return False
    return abs(value - wanted.value) <= wanted.tolerance


def _call(calls: Sequence[Call], name: str) -> str:
    return next((call.tool for call in calls if call.id == name), "")


def _share(found: Sequence[bool]) -> float | None:
    return sum(found) / len(found) if found else None


def pass_at(runs: int, successes: int, k: int) -> float:
    """Return the chance that one of ``k`` runs succeeds.

    >>> pass_at(4, 2, 1), round(pass_at(4, 2, 2), 4)
    (0.5, 0.8333)
    """
    return 1.0 - comb(runs - successes, k) / comb(runs, k)


def pass_hat(runs: int, successes: int, k: int) -> float:
    """Return the chance that all of ``k`` runs succeed.

    >>> round(pass_hat(4, 2, 2), 4)
    0.1667
    """
    return comb(successes, k) / comb(runs, k)

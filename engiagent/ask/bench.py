r"""Suites of questions: cases × ways of planning × repetitions, with checkpoints, scored by rule.

A suite is a YAML file of cases as the paper on agents for building energy has them (its table 4),
with ``expected_values`` that a second way confirms. The runs lie in the suite's folder, so that
``replay`` answers from them. Recall of tools and agents, plan steps, argument keys and values are
equations 1 to 5 of that paper (its appendix on the benchmark); with ``s`` successes in ``n`` runs

.. math:: \mathrm{pass@}k = 1 - \binom{n-s}{k} / \binom{n}{k}, \qquad
          \mathrm{pass}^k = \binom{s}{k} / \binom{n}{k}

pass^k is that of AssetOpsBench.
"""

import json
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from math import comb, isclose
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final

from jsonschema import Draft202012Validator

from engiagent.agents.engines.asking import Asking
from engiagent.agents.protocol import Budget
from engiagent.ask.answers import Answered
from engiagent.ask.asking import PLANNINGS, WORKSPACE, Inquiry, Planning
from engiagent.ask.cards import packaged
from engiagent.ask.execution import Call
from engiagent.errors import EngiagentError, InputError
from engiagent.io.plainyaml import loads_yaml
from engiagent.io.schemawords import NUMBER, OBJECT, TEXT, TEXTS, by_name, list_of, record
from engiagent.run.folder import RunFolder, read_trace
from engiagent.tools.registry import Json, tools
from engiagent.tools.stored import opened
from engiagent.units.unit import UnitError, convert, parse_unit

_RELATIVE = 1e-6


@dataclass(frozen=True)
class Scores:
    """Of one run; ``accuracy`` is None where a case expects no values."""

    tool_recall: float
    agent_recall: float
    plan_steps: float
    argument_keys: float
    argument_values: float
    accuracy: float | None
    no_hallucination: bool  # whether every figure of the prose is a call's
    success: bool  # whether all was done that was expected, with the expected numbers


def scores(found: Answered, case: Json) -> Scores:
    """Return the scores of an answer to a case."""
    calls, steps = [call for call in found.calls if call.done], case["expected_steps"]
    tools_called = recall(case["expected_tools"], [call.tool for call in calls])
    keys, matched = arguments(steps, calls)
    near = [any(_near(item, v) for item in found.findings) for v in case["expected_values"]]
    accuracy = sum(near) / len(near) if near else None
    right = tools_called == matched == 1.0 and accuracy in (None, 1.0)
    return Scores(
        tools_called,
        recall(case["expected_agents"], [call.agent for call in calls]),
        plan_steps(steps, calls),
        keys,
        matched,
        accuracy,
        not found.struck_out,
        right and found.status == "answered",
    )


def recall(expected: Sequence[str], actual: Sequence[str]) -> float:
    """Return the share of what is expected that is there (equations 1 and 2).

    >>> recall(["a", "b"], ["b", "c"])
    0.5
    """
    wanted = set(expected)
    return len(wanted & set(actual)) / len(wanted) if wanted else 1.0


def plan_steps(expected: Sequence[Json], calls: Sequence[Call]) -> float:
    """Return the share of expected calls that were made in their order (equation 3)."""
    wanted = [(step["agent_id"], tool) for step in expected for tool in step["required_tools"]]
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


def arguments(expected: Sequence[Json], calls: Sequence[Call]) -> tuple[float, float]:
    """Return the shares of expected argument keys and values (equations 4 and 5)."""
    left, keys, values, total = list(calls), 0, 0, 0
    for step in expected:
        for tool in step["required_tools"]:
            wanted = step.get("expected_parameters", {}).get(tool, {})
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
    """Whether two arguments are the same: numbers by value, texts whatever their case.

    >>> same(20, "20.0"), same("Office", "office "), same([1, 2], [1, 3])
    (True, True, False)
    """
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same, one, two))
    try:
        return isclose(float(one), float(two), rel_tol=_RELATIVE)
    except (TypeError, ValueError):
        return str(one).strip().casefold() == str(two).strip().casefold()


def _near(item: Json, wanted: Json) -> bool:
    if isinstance(item["value"], bool) or not isinstance(item["value"], int | float):
        return False
    try:
        stated = (item["unit"] or "1").replace(" ", "*")  # K h
        units = parse_unit(stated), parse_unit(wanted["unit"])
        value = convert(float(item["value"]), *units)
    except UnitError:
        return False
    return bool(abs(value - wanted["value"]) <= wanted["tolerance"])


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


SCHEMA: Final = "engiagent-ask-suite/1"
CATEGORIES: Final = ("SAST", "SAMT", "MAST", "MAMT")
RATES: Final = ("tool_recall", "agent_recall", "plan_steps", "argument_keys", "argument_values")
_STEP: Final = record(
    {"agent_id": TEXT, "required_tools": TEXTS},
    {"step_order": {"type": "integer"}, "expected_parameters": by_name(OBJECT)},
)
_VALUE: Final = record({"value": NUMBER, "tolerance": NUMBER, "unit": TEXT})
_CASE: Final = record(
    {
        "test_id": {"type": "string", "pattern": "^[A-Za-z0-9_-]+$"},
        "name": TEXT,
        "category": {"enum": list(CATEGORIES)},
        "request": TEXT,
        "expected_agents": TEXTS,
        "expected_tools": TEXTS,
        "expected_steps": list_of(_STEP),
        "description": TEXT,
    },
    {
        "expected_values": list_of(_VALUE),
        "answers": OBJECT,
        "before": list_of(record({"tool": TEXT, "arguments": OBJECT})),
    },
)
_NONE: Final[Json] = {"expected_values": [], "answers": {}, "before": []}
"""Of a case, where it does not say."""
_STORED: Final = "SELECT result FROM runs WHERE cell = ?"
CASES: Final = Path(__file__).with_name("cases.yaml")
"""The suite that comes with the package."""
_SUITE: Final = record(
    {"schema": {"const": SCHEMA}, "name": TEXT, "cases": list_of(_CASE)},
    {
        "plannings": list_of({"enum": list(PLANNINGS)}),
        "repetitions": {"type": "integer", "minimum": 1},
    },
)


@dataclass(frozen=True)
class AskSuite:
    """Cases, the ways of planning, how often each, and the digest of all that is expected.

    A case is a question with what is expected of its answer, after the calls of ``before``.
    """

    name: str
    cases: tuple[Json, ...]
    plannings: tuple[Planning, ...]
    repetitions: int
    digest: str


def load_suite(path: Path) -> AskSuite:
    """Return the suite of a YAML file; refuse agents and tools that there are not."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the suite cannot be read: {error}", str(path)) from None
    found = loads_yaml(text, str(path))
    misfit = next(Draft202012Validator(_SUITE).iter_errors(found), None)
    if misfit is not None:
        raise InputError(f"{misfit.json_path}: {misfit.message[:300]}", str(path))
    cases = tuple(_NONE | entry for entry in found["cases"])
    for case in cases:
        _refuse_unknown(case, path)
    plannings = tuple(found.get("plannings", PLANNINGS))
    digest = sha256(text.encode()).hexdigest()
    return AskSuite(found["name"], cases, plannings, found.get("repetitions", 1), digest)


def _refuse_unknown(case: Json, path: Path) -> None:
    steps = case["expected_steps"]
    used = [tool for step in steps for tool in step["required_tools"]]
    used += [call["tool"] for call in case["before"]]
    agents = [*case["expected_agents"], *(step["agent_id"] for step in steps)]
    named = (("tool", [*case["expected_tools"], *used], tools()), ("agent", agents, packaged()))
    for what, names, known in named:
        for name in names:
            if name not in known:
                raise InputError(f"{case['test_id']}: there is no {what} {name!r}", str(path))


def run_suite(
    suite: AskSuite,
    folder: Path,
    asking: Asking,
    *,
    replay: bool,
    on_run: Callable[[Json], None] | None = None,
) -> list[Json]:
    """Return one row a run: stored in ``folder/runs.sqlite``, or replayed from its exchanges."""
    rows = []
    with checkpoints(folder / "runs.sqlite") as store:
        for case, planning, repetition in _cells(suite):
            cell = f"{suite.digest} {asking.model} {case['test_id']} {planning} {repetition}"
            before = None if replay else store.execute(_STORED, (cell,)).fetchone()
            if before is not None:
                row = json.loads(before[0])
            else:
                row = _row(case, planning, repetition, folder, asking, replay=replay)
            if before is None and not replay:
                with store:
                    store.execute("INSERT INTO runs VALUES (?, ?)", (cell, json.dumps(row)))
            rows.append(row)
            if on_run is not None:
                on_run(row)
    return rows


@contextmanager
def checkpoints(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file of finished runs, a new one where there is none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=20.0)) as store:
            store.execute("CREATE TABLE IF NOT EXISTS runs (cell TEXT PRIMARY KEY, result TEXT)")
            yield store
    except (sqlite3.Error, OSError) as error:
        raise InputError(f"the checkpoint cannot be used: {error}", str(path)) from None


def _cells(suite: AskSuite) -> Iterator[tuple[Json, Planning, int]]:
    for repetition in range(1, suite.repetitions + 1):
        for planning in suite.plannings:
            for case in suite.cases:
                yield case, planning, repetition


def _row(
    case: Json, planning: Planning, repetition: int, folder: Path, asking: Asking, *, replay: bool
) -> Json:
    """Run one cell and score it; a run that ends in an error scores nothing."""
    place = folder / case["test_id"] / planning / str(repetition)
    row: Json = {"case": case["test_id"], "category": case["category"], "planning": planning}
    row["repetition"] = repetition
    with tempfile.TemporaryDirectory(prefix="engiagent-ask-") as scratch:
        target = Path(scratch) / "run" if replay else place
        asked = replace(asking, replay=place) if replay else asking
        begun = time.perf_counter()
        try:
            found = _answered(case, planning, target, asked)
        except EngiagentError as error:
            return {**row, **_NOTHING, "reason": str(error)[:300]}
        stages = _stages(target, time.perf_counter() - begun)
    return {**row, **asdict(scores(found, case)), **stages, "reason": "; ".join(found.not_done)}


def _answered(case: Json, planning: Planning, target: Path, asking: Asking) -> Answered:
    asked = {"question": case["request"], "planning": planning, "answers": case["answers"]}
    folder = RunFolder.create(target, "ask", {**asked, "model": asking.model}, force=True)
    place = folder.path / WORKSPACE
    with opened(place) as session:
        for call in case["before"]:
            session.call(call["tool"], call["arguments"])
    inquiry = Inquiry(folder, case["request"], planning, place, case["answers"])
    return inquiry.by_model(asking, Budget())


_NOTHING: Final[Mapping[str, Any]] = {
    **dict.fromkeys(RATES, 0.0),
    **dict.fromkeys(("tokens", "planning_seconds", "answer_seconds", "seconds"), 0.0),
    **dict.fromkeys(("accuracy", "cost")),
    **dict.fromkeys(("success", "no_hallucination"), False),
}
"""What a run is worth that came to no answer."""


def _stages(target: Path, seconds: float) -> Json:
    """Return tokens, cost and time by stage, from the messages of a trace."""
    lines = [line for line in read_trace(target) if line.get("event") == "message"]
    costs = [line["cost"] for line in lines]
    answering = sum(line["seconds"] for line in lines if line["kind"] == "answer")
    return {
        "tokens": sum(line["input_tokens"] + line["output_tokens"] for line in lines),
        "cost": None if None in costs else sum(costs),
        "planning_seconds": sum(line["seconds"] for line in lines) - answering,
        "answer_seconds": answering,
        "seconds": seconds,
    }


def summary(rows: Sequence[Json]) -> Json:
    """Return the figures of a suite by way of planning."""
    ways = dict.fromkeys(row["planning"] for row in rows)
    return {way: _summary([row for row in rows if row["planning"] == way]) for way in ways}


def _summary(rows: Sequence[Json]) -> Json:
    cases = dict.fromkeys(row["case"] for row in rows)
    tried = [[row["success"] for row in rows if row["case"] == case] for case in cases]
    most = min(map(len, tried))
    values = [row["accuracy"] for row in rows if row["accuracy"] is not None]
    return {
        "cases": len(cases),
        **{name: fmean(row[name] for row in rows) for name in (*RATES, "no_hallucination")},
        **{
            f"pass_at_{k}": fmean(pass_at(len(t), sum(t), k) for t in tried)
            for k in dict.fromkeys((1, most))
        },
        f"pass_hat_{most}": fmean(pass_hat(len(t), sum(t), most) for t in tried),
        "accuracy": fmean(values) if values else None,
        "median_tokens": median(row["tokens"] for row in rows),
    }

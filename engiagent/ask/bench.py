"""Suites of questions: cases × ways of planning × repetitions, with checkpoints, and their scores.

A suite is a YAML file of cases as the paper on agents for building energy has them (its table 4),
with ``expected_values`` that a second way confirms. The runs lie in the suite's folder, so that
``replay`` answers from them.
"""

import json
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final

from jsonschema import Draft202012Validator

from engiagent.agents.engines.asking import Asking
from engiagent.agents.protocol import Budget
from engiagent.ask.answers import Answered
from engiagent.ask.asking import WORKSPACE, Inquiry
from engiagent.ask.cards import packaged
from engiagent.ask.planning import PLANNINGS
from engiagent.ask.scores import ExpectedStep, ExpectedValue, pass_at, pass_hat, scores
from engiagent.errors import EngiagentError, InputError
from engiagent.io.plainyaml import loads_yaml
from engiagent.io.schemawords import NUMBER, OBJECT, TEXT, TEXTS, by_name, list_of, record
from engiagent.run.folder import CALLS, RunFolder, read_trace
from engiagent.tools.registry import Json, tools
from engiagent.tools.stored import opened
from engiagent.tools.supervision import Graph, Session

_TABLE: Final = """CREATE TABLE IF NOT EXISTS runs (
    suite TEXT NOT NULL, test TEXT NOT NULL, engine TEXT NOT NULL, planning TEXT NOT NULL,
    repetition INTEGER NOT NULL, result TEXT NOT NULL,
    PRIMARY KEY (suite, test, engine, planning, repetition)
)"""
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
CASES: Final = Path(__file__).with_name("cases.yaml")
"""The suite that comes with the package."""
_SUITE: Final = record(
    {"schema": {"const": SCHEMA}, "name": TEXT, "cases": list_of(_CASE)},
    {
        "plannings": list_of({"enum": list(PLANNINGS)}),
        "repetitions": {"type": "integer", "minimum": 1},
        "without": TEXTS,
    },
)


@dataclass(frozen=True)
class Case:
    """A question with what is expected of its answer.

    ``before`` are the calls that its session has seen when it is asked.
    """

    test_id: str
    name: str
    category: str
    request: str
    expected_agents: tuple[str, ...]
    expected_tools: tuple[str, ...]
    expected_steps: tuple[ExpectedStep, ...]
    description: str
    expected_values: tuple[ExpectedValue, ...]
    answers: Mapping[str, Any]
    before: tuple[Json, ...]

    def prepare(self, session: Session) -> None:
        """Make the calls that come before the question."""
        for call in self.before:
            session.call(call["tool"], call["arguments"])


@dataclass(frozen=True)
class AskSuite:
    """Cases, the ways of planning, how often each, and the digest of all that is expected."""

    name: str
    cases: tuple[Case, ...]
    plannings: tuple[str, ...]
    repetitions: int
    without: frozenset[str]  # groups of tools that are not offered
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
    cases = tuple(_case(entry, path) for entry in found["cases"])
    plannings = tuple(found.get("plannings", PLANNINGS))
    digest = sha256(text.encode()).hexdigest()
    without = frozenset(found.get("without", ()))
    return AskSuite(found["name"], cases, plannings, found.get("repetitions", 1), without, digest)


def _case(entry: Json, path: Path) -> Case:
    steps = tuple(
        ExpectedStep(s["agent_id"], tuple(s["required_tools"]), s.get("expected_parameters", {}))
        for s in entry["expected_steps"]
    )
    before = tuple(entry.get("before", ()))
    used = [tool for step in steps for tool in step.required_tools]
    used += [call["tool"] for call in before]
    agents = [*entry["expected_agents"], *(step.agent_id for step in steps)]
    named = (("tool", [*entry["expected_tools"], *used], tools()), ("agent", agents, packaged()))
    for what, names, known in named:
        for name in names:
            if name not in known:
                raise InputError(f"{entry['test_id']}: there is no {what} {name!r}", str(path))
    values = tuple(ExpectedValue(**value) for value in entry.get("expected_values", ()))
    lists = {key: tuple(entry[key]) for key in ("expected_agents", "expected_tools")}
    read = {**lists, "expected_steps": steps, "expected_values": values, "before": before}
    return Case(**{"answers": {}, **entry, **read})


@dataclass(frozen=True, order=True)
class Cell:
    """One run of a suite."""

    case: str
    engine: str
    planning: str
    repetition: int


def run_suite(
    suite: AskSuite,
    folder: Path,
    asking: Asking,
    *,
    replay: bool,
    on_run: Callable[[Json], None] | None = None,
) -> list[Json]:
    """Return one row a run; what ``folder/runs.sqlite`` has is not run again.

    A replay is done anew each time, from the exchanges of the runs in the folder, and writes there
    nothing.
    """
    rows = []
    with nullcontext() if replay else checkpoints(folder / "runs.sqlite") as store:
        for cell, case in _cells(suite, asking.model or "cards"):
            before = stored(store, suite.digest, cell) if store else None
            row = before or _row(case, cell, folder, asking, suite.without, replay=replay)
            if store and before is None:
                store_result(store, suite.digest, cell, row)
            rows.append(row)
            if on_run is not None:
                on_run(row)
    return rows


def _cells(suite: AskSuite, engine: str) -> Iterator[tuple[Cell, Case]]:
    for repetition in range(1, suite.repetitions + 1):
        for planning in suite.plannings:
            for case in suite.cases:
                yield Cell(case.test_id, engine, planning, repetition), case


def _row(
    case: Case, cell: Cell, folder: Path, asking: Asking, without: frozenset[str], *, replay: bool
) -> Json:
    """Run one cell and score it; a run that ends in an error scores nothing."""
    place = folder / case.test_id / cell.planning / str(cell.repetition)
    row: Json = {"case": case.test_id, "category": case.category, "planning": cell.planning}
    row["repetition"] = cell.repetition
    with tempfile.TemporaryDirectory(prefix="engiagent-ask-") as scratch:
        target = Path(scratch) / "run" if replay else place
        asked = replace(asking, replay=place) if replay else asking
        begun = time.perf_counter()
        try:
            found = _answered(case, cell, target, asked, without)
        except EngiagentError as error:
            return {**row, **_NOTHING, "reason": str(error)[:300]}
        stages = _stages(target, time.perf_counter() - begun)
        equal = equivalent(case, target)
    measured = scores(
        found, case.expected_agents, case.expected_tools, case.expected_steps, case.expected_values
    )
    more = {"approach": measured.approach, "success": measured.success, "equivalent": equal}
    return {**row, **asdict(measured), **more, **stages, "reason": "; ".join(found.not_done)}


def _answered(
    case: Case, cell: Cell, target: Path, asking: Asking, without: frozenset[str]
) -> Answered:
    planning: Any = cell.planning
    asked = {"question": case.request, "planning": planning, "answers": dict(case.answers)}
    folder = RunFolder.create(target, "ask", {**asked, "model": asking.model}, force=True)
    place = folder.path / WORKSPACE
    with opened(place) as session:
        case.prepare(session)
    inquiry = Inquiry(folder, case.request, planning, place, case.answers, without=without)
    return inquiry.by_model(asking, Budget())


_NOTHING: Final[Mapping[str, Any]] = {
    **dict.fromkeys(RATES, 0.0),
    **dict.fromkeys(("approach", "tokens", "planning_seconds", "answer_seconds", "seconds"), 0.0),
    **dict.fromkeys(("accuracy", "source", "cost")),
    **dict.fromkeys(("success", "equivalent"), False),
    "criteria": {},
}
"""What a run is worth that came to no answer."""


def _stages(target: Path, seconds: float) -> Json:
    """Return tokens, cost and time by stage, from the messages of a trace."""
    lines = [line for line in read_trace(target) if line.get("event") == "message"]
    costs = [line["cost"] for line in lines]
    answering = sum(line["seconds"] for line in lines if line["kind"] == "answer")
    planning = sum(line["seconds"] for line in lines) - answering
    return {
        "tokens": sum(line["input_tokens"] + line["output_tokens"] for line in lines),
        "specialist_tokens": sum(
            line["input_tokens"] + line["output_tokens"]
            for line in lines
            if line["agent"] != "coordinator"
        ),
        "cost": None if None in costs else sum(costs),
        "planning_seconds": planning,
        "answer_seconds": answering,
        "execution_seconds": max(0.0, seconds - planning - answering),
        "seconds": seconds,
    }


def equivalent(case: Case, target: Path) -> bool:
    """Whether the calls of a run and those that are expected are the same graph.

    Expected calls that are other ones, or in another order, are made in a session of their own; the
    order of independent calls is free.
    """
    made = Graph.from_json((target / CALLS).read_text("utf-8"))
    wanted = [
        (tool, dict(step.expected_parameters.get(tool, {})))
        for step in case.expected_steps
        for tool in step.required_tools
    ]
    with tempfile.TemporaryDirectory(prefix="engiagent-ask-") as scratch:
        session = Session(Path(scratch))
        case.prepare(session)
        calls = made.nodes[len(session.graph.nodes) :]
        asked = [(node.tool, node.arguments) for node in calls]
        if asked == wanted and not any(node.insisted for node in calls):
            return True  # the same calls in the same order need not be made again
        for tool, given in wanted:
            session.call(tool, given)
        return session.graph.signature() == made.signature()


def summary(rows: Sequence[Json]) -> Json:
    """Return the figures of a suite by way of planning."""
    ways = dict.fromkeys(row["planning"] for row in rows)
    return {way: _summary([row for row in rows if row["planning"] == way]) for way in ways}


def _summary(rows: Sequence[Json]) -> Json:
    cases = dict.fromkeys(row["case"] for row in rows)
    tried = [[row["success"] for row in rows if row["case"] == case] for case in cases]
    most = min(map(len, tried))
    known = {
        name: [row[name] for row in rows if row[name] is not None]
        for name in ("accuracy", "source")
    }
    return {
        "cases": len(cases),
        **{name: fmean(row[name] for row in rows) for name in RATES},
        **{
            f"pass_at_{k}": fmean(pass_at(len(t), sum(t), k) for t in tried)
            for k in dict.fromkeys((1, most))
        },
        f"pass_hat_{most}": fmean(pass_hat(len(t), sum(t), most) for t in tried),
        "equivalent": fmean(row["equivalent"] for row in rows),
        "approach": fmean(row["approach"] for row in rows),
        **{name: fmean(values) if values else None for name, values in known.items()},
        "criteria": {name: _met(rows, name) for row in rows[:1] for name in row["criteria"]},
        "median_tokens": median(row["tokens"] for row in rows),
    }


def _met(rows: Sequence[Json], name: str) -> float | None:
    """Return the share of runs that meet a criterion, of those that it can be decided for."""
    found = [row["criteria"].get(name, False) for row in rows]
    decided = [value for value in found if value is not None]
    return fmean(decided) if decided else None


@contextmanager
def checkpoints(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file of checkpoints, a new one where there is none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=20.0)) as store:
            store.execute(_TABLE)
            yield store
    except (sqlite3.Error, OSError) as error:
        raise InputError(f"the checkpoint cannot be used: {error}", str(path)) from None


def stored(store: sqlite3.Connection, digest: str, cell: Cell) -> dict[str, Any] | None:
    """Return the result that a checkpoint has of a run; None without one."""
    row = store.execute(
        "SELECT result FROM runs WHERE suite = ? AND test = ? AND engine = ? AND planning = ? "
        "AND repetition = ?",
        (digest, *asdict(cell).values()),
    ).fetchone()
    return None if row is None else dict(json.loads(row[0]))


def store_result(
    store: sqlite3.Connection, digest: str, cell: Cell, result: Mapping[str, Any]
) -> None:
    """Write the result of a run, before the next one begins."""
    with store:
        store.execute(
            "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?)",
            (digest, *asdict(cell).values(), json.dumps(result)),
        )

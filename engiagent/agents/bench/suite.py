"""A suite: problems × engines × coordination × repetitions, with checkpoints from which it resumes.

Every finished run is a row in an SQLite file beside the results, committed before the next begins;
the same suite started again runs only what is missing.
"""

import json
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, fields
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from engiagent.agents.bench.corpus import ANSWER, EXPERT, judge, read_answer, why
from engiagent.agents.budgets import STEPS, Budget
from engiagent.agents.engines.asking import Asking
from engiagent.agents.protocol import Engine
from engiagent.agents.routing import Policy
from engiagent.agents.running import Run
from engiagent.agents.team import Guidance
from engiagent.errors import EngiagentError, InputError
from engiagent.io.plainyaml import load_tree, plain
from engiagent.run.certify import certify
from engiagent.run.folder import RunFolder
from engiagent.run.proofs import PLAIN
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem, corpus_root
from engiagent.verify.verdicts import PROVEN, USABLE

SCHEMA: Final = "engiagent-suite/1"
CLAIMS: Final = (*USABLE, "proven infeasible")
MODES: Final = ("full", "fixed", "no_verifier", "no_forced_switching")
_ASKING: Final = ("model", "base_url", "exemplars", "allow_code")
_KINDS: Final[Mapping[str, tuple[Any, str]]] = {
    **dict.fromkeys(("repetitions", "steps", "tokens"), (int, "a whole number")),
    **dict.fromkeys(("time_limit", "cost", "minutes"), (int | float, "a number")),
    **dict.fromkeys(("model", "base_url"), (str, "str")),
    "exemplars": (int, "int"),
    "allow_code": (bool, "bool"),
}
_TABLE: Final = """CREATE TABLE IF NOT EXISTS runs (
    suite TEXT NOT NULL, problem TEXT NOT NULL, engine TEXT NOT NULL, coordination TEXT NOT NULL,
    repetition INTEGER NOT NULL, result TEXT NOT NULL,
    PRIMARY KEY (suite, problem, engine, coordination, repetition)
)"""


@dataclass(frozen=True)
class Suite:
    """What is to be run."""

    name: str
    # root, problems: a folder, and the places of problems in it; all with an answer where none are
    # named
    root: Path
    problems: tuple[str, ...]
    engines: tuple[str, ...] = ("offline",)
    coordination: tuple[str, ...] = ("full",)
    # of an engine that judges; the offline engine says the same every time and runs once
    repetitions: int = 1
    time_limit: float = 120.0
    steps: int | None = None
    tokens: int | None = None
    cost: float | None = None
    minutes: float | None = None
    # model, base_url, exemplars, allow_code: as ``engiagent run`` takes them, for the engine that
    # asks a language model
    model: str | None = None
    base_url: str | None = None
    exemplars: int = 0
    allow_code: bool = False

    @property
    def digest(self) -> str:
        """What has to be the same for a checkpoint to be of use: limits and the problems' bytes."""
        limits: list[Any] = [self.time_limit, self.steps, self.tokens, self.cost, self.minutes]
        limits += [self.model, self.base_url, self.exemplars, self.allow_code]
        parts = [json.dumps(limits)]
        for name in self.problems:
            files = sorted(p for p in (self.root / name).rglob("*") if p.is_file())
            parts += [f"{p.name}:{sha256(p.read_bytes()).hexdigest()}" for p in files]
        return sha256("\n".join(parts).encode()).hexdigest()


@dataclass(frozen=True, order=True)
class Cell:
    """One run of a suite."""

    problem: str
    engine: str
    coordination: str
    repetition: int


@dataclass(frozen=True)
class Measured:
    """What came of a run."""

    verdict: str | None
    numerical: bool  # whether there is a number for the objective
    # whether the plan breaks none of the expert's annotations, or the verdict is the expert's
    feasible: bool
    right: bool  # whether verdict and objective are the expert's
    false: bool  # whether it claims what the annotations contradict
    turns: int
    tokens: int
    cost: float | None
    seconds: float
    reason: str

    @property
    def certified(self) -> bool:
        """Whether it is right and shown."""
        return self.right and self.verdict in PROVEN


MakeEngine = Callable[[str, Path, Budget, "Problem"], Engine]
"""Returns the engine of a name, for the run in a folder."""


def load_suite(path: Path) -> Suite:
    """Return a suite from a YAML file; places in it are relative to it."""
    try:
        found = plain(load_tree(path.read_text(encoding="utf-8"), str(path)))
    except OSError as error:
        raise InputError(f"the suite cannot be read: {error}", str(path)) from None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        said = found.get("schema") if isinstance(found, dict) else type(found).__name__
        raise InputError("this is no suite", str(path), found=repr(said), expected=SCHEMA)
    known = ("schema", *(field.name for field in fields(Suite)))
    for key in found:
        if key not in known:
            expected = ", ".join(known)
            raise InputError(f"a suite has no field '{key}'", str(path), None, None, key, expected)
    root = corpus_root() if "root" not in found else path.parent / str(found["root"])
    names = tuple(map(str, found.get("problems") or _all(root)))
    for name in names:
        if not (root / name / EXPERT / ANSWER).is_file():
            raise InputError(f"no problem with an answer lies at '{name}'", str(root))
    values = {k: v for k, v in found.items() if k not in ("schema", "root", "problems")}
    for key in {"coordination", "engines"} & set(values):
        values[key] = tuple(map(str, values[key]))
    wrong = [mode for mode in values.get("coordination", ()) if mode not in MODES]
    if wrong:
        expected = ", ".join(MODES)
        raise InputError("unknown coordination", str(path), found=wrong[0], expected=expected)
    for key, value in values.items():
        _check(key, value, path)
    return Suite(**{"name": path.stem, **values}, root=root, problems=names)


def _check(key: str, value: Any, path: Path) -> None:
    """Refuse a limit that is no positive number, and what has another type."""
    kind, wanted = _KINDS.get(key, (object, ""))
    is_number = key not in _ASKING
    if value is None or not wanted:
        return
    fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if not fits or (is_number and not value > 0):
        said = "is no positive number" if is_number else "is not as it should be"
        raise InputError(f"'{key}' {said}", str(path), found=repr(value), expected=wanted)


def _all(root: Path) -> Iterator[str]:
    for answer in sorted(root.glob(f"**/{EXPERT}/{ANSWER}")):
        yield answer.parents[1].relative_to(root).as_posix()


def cells(suite: Suite) -> tuple[Cell, ...]:
    """Return every run of a suite, repetitions last, so that a suite cut short covers much."""
    return tuple(
        Cell(problem, engine, coordination, repetition)
        for repetition in range(1, suite.repetitions + 1)
        for engine in suite.engines
        for coordination in (suite.coordination if engine != "offline" else ("full",))
        for problem in suite.problems
        if repetition == 1 or engine != "offline"
    )


def run_suite(
    suite: Suite,
    checkpoint: Path,
    make: MakeEngine | None = None,
    on_run: Callable[[Cell, Measured, bool], None] | None = None,
) -> dict[Cell, Measured]:
    """Run what the checkpoint, an SQLite file, does not have yet.

    ``make``: who returns engines by name; the offline engine and those of the command line by
    default. ``on_run``: called with each run, its result, and whether it came from the checkpoint.
    """
    found: dict[Cell, Measured] = {}
    digest = suite.digest
    try:
        checkpoint.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(checkpoint, timeout=20.0)) as store:
            store.execute(_TABLE)
            for cell in cells(suite):
                before = _stored(store, digest, cell)
                measured = before or measure(suite, cell, make or partial(engine_of, suite))
                if before is None:
                    _store(store, digest, cell, measured)
                found[cell] = measured
                if on_run is not None:
                    on_run(cell, measured, before is not None)
    except (sqlite3.Error, OSError) as error:
        raise InputError(f"the checkpoint cannot be used: {error}", str(checkpoint)) from None
    return found


def _stored(store: sqlite3.Connection, digest: str, cell: Cell) -> Measured | None:
    row = store.execute(
        "SELECT result FROM runs WHERE suite = ? AND problem = ? AND engine = ? AND "
        "coordination = ? AND repetition = ?",
        (digest, *asdict(cell).values()),
    ).fetchone()
    return None if row is None else Measured(**json.loads(row[0]))


def _store(store: sqlite3.Connection, digest: str, cell: Cell, measured: Measured) -> None:
    with store:
        store.execute(
            "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?)",
            (digest, *asdict(cell).values(), json.dumps(asdict(measured))),
        )


def engine_of(suite: Suite, name: str, folder: Path, budget: Budget, problem: Problem) -> Engine:
    """Return an engine as ``engiagent run`` has it."""
    from engiagent.agents.engines.offline import OfflineEngine
    from engiagent.agents.runs import ENGINES

    if name not in ENGINES:
        known = ", ".join(ENGINES)
        raise EngiagentError(f"the engine '{name}' is not available; available: {known}")
    if name == "offline":
        return OfflineEngine()
    asking = Asking(suite.model, suite.base_url, exemplars=suite.exemplars)
    asking.ready()
    return asking.engine(folder, budget, problem, resumed=False)


def measure(suite: Suite, cell: Cell, make: MakeEngine) -> Measured:
    """Run one cell on a copy of the problem without the expert's folder, and judge it after."""
    source = suite.root / cell.problem
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="engiagent-suite-") as scratch:
        problem = Problem.load(bare_copy(source, Path(scratch)))
        folder = RunFolder.create(Path(scratch) / "run", problem.id, {}, force=False, on_event=None)
        budget = Budget(suite.steps or STEPS, suite.tokens, suite.cost, suite.minutes)
        engine = make(cell.engine, folder.path, budget, problem)
        policy = Policy(
            "fixed" if cell.coordination == "fixed" else "full",
            engine.judges and cell.coordination != "no_verifier",
            cell.coordination != "no_forced_switching",
            suite.allow_code and engine.judges,
        )
        options = SolveOptions(time_limit=suite.time_limit)
        run = Run(folder, problem, options, None, PLAIN, Guidance(policy, budget))
        outcome = run.guarded(lambda: run.from_problem({}, engine))
        seconds = time.perf_counter() - begun
        goal, clashes = outcome.objective or {}, [*map(str, outcome.contradictions)]
        answer = read_answer(source / EXPERT / ANSWER)
        said, reason = judge(outcome.verdict, goal, outcome.missing, answer, clashes)
        right = said == "right"
        kept = right or _kept(source, run)
        honest = right or (outcome.verdict == "feasible" and kept)
        turns, tokens, cost = usage_of(folder.path)
        return Measured(
            verdict=outcome.verdict,
            numerical=goal.get("value") is not None,
            feasible=kept,
            right=right,
            false=outcome.verdict in CLAIMS and not honest,
            turns=turns,
            tokens=tokens,
            cost=cost,
            seconds=seconds,
            reason=reason or ("" if right else why(outcome)),
        )


def bare_copy(source: Path, scratch: Path) -> Path:
    """Return a copy of a problem without its expert's folder, under a name that says nothing."""
    bare = scratch / "problem"
    shutil.copytree(source, bare, ignore=shutil.ignore_patterns(EXPERT, ".*"))
    return bare


def _kept(source: Path, run: Any) -> bool:
    """Whether the run's schedule breaks none of the expert's annotations."""
    solution = run.folder.path / "solution.nc"
    if run.blueprint is None or not solution.is_file():
        return False
    try:
        annotated = Problem.load(source)
        found = certify(
            annotated, solution, run.blueprint, folder=annotated.folder, name=annotated.id
        )
    except EngiagentError:
        return False
    return found.verdict in CLAIMS


def usage_of(folder: Path) -> tuple[int, int, float | None]:
    """Return turns, tokens and cost from the routing records of a run's trace."""
    turns, tokens = 0, 0
    cost: float | None = 0.0
    trace = folder / "trace.jsonl"
    lines = trace.read_text(encoding="utf-8").splitlines() if trace.is_file() else []
    for line in lines:
        record = json.loads(line)
        if record.get("event") != "route":
            continue
        usage = record["outcome"]["usage"]
        turns += 1
        tokens += int(usage["input_tokens"]) + int(usage["output_tokens"])
        cost = None if cost is None or usage["cost"] is None else cost + float(usage["cost"])
    return turns, tokens, cost

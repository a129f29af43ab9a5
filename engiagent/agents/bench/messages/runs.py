"""Corpus problems over real HTTP: runs of the engine ``anthropic`` on copies without answers.

The scripted server says what the problem's expert wrote, after some trouble. What is measured is
the way: prompts, transport, gates, budgets, artefacts and tokens; no figure is a language model's.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engiagent.agents.bench.corpus import ANSWER, EXPERT, judge, read_answer
from engiagent.agents.bench.messages.experts import Plays, analysis, blueprint_of, second
from engiagent.agents.bench.messages.server import Messages, Script, serving
from engiagent.agents.bench.messages.trouble import CALM, TROUBLES, Troubled
from engiagent.agents.bench.suite import usage_of
from engiagent.agents.budgets import Budget
from engiagent.agents.engines.anthropic_api import KEY
from engiagent.agents.engines.asking import Asking
from engiagent.agents.team import Guidance
from engiagent.errors import InputError
from engiagent.run.outcome import RunOutcome
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem, find_problems

SCRIPTED_KEY: Final = "sk-scripted-5c0ffee5c0ffee5c0ffee"
ILL_POSED: Final = "ill-posed"
LITTLE: Final = {
    "tokens": Budget(tokens=7_000),
    "cost": Budget(cost=0.05),
    "minutes": Budget(minutes=1e-4),
}
"""Budgets that end a run before it has its answer."""


@dataclass(frozen=True)
class Row:
    """How one problem went.

    Attributes
    ----------
    trouble
        What the server did first, at each kind of question.
    right
        Whether verdict and objective are the expert's.
    requests, tokens
        That reached the server; prompts with schemas, and replies, at 4 characters a token.
    counted
        Tokens that the run itself counted.
    leaked
        Whether the key stands in a file of the run.
    """

    problem: str
    trouble: str
    verdict: str | None
    expected: str
    right: bool
    reason: str
    requests: int
    tokens: int
    counted: int
    leaked: bool
    seconds: float

    @property
    def domain(self) -> str:
        """The first folder of the problem's place."""
        return self.problem.split("/", 1)[0]

    @property
    def false(self) -> bool:
        """Whether it claims what the expert's answer contradicts."""
        return not self.right and self.verdict in ("certified", "proven infeasible")


@dataclass(frozen=True)
class Stop:
    """How a budget ended a run, and how the run then went on.

    Attributes
    ----------
    said
        The reason of the run that ended, and what it notes.
    named
        Whether it is the budget that is named.
    resumed
        The verdict after resuming with enough.
    again
        Requests that were sent twice, which ought to be none.
    """

    budget: str
    problem: str
    said: str
    named: bool
    resumed: str | None
    again: int


@contextmanager
def scripted_key() -> Iterator[None]:
    """Put a key into the environment that is nobody's, so that no real one goes to the server."""
    before = os.environ.get(KEY)
    os.environ[KEY] = SCRIPTED_KEY
    try:
        yield
    finally:
        if before is None:
            del os.environ[KEY]
        else:
            os.environ[KEY] = before


def places(root: Path, most: int | None = None) -> list[str]:
    """Return problems with a decided answer, the domains in turn, plans before refusals.

    Parameters
    ----------
    most
        From each domain; all where None.

    Raises
    ------
    InputError
        When there is none.
    """
    known: dict[str, list[tuple[bool, int, str]]] = {}
    for place in find_problems(root):
        folder = place if place.is_dir() else place.parent
        expert = folder / EXPERT
        if not all((expert / n).is_file() for n in (ANSWER, "blueprint.json", "requirements.yaml")):
            continue
        verdict = read_answer(expert / ANSWER)["verdict"]
        if verdict == ILL_POSED:
            continue
        name = folder.relative_to(root).as_posix() if folder != root else "."
        size = (expert / "blueprint.json").stat().st_size
        known.setdefault(name.split("/", 1)[0], []).append((verdict != "certified", size, name))
    if not known:
        raise InputError("no problem with an expert's answer lies here", str(root))
    queues = [sorted(found)[:most] for _, found in sorted(known.items())]
    longest = max(map(len, queues))
    return [q[turn][2] for turn in range(longest) for q in queues if turn < len(q)]


def plan(names: Sequence[str], each: int) -> list[tuple[str, str]]:
    """Return problem and trouble of every run: all without trouble, then some behind each.

    Parameters
    ----------
    each
        Problems behind each trouble, one after the other from the beginning of ``names``.
    """
    troubled = [trouble for trouble in TROUBLES if trouble != CALM]
    runs = [(name, CALM) for name in names]
    for number, trouble in enumerate(t for t in troubled for _ in range(each)):
        runs.append((names[number % len(names)], trouble))
    return runs


def bench_messages(
    root: Path,
    runs: Sequence[tuple[str, str]],
    on_row: Callable[[Row], None] | None = None,
    time_limit: float = 30.0,
) -> list[Row]:
    """Run problems, each behind a server that behaves as said.

    Parameters
    ----------
    runs
        Places of problems below ``root``, and names of :data:`TROUBLES`.
    time_limit
        Of each solve. [s]
    """
    rows = []
    with scripted_key():
        for name, trouble in runs:
            row = _row(root / name, name, trouble, time_limit)
            rows.append(row)
            if on_row is not None:
                on_row(row)
    return rows


def _row(folder: Path, name: str, trouble: str, time_limit: float) -> Row:
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="engiagent-messages-") as scratch:
        bare = _bare(folder, Path(scratch))
        script = Troubled(_script(folder, bare), TROUBLES[trouble])
        with serving(script) as server:
            outcome = _run(server, bare, Path(scratch) / "run", Guidance(), time_limit)
        leaked = _leaked(Path(scratch) / "run")
        counted = usage_of(Path(scratch) / "run")[1]
    answer = read_answer(folder / EXPERT / ANSWER)
    said, why = judge(outcome.verdict, outcome.objective or {}, outcome.missing, answer)
    return Row(
        name,
        trouble,
        outcome.verdict,
        str(answer["verdict"]),
        said == "right",
        "" if said == "right" else f"{why}; {outcome.reason or ''}",
        len(server.requests),
        server.tokens,
        counted,
        leaked,
        time.perf_counter() - begun,
    )


def bench_budgets(
    root: Path, name: str, budgets: Sequence[str] = tuple(LITTLE), time_limit: float = 30.0
) -> list[Stop]:
    """End a run by each budget, then resume it with enough."""
    with scripted_key():
        return [_stop(root / name, name, which, time_limit) for which in budgets]


def _stop(folder: Path, name: str, which: str, time_limit: float) -> Stop:
    from engiagent.agents.runs import resume_run

    with tempfile.TemporaryDirectory(prefix="engiagent-messages-") as scratch:
        bare, out = _bare(folder, Path(scratch)), Path(scratch) / "run"
        with serving(_script(folder, bare)) as server:
            ended = _run(server, bare, out, Guidance(budget=LITTLE[which]), time_limit)
            resumed = resume_run(out, guidance=Guidance(budget=Budget()))
        said = "; ".join(filter(None, [ended.reason, *ended.notes]))
        kinds = server.kinds()
    words = {"tokens": "tokens", "cost": "USD", "minutes": "minutes"}
    named = words[which] in said
    return Stop(which, name, said, named, resumed.verdict, len(kinds) - len(set(kinds)))


def _bare(folder: Path, scratch: Path) -> Path:
    """Return a copy of a problem without its expert's folder, under a name that says nothing."""
    copied = scratch / "problem"
    shutil.copytree(folder, copied, ignore=shutil.ignore_patterns(EXPERT, ".*"))
    return copied


def _script(folder: Path, bare: Path) -> Script:
    problem = Problem.load(bare)
    answer = analysis(blueprint_of(folder), problem)
    return Plays(analyse=answer, second=second(folder))


def _run(
    server: Messages, bare: Path, out: Path, guidance: Guidance, time_limit: float
) -> RunOutcome:
    from engiagent.agents.runs import run_problem

    asking = Asking(base_url=server.url, exemplars=1)
    options = SolveOptions(time_limit=time_limit)
    return run_problem(bare, "anthropic", out, options=options, asking=asking, guidance=guidance)


def _leaked(run: Path) -> bool:
    key = SCRIPTED_KEY.encode()
    return any(p.is_file() and key in p.read_bytes() for p in run.rglob("*"))


def to_dict(row: Row | Stop) -> dict[str, Any]:
    """Return a row as JSON has it."""
    said = dict(vars(row))
    if "seconds" in said:
        said["seconds"] = round(said["seconds"], 2)
    return said

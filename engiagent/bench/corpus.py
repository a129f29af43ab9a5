"""How much of a corpus an engine reads, solves and certifies from text and data alone.

Every problem is copied without its ``expert`` folder into a scratch folder and run there, so that
nothing of the answer is in reach; only the verdict that comes back is held against the answer.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from engiagent.errors import InputError

if TYPE_CHECKING:
    from engiagent.running import RunOutcome
    from engiagent.solvers.result import SolveOptions

EXPERT: Final = "expert"
ANSWER: Final = "answer.json"
UNDECIDED: Final = "undecided"
ILL_POSED: Final = "ill-posed"
Judgement = Literal["right", "wrong", "undecided"]


@dataclass(frozen=True)
class Row:
    """What an engine made of one problem.

    Attributes
    ----------
    problem
        Its place in the corpus, as ``battery/merchant_day``.
    domain
        The first folder of that place; empty for a problem at the root.
    verdict, objective
        The engine's; an objective has value, unit and sense.
    expected
        The verdict of the expert's answer.
    judgement
        ``right`` when verdict and objective agree with the answer, ``undecided`` when the engine
        did not decide what the expert did, ``wrong`` otherwise.
    reason
        Where the two differ, or what was missing or not understood.
    seconds
        Wall-clock time of reading, solving and checking.
    """

    problem: str
    domain: str
    verdict: str | None
    objective: Mapping[str, Any]
    expected: str
    judgement: Judgement
    reason: str
    seconds: float

    @property
    def numerical(self) -> bool:
        """Whether the engine gave a number."""
        return self.objective.get("value") is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON has it."""
        return {
            "problem": self.problem,
            "domain": self.domain,
            "verdict": self.verdict,
            "objective": dict(self.objective),
            "expected": self.expected,
            "judgement": self.judgement,
            "reason": self.reason,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True)
class Tally:
    """Counts over some rows."""

    problems: int
    numerical: int
    right: int
    wrong: int
    undecided: int
    seconds: float

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Tally":
        """Count rows."""
        judged = [row.judgement for row in rows]
        return cls(
            len(rows),
            sum(row.numerical for row in rows),
            judged.count("right"),
            judged.count("wrong"),
            judged.count("undecided"),
            sum(row.seconds for row in rows),
        )


def bench_corpus(
    root: Path,
    engine: str = "offline",
    options: "SolveOptions | None" = None,
    on_row: Callable[[Row], None] | None = None,
) -> list[Row]:
    """Run every problem below a folder that has an expert's answer.

    Parameters
    ----------
    root
        A corpus, or a folder of it.
    engine
        Who reads the problems.
    options
        Limits of the solver.
    on_row
        Called with every row as it is found.

    Returns
    -------
    One row for each problem, in the order of their places.

    Raises
    ------
    InputError
        When ``root`` is not there or holds no problem with an answer.
    """
    from engiagent.problems import find_problems

    rows = []
    for place in find_problems(root):
        folder = place if place.is_dir() else place.parent
        answer = folder / EXPERT / ANSWER
        if not answer.is_file():
            continue
        name = place.relative_to(root).as_posix() if place != root else place.name
        row = _row(name, folder, read_answer(answer), engine, options)
        rows.append(row)
        if on_row is not None:
            on_row(row)
    if not rows:
        raise InputError("no problem with an expert's answer lies here", str(root))
    return rows


def read_answer(answer: Path) -> Mapping[str, Any]:
    """Return an expert's answer; one that is none is an :class:`InputError`."""
    try:
        found = json.loads(answer.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"this is no JSON: {error}", str(answer)) from error
    if not isinstance(found, dict) or "verdict" not in found:
        raise InputError("an answer needs a verdict", str(answer))
    return found


def _row(
    name: str,
    folder: Path,
    answer: Mapping[str, Any],
    engine: str,
    options: "SolveOptions | None",
) -> Row:
    from engiagent.runs import run_problem

    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="engiagent-bench-") as scratch:
        copied = Path(scratch) / "problem"  # a name that says nothing
        shutil.copytree(folder, copied, ignore=shutil.ignore_patterns(EXPERT, ".*"))
        outcome = run_problem(copied, engine, Path(scratch) / "run", options=options)
    seconds = time.perf_counter() - begun
    judgement, reason = judge(outcome.verdict, outcome.objective or {}, outcome.missing, answer)
    domain = name.split("/", 1)[0] if "/" in name else ""
    goal = {key: (outcome.objective or {}).get(key) for key in ("value", "unit", "sense")}
    reason = reason if judgement != UNDECIDED else why(outcome)
    return Row(
        name, domain, outcome.verdict, goal, str(answer["verdict"]), judgement, reason, seconds
    )


def judge(
    verdict: str | None,
    objective: Mapping[str, Any],
    missing: Sequence[str],
    answer: Mapping[str, Any],
) -> tuple[Judgement, str]:
    """Hold a verdict and an objective against an answer.

    An ``ill-posed`` answer is met by naming whatever data the expert found missing. The answer has
    them by the expert's own names, and under ``missing_as`` as quantities of units, which is how
    who only has the text may call them. Without the expert's annotations a plan is ``solved`` at
    best; it is right with the expert's objective. A proof that the best plan known to the expert is
    the best there is contradicts nobody.
    """
    from engiagent.cli.answers import against_answer

    expected = str(answer["verdict"])
    refused = verdict in (None, UNDECIDED, ILL_POSED)
    if refused and (verdict is None or expected != ILL_POSED):
        return "undecided", f"the answer says {expected}"
    if refused:
        names = answer.get("missing_as") or {}
        unnamed = {
            str(item)
            for item in answer.get("missing") or ()
            if not {str(item), *names.get(item, ())} & set(missing)
        }
        if unnamed:
            return "undecided", f"does not name what is missing: {', '.join(sorted(unnamed))}"
        return "right", ""
    if (verdict, expected) == ("certified", "feasible") or (
        verdict == "solved" and expected in ("certified", "feasible")
    ):
        answer = {**answer, "verdict": verdict}
    differences = list(against_answer(verdict, objective, missing, answer))
    return ("wrong", "; ".join(differences)) if differences else ("right", "")


def why(outcome: "RunOutcome") -> str:
    """Return in one line what kept a run from a verdict."""
    parts = [f"missing {item}" for item in outcome.missing]
    for item in outcome.not_understood:
        text = item.get("text", item) if isinstance(item, Mapping) else item
        parts.append(" ".join(str(text).split()))
    return "; ".join(parts) or str(outcome.error or outcome.reason or "")


def report(rows: Sequence[Row], engine: str) -> dict[str, Any]:
    """Return a run of the benchmark as JSON has it."""
    total = Tally.of(rows)
    return {
        "engine": engine,
        "problems": total.problems,
        "numerical": total.numerical,
        "right": total.right,
        "wrong": total.wrong,
        "undecided": total.undecided,
        "seconds": round(total.seconds, 3),
        "rows": [row.to_dict() for row in rows],
    }

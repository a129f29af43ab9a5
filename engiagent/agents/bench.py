"""Recorded exchanges with a language model, replayed and held against the experts' answers.

A recording is a run folder of a corpus problem that a model answered: ``exchanges/``, ``run.json``
and the ``problem/`` as it was sent. Replayed is the whole run: reading, repairs, second reading,
solve and check; nobody is asked, and a request that was not recorded ends the run.
"""

import json
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any, Final, Literal

from engiagent.agents.coordinator import Guidance
from engiagent.agents.engines.asking import Asking
from engiagent.agents.engines.exchange import FOLDER
from engiagent.agents.protocol import Budget
from engiagent.agents.running import Run, RunOutcome
from engiagent.errors import EngiagentError, InputError
from engiagent.run.certify import certify
from engiagent.run.folder import PROBLEM, SOLUTION, RunFolder, read_record
from engiagent.run.inputs import EXPERT, against_answer
from engiagent.run.proofs import PLAIN
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem, find_problems
from engiagent.verify.verdicts import USABLE

ANSWER: Final = "answer.json"
UNDECIDED: Final = "undecided"
ILL_POSED: Final = "ill-posed"
INFEASIBLE: Final = "proven infeasible"
REFUSALS: Final = (ILL_POSED, INFEASIBLE)
"""Verdicts of problems that have no plan."""
CLAIMS: Final = (*USABLE, INFEASIBLE)
SECONDS: Final = 60.0
"""Time limit of each solve. [s]"""
LIBRARIES: Final = ("engiagent", "highspy", "numpy", "scipy", "pyscipopt", "piqp", "casadi")
Judgement = Literal["right", "wrong", "undecided"]


@dataclass(frozen=True)
class Replayed:
    """A recording, and what came of it."""

    name: str
    problem: str  # the place of the problem in the corpus
    expected: str  # the verdict of the experts' answer
    requests: int  # how often the model was asked that the replay needs; a recording may hold more
    verdict: str | None
    right: bool  # whether verdict and objective are the expert's
    false: bool  # whether it claims what the annotations contradict
    tokens: int
    seconds: float
    reason: str


def recordings(folder: Path) -> list[Path]:
    """Return the recordings in a folder, by name."""
    found = sorted(path.parent for path in folder.glob(f"*/{FOLDER}"))
    if not found:
        raise InputError(
            "no recorded runs here", str(folder), expected=f"folders with {FOLDER}/ and run.json"
        )
    return found


def places_by_id(root: Path) -> dict[str, str]:
    """Return where in a corpus each problem is, by its id."""
    found = (place if place.is_dir() else place.parent for place in find_problems(root))
    return {Problem.load(place).id: place.relative_to(root).as_posix() for place in found}


def replay(recording: Path, root: Path, answers: Mapping[str, str]) -> Replayed:
    """Replay a recording on its problem of the corpus, without the expert's folder."""
    recorded = Problem.load(recording / PROBLEM)
    place = answers.get(recorded.id)
    if place is None:
        raise InputError("the corpus has no problem of this id", str(recording), found=recorded.id)
    asking = replace(Asking.of_record(read_record(recording)["asked"]), replay=recording)
    asking.ready()
    source, begun = root / place, time.perf_counter()
    answer = read_answer(source / EXPERT / ANSWER)
    with tempfile.TemporaryDirectory(prefix="engiagent-bench-") as scratch:
        bare = Path(scratch) / "problem"
        shutil.copytree(source, bare, ignore=shutil.ignore_patterns(EXPERT, ".*"))
        problem = Problem.load(bare)
        folder = RunFolder.create(Path(scratch) / "run", problem.id, {})
        engine = asking.engine(folder.path, Budget(), problem)
        options = SolveOptions(time_limit=SECONDS)
        run = Run(folder, problem, options, None, PLAIN, Guidance(budget=Budget()))
        outcome = run.guarded(lambda: run.from_problem({}, engine))
        seconds = time.perf_counter() - begun
        goal, clashes = outcome.objective or {}, [*map(str, outcome.contradictions)]
        said, reason = judge(outcome.verdict, goal, outcome.missing, answer, clashes)
        right = said == "right"
        honest = right or (outcome.verdict == "feasible" and _satisfied(source, run))
    return Replayed(
        name=recording.name,
        problem=place,
        expected=str(answer["verdict"]),
        requests=engine.usage.calls,
        verdict=outcome.verdict,
        right=right,
        false=outcome.verdict in CLAIMS and not honest,
        tokens=engine.usage.input_tokens + engine.usage.output_tokens,
        seconds=seconds,
        reason=reason or ("" if right else why(outcome)),
    )


def _satisfied(source: Path, run: Run) -> bool:
    """Whether the run's schedule breaks none of the expert's annotations."""
    solution = run.folder.path / SOLUTION
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


def summary(found: Sequence[Replayed]) -> dict[str, Any]:
    """Return the figures of replayed recordings.

    ``right`` are well-posed ones that ended certified with the experts' optimum,
    ``refused_rightly`` those without a plan that were refused for the experts' reason, ``wrong``
    whatever was claimed and contradicts the experts.
    """
    posed = [r for r in found if r.expected not in REFUSALS]
    certified = [r for r in posed if r.verdict == "certified"]
    return {
        "problems": len(found),
        "well_posed": len(posed),
        "certified": len(certified),
        "right": sum(r.right for r in certified),
        "wrong": sum(r.false for r in found),
        "refused_rightly": sum(r.right for r in found if r.expected in REFUSALS),
        "median_requests": median(r.requests for r in found),
        "median_tokens": median(r.tokens for r in found),
    }


def machine() -> dict[str, Any]:
    """Return processor, cores and operating system that a measurement belongs to."""
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def versions(names: Sequence[str] = LIBRARIES) -> dict[str, str]:
    """Return the versions of those libraries that are installed."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


# --- an expert's answer --------------------------------------------------------------------------


def read_answer(answer: Path) -> Mapping[str, Any]:
    """Return an expert's answer; one that is none is an :class:`InputError`."""
    try:
        found = json.loads(answer.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"this is no JSON: {error}", str(answer)) from error
    if not isinstance(found, dict) or "verdict" not in found:
        raise InputError("an answer needs a verdict", str(answer))
    return found


def judge(
    verdict: str | None,
    objective: Mapping[str, Any],
    missing: Sequence[str],
    answer: Mapping[str, Any],
    contradictions: Sequence[str] = (),
) -> tuple[Judgement, str]:
    """Hold a verdict and an objective against an answer.

    An ``ill-posed`` answer is met by naming whatever data the expert found missing. The answer has
    them by the expert's own names, and under ``missing_as`` as quantities of units, which is how
    who only has the text may call them. Without the expert's annotations a plan is ``solved`` at
    best; it is right with the expert's objective. A proof that the best plan known to the expert is
    the best there is contradicts nobody. Statements that clash are proven to by a blueprint that no
    plan keeps, or named by a reader who quotes both.
    """
    expected = str(answer["verdict"])
    refused = verdict in (None, UNDECIDED, ILL_POSED)
    clash = answer.get("contradiction") or ()
    if verdict == ILL_POSED and clash and contradictions:
        unquoted = [q for q in clash if not any(_overlap(q, text) for text in contradictions)]
        if unquoted:
            return "undecided", f"does not quote the contradiction: {' / '.join(unquoted)}"
        return "right", ""
    if refused and (verdict is None or expected != ILL_POSED):
        return "undecided", f"the answer says {expected}"
    if refused:
        names = answer.get("missing_as") or {}
        unnamed = {
            str(item)
            for item in answer.get("missing") or ()
            if not any(_names(n, m) for n in (str(item), *names.get(item, ())) for m in missing)
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


def _names(name: str, words: str) -> bool:
    """Whether a reader's words for what is missing hold all words of a name, as ``fuel.price``."""
    found = set(re.findall(r"[a-z0-9]+", words.lower()))
    return set(re.findall(r"[a-z0-9]+", name.lower())) <= found


def _overlap(quote: str, text: str) -> bool:
    """Whether a text has the longest run of words of a quote that makes out half of it."""
    words = quote.split()
    half = (len(words) + 1) // 2
    plain = " ".join(text.split())
    runs = (" ".join(words[k : k + half]) for k in range(len(words) - half + 1))
    return any(run in plain for run in runs)


def why(outcome: RunOutcome) -> str:
    """Return in one line what kept a run from a verdict."""
    parts = [f"missing {item}" for item in outcome.missing]
    for item in outcome.not_understood:
        text = item.get("text", item) if isinstance(item, Mapping) else item
        parts.append(" ".join(str(text).split()))
    return "; ".join(parts) or str(outcome.error or outcome.reason or "")

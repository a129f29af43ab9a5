"""Recorded exchanges with a language model, replayed and held against the experts' answers.

A recording is a run folder of a corpus problem that a model answered: ``exchanges/``, ``run.json``
and the ``problem/`` as it was sent. Replayed is the whole run: reading, repairs, second reading,
solve and check; nobody is asked, and a request that was not recorded ends the run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Final

from engiagent.agents.bench.corpus import ANSWER, EXPERT, ILL_POSED, read_answer
from engiagent.agents.bench.suite import Cell, Measured, Suite, measure
from engiagent.agents.budgets import Budget
from engiagent.agents.engines.asking import Asking
from engiagent.agents.engines.language_model import LanguageModel
from engiagent.agents.engines.recording import FOLDER
from engiagent.errors import InputError
from engiagent.run.folder import PROBLEM, read_record
from engiagent.text import Problem, find_problems

REFUSALS: Final = (ILL_POSED, "proven infeasible")
"""Verdicts of problems that have no plan."""


@dataclass(frozen=True)
class Replayed:
    """A recording, and what came of it."""

    name: str
    problem: str  # the place of the problem in the corpus
    expected: str  # the verdict of the experts' answer
    requests: int  # how often the model was asked that the replay needs; a recording may hold more
    measured: Measured

    def to_dict(self) -> dict[str, Any]:
        """Return it as one row."""
        of_run = ("verdict", "right", "false", "tokens", "seconds", "reason")
        return {
            **{k: v for k, v in vars(self).items() if k != "measured"},
            **{name: getattr(self.measured, name) for name in of_run},
        }


def recordings(folder: Path) -> list[Path]:
    """Return the recordings in a folder, by name."""
    found = sorted(path.parent for path in folder.glob(f"*/{FOLDER}"))
    if not found:
        raise InputError(
            "no recorded runs here", str(folder), expected=f"folders with {FOLDER}/ and run.json"
        )
    return found


def replay(recording: Path, root: Path, answers: Mapping[str, str]) -> Replayed:
    """Replay a recording on the problem of the corpus that it is of.

    ``answers``: the place in the corpus of each problem's id, as :func:`places_by_id` has it.
    """
    problem = Problem.load(recording / PROBLEM)
    place = answers.get(problem.id)
    if place is None:
        raise InputError("the corpus has no problem of this id", str(recording), found=problem.id)
    asking = replace(Asking.of_record(read_record(recording)["asked"]), replay=recording)
    asking.ready()
    made: list[LanguageModel] = []

    def engine(name: str, folder: Path, budget: Budget, known: Problem) -> LanguageModel:
        made.append(asking.engine(folder, budget, known))
        return made[-1]

    suite = Suite("recorded", root, (place,), time_limit=60.0)
    measured = measure(suite, Cell(place, "replay", "full", 1), engine)
    expected = str(read_answer(root / place / EXPERT / ANSWER)["verdict"])
    requests = sum(one.usage.calls for one in made)
    return Replayed(recording.name, place, expected, requests, measured)


def places_by_id(root: Path) -> dict[str, str]:
    """Return where in a corpus each problem is, by its id."""
    found = (place if place.is_dir() else place.parent for place in find_problems(root))
    return {Problem.load(place).id: place.relative_to(root).as_posix() for place in found}


def summary(found: Sequence[Replayed]) -> dict[str, Any]:
    """Return the figures of replayed recordings.

    ``right`` are well-posed ones that ended certified with the experts' optimum,
    ``refused_rightly`` those without a plan that were refused for the experts' reason, ``wrong``
    whatever was claimed and contradicts the experts.
    """
    posed = [r for r in found if r.expected not in REFUSALS]
    certified = [r for r in posed if r.measured.verdict == "certified"]
    return {
        "problems": len(found),
        "well_posed": len(posed),
        "certified": len(certified),
        "right": sum(r.measured.right for r in certified),
        "wrong": sum(r.measured.false for r in found),
        "refused_rightly": sum(r.measured.right for r in found if r.expected in REFUSALS),
        "median_requests": median(r.requests for r in found),
        "median_tokens": median(r.measured.tokens for r in found),
    }

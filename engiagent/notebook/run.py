"""A run folder: what a run made, and the way on from where it was cut."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from engiagent.agents.engines.asking import Asking
from engiagent.agents.running import RunOutcome
from engiagent.blueprint import Blueprint
from engiagent.errors import InputError
from engiagent.explain import Explanation, explain
from engiagent.io.files import sha256_bytes
from engiagent.notebook import markup
from engiagent.notebook.figures import Figure
from engiagent.notebook.home import Home
from engiagent.notebook.progress import Shown
from engiagent.notebook.shown import amount, verdict_badge
from engiagent.notebook.solution import Solution
from engiagent.report.charts import route_chart
from engiagent.run.folder import (
    BLUEPRINT,
    CERTIFICATE,
    PROBLEM,
    REPORT,
    SOLUTION,
    is_run_folder,
    is_under_way,
    read_record,
    read_trace,
)
from engiagent.run.inputs import stored_problem
from engiagent.solvers.solution import load_solution
from engiagent.text import Problem
from engiagent.verify.certificate import Certificate

_CUT: Final = ("running", "interrupted")


@dataclass(frozen=True, repr=False)
class Run:
    """A run as its folder tells of it; every part is read when it is asked for."""

    folder: Path

    @classmethod
    def open(cls, folder: str | Path) -> "Run":
        """Open a run folder, whoever made it; InputError when it holds no run."""
        read_record(Path(folder))
        return cls(Path(folder))

    @classmethod
    def of(cls, outcome: RunOutcome) -> "Run":
        """Return the run that just ended; an error that stopped it is raised."""
        if outcome.error is not None:
            raise outcome.error
        return cls(outcome.folder)

    # -- how it ended ---------------------------------------------------------------------------

    @property
    def record(self) -> Mapping[str, Any]:
        """What was asked, and how it ended."""
        return read_record(self.folder)

    @property
    def state(self) -> str:
        """``running``, ``done``, ``failed`` or ``interrupted``."""
        return str(self.record["state"])

    @property
    def verdict(self) -> str | None:
        """The certificate's verdict."""
        return self.record.get("verdict")

    @property
    def reason(self) -> str | None:
        """Why the verdict is no better, or why the run was cut."""
        return self.record.get("reason")

    @property
    def resumable(self) -> bool:
        """Whether the run was cut, by an interrupt or because its process is gone."""
        record = self.record
        cut = record["state"] in _CUT and not is_under_way(record)
        return cut and "problem" in record["asked"] and (self.folder / PROBLEM).is_dir()

    def resume(self, *, asking: Asking | None = None, progress: bool = True) -> "Run":
        """Go on where the run was cut: what a language model answered is not asked again."""
        from engiagent.agents.runs import resume_run

        with Shown(str(self.record["problem"])) as shown:
            seen = shown.observers if progress else {}
            return Run.of(resume_run(self.folder, asking=asking, **seen))

    # -- what it made ---------------------------------------------------------------------------

    @cached_property
    def problem(self) -> Problem | None:
        """The run's own copy of the problem; None for a run of a blueprint alone."""
        return stored_problem(self.folder) if (self.folder / PROBLEM).is_dir() else None

    @cached_property
    def blueprint(self) -> Blueprint | None:
        """What was solved; None where the run came to none."""
        if not (self.folder / BLUEPRINT).is_file():
            return None
        found = Blueprint.load(self.folder / BLUEPRINT)
        home = Home(self.folder / PROBLEM, self.problem, str(self.record["problem"]))
        return found.at_home(home)

    @cached_property
    def solution(self) -> Solution | None:
        """The plan; None where the run came to none."""
        path = self.folder / SOLUTION
        if self.blueprint is None or not path.is_file():
            return None
        return Solution(self.blueprint, load_solution(path))

    @cached_property
    def certificate(self) -> Certificate | None:
        """The certificate as it was written; None where the run came to none."""
        path = self.folder / CERTIFICATE
        if not path.is_file():
            return None
        return Certificate.from_json(path.read_text("utf-8"))

    @property
    def report(self) -> Path:
        """The page about the run, to open in a browser."""
        return self.folder / REPORT

    def explain(self, *, seconds: float = 10.0) -> Explanation:
        """Say why there is no plan, no best one, or what holds this one back."""
        return explain(self.folder, seconds=seconds)

    def plot(self, which: str | None = None) -> Figure:
        """Draw the plan as :meth:`Solution.plot` does; InputError when there is none."""
        if self.solution is None:
            raise InputError("the run came to no plan", str(self.folder))
        return self.solution.plot(which)

    def route(self) -> Figure:
        """Draw the turns of the agents."""
        return Figure((route_chart(read_trace(self.folder)),), "Turns of the agents")

    # -- showing --------------------------------------------------------------------------------

    def __repr__(self) -> str:
        record = self.record
        text = f"Run({record['problem']!r}: {self.verdict or record['state']}"
        goal = self.certificate.objective if self.certificate is not None else None
        if goal and goal.get("value") is not None:
            text += f", {amount(goal['value'], goal.get('unit'))}"
        if self.reason:
            text += f"; {self.reason}"
        return f"{text}; {self.folder})"

    def _repr_html_(self) -> str:
        record = self.record
        about = {
            "state": self.state + (", can be resumed" if self.resumable else ""),
            "why": self.reason or "",
            "engine": str(record["asked"].get("engine") or ""),
            "folder": str(self.folder),
            "report": self.report.name if self.report.is_file() else "",
        }
        notes = record.get("notes") or ()
        return markup.card(
            str(record["problem"]),
            verdict_badge(self.verdict, self.state),
            markup.facts(about.items()),
            "" if self.solution is None else self.solution.plot().picture(),
            markup.folded(f"{len(notes)} notes", markup.bullets(map(str, notes))),
            kicker="run",
        )


def run_in(out: str | Path | None, problem: Problem) -> Run | None:
    """Return the run of a problem that a folder holds already, None where it is to be begun.

    Raises InputError when the run is of another text, or is under way elsewhere.
    """
    if out is None or not is_run_folder(Path(out)):
        return None
    run = Run.open(out)
    copied = [_same(run.folder / PROBLEM / name, sha) for name, sha in problem.sha256.items()]
    if False in copied:
        expected = "another folder, or force=True"
        raise InputError("the folder holds a run of another text", str(out), expected=expected)
    if is_under_way(run.record):
        raise InputError("the run is still under way", str(out))
    whole = None not in copied  # a run may be cut while it copies its problem
    return run if whole and (run.state == "done" or run.resumable) else None


def _same(path: Path, sha256: str) -> bool | None:
    """Say whether a file is the one of a problem; None where it is not there."""
    return sha256_bytes(path.read_bytes()) == sha256 if path.is_file() else None

"""HiGHS and SCIP side by side, each in its own process; the first proof ends the other.

Neither is faster on all mixed-integer programs: on unit commitment over a week either took up to
three times as long as the other. Two processes on two cores take little more than the faster one
alone.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from engiagent.formulations.classify import ProblemClass
from engiagent.formulations.program import Program
from engiagent.solvers import linear
from engiagent.solvers.adapter import Feature, Need, Watch
from engiagent.solvers.isolation import solve_isolated
from engiagent.solvers.result import OnProgress, Progress, SolveOptions, SolverResult

NAME: Final = "HiGHS and SCIP"
CLASSES: Final[dict[ProblemClass, Need]] = {"MILP": "any"}
FEATURES: Final[frozenset[Feature]] = linear.FEATURES - {"ray"}
OPTIONS: Final = {
    "time_limit": "both obey it",
    "gap": "both obey it",
    "seed": "both take it",
    "start": "both take it",
}
REQUIRES: Final = ("highspy", "pyscipopt")

RUNNERS: Final = ("highs", "scip")
PROOFS: Final = ("optimal", "infeasible", "unbounded")


def solve_here(program: Program, options: SolveOptions, watch: Watch | None = None) -> SolverResult:
    """Solve a program by both, in child processes of this one."""
    cancel = threading.Event()
    on_progress = watch.on_progress if watch is not None else None
    stop = _follow(watch, cancel)
    try:
        return solve_race(program, options, on_progress, cancel)
    finally:
        stop()


def _follow(watch: Watch | None, cancel: threading.Event) -> Callable[[], None]:
    """Set the event once the watch wants to stop; return what ends the following."""
    ended = threading.Event()

    def look() -> None:
        while watch is not None and not ended.wait(0.1):
            if watch.cancelled():
                cancel.set()
                return

    threading.Thread(target=look, daemon=True).start()
    return ended.set


def solve_race(
    program: Program,
    options: SolveOptions,
    on_progress: OnProgress | None = None,
    cancel: threading.Event | None = None,
) -> SolverResult:
    """Return the first result that proves anything, or the best when none does.

    Parameters
    ----------
    program
        A checked mixed-integer linear program.
    options
        Hold for each of the two; so does the memory limit.
    on_progress
        Called with reports of both; bounds are those of either.
    cancel
        Stops both.
    """
    race = _Race(program, options, on_progress, cancel or threading.Event())
    threads = [
        threading.Thread(target=race.run, args=(backend,), daemon=True) for backend in RUNNERS
    ]
    for thread in threads:
        thread.start()
    try:
        race.wait()
    finally:
        race.over.set()
        for thread in threads:
            thread.join()
    return race.answer()


class _Race:
    def __init__(
        self,
        program: Program,
        options: SolveOptions,
        on_progress: OnProgress | None,
        cancel: threading.Event,
    ) -> None:
        self.program, self.options = program, options
        self.on_progress, self.cancel = on_progress, cancel
        self.over = threading.Event()
        self.results: dict[str, SolverResult] = {}
        self.errors: dict[str, BaseException] = {}
        self.changed = threading.Condition()

    def run(self, backend: str) -> None:
        """Run one of the two; keep what it says."""
        options = replace(self.options, backend=backend)
        progress = self._told if self.on_progress is not None else None
        try:
            result = solve_isolated(self.program, options, progress, self.cancel, self.over)
        except BaseException as error:  # handed on to the thread that waits
            with self.changed:
                self.errors[backend] = error
                self.changed.notify()
            return
        with self.changed:
            self.results[backend] = result
            self.changed.notify()

    def _told(self, progress: Progress) -> None:
        with self.changed:
            if self.on_progress is not None:
                self.on_progress(progress)

    def wait(self) -> None:
        """Wait for a proof, for both to end, or for the word to stop."""
        with self.changed:
            while not self._is_over():
                self.changed.wait(timeout=0.1)

    def _is_over(self) -> bool:
        proven = any(result.status in PROOFS for result in self.results.values())
        return proven or len(self.results) + len(self.errors) == len(RUNNERS)

    def answer(self) -> SolverResult:
        """Return the proof, else the better point; raise only when both failed."""
        if not self.results:
            raise next(iter(self.errors.values()))
        for result in self.results.values():
            if result.status in PROOFS:
                return result
        sign = -1.0 if self.program.sense == "maximize" else 1.0

        def rank(result: SolverResult) -> tuple[bool, float]:
            value = result.objective
            return value is None, 0.0 if value is None else sign * value

        return min(self.results.values(), key=rank)

"""Progress and stopping of a running SCIP."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from engiagent.solvers.adapter import Watch
from engiagent.solvers.result import Progress, relative_gap
from engiagent.solvers.scip.build import Built

INFINITE = 1e20
POLL = 0.05


@contextmanager
def watched(built: Built, watch: Watch | None) -> Iterator[None]:
    """Let a watch hear of the solve that runs inside, and stop it."""
    if watch is None:
        yield
        return
    # The model keeps its handlers alive; nothing of them may be shared between models.
    built.model.includeEventhdlr(_handler(built, watch), "engiagent", "progress and stopping")
    ended = threading.Event()

    def obey() -> None:
        while not ended.wait(POLL):
            if watch.cancelled():
                built.model.interruptSolve()
                return

    thread = threading.Thread(target=obey, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _handler(built: Built, watch: Watch) -> Any:
    """Return an event handler; its class exists only once SCIP is loaded."""
    from pyscipopt.scip import PY_SCIP_EVENTTYPE, Eventhdlr

    wanted = (
        PY_SCIP_EVENTTYPE.BESTSOLFOUND,
        PY_SCIP_EVENTTYPE.NODESOLVED,
        PY_SCIP_EVENTTYPE.LPSOLVED,
    )

    class Handler(Eventhdlr):
        def __init__(self) -> None:
            self.last = self.started = time.perf_counter()

        def eventinit(self) -> None:
            for event in wanted:
                self.model.catchEvent(event, self)

        def eventexit(self) -> None:
            for event in wanted:
                self.model.dropEvent(event, self)

        def eventexec(self, event: Any) -> None:
            if event.getType() == PY_SCIP_EVENTTYPE.BESTSOLFOUND and watch.on_incumbent is not None:
                watch.on_incumbent(built.point(self.model.getBestSol()))
            now = time.perf_counter()
            if watch.on_progress is not None and now - self.last >= watch.interval:
                self.last = now
                watch.on_progress(_progress(self.model, now - self.started))

    return Handler()


def _progress(model: Any, elapsed: float) -> Progress:
    objective, bound = _finite(model.getPrimalbound()), _finite(model.getDualbound())
    both = objective is not None and bound is not None
    return Progress(
        elapsed=elapsed,
        iterations=int(model.getNLPIterations()),
        nodes=int(model.getNTotalNodes()),
        objective=objective,
        bound=bound,
        gap=relative_gap(objective, bound) if both else None,  # type: ignore[arg-type]
    )


def _finite(value: float) -> float | None:
    return float(value) if abs(value) < INFINITE else None

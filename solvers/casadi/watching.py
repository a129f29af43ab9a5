"""Progress and cancellation of CasADi's iterative solvers."""

import time
from typing import Any

import numpy as np

from engiagent.solvers.adapter import Watch
from engiagent.solvers.result import Progress


def callback(watch: Watch, shape: tuple[int, int], sense: str) -> Any:
    """Return an ``iteration_callback`` for ``nlpsol``; keep it alive as long as the solver.

    Parameters
    ----------
    shape
        Numbers of columns and of rows of the nonlinear program.
    sense
        Of the program, whose objective CasADi always minimises.
    """
    import casadi

    columns, rows = shape
    sizes = {"x": columns, "lam_x": columns, "g": rows, "lam_g": rows, "f": 1}
    sign = -1.0 if sense == "maximize" else 1.0

    class Look(casadi.Callback):
        def __init__(self) -> None:
            casadi.Callback.__init__(self)
            self.count = 0
            self.began = self.last = time.perf_counter()
            self.construct("look", {})

        def get_n_in(self) -> int:
            return int(casadi.nlpsol_n_out())

        def get_n_out(self) -> int:
            return 1

        def get_name_in(self, i: int) -> str:
            return str(casadi.nlpsol_out(i))

        def get_name_out(self, i: int) -> str:
            return "stop"

        def get_sparsity_in(self, i: int) -> Any:
            size = sizes.get(casadi.nlpsol_out(i), 0)
            return casadi.Sparsity.dense(size, 1) if size else casadi.Sparsity(0, 0)

        def eval(self, arguments: Any) -> list[float]:
            self.count += 1
            now = time.perf_counter()
            if watch.on_progress is not None and now - self.last >= watch.interval:
                self.last = now
                value = float(np.asarray(arguments[1]).ravel()[0])
                watch.on_progress(
                    Progress(
                        elapsed=now - self.began,
                        iterations=self.count,
                        objective=sign * value if np.isfinite(value) else None,
                    )
                )
            return [1.0 if watch.cancelled() else 0.0]

    return Look()

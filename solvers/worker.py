"""The child process that solves: ``python -m engiagent.solvers.worker FOLDER PARENT [progress]``.

It reads ``program`` in the folder and writes ``result`` there; progress, if it is asked for, goes
to its standard output as JSON lines. The line ``stop`` on its standard input asks for the best
point so far; the end of standard input, or the parent's death, ends the process.
"""

import contextlib
import json
import os
import sys
import threading
import time
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.program import OBJECTIVE, Products, Program
from engiagent.formulations.values import Atom, Form, Part, Term
from engiagent.solvers import transport
from engiagent.solvers.adapter import Adapter, Watch
from engiagent.solvers.registry import adapter
from engiagent.solvers.result import Floats, Progress, SolveOptions

PROGRAM, RESULT, INCUMBENT, FAILURE = "program", "result", "incumbent", "failure"
OUT_OF_MEMORY, STOPPED, ORPHANED = 97, 98, 99
DEFAULT = "highs"
MODULES = {"pyomo": "pyomo.environ"}
WARM_SIZE = 40
INCUMBENT_INTERVAL = 0.25
_PR_SET_PDEATHSIG = 1
_SIGKILL = 9


def main() -> None:
    """Solve the program in the folder that the command line names."""
    folder, parent = Path(sys.argv[1]), int(sys.argv[2])
    # Solvers may print; standard output belongs to the progress lines.
    channel = os.dup(1)
    os.dup2(2, 1)
    die_with(parent)
    code = 0
    try:
        _solve(folder, channel)
    except MemoryError:
        code = OUT_OF_MEMORY
    except EngiagentError as error:
        (folder / FAILURE).write_text(str(error), encoding="utf-8")
        code = 1
    # A solver's threads may still be winding down; nothing of theirs is needed any more.
    os._exit(code)


def _solve(folder: Path, channel: int) -> None:
    program, options = transport.read_program(folder / PROGRAM)
    solver = adapter(options.backend or DEFAULT)
    has_point = "interrupt" in solver.features and not (program.is_linear and not program.is_mip)
    stop = threading.Event()
    threading.Thread(target=_obey, args=(stop, has_point), daemon=True).start()
    keeper = _Keeper(folder / INCUMBENT)
    watch = None
    # A callback for every iteration slows a linear program down by a tenth.
    if has_point or "progress" in sys.argv[3:]:
        watch = Watch(lambda progress: _tell(channel, progress, keeper), keeper.take, stop.is_set)
    if options.memory_limit_mb is not None:
        _warm_up(solver)
        limit_memory(options.memory_limit_mb)
    result = solver.solve_here(program, options, watch)
    transport.write_result(folder / RESULT, result)


def _warm_up(solver: Adapter) -> None:
    """Load a solver and all it calls, which is not what the memory limit is meant for.

    Some libraries hang when they are refused memory while they start: OpenBLAS asks for its
    buffers at the first product of matrices and again for ever, CasADi loads its plugins late, SCS
    brings an OpenBLAS of its own, which it first calls when it has iterated for a while. Small
    dense programs, one of each class, go through all of them.
    """
    for module in ("scipy.sparse.linalg", *solver.requires):
        import_module(MODULES.get(module, module))
    matrix = np.eye(WARM_SIZE) + 0.01
    np.linalg.solve(matrix @ matrix, matrix)
    columns = np.arange(WARM_SIZE)
    small = Program(
        sense="minimize",
        cost=np.logspace(-2, 2, WARM_SIZE),  # so that first-order methods iterate for a while
        column_lower=np.full(WARM_SIZE, -1.0),
        column_upper=np.full(WARM_SIZE, 2.0),
        integrality=np.zeros(WARM_SIZE, dtype=bool),
        row_starts=WARM_SIZE * np.arange(WARM_SIZE + 1),
        row_columns=np.tile(columns, WARM_SIZE),
        row_values=matrix.ravel(),
        row_lower=np.ones(WARM_SIZE),
        row_upper=np.full(WARM_SIZE, np.inf),
    )
    squares = Products(np.full(WARM_SIZE, OBJECTIVE), columns, columns, np.ones(WARM_SIZE))
    disk = replace(
        small,
        row_lower=np.where(columns, 1.0, -np.inf),
        row_upper=np.where(columns, np.inf, 4.0 * WARM_SIZE),
        products=replace(squares, rows=np.zeros(WARM_SIZE, np.int64)),
    )
    one = Form(1, np.zeros(()), (Term(np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1)),))
    curve = Part(np.array([OBJECTIVE]), np.ones(1), Atom("exp", 1, (one,)))
    every_class = (
        small,
        replace(small, products=squares),
        disk,
        replace(small, nonlinear=(curve,)),
    )
    for program in every_class:
        # What it cannot take, or fails at, it will tell when it gets the real program.
        with contextlib.suppress(Exception):
            solver.solve_here(program, SolveOptions(), None)


class _Keeper:
    """Keeps the best point on disk, in case the process does not live to hand it over."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.latest: Floats | None = None
        self.written = 0.0

    def take(self, x: Floats) -> None:
        self.latest = x
        if time.monotonic() - self.written >= INCUMBENT_INTERVAL:
            self.flush()

    def flush(self) -> None:
        if self.latest is not None:
            transport.write(self.path, {}, {"x": np.asarray(self.latest)})
            self.latest = None
            self.written = time.monotonic()


def _tell(channel: int, progress: Progress, keeper: _Keeper) -> None:
    keeper.flush()
    os.write(channel, json.dumps(asdict(progress)).encode() + b"\n")


def _obey(stop: threading.Event, has_point: bool) -> None:
    """Wait for the parent's word; where there is no point to save, just end."""
    line = sys.stdin.buffer.readline()
    if not line:
        os._exit(ORPHANED)
    if not has_point:
        os._exit(STOPPED)
    stop.set()


def limit_memory(megabytes: float) -> None:
    """Let the address space grow by no more than this from here."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limit = _address_space() + int(megabytes * 1e6)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _address_space() -> int:
    """Return the size of this process's address space in bytes, 0 where it cannot be told."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def die_with(parent: int) -> None:
    """Ask the kernel to end this process with its parent (Linux)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(ORPHANED)


if __name__ == "__main__":
    main()

"""A worker process: ``python -m engiagent.scale.worker HANDLE PARENT``.

It gets a job and tasks through a connection of ``multiprocessing`` and sends each outcome. Arrays
arrive aligned by it; those that Dask scatters may not be, and their sums differ in the last bits.
"""

import os
import signal
import sys
from multiprocessing.connection import Connection
from typing import Any

from engiagent.scale.work import outcome_of
from engiagent.solvers.worker import die_with, limit_memory


def main() -> None:
    """Serve the connection that the command line names until it ends."""
    die_with(int(sys.argv[2]))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    os.dup2(2, 1)  # tasks may print; standard output is the caller's
    line: Connection[Any, Any] = Connection(int(sys.argv[1]))
    try:
        job, memory_mb = line.recv()
        os.chdir(job.folder)
        context = job.context()
        if memory_mb is not None:
            limit_memory(memory_mb)
        line.send(None)  # it is ready
        while True:
            for task in line.recv():
                line.send(outcome_of(job, context, task))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the caller has all that it asked for, or has gone


if __name__ == "__main__":
    main()
    os._exit(0)  # threads of solvers may still be winding down

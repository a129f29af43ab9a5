"""A worker process: ``python -m engiagent.scale.worker HANDLE PARENT``.

It gets a job and lists of tasks through a connection of ``multiprocessing`` and sends each answer
as it is found. Arrays arrive aligned by it: those that Dask scatters may not be, and sums over them
then differ in the last bits.
"""

import os
import signal
import sys
from multiprocessing.connection import Connection
from typing import Any

from engiagent.errors import EngiagentError
from engiagent.scale.work import Answer, answer
from engiagent.solvers.worker import die_with, limit_memory


def main() -> None:
    """Serve the connection that the command line names until it ends."""
    die_with(int(sys.argv[2]))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    line: Connection[Any, Any] = Connection(int(sys.argv[1]))
    os.dup2(2, 1)  # tasks may print; standard output is the caller's
    try:
        name, job, memory_mb, folder = line.recv()
        try:
            os.chdir(folder)  # paths of tasks are the caller's
            context = job.context()
        except (EngiagentError, OSError) as error:
            line.send(str(error))
            return
        if memory_mb is not None:
            limit_memory(memory_mb)
        line.send("")
        while True:
            for task in line.recv():
                found = answer(job, context, task, name)
                try:
                    line.send(found)
                except (TypeError, ValueError, AttributeError) as error:  # it cannot be sent
                    line.send(Answer(task.number, "failure", reason=str(error), worker=name))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the caller has all that it asked for, or has gone


if __name__ == "__main__":
    main()
    os._exit(0)  # threads of solvers may still be winding down

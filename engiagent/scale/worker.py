"""A worker process: ``python -m engiagent.scale.worker HANDLE PARENT``.

It gets a job and lists of tasks through the connection and sends each answer as it is found.
"""

import os
import sys
from multiprocessing.connection import Connection

from engiagent.errors import EngiagentError
from engiagent.scale.work import Runner
from engiagent.solvers.worker import die_with, limit_memory

READY, REFUSED = "ready", "refused"


def main() -> None:
    """Serve the connection that the command line names until it ends."""
    die_with(int(sys.argv[2]))
    line = Connection(int(sys.argv[1]))
    os.dup2(2, 1)  # tasks may print; standard output is the caller's
    try:
        name, data, memory_mb, folder = line.recv()
        try:
            os.chdir(folder)  # paths of tasks are the caller's
            runner = Runner(data)
        except (EngiagentError, OSError) as error:
            line.send((REFUSED, str(error)))
            return
        if memory_mb is not None:
            limit_memory(memory_mb)
        line.send((READY, ""))
        while True:
            for task in line.recv():
                line.send(runner.run(task, name))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the caller has all that it asked for, or has gone


if __name__ == "__main__":
    main()
    # Threads of solvers may still be winding down.
    os._exit(0)

"""What runs in the child: a supervisor, and under it the script, confined before its first line.

The supervisor adopts whatever the script might leave behind and ends it. It tells the parent, a
JSON line each, which layers are in force and how the script ended; the script itself
has no way to speak on that line.
"""

import json
import os
import resource
import runpy
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from engiagent.run.sandbox import confinement

Plan = dict[str, Any]
REFUSED: Final = 97
_MB: Final = 1_000_000
_STACK: Final = 8 << 20
_POLL: Final = 0.02
_LINUX: Final = sys.platform.startswith("linux")


def main(root: str) -> None:
    """Run the script of the plan in the first argument; ``root`` leads to this package."""
    plan: Plan = json.loads(sys.argv[1])
    sys.path.remove(root)
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        if _LINUX:
            confinement.prctl(confinement.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(REFUSED)
        _confine_and_run(plan)
    else:
        _supervise(pid, plan)


# -- the supervisor ---------------------------------------------------------------------------


def _supervise(pid: int, plan: Plan) -> None:
    def stop(number: int, frame: Any) -> None:
        _sweep()
        os._exit(REFUSED)

    signal.signal(signal.SIGTERM, stop)
    if _LINUX:
        with suppress(OSError):
            confinement.prctl(confinement.PR_SET_CHILD_SUBREAPER, 1)
            confinement.prctl(confinement.PR_SET_PDEATHSIG, signal.SIGTERM)
            confinement.prctl(confinement.PR_SET_DUMPABLE, 0)
    why = None
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        if _threads(pid) > plan["limits"]["threads"]:
            why = "threads"
            os.kill(pid, signal.SIGKILL)
        time.sleep(_POLL)
    _sweep()
    code = os.waitstatus_to_exitcode(status)
    _tell(plan, {"code": max(code, 0), "signal": max(-code, 0), "why": why})
    os._exit(0)


def _threads(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError):
        text = Path(f"/proc/{pid}/stat").read_bytes()
        return int(text.rsplit(b")", 1)[1].split()[17])
    return 0


def _sweep() -> None:
    """End every process that is left; those whose parent ends come to this one."""
    own = os.getpid()
    for _ in range(1000):
        for entry in os.listdir("/proc") if _LINUX else ():
            if not entry.isdigit():
                continue
            with suppress(OSError, IndexError):
                stat = Path(f"/proc/{entry}/stat").read_bytes()
                if int(stat.rsplit(b")", 1)[1].split()[1]) == own:
                    os.kill(int(entry), signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)


def _tell(plan: Plan, said: dict[str, Any]) -> None:
    with suppress(OSError):
        os.write(plan["report"], json.dumps(said).encode() + b"\n")


# -- the script -------------------------------------------------------------------------------


def _confine_and_run(plan: Plan) -> None:
    os.chdir(plan["work"])
    sys.argv = [plan["script"], plan["result"]]
    found: dict[str, Any] = {"limits": _limit(plan["limits"]), "errors": {}}
    _attempt(found, "no_new_privs", _no_new_privileges)
    _attempt(found, "landlock", lambda: _landlock(plan))
    _attempt(found, "seccomp", confinement.confine)
    short = [name for name in plan["required"] if not found.get(name)]
    _tell(plan, found)
    os.close(plan["report"])
    if short:
        os._exit(REFUSED)
    if plan["script"]:
        sys.path.insert(0, plan["work"])
        runpy.run_path(plan["script"], run_name="__main__")


def _attempt(found: dict[str, Any], name: str, work: Any) -> None:
    try:
        done = work()
        found[name] = True if done is None else done
    except OSError as error:
        found[name] = False
        found["errors"][name] = str(error)


def _no_new_privileges() -> None:
    confinement.prctl(confinement.PR_SET_DUMPABLE, 0)
    confinement.prctl(confinement.PR_SET_NO_NEW_PRIVS, 1)
    confinement.drop_capabilities()


def _landlock(plan: Plan) -> int:
    version = confinement.abi()
    if version:
        rules = [(path, confinement.READ) for path in plan["readable"]]
        rules += [(path, confinement.READ_DIR) for path in plan["listable"]]
        rules += [(path, confinement.READ | confinement.WRITE_FILE) for path in plan["writable"]]
        confinement.restrict([*rules, (plan["work"], confinement.WORK)], version)
    return version


def _limit(limits: dict[str, Any]) -> bool:
    """Set the limits that a process inherits; return whether all of them hold."""
    cpu, file = int(limits["cpu_seconds"]), int(limits["file_mb"]) * _MB
    wanted = {
        "RLIMIT_AS": (int(limits["memory_mb"]) * _MB,) * 2,
        "RLIMIT_CPU": (cpu, cpu + 1),
        "RLIMIT_FSIZE": (file, file),
        "RLIMIT_NOFILE": (int(limits["open_files"]),) * 2,
        "RLIMIT_CORE": (0, 0),
        "RLIMIT_STACK": (_STACK, _STACK),
        "RLIMIT_NPROC": (int(limits["processes"]),) * 2,
        "RLIMIT_MEMLOCK": (1 << 20, 1 << 20),
        "RLIMIT_MSGQUEUE": (0, 0),
    }
    # A write beyond the size is to be an error that says so, not a signal.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    held = True
    for name, (soft, hard) in wanted.items():
        which = getattr(resource, name, None)
        if which is None:
            continue
        most = resource.getrlimit(which)[1]
        ceiling = hard if most == resource.RLIM_INFINITY else min(hard, most)
        try:
            resource.setrlimit(which, (min(soft, ceiling), ceiling))
        except (OSError, ValueError):
            held = False
    return held

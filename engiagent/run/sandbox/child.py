"""What runs in the child: a process that confines itself before the first line of the script.

It tells the parent, in one JSON line, which layers are in force; the script itself has no way to
speak on that line. No other process can be begun from here, so that its end is the end of all.
"""

import json
import os
import resource
import runpy
import signal
import sys
from contextlib import suppress
from typing import Any, Final

from engiagent.run.sandbox import confinement

Plan = dict[str, Any]
REFUSED: Final = 97
_MB: Final = 1_000_000
_STACK: Final = 8 << 20
_LINUX: Final = sys.platform.startswith("linux")


def main(root: str) -> None:
    """Run the script of the plan in the first argument; ``root`` leads to this package."""
    plan: Plan = json.loads(sys.argv[1])
    sys.path.remove(root)
    if _LINUX:
        confinement.prctl(confinement.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != plan["parent"]:
        os._exit(REFUSED)
    _confine_and_run(plan)


def _confine_and_run(plan: Plan) -> None:
    os.chdir(plan["work"])
    sys.argv = [plan["script"], plan["result"]]
    found: dict[str, Any] = {"limits": _limit(plan["limits"]), "errors": {}}
    _attempt(found, "no_new_privs", _no_new_privileges)
    _attempt(found, "landlock", lambda: _landlock(plan))
    _attempt(found, "seccomp", confinement.confine)
    short = [name for name in plan["required"] if not found.get(name)]
    with suppress(OSError):
        os.write(plan["report"], json.dumps(found).encode() + b"\n")
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

"""Scripts run in the sandbox, here and as somebody else, and things for them to attack."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from engiagent.run.sandbox.running import layers

_MISSING: Final = layers().missing if hasattr(os, "fork") else ("fork",)
CONFINED: Final = pytest.mark.skipif(
    bool(_MISSING), reason=f"this machine has no {' and no '.join(_MISSING)}"
)
"""Marks what runs scripts; where the machine cannot confine them, they are refused."""
ROOT: Final = Path(__file__).parents[2]
SCRIPTS: Final = Path(__file__).parent / "scripts"
WORD: Final = "kestrel-and-quince"
NOBODY: Final = 65534
ANSWER: Final = ROOT / "problems/battery/merchant_day/expert/answer.json"

LAUNCH: Final = """
import json, sys
from pathlib import Path
from engiagent.errors import SandboxError
from engiagent.run.sandbox import running
from engiagent.run.sandbox.limits import Layers, Limits
from engiagent.run.sandbox.running import layers, run_script
asked = json.loads(sys.argv[1])
if asked["without"]:
    import platform
    from engiagent.run.sandbox import confinement as kernel
    numbers = kernel.numbers()
    lines = [(0x20, 0, 0, 0)]
    for name in asked["without"]:
        if name == "landlock":
            lines += [(0x15, 0, 1, numbers["landlock_create_ruleset"]), (6, 0, 0, 0x50000 | 38)]
        else:
            test = [(0x20, 0, 0, 16), (0x15, 0, 1, kernel.PR_SET_SECCOMP), (6, 0, 0, 0x50000 | 22),
                    (0x20, 0, 0, 0)]
            lines += [(0x15, 0, len(test), numbers["prctl"]), *test]
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.install([*lines, (6, 0, 0, 0x7fff0000)])
if asked["unsafe"]:  # no product code does this: it shows that the layers are what stops a script
    running._REQUIRED, Layers.missing = (), ()
said = {"layers": str(layers())}
try:
    data = Path(asked["data"])
    files = [path.name for path in data.glob("targets.json")]
    result = run_script(Path(asked["script"]).read_text(), data, files, Limits(seconds=20))
    said |= {"status": result.status, "reason": result.reason, "output": result.output}
except SandboxError as error:
    said |= {"refused": str(error), "missing": error.missing}
print(json.dumps(said))
"""
"""A run in another process, on a machine that is made to lack what ``without`` names."""


def launch(
    script: Path,
    data: Path,
    *,
    without: tuple[str, ...] = (),
    unsafe: bool = False,
    before: tuple[str, ...] = (),
    python: str = sys.executable,
    environment: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return what a run in another process says."""
    asked = {"script": str(script), "data": str(data), "without": without, "unsafe": unsafe}
    done = subprocess.run(
        [*before, python, "-c", LAUNCH, json.dumps(asked)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **(environment or {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def interpreter_for_nobody() -> str | None:
    """Return an interpreter that a user without rights can start; None where there is none."""
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        return None
    for path in (sys.executable, "/usr/bin/python3"):
        if not os.path.exists(path):
            continue
        test = (
            "import os, sys; "
            "sys.exit(sys.version_info < (3, 11) or not os.access(sys.executable, os.X_OK))"
        )
        done = subprocess.run([*as_nobody(), path, "-c", test], capture_output=True, check=False)
        if done.returncode == 0:
            return path
    return None


def as_nobody() -> tuple[str, ...]:
    """Return the words before a command that has it run without rights."""
    return ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


@contextmanager
def targets(folder: Path) -> Iterator[Path]:
    """Set up what a script might attack; yield the data folder that tells it of them."""
    outside, data = folder / "outside", folder / "data"
    outside.mkdir()
    data.mkdir()
    secret = outside / "secret.txt"
    secret.write_text(WORD)
    for path in (outside, secret):
        path.chmod(0o777)  # so that only the sandbox can be what stops anybody
    with ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        plain, abstract = (stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2))
        name = f"engiagent-{os.getpid()}"
        path = outside / "s"
        plain.bind(os.path.relpath(path))
        path.chmod(0o777)
        abstract.bind(f"\0{name}")
        for listening in (plain, abstract):
            listening.listen()
        aim = {
            "secret": str(secret),
            "folder": str(outside),
            "answer": str(ANSWER),
            "word": WORD,
            "pid": os.getpid(),
            "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "unix": str(path),
            "abstract": name,
        }
        (data / "targets.json").write_text(json.dumps(aim))
        yield data
        assert sorted(item.name for item in outside.iterdir()) == ["s", "secret.txt"]
        assert secret.read_text() == WORD

"""New users at their doors: what the pages show, with data of their own, at the first try."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import pytest

COMMANDS = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
"""Where a shell finds ``engiagent`` and ``python`` as an installation has them."""


class Door:
    """What a user types, with the wall time of each step (shown by ``pytest -s``)."""

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Do something and print how long it took."""
        begin = perf_counter()
        try:
            yield
        finally:
            print(f"  {perf_counter() - begin:6.2f} s  {name}", flush=True)

    def types(self, command: str, code: int = 0) -> str:
        """Run a command in a process of its own and return all that it writes."""
        with self.step(command):
            done = subprocess.run(
                shlex.split(command),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=60,
                env={**os.environ, "PATH": COMMANDS},
            )
        assert done.returncode == code, (command, done.stdout)
        assert "Traceback" not in done.stdout
        return done.stdout


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Door:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", COMMANDS)
    return Door()

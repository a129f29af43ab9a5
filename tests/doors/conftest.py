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

from tests.cli.asking import invoke

COMMANDS = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
"""Where a shell finds ``engiagent`` and ``python`` as an installation has them."""


class Door:
    """What a user types, with the wall time of each step (shown by ``pytest -s``)."""

    is_first = True

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Do something and print how long it took."""
        begin = perf_counter()
        try:
            yield
        finally:
            print(f"  {perf_counter() - begin:6.2f} s  {name}", flush=True)

    def types(self, command: str, code: int = 0) -> str:
        """Run a command and return all that it writes.

        The first of a user runs in a process of its own, as does what is no command of ours; the
        others run in this one, which has the libraries already.
        """
        program, *words = shlex.split(command)
        with self.step(command):
            if program == "engiagent" and not self.is_first:
                result = invoke(*words)
                ended, said = result.exit_code, result.output
            else:
                self.is_first = False
                done = subprocess.run(
                    [program, *words],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=60,
                    env={**os.environ, "PATH": COMMANDS},
                )
                ended, said = done.returncode, done.stdout
        assert ended == code, (command, said)
        assert "Traceback" not in said
        return said


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Door:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", COMMANDS)
    return Door()

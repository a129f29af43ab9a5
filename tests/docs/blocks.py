"""Fenced blocks of a page, and what each kind of them does when the page is followed.

A page is followed from top to bottom in an empty folder, in which ``problems`` is to be found as in
the checkout; the pages for users of the installed package do without it.

========================  =======================================================================
``python``                runs, all of a page in one namespace. An expression with a value as
                          its comment, ``1 + 1  # 2``, has that value.
``text printed``          is what the Python since the last such block has printed.
``console``               ``$ command`` runs; lines below it are found in what it says, with ``…``
                          for what may differ; ``exit code 2`` where it is not 0.
``sh``                    is for commands outside the project, as ``pip``; none of engiagent.
``LANGUAGE FILE.suffix``  makes the file, or where it is there shows a part of it; with a place in
                          the file behind it, it is for ``test_extending``.
``json``, ``yaml``        can be read, but for JSON that leaves out parts with ``…``; fields alone
                          are those of an object.
``text``                  is for the eye; what it shows of our commands and options exists.
others                    are for the eye, or have a test of their own.
========================  =======================================================================
"""

import ast
import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from engiagent.cli.app import app

FENCE = re.compile(r"^(`{3,})([\w{}]*) ?([^\n]*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"  # (.+)$")
OUTSIDE = {"cat", "cp", "cut", "head", "ls", "mkdir", "python", "tail"}
"""Commands of a console besides our own."""


@dataclass(frozen=True)
class Block:
    """One fenced block and where it stands."""

    page: str
    line: int
    language: str
    info: str
    text: str

    @property
    def file(self) -> str | None:
        """The file that the block shows, if any."""
        name = self.info.split(" ")[0]
        return name if re.search(r"\w\.\w+$", name) else None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: Path, root: Path) -> list[Block]:
    """Return the fenced blocks of a page in their order."""
    text, name = page.read_text("utf-8"), page.relative_to(root).as_posix()
    return [
        Block(name, text.count("\n", 0, found.start()) + 1, found[2], found[3], found[4])
        for found in FENCE.finditer(text)
    ]


@dataclass(frozen=True)
class Said:
    """How a command ended: its exit code, and all that it wrote."""

    code: int
    stdout: str
    output: str


Runner = Callable[[list[str]], Said]


def in_process(words: list[str]) -> Said:
    """Run a command of engiagent here, which is faster than in a process of its own."""
    result = CliRunner().invoke(app, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Said(result.exit_code, result.stdout, result.output)


@dataclass
class Follower:
    """Somebody who does what a page says, in the current folder."""

    engiagent: Runner = in_process
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "page"})
    printed: str = ""

    def follow(self, block: Block) -> None:
        """Do what a block says, and hold it to what it shows."""
        if block.language == "python" and not block.file:
            self._python(block)
        elif block.language == "console":
            for command, lines in commands(block.text):
                self._command(block, command, lines)
        elif block.file:
            if " " not in block.info:
                _file(block, Path(block.file))
        elif block.language == "text" and block.info == "printed":
            missed = [line for line in block.text.splitlines() if not shown(line, self.printed)]
            assert not missed, (str(block), missed, self.printed)
            self.printed = ""
        elif block.language == "json" and not block.info and "…" not in block.text:
            json.loads(block.text if block.text[0] in "{[" else f"{{{block.text}}}")
        elif block.language == "yaml":
            YAML(typ="safe").load(block.text)
        elif block.language == "text":
            for line in block.text.splitlines():
                if line.startswith("engiagent "):
                    _usage(block, line.partition("#")[0].split()[1:])

    def _python(self, block: Block) -> None:
        source = "\n" * block.line + block.text
        lines = source.splitlines()
        out = io.StringIO()
        for statement in ast.parse(source, str(block)).body:
            with contextlib.redirect_stdout(out):
                found = self._statement(statement, str(block))
            expected = _value(lines[(statement.end_lineno or 1) - 1])
            if isinstance(statement, ast.Expr) and expected is not None:
                assert found == (
                    pytest.approx(expected, rel=1e-6) if isinstance(expected, float) else expected
                ), f"{block.page}:{statement.lineno}"
        self.printed += out.getvalue()

    def _statement(self, statement: ast.stmt, name: str) -> Any:
        if isinstance(statement, ast.Expr):
            return eval(compile(ast.Expression(statement.value), name, "eval"), self.names)
        exec(compile(ast.Module([statement], []), name, "exec"), self.names)
        return None

    def _command(self, block: Block, command: str, lines: list[str]) -> None:
        plain, _, target = command.partition(" > ")
        words = shlex.split(plain)
        if words[0] == "engiagent":
            said = self.engiagent(words[1:])
        else:
            assert words[0] in OUTSIDE, f"{block}: {words[0]} is run by no test"
            said = _outside(words)
        if target:
            Path(target).write_text(said.stdout, encoding="utf-8")
        code = 0
        for line in lines:
            if line.startswith("exit code "):
                code = int(line.removeprefix("exit code "))
            else:
                assert shown(line, said.output), (str(block), command, line, said.output)
        assert said.code == code, (str(block), command, said.output)


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    r"""Yield each command of a console with the lines below it; ``\`` goes on in the next line."""
    assert text.startswith("$ "), text
    for part in re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.MULTILINE):
        command, *lines = part.splitlines() or [""]
        if command:
            yield command, [line for line in lines if line.strip()]


def shown(line: str, said: str) -> bool:
    """Whether a line was said, its parts between ``…`` in their order in one line of it."""
    pattern = ".*".join(re.escape(part.strip()) for part in line.split("…"))
    return re.search(pattern, said) is not None


def _usage(block: Block, words: list[str]) -> None:
    """Hold a line like ``engiagent run PROBLEM --out DIR`` to the commands that there are."""
    command: click.Command = app
    context = click.Context(command)
    while words and isinstance(command, click.Group):
        if (word := words.pop(0)).startswith("-"):
            continue
        inner = command.get_command(context, word)
        if inner is None and "." in word:
            return  # a file, where a group has a command that is meant without its name
        assert inner is not None, (str(block), word)
        command, context = inner, click.Context(inner, parent=context)
    known = {name for parameter in command.params for name in parameter.opts}
    said = {w.strip("[]").partition("=")[0] for w in words if re.match(r"\[?--\w", w)}
    assert said <= known, (str(block), said - known)


def _value(line: str) -> Any:
    """Return the Python value in the comment at the end of a line, None without one."""
    comment = COMMENT.search(line)
    with contextlib.suppress(ValueError, SyntaxError):
        return ast.literal_eval(comment[1]) if comment else None
    return None


def _outside(words: list[str]) -> Said:
    program = [sys.executable] if words[0] == "python" else [words[0]]
    done = subprocess.run(
        [*program, *words[1:]], capture_output=True, text=True, timeout=60, env=dict(os.environ)
    )
    return Said(done.returncode, done.stdout, done.stdout + done.stderr)


def _file(block: Block, path: Path) -> None:
    if path.exists():
        kept = path.read_text("utf-8")
        assert block.text.strip() in kept, (str(block), kept)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, encoding="utf-8")

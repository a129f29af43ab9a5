"""``%load_ext engiagent``: the cell magic ``%%problem``."""

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NoReturn

from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.explain.audit import Audit
from engiagent.io.files import write_atomic
from engiagent.notebook import markup
from engiagent.text import Problem
from engiagent.text.problem import TEXT_FILE

_USAGE = "%%problem [NAME] [--data FOLDER] [--engine ENGINE] [--set SLOT=VALUE] [--no-audit]"


@dataclass(frozen=True)
class Reading:
    """What came of a cell: the problem, its audit and its blueprint."""

    problem: Problem
    audit: Audit | None  # None where none was wanted
    blueprint: Blueprint | None  # None where the text could not be modelled; ``trouble`` says why
    trouble: str = ""

    def solve(self, **options: Any) -> Any:
        """Solve the blueprint; see :meth:`Blueprint.solve`."""
        if self.blueprint is None:
            raise EngiagentError(self.trouble)
        return self.blueprint.solve(**options)

    def __repr__(self) -> str:
        parts = [repr(self.problem), repr(self.audit) if self.audit is not None else ""]
        parts.append(repr(self.blueprint) if self.blueprint is not None else self.trouble)
        return "\n".join(part for part in parts if part)

    def _repr_html_(self) -> str:
        parts = [self.problem._repr_html_()]
        parts += [self.audit._repr_html_()] if self.audit is not None else []
        if self.blueprint is not None:
            parts.append(self.blueprint._repr_html_())
        else:
            parts.append(markup.card("No blueprint", self.trouble))
        return "".join(parts)


def load_ipython_extension(shell: Any) -> None:
    """Register the magic; IPython calls it."""

    def problem(line: str, cell: str) -> Any:
        name, found = read_cell(line, cell)
        shell.user_ns[name] = found
        return found

    shell.register_magic_function(problem, magic_kind="cell", magic_name="problem")


def read_cell(line: str, cell: str) -> tuple[str, Reading]:
    """Return the name that a cell asks for, and what came of its text.

    The data files that the text names are copied from the folder given, by default the current
    one, so that a run of the problem keeps them.
    """
    asked = _arguments(line)
    target = Path(mkdtemp(prefix="problem-")) / asked.name
    target.mkdir()
    for path in sorted(Path(asked.data).iterdir()) if Path(asked.data).is_dir() else ():
        if path.is_file() and path.name in cell and path.name != TEXT_FILE:
            write_atomic(target / path.name, path.read_bytes())
    write_atomic(target / TEXT_FILE, cell)
    problem = Problem.load(target)
    audit = problem.audit() if asked.audit else None
    values = dict(_pair(text) for text in asked.set)
    try:
        blueprint: Blueprint | None = problem.analyse(asked.engine, values=values)
        trouble = ""
    except EngiagentError as error:
        blueprint, trouble = None, str(error)
    return asked.name, Reading(problem, audit, blueprint, trouble)


class _Parser(argparse.ArgumentParser):
    """A parser that never ends the program."""

    def error(self, message: str) -> NoReturn:
        raise InputError(f"%%problem: {message}", expected=_USAGE)


def _arguments(line: str) -> argparse.Namespace:
    parser = _Parser(prog="%%problem", add_help=False)
    parser.add_argument("name", nargs="?", default="problem")
    parser.add_argument("--data", default=".")
    parser.add_argument("--engine", default="offline")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--no-audit", dest="audit", action="store_false")
    asked = parser.parse_args(_words(line))
    if not asked.name.isidentifier():
        raise InputError("no name of a variable", found=asked.name, expected=_USAGE)
    return asked


def _words(line: str) -> Sequence[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise InputError(f"%%problem: {error}", expected=_USAGE) from None


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise InputError("no value is given", found=text, expected="--set battery.efficiency=0.95")
    return name.strip(), value.strip()

"""``engiagent doctor``: what is installed, what is missing, and whether a solve works."""

import os
import platform
import re
import sys
from importlib import metadata
from importlib.metadata import PackageNotFoundError, version
from itertools import takewhile
from typing import Any

import click

from engiagent import __version__
from engiagent.cli import options
from engiagent.cli.output import print_json
from engiagent.solvers.registry import BACKENDS, adapter

OLDEST_PYTHON = (3, 11)


@click.command()
@options.as_json
def doctor(as_json: bool) -> int:
    """Look at the installation and try a solve.

    Exit code 1 when something is missing or does not work.
    """
    report = examine()
    if as_json:
        print_json(report)
    else:
        for line in lines(report):
            click.echo(line)
    return 0 if report["ok"] else 1


def examine() -> dict[str, Any]:
    """Return what there is to know about the installation."""
    packages = [_package(text) for text in _required()]
    missing = [entry for entry in packages if not entry["ok"]]
    self_test = _self_test()
    install = " ".join(f"'{entry['requirement']}'" for entry in missing)
    return {
        "schema": "engiagent-doctor/1",
        "ok": not missing and self_test["ok"] and sys.version_info >= OLDEST_PYTHON,
        "engiagent": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "memory_mb": _memory_mb(),
        "packages": packages,
        "solvers": _solvers(),
        "self_test": self_test,
        "fix": f"{sys.executable} -m pip install {install}" if missing else None,
    }


def _required() -> list[str]:
    """Return the requirements that the installed package declares, without those of extras."""
    try:
        declared = metadata.requires("engiagent") or []
    except PackageNotFoundError:
        return []
    return [text for text in declared if "extra ==" not in text]


def _package(requirement: str) -> dict[str, Any]:
    text = requirement.split(";")[0].strip()
    name = re.split(r"[^\w.-]", text, maxsplit=1)[0]
    try:
        found: str | None = version(name)
    except PackageNotFoundError:
        found = None
    old = found is not None and _too_old(found, text.removeprefix(name))
    return {"name": name, "requirement": text, "version": found, "ok": bool(found) and not old}


def _too_old(found: str, bounds: str) -> bool:
    """Whether a version is below the floor ``>=…`` of a requirement."""
    floor = next((b.strip()[2:] for b in bounds.split(",") if b.strip().startswith(">=")), "0")
    return _release(found) < _release(floor)


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in takewhile(str.isdigit, text.split(".")))


def _solvers() -> list[dict[str, Any]]:
    """Return every backend with the version of its library, or how to install it."""
    found = []
    for backend in BACKENDS:
        solver = adapter(backend)
        missing = solver.missing()
        found.append(
            {
                "backend": backend,
                "name": solver.name,
                "version": None if missing else solver.version(),
                "solves": list(solver.classes),
                "install": solver.install if missing else None,
            }
        )
    return found


def _self_test() -> dict[str, Any]:
    """Solve a tiny program in a child process: 3x + 5y has its best at (2, 6)."""
    try:
        import numpy as np

        from engiagent.formulations.program import Program
        from engiagent.solvers.result import SolveOptions
        from engiagent.solvers.solving import solve

        program = Program(
            sense="maximize",
            cost=np.array([3.0, 5.0]),
            column_lower=np.zeros(2),
            column_upper=np.array([4.0, 6.0]),
            integrality=np.zeros(2, dtype=bool),
            row_starts=np.array([0, 2]),
            row_columns=np.array([0, 1]),
            row_values=np.array([3.0, 2.0]),
            row_lower=np.array([-np.inf]),
            row_upper=np.array([18.0]),
        )
        result = solve(program, SolveOptions(time_limit=30))
    except Exception as error:
        return {"ok": False, "text": f"{type(error).__name__}: {error}", "seconds": None}
    ok = result.objective is not None and abs(result.objective - 36) < 1e-9
    return {"ok": ok, "text": result.reason, "seconds": round(result.seconds, 3)}


def _memory_mb() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 10**6
    except (AttributeError, ValueError, OSError):
        return None


def lines(report: dict[str, Any]) -> list[str]:
    """Return the report as lines for people."""
    result = [
        f"engiagent  {report['engiagent']}",
        f"Python     {report['python']}  {report['executable']}",
        f"platform   {report['platform']}",
        f"machine    {report['cores']} cores, {report['memory_mb'] or 'unknown'} MB of memory",
        "packages",
    ]
    for entry in report["packages"]:
        state = entry["version"] or "missing"
        mark = "  " if entry["ok"] else "! "
        result.append(f"  {mark}{entry['name']:<16} {state:<12} needs {entry['requirement']}")
    result.append("solvers")
    for solver in report["solvers"]:
        state = solver["version"] or f"not installed: {solver['install']}"
        result.append(f"    {solver['backend']:<16} {state:<12} {', '.join(solver['solves'])}")
    test = report["self_test"]
    state = f"works ({test['seconds']} s)" if test["ok"] else f"FAILS: {test['text']}"
    result.append(f"self-test  a solve in a child process {state}")
    if report["fix"]:
        result.append(f"to repair  {report['fix']}")
    result.append("all is well" if report["ok"] else "something is wrong, see above")
    return result

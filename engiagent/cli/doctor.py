"""``engiagent doctor``: what is installed, what is missing, and whether a solve works."""

import os
import platform
import re
import sys
from importlib import metadata
from itertools import takewhile
from typing import Any

import click

from engiagent import __version__
from engiagent.cli import options
from engiagent.cli.output import print_json
from engiagent.run.sandbox.running import layers
from engiagent.solvers.registry import BACKENDS, adapter

OLDEST_PYTHON = (3, 11)


@click.command()
@options.as_json
def doctor(as_json: bool) -> int:
    """Look at the installation and the machine, and try a solve.

    Exit code 1 when something is missing or does not work.
    """
    report = examine()
    if as_json:
        print_json(report)
    else:
        click.echo("\n".join(lines(report)))
    return 0 if report["ok"] else 1


def examine() -> dict[str, Any]:
    """Return what there is to know about the installation."""
    try:
        declared = metadata.requires("engiagent") or []
    except metadata.PackageNotFoundError:
        declared = []
    packages = [_package(text) for text in declared if "extra ==" not in text]
    missing = [entry for entry in packages if not entry["ok"]]
    self_test, held = _self_test(), layers()
    install = " ".join(f"'{entry['requirement']}'" for entry in missing)
    return {
        "schema": "engiagent-doctor/2",
        "ok": not missing and self_test["ok"] and sys.version_info >= OLDEST_PYTHON,
        "engiagent": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "packages": packages,
        "solvers": [_solver(backend) for backend in BACKENDS],
        "sandbox": {"layers": str(held), "missing": list(held.missing)},
        "self_test": self_test,
        "fix": f"{sys.executable} -m pip install {install}" if missing else None,
    }


def _package(requirement: str) -> dict[str, Any]:
    """Return a required package with its version, and whether that is at least the floor."""
    text = requirement.split(";")[0].strip()
    name = re.split(r"[^\w.-]", text, maxsplit=1)[0]
    floor = re.search(r">=\s*([^,\s]+)", text)
    try:
        found: str | None = metadata.version(name)
    except metadata.PackageNotFoundError:
        found = None
    ok = found is not None and _release(found) >= _release(floor[1] if floor else "0")
    return {"name": name, "requirement": text, "version": found, "ok": ok}


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in takewhile(str.isdigit, text.split(".")))


def _solver(backend: str) -> dict[str, Any]:
    """Return a backend with the version of its library, or how to install it."""
    solver = adapter(backend)
    missing = solver.missing()
    return {
        "backend": backend,
        "name": solver.name,
        "version": None if missing else solver.version(),
        "solves": list(solver.classes),
        "install": solver.install if missing else None,
    }


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


def lines(report: dict[str, Any]) -> list[str]:
    """Return the report as lines for people."""
    result = [
        f"engiagent  {report['engiagent']}",
        f"Python     {report['python']}  {report['executable']}",
        f"platform   {report['platform']}, {report['cores']} cores",
        "packages",
    ]
    for entry in report["packages"]:
        state, mark = entry["version"] or "missing", "  " if entry["ok"] else "! "
        result.append(f"  {mark}{entry['name']:<16} {state:<12} needs {entry['requirement']}")
    result.append("solvers")
    for solver in report["solvers"]:
        state = solver["version"] or f"not installed: {solver['install']}"
        result.append(f"    {solver['backend']:<16} {state:<12} {', '.join(solver['solves'])}")
    held, test = report["sandbox"], report["self_test"]
    refused = f"; no {' and no '.join(held['missing'])}: scripts are refused"
    result.append(f"sandbox    {held['layers']}{refused if held['missing'] else ''}")
    state = f"works ({test['seconds']} s)" if test["ok"] else f"FAILS: {test['text']}"
    result.append(f"self-test  a solve in a child process {state}")
    if report["fix"]:
        result.append(f"to repair  {report['fix']}")
    return [*result, "all is well" if report["ok"] else "something is wrong, see above"]

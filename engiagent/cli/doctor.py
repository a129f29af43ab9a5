"""``engiagent doctor``: which solvers are there, and whether a solve works."""

import os
import platform
import sys
from typing import Any

import click

from engiagent import __version__
from engiagent.cli import options
from engiagent.cli.output import print_json
from engiagent.run.sandbox.running import layers
from engiagent.solvers.registry import BACKENDS, adapter


@click.command()
@options.as_json
def doctor(as_json: bool) -> int:
    """Look at the solvers and the machine, and try a solve; 'pip check' looks at packages.

    Exit code 1 when the solve does not work.
    """
    report = examine()
    if as_json:
        print_json(report)
        return 0 if report["ok"] else 1
    click.echo(f"engiagent  {report['engiagent']}")
    click.echo(f"Python     {report['python']}  {report['executable']}")
    click.echo(f"platform   {report['platform']}, {report['cores']} cores")
    for solver in report["solvers"]:
        state = solver["version"] or f"not installed: {solver['install']}"
        click.echo(f"solver     {solver['backend']:<16} {state:<12} {', '.join(solver['solves'])}")
    held, test = report["sandbox"], report["self_test"]
    refused = f"; no {' and no '.join(held['missing'])}: scripts are refused"
    click.echo(f"sandbox    {held['layers']}{refused if held['missing'] else ''}")
    state = f"works ({test['seconds']} s)" if test["ok"] else f"FAILS: {test['text']}"
    click.echo(f"self-test  a solve in a child process {state}")
    return 0 if report["ok"] else 1


def examine() -> dict[str, Any]:
    """Return what there is to know about the installation."""
    self_test, held = _self_test(), layers()
    return {
        "schema": "engiagent-doctor/2",
        "ok": self_test["ok"],
        "engiagent": __version__,
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "solvers": [_solver(backend) for backend in BACKENDS],
        "sandbox": {"layers": str(held), "missing": list(held.missing)},
        "self_test": self_test,
    }


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

"""Build, solve and check a battery LP against hand-written matrices, in the same run.

Every repetition runs in a fresh process and the tools take turns (A B A B …), so that a slow
minute of the machine meets all of them. Reported are medians. See ``README.md`` for what is
counted where.

    python benchmarks/battery_lp.py --T 8760 35040 --tools floor,engiagent --repeat 5
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

# This process stays small: Linux counts the memory of a parent at the time of its fork towards
# the peak of the child. So numpy and the tools are imported in the children only.
PEERS = ("linopy", "cvxpy", "pyomo", "pypsa", "oemof.solph")
TOOLS = ("floor", "engiagent", "engiagent-isolated", "engiagent-simplex", *PEERS)
NUMBERS = (
    "build_s",
    "solve_s",
    "extract_s",
    "check_s",
    "rows_s",
    "total_s",
    "peak_mb",
    "objective",
)
LIBRARIES = ("engiagent", "highspy", "numpy", "scipy", "xarray", "pyomo")
AGREEMENT = 1e-6
"""Largest relative difference between the tools' objectives."""

Row = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark and print one JSON object, or a table."""
    options = _options(arguments)
    rows = []
    for periods in options.T:
        runs: dict[str, list[Row]] = {tool: [] for tool in options.tools}
        with TemporaryDirectory() as folder:
            _script("write", str(periods), folder)
            for _ in range(options.repeat):
                for tool in options.tools:
                    runs[tool].append(_run(tool, periods, folder))
        rows += [_median_row(repetitions) for repetitions in runs.values()]
        _compare_objectives([row for row in rows if row["T"] == periods])
    if options.json:
        print(json.dumps({"rows": rows, "machine": _machine(), "versions": _versions()}))
    else:
        _print_table(rows, options.repeat)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--T", type=_positive, nargs="+", default=[8760, 35040], help="numbers of periods"
    )
    parser.add_argument(
        "--tools",
        type=_tools,
        default=["floor", "engiagent", "engiagent-isolated"],
        help=f"a comma between them; known: {', '.join(TOOLS)}",
    )
    parser.add_argument("--repeat", type=_positive, default=5, help="repetitions of each tool")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("give a whole number of at least 1")
    return number


def _tools(text: str) -> list[str]:
    names = list(dict.fromkeys(text.split(",")))
    unknown = [name for name in names if name not in TOOLS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"unknown tool {', '.join(unknown)}; known are {', '.join(TOOLS)}"
        )
    return names


def _run(tool: str, periods: int, folder: str) -> Row:
    """Return the row of one repetition in a process of its own."""
    row: Row = json.loads(_script(tool, str(periods), folder).splitlines()[-1])
    return row


def _script(*arguments: str) -> str:
    script = Path(__file__).with_name("battery_tools.py")
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments[:2])} failed:\n{done.stderr}")
    return done.stdout


def _median_row(repetitions: list[Row]) -> Row:
    """Return the median of every number; medians of parts need not add up to that of the total."""
    first = repetitions[0]
    numbers = {key: median(row[key] for row in repetitions) for key in NUMBERS}
    return {"tool": first["tool"], "T": first["T"], **numbers}


def _compare_objectives(rows: list[Row]) -> None:
    """End the program when the tools did not solve the same problem."""
    reference = rows[0]
    for row in rows[1:]:
        difference = abs(row["objective"] - reference["objective"])
        if not difference <= AGREEMENT * max(1.0, abs(reference["objective"])):
            raise SystemExit(
                f"at T = {row['T']} {reference['tool']} finds {reference['objective']!r}, "
                f"{row['tool']} {row['objective']!r}"
            )


def _machine() -> dict[str, Any]:
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def _versions() -> dict[str, str]:
    return {name: version(name) for name in LIBRARIES}


def _print_table(rows: list[Row], repeat: int) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"Battery LP, medians of {repeat}; in brackets over the floor")
    for name in (
        "T",
        "tool",
        "build s",
        "solve s",
        "of it extract s",
        "check s",
        "rows s",
        "total s",
        "peak MB",
        "objective",
    ):
        table.add_column(name, justify="left" if name == "tool" else "right", no_wrap=True)
    floors = {row["T"]: row for row in rows if row["tool"] == "floor"}
    for row in rows:
        cells = [_cell(row, key, floors.get(row["T"])) for key in NUMBERS[:-1]]
        table.add_row(str(row["T"]), row["tool"], *cells, f"{row['objective']:.6f}")
    Console(width=None if sys.stdout.isatty() else 140).print(table)


def _cell(row: Row, key: str, floor: Row | None) -> str:
    text = f"{row[key]:.0f}" if key == "peak_mb" else f"{row[key]:.4f}"
    if floor is None or row is floor or not floor[key] or key == "extract_s":
        return text
    return f"{text} ({row[key] / floor[key]:.2f})"


if __name__ == "__main__":
    main()

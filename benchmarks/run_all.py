"""Every benchmark that a target stands behind, one table of ratios against their targets.

Each part is a script of this folder, run with ``--json`` in a process of its own; ratios are
between tools of one run. Results go to ``benchmarks/results/`` with versions and machine.

    python benchmarks/run_all.py            # what ``make bench`` runs
    python benchmarks/run_all.py --only resolve,mpc
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from engiagent.agents.bench import versions

HERE = Path(__file__).parent
RESULTS = HERE / "results"
OURS = "engiagent,engiagent-simplex"
FASTER_PEERS = "linopy,cvxpy,pyomo,pypsa"
PEERS = f"{FASTER_PEERS},oemof.solph"
LIBRARIES = (
    "engiagent",
    "highspy",
    "numpy",
    "scipy",
    "numba",
    "piqp",
    "pyscipopt",
    "casadi",
    "cvxpy",
    "linopy",
    "pyomo",
    "pypsa",
    "oemof.solph",
    "do-mpc",
)
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Figure:
    """A measured ratio; ``target`` is the most it may be, None where there is none."""

    part: str
    what: str
    value: float
    target: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the target is met."""
        if self.target is None:
            return ""
        return "met" if self.value <= self.target else "NOT met"


@dataclass(frozen=True)
class Part:
    """A script with its arguments, and what is read off its rows."""

    name: str
    command: tuple[str, ...]
    figures: Callable[[Rows], Iterator[Figure]]


def battery(rows: Rows) -> Iterator[Figure]:
    """Total, build, check and memory of the battery LP over the floor."""
    for periods in sorted({row["T"] for row in rows}):
        tools = {row["tool"]: row for row in rows if row["T"] == periods}
        floor = tools["floor"]
        for name, row in tools.items():
            if name == "floor":
                continue
            ours = name.startswith("engiagent")
            part = f"battery LP, T = {periods}"
            total = row["total_s"] / floor["total_s"]
            yield Figure(part, f"{name}: total over floor", total, 1.05 if ours else None)
            if not ours:
                continue
            yield Figure(part, f"{name}: build over floor", row["build_s"] / floor["build_s"], 1.5)
            for what, key in (
                ("rows, bounds and objective checked", "rows_s"),
                ("whole check with its certificate", "check_s"),
            ):
                share = row[key] / floor["solve_s"]
                yield Figure(part, f"{name}: {what} over floor's solve", share, 0.003)
            yield Figure(
                part, f"{name}: memory over floor", row["peak_mb"] / floor["peak_mb"], 1.15
            )


def chain(rows: Rows) -> Iterator[Figure]:
    """Exact method for storage chains over the floor."""
    for row in rows:
        if row["method"] == "floor":
            continue
        longest = row["T"] >= 131_400
        target = (0.01 if row["method"] == "numba" else 0.1) if longest else None
        what = f"{row['problem']}, {row['method']}: solve over floor"
        yield Figure(f"storage chain, T = {row['T']}", what, row["of_floor"], target)


def exclusivity(rows: Rows) -> Iterator[Figure]:
    """Few binaries over all binaries."""
    targets = {"few, exact": 0.4, "few, gap 1e-3": 0.1}
    for row in rows:
        if row["method"] == "all binaries":
            continue
        what = f"{row['method']} over all binaries (gap {row['largest_gap']:.1e})"
        limit = targets[row["method"]]
        yield Figure(f"exclusivity, T = {row['T']}", what, row["of_all_binaries"], limit)


def commitment(rows: Rows) -> Iterator[Figure]:
    """Ours over the better of both solvers by hand, the median over the seeds."""
    for hours in sorted({row["hours"] for row in rows}):
        ratios = []
        for seed in sorted({row["seed"] for row in rows if row["hours"] == hours}):
            same = [r for r in rows if r["hours"] == hours and r["seed"] == seed]
            hand = min(r["seconds"] for r in same if r["tool"].startswith("by hand"))
            ratios.append(next(r["seconds"] for r in same if r["tool"] == "engiagent") / hand)
        part = f"unit commitment, {hours} h"
        yield Figure(part, "engiagent over the better by hand", median(ratios), 1.1)


def control(rows: Rows) -> Iterator[Figure]:
    """Median step over the floor and over do-mpc, and the slowest of a hundred."""
    for case in sorted({row["case"] for row in rows}):
        tools = {row["tool"]: row for row in rows if row["case"] == case}
        ours = next(row for name, row in tools.items() if name.startswith("engiagent"))
        part = f"thermal MPC, {case}"
        yield Figure(
            part, "median step over floor", ours["over_floor"], 1.15 if case == "QP" else 1.2
        )
        yield Figure(part, "p99 over median", ours["p99_ms"] / ours["p50_ms"])
        if "do-mpc" in tools:
            ratio = ours["p50_ms"] / tools["do-mpc"]["p50_ms"]
            yield Figure(part, "median step over do-mpc", ratio, 1 / 9)


def resolves(rows: Rows) -> Iterator[Figure]:
    """Compare re-solves through update with bare highspy."""
    ours = next(row for row in rows if row["tool"] == "engiagent")
    yield Figure("1 000 re-solves of 24 h", "total over bare highspy", ours["over_floor"], 1.3)


def growth(rows: Rows) -> Iterator[Figure]:
    """Tell what compiling a tiny model costs, and how time and memory grow with T."""
    from scaling import TINY, exponent

    tiny = next(row for row in rows if row["T"] == TINY)
    yield Figure(f"compile, T = {TINY}", "fixed cost [ms]", 1e3 * tiny["compile_s"], 2.0)
    part = "scaling to 1 000 000 steps"
    for key, what in (("compile_s", "compile time"), ("memory_mb", "memory")):
        yield Figure(part, f"exponent of {what}", exponent(rows, key), 1.1)
    yield Figure(part, "exponent of matrices by hand", exponent(rows, "by_hand_s"))
    longest = max(rows, key=lambda row: row["T"])
    ratio = longest["compile_s"] / longest["by_hand_s"]
    yield Figure(part, "compile at 1 000 000 steps over matrices by hand", ratio, 1.5)


def startup(rows: Rows) -> Iterator[Figure]:
    """How long the command takes to say what it can do, and how that compares with Python alone."""
    for row in rows:
        if row["command"].endswith("--help"):
            yield Figure("start-up", f"{row['command']} [s]", row["seconds"], 0.3)
            yield Figure("start-up", f"{row['command']} over bare Python", row["of_bare"])


def year(rows: Rows) -> Iterator[Figure]:
    """Tell how long a simulated year of ten zones takes on one core."""
    for row in rows:
        part = f"ten zones, {row['steps']} steps"
        yield Figure(part, "a year [s]", row["run_s"], 20.0)
        yield Figure(part, "energy imbalance", row["energy_imbalance"], 1e-6)


def proof(rows: Rows) -> Iterator[Figure]:
    """Cost and discomfort of MPC on a richer house over those of thermostats and do-mpc."""
    for tariff in dict.fromkeys(row["tariff"] for row in rows):
        part = f"closed loop, {tariff}"
        tools = {row["tool"]: row for row in rows if row["tariff"] == tariff}
        ours = tools.pop("MPC")
        for name, row in tools.items():
            most = {"thermostat, wide": 0.88, "do-mpc": 1.01}.get(name)
            yield Figure(part, f"cost over {name}", ours["cost_eur"] / row["cost_eur"], most)
            felt, theirs = (r["too_cold_kh"] + r["too_warm_kh"] for r in (ours, row))
            most = 1.0 if name.startswith("thermostat") else None
            yield Figure(part, f"discomfort over {name}", felt / theirs, most)
        if "do-mpc" in tools:
            for key, what in (("step_ms", "median"), ("mean_ms", "mean")):
                yield Figure(part, f"{what} step over do-mpc", ours[key] / tools["do-mpc"][key])


PARTS = (
    Part("startup", ("startup.py",), startup),
    Part("resolve", ("resolve.py", "--repeat", "5"), resolves),
    Part("mpc", ("mpc.py",), control),
    Part("commitment", ("unit_commitment.py", "--repeat", "3"), commitment),
    Part("exclusivity", ("exclusivity.py", "--seeds", "3"), exclusivity),
    Part(
        "chain",
        ("storage_chain.py", "--T", "8760", "131400", "--problems", "trader", "--repeat", "5"),
        chain,
    ),
    Part(
        "chain-meter",
        ("storage_chain.py", "--T", "8760", "--problems", "meter", "--repeat", "5"),
        chain,
    ),
    Part(
        "battery",
        ("battery_lp.py", "--T", "8760", "--repeat", "5", "--tools", f"floor,{OURS},{PEERS}"),
        battery,
    ),
    Part(
        "battery-large",
        ("battery_lp.py", "--T", "35040", "131400", "--repeat", "5", "--tools", f"floor,{OURS}"),
        battery,
    ),
    Part(  # once only, for five times would take half an hour
        "battery-peers",
        ("battery_lp.py", "--T", "35040", "--repeat", "1", "--tools", f"floor,{PEERS}"),
        battery,
    ),
    Part(
        "battery-peers-large",
        ("battery_lp.py", "--T", "131400", "--repeat", "1", "--tools", f"floor,{FASTER_PEERS}"),
        battery,
    ),
    Part("environment", ("environment.py",), year),
    Part("closed-loop", ("closed_loop.py",), proof),
    Part("scaling", ("scaling.py", "--plot", str(RESULTS / "scaling.svg")), growth),
)


def run(part: Part) -> dict[str, Any]:
    """Run one part; return its JSON object, or what went wrong, and how long it took."""
    begun = time.perf_counter()
    command = [sys.executable, str(HERE / part.command[0]), *part.command[1:], "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    taken = time.perf_counter() - begun
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return {"failed": lines[-1] if lines else "no message", "seconds": taken}
    return {**json.loads(done.stdout.strip().splitlines()[-1]), "seconds": taken}


def machine() -> dict[str, Any]:
    """Return what the figures were measured on."""
    return {
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
    }


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as a Markdown table."""
    lines = ["| benchmark | ratio | measured | at most | |", "|---|---|---:|---:|---|"]
    for figure in figures:
        target = "" if figure.target is None else f"{figure.target:.3g}"
        lines.append(
            f"| {figure.part} | {figure.what} | {figure.value:.3g} | {target} | {figure.verdict} |"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the parts, print the table and keep it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", help="names of parts, a comma between them")
    options = parser.parse_args(arguments)
    chosen = [p for p in PARTS if options.only is None or p.name in options.only.split(",")]
    RESULTS.mkdir(exist_ok=True)
    about = {"machine": machine(), "versions": versions(LIBRARIES)}
    results, figures, failures = {}, [], []
    for part in chosen:
        print(f"{part.name} …", file=sys.stderr, flush=True)
        results[part.name] = run(part)
        if "failed" in results[part.name]:
            failures.append(f"{part.name} failed: {results[part.name]['failed']}")
        else:
            figures += list(part.figures(results[part.name]["rows"]))
    text = table(figures) + "".join(f"\n\n{failure}" for failure in failures) + "\n"
    stored = {**about, "figures": [f.__dict__ for f in figures], "parts": results}
    (RESULTS / "latest.json").write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "latest.md").write_text(_page(about, text), encoding="utf-8")
    print(text)
    if failures:
        raise SystemExit(1)


def _page(about: dict[str, Any], text: str) -> str:
    on = about["machine"]
    listed = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    return (
        f"# Benchmark results\n\n{on['system']}, {on['cores']} cores, Python {on['python']}, "
        f"load {on['load']:.2f} at the start; {listed}.\n\n{text}"
    )


if __name__ == "__main__":
    main()

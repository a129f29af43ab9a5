"""``engiagent trace``: what a run did, turn by turn, and why."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from engiagent.cli import exit_codes, options
from engiagent.cli.output import clean, print_json
from engiagent.run.folder import read_record, read_trace

_MOST_FAULTS: Final = 3
"""Findings of a turn that are shown; all of them with ``--json``."""

Line = Mapping[str, Any]

_OF_A_QUESTION: Final[Mapping[str, Callable[[Line], str]]] = {
    "message": lambda line: f"{line['agent']} asked for {line['kind']}{_spent(line)}",
    "goal": lambda line: f"goal {line['id']} of {line['agent']}: {line['task']}",
    "plan": lambda line: f"plan: {', '.join(step['tool'] for step in line['steps'])}",
    "clarified": lambda line: f"the user on {line['id']}: {line['value']}",
    "hire": lambda line: f"hired {line['id']} for {', '.join(line['tools'])}",
    "insert": lambda line: f"{line['tool']} inserted before {line['before']}",
    "replan": lambda line: f"planned anew from {line['from']}: {line['why']}",
    "call": lambda line: f"{line['id']} {line['agent']} {line['tool']} {line['status']}",
}
"""What the trace of a question shows of its events."""


@click.command(epilog=exit_codes.table())
@click.argument("run", type=click.Path(path_type=Path))
@options.as_json
def trace(run: Path, as_json: bool) -> int:
    """Show the turns of RUN, the folder of a run: who was sent to do what, why, how it went."""
    record, lines = read_record(run), read_trace(run)
    if as_json:
        print_json(told(run, record, lines))
    else:
        for line in timeline(record, lines):
            click.echo(clean(line))
    return int(exit_codes.ExitCode.FEASIBLE)


def told(run: Path, record: Line, lines: Sequence[Line]) -> dict[str, Any]:
    """Return the trace as one JSON object."""
    routes = [line for line in lines if line.get("event") == "route"]
    events = [line for line in lines if line.get("event") in _OF_A_QUESTION]
    return {
        "schema": "engiagent-trace/1",
        "run": str(run),
        **{name: record.get(name) for name in ("problem", "state", "verdict", "reason")},
        "engine": (record.get("asked") or {}).get("engine"),
        "resumed": list(record.get("resumed") or ()),
        "records": routes,
        "stages": [line for line in lines if line.get("event") == "end"],
        "notes": [line.get("text") for line in lines if line.get("event") == "note"],
        "usage": _total(routes),
        **({"events": events} if events else {}),
    }


def timeline(record: Line, lines: Sequence[Line]) -> Iterator[str]:
    """Yield the trace line by line, for people."""
    asked = record.get("asked") or {}
    who = f", read by {asked['engine']}" if asked.get("engine") else ""
    yield f"{record.get('problem')}{who}"
    routes = [line for line in lines if line.get("event") == "route"]
    for line in lines:
        if line.get("event") == "resumed":
            yield f"  {_clock(line)}  resumed"
        elif line.get("event") == "note":
            yield f"  {_clock(line)}  note: {line.get('text')}"
        elif line.get("event") == "route":
            yield from _turn(line)
        elif line.get("event") in _OF_A_QUESTION:
            yield f"  {_clock(line)}  {_OF_A_QUESTION[line['event']](line)}"
    if "question" in asked:
        yield f"  {record.get('state')}, {record.get('verdict') or record.get('reason')}"
        return
    if not routes:
        yield "  no turns"
    yield from _end(record, routes)


def _turn(line: Line) -> Iterator[str]:
    outcome = line.get("outcome") or {}
    took = f"{outcome.get('seconds', 0):.2f} s{_spent(outcome.get('usage') or {})}"
    yield (
        f"  {_clock(line)}  {line.get('step'):>2} {line.get('target'):<9} "
        f"{outcome.get('status')}: {outcome.get('summary')}  ({took})"
    )
    judged = line.get("evaluation")
    if judged is not None:
        yield f"{' ' * 16}{judged['decision']}{', a gain' if judged.get('gained') else ''}"
    trigger = line.get("trigger")
    if trigger is not None:
        yield f"{' ' * 16}because of {trigger['kind']}: {trigger['message']}"
        yield (
            f"{' ' * 16}by {line.get('decided_by')}, {line.get('priority')} priority, "
            f"success {line.get('estimated_success'):.2f}: {line.get('strategy')}"
        )
    faults = outcome.get("faults") or ()
    for fault in faults[:_MOST_FAULTS]:
        place = f" at {fault['place']}" if fault.get("place") else ""
        yield f"{' ' * 16}- {fault['kind']}{place}: {fault['message']}"
    if len(faults) > _MOST_FAULTS:
        yield f"{' ' * 16}- and {len(faults) - _MOST_FAULTS} more"


def _end(record: Line, routes: Sequence[Line]) -> Iterator[str]:
    total = _total(routes)
    reason = f": {record['reason']}" if record.get("reason") else ""
    yield f"  {record.get('state')}, {record.get('verdict') or 'no verdict'}{reason}"
    if total["calls"]:
        yield f"  {total['calls']} answers{_spent(total)}"


def _spent(usage: Mapping[str, Any]) -> str:
    """Return what answers took; nothing where nobody was asked for tokens."""
    read, written = usage.get("input_tokens") or 0, usage.get("output_tokens") or 0
    if not read + written:
        return ""
    cached = usage.get("cached_tokens") or 0
    kept = f", {cached} of them cached" if cached else ""
    cost = usage.get("cost")
    money = "no price known" if cost is None else f"{cost:.4f} USD"
    return f", {read} tokens in{kept}, {written} out, {money}"


def _total(routes: Sequence[Line]) -> dict[str, Any]:
    """Return what all turns together took; no cost where one of them has none."""
    usages = [(line.get("outcome") or {}).get("usage") or {} for line in routes]
    names = ("calls", "input_tokens", "cached_tokens", "output_tokens", "seconds")
    total: dict[str, Any] = {name: sum(u.get(name) or 0 for u in usages) for name in names}
    costs = [usage.get("cost") for usage in usages]
    total["cost"] = None if None in costs else sum(costs)
    return total


def _clock(line: Line) -> str:
    """Return the time of day at which a line was written, in UTC as it stands there."""
    return str(line.get("time", ""))[11:19]

"""``engiagent trace``: what a run did, turn by turn, and why."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from engiagent.cli import options
from engiagent.cli.output import clean, print_json
from engiagent.run.folder import read_record, read_trace

_MOST_FAULTS: Final = 3
"""Findings of a turn that are shown; all of them with ``--json``."""
_MARGIN: Final = " " * 16

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
_OF_A_RUN: Final[Mapping[str, Callable[[Line], str]]] = {
    "resumed": lambda line: "resumed",
    "note": lambda line: f"note: {line.get('text')}",
    "route": lambda line: "\n".join(_turn(line)),
}


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@options.as_json
def trace(run: Path, as_json: bool) -> None:
    """Show the turns of RUN, the folder of a run: who was sent to do what, why, how it went."""
    record, lines = read_record(run), read_trace(run)
    if as_json:
        print_json(_told(run, record, lines))
    else:
        for line in _timeline(record, lines):
            click.echo(clean(line))


def _told(run: Path, record: Line, lines: Sequence[Line]) -> dict[str, Any]:
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


def _timeline(record: Line, lines: Sequence[Line]) -> Iterator[str]:
    """Yield the trace line by line, for people; times of day are in UTC, as they stand there."""
    asked = record.get("asked") or {}
    reader = f", read by {asked['engine']}" if asked.get("engine") else ""
    yield f"{record.get('problem')}{reader}"
    shown = {**_OF_A_QUESTION, **_OF_A_RUN}
    for line in lines:
        if line.get("event") in shown:
            first, *rest = shown[line["event"]](line).splitlines()
            yield f"  {str(line.get('time', ''))[11:19]}  {first}"
            yield from rest
    if "question" in asked:
        yield f"  {record.get('state')}, {record.get('verdict') or record.get('reason')}"
        return
    routes = [line for line in lines if line.get("event") == "route"]
    if not routes:
        yield "  no turns"
    reason = f": {record['reason']}" if record.get("reason") else ""
    yield f"  {record.get('state')}, {record.get('verdict') or 'no verdict'}{reason}"
    total = _total(routes)
    if total["calls"]:
        yield f"  {total['calls']} answers{_spent(total)}"


def _turn(line: Line) -> Iterator[str]:
    outcome = line.get("outcome") or {}
    took = f"{outcome.get('seconds', 0):.2f} s{_spent(outcome.get('usage') or {})}"
    ended = f"{outcome.get('status')}: {outcome.get('summary')}  ({took})"
    yield f"{line.get('step'):>2} {line.get('target'):<9} {ended}"
    if (judged := line.get("evaluation")) is not None:
        yield f"{_MARGIN}{judged['decision']}{', a gain' if judged.get('gained') else ''}"
    if (trigger := line.get("trigger")) is not None:
        yield f"{_MARGIN}because of {trigger['kind']}: {trigger['message']}"
        yield (
            f"{_MARGIN}by {line.get('decided_by')}, {line.get('priority')} priority, "
            f"success {line.get('estimated_success'):.2f}: {line.get('strategy')}"
        )
    faults = outcome.get("faults") or ()
    for fault in faults[:_MOST_FAULTS]:
        place = f" at {fault['place']}" if fault.get("place") else ""
        yield f"{_MARGIN}- {fault['kind']}{place}: {fault['message']}"
    if len(faults) > _MOST_FAULTS:
        yield f"{_MARGIN}- and {len(faults) - _MOST_FAULTS} more"


def _spent(usage: Mapping[str, Any]) -> str:
    """Return what answers took; nothing where no model was asked."""
    read, written = usage.get("input_tokens") or 0, usage.get("output_tokens") or 0
    if not read + written:
        return ""
    cached, cost = usage.get("cached_tokens") or 0, usage.get("cost")
    stored = f", {cached} of them cached" if cached else ""
    money = "no price known" if cost is None else f"{cost:.4f} USD"
    return f", {read} tokens in{stored}, {written} out, {money}"


def _total(routes: Sequence[Line]) -> dict[str, Any]:
    """Return what all turns together took; no cost where one of them has none."""
    usages = [(line.get("outcome") or {}).get("usage") or {} for line in routes]
    names = ("calls", "input_tokens", "cached_tokens", "output_tokens", "seconds")
    total: dict[str, Any] = {name: sum(u.get(name) or 0 for u in usages) for name in names}
    costs = [usage.get("cost") for usage in usages]
    total["cost"] = None if None in costs else sum(costs)
    return total

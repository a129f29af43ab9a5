"""What a run did and when, from its trace: the stages, and the agents' turns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from engiagent.errors import EngiagentError
from engiagent.report import words
from engiagent.report.artefacts import finite, mapping
from engiagent.report.tables import Cell, DataTable, table_with_csv
from engiagent.run.folder import TRACE, TraceLine, read_trace

MAX_TURNS: Final = 200
_MOST_FAULTS: Final = 3
_OWN_STAGE: Final = "report"
"""The stage in which a run writes its page; a page does not tell of its own writing."""
_TONES: Final = {"done": ("good", "✔"), "failed": ("bad", "✘"), "refused": ("open", "?")}


@dataclass(frozen=True)
class Story:
    """A trace as tables, each None where it has nothing; ``left_out`` counts turns beyond them."""

    stages: DataTable | None = None
    turns: DataTable | None = None
    left_out: int = 0


def read_story(folder: Path) -> tuple[Story, str]:
    """Return what a run's trace tells, and one sentence on what kept it from being read."""
    if not (folder / TRACE).is_file():
        return Story(), ""
    try:
        return story(read_trace(folder)), ""
    except EngiagentError as error:
        return Story(), f"{TRACE} cannot be read: {error}"


def story(lines: Sequence[TraceLine]) -> Story:
    """Return what the lines of a trace tell."""
    routes = [line for line in lines if line.get("event") == "route"]
    turns, stages = [_turn(line) for line in routes[:MAX_TURNS]], _stages(lines)
    heads = ("Turn", "How it went", "What came of it", "Why it was sent", "Took")
    return Story(
        DataTable("Stages of the run", ("Stage", "How it went", "After", "Took"), stages)
        if stages
        else None,
        table_with_csv("The agents' turns", heads, turns, "turns.csv") if turns else None,
        len(routes) - len(turns),
    )


def _stages(lines: Sequence[TraceLine]) -> tuple[tuple[Cell, ...], ...]:
    """Return the stages in the order in which they began; one without an end is running."""
    zero = next((when for line in lines if (when := _time(line)) is not None), 0.0)
    found: dict[str, tuple[float, float | None, Cell]] = {}
    rows: list[tuple[str, float, float | None, Cell]] = []
    for line in lines:
        name, event = str(line.get("stage")), line.get("event")
        if event == "start":
            found[name] = ((_time(line) or zero) - zero, None, _outcome("running"))
        elif event == "progress" and name in found:
            found[name] = (*found[name][:2], _outcome("running", progress_text(line)))
        elif event == "end" and name in found:
            start, _, last = found.pop(name)
            ended = _outcome(str(line.get("outcome") or "done"), last.note)
            rows.append((name, start, finite(line.get("seconds")), ended))
    rows += [(name, *rest) for name, rest in found.items() if name != _OWN_STAGE]
    return tuple(
        (
            Cell(name),
            outcome,
            Cell(words.duration(start), is_number=True),
            Cell(words.duration(seconds), is_number=True),
        )
        for name, start, seconds, outcome in sorted(rows, key=lambda row: row[1])
    )


def _outcome(outcome: str, note: str = "") -> Cell:
    tone, symbol = _TONES.get(outcome, ("open", "…"))
    return Cell(outcome, tone=tone, symbol=symbol, note=note)


def progress_text(line: TraceLine) -> str:
    """Return how far the solver had come, in words."""
    parts = [f"after {words.duration(finite(line.get('elapsed')))}"]
    for name in ("nodes", "iterations"):
        if count := finite(line.get(name)):
            parts.append(f"{words.number(count)} {name}")
            break
    for name, title in (("objective", "best"), ("bound", "bound")):
        value = finite(line.get(name))
        if value is not None:
            parts.append(f"{title} {words.number(value, 7)}")
    gap = finite(line.get("gap"))
    return ", ".join([*parts, f"gap {words.percent(gap)}"] if gap is not None else parts)


def _turn(line: TraceLine) -> tuple[Cell, ...]:
    outcome, trigger = mapping(line.get("outcome")), mapping(line.get("trigger"))
    because, decision = str(line.get("reasoning") or ""), ""
    if trigger:
        because = f"{trigger.get('kind')}: {trigger.get('message')}"
        decision = (
            f"{line.get('strategy') or line.get('reasoning')} "
            f"(by {line.get('decided_by')}, {line.get('priority')} priority)"
        )
    faults = [item for item in outcome.get("faults") or () if isinstance(item, Mapping)]
    shown = [f"{item.get('kind')}: {item.get('message')}" for item in faults[:_MOST_FAULTS]]
    shown += [f"and {len(faults) - _MOST_FAULTS} more"] if len(faults) > _MOST_FAULTS else []
    took = words.duration(finite(outcome.get("seconds")))
    return (
        Cell(f"{line.get('step') or ''} {line.get('target') or '?'}".strip()),
        _outcome(str(outcome.get("status") or "?")),
        Cell(str(outcome.get("summary") or ""), note="; ".join(shown)),
        Cell(because, note=decision),
        Cell(took, note=_spent(mapping(outcome.get("usage"))), is_number=True),
    )


def _spent(usage: Mapping[str, Any]) -> str:
    read, written = (finite(usage.get(key)) or 0 for key in ("input_tokens", "output_tokens"))
    if not read + written:
        return ""
    cost = finite(usage.get("cost"))
    money = "no price known" if cost is None else f"{cost:.4f} USD"
    return f"{read:.0f} tokens in, {written:.0f} out, {money}"


def _time(line: TraceLine) -> float | None:
    try:
        return datetime.fromisoformat(str(line.get("time"))).timestamp()
    except (ValueError, OverflowError, OSError):
        return None

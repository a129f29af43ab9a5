"""What a run did and when, from its trace: the stages, the agents' turns, who came after whom."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from engiagent.errors import EngiagentError
from engiagent.report import words
from engiagent.report.artefacts import finite, mapping
from engiagent.report.charts import Bar, Lanes, route_chart
from engiagent.report.sections import Chart, drawn
from engiagent.report.tables import Cell, DataTable, table_with_csv
from engiagent.run.folder import TRACE, TraceLine, read_trace

MAX_TURNS: Final = 200
START, END, RUNNING = "start", "end", "running"
_MOST_FAULTS: Final = 3
_SLACK: Final = 0.05
"""Seconds that a stage may begin before its turn or end after it: they are written one by one."""
_TONES: Final = {
    "done": ("good", "✔"),
    "failed": ("bad", "✘"),
    "refused": ("open", "?"),
    "stopped": ("open", "…"),
    "interrupted": ("open", "…"),
    RUNNING: ("open", "…"),
}


@dataclass(frozen=True)
class Stage:
    """A stage of a run, in seconds since the trace began; ``seconds`` is None while it lasts.

    ``progress`` is the last that the solver reported.
    """

    name: str
    start: float
    seconds: float | None
    outcome: str
    progress: str = ""


@dataclass(frozen=True)
class Story:
    """A trace as a reader sees it.

    ``way`` and ``times`` are the agents' turns as a picture: what sent each of them, and when each
    agent, and each stage that was no agent's, was at work. ``left_out`` counts turns beyond those
    in the table.
    """

    stages: tuple[Stage, ...] = ()
    turns: tuple[tuple[Cell, ...], ...] = ()
    way: Lanes | None = None
    times: Lanes | None = None
    left_out: int = 0

    def stage_table(self) -> DataTable | None:
        """Return the stages of the run; None without any."""
        rows = []
        for stage in self.stages:
            rows.append(
                (
                    Cell(stage.name),
                    _outcome(stage.outcome, stage.progress),
                    Cell(words.duration(stage.start), is_number=True),
                    Cell(words.duration(stage.seconds), is_number=True),
                )
            )
        head = ("Stage", "How it went", "After", "Took")
        return DataTable("Stages of the run", head, tuple(rows)) if rows else None

    def turn_table(self) -> DataTable | None:
        """Return the agents' turns; None without any."""
        head = ("Turn", "How it went", "What came of it", "Why it was sent", "Took")
        if not self.turns:
            return None
        return table_with_csv("The agents' turns", head, self.turns, "turns.csv")

    def figures(self, before: int = 0) -> list[Chart]:
        """Return the pictures; ``before`` is how many charts the page has already."""
        charts = [("way", self.way), ("times", self.times)]
        known = [(name, chart) for name, chart in charts if chart is not None]
        return [drawn(name, before + k, chart) for k, (name, chart) in enumerate(known, start=1)]


def _outcome(outcome: str, note: str = "") -> Cell:
    tone, symbol = _TONES.get(outcome, ("open", "?"))
    return Cell(outcome, tone=tone, symbol=symbol, note=note)


def read_story(folder: Path, without: str = "") -> tuple[Story, str]:
    """Return what a run's trace tells, and one sentence on what kept it from being read.

    ``without`` is a stage to leave out while it has not ended.
    """
    if not (folder / TRACE).is_file():
        return Story(), ""
    try:
        return story(read_trace(folder), without), ""
    except EngiagentError as error:
        return Story(), f"{TRACE} cannot be read: {error}"


def story(lines: Sequence[TraceLine], without: str = "") -> Story:
    """Return what the lines of a trace tell; see :func:`read_story`."""
    every = [line for line in lines if line.get("event") == "route"]
    routes, zero = every[:MAX_TURNS], _beginning(lines)
    way = route_chart(routes, "The way through the agents")
    stages = tuple(s for s in _stages(lines, zero) if (s.name, s.outcome) != (without, RUNNING))
    spans = _spans(routes, stages, zero)
    return Story(
        stages=stages,
        times=Lanes("When each was at work", "s", spans) if len(spans) > 1 else None,
        turns=tuple(_turn(line) for line in routes),
        way=way if len(way.bars) > 1 else None,
        left_out=len(every) - len(routes),
    )


# --- reading -----------------------------------------------------------------------------------


def _stages(lines: Sequence[TraceLine], zero: float) -> list[Stage]:
    """Return the stages in the order in which they began; each lasts to its end or to none."""
    running: dict[str, Stage] = {}
    done: list[Stage] = []
    for line in lines:
        name, event = str(line.get("stage")), line.get("event")
        if event == START:
            running[name] = Stage(name, (_time(line) or zero) - zero, None, RUNNING)
        elif event == "progress" and name in running:
            running[name] = replace(running[name], progress=progress_text(line))
        elif event == END and name in running:
            seconds, outcome = finite(line.get("seconds")), str(line.get("outcome") or "done")
            done.append(replace(running.pop(name), seconds=seconds, outcome=outcome))
    return sorted([*done, *running.values()], key=lambda stage: stage.start)


def _spans(routes: Sequence[TraceLine], stages: Sequence[Stage], zero: float) -> tuple[Bar, ...]:
    """Return the time of every turn, and that of the stages outside all turns, as they began."""
    found = []
    for line in routes:
        outcome, ended = mapping(line.get("outcome")), _time(line)
        took = finite(outcome.get("seconds"))
        if ended is not None and took is not None:
            good = outcome.get("status") == "done" and not outcome.get("faults")
            start = max(ended - zero - took, 0.0)
            agent, text = str(line.get("target") or "?"), str(outcome.get("summary") or "")
            found.append(Bar(agent, start, start + took, good=good, text=text))
    turns = [(bar.start - _SLACK, (bar.stop or bar.start) + _SLACK) for bar in found]
    for stage in stages:
        end = stage.start + (stage.seconds or 0.0)
        if not any(first <= stage.start and end <= last for first, last in turns):
            stop, good = None if stage.seconds is None else end, stage.outcome == "done"
            found.append(Bar(f"({stage.name})", stage.start, stop, good=good, text=stage.outcome))
    return tuple(sorted(found, key=lambda bar: bar.start))


def _beginning(lines: Sequence[TraceLine]) -> float:
    """Return when a trace begins, in seconds since 1970; 0 where it has no time."""
    return next((when for line in lines if (when := _time(line)) is not None), 0.0)


def progress_text(line: TraceLine) -> str:
    """Return how far the solver had come, in words."""
    parts = [f"after {words.duration(finite(line.get('elapsed')))}"]
    for name in ("nodes", "iterations"):
        count = finite(line.get(name))
        if count:
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
        chance = finite(line.get("estimated_success"))
        hope = "" if chance is None else f", expected to succeed in {words.percent(chance)}"
        because = f"{trigger.get('kind')}: {trigger.get('message')}"
        decision = (
            f"{line.get('strategy') or line.get('reasoning')} "
            f"(by {line.get('decided_by')}, {line.get('priority')} priority{hope})"
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

"""What a run did and when, from its trace: the stages, the agents' turns, who came after whom."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    """A stage of a run, in seconds since the trace began.

    Attributes
    ----------
    seconds
        How long it took; None while it has not ended.
    outcome
        ``done``, ``failed``, ``interrupted`` or ``running``.
    progress
        The last that the solver said of itself.
    """

    name: str
    start: float
    seconds: float | None
    outcome: str
    progress: str = ""


@dataclass(frozen=True)
class Turn:
    """One turn: who was sent, because of what, and how it went."""

    step: str
    agent: str
    status: str
    summary: str
    because: str
    decision: str
    faults: tuple[str, ...]
    seconds: float | None
    usage: str


@dataclass(frozen=True)
class Story:
    """A trace as a reader sees it.

    Attributes
    ----------
    way, times
        The agents' turns as a picture: lanes, and what sent each of them; and when each agent, and
        each stage that was no agent's, was at work.
    left_out
        How many turns there are beyond those told.
    """

    stages: tuple[Stage, ...] = ()
    turns: tuple[Turn, ...] = ()
    way: Lanes | None = None
    times: Lanes | None = None
    left_out: int = 0


def read_story(folder: Path, without: str = "") -> tuple[Story, str]:
    """Return what a run's trace tells, and one sentence on what kept it from being read.

    Parameters
    ----------
    without
        A stage to say nothing of while it has not ended.
    """
    if not (folder / TRACE).is_file():
        return Story(), ""
    try:
        lines = read_trace(folder)
    except EngiagentError as error:
        return Story(), f"{TRACE} cannot be read: {error}"
    return story(lines, without), ""


def story(lines: Sequence[TraceLine], without: str = "") -> Story:
    """Return what the lines of a trace tell; see :func:`read_story`."""
    routes = [line for line in lines if line.get("event") == "route"]
    way = route_chart(routes[:MAX_TURNS], "The way through the agents")
    stages = tuple(s for s in _stages(lines) if (s.name, s.outcome) != (without, RUNNING))
    spans = tuple(_spans(lines, stages))
    return Story(
        stages=stages,
        times=Lanes("When each was at work", "s", spans) if len(spans) > 1 else None,
        turns=tuple(_turn(line) for line in routes[:MAX_TURNS]),
        way=way if len(way.bars) > 1 else None,
        left_out=max(len(routes) - MAX_TURNS, 0),
    )


def stage_table(found: Story) -> DataTable:
    """Return the stages of a run."""
    rows = []
    for stage in found.stages:
        tone, symbol = _TONES.get(stage.outcome, ("open", "?"))
        rows.append(
            (
                Cell(stage.name),
                Cell(stage.outcome, tone=tone, symbol=symbol, note=stage.progress),
                Cell(words.duration(stage.start), is_number=True),
                Cell(words.duration(stage.seconds), is_number=True),
            )
        )
    return DataTable("Stages of the run", ("Stage", "How it went", "After", "Took"), tuple(rows))


def turn_table(found: Story) -> DataTable:
    """Return the agents' turns."""
    rows = []
    for turn in found.turns:
        tone, symbol = _TONES.get(turn.status, ("open", "?"))
        faults = "; ".join(turn.faults)
        rows.append(
            (
                Cell(f"{turn.step} {turn.agent}".strip()),
                Cell(turn.status, tone=tone, symbol=symbol),
                Cell(turn.summary, note=faults),
                Cell(turn.because, note=turn.decision),
                Cell(words.duration(turn.seconds), note=turn.usage, is_number=True),
            )
        )
    head = ("Turn", "How it went", "What came of it", "Why it was sent", "Took")
    return table_with_csv("The agents' turns", head, rows, "turns.csv")


def figures(found: Story, before: int = 0) -> list[Chart]:
    """Return the pictures of a story; ``before`` is how many charts the page has already."""
    charts = [("way", found.way), ("times", found.times)]
    known = [(name, chart) for name, chart in charts if chart is not None]
    return [drawn(name, before + k, chart) for k, (name, chart) in enumerate(known, start=1)]


# --- reading -----------------------------------------------------------------------------------


def _stages(lines: Sequence[TraceLine]) -> Iterator[Stage]:
    """Yield the stages in the order in which they began; each lasts to its end or to none."""
    zero = _beginning(lines)
    open_stages: dict[str, tuple[float, str]] = {}
    done: list[Stage] = []
    for line in lines:
        name, event, when = str(line.get("stage")), line.get("event"), _time(line) or zero
        if event == START:
            open_stages[name] = (when - zero, "")
        elif event == "progress" and name in open_stages:
            open_stages[name] = (open_stages[name][0], progress_text(line))
        elif event == END and name in open_stages:
            begun, said = open_stages.pop(name)
            seconds, outcome = finite(line.get("seconds")), str(line.get("outcome") or "done")
            done.append(Stage(name, begun, seconds, outcome, said))
    done += [Stage(name, at, None, RUNNING, said) for name, (at, said) in open_stages.items()]
    yield from sorted(done, key=lambda stage: stage.start)


def _spans(lines: Sequence[TraceLine], stages: Sequence[Stage]) -> Iterator[Bar]:
    """Yield the time of every turn, and that of the stages outside all turns, as they began."""
    zero = _beginning(lines)
    found = []
    for line in [line for line in lines if line.get("event") == "route"][:MAX_TURNS]:
        outcome, ended = mapping(line.get("outcome")), _time(line)
        took = finite(outcome.get("seconds"))
        if ended is not None and took is not None:
            good = outcome.get("status") == "done" and not outcome.get("faults")
            text = str(outcome.get("summary") or "")
            agent = str(line.get("target") or "?")
            start = max(ended - zero - took, 0.0)
            found.append(Bar(agent, start, start + took, good=good, text=text))
    turns = [(bar.start - _SLACK, (bar.stop or bar.start) + _SLACK) for bar in found]
    for stage in stages:
        end = stage.start + (stage.seconds or 0.0)
        if not any(first <= stage.start and end <= last for first, last in turns):
            good = stage.outcome == "done"
            stop = None if stage.seconds is None else end
            found.append(Bar(f"({stage.name})", stage.start, stop, good=good, text=stage.outcome))
    yield from sorted(found, key=lambda bar: bar.start)


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


def _turn(line: TraceLine) -> Turn:
    outcome, trigger = mapping(line.get("outcome")), mapping(line.get("trigger"))
    chance = finite(line.get("estimated_success"))
    because = str(line.get("reasoning") or "")
    decision = ""
    if trigger:
        because = f"{trigger.get('kind')}: {trigger.get('message')}"
        hope = "" if chance is None else f", expected to succeed in {words.percent(chance)}"
        decision = (
            f"{line.get('strategy') or line.get('reasoning')} "
            f"(by {line.get('decided_by')}, {line.get('priority')} priority{hope})"
        )
    faults = [item for item in outcome.get("faults") or () if isinstance(item, Mapping)]
    said = [f"{item.get('kind')}: {item.get('message')}" for item in faults[:_MOST_FAULTS]]
    if len(faults) > _MOST_FAULTS:
        said.append(f"and {len(faults) - _MOST_FAULTS} more")
    return Turn(
        step=str(line.get("step") or ""),
        agent=str(line.get("target") or "?"),
        status=str(outcome.get("status") or "?"),
        summary=str(outcome.get("summary") or ""),
        because=because,
        decision=decision,
        faults=tuple(said),
        seconds=finite(outcome.get("seconds")),
        usage=_spent(mapping(outcome.get("usage"))),
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

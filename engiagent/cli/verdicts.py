"""What is told of a run: how far it is, and its verdict with what belongs to it, as lines."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from engiagent.cli.output import loudness, moving_line, number, percent, say, say_items
from engiagent.run import certify
from engiagent.run.certify import not_shown
from engiagent.run.folder import StageEvent
from engiagent.run.proofs import proof_lines
from engiagent.run.stages import progress_text
from engiagent.solvers.result import Progress
from engiagent.verify.claims import plan_line, reading_line, verdict_line
from engiagent.verify.verdicts import VERDICTS

if TYPE_CHECKING:
    from engiagent.agents.running import RunOutcome
    from engiagent.cli.results import CheckResult
    from engiagent.run.keyfigures import KeyFigures


def say_verdict(
    judged: "RunOutcome | CheckResult", title: str | None = None, *, figures: str = ""
) -> None:
    """Print a verdict and what belongs to it, under the problem's id where there is no title."""
    found, verdict = judged.certificate or {}, judged.verdict
    known = VERDICTS.get(verdict or "")
    line = verdict_line({**found, "verdict": verdict or "no verdict"})
    say(f"{title or judged.problem}: {line}", "bold" if known is None else known.colour)
    goal, bound = judged.objective or {}, judged.bound
    if goal.get("value") is not None:
        line = f"  objective  {number(goal['value'], goal.get('unit'))} ({goal.get('sense')})"
        say(line + ("" if bound is None else f", bound {number(bound, goal.get('unit'))}"))
    if figures:
        say(f"  figures    {figures}")
    stated = found.get("objective")
    if isinstance(stated, Mapping) and (over := scenario_line(stated)):
        say(f"  scenarios  {over}")
    rows = {"plan": plan_line(found), "reading": reading_line(found), "reason": judged.reason}
    for name, text in rows.items():
        if text:
            say(f"  {name:<10} {text}")
    say_items("missing", judged.missing)
    say_items("clash", found.get("contradictions") or ())
    say_items("not understood", judged.not_understood)
    say_items("violated", judged.violations)
    doubtful = verdict in ("feasible", "solved", "undecided")
    if doubtful and not judged.missing and not judged.not_understood:
        say_items("open" if verdict == "solved" else "not shown", not_shown(found))
    for name, lines in least_slack(found).items():
        say_items(name, lines)
    say_items("executed", certify.executed(found))
    say_items("proof", proof_lines(found))


def figures_line(found: "KeyFigures") -> str:
    """Return what tells most of the key figures of a plan; empty where there are none.

    A figure that several components have is left out, and so is an energy of nothing.
    """
    parts = []
    for name in ("import", "export", "peak_import", "self_sufficiency", "full_cycles"):
        figures = found.named(name)
        value = figures[0].value if len(figures) == 1 else None
        if not value:
            continue
        shown = f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
        if name.startswith("self"):
            shown = percent(value)
        unit = "" if figures[0].unit == "1" else f" {figures[0].unit}"
        parts.append(f"{name.replace('self_', 'self-').replace('_', ' ')} {shown}{unit}")
    return ", ".join(parts)


def scenario_line(objective: Mapping[str, Any]) -> str:
    """Return expected and worst value of an objective over scenarios; empty without any."""
    over = objective.get("scenarios")
    if not isinstance(over, Mapping):
        return ""
    worst, unit = over["worst"], objective.get("unit")
    last = f"worst {number(worst['value'], unit)} ({worst['scenario']})"
    if over.get("expected") is None:
        return last
    return f"expected {number(over['expected'], unit)}, {last}"


def least_slack(certificate: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the limits with the least slack as lines: those that are active, and the others."""
    lines: dict[str, list[str]] = {"active": [], "slack": []}
    for found in certify.least_slack(certificate):
        at = f" at {found.where}" if found.where else ""
        if found.at_limit:
            lines["active"].append(f"{found.title}{at and ','}{at}")
        else:
            lines["slack"].append(f"{found.title}: {number(found.slack, found.unit)}{at}")
    return lines


EVERY = 5.0
"""How often --verbose tells how far a solver has come. [s]"""


@contextmanager
def observers() -> Iterator[dict[str, Any]]:
    """Give observers of a run, by keyword: none when quiet, a moving line on a terminal."""
    if loudness() == "verbose":
        yield {"on_event": _stage_line, "on_progress": _solve_lines()}
        return
    with moving_line() as show:
        if show is None:
            yield {}
            return

        def on_event(event: StageEvent) -> None:
            if event.kind == "start":
                show(f"{event.stage} …")

        yield {"on_event": on_event, "on_progress": lambda seen: show(progress_text(seen))}


def _stage_line(event: StageEvent) -> None:
    if event.kind == "start":
        say(f"  {event.stage} …")
    elif event.kind == "end":
        ended = f", {event.text}" if event.text else ""
        say(f"  {event.stage}: {event.seconds or 0.0:.2f} s{ended}")
    else:
        say(f"  {event.stage}: {event.text}")


def _solve_lines() -> Callable[[Progress], None]:
    """Return an observer that says a line now and then."""
    last = -EVERY

    def on_progress(progress: Progress) -> None:
        nonlocal last
        if progress.elapsed - last >= EVERY:
            last = progress.elapsed
            say(f"  {progress_text(progress)}")

    return on_progress

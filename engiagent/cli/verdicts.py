"""A verdict and what belongs to it, as lines for people."""

from collections.abc import Mapping, Sequence
from typing import Any

from engiagent.cli.output import number, say, say_items
from engiagent.run import certify
from engiagent.run.certify import not_shown
from engiagent.run.proofs import proof_lines
from engiagent.verify.claims import overrides_line, plan_line, reading_line
from engiagent.verify.verdicts import VERDICTS


def say_verdict(
    title: str,
    verdict: str | None,
    *,
    reason: str | None = None,
    objective: Mapping[str, Any] | None = None,
    bound: float | None = None,
    missing: Sequence[Any] = (),
    not_understood: Sequence[Any] = (),
    violations: Sequence[Any] = (),
    certificate: Mapping[str, Any] | None = None,
) -> None:
    """Print a verdict and what belongs to it."""
    found = certificate or {}
    known = VERDICTS.get(verdict or "")
    changed = overrides_line(found)
    line = f"{title}: {verdict or 'no verdict'}{f' {changed}' if changed else ''}"
    say(line, "bold" if known is None else known.colour)
    goal = objective or {}
    if goal.get("value") is not None:
        line = f"  objective  {number(goal['value'], goal.get('unit'))} ({goal.get('sense')})"
        say(line + ("" if bound is None else f", bound {number(bound, goal.get('unit'))}"))
    stated = found.get("objective")
    if isinstance(stated, Mapping) and (over := scenario_line(stated)):
        say(f"  scenarios  {over}")
    for name, text in (("plan", plan_line(found)), ("reading", reading_line(found))):
        if text:
            say(f"  {name:<10} {text}")
    if reason:
        say(f"  reason     {reason}")
    say_items("missing", missing)
    say_items("clash", found.get("contradictions") or ())
    say_items("not understood", not_understood)
    say_items("violated", violations)
    if verdict in ("feasible", "solved", "undecided") and not missing and not not_understood:
        say_items("open" if verdict == "solved" else "not shown", not_shown(found))
    say_items("tightest", tightest(found))
    say_items("executed", certify.executed(found))
    say_items("proof", proof_lines(found))


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


def tightest(certificate: Mapping[str, Any]) -> list[str]:
    """Return the limits that hold with the least room, as lines."""
    return [
        f"{tight.title}: "
        f"{'at its limit' if tight.at_limit else f'{number(tight.slack, tight.unit)} to spare'}"
        f"{f' at {tight.where}' if tight.where else ''}"
        for tight in certify.tightest(certificate)
    ]

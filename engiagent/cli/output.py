"""What the commands print: one JSON object for programs, a few lines for people."""

import json
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import click

if TYPE_CHECKING:
    from rich.console import Console

WORST = 10
LOUDNESS = "engiagent.loudness"
"""Where a command's context keeps how much is to be said, and whether an option said so."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Judged(Protocol):
    """What every command knows of a verdict, whatever it looked at."""

    @property
    def problem(self) -> str | None:
        """The problem's id."""

    @property
    def verdict(self) -> str | None:
        """The certificate's."""

    @property
    def reason(self) -> str | None:
        """What led to it."""

    @property
    def objective(self) -> Mapping[str, Any] | None:
        """Value, unit and sense."""

    @property
    def bound(self) -> float | None:
        """Of the objective, in its unit."""

    @property
    def missing(self) -> Sequence[Any]:
        """What the problem does not give."""

    @property
    def not_understood(self) -> Sequence[Any]:
        """Sentences that nothing could judge."""

    @property
    def violations(self) -> Sequence[Any]:
        """Broken requirements."""

    @property
    def certificate(self) -> Mapping[str, Any] | None:
        """The whole certificate as JSON."""


def summary(
    found: Judged | None = None,
    *,
    run: str | None = None,
    error: str | None = None,
    cases: Sequence[Any] = (),
    schema: str = "engiagent-outcome/1",
    further: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the object that ``--json`` prints; ``error`` is there only when something failed."""
    goal = (found.objective if found is not None else None) or {}
    claims = (found.certificate if found is not None else None) or {}
    result: dict[str, Any] = {
        "schema": schema,
        "problem": found and found.problem,
        "verdict": found and found.verdict,
        "plan": claims.get("plan"),
        "reading": claims.get("reading"),
        "overrides": list(claims.get("overrides") or ()),
        "objective": {key: goal.get(key) for key in ("value", "unit", "sense")},
        "bound": found and found.bound,
        "missing": list(found.missing) if found is not None else [],
        "contradictions": list(claims.get("contradictions") or ()),
        "not_understood": list(found.not_understood) if found is not None else [],
        "violations": list(found.violations) if found is not None else [],
        "run": run,
        **(further or {}),
    }
    if cases:
        result["cases"] = list(cases)
    return result if error is None else {**result, "error": error}


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object to standard output; a number that is not finite becomes null."""
    text = json.dumps(_plain(value), allow_nan=False, indent=2)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int):
        return value
    return str(value)


def clean(text: object) -> str:
    """Return a text without control characters, which a file could use to fool a terminal."""
    return _CONTROL.sub("\ufffd", str(text))


def loudness() -> str:
    """Return how much is said: ``quiet``, ``normal`` or ``verbose``."""
    context = click.get_current_context(silent=True)
    if context is None:
        return "normal"
    word, _ = context.meta.get(LOUDNESS, ("normal", False))
    return str(word)


def say_error(text: str) -> None:
    """Print what went wrong to standard error, however quiet things are to be."""
    say(text, "bold red", always=True)


def say(text: str, style: str | None = None, *, always: bool = False) -> None:
    """Print a line for people to standard error, unless they want it quiet."""
    if loudness() == "quiet" and not always:
        return
    console().print(clean(text), style=style, markup=False, highlight=False, soft_wrap=True)


def console() -> "Console":
    """Return a console on standard error."""
    from rich.console import Console

    return Console(stderr=True)


def number(value: object, unit: object = None) -> str:
    """Return a number for people, with its unit.

    >>> number(3866.586666667, "EUR")
    '3,866.586667 EUR'
    """
    if not isinstance(value, int | float) or not math.isfinite(value):
        return "unknown"
    text = f"{value:,.10g}"
    return f"{text} {unit}" if unit not in (None, "", "1") else text


def say_items(title: str, items: Iterable[Any]) -> None:
    """Print the worst few of a list."""
    lines = [item_text(item) for item in items]
    for line in lines[:WORST]:
        say(f"  {title + ':':<15} {line}")
    if len(lines) > WORST:
        say(f"  {title + ':':<15} … and {len(lines) - WORST} more")


def item_text(item: Any) -> str:
    """Return one entry of a certificate's list as a line."""
    if not isinstance(item, Mapping):
        return " ".join(str(item).split())
    message = next((item[key] for key in ("message", "name") if item.get(key)), None)
    if message is None:
        return json.dumps(_plain(item))
    text = " ".join(str(message).split())
    check = str(item.get("check") or "")
    text = text if text.startswith(check) else f"{check}: {text}"
    where = item.get("where")
    labels = [str(value) for value in where.values()] if isinstance(where, Mapping) else []
    absent = [label for label in labels if label not in text]
    return f"{text} ({', '.join(absent)})" if absent else text

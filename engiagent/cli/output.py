"""What the commands print: one JSON object for programs, a few lines for people."""

import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engiagent.errors import InputError
from engiagent.io.files import write_atomic

if TYPE_CHECKING:
    from engiagent.agents.running import RunOutcome
    from engiagent.cli.results import CheckResult

WORST = 10
_WIDTH = 79
LOUDNESS = "engiagent.loudness"
"""Where a command's context says how much is printed."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def summary(
    found: "RunOutcome | CheckResult | None" = None,
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


def written(text: str, file: Path | None) -> None:
    """Write a result into a file, or to standard output without one."""
    if file is None:
        click.echo(text, nl=False)
        return
    write_atomic(file, text)
    say(f"written to {file}")


def clean(text: object) -> str:
    """Return a text without control characters, which a file could use to fool a terminal."""
    return _CONTROL.sub("\ufffd", str(text))


def loudness() -> str:
    """Return how much is said: ``quiet``, ``normal`` or ``verbose``."""
    context = click.get_current_context(silent=True)
    return "normal" if context is None else str(context.meta.get(LOUDNESS, "normal"))


def say_error(text: str) -> None:
    """Print what went wrong to standard error, however quiet things are to be."""
    say(text, "bold red", always=True)


def say(text: str, style: str | None = None, *, always: bool = False) -> None:
    """Print a line for people to standard error, unless they want it quiet.

    ``style`` is a colour, ``bold`` or both; it shows on a terminal that has colours.
    """
    if loudness() == "quiet" and not always:
        return
    words = (style or "").split()
    colour = next((word for word in words if word != "bold"), None)
    plain = False if os.environ.get("NO_COLOR") else None
    click.secho(clean(text), err=True, color=plain, fg=colour, bold="bold" in words or None)


@contextmanager
def moving_line() -> Iterator[Callable[[str], None] | None]:
    """Give a function that replaces a line on the terminal; None without one, or when quiet."""
    if not sys.stderr.isatty() or loudness() == "quiet":
        yield None
        return

    def show(text: str) -> None:
        click.echo(f"\r{clean(text)[:_WIDTH]:<{_WIDTH}}", err=True, nl=False)

    try:
        yield show
    finally:
        show("")
        click.echo("\r", err=True, nl=False)


def percent(share: float) -> str:
    """Return a share as people read it, as ``5.27 %``."""
    return f"{100 * share:.3g} %"


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
    """Print the worst few of a list, each once."""
    lines = list(dict.fromkeys(map(item_text, items)))
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
    where = item.get("where")
    labels = [str(value) for value in where.values()] if isinstance(where, Mapping) else []
    absent = [label for label in labels if label not in text]
    return f"{text} ({', '.join(absent)})" if absent else text


def refuse_used(folder: Path, force: bool) -> None:
    """Raise an error where a folder to write into holds something and must not be replaced."""
    if folder.exists() and any(folder.iterdir()) and not force:
        raise InputError("the folder is not empty", str(folder), expected="--force, or another")

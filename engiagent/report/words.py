"""Verdicts and sources in words; numbers and units as the charts write them."""

import math
from collections.abc import Mapping
from typing import Any

from engiagent.report.charts.numerals import number, quantity, unit
from engiagent.verify.verdicts import VERDICTS, Verdict

__all__ = ["Verdict", "number", "quantity", "sense", "source", "unit", "verdict"]

_SHOWN = 4
_STATES = {
    "interrupted": "The run was interrupted before it came to a verdict.",
    "failed": "The run failed before it came to a verdict.",
    "running": "The run has not ended yet, or its process ended without a word.",
    "stopped": "The process of the run ended without a word.",
    "unreadable": "The record of the run cannot be read.",
}


def verdict(name: Any, state: Any) -> Verdict:
    """Return the verdict of a certificate, or of a run that never came to one."""
    if isinstance(name, str) and name in VERDICTS:
        return VERDICTS[name]
    meaning = _STATES.get(state, "The folder holds no certificate, so nothing was checked.")
    return Verdict("", "No verdict", 0, "…", "open", "", "", meaning)


def sense(name: Any) -> str:
    """Return what was done to an objective; nothing where it is not known."""
    return {"minimize": "minimised", "maximize": "maximised"}.get(str(name), "")


def spoken(name: str) -> str:
    """Return the name of a quantity as people say it.

    >>> spoken("heat_pump.electric_power"), spoken("x[Bruno, a_b]")
    ('heat pump: electric power', 'x, Bruno, a_b')
    """
    head, bracket, rest = name.partition("[")
    plain = head.replace("_", " ").replace(".", ": ")
    return f"{plain}, {rest.removesuffix(']')}" if bracket else plain


def state(name: str, stage: str | None) -> str:
    """Return what a run without a verdict is doing, or how it ended.

    >>> state("running", "solve"), state("stopped", None)
    ('running: solve', 'stopped')
    """
    return f"{name}: {stage}" if stage and name in ("running", "stopped") else name


def percent(share: float | None) -> str:
    """Return a share in per cent; nothing where it is not known.

    >>> percent(0.0123), percent(3e-12), percent(None)
    ('1.23\u202f%', '0\u202f%', '')
    """
    if share is None:
        return ""
    value = 100 * share
    return f"{'0' if abs(value) < 1e-7 else number(value, 3)}\u202f%"


def duration(seconds: float | None) -> str:
    """Return a length of time for people; nothing where it is not known.

    >>> duration(2.42), duration(75.0), duration(7322.0)
    ('2.4 s', '1 min 15 s', '2 h 2 min')
    """
    if seconds is None or not math.isfinite(seconds):
        return ""
    if seconds < 0.1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def source(reference: Any, depth: int = 0) -> str:
    """Say in words where a number comes from.

    >>> source({"kind": "file", "file": "prices.csv", "column": "price"})
    'column price of prices.csv'
    """
    if reference is None:
        return "not stated"
    if isinstance(reference, str):
        return f"{reference} (untraced)"
    if isinstance(reference, list | tuple) and depth <= 5:
        shown = "; ".join(source(part, depth + 1) for part in reference[:_SHOWN])
        rest = len(reference) - _SHOWN
        return f"{shown}; and {rest} more" if rest > 0 else shown or "not stated"
    if not isinstance(reference, Mapping) or depth > 5:
        return "not readable"
    kind = str(reference.get("kind"))
    if kind in ("conversion", "derived"):
        parts = reference.get("of")
        several = parts if isinstance(parts, list | tuple) else [parts]
        verb = "converted from" if kind == "conversion" else "derived from"
        text = f"{verb} {'; '.join(source(part, depth + 1) for part in several)}"
        return f"{text} ({reference['note']})" if reference.get("note") else text
    # Positions count from 0 in a blueprint and from 1 among people.
    place = [
        f"{part} {value + 1 if isinstance(value, int) else value}"
        for part in ("table", "row", "column")
        if (value := reference.get(part)) is not None
    ]
    return {
        "text": f"text: {_quote(reference)}",
        "table": f"{', '.join(place)}: {_quote(reference)}",
        "file": f"column {reference.get('column', '?')} of {reference.get('file', '?')}",
        "assumption": f"assumption: {reference.get('reason', '')}",
        "user": f"given by the user: {reference.get('note', '')}",
    }.get(kind, "not readable")


def _quote(reference: Mapping[str, Any]) -> str:
    span, quote = reference.get("span"), f"“{reference.get('quote', '')}”"
    if isinstance(span, list | tuple) and len(span) == 2:
        return f"{quote} (characters {span[0]}–{span[1]})"
    return quote

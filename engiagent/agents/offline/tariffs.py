"""Prices and other values by the time of the day as parameters over the periods."""

import numpy as np

from engiagent.agents.offline.builder import Builder, note_repeat
from engiagent.agents.offline.draft import Priced, source_span
from engiagent.agents.offline.tokens import Period


def scheduled(
    builder: Builder, name: str, entries: list[Priced], unit: str, said: str, default: str | None
) -> str | None:
    """Return a parameter for values that depend on the time of the day.

    ``default`` is the expression for times that no entry covers; without one, periods that
    nothing covers, or that two entries cover, are reported and None is returned.
    """
    entries = _distinct(builder, entries)
    rest = [e for e in entries if e.period is None or e.period.rest]
    timed = [e for e in entries if e.period is not None and not e.period.rest]
    if len(rest) > 1:
        builder.draft.clash(
            rest[-1].line,
            "two-values",
            ("site", name),
            f"two values for {said} at the same times",
            tuple(source_span(e.value.source) or e.span for e in rest),
        )
        return None
    if not timed and (not rest or rest[0].period is None or default is None):
        return builder.value(name, rest[0].value, said) if rest else None
    if not _covered(builder, timed, bool(rest) or default is not None, said):
        return None
    names = {id(e): builder.value(f"{name}_{k}", e.value, said) for k, e in enumerate(entries, 1)}
    last = names[id(rest[0])] if rest else default
    if not rest and last is None:
        *timed, final = timed
        last = names[id(final)]
    text = str(last)
    for entry in reversed(timed):
        assert entry.period is not None
        text = f"{names[id(entry)]} if {condition(entry.period, 't')} else {_bracketed(text)}"
    made = builder.derived(
        name, text, unit, said, [names[id(e)] for e in entries], series=True,
        note="by the time of day at the start of the period",
        more=tuple(
            builder.draft.quoted(span) for e in entries if e.period for span in e.period.spans
        ),
        spoken=builder.draft.spoken_clock(
            tuple(span for e in entries if e.period for span in e.period.spans)
        ),
    )  # fmt: skip
    builder.numbers[made] = _numbers(builder, entries, names, default)
    return made


def _bracketed(text: str) -> str:
    return f"({text})" if " if " in text else text


def _distinct(builder: Builder, entries: list[Priced]) -> list[Priced]:
    """Leave out entries that say again what another one says."""
    kept: list[Priced] = []
    for entry in entries:
        same = [
            k for k in kept
            if k.period == entry.period
            and k.value.number is not None and k.value.number == entry.value.number
            and k.value.unit == entry.value.unit
        ]  # fmt: skip
        if same:
            note_repeat(builder, entry.value)
        else:
            kept.append(entry)
    return kept


def condition(period: Period, index: str, inclusive: bool = False) -> str:
    """Return when a period of the day holds, as a condition on the clock time of ``index``."""
    if period.shown and index == "t":
        return f"({period.shown})" if " or " in period.shown else period.shown
    upper = "<=" if inclusive else "<"
    parts = []
    for a, b in period.ranges:
        low = f"{a:g}[h] <= clock({index})" if a > 0 else ""
        high = f"clock({index}) {upper} {b:g}[h]" if b < 24 else ""
        part = " and ".join(p for p in (low, high) if p) or f"clock({index}) >= 0[h]"
        parts.append(f"({part})" if len(period.ranges) > 1 else part)
        if inclusive and b == 24 and a > 0:
            parts.append(f"(clock({index}) <= 0[h] and pos({index}) > 0)")
    return " or ".join(parts) if len(parts) < 2 else f"({' or '.join(parts)})"


def holds(period: Period, clock: float) -> bool:
    """Whether a period of the day that starts at ``clock`` lies in a period."""
    return any(a - 1e-9 <= clock < b - 1e-9 for a, b in period.ranges)


def aligned(builder: Builder, period: Period) -> bool:
    """Whether the limits of a period fall on limits of the time steps."""
    step, start = builder.axis.step_minutes / 60, builder.axis.start_clock
    return all(
        abs((edge - start) / step - round((edge - start) / step)) < 1e-6
        for pair in period.ranges
        for edge in pair
    )


def _covered(builder: Builder, timed: list[Priced], has_rest: bool, said: str) -> bool:
    clocks = builder.axis.clocks()
    for entry in timed:
        assert entry.period is not None
        if not aligned(builder, entry.period):
            builder.draft.doubt(
                max(entry.line, 0), f"{said} changes within a time step, not at its edge"
            )
            return False
    counts = [sum(holds(e.period, c) for e in timed if e.period) for c in clocks]
    if max(counts, default=0) > 1:
        builder.draft.doubt(max(timed[0].line, 0), f"two values for {said} at the same time of day")
        return False
    if min(counts, default=0) == 0 and not has_rest:
        builder.draft.doubt(max(timed[0].line, 0), f"{said} is not given for every time of the day")
        return False
    return True


def _numbers(
    builder: Builder, entries: list[Priced], names: dict[int, str], default: str | None
) -> np.ndarray:
    result = []
    rest = next((e for e in entries if e.period is None or e.period.rest), None)
    for clock in builder.axis.clocks():
        chosen = next(
            (e for e in entries if e.period and not e.period.rest and holds(e.period, clock)), rest
        )
        if chosen is not None:
            result.append(float(builder.numbers[names[id(chosen)]]))
        else:
            result.append(0.0 if default is not None else float("nan"))
    return np.array(result)

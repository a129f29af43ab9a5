"""The ablation as JSON and as a table, with Wilson's intervals at 95 %."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from engiagent.agents.bench.faults.ablation import MODES, Result
from engiagent.agents.bench.faults.analyst import (
    CURES,
    DIAGNOSIS_RIGHT,
    JUDGE_SEES,
    REPAIR_MALFORMED,
    REQUIREMENT_DROPPED,
)
from engiagent.agents.bench.faults.injections import CLASSES, HOPELESS
from engiagent.agents.memory import wilson

LABEL: Final = "scripted faults and a scripted analyst; not a language model's figures"


def report(results: Sequence[Result], seed: str) -> dict[str, Any]:
    """Return the ablation as JSON has it.

    A rate is over the injected faults that somebody is competent to mend. ``recovered`` counts runs
    whose last result is right by the expert's annotations, ``certified`` those that could also
    show it themselves. ``false_certificates`` counts over all runs of all modes.
    """
    modes = [mode for mode in MODES if any(r.mode == mode for r in results)]
    per_mode = {mode: _summary([r for r in results if r.mode == mode]) for mode in modes}
    return {
        "label": LABEL,
        "seed": seed,
        "runs": sum(r.mode == modes[0] for r in results) if modes else 0,
        "problems": sorted({r.case.problem for r in results}),
        **per_mode,
        "false_certificates": sum(r.false for r in results),
        "classes": {c: _class(results, c, modes) for c in CLASSES},
        "competence": competence(),
    }


def competence() -> dict[str, Any]:
    """Return what the scripted analyst is declared to be able to do."""
    return {
        "mends": {cure: {agent: vars(c) for agent, c in by.items()} for cure, by in CURES.items()},
        "repair_malformed": REPAIR_MALFORMED,
        "requirement_dropped": REQUIREMENT_DROPPED,
        "judge_sees": JUDGE_SEES,
        "diagnosis_right": DIAGNOSIS_RIGHT,
        "hopeless": HOPELESS,
    }


def _summary(rows: Sequence[Result]) -> dict[str, Any]:
    mendable = [r for r in rows if r.case.recoverable]
    return {
        "runs": len(rows),
        "recoverable": len(mendable),
        **_share("recovered", mendable, lambda r: r.right),
        **_share("certified", mendable, lambda r: r.certified),
        "false_certificates": sum(r.false for r in rows),
        "turns": round(sum(r.turns for r in rows) / max(1, len(rows)), 2),
        "tokens": round(sum(r.tokens for r in rows) / max(1, len(rows))),
    }


def _share(name: str, rows: Sequence[Result], good: Callable[[Result], bool]) -> dict[str, Any]:
    count = sum(map(good, rows))
    low, high = wilson(count, len(rows))
    return {
        name: count,
        f"{name}_rate": round(count / len(rows), 4) if rows else None,
        f"{name}_interval": [round(low, 4), round(high, 4)],
    }


def _class(results: Sequence[Result], name: str, modes: Sequence[str]) -> dict[str, Any]:
    mine = [r for r in results if r.case.fault_class == name and r.case.recoverable]
    return {
        mode: {
            "runs": sum(r.mode == mode for r in mine),
            **_share("recovered", [r for r in mine if r.mode == mode], lambda r: r.right),
        }
        for mode in modes
    }


def table(found: dict[str, Any]) -> list[str]:
    """Return the report as lines of Markdown."""
    modes = [mode for mode in MODES if mode in found]
    lines = [
        f"{found['label']}; seed {found['seed']}, {len(found['problems'])} problems",
        "",
        "| mode | runs | recovered | 95 % interval | certified | false certificates | turns |",
        "|---|---:|---:|---|---:|---:|---:|",
    ]
    for mode in modes:
        m = found[mode]
        lines.append(
            f"| {mode} | {m['runs']} | {_percent(m['recovered_rate'])} "
            f"| {_interval(m['recovered_interval'])} | {_percent(m['certified_rate'])} "
            f"| {m['false_certificates']} | {m['turns']} |"
        )
    lines += [
        "",
        f"| fault class (recovered of recoverable) | {' | '.join(modes)} |",
        f"|---|{'---:|' * len(modes)}",
    ]
    for name, by_mode in found["classes"].items():
        cells = [f"{by_mode[m]['recovered']} of {by_mode[m]['runs']}" for m in modes]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _interval(ends: Sequence[float]) -> str:
    return f"{100 * ends[0]:.1f} to {100 * ends[1]:.1f} %"

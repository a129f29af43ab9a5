"""The offline engine behind the protocol: it reads problems by rules, and judges nothing."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

from engiagent.agents.protocol import Answer, Fault, Question, Usage
from engiagent.jsontext import loads_strict
from engiagent.readings import Reading


@dataclass(frozen=True)
class OfflineEngine:
    """Deterministic; the same text gives the same answer, so that it is never asked twice."""

    name: str = "offline"
    judges: bool = False

    def ask(self, question: Question) -> Answer:
        """Return what the rules read; every other question is refused."""
        if question.kind != "analyse":
            said = f"the offline engine has no answer to '{question.kind}'"
            return Answer(None, Usage(), Fault("engine-refused", said))
        begun = perf_counter()
        value = reading(question)
        return Answer(value, Usage(calls=1, seconds=perf_counter() - begun))


def reading(question: Question) -> dict[str, Any]:
    """Return the offline engine's analysis of a problem, with the audit of its text."""
    from engiagent.agents.offline import understand
    from engiagent.audit import quick_audit
    from engiagent.readings.stored import reread

    board = question.board
    assert board.problem is not None
    stored = None if board.overrides else reread(board.problem)
    if stored is not None:
        return _answer(stored)
    found = understand(board.problem, dict(board.overrides))
    analysis, audit = found.analysis, quick_audit(board.problem, found)
    unclear = [{"quote": e.text, "why": e.reason} for e in analysis.not_understood]
    unclear += [{"quote": e.text, "why": e.message} for e in analysis.ambiguous]
    missing = [
        {
            "component": item.component if "." not in item.slot else item.slot.split(".")[0],
            "quantity": item.slot.split(".")[-1],
            "why": item.message,
        }
        for item in analysis.missing
    ]
    clashes = [
        {"quotes": [p.quote for p in f.places if p.quote], "why": f.explanation}
        for f in audit.of("contradictory")
    ]
    slips = [f"{f.severity}: {f.explanation}" for f in audit.of("suspicious")]
    blueprint = analysis.blueprint
    if missing:
        said = "missing"
    elif clashes:
        said = "contradictory"
    else:
        said = "undecided" if unclear or blueprint is None else "complete"
    if said == "undecided" and not unclear:
        unclear = [{"quote": board.problem.title, "why": "no blueprint could be written"}]
    return {
        "sufficiency": said,
        "missing": missing,
        "contradictions": clashes,
        "not_understood": unclear,
        "blueprint": None if blueprint is None else loads_strict(blueprint.to_json()),
        "notes": list(dict.fromkeys([*slips, *analysis.assumptions, *analysis.notes])),
    }


def _answer(found: Reading) -> dict[str, Any]:
    """Return a reading in the form of an analysis."""
    unclear = [{"quote": q, "why": gap.reason} for gap in found.not_understood
               for q in gap.quotes[:1] or (gap.reason,)]  # fmt: skip
    missing = [
        {
            "component": m.component,
            "quantity": m.quantity,
            "why": f"{m.reason} Give it with --set "
            f"{'.'.join(filter(None, (m.component, m.quantity)))}=VALUE",
        }
        for m in found.missing
    ]
    clashes = [{"quotes": list(gap.quotes), "why": gap.reason} for gap in found.contradictions]
    said = "missing" if missing else "contradictory" if clashes else "complete"
    return {
        "sufficiency": "undecided" if unclear else said,
        "missing": missing,
        "contradictions": clashes,
        "not_understood": unclear,
        "blueprint": None if found.blueprint is None else loads_strict(found.blueprint.to_json()),
        "notes": list(found.notes),
    }

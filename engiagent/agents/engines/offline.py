"""The offline engine behind the protocol: it reads problems by rules, and judges nothing."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

from engiagent.agents.protocol import Answer, Fault, Question, Usage
from engiagent.jsontext import loads_strict


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
    from engiagent.plant import read_plant  # here, for it brings all models of components

    board = question.board
    assert board.problem is not None
    stated = read_plant(board.problem, dict(board.overrides))
    if stated is not None and stated.blueprint is not None:
        return {
            "sufficiency": "complete",
            "missing": [],
            "contradictions": [],
            "not_understood": [],
            "blueprint": loads_strict(stated.blueprint.to_json()),
            "notes": list(stated.notes),
        }
    from engiagent.agents.offline import understand
    from engiagent.audit import quick_audit

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

"""The analyzer: from the text to a blueprint, or to why there cannot be one."""

from dataclasses import dataclass
from typing import Any, Final

from engiagent.agents.faults import of_error, standing
from engiagent.agents.modeler import repaired, unmended
from engiagent.agents.protocol import (
    AgentName,
    Board,
    Engine,
    Fault,
    Outcome,
    Question,
    ask,
    unanswered,
)
from engiagent.blueprint import Blueprint
from engiagent.blueprint.diagnostics import BlueprintError
from engiagent.errors import EngiagentError
from engiagent.io.jsontext import dumps_canonical

_FINAL: Final = ("missing", "contradictory", "undecided", "inexpressible")


@dataclass(frozen=True)
class Analyzer:
    """Reads the problem and says what is asked, from which data."""

    engine: Engine
    name: AgentName = "analyzer"

    def run(self, board: Board) -> Outcome:
        """Return a blueprint, or what the text lacks."""
        faults = standing(board.instruction.faults)
        patchable = all(f.judged or f.kind.startswith("data-") for f in faults)
        if faults and board.blueprint is not None and patchable:
            return repaired(self.engine, board, self.name)
        values = {"instruction": board.instruction, "blueprint": board.blueprint}
        question = Question("analyzer", "analyse", board, values)
        answer = ask(self.engine, question)
        if answer.value is None:
            return unanswered(self.name, answer)
        changes, faults = _read(answer.value, board)
        changes["by_model"] = self.engine.judges
        faults = faults or unmended(changes.get("blueprint"), board)
        summary = faults[0].message if faults else f"the text is {changes['sufficiency']}"
        return Outcome(self.name, summary, changes, faults, answer.usage)


def _read(value: Any, board: Board) -> tuple[dict[str, Any], tuple[Fault, ...]]:
    """Return what an answer says as changes of the board, and what is wrong with it."""
    whys = {f"{m['component']}.{m['quantity']}".lstrip("."): m["why"] for m in value["missing"]}
    missing = tuple(whys)
    unclear = [f"{e['quote']} ({e['why']})" for e in value["not_understood"]]
    clashes = [f"{' / '.join(e['quotes'])} ({e['why']})" for e in value["contradictions"]]
    said = value["sufficiency"]
    changes: dict[str, Any] = {
        "sufficiency": said,
        "missing": missing,
        "contradictions": tuple(clashes),
        "not_understood": tuple(unclear),
        "lacking": _lacking(value),
        "notes": tuple(value["notes"]),
        "why_missing": whys,
    }
    assert board.problem is not None
    text = " ".join(board.problem.text.split())
    quotes = [e["quote"] for e in value["not_understood"]]
    quotes += [quote for e in value["contradictions"] for quote in e["quotes"]]
    absent = [quote for quote in quotes if " ".join(quote.split()) not in text]
    found = tuple(Fault("misread", f"the text does not say {quote!r}") for quote in absent)
    if value["blueprint"] is not None:
        changes["draft"] = value["blueprint"]
        try:
            changes["blueprint"] = Blueprint.from_json(dumps_canonical(value["blueprint"]))
            changes["draft"] = None
        except BlueprintError as error:
            return changes, (*found, *of_error(error))
        except EngiagentError as error:
            return changes, (*found, Fault("blueprint-invalid", str(error)))
    elif said == "complete":
        return changes, (*found, Fault("reply-malformed", "complete, but without a blueprint"))
    if said in _FINAL and not (missing or clashes or unclear):
        found = (*found, Fault("reply-malformed", f"{said}, but nothing is named", "$"))
    if said == "inexpressible":
        # What cannot be said is no gap in what was understood.
        changes |= {"not_understood": (), "contradictions": (), "blueprint": None, "draft": None}
        found = (*found, *(Fault("inexpressible", text) for text in (*unclear, *clashes)))
    return changes, found


def _lacking(value: Any) -> str:
    """Return in one line what stands in the way of a plan."""
    whys = [entry["why"] for entry in (*value["contradictions"], *value["missing"])]
    if whys:
        return f"{value['sufficiency']}: {'; '.join(dict.fromkeys(whys))}"
    unclear = len(value["not_understood"])
    return f"{unclear} sentence(s) not understood" if unclear else ""

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
        if faults and board.blueprint is not None and all(map(_patchable, faults)):
            return self._patched(board)
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

    def _patched(self, board: Board) -> Outcome:
        found = repaired(self.engine, board, self.name)
        if isinstance(found, Outcome):
            return found
        summary = "the blueprint is patched" if found.text else "nothing is to change"
        changes = {"blueprint": found.blueprint, **found.changes}
        return Outcome(self.name, summary, changes, usage=found.usage, repair=found.text)


def _patchable(fault: Fault) -> bool:
    return fault.judged or fault.kind.startswith("data-")


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
    faults = [_absent(quote, board) for quote in _quotes(value)]
    found = tuple(fault for fault in faults if fault is not None)
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


def _quotes(value: Any) -> list[str]:
    """Return the words that an answer claims to be the text's."""
    return [
        *(e["quote"] for e in value["not_understood"]),
        *(q for e in value["contradictions"] for q in e["quotes"]),
    ]


def _absent(quote: str, board: Board) -> Fault | None:
    """Return a fault for words that do not stand in the text, white space apart."""
    assert board.problem is not None
    if " ".join(quote.split()) in " ".join(board.problem.text.split()):
        return None
    return Fault("misread", f"the text does not say {quote!r}")

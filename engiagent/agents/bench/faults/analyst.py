"""The scripted model: an analyst who spoils the expert's blueprint and mends it as competent."""

import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from engiagent.agents.bench.faults.elements import Json
from engiagent.agents.bench.faults.injections import Case, Injection
from engiagent.agents.protocol import Answer, Fault, Question, Usage
from engiagent.agents.second import in_order
from engiagent.blueprint import Blueprint
from engiagent.formulations.expansion import expand
from engiagent.io.jsontext import loads_strict

CHARACTERS_A_TOKEN: Final = 4


@dataclass(frozen=True)
class Chances:
    """How likely an agent who is asked mends a fault.

    Attributes
    ----------
    told
        When a finding names the element, or quotes the text on which it rests.
    hinted
        When there is a finding, but of something else.
    """

    told: float = 0.0
    hinted: float = 0.0


CURES: Final[Mapping[str, Mapping[str, Chances]]] = {
    # A slip of the pen: whoever is shown it sees it.
    "slip": {"modeler": Chances(0.85, 0.35), "analyzer": Chances(0.6, 0.3)},
    # Who misread the text repeats it while modelling: only reading again mends it.
    "misreading": {"analyzer": Chances(0.8, 0.35)},
    # A mistake of modelling comes back in every fresh draft: only a directed repair mends it.
    "craft": {"modeler": Chances(0.75, 0.3)},
    # Seen only after somebody has compared with the text: findings of the verifier.
    "review": {"modeler": Chances(0.8, 0.0), "analyzer": Chances(0.3, 0.0)},
    # The modeler makes the same wrong repair for ever.
    "stuck": {"analyzer": Chances(0.75, 0.4)},
    "hopeless": {},
}
"""The declared competence: who mends which fault, and how likely in one turn."""
REPAIR_MALFORMED: Final = 0.08
REQUIREMENT_DROPPED: Final = 0.15
JUDGE_SEES: Final = 0.7
DIAGNOSIS_RIGHT: Final = 0.6
_VERIFIERS: Final = ("misread", "requirement-violated", "data-ignored")
_SAME: Final = {"op": "test", "path": "/schema", "value": "engiagent-blueprint/1"}
CORE: Final = "/core_model_elements"


@dataclass
class ScriptedAnalyst:
    """An engine with a declared, seeded competence; it is no language model.

    Attributes
    ----------
    document
        The expert's, which the analyst spoils and leaves things out of.
    seed
        The same seed draws the same luck under every policy.
    """

    document: Json
    case: Case
    seed: str
    name: str = "scripted"
    judges: bool = True
    asked: Counter[str] = field(default_factory=Counter)
    draft: Json | None = None
    drawn: Counter[str] = field(default_factory=Counter)

    def ask(self, question: Question) -> Answer:
        """Answer as declared; the first replies fail where the case says so."""
        number = sum(self.asked.values())
        self.asked[question.kind] += 1
        replies = self.case.replies
        if number < len(replies):
            return _failed_reply(replies[number])
        answer = {
            "analyse": self._analysed,
            "repair": self._repaired,
            "second": self._second,
            "differ": self._differ,
            "diagnose": self._diagnosed,
        }.get(question.kind)
        if answer is None:
            said = f"nothing is scripted for '{question.kind}'"
            return Answer(None, Usage(calls=1), Fault("engine-refused", said))
        value = answer(question)
        return Answer(value, _usage(question, value))

    def _chance(self, about: str) -> float:
        """Return the next draw about something, the same in every mode that asks as often."""
        self.drawn[about] += 1
        return random.Random(f"{self.seed}|{about}|{self.drawn[about]}").random()

    def _there(self, question: Question) -> Json:
        """Return the blueprint on the board; before there is one, the last draft."""
        blueprint = question.board.blueprint
        if question.board.draft is not None:
            return dict(question.board.draft)
        if blueprint is None:
            return self.draft or self.case.spoilt(self.document)
        found = loads_strict(blueprint.to_json())
        assert isinstance(found, dict)
        return found

    def _mends(self, agent: str, injection: Injection, faults: Iterable[Fault]) -> bool:
        """Draw whether an agent mends a fault after these findings."""
        findings = [f for f in faults if _relevant(f, injection)]
        told = any(_tells(fault, injection) for fault in findings)
        chances = CURES[injection.cure].get(agent, Chances())
        if injection.cure == "review" and not any(f.kind in _VERIFIERS for f in findings):
            return False
        likely = chances.told if told else chances.hinted if findings else 0.0
        return self._chance(f"{agent}|{injection.place.pointer}") < likely

    # --- answers ---------------------------------------------------------------------------------

    def _analysed(self, question: Question) -> Json:
        document = self._there(question)
        for injection in self.case.injections:
            if injection.present(document) and self._mends(
                "analyzer", injection, question.board.instruction.faults
            ):
                document = injection.mended(document)
        self.draft = document
        return {
            "sufficiency": "complete",
            "missing": [],
            "contradictions": [],
            "not_understood": [],
            "blueprint": document,
            "notes": ["scripted"],
        }

    def _repaired(self, question: Question) -> Json:
        document = self._there(question)
        patch: list[Json] = []
        if question.agent == "verifier":
            core = expand(Blueprint.from_dict(self.document)).to_dict()["core_model_elements"]
            return {
                "why": "scripted",
                "patch": [{**_SAME, "op": "replace", "path": CORE, "value": core}],
            }
        if self._chance("malformed") < REPAIR_MALFORMED:
            patch = [{"op": "replace", "path": "/core_model_elements/constrains/0", "value": 0}]
            return {"why": "scripted: a path that is not there", "patch": patch}
        for injection in self.case.injections:
            if not injection.present(document):
                continue
            if self._mends(question.agent, injection, question.board.instruction.faults):
                patch += injection.patch(document)
                document = injection.mended(document)
        if not patch and any(i.present(document) for i in self.case.injections):
            patch = [_SAME]  # who does not see what is wrong gives back what is there
        return {"why": "scripted", "patch": patch}

    def _second(self, question: Question) -> Json:
        """Read the text a second time: the expert's blueprint, from which sentences may be lost."""
        document: Json = dict(loads_strict(expand(Blueprint.from_dict(self.document)).to_json()))
        core = document["core_model_elements"]
        core["components"] = []
        left_out = {words for i in self.case.injections if self.case.hidden for words in _names(i)}
        core["constraints"] = [
            entry
            for entry in core["constraints"]
            if entry.get("category") == "Physical Laws"
            or (
                self._chance(f"requirement|{entry['constraint_id']}") >= REQUIREMENT_DROPPED
                and entry["constraint_id"] not in left_out
            )
        ]
        alarm = [self._alarm(question)] if self.case.false_alarm else []
        return {"blueprint": document, "objections": alarm, "why": "scripted"}

    def _alarm(self, question: Question) -> Json:
        """Accuse a right blueprint with words that do stand in the text."""
        assert question.board.problem is not None
        words = question.board.problem.text.split("\n# ")[-1].split()
        return {"quote": " ".join(words[:8]), "why": "this seems too strict"}

    def _differ(self, question: Question) -> Json:
        """Say which reading is the text's: the one that nothing is wrong with, where it is seen."""
        document = self._there(question)
        wrong = any(i.present(document) for i in self.case.injections)
        found = []
        for number, item in enumerate(question.values["differences"], 1):
            right = "one" if in_order(item) != wrong else "two"
            said = right if self._chance("judge") < JUDGE_SEES else "both"
            words = next((q for i in self.case.injections for q in i.quotes()), "")
            found.append({"number": number, "right": said, "quote": words, "why": "scripted"})
        return {"differences": found}

    def _diagnosed(self, question: Question) -> Json:
        document = self._there(question)
        able = [
            max(CURES[i.cure], key=lambda a: CURES[i.cure][a].told)
            for i in self.case.injections
            if i.present(document) and CURES[i.cure]
        ]
        right = bool(able) and self._chance("diagnosis") < DIAGNOSIS_RIGHT
        agent = able[0] if right else "modeler"
        return {
            "agent": agent,
            "strategy": "compare with the text again",
            "priority": "high",
            "estimated_success": 0.4,
            "reasoning": "scripted",
        }


def _failed_reply(how: str) -> Answer:
    usage = Usage(calls=1)
    if how == "malformed":
        return Answer({"blueprint": "see above"}, usage)
    if how == "truncated":
        return Answer(None, usage, Fault("reply-truncated", "the answer ends before its end"))
    return Answer(None, usage, Fault("engine-refused", "the model would not answer"))


def _usage(question: Question, value: Any) -> Usage:
    """Estimate what a model would have been billed: the text and the blueprint, and the answer."""
    board = question.board
    read = 0 if board.problem is None else len(board.problem.text)
    read += 0 if board.blueprint is None else len(board.blueprint.to_json())
    wrote = len(json.dumps(value))
    return Usage(
        calls=1, input_tokens=read // CHARACTERS_A_TOKEN, output_tokens=wrote // CHARACTERS_A_TOKEN
    )


def _relevant(fault: Fault, injection: Injection) -> bool:
    return not fault.kind.startswith(("reply-", "engine-"))


def _tells(fault: Fault, injection: Injection) -> bool:
    """Whether a finding names the element, or quotes words that it rests on."""
    said = " ".join(f"{fault.place} {fault.message} {fault.suggestion}".split())
    quoted = (" ".join(quote.split()) for quote in injection.quotes())
    if injection.place.pointer in said or any(quote in said for quote in quoted):
        return True
    return any(re.search(rf"(?<![\w.]){re.escape(w)}(?![\w.])", said) for w in injection.words())


def _names(injection: Injection) -> set[str]:
    return {*injection.quotes(), *injection.words()}

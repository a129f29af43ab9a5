"""How a run is held against the expert's answer of a problem."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from engiagent.errors import InputError
from engiagent.run.inputs import against_answer
from engiagent.run.outcome import RunOutcome

EXPERT: Final = "expert"
ANSWER: Final = "answer.json"
UNDECIDED: Final = "undecided"
ILL_POSED: Final = "ill-posed"
Judgement = Literal["right", "wrong", "undecided"]


def read_answer(answer: Path) -> Mapping[str, Any]:
    """Return an expert's answer; one that is none is an :class:`InputError`."""
    try:
        found = json.loads(answer.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"this is no JSON: {error}", str(answer)) from error
    if not isinstance(found, dict) or "verdict" not in found:
        raise InputError("an answer needs a verdict", str(answer))
    return found


def judge(
    verdict: str | None,
    objective: Mapping[str, Any],
    missing: Sequence[str],
    answer: Mapping[str, Any],
    contradictions: Sequence[str] = (),
) -> tuple[Judgement, str]:
    """Hold a verdict and an objective against an answer.

    An ``ill-posed`` answer is met by naming whatever data the expert found missing. The answer has
    them by the expert's own names, and under ``missing_as`` as quantities of units, which is how
    who only has the text may call them. Without the expert's annotations a plan is ``solved`` at
    best; it is right with the expert's objective. A proof that the best plan known to the expert is
    the best there is contradicts nobody. Statements that clash are proven to by a blueprint that no
    plan keeps, or named by a reader who quotes both.
    """
    expected = str(answer["verdict"])
    refused = verdict in (None, UNDECIDED, ILL_POSED)
    clash = answer.get("contradiction") or ()
    if verdict == ILL_POSED and clash and contradictions:
        unquoted = [q for q in clash if not any(_overlap(q, text) for text in contradictions)]
        if unquoted:
            return "undecided", f"does not quote the contradiction: {' / '.join(unquoted)}"
        return "right", ""
    if refused and (verdict is None or expected != ILL_POSED):
        return "undecided", f"the answer says {expected}"
    if refused:
        names = answer.get("missing_as") or {}
        unnamed = {
            str(item)
            for item in answer.get("missing") or ()
            if not any(_names(n, m) for n in (str(item), *names.get(item, ())) for m in missing)
        }
        if unnamed:
            return "undecided", f"does not name what is missing: {', '.join(sorted(unnamed))}"
        return "right", ""
    if (verdict, expected) == ("certified", "feasible") or (
        verdict == "solved" and expected in ("certified", "feasible")
    ):
        answer = {**answer, "verdict": verdict}
    differences = list(against_answer(verdict, objective, missing, answer))
    return ("wrong", "; ".join(differences)) if differences else ("right", "")


def _names(name: str, words: str) -> bool:
    """Whether a reader's words for what is missing hold all words of a name, as ``fuel.price``."""
    found = set(re.findall(r"[a-z0-9]+", words.lower()))
    return set(re.findall(r"[a-z0-9]+", name.lower())) <= found


def _overlap(quote: str, text: str) -> bool:
    """Whether a text has the longest run of words of a quote that makes out half of it."""
    words = quote.split()
    half = (len(words) + 1) // 2
    plain = " ".join(text.split())
    runs = (" ".join(words[k : k + half]) for k in range(len(words) - half + 1))
    return any(run in plain for run in runs)


def why(outcome: RunOutcome) -> str:
    """Return in one line what kept a run from a verdict."""
    parts = [f"missing {item}" for item in outcome.missing]
    for item in outcome.not_understood:
        text = item.get("text", item) if isinstance(item, Mapping) else item
        parts.append(" ".join(str(text).split()))
    return "; ".join(parts) or str(outcome.error or outcome.reason or "")

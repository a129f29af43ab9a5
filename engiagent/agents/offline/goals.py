"""What the text wants made small or large."""

import re
from dataclasses import dataclass
from typing import Final

from engiagent.agents.offline.cards import lexicon
from engiagent.agents.offline.draft import Draft

_REACH: Final = 60
_VERB: Final = re.compile(
    r"minimi[sz]|maximi[sz]|as (?:little|low|small|few) as"
    r"|(?:least|lowest) (?:electric(?:al)? )?(?:electricity|energy|fuel)"
)
_HOW_MUCH: Final = re.compile(
    r"(?:how|as) (?:many kwh|much (?:electricity|(?:electric(?:al)? )?energy))[^<;]*"
    r" at (?:the )?least"
)
_CURRENCY_WANTED: Final = re.compile(r"\bin (?P<unit>[a-z€$£]+)\b")


@dataclass(frozen=True)
class Goal:
    """An objective, as ``cost``, ``profit``, ``energy``, ``fuel``, ``peak``, and its line."""

    target: str
    line: int


def read_goal(draft: Draft) -> Goal | None:
    """Return the objective; None when there is none or when there are several."""
    found: list[Goal] = []
    for n, line in enumerate(draft.lines):
        if line.sentence.is_heading or n in draft.table_lines:
            continue
        for target, covered in _targets(line.line):
            tokens = [k for a, b in covered for k in line.covered(a, b)]
            if target == "refused":
                draft.refuse(n, "the engine has no such objective")
                continue
            draft.take(n, tokens)
            found.append(Goal(target, n))
    kinds = {goal.target for goal in found}
    if kinds == {"cost", "profit"}:
        return found[0]
    if len(kinds) > 1:
        for goal in found:
            draft.doubt(goal.line, f"several objectives: {', '.join(sorted(kinds))}")
        return found[0]
    return found[0] if found else None


def _targets(line: str) -> list[tuple[str, list[tuple[int, int]]]]:
    """Return the objectives of a line with the pieces of it that state them."""
    words = lexicon()
    found = []
    for sense, pattern in words.objective.items():
        for match in pattern.finditer(line):
            target = _near(line, match, sense) or _taken_up(line, match, sense)
            if target is not None:
                found.append((target[0], [match.span(), target[1]]))
    return found


def _near(line: str, sense_match: re.Match[str], sense: str) -> tuple[str, tuple[int, int]] | None:
    words = lexicon()
    best: tuple[int, str, tuple[int, int]] | None = None
    for target, pattern in words.targets.items():
        for match in pattern.finditer(line):
            gap, between = _gap(line, sense_match, match)
            between = re.sub(r"<number#\d+> $", "", between)  # 'the sum of the four bills'
            if gap > _REACH or re.search(r"<|;", between):
                continue
            before = match.start() < sense_match.start()
            if before and not (
                _may_precede(sense_match[0]) or _is_said_to_be(line, match, sense_match)
            ):
                continue
            if best is None or gap < best[0]:
                best = (gap, target, match.span())
    if best is None:
        return None
    target, span = best[1:]
    for money in ("cost", "profit") if target in ("energy", "peak", "fuel") else ():
        after = words.targets[money].search(line, span[1], span[1] + 30)
        if after is not None and not re.search(r"[<,;]", line[span[1] : after.start()]):
            best = (best[0], money, after.span())
    target = best[1]
    verb = _VERB.search(sense_match[0] + line[sense_match.end() : sense_match.end() + 24])
    if (target == "cost" and sense == "minimise") or (target == "profit" and sense == "maximise"):
        return target, best[2]
    asked = target == "energy" and _HOW_MUCH.search(line) is not None
    if target in ("energy", "peak", "emissions", "fuel") and (verb is not None or asked):
        if sense == "minimise" and target != "emissions":
            return target, best[2]
        return "refused", best[2]
    return None


_PRONOUN: Final = re.compile(
    r"; (?:we |please )?(?:want|make|keep|get|let) (?:it|this|that) (?:be )?$"
)


def _taken_up(
    line: str, sense_match: re.Match[str], sense: str
) -> tuple[str, tuple[int, int]] | None:
    """Return what 'it' is in '…; we want it as high as it gets': the one target before it."""
    before = _PRONOUN.search(line[: sense_match.start()])
    if before is None:
        return None
    wanted = {"minimise": "cost", "maximise": "profit"}[sense]
    targets = lexicon().targets
    found = list(targets[wanted].finditer(line, 0, before.start()))
    other = "profit" if wanted == "cost" else "cost"
    if len(found) != 1 or targets[other].search(line, 0, before.start()):
        return None
    return wanted, found[0].span()


def _gap(line: str, a: re.Match[str], b: re.Match[str]) -> tuple[int, str]:
    if b.start() >= a.end():
        between = line[a.end() : b.start()]
    elif b.end() <= a.start():
        between = line[b.end() : a.start()]
    else:
        between = ""
    return len(between), between


def _may_precede(sense: str) -> bool:
    return sense.startswith(
        ("as ", "want", "least", "lowest", "minimal", "minimum", "most", "keep", "at the")
    )


_WHEN: Final = re.compile(r"(?<![a-z])(?:when|where|while|whenever|hours?|if|as long as)(?![a-z])")


def _is_said_to_be(line: str, target: re.Match[str], sense: re.Match[str]) -> bool:
    """Whether a line says 'so that the profit is greatest', and not 'when the cost is lowest'."""
    between = line[target.end() : sense.start()]
    clause = line[: target.start()].rpartition(",")[2]
    wanted = re.search(r"(?<![a-z])(?:so that|such that|until|to make|make)(?![a-z])", clause)
    said = re.search(r"(?<![a-z])(?:is|are|be|becomes?) (?:the )?$", between)
    return said is not None and wanted is not None and _WHEN.search(between) is None


def wanted_currency(draft: Draft, goal: Goal, known: str) -> str:
    """Return the unit in which the objective is asked for, ``known`` when none is named."""
    from engiagent.agents.offline.amounts import currency_of, kind_of
    from engiagent.agents.offline.grids import clean_unit

    for match in _CURRENCY_WANTED.finditer(draft.lines[goal.line].line):
        for text in (match["unit"].upper(), match["unit"]):
            unit = clean_unit(text, known)
            if unit and kind_of(unit) == "money" and currency_of(unit) == known:
                return unit
    return known

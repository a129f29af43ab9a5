"""An explanation as lines of text: each with its depth, for terminals, reports and notes."""

from collections.abc import Iterator
from dataclasses import dataclass

from engiagent.explain.explanation import Clash, Explanation
from engiagent.explain.labels import shown


@dataclass(frozen=True)
class Line:
    """A line of an explanation.

    ``depth``: 0 for headings, 1 for what stands under one, 2 for what belongs to that.
    """

    depth: int
    text: str

    def __str__(self) -> str:
        return f"{'  ' * (self.depth + 1)}{self.text}"


def lines_of(found: Explanation) -> Iterator[Line]:
    """Yield an explanation as lines, without its summary."""
    yield from _clash(found)
    yield from _proposals(found)
    yield from _unbounded(found)
    yield from _plan(found)
    if found.notes:
        yield Line(0, "notes")
        for note in found.notes:
            yield Line(1, note)


def _clash(found: Explanation) -> Iterator[Line]:
    for clash in found.clashes:
        yield Line(0, "requirements that cannot hold together")
        for number, member in enumerate(clash.members, 1):
            yield Line(1, f"({number}) {member.part.text}")
            for place in member.part.places:
                yield Line(2, str(place))
            if not member.soft:
                yield Line(2, f"cannot be relaxed: {member.reason}")
        proof = clash.proof
        checked = "checked" if proof.get("checked") else "not confirmed by the checker"
        least = ", and nothing in the set can be left out" if proof.get("irreducible") else ""
        times = "" if proof.get("elements_least") else "; not all elements named need be part of it"
        yield Line(1, f"= proof by {proof.get('method')}, {checked}{least}{times}")


def _proposals(found: Explanation) -> Iterator[Line]:
    if not found.proposals:
        return
    together = found.proposals[0].kind == "total"
    yield Line(0, "the least change that is enough" if together else "each of these is enough")
    for proposal in found.proposals:
        yield Line(1, f"- {proposal.text}")
        shown_by = "solved again with it: a plan exists"
        solved = shown_by if proposal.verified else "not confirmed by a solve"
        less = f"{100 * proposal.tolerance:g} % less"
        least = f"{less} is not enough" if proposal.minimal else f"not shown that {less} fails"
        yield Line(2, f"{solved}; {least}")


def _unbounded(found: Explanation) -> Iterator[Line]:
    ray = found.unbounded
    if ray is None:
        return
    verb = "falls" if ray.gain < 0 else "grows"
    checked = "evaluated here" if ray.checked else "the solver's word, not confirmed"
    yield Line(
        0,
        f"for each step along this way the objective {verb} by "
        f"{shown(abs(ray.gain), ray.unit)} ({checked})",
    )
    for growth in ray.growths:
        yield Line(1, f"- {growth.text}")


def _plan(found: Explanation) -> Iterator[Line]:
    limits = [item for item in found.tight if item.kind == "limit"]
    balances = [item for item in found.tight if item.kind == "balance"]
    for title, items in (("active limits", limits), ("balances with a shadow price", balances)):
        if items:
            yield Line(0, title)
        for item in items:
            yield Line(1, f"- {item.text}")
            for place in item.places:
                yield Line(2, str(place))


def clash_sentence(clash: Clash) -> str:
    """Return demands that clash in one sentence, with the places of the text behind them."""
    said = "; ".join(f"({k}) {m.part.text}" for k, m in enumerate(clash.members, 1))
    places = dict.fromkeys(str(place) for m in clash.members for place in m.part.places)
    count = len(clash.members)
    text = f"these {count} requirements cannot all hold: {said}"
    if count == 1:
        text = f"this cannot hold: {clash.members[0].part.text}"
    return text + (f" [{', '.join(places)}]" if places else "")

"""Demands of a text that nobody models and that only an excuse keeps from being reported.

A blueprint may list a number of the text as unused, or rest an assumption on some words. An author
who may misread, or who does what some words of the text tell it to, can so explain a demand away.
A demand whose only trace in a blueprint is such an excuse therefore stays open, unless somebody who
has not seen the blueprint read it as a requirement.
"""

from collections.abc import Iterable
from dataclasses import replace

from engiagent.blueprint import Blueprint
from engiagent.text import Problem
from engiagent.verify.levels.coverage import uncovered

Span = tuple[int, int]


def excused_demands(
    blueprint: Blueprint, problem: Problem, quotes: Iterable[str]
) -> tuple[str, ...]:
    """Return the demands of a text that are only excused.

    Parameters
    ----------
    quotes
        The words of the requirements that were read apart from the blueprint.
    """
    extended = blueprint.extended_analysis_and_robustness
    if extended is None:
        return ()
    bare = replace(blueprint, extended_analysis_and_robustness=None)
    reported = set(uncovered(problem, blueprint)[1])
    only = [words for words in uncovered(problem, bare)[1] if words not in reported]
    text = " ".join(problem.text.split())
    read = [place for quote in quotes for place in _places(quote, text)]
    return tuple(w for w in only if not _touched(_places(w, text), read))


def _places(words: str, text: str) -> list[Span]:
    """Return where words stand in a text whose white space is collapsed."""
    words = " ".join(words.split())
    places, start = [], text.find(words) if words else -1
    while start >= 0:
        places.append((start, start + len(words)))
        start = text.find(words, start + 1)
    return places


def _touched(places: list[Span], others: list[Span]) -> bool:
    return any(a < d and c < b for a, b in places for c, d in others)

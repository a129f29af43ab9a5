"""Which worked problems go into a prompt: ranked, cut off where relevance breaks, filtered.

Words of the texts, and what a blueprint that is there already is made of, are ranked by BM25; an
embedding may be added. The problem itself and near copies of it are never among them, so that what
is measured with exemplars is no recollection of an answer.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from engiagent.agents.retrieval.archive import (
    Exemplar,
    archive,
    body,
    compact,
    likeness,
    shingles,
    structure,
    words,
)
from engiagent.agents.retrieval.cutoff import cutoff
from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.text import Problem

Embed = Callable[[Sequence[str]], "np.ndarray"]
"""Returns a vector for each text, shape (texts, dimensions)."""

NEAR_COPY: Final = 0.3
"""Share of common shingles from which a problem counts as a copy of another."""
STRUCTURE_WEIGHT: Final = 0.5
"""Of structure beside words."""
ALIKE: Final = 0.25
"""Share of common structure that a candidate needs with what is expected."""
CHARACTERS_A_TOKEN: Final = 4


def exemplars(
    problem: Problem,
    root: Path,
    *,
    most_tokens: int = 3000,
    most: int = 3,
    sketch: Blueprint | None = None,
    embed: Embed | None = None,
) -> tuple[str, ...]:
    """Return exemplars of a corpus for a prompt, the most relevant first.

    ``most_tokens``: of all exemplars together, at four characters a token; one that does not fit is
    passed over. ``sketch``: a blueprint of the new problem that is there already, for its
    structure. ``embed``: embeddings of texts, whose cosine counts as much as the words do.
    """
    text = body(problem)
    known = strangers(archive(root), text)
    chosen = structurally_alike(ranked(known, text, sketch, embed), sketch)
    found: list[str] = []
    left = most_tokens * CHARACTERS_A_TOKEN
    for exemplar in chosen:
        shown = show(exemplar)
        if len(found) < most and len(shown) <= left:
            found.append(shown)
            left -= len(shown)
    return tuple(found)


def strangers(known: Sequence[Exemplar], text: str) -> tuple[Exemplar, ...]:
    """Return the exemplars that are not the problem itself, nor near copies of it."""
    own = shingles(text)
    return tuple(e for e in known if likeness(own, e.shingles) < NEAR_COPY)


def ranked(
    known: Sequence[Exemplar],
    text: str,
    sketch: Blueprint | None = None,
    embed: Embed | None = None,
) -> tuple[Exemplar, ...]:
    """Return the exemplars up to the break in their relevance, the most relevant first."""
    if not known:
        return ()
    scores = _bm25([e.words for e in known], words(text))
    if embed is not None:
        vectors = np.asarray(embed([text, *(e.text for e in known)]), dtype=np.float64)
        scores = 0.5 * (scores + np.clip(_cosines(vectors[0], vectors[1:]), 0.0, 1.0))
    if sketch is not None:
        parts = _bm25([e.structure for e in known], structure(sketch))
        scores = (scores + STRUCTURE_WEIGHT * parts) / (1.0 + STRUCTURE_WEIGHT)
    # By name where scores are equal, so that the same corpus gives the same prompt.
    order = sorted(range(len(known)), key=lambda k: (-scores[k], known[k].name))
    order = [k for k in order if scores[k] > 0.0]
    kept = cutoff([float(scores[k]) for k in order])
    return tuple(known[k] for k in order[:kept])


def structurally_alike(
    candidates: Sequence[Exemplar], sketch: Blueprint | None = None
) -> tuple[Exemplar, ...]:
    """Return the candidates that are made of what is expected.

    Expected is the sketch's structure; without a sketch that of the best candidate, since a text
    that only sounds alike comes from another kind of problem.
    """
    if not candidates:
        return ()
    expected = set(candidates[0].structure if sketch is None else structure(sketch))
    return tuple(
        e
        for e in candidates
        if len(expected & set(e.structure)) >= ALIKE * len(expected | set(e.structure))
    )


def show(exemplar: Exemplar) -> str:
    """Return an exemplar as a prompt has it: the text, and the blueprint without its comments."""
    return f"PROBLEM\n{exemplar.text}\nBLUEPRINT\n{compact(exemplar.blueprint)}"


def _bm25(corpus: Sequence[Sequence[str]], query: Sequence[str]) -> np.ndarray:
    """Return BM25 scores of documents, the largest of them 1; shape (documents,)."""
    try:
        import bm25s
    except ImportError:
        raise EngiagentError(
            "exemplars are ranked with bm25s, which is not installed: pip install 'engiagent[llm]'"
        ) from None
    vocabulary = {token for document in corpus for token in document}
    asked = sorted({token for token in query if token in vocabulary})
    if not asked:
        return np.zeros(len(corpus))
    index = bm25s.BM25()
    index.index([list(document) for document in corpus], show_progress=False)
    scores = np.asarray(index.get_scores(asked), dtype=np.float64)
    top = float(scores.max())
    return scores / top if top > 0 else scores


def _cosines(one: np.ndarray, others: np.ndarray) -> np.ndarray:
    sizes = np.linalg.norm(others, axis=1) * np.linalg.norm(one)
    cosines: np.ndarray = np.divide(others @ one, sizes, out=np.zeros(len(others)), where=sizes > 0)
    return cosines

r"""Worked problems that resemble a new one, as many as stand out, for a model's prompt.

Words of the texts are ranked by BM25. The problem itself and near copies of it are never among
them, so that what is measured with exemplars is no recollection of an answer. Where relevance
breaks off the ranking is cut: scores in falling order are fitted by two straight lines, one up to
an element and one from the next on, and the break with the smallest weighted error counts,

.. math:: \arg\min_{2 \le m \le N-2} \frac{m}{N} \Phi(1, m) + \frac{N-m}{N} \Phi(m+1, N),

where :math:`\Phi(a, b)` is the root mean square error of the least-squares line through
:math:`(n, s_n)`, :math:`n = a \dots b` (adaptive retrieval of exemplars, equations 5 and C.1 to C.4
of the PowerDAG paper). What is left is filtered by structure.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import numpy as np

from engiagent.blueprint import Blueprint
from engiagent.blueprint.grammar import Call, GrammarError, Reduce, parse, walk
from engiagent.errors import EngiagentError
from engiagent.plant.source import find_source
from engiagent.text import Problem, find_problems

BLUEPRINT: Final = Path("expert") / "blueprint.json"
SHINGLE: Final = 5
"""Words of a shingle."""
_LEFT_OUT: Final = (
    "schema",
    "param_id",
    "source_reference",
    "description",
    "extended_analysis_and_robustness",
    "unused",
)
"""Fields of a blueprint that an exemplar does without."""
_WORD: Final = re.compile(r"[a-zäöüß]+(?:-[a-z]+)*", re.IGNORECASE)
_ANY: Final = re.compile(r"\w+")


@dataclass(frozen=True)
class Exemplar:
    """A worked problem, with its words and structure for ranking; copies are known by shingles."""

    name: str
    text: str
    blueprint: Blueprint
    words: tuple[str, ...]
    structure: tuple[str, ...]
    shingles: frozenset[str]


@cache
def archive(root: Path) -> tuple[Exemplar, ...]:
    """Return every problem below a folder that has an expert's blueprint, by name.

    A problem that cannot be read is left out: an exemplar is help, and nothing hangs on it. So is
    one that a plant block states, whose blueprint shows no reading of prose.
    """
    found = []
    for place in find_problems(root):
        blueprint_file = (place if place.is_dir() else place.parent) / BLUEPRINT
        if not blueprint_file.is_file():
            continue
        try:
            problem, blueprint = Problem.load(place), Blueprint.load(blueprint_file)
            if find_source(problem) is not None:
                continue
        except EngiagentError:
            continue
        name = place.relative_to(root).as_posix() if place != root else place.name
        text, parts = body(problem), structure(blueprint)
        found.append(Exemplar(name, text, blueprint, words(text), parts, shingles(text)))
    return tuple(sorted(found, key=lambda exemplar: exemplar.name))


def body(problem: Problem) -> str:
    """Return the text without its front matter."""
    return problem.text[problem.body_start :].strip()


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text in small letters, numbers left out."""
    return tuple(word.lower() for word in _WORD.findall(text) if len(word) > 2)


def shingles(text: str) -> frozenset[str]:
    """Return all runs of :data:`SHINGLE` words; numbers count alike, whatever their value."""
    tokens = ["#" if t[0].isdigit() else t.lower() for t in _ANY.findall(text)]
    size = min(SHINGLE, max(1, len(tokens)))
    return frozenset(" ".join(tokens[k : k + size]) for k in range(len(tokens) - size + 1))


def structure(blueprint: Blueprint) -> tuple[str, ...]:
    """Return what a blueprint is made of: units, kinds of sets and variables, functions."""
    core = blueprint.core
    found = Counter(f"model:{c.model}" for c in core.components)
    found.update(f"set:{s.kind}" for s in core.sets)
    found.update(f"variable:{v.type}" for v in core.decision_variables)
    found.update(
        f"series:{v.quantity.rsplit('.', 1)[-1]}" for v in core.decision_variables if v.quantity
    )
    found.update(f"category:{c.category}" for c in core.constraints if c.category)
    for constraint in core.constraints:
        found.update(f"function:{name}" for name in _functions(constraint.expression))
    goal = core.objective_function
    if goal is not None:
        found[f"sense:{goal.sense}"] += 1
    found[f"kind:{blueprint.kind}"] += 1
    return tuple(sorted(found))


def _functions(expression: str) -> set[str]:
    try:
        nodes = tuple(walk(parse(expression)))
    except GrammarError:
        return set()
    return {node.function for node in nodes if isinstance(node, Call | Reduce)}


def compact(blueprint: Blueprint) -> str:
    """Return a blueprint as one line in the form that is asked for, without its sources."""
    document: Any = json.loads(blueprint.to_json())
    if document["kind"] == "programme":
        del document["kind"]
    core = document["core_model_elements"]
    for entry in core.get("constraints", ()):
        entry.pop("name", None)
        if entry.get("hard") is True:
            del entry["hard"]
    return json.dumps(_without(document), ensure_ascii=False, separators=(",", ":"))


def _without(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _without(v) for k, v in value.items() if k not in _LEFT_OUT}
    if isinstance(value, list):
        return [_without(item) for item in value]
    return value


NEAR_COPY: Final = 0.3
"""Share that two problems have in common of the fewer shingles, from which one is a copy."""
ALIKE: Final = 0.25
"""Share of common structure that a candidate needs with what is expected."""
CHARACTERS_A_TOKEN: Final = 4


Embed = Callable[[Sequence[str]], np.ndarray]
"""Gives a vector for each text, shape (texts, any)."""


class Known(Protocol):
    """What is ranked: its text and the words of it, and what it is made of."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def words(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def structure(self) -> tuple[str, ...]: ...  # noqa: D102


K = TypeVar("K", bound=Known)


def exemplars(
    problem: Problem, root: Path, *, most_tokens: int = 3000, most: int = 3
) -> tuple[str, ...]:
    """Return exemplars of a corpus for a prompt, the most relevant first.

    One that does not fit into ``most_tokens``, at four characters a token, is passed over.
    """
    text = body(problem)
    known = strangers(archive(root), text)
    chosen = structurally_alike(ranked(known, text))
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
    fewer = {e.name: max(1, min(len(own), len(e.shingles))) for e in known}
    return tuple(e for e in known if len(own & e.shingles) / fewer[e.name] < NEAR_COPY)


def ranked(known: Sequence[K], text: str, embed: Embed | None = None) -> tuple[K, ...]:
    """Return the exemplars up to the break in their relevance, the most relevant first.

    Relevance is BM25 over words, or the cosine between the vectors of ``embed``.
    """
    if not known:
        return ()
    if embed is None:
        scores = _bm25([e.words for e in known], words(text))
    else:
        vectors = np.asarray(embed([*(e.text for e in known), text]), dtype=np.float64)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)
        scores = vectors[:-1] @ vectors[-1]
    # By name where scores are equal, so that the same corpus gives the same prompt.
    order = sorted(range(len(known)), key=lambda k: (-scores[k], known[k].name))
    order = [k for k in order if scores[k] > 0.0]
    kept = cutoff([float(scores[k]) for k in order])
    return tuple(known[k] for k in order[:kept])


def structurally_alike(candidates: Sequence[K]) -> tuple[K, ...]:
    """Return the candidates that are made of what the best one is.

    A text that only sounds alike comes from another kind of problem.
    """
    if not candidates:
        return ()
    expected = set(candidates[0].structure)
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


LEAST: Final = 4
"""Scores that two lines with two points each need."""


def cutoff(scores: Sequence[float]) -> int:
    """Return how many of the scores, shape (N,), which fall, stand before the break.

    Equal errors keep the earlier break. Fewer than four scores have no break: all are kept.

    Examples
    --------
    >>> cutoff([1.0, 0.9, 0.8, 0.2, 0.1, 0.0])
    3
    """
    values = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(values).all() or (np.diff(values) > 0).any():
        raise ValueError("scores must be finite and must not rise; sort them first")
    count = len(values)
    if count < LEAST:
        return count
    errors = {m: weighted_error(values, m) for m in range(2, count - 1)}
    least = min(errors.values())
    scale = max(1e-12, 1e-9 * float(np.ptp(values)))
    return min(m for m, error in errors.items() if error <= least + scale)


def weighted_error(scores: Sequence[float] | np.ndarray, m: int) -> float:
    """Return the weighted error of two lines that break after the element ``m`` (from 1)."""
    values = np.asarray(scores, dtype=np.float64)
    share = m / len(values)
    return share * segment_error(values[:m]) + (1.0 - share) * segment_error(values[m:])


def segment_error(values: Sequence[float] | np.ndarray) -> float:
    """Return the root mean square error of the least-squares line through equidistant points."""
    y = np.asarray(values, dtype=np.float64)
    n = np.arange(len(y), dtype=np.float64)
    n -= n.mean()
    spread = float(n @ n)
    slope = float(n @ y) / spread if spread > 0 else 0.0
    rest = y - y.mean() - slope * n
    return float(np.sqrt(np.mean(rest**2)))

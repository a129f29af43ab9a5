"""Texts that ask for something else, and whether the offline engine notices.

Every problem of the corpus that the offline engine reads completely is altered, one change at a
time: a sentence that matters is put in, a clause is hung on a sentence, a word is exchanged
(``reading_changes.yaml``), or a sentence is left out. An alteration is sound when the blueprint
is another one or the reading is no longer complete, and a hole when the blueprint stays the same.
A hole is not always an error: an exchanged word of a passage on the weather changes nothing. Those
that a person has found to be so stand in ``reading_changes.yaml`` under ``harmless``. Nothing is
solved.

    python benchmarks/reading_changes.py --quick
    python benchmarks/reading_changes.py --json > rows.json
    python benchmarks/reading_changes.py --only battery/merchant_day --kinds sentences,clauses
"""

import argparse
import json
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from ruamel.yaml import YAML

from engiagent.agents.offline import Analysis, analyse
from engiagent.errors import EngiagentError
from engiagent.problems import Problem, corpus_root, find_problems

POOL: Final = Path(__file__).with_suffix(".yaml")
KINDS: Final = ("sentences", "clauses", "exchanges", "deletions")


@dataclass(frozen=True)
class Alteration:
    """A changed text.

    Attributes
    ----------
    kind
        One of ``KINDS``.
    change
        What was changed, in words.
    place
        The sentence or passage concerned, as it stands in the problem.
    text
        The whole text after it.
    """

    kind: str
    change: str
    place: str
    text: str


@dataclass(frozen=True)
class Outcome:
    """What became of an alteration: ``undecided``, ``changed`` or ``hole``."""

    problem: str
    kind: str
    change: str
    place: str
    outcome: str


def load_pool() -> dict[str, Any]:
    """Return the changes."""
    found: dict[str, Any] = YAML(typ="safe", pure=True).load(POOL.read_text(encoding="utf-8"))
    return found


def model_of(analysis: Analysis) -> object:
    """Return what a text can change in a blueprint, without the places that it rests on."""
    if analysis.blueprint is None:
        return None
    return _bare(analysis.blueprint.to_dict()["core_model_elements"])


def _bare(value: object) -> object:
    if isinstance(value, dict):
        return {k: _bare(v) for k, v in value.items() if k != "source_reference"}
    return [_bare(v) for v in value] if isinstance(value, list) else value


def topics_of(analysis: Analysis, text: str, pool: Mapping[str, Any]) -> list[str]:
    """Return what a problem is about: its components, and what its text has words for."""
    assert analysis.blueprint is not None
    models = {component.model for component in analysis.blueprint.core.components}
    return [
        topic for topic in pool["sentences"]
        if topic in models or re.search(pool["signs"][topic], text, re.I)
    ]  # fmt: skip


def noun_of(topic: str, text: str, pool: Mapping[str, Any]) -> str:
    """Return what a text calls a unit; the first name of the pool where it has none of them."""
    names = pool["nouns"].get(topic, [topic])
    said = [n for n in names if re.search(rf"\b{n}\b", text, re.I)]
    return str((said or names)[0])


def spans_of(problem: Problem) -> list[tuple[int, int]]:
    """Return the sentences of the running text."""
    from engiagent.agents.offline.passages import passages, sentences

    tables = tuple(table.span for table in problem.tables)
    found = sentences(problem.text, passages(problem.text, problem.body_start, tables))
    return [s.span for s in found if not s.is_heading]


def alterations(
    problem: Problem, topics: Sequence[str], pool: Mapping[str, Any], kinds: Sequence[str]
) -> Iterator[Alteration]:
    """Yield every changed text of a problem."""
    text, spans = problem.text, spans_of(problem)
    if "sentences" in kinds:
        yield from _sentences(text, spans, topics, pool)
    if "clauses" in kinds:
        for k, (a, b) in enumerate(spans):
            if text[b - 1] != ".":
                continue
            for clause in pool["clauses"][k % 3 :: 3]:
                changed = f"{text[: b - 1]}{clause}{text[b - 1 :]}"
                yield Alteration("clauses", clause, text[a:b], changed)
    if "exchanges" in kinds:
        for pattern, instead in pool["exchanges"]:
            for a, b in spans:
                for match in re.finditer(pattern, text[a:b]):
                    new = match.expand(instead)
                    changed = text[: a + match.start()] + new + text[a + match.end() :]
                    yield Alteration("exchanges", f"{match[0]} -> {new}", text[a:b], changed)
    if "deletions" in kinds:
        for a, b in spans:
            yield Alteration("deletions", "left out", text[a:b], text[:a] + text[b:])


def _sentences(
    text: str, spans: Sequence[tuple[int, int]], topics: Sequence[str], pool: Mapping[str, Any]
) -> Iterator[Alteration]:
    ends = [b for _, b in spans if text[b - 1] == "."]
    for topic in topics:
        noun = noun_of(topic, text, pool)
        about = [b for a, b in spans if b in ends and re.search(rf"(?i)\b{noun}", text[a:b])]
        for k, template in enumerate(pool["sentences"].get(topic, ())):
            sentence = template.replace("{u}", noun)
            places = about or ends
            place = places[k % len(places)]
            yield Alteration(
                "sentences", sentence, "inside", f"{text[:place]} {sentence}{text[place:]}"
            )
            yield Alteration(
                "sentences", sentence, "at the end", f"{text.rstrip()}\n\n{sentence}\n"
            )


def read(folder: Path, text: str) -> Analysis | None:
    """Return the reading of a text in the folder of its data; None where it is refused."""
    (folder / "problem.md").write_text(text, encoding="utf-8")
    try:
        return analyse(Problem.load(folder))
    except EngiagentError:
        return None


def attack(
    name: str, source: Path, pool: Mapping[str, Any], kinds: Sequence[str], every: int
) -> list[Outcome]:
    """Return the outcomes of a problem's alterations; none where it is not read completely."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "problem"
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns("expert", ".*"))
        problem = Problem.load(folder)
        plain = analyse(problem)
        if not plain.complete:
            return []
        model, found = model_of(plain), []
        for k, change in enumerate(
            alterations(problem, topics_of(plain, problem.text, pool), pool, kinds)
        ):
            if k % every:
                continue
            analysis = read(folder, change.text)
            if analysis is None or not analysis.complete:
                outcome = "undecided"
            else:
                outcome = "hole" if model_of(analysis) == model else "changed"
            found.append(Outcome(name, change.kind, change.change, change.place, outcome))
        return found


def main() -> None:
    """Attack the corpus and print the holes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="every fiftieth alteration only")
    parser.add_argument("--every", type=int, default=1, help="every n-th alteration only")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--only", default="", help="names of problems, parted by commas")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    pool, rows = load_pool(), []
    for place in find_problems(corpus_root()):
        folder = place if place.is_dir() else place.parent
        name = folder.relative_to(corpus_root()).as_posix()
        if args.only and not any(part in name for part in args.only.split(",")):
            continue
        every = 50 if args.quick else args.every
        rows += attack(name, folder, pool, args.kinds.split(","), every)
    if args.json:
        print(json.dumps([asdict(row) for row in rows]))
        return
    for row in rows:
        if row.outcome == "hole":
            print(f"{row.problem}: {row.change!r} [{row.place[:100]!r}]")
    print(dict(Counter((row.kind, row.outcome) for row in rows)))


if __name__ == "__main__":
    main()

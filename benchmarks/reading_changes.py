"""Texts that ask for something else, and whether the offline engine notices.

Every problem of the corpus that the offline engine reads completely is altered, one change at a
time: a sentence that matters is put in, a clause is hung on a sentence that matters, or a word of
one is exchanged (``reading_changes.yaml``). An alteration is sound when the blueprint is another
one or the reading is no longer complete, and a hole when the blueprint stays the same. A hole is
not always an error: some changes say what the problem says already. Nothing is solved.

    python benchmarks/reading_changes.py --quick
    python benchmarks/reading_changes.py --json > rows.json
    python benchmarks/reading_changes.py --every 20 --store
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
from engiagent.bench.machine import machine, versions
from engiagent.errors import EngiagentError
from engiagent.problems import Problem, corpus_root, find_problems

POOL: Final = Path(__file__).with_suffix(".yaml")
KINDS: Final = ("sentences", "clauses", "exchanges")
RESULT: Final = POOL.parent / "results" / "reading_changes.json"


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
    problem: Problem,
    bearing: Sequence[tuple[int, int]],
    topics: Sequence[str],
    pool: Mapping[str, Any],
    kinds: Sequence[str],
) -> Iterator[Alteration]:
    """Yield every changed text of a problem; ``bearing`` are its sentences that matter."""
    text, spans = problem.text, bearing
    if "sentences" in kinds:
        yield from _sentences(text, spans_of(problem), topics, pool)
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
        model, text = model_of(plain), problem.text
        bearing = [
            (a, b)
            for a, b in spans_of(problem)
            if outcome_of(read(folder, text[:a] + text[b:]), model) != "hole"
        ]
        topics, found = topics_of(plain, text, pool), []
        for k, change in enumerate(alterations(problem, bearing, topics, pool, kinds)):
            if k % every == 0:
                outcome = outcome_of(read(folder, change.text), model)
                found.append(Outcome(name, change.kind, change.change, change.place, outcome))
        return found


def outcome_of(analysis: Analysis | None, model: object) -> str:
    """Return what became of an alteration of a problem with this model."""
    if analysis is None or not analysis.complete:
        return "undecided"
    return "hole" if model_of(analysis) == model else "changed"


def summary(rows: Sequence[Outcome], every: int) -> dict[str, Any]:
    """Return the figures of an attack, with machine and versions."""
    kinds = {kind: dict(Counter(row.outcome for row in rows if row.kind == kind)) for kind in KINDS}
    holes = [row for row in rows if row.outcome == "hole"]
    return {
        "machine": machine(),
        "versions": versions(),
        "problems": len({row.problem for row in rows}),
        "every": every,
        "alterations": len(rows),
        "sound": len(rows) - len(holes),
        "holes": len(holes),
        "kinds": kinds,
        "rows": [asdict(row) for row in holes],
    }


def main() -> None:
    """Attack the corpus and print the holes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="every fiftieth alteration only")
    parser.add_argument("--every", type=int, default=1, help="every n-th alteration only")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--only", default="", help="names of problems, parted by commas")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--store", action="store_true", help="keep the figures in results/")
    args = parser.parse_args()
    every = 50 if args.quick else args.every
    pool, rows = load_pool(), []
    for place in find_problems(corpus_root()):
        folder = place if place.is_dir() else place.parent
        name = folder.relative_to(corpus_root()).as_posix()
        if args.only and not any(part in name for part in args.only.split(",")):
            continue
        rows += attack(name, folder, pool, args.kinds.split(","), every)
    figures = summary(rows, every)
    if args.store:
        RESULT.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    if args.json:
        print(json.dumps(figures))
        return
    for row in figures["rows"]:
        print(f"{row['problem']}: {row['change']!r} [{row['place'][:100]!r}]")
    print(f"{figures['alterations']} alterations, {figures['sound']} sound, "
          f"{figures['holes']} holes: {figures['kinds']}")  # fmt: skip


if __name__ == "__main__":
    main()

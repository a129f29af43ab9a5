"""Sentences and clauses that ask for something else are noticed, by either reader."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from engiagent.problems import Problem, corpus_root
from tests.agents.support import analysed

BENCH = Path(__file__).parents[2] / "benchmarks" / "reading_changes.py"
MARKET = corpus_root() / "battery" / "merchant_day"
DIESELS = corpus_root() / "der" / "island_unit_commitment"
SENTENCES = (
    "Cycles count double when it is hot.",
    "Whichever is larger counts.",
    "All prices are net.",
    "The power is rounded to whole kilowatts.",
    "Noise counts as well.",
    "There are two of these.",
    "The first fifty kilowatt-hours are free.",
    "The bill is split evenly with the tenant.",
    "The load doubles from next week on.",
    "Hours after eight in the evening count double.",
    "The rules do not hold on Saturdays.",
    "Times are given in Greenwich time.",
    "A tenth of the load may be left unserved.",
)
CLAUSES = (" per phase", " every other hour", ", of which a third is lost", " as far as possible",
           ", plus or minus a tenth", ", except on holidays")  # fmt: skip


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reading_changes", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def complete(folder: Path, source: Path, text: str) -> bool:
    files = {p.name: p.read_text(encoding="utf-8") for p in source.glob("*.csv")}
    return analysed(folder, text, files).complete


@pytest.mark.parametrize("source", [MARKET, DIESELS], ids=lambda p: p.name)
@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_that_matters_is_noticed(tmp_path: Path, source: Path, sentence: str) -> None:
    text = Problem.load(source).text
    assert not complete(tmp_path, source, f"{text.rstrip()}\n\n{sentence}\n")


@pytest.mark.parametrize("clause", CLAUSES)
def test_a_clause_that_matters_is_noticed(tmp_path: Path, clause: str) -> None:
    text = Problem.load(DIESELS).text
    place = text.index(" to the end of the plan)") + len(" to the end of the plan)")
    assert complete(tmp_path, DIESELS, text)
    assert not complete(tmp_path, DIESELS, text[:place] + clause + text[place:])


def test_a_line_without_words_is_read_over(tmp_path: Path) -> None:
    text = Problem.load(DIESELS).text
    assert complete(tmp_path, DIESELS, f"{text.rstrip()}\n\n.\n")


def test_the_bench_finds_a_hole_and_tells_it_from_a_change(
    bench: ModuleType, tmp_path: Path
) -> None:
    found = bench.attack("merchant_day", MARKET, bench.load_pool(), ["exchanges"], 40)
    assert found
    assert {row.outcome for row in found} <= {"undecided", "changed", "hole"}
    assert sum(row.outcome == "hole" for row in found) <= len(found) // 4

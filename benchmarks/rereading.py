"""Texts of the corpus that are altered, and what a stored reading makes of them.

Numbers, units of one dimension, table cells, data files and dates have to be read, with the optimum
of a blueprint into which this script writes the value itself; words, their order, added and dropped
sentences, and numbers that nothing carries have to end undecided. ``wrong`` is a reading with
another value or optimum, a plan that is violated, or a reading of what has to stay undecided.

    python benchmarks/rereading.py --quick
    python benchmarks/rereading.py --json
    python benchmarks/rereading.py --store
"""

import argparse
import json
import random
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from engiagent.agents.bench import machine, versions
from engiagent.blueprint import Blueprint
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.readings.stored import reread
from engiagent.run.certify import certify
from engiagent.run.stages import solve_program
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem, corpus_root, find_problems
from engiagent.units.unit import parse_unit

RESULT: Final = Path(__file__).parent / "results" / "rereading.json"
SEED: Final = 20250614
SLOW: Final = 3.0
"""Seconds after which the further cases of a problem are compared by their values, not solved.

Five times as many without ``--quick``.
"""
WORDS: Final = ("not", "only", "usually", "at", "least", "twice", "never", "other", "night")
SENTENCES: Final = (
    "The plant must rest between 12:00 and 13:00.",
    "At most two of the units may run in the same hour.",
    "Energy that is left at the end is worth nothing.",
    "The connection is limited to 5 kW.",
)
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_UNITS: Final = {
    "kWh": ("MWh", 1000),
    "kW": ("MW", 1000),
    "MWh": ("kWh", 0.001),
    "MW": ("kW", 0.001),
}


@dataclass
class Case:
    """An altered problem.

    Attributes
    ----------
    text
        The problem's text.
    files
        Contents of data files that differ.
    expected
        The blueprint with the new value, written by hand; None where it has to end undecided.
    """

    problem: str
    kind: str
    change: str
    text: str
    files: dict[str, str] = field(default_factory=dict)
    expected: dict[str, Any] | None = None


class Subject:
    """A problem of the corpus with the places that its blueprint rests on."""

    def __init__(self, path: Path, root: Path) -> None:
        self.name, self.folder = str(path.relative_to(root)), path
        self.problem = Problem.load(path)
        self.document = json.loads((path / "expert" / "blueprint.json").read_text("utf-8"))
        self.text = self.problem.text
        core = self.document["core_model_elements"]
        self.parameters = core["parameters"]
        times = [s for s in core["sets"] if s["kind"] == "time"]
        self.time = times[0] if len(times) == 1 else {"start": "", "periods": 0}
        self.used = list(_spans(core))
        extended = self.document.get("extended_analysis_and_robustness", {})
        self.unused = [tuple(item["span"]) for item in extended.get("unused", [])]

    def edited(self, span: tuple[int, int], words: str) -> str:
        """Return the text with other words at a place."""
        return self.text[: span[0]] + words + self.text[span[1] :]

    def case(self, kind: str, change: str, text: str, **more: Any) -> Case:
        """Return a case of this problem."""
        return Case(self.name, kind, change, text, **more)

    def numbers(self) -> list[tuple[int, int, tuple[int, int], Any]]:
        """Return the numbers of text and tables that parameters hold: which, where, how much."""
        found = []
        for k, parameter in enumerate(self.parameters):
            leaves = _leaves(parameter.get("source_reference"))
            values = parameter.get("value")
            values = values if isinstance(values, list) else [values]
            plain = all(isinstance(v, int | float) for v in values)
            if not plain or len(leaves) != len(values) or any("span" not in x for x in leaves):
                continue
            for place, (leaf, value) in enumerate(zip(leaves, values, strict=True)):
                match = _NUMBER.match(leaf["quote"])
                if match is None or not value or float(match[0]) != value:
                    continue  # written in another way: "12,000", "two"
                span = (leaf["span"][0], leaf["span"][0] + match.end())
                found.append((k, place, span, value))
        return [item for item in found if self._alone(item[2])]

    def _alone(self, span: tuple[int, int]) -> bool:
        """Whether a number stands once in the text, and is the source of one thing."""
        number = re.escape(self.text[slice(*span)])
        stands = re.findall(rf"(?<![\d.,]){number}(?![\d,]|\.\d)", self.text)
        holders = [
            p
            for p in self.parameters
            if not isinstance(p.get("value"), str) and _touches(span, _spans(p))
        ]
        cell = "|" in self.text[self.text.rfind("\n", 0, span[0]) : span[0]]
        return (len(stands) == 1 or cell) and len(holders) == 1

    def with_value(self, parameter: int, place: int, value: float) -> dict[str, Any]:
        """Return the blueprint with another value."""
        document: dict[str, Any] = deepcopy(self.document)
        item = document["core_model_elements"]["parameters"][parameter]
        if isinstance(item["value"], list):
            item["value"][place] = value
        else:
            item["value"] = value
        return document


def _leaves(reference: Any) -> list[dict[str, Any]]:
    items = reference if isinstance(reference, list) else [reference]
    return [item for item in items if isinstance(item, dict)]


def _spans(part: Any) -> Iterator[tuple[int, int]]:
    if isinstance(part, dict):
        if "span" in part:
            yield tuple(part["span"])
        for item in part.values():
            yield from _spans(item)
    elif isinstance(part, list):
        for item in part:
            yield from _spans(item)


def _touches(span: tuple[int, int], others: Any) -> bool:
    return any(a < span[1] and span[0] < b for a, b in others)


# --- what has to be read -----------------------------------------------------------------------


def values(subject: Subject, dice: random.Random) -> Iterator[Case]:
    """Write another value in a sentence or in a cell."""
    found = subject.numbers()
    dice.shuffle(found)
    for k, place, span, value in found:
        share = subject.parameters[k].get("unit") == "%"
        factor = dice.choice([0.9, 0.95] if share else [0.9, 0.95, 1.05, 1.1])
        new = float(f"{value * factor:.4g}")
        if new == value or (isinstance(value, int) and value < 10 and new % 1):
            new = value + (1 if isinstance(value, int) else 0.01)
        shown = f"{new:g}"
        item = subject.parameters[k]
        kind = (
            "cell"
            if "|" in subject.text[subject.text.rfind("\n", 0, span[0]) : span[0]]
            else ("value")
        )
        change = f"{item['name']}: {value:g} to {shown}"
        expected = subject.with_value(k, place, float(shown))
        yield subject.case(kind, change, subject.edited(span, shown), expected=expected)


def units(subject: Subject, dice: random.Random) -> Iterator[Case]:
    """Write the same amount, and another one, in another unit of the dimension."""
    found = subject.numbers()
    dice.shuffle(found)
    for k, place, span, value in found:
        after = re.match(r" (kWh|kW|MWh|MW)(?![\w/])", subject.text[span[1] : span[1] + 6])
        if after is None or isinstance(subject.parameters[k]["value"], list):
            continue
        unit, factor = _UNITS[after[1]]
        new = value * dice.choice([1.0, 1.1])
        shown = f"{new / factor:.10g}"
        text = subject.edited((span[0], span[1] + after.end()), f"{shown} {unit}")
        change = f"{subject.parameters[k]['name']}: {value:g} {after[1]} to {shown} {unit}"
        yield subject.case("unit", change, text, expected=subject.with_value(k, place, new))


def files(subject: Subject, dice: random.Random) -> Iterator[Case]:
    """Write other numbers in a column of a data file."""
    for name, file in subject.problem.data.items():
        raw = (subject.folder / name).read_text("utf-8-sig")
        rows = [line.split(",") for line in raw.splitlines()]
        used = {
            p["data"].split("#")[1]
            for p in subject.parameters
            if str(p.get("data", "")).startswith(f"{name}#")
        }
        headers = [cell.strip().strip('"') for cell in rows[0]]
        if len({len(row) for row in rows}) != 1 or file.rows != len(rows) - 1:
            continue
        for column in sorted(used & set(headers)):
            place, factor = headers.index(column), dice.choice([0.97, 1.02])
            if file.column(column).dtype != "float64":
                continue
            changed = deepcopy(rows)
            for row in changed[1:]:
                row[place] = f"{float(row[place]) * factor:.6g}"
            content = "\n".join(",".join(row) for row in changed) + "\n"
            yield subject.case(
                "file",
                f"{name}#{column} times {factor}",
                subject.text,
                files={name: content},
                expected=subject.document,
            )


def dates(subject: Subject, dice: random.Random) -> Iterator[Case]:
    """Move the day by a week, within the month, in the text and in the files."""
    start = str(subject.time["start"])
    if not re.match(r"\d{4}-\d\d-\d\dT", start) or subject.time.get("zone"):
        return  # the clocks may change in a zone
    first = date.fromisoformat(start[:10])
    new = first + timedelta(7 if first.day < 15 else -7)
    written = [first.strftime(f"{first.day} %B %Y"), first.strftime(f"%B {first.day}, %Y")]
    forms = [w for w in written if subject.text.count(w) == 1]
    if len(forms) != 1 or not _touches(
        (at := subject.text.index(forms[0]), at + 1), _spans(subject.time)
    ):
        return
    if len([q for q in subject.problem.quantities if q.kind == "date"]) != 1:
        return
    format_ = f"{new.day} %B %Y" if forms[0] == written[0] else f"%B {new.day}, %Y"
    text = subject.text.replace(forms[0], new.strftime(format_))
    moved = {}
    for name in subject.problem.data:
        raw = (subject.folder / name).read_text("utf-8-sig")
        moved[name] = re.sub(
            r"\d{4}-\d\d-\d\d",
            lambda m: (date.fromisoformat(m[0]) + (new - first)).isoformat(),
            raw,
        )
    document = deepcopy(subject.document)
    for item in document["core_model_elements"]["sets"]:
        if item["kind"] == "time":
            item["start"] = new.isoformat() + start[10:]
    yield subject.case("date", f"{first} to {new}", text, files=moved, expected=document)


# --- what has to end undecided -----------------------------------------------------------------


def _words(subject: Subject) -> list[re.Match[str]]:
    inside = [q.span for q in subject.problem.quantities]
    start = subject.problem.body_start
    return [
        m
        for m in re.finditer(r"[A-Za-z]{2,}", subject.text)
        if m.start() > start and not _touches(m.span(), inside)
    ]


def words(subject: Subject, dice: random.Random) -> Iterator[Case]:
    """Put a word in, leave it out, exchange it or swap it with the next."""
    found = _words(subject)
    while True:
        k = dice.randrange(len(found) - 1)
        here, after = found[k], found[k + 1]
        new = dice.choice(WORDS)
        yield subject.case(
            "word put in",
            f"{new} before {here[0]}",
            subject.edited((here.start(), here.start()), new + " "),
        )
        yield subject.case("word left out", here[0], subject.edited(here.span(), ""))
        if here[0].lower() != new:
            yield subject.case(
                "word exchanged", f"{here[0]} for {new}", subject.edited(here.span(), new)
            )
        if here[0] != after[0]:
            both = after[0] + subject.text[here.end() : after.start()] + here[0]
            span = (here.start(), after.end())
            yield subject.case("words swapped", both[:60], subject.edited(span, both))


def sentences(subject: Subject, dice: random.Random) -> Iterator[Case]:
    """Add, drop or repeat a sentence."""
    found = [s for s in subject.problem.sentences if s.kind == "sentence"]
    while True:
        here, new = dice.choice(found), dice.choice(SENTENCES)
        end = here.span[1]
        yield subject.case("sentence added", new, subject.edited((end, end), " " + new))
        yield subject.case("sentence dropped", here.text, subject.edited(here.span, ""))
        whole = " " + subject.text[slice(*here.span)]
        yield subject.case("sentence twice", here.text, subject.edited((end, end), whole))


def uncarried(subject: Subject, dice: random.Random) -> Iterator[Case]:
    """Change a number that nothing but ``unused`` names, or that names or counts things."""
    found = [
        q
        for q in subject.problem.quantities
        if q.span[0] >= subject.problem.body_start
        and (
            not _touches(q.number_span, subject.used)
            or _touches(q.number_span, subject.unused)
            or q.kind == "label"
        )
    ]
    dice.shuffle(found)
    for quantity in found:
        written = subject.text[slice(*quantity.number_span)]
        match = re.search(r"\d+", written)
        if match is not None:
            new = written[: match.start()] + str(int(match[0]) + 1) + written[match.end() :]
        elif written.lower() in ("one", "two", "three", "four", "five"):
            new = {"one": "two", "two": "three", "three": "two", "four": "six", "five": "six"}[
                written.lower()
            ]
        else:
            continue
        kind = "label" if quantity.kind == "label" else "number that nothing carries"
        text = subject.edited(quantity.number_span, new)
        yield subject.case(kind, f"{written} to {new}", text)


def other_dimensions(subject: Subject, dice: random.Random) -> Iterator[Case]:
    """Write a unit of another dimension, or the opposite number."""
    found = subject.numbers()
    dice.shuffle(found)
    for _, _, span, value in found:
        after = re.match(r" (kWh|kW|MWh|MW|%|EUR)(?![\w/])", subject.text[span[1] : span[1] + 6])
        if after is not None:
            new = {"kWh": "kW", "kW": "kWh", "MWh": "MW", "MW": "MWh", "%": "h", "EUR": "USD"}
            text = subject.edited((span[1] + 1, span[1] + after.end()), new[after[1]])
            yield subject.case("other dimension", f"{after[1]} to {new[after[1]]}", text)
        if "°" not in subject.text[span[1] : span[1] + 3] and after is not None and value > 0:
            yield subject.case("sign", f"{value:g}", subject.edited(span, f"-{value:g}"))


def columns(subject: Subject, dice: random.Random) -> Iterator[Case]:
    """Rename a column, or drop a row."""
    for name, file in subject.problem.data.items():
        lines = (subject.folder / name).read_text("utf-8-sig").splitlines()
        header = "x" + lines[0]
        yield subject.case(
            "column renamed",
            name,
            subject.text,
            files={name: "\n".join([header, *lines[1:]]) + "\n"},
        )
        day = re.search(r"\bday\b", subject.text[subject.problem.body_start :])
        counted = any(_counted(subject, q) for q in subject.problem.quantities)
        if file.rows > 3 and (counted or day):
            yield subject.case(
                "row missing", name, subject.text, files={name: "\n".join(lines[:-1]) + "\n"}
            )


def _counted(subject: Subject, quantity: Any) -> bool:
    """Whether a number of the text says how many periods there are."""
    bare = not quantity.unit_text or str(quantity.unit) == "h"
    return bool(bare and quantity.value == subject.time["periods"] and quantity.kind != "label")


READ: Final = {"values": (values, 3), "units": (units, 2), "files": (files, 1), "dates": (dates, 1)}
OPEN: Final = {
    "words": (words, 4),
    "sentences": (sentences, 3),
    "uncarried": (uncarried, 2),
    "dimensions": (other_dimensions, 2),
    "columns": (columns, 2),
}


def cases(subject: Subject, dice: random.Random, most: int | None) -> Iterator[Case]:
    """Yield the alterations of a problem; readable ones only where there is a plan to compare.

    Of those, at most ``most`` of a kind: each takes two solves and a check.
    """
    generators: list[tuple[Callable[..., Iterator[Case]], int]] = list(OPEN.values())
    if not any(p.get("status") == "missing" for p in subject.parameters):
        generators += [(generate, min(count, most or count)) for generate, count in READ.values()]
    for generate, count in generators:
        yield from islice(generate(subject, dice), count)


# --- the outcome -------------------------------------------------------------------------------


def outcome(case: Case, subject: Subject, scratch: Path, solve: bool) -> str:
    """Return how the stored reading deals with a case: right, wrong or undecided, and why."""
    folder = scratch / "problem"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(subject.folder, folder)
    (folder / "problem.md").write_text(case.text, "utf-8")
    for name, content in case.files.items():
        (folder / name).write_text(content, "utf-8")
    try:
        problem = Problem.load(folder)
    except Exception as error:  # what cannot be loaded cannot be read
        return f"undecided: {error}"
    reading = reread(problem)
    if reading is None or reading.not_understood:
        return f"undecided: {'' if reading is None else reading.not_understood[0].reason}"
    if case.expected is None:
        return "read"
    assert reading.blueprint is not None
    ours, hand = reading.blueprint.to_dict(), case.expected
    different = _different(ours, hand)
    if different:
        return f"wrong: {different}"
    if not solve:
        return "right, by its values alone"
    blueprint = Blueprint.from_dict(hand)
    (status, target, _), (found, value, plan) = (
        _solved(b, folder) for b in (blueprint, reading.blueprint)
    )
    if status != found or (
        target is not None and not abs(value - target) <= 1e-6 * max(1.0, abs(target))
    ):
        return f"wrong: {found} {value}, by hand {status} {target}"
    certificate = certify(problem, plan, reading.blueprint, folder=folder, name=problem.id)
    if certificate.verdict == "undecided":
        return "undecided: the checker left the plan open"
    bad = certificate.verdict == "violated"
    return f"wrong: {certificate.verdict}, {certificate.violations[:1]}" if bad else "right"


def _different(ours: dict[str, Any], hand: dict[str, Any]) -> str:
    """Return the first parameter or time set in which two blueprints differ, units converted."""
    one, two = ours["core_model_elements"], hand["core_model_elements"]
    for a, b in zip(one["sets"], two["sets"], strict=True):
        for key in ("start", "periods", "step"):
            if a.get(key) != b.get(key):
                return f"{a['name']}.{key} is {a.get(key)}, by hand {b.get(key)}"
    for a, b in zip(one["parameters"], two["parameters"], strict=True):
        if isinstance(b.get("value"), str) or b.get("value") is None:
            continue
        first, second = (parse_unit(str(p.get("unit") or "1")) for p in (a, b))
        lists = [p["value"] if isinstance(p["value"], list) else [p["value"]] for p in (a, b)]
        for x, y in zip(*lists, strict=True):
            if isinstance(y, int | float):
                x, y = first.to_si(float(x)), second.to_si(float(y))
                if abs(x - y) > 1e-9 * max(abs(x), abs(y)):
                    return f"{a['name']} is {x}, by hand {y} (in SI)"
    return ""


def _solved(blueprint: Blueprint, folder: Path) -> tuple[str, Any, Any]:
    program = compile_blueprint(expand(blueprint), folder)
    plan, result = solve_program(program, SolveOptions(gap=1e-7, time_limit=60), isolate=False)
    return result.status, result.objective, plan


def measure(quick: bool) -> dict[str, Any]:
    """Return the table of the whole corpus, or of a part of it."""
    root = corpus_root()
    dice, begun = random.Random(SEED), perf_counter()
    counts: Counter[str] = Counter()
    kinds: dict[str, Counter[str]] = {}
    faults = []
    paths = [p if p.is_dir() else p.parent for p in find_problems(root)]
    with tempfile.TemporaryDirectory() as scratch:
        for path in paths[::5] if quick else paths:
            subject = Subject(path, root)
            first = perf_counter()
            slow = False
            for case in cases(subject, dice, 1 if quick else None):
                said = outcome(case, subject, Path(scratch), solve=not slow)
                if case.expected is not None and perf_counter() - first > SLOW * (
                    1 if quick else 5
                ):
                    slow = True
                word = _judged(case, said)
                counts[word] += 1
                counts["by_values_alone"] += said == "right, by its values alone"
                kinds.setdefault(case.kind, Counter())[word] += 1
                if word in ("wrong", "undecided_wrongly"):
                    faults.append(
                        {
                            "problem": case.problem,
                            "kind": case.kind,
                            "change": case.change,
                            "outcome": said[:300],
                        }
                    )
    words = ("right", "wrong", "undecided_rightly", "undecided_wrongly")
    return {
        "cases": sum(counts[word] for word in words),
        **{word: counts[word] for word in words},
        "by_values_alone": counts["by_values_alone"],
        "kinds": {kind: dict(found) for kind, found in sorted(kinds.items())},
        "faults": faults,
        "seconds": round(perf_counter() - begun, 1),
    }


def _judged(case: Case, said: str) -> str:
    if case.expected is None:
        return "undecided_rightly" if said.startswith("undecided") else "wrong"
    if said.startswith("right"):
        return "right"
    return "undecided_wrongly" if said.startswith("undecided") else "wrong"


def main() -> int:
    """Measure, print and, on request, store."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="every fifth problem, fewer of a kind")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--store", action="store_true", help=f"write results/{RESULT.name}")
    given = parser.parse_args()
    found = measure(given.quick)
    if given.store:
        stored = {**found, "machine": machine(), "versions": versions()}
        RESULT.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")
    if given.json:
        print(json.dumps(found))
    else:
        for kind, counts in found["kinds"].items():
            print(f"{kind:30}", ", ".join(f"{n} {word}" for word, n in counts.items()))
        for fault in found["faults"]:
            print(fault)
        print({key: value for key, value in found.items() if key not in ("kinds", "faults")})
    return 1 if found["wrong"] else 0


if __name__ == "__main__":
    raise SystemExit(main())

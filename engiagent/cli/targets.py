"""What there is to check below a folder, and a corpus problem against its expert material."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.grammar import ExpressionError, Number, parse, walk
from engiagent.run.folder import BLUEPRINT, CERTIFICATE, LOOP, is_run_folder
from engiagent.run.inputs import EXPERT
from engiagent.text import Problem
from engiagent.text.corpus import MAX_DEPTH, folders_in, texts_in
from engiagent.text.problem import PLANT_FILE, PLANT_MARK, PLANT_SUFFIXES
from engiagent.verify.requirements import Requirements

SCHEDULES: Final = (".csv", ".tsv", ".json", ".nc", ".parquet", ".xlsx")
_PROBLEMS: Final = ("problem.md", "problem.txt", PLANT_FILE)
_STARTS: Final = ("---\n", "---\r\n", "\ufeff---")
_BLOCK: Final = "yaml engiagent"
_MARK: Final = re.compile(r'"schema"\s*:\s*"engiagent-blueprint/')

Kind = Literal["run", "loop", "problem", "blueprint", "schedule", "page"]


@dataclass(frozen=True)
class Target:
    """One thing to check; ``schedule`` is what somebody planned for it.

    A ``schedule`` alone has nothing beside it to be held against, and a ``page`` is a text that
    poses no problem.
    """

    path: Path
    kind: Kind
    schedule: Path | None = None


def targets_below(folder: Path) -> list[Target]:
    """Return all that a folder holds, in the order of the paths; hidden folders are left out."""
    return sorted(_walk(folder, 0), key=lambda t: (t.path, str(t.schedule or "")))


def targets_of(folder: Path) -> list[Target] | None:
    """Return what one problem's folder asks for; None when it is no problem's."""
    if not any((folder / name).is_file() for name in _PROBLEMS):
        return None
    planned = [Target(folder, "problem", schedule) for schedule in schedules_in(folder)]
    whole = [] if planned and not (folder / EXPERT).is_dir() else [Target(folder, "problem")]
    return [*whole, *planned]


def _walk(folder: Path, depth: int) -> Iterator[Target]:
    if is_run_folder(folder):
        yield Target(folder, "run")
        return
    if is_certified_loop(folder):
        yield Target(folder, "loop")
        return
    own, plants = targets_of(folder), plants_in(folder)
    yield from own if own is not None else _loose(folder, plants)
    yield from (Target(plant, "problem") for plant in plants)
    for inner in folders_in(folder) if depth < MAX_DEPTH else ():
        yield from _walk(inner, depth + 1)


def is_certified_loop(folder: Path) -> bool:
    """Whether a folder holds a closed loop with the certificate of its plans."""
    return all((folder / name).is_file() for name in (LOOP, CERTIFICATE))


def plants_in(folder: Path) -> list[Path]:
    """Return the plant files of a folder that bear names of their own, as ``bakery.yaml``."""
    found = (p for p in sorted(folder.iterdir()) if p.suffix.lower() in PLANT_SUFFIXES)
    named = [p for p in found if p.name != PLANT_FILE and p.is_file()]
    return [p for p in named if PLANT_MARK.search(p.read_text("utf-8", errors="replace"))]


def _loose(folder: Path, plants: Sequence[Path]) -> Iterator[Target]:
    """Yield texts that stand alone, and a blueprint with the schedules beside it."""
    texts = texts_in(folder)
    posed = [text for text in texts if _poses(text)]
    yield from (Target(text, "problem" if text in posed else "page") for text in texts)
    blueprints = [path for path in sorted(folder.iterdir()) if says_blueprint(path)]
    named = [path for path in blueprints if path.stem == Path(BLUEPRINT).stem]
    stated = named[:1] or [*blueprints, *posed, *plants]
    owner = stated[0] if len(stated) == 1 else None
    schedules = schedules_in(folder)
    for schedule in schedules:
        if owner is None:
            yield Target(schedule, "schedule")
        else:
            yield Target(owner, "blueprint" if owner in blueprints else "problem", schedule)
    alone = (path for path in blueprints if path != owner or not schedules)
    yield from (Target(path, "blueprint") for path in alone)


def says_blueprint(path: Path) -> bool:
    """Whether a file says of itself, by its name or its schema, that it is a blueprint."""
    if not (path.is_file() and Blueprint.is_in(path)):
        return False
    if path.suffix.lower() != ".json" or f".{path.name}".endswith(".blueprint.json"):
        return True
    with path.open(encoding="utf-8", errors="replace") as stream:
        return _MARK.search(stream.read(4096)) is not None


def schedules_in(folder: Path) -> list[Path]:
    """Return the files of a folder that are named ``schedule…``."""
    return [f for f in sorted(folder.glob("schedule*")) if f.is_file() and f.suffix in SCHEDULES]


def _poses(text: Path) -> bool:
    """Whether a text says of itself that it is a problem: by front matter or a plant block."""
    content = text.read_text("utf-8", errors="replace")
    return content.startswith(_STARTS) or _BLOCK in content


# -- expert material ------------------------------------------------------------------------------

ANSWER: Final = "answer.json"
MAPPING: Final = "mapping.yaml"
_FACTORS: Final = (1.0, 100.0, 1e-2, 1e3, 1e-3, 1e6, 1e-6, 60.0, 1 / 60)
"""Between a number and the same one in per cent, another prefix, or minutes instead of hours."""
_DIGITS: Final = re.compile(r"\d[\d\u00a0\u202f ,.']*")
_PLAIN: Final = re.compile(r"\d+(?:\.\d+)?")


def numbers_astray(requirements: Requirements, problem: Problem) -> Iterator[str]:
    """Yield a sentence for every number of the requirements that the text does not have.

    Literals with a unit and values of parameters count, in any usual prefix, as per cent or per
    unit. Bare literals in formulas do not: exponents and factors belong to no text; neither do
    powers of ten, which bring quantities to a base.
    """
    known = numbers_of(problem)
    for name, number, unit in _stated(requirements):
        if not _is_known(abs(number), known):
            amount = f"{number:.10g} {unit}" if unit not in (None, "1") else f"{number:.10g}"
            yield f"{name}: {amount} is no number of the text"


def numbers_of(problem: Problem) -> frozenset[float]:
    """Return every number that can be read out of a text, digits grouped or not."""
    found = {float(quantity.value) for quantity in problem.quantities}
    for match in _DIGITS.findall(problem.text):
        found |= {float(part) for part in _PLAIN.findall(match)}
        joined = re.sub(r"[\u00a0\u202f ,']", "", match).rstrip(".")
        if _PLAIN.fullmatch(joined):
            found.add(float(joined))
    return frozenset(abs(number) for number in found)


def _stated(requirements: Requirements) -> Iterator[tuple[str, float, str | None]]:
    texts = [(item.id, item.expression) for item in requirements.requirements]
    if requirements.objective is not None:
        texts.append(("objective", requirements.objective.expression))
    for item in requirements.core.parameters:
        if isinstance(item.value, int | float):
            yield item.name, float(item.value), str(item.unit) if item.unit else None
    for name, text in texts:
        try:
            nodes = [node for node in walk(parse(text)) if isinstance(node, Number)]
        except ExpressionError:
            continue  # the checker says what is wrong with it
        yield from ((name, node.value, node.unit) for node in nodes if node.unit is not None)


def _is_known(number: float, known: frozenset[float]) -> bool:
    if number == 0 or f"{number:.9e}".startswith("1.000000000e"):  # a power of ten
        return True
    return any(
        abs(number * factor - other) <= 1e-9 * max(1e-9, other)
        for factor in _FACTORS
        for other in known
    )


def quotes_astray(value: Any, text: str) -> Iterator[str]:
    """Yield a sentence for every quote in a JSON document that is not at its place in the text."""
    if isinstance(value, dict):
        span, quote = value.get("span"), value.get("quote")
        if isinstance(quote, str) and isinstance(span, list) and len(span) == 2:
            start, stop = span
            if (found := text[start:stop]) != quote:
                yield f"the quote {quote!r} is not at {start}:{stop}, where {found!r} stands"
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from quotes_astray(item, text)


def against_bound(verdict: str | None, bound: Any, answer: Any) -> Iterator[str]:
    """Yield why a plan that should be the best one is not, as far as the bounds tell.

    The bound is that of the stated requirements; one that is better than the answer's means that
    they allow more than the answer does.
    """
    stored = answer.get("bound") if isinstance(answer, dict) else None
    found = bound.get("value") if isinstance(bound, Mapping) else None
    if verdict != "feasible" or stored is None or answer.get("verdict") != "certified":
        return
    if isinstance(stored, int | float) and isinstance(found, int | float):
        yield (
            f"the requirements allow {found:.10g}, the bound of the answer is {stored:.10g}: "
            "a requirement may be missing or too loose"
        )

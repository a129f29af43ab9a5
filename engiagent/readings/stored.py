"""Readings that are stored beside a problem, and read again by rule.

A stored reading is what somebody read and accepted: the text, the shape of the data files, and the
blueprint with the source of every number. A text that differs in nothing but numbers, units of one
dimension, dates, table cells and data files is read by moving those values along their sources.
Anything else stays undecided, with the words that differ.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator

from engiagent import __version__
from engiagent.blueprint import Blueprint
from engiagent.errors import InputError
from engiagent.io.files import open_inside
from engiagent.io.jsontext import dumps_canonical, loads_strict
from engiagent.io.schemawords import Json, fields, output
from engiagent.readings.alignment import align
from engiagent.readings.datafiles import shapes_of
from engiagent.readings.horizon import move_horizon
from engiagent.readings.moving import Move, check_order, mappings
from engiagent.readings.reading import Gap, Missing, Reading
from engiagent.text import Problem
from engiagent.text.frontmatter import split_front_matter
from engiagent.text.problem import Body
from engiagent.verify.levels.sources import misquotation, read_sources

_FIELDS: Final = """
text: text; the problem's text, front matter included
data: by name record; the shape of each data file
    sha256: text
    rows: count
    first: text or null; the first time stamp, local time
    step_seconds: count or null
    zone: text or null
    columns: list of record
        name: text
        header: text; as written, with its unit
        unit: text or null
        kind: one of number, text, time
        low?: number; the least value
        high?: number; the largest value
        digest?: text; of the texts of a column of texts
accepted: record
    engiagent: text; the version
    by: text; the engine and model, or who annotated the problem
    date: text or null; when the reading was accepted
    verdict: text or null; the certificate's, on the plan that followed
    grade: text; who had read the text besides the author, as in a certificate
    run?: text; the run's folder
    open?: list of text; what remained open of the text
missing: list of record; what the problem needs and does not give
    component: text
    quantity: text
    reason: text
contradictions: list of record; statements that clash
    places: list of record
        span: list of count
        quote: text
    reason: text
blueprint: object or text or null; the blueprint, or the name of its file beside this one
"""


def reading_schema() -> Json:
    """Return the schema of stored readings."""
    return output("reading/1", "a reading that is read again by rule", *fields(_FIELDS))


SCHEMA: Final = "engiagent-reading/1"
NAME: Final = "reading.json"
MAX_BYTES: Final = 50_000_000


@dataclass(frozen=True)
class StoredReading:
    """A reading that was accepted.

    ``data`` are the shapes of the data files, ``blueprint`` is plain JSON, None where none could be
    written; each of the contradictions has its places in the text.
    """

    path: Path
    text: str
    data: Mapping[str, Json]
    blueprint: Json | None
    missing: tuple[Missing, ...]
    contradictions: tuple[Json, ...]
    accepted: Mapping[str, Any]


def place_of(problem: Problem) -> Path:
    """Return where the reading of a problem is stored when the user accepts one."""
    own = problem.path.name == "problem.md"
    return problem.folder / (NAME if own else f"{problem.path.stem}.{NAME}")


def stored_reading(problem: Problem) -> StoredReading | None:
    """Return the reading stored beside a problem, or among its expert files; None without one."""
    places = [place_of(problem)]
    if problem.expert is not None:
        places.append(problem.expert / NAME)
    for place in places:
        if place.is_file():
            return _load(place)
    return None


def _load(place: Path) -> StoredReading:
    file = str(place)
    raw = open_inside(place.parent, place.name, max_bytes=MAX_BYTES)
    data = loads_strict(raw.decode("utf-8", errors="replace"), file)
    error = next(iter(Draft202012Validator(reading_schema()).iter_errors(data)), None)
    if error is not None:
        raise InputError(f"no stored reading: {error.message[:200]}", file, found=error.json_path)
    blueprint = data.get("blueprint")
    if isinstance(blueprint, str):  # beside it, so that none is stored twice
        named = open_inside(place.parent, blueprint, max_bytes=MAX_BYTES)
        blueprint = loads_strict(named.decode("utf-8", errors="replace"), blueprint)
    found = StoredReading(
        place,
        data["text"],
        data["data"],
        None if blueprint is None else Blueprint.from_dict(blueprint, file).to_dict(),
        tuple(Missing(**entry) for entry in data["missing"]),
        tuple(data["contradictions"]),
        data["accepted"],
    )
    for part in mappings([found.blueprint, *found.contradictions]):
        _require_quote(part, found.text, file)
    return found


def _require_quote(part: Json, text: str, file: str) -> None:
    """Raise where a span does not hold its quote, for along such no number can be moved."""
    if isinstance(part.get("span"), list):
        source = {"kind": "text", "span": part["span"], "quote": part.get("quote")}
        wrong = misquotation(read_sources(source)[0], text)
        if wrong is not None:
            raise InputError(f"the stored reading misquotes its text: {wrong}", file)
    elif part.get("quote") and part.get("kind") in ("text", "table"):
        raise InputError(
            "a source of the stored reading has no place",
            file,
            found=repr(part["quote"]),
            expected="a span of the text beside the quote",
        )


def store(
    problem: Problem,
    place: Path,
    blueprint: Json | str | None,
    *,
    missing: tuple[Missing, ...] = (),
    contradictions: tuple[Json, ...] = (),
    accepted: Mapping[str, Any],
    force: bool = False,
) -> None:
    """Store a reading of a problem as it stands now, in the file ``place``.

    ``blueprint``: the blueprint as JSON, the name of its file beside ``place``, or None.
    ``contradictions``: each with its ``places`` (span and quote) and its ``reason``. ``accepted``:
    who read the problem, when, and the verdict on the plan. ``force``: whether a reading that is
    stored there may be replaced.
    """
    if place.exists() and not force:
        raise InputError(
            "a reading is stored already", str(place), expected="--force to replace it"
        )
    document = {
        "schema": SCHEMA,
        "text": problem.text,
        "data": shapes_of(problem),
        "accepted": {"engiagent": __version__, **accepted},
        "missing": [asdict(entry) for entry in missing],
        "contradictions": list(contradictions),
        "blueprint": blueprint,
    }
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(dumps_canonical(document), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", str(place)) from None
    try:
        _load(place)
    except InputError:
        place.unlink()
        raise


def reread(problem: Problem) -> Reading | None:
    """Return the stored reading of a problem, moved to its text as it stands now.

    None when nothing is stored beside it. A reading without blueprint says in ``not_understood``
    which words or numbers cannot be followed, as they stand and as they stood.
    """
    stored = stored_reading(problem)
    if stored is None:
        return None
    _, start = split_front_matter(stored.text)
    aligned = align(Body.read(stored.text, start, str(stored.path)), problem)
    if isinstance(aligned, Gap):
        return Reading(None, not_understood=(aligned,))
    move = Move(aligned, stored.blueprint or _NOTHING, stored.data, shapes_of(problem))
    clashes = deepcopy(stored.contradictions)
    _move(move, clashes)
    if move.gaps:
        return Reading(None, not_understood=tuple(dict.fromkeys(move.gaps)))
    blueprint = None
    if stored.blueprint is not None:
        blueprint = Blueprint.from_dict(move.document, str(stored.path))
    by, day = stored.accepted.get("by"), stored.accepted.get("date")
    notes = [
        f"read by rule from {stored.path.name}, accepted from {by}{f' on {day}' if day else ''}"
    ]
    if move.moved or move.changed_parameters:
        notes.append(f"moved: {', '.join(sorted(move.changed_parameters)) or 'the horizon'}")
    gaps = tuple(Gap(tuple(p["quote"] for p in c["places"]), c["reason"]) for c in clashes)
    return Reading(blueprint, stored.missing, gaps, (), tuple(notes))


def _move(move: Move, clashes: tuple[Json, ...]) -> None:
    """Move a reading to a text of the same words, with the statements that clash in it."""
    move.values()
    move_horizon(move)
    move.check()
    if move.before.get("kind") == "definitions" and (move.changes or move.changed_files):
        move.refuse("a computation is not read again by rule", *move.changes[:1])
    check_order(move)
    places = [{"kind": "text", **place} for item in clashes for place in item["places"]]
    if changed := move.changed_in(read_sources(places)):
        move.refuse("a statement that clashed with another has changed", *changed)
    if not move.gaps:
        move.shift([move.document, *clashes])


_NOTHING: Final[Json] = {"core_model_elements": {"sets": [], "parameters": []}}

"""``engiagent accept``: store what was read, so that it is read again by rule."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from engiagent.blueprint import Blueprint
from engiagent.cli import exit_codes, options
from engiagent.cli.options import ProblemPath
from engiagent.cli.output import print_json, say
from engiagent.errors import InputError
from engiagent.io.files import open_inside
from engiagent.io.jsontext import loads_strict
from engiagent.readings import Missing
from engiagent.run.folder import BLUEPRINT, CERTIFICATE, is_run_folder, read_record
from engiagent.run.inputs import EXPERT, READING, slots_of, stored_problem
from engiagent.text import Problem

ANSWER: Final = "answer.json"
REFUSED: Final = ("violated", None)


@click.command()
@click.argument("source", type=ProblemPath(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--to", "folder", type=options.FOLDER, help="Store it here instead of beside the problem."
)
@click.option("--force", is_flag=True, help="Replace a reading that is stored there.")
@options.as_json
def accept(source: Path, folder: Path | None, force: bool, as_json: bool) -> int:
    """Store the reading of a run beside its problem.

    SOURCE is the folder of a run, whose blueprint you have looked at. The engine offline then reads
    the same text, and any that differs in numbers, units, dates, table cells and data files only,
    by moving those values into the blueprint. SOURCE may be a folder with expert files, too; their
    blueprint is what was read.
    """
    accepted = _accept_run if is_run_folder(source) else _accept_expert
    place = accepted(source, folder, force)
    if as_json:
        print_json({"schema": "engiagent-accepted/1", "stored": str(place)})
    say(f"stored {place}: the engine offline reads this text again by rule")
    return exit_codes.ExitCode.FEASIBLE


def _accept_run(run: Path, folder: Path | None, force: bool) -> Path:
    from engiagent.readings.stored import place_of, store

    record = read_record(run)
    verdict, asked = record.get("verdict"), record.get("asked") or {}
    if record.get("state") != "done" or verdict in REFUSED:
        found = f"{record.get('state')}, {verdict or 'no verdict'}"
        expected = "a run that is done and whose plan was not violated"
        said = "the reading of this run cannot be accepted"
        raise InputError(said, str(run), found=found, expected=expected)
    taken = stored_problem(run)
    if taken is None or not (run / BLUEPRINT).is_file():
        raise InputError("the run has no text with a blueprint of it", str(run))
    certificate = _document(run, CERTIFICATE)
    if certificate.get("not_understood"):
        quote = str(certificate["not_understood"][0])
        raise InputError("the text was not understood in full", str(run), found=quote[:200])
    blueprint = Blueprint.load(run / BLUEPRINT)
    missing = _missing(certificate.get("missing") or (), "the text does not give it")
    source = Path(str(asked.get("problem", "")))
    if folder is None and not source.exists():
        said = "the problem of the run is not where it was"
        raise InputError(said, str(source), expected="--to FOLDER")
    place = place_of(taken if folder is not None else Problem.load(source))
    read_by = certificate["reading"]
    accepted = {
        "by": " ".join(str(asked[k]) for k in ("engine", "model") if asked.get(k)) or "a run",
        "date": datetime.now(UTC).date().isoformat(),
        "verdict": verdict,
        "grade": read_by["grade"],
        "open": read_by["open"],
        "run": run.name,
    }
    place = place if folder is None else folder / place.name
    store(taken, place, blueprint.to_dict(), missing=missing, accepted=accepted, force=force)
    return place


def _document(folder: Path, name: str) -> dict[str, Any]:
    raw = open_inside(folder, name).decode("utf-8", errors="replace")
    found: dict[str, Any] = loads_strict(raw, str(folder / name))
    return found


def _missing(names: Iterable[str], reason: str) -> tuple[Missing, ...]:
    """Return what is missing by names as battery.charge_efficiency."""
    slots = (name.rpartition(".") for name in names)
    return tuple(Missing(component, quantity, reason) for component, _, quantity in slots)


def _accept_expert(source: Path, folder: Path | None, force: bool) -> Path:
    """Store what the annotators of a problem read: ``blueprint.json`` among its expert files."""
    from engiagent.readings.stored import store

    problem = Problem.load(source)
    if problem.expert is None or not (problem.expert / BLUEPRINT).is_file():
        expected = f"a run folder, or {EXPERT}/{BLUEPRINT}"
        said = "neither a run nor a problem with expert files"
        raise InputError(said, str(source), expected=expected)
    is_answered = (problem.expert / ANSWER).is_file()
    answer = _document(problem.expert, ANSWER) if is_answered else {}
    proof, blueprint = str(answer.get("proof", "")), Blueprint.load(problem.expert / BLUEPRINT)
    open_names = [p.name for p in blueprint.core.parameters if p.status == "missing"]
    names = list(dict.fromkeys([*(answer.get("missing") or ()), *slots_of(blueprint, open_names)]))
    # What clashes in a problem that is proven infeasible stands in its blueprint.
    clash = answer.get("contradiction") if answer.get("verdict") == "ill-posed" else None
    places = list(_places(problem.text, [str(quote) for quote in clash or ()]))
    verdict, by = answer.get("verdict"), "the annotators of the problem"
    accepted = {"by": by, "date": None, "verdict": verdict, "grade": "annotated"}
    place = (folder or problem.expert) / READING
    store(
        problem,
        place,
        BLUEPRINT if folder is None else blueprint.to_dict(),
        missing=_missing(names, proof),
        contradictions=({"places": places, "reason": proof},) if places else (),
        accepted=accepted,
        force=force,
    )
    return place


def _places(text: str, quotes: list[str]) -> Iterator[dict[str, Any]]:
    for quote in quotes:
        found = re.search(r"\s+".join(map(re.escape, quote.split())), text)
        if found is None:
            raise InputError("the text does not hold a quote of the answer", found=repr(quote))
        yield {"span": list(found.span()), "quote": found[0]}

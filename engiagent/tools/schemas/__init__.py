"""Every JSON form of engiagent by name: what commands print, and what files hold.

A form is named ``engiagent-NAME/VERSION`` in its own field ``schema``. Within a version fields are
only added, so what is published allows further ones; whatever else changes makes a new version.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from engiagent.errors import InputError
from engiagent.io.schemawords import Json
from engiagent.tools.schemas import files, listings, outputs


@dataclass(frozen=True)
class Form:
    """One JSON form.

    Attributes
    ----------
    make
        Returns its JSON Schema.
    where
        The commands that print it, or the files that hold it.
    """

    make: Callable[[], Json]
    where: str


PRINTED: Final[Mapping[str, Form]] = {
    "outcome": Form(outputs.outcome, "run, solve, runs resume, sandbox run; an error of any"),
    "check": Form(outputs.check, "check of one path"),
    "checks": Form(outputs.checks, "check of several paths"),
    "dry-run": Form(outputs.dry_run, "run --dry-run, solve --dry-run"),
    "rehearsal": Form(outputs.rehearsal, "run --dry-run --engine anthropic"),
    "audit": Form(outputs.audit, "audit"),
    "explanation": Form(outputs.explanation, "explain; explanation.json"),
    "lint": Form(outputs.lint, "lint"),
    "trace": Form(outputs.trace, "trace"),
    "runs": Form(listings.runs, "runs list"),
    "run-summary": Form(listings.run_summary, "within runs list and runs compare"),
    "run-shown": Form(listings.run_shown, "runs show"),
    "comparison": Form(listings.comparison, "runs compare"),
    "runs-cleaned": Form(listings.runs_cleaned, "runs clean"),
    "config": Form(listings.config, "config show"),
    "new": Form(listings.new, "new"),
    "templates": Form(listings.templates, "new --list"),
    "problems": Form(listings.problems, "problems list"),
    "problem": Form(listings.problem, "problems show"),
    "memory": Form(listings.memory, "memory show"),
    "memory-cleared": Form(listings.memory_cleared, "memory clear"),
    "doctor": Form(listings.doctor, "doctor"),
    "sandbox": Form(listings.sandbox, "sandbox probe"),
    "annuity": Form(listings.annuity, "finance annuity"),
    "npv": Form(listings.npv, "finance npv"),
    "irr": Form(listings.irr, "finance irr"),
    "battery-value": Form(listings.battery_value, "finance battery"),
    "weather": Form(listings.weather, "weather"),
    "report": Form(listings.report, "report"),
    "accepted": Form(listings.accepted, "accept"),
    "view": Form(listings.view, "view"),
    "import": Form(listings.imported, "import"),
    "study": Form(listings.study, "study; cases.json of a run"),
    "bench-suite": Form(listings.bench_suite, "bench suite; figures.json"),
    "bench-messages": Form(listings.bench_messages, "bench messages"),
    "bench-recorded": Form(listings.bench_recorded, "bench recorded"),
}
STORED: Final[Mapping[str, Form]] = {
    "blueprint": Form(files.blueprint, "blueprint.json"),
    "certificate": Form(files.certificate, "certificate.json"),
    "calls": Form(files.calls, "calls of tools, of engiagent.tools and mcp"),
    "plant": Form(files.plant, "plant.yaml, and plant blocks of problems"),
    "run": Form(files.run, "run.json"),
    "reading": Form(files.reading, "reading.json, which accept writes"),
}


def schema_of(name: str) -> Json:
    """Return the JSON Schema of a form, by its name with or without its version.

    Raises
    ------
    InputError
        When there is none; close names are suggested.
    """
    short = name.removeprefix("engiagent-").split("/")[0]
    known = {**PRINTED, **STORED}
    if short not in known:
        close = get_close_matches(short, known, n=3, cutoff=0.4)
        expected = " or ".join(close) or "a name of 'engiagent schema --list'"
        raise InputError(f"there is no JSON form {name!r}", expected=expected)
    return _open(known[short].make()) if short in PRINTED else known[short].make()


def _open(schema: Any) -> Any:
    """Return a schema that passes over fields which it does not know."""
    if isinstance(schema, list):
        return [_open(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = schema.get("additionalProperties") is False
    left = {
        key: value
        for key, value in schema.items()
        if not (closed and key == "additionalProperties")
    }
    return {key: _open(value) for key, value in left.items()}

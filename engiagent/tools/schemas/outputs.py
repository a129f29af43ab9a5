"""What commands print with ``--json``: one schema for each kind of answer."""

from typing import Final

from engiagent.io.schemawords import (
    ANY,
    COUNT,
    FLAG,
    NUMBER,
    OBJECT,
    TEXT,
    TEXTS,
    Json,
    list_of,
    maybe,
    output,
    record,
    said,
)
from engiagent.verify.verdicts import VERDICTS

CODE: Final = said({"type": "integer"}, "the exit code of the command")
VERDICT: Final = said(
    {"enum": [*VERDICTS, None]}, "the certificate's verdict; null where there is none"
)
CLAIMED: Final = "as in the certificate; null without one"
OBJECTIVE: Final = said(
    record({"value": maybe(NUMBER), "unit": maybe(TEXT), "sense": maybe(TEXT)}),
    "value, unit and sense; nulls without a schedule",
)


_OUTCOME: Final[Json] = {
    "problem": said(maybe(TEXT), "the problem's id"),
    "verdict": VERDICT,
    "plan": said(maybe(OBJECT), f"what is claimed of the plan: claim, holds, optimum; {CLAIMED}"),
    "reading": said(maybe(OBJECT), f"who has read the text: grade, by, what, open; {CLAIMED}"),
    "overrides": said(
        list_of(OBJECT), "values that the user changed or gave: name, before, after, unit"
    ),
    "objective": OBJECTIVE,
    "bound": said(maybe(NUMBER), "the bound of the objective, in its unit; `plan` says whose"),
    "missing": said(list_of(ANY), "what the problem does not give"),
    "contradictions": said(TEXTS, "statements of the problem that clash"),
    "not_understood": said(list_of(ANY), "sentences that nothing could judge"),
    "violations": said(list_of(ANY), "broken requirements, as in the certificate"),
    "run": said(maybe(TEXT), "the run's folder"),
}
_ERROR: Final[Json] = {"error": said(TEXT, "what went wrong; only there when something did")}
_CASES: Final[Json] = {
    "cases": said(
        list_of(OBJECT),
        "the base and the cases of the blueprint's report: case, "
        "status, objective, unit, reason, values; solved, not certified",
    )
}
_CHECKED: Final[Json] = {
    "verified": said(FLAG, "whether the stored certificate holds"),
    "differences": said(list_of(OBJECT), "places in which it and the check differ"),
}


def outcome() -> Json:
    """Return the schema of how a run ended."""
    more = {
        "reason": said(maybe(TEXT), "what led to a verdict other than certified, of run and solve"),
        "why_missing": said(OBJECT, "why each of `missing` is needed, by its name"),
        "sandbox": said(TEXT, "what held a script, of sandbox run"),
        "exit_code": CODE,
    }
    return output(
        "outcome/1",
        "how a run ended, or why a command did not do its work",
        _OUTCOME,
        {**_ERROR, **_CASES, **more},
    )


def check() -> Json:
    """Return the schema of the check of one path."""
    return output("check/1", "what a check of one path found", _OUTCOME, {**_ERROR, **_CHECKED})


def checks() -> Json:
    """Return the schema of the check of several paths."""
    one = record(
        {"schema": TEXT, "path": TEXT, **_OUTCOME, "exit_code": CODE}, {**_ERROR, **_CHECKED}
    )
    return output(
        "checks/1",
        "what a check of several paths found",
        {
            "verdict": said(VERDICT, "that of the worst"),
            "exit_code": CODE,
            "results": said(
                list_of(one), "one for each path, as `check` with `path` and `exit_code`"
            ),
        },
    )


def dry_run() -> Json:
    """Return the schema of what a run would do."""
    program = record({"class": TEXT, "convexity": TEXT, "columns": COUNT, "rows": COUNT})
    return output(
        "dry-run/1",
        "what a run or a solve would do",
        {
            "problem": said(TEXT, "the problem's id"),
            "ready": said(FLAG, "whether it would come to a schedule, as far as can be said"),
            "kind": said({"enum": ["programme", "definitions", None]}, "of the blueprint"),
            "missing": said(TEXTS, "values that the text does not give"),
            "not_understood": said(TEXTS, "sentences that were not understood"),
            "program": said(maybe(program), "class, convexity and size"),
            "choice": said(TEXTS, "which solver would get it, and why, in lines"),
            "out": said(TEXT, "where the run would go"),
        },
    )


def rehearsal() -> Json:
    """Return the schema of what a language model would be asked first."""
    return output(
        "rehearsal/1",
        "what a language model would be asked first",
        {
            "prices_of": said(TEXT, "the date of the prices"),
            "requests": said(list_of(OBJECT), "prompts with tokens and cost"),
        },
    )


def audit() -> Json:
    """Return the schema of an audit."""
    finding = record(
        {
            "code": TEXT,
            "severity": TEXT,
            "component": maybe(TEXT),
            "quantity": maybe(TEXT),
            "explanation": TEXT,
            "suggestion": TEXT,
            "places": list_of(OBJECT),
        },
        {"parts": list_of(OBJECT), "proof": OBJECT},
    )
    return output(
        "audit/1",
        "whether a text gives enough, and whether it can hold",
        {
            "problem": said(TEXT, "the problem's id"),
            "verdict": said(
                {"enum": ["complete", "undecided", "suspicious", "missing", "contradictory"]},
                "the worst that was found",
            ),
            "findings": said(list_of(finding), "the worst first"),
            "not_understood": said(TEXTS, "sentences that nothing could judge"),
            "notes": said(TEXTS, "what else a reader should know"),
        },
        {"exit_code": CODE},
    )


def explanation() -> Json:
    """Return the schema of an explanation."""
    return output(
        "explanation/1",
        "why there is no plan, no best plan, or just this one",
        {
            "problem": said(TEXT, "the problem's id"),
            "kind": said(
                {"enum": ["infeasible", "unbounded", "plan", "stopped", "undecided"]},
                "what is explained",
            ),
            "summary": said(TEXT, "one sentence"),
        },
        {
            "clashes": said(list_of(OBJECT), "sets of demands that no plan meets"),
            "proposals": said(list_of(OBJECT), "least changes that would let a plan exist"),
            "unbounded": said(OBJECT, "what grows without end"),
            "tight": said(list_of(OBJECT), "limits that hold the plan back, the dearest first"),
            "reduced_costs": said(list_of(OBJECT), "what is not used, and what it would cost"),
            "trouble": said(OBJECT, "what the solver had trouble with"),
            "notes": said(TEXTS, "what else a reader should know"),
            "exit_code": CODE,
        },
    )


def lint() -> Json:
    """Return the schema of the findings of static analysis."""
    region = record({}, {}, more=True)
    finding = record(
        {"code": TEXT, "severity": TEXT, "path": TEXT, "message": TEXT, "region": region}, more=True
    )
    file = record(
        {
            "file": TEXT,
            "kind": maybe(TEXT),
            "problem_class": maybe(TEXT),
            "convexity": maybe(TEXT),
            "structure": TEXTS,
            "variables": maybe(COUNT),
            "constraints": maybe(COUNT),
            "missing": TEXTS,
            "diagnostics": list_of(finding),
        },
        {"error": OBJECT},
    )
    counts = record({"error": COUNT, "warning": COUNT, "info": COUNT})
    return output(
        "lint/1",
        "what static analysis found in blueprints",
        {
            "counts": said(counts, "findings by severity"),
            "files": said(list_of(file), "one for each blueprint"),
        },
        {"error": said(TEXT, "files that could not be read")},
    )


def trace() -> Json:
    """Return the schema of the turns of a run."""
    return output(
        "trace/1",
        "what a run did, turn by turn",
        {
            "run": said(TEXT, "the run's folder"),
            "problem": said(maybe(TEXT), "the problem's id"),
            "state": said(maybe(TEXT), "running, done, failed or interrupted"),
            "verdict": said(maybe(TEXT), "the certificate's"),
            "reason": said(maybe(TEXT), "what led to it"),
            "engine": said(maybe(TEXT), "who read the problem"),
            "resumed": said(TEXTS, "when the run went on"),
            "records": said(list_of(OBJECT), "who was sent to do what, why, and how it went"),
            "stages": said(list_of(OBJECT), "how long each stage took, and how it ended"),
            "notes": said(list_of(maybe(TEXT)), "what was noted on the way"),
            "usage": said(OBJECT, "calls, tokens, cost and seconds of all turns"),
        },
        {"again": said(OBJECT, "which calls ended otherwise when made again")},
    )

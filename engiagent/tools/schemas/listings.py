"""What commands print that list, measure or compute, with ``--json``."""

from engiagent.io.schemawords import (
    ANY,
    COUNT,
    FLAG,
    NUMBER,
    OBJECT,
    TEXT,
    TEXTS,
    Json,
    by_name,
    list_of,
    maybe,
    output,
    record,
    said,
)
from engiagent.tools.schemas.outputs import CODE, OBJECTIVE

_SUMMARY: Json = {
    "run": said(TEXT, "its path below the folder that was looked into"),
    "problem": said(TEXT, "the problem's id"),
    "engine": said(maybe(TEXT), "who read the problem"),
    "state": said(TEXT, "running, done, failed, interrupted, stopped or unreadable"),
    "stage": said(maybe(TEXT), "the last stage that began"),
    "verdict": said(maybe(TEXT), "the certificate's"),
    "reason": said(maybe(TEXT), "what led to it"),
    "started": said(maybe(TEXT), "in ISO 8601, UTC"),
    "finished": said(maybe(TEXT), "in ISO 8601, UTC"),
    "seconds": said(maybe(NUMBER), "how long it took [s]"),
    "objective": OBJECTIVE,
    "bound": said(maybe(NUMBER), "the proven bound, in the objective's unit"),
    "gap": said(maybe(NUMBER), "relative to the bound"),
}


def run_summary() -> Json:
    """Return the schema of a run on one line."""
    return output("run-summary/1", "a run on one line", _SUMMARY)


def runs() -> Json:
    """Return the schema of a list of runs."""
    return output(
        "runs/1",
        "runs below a folder",
        {
            "folder": said(TEXT, "where was looked"),
            "runs": said(list_of(run_summary()), "the latest first"),
        },
    )


def run_shown() -> Json:
    """Return the schema of one run with what was asked."""
    return output(
        "run-shown/1",
        "a run with what was asked of it",
        {
            **_SUMMARY,
            "asked": said(OBJECT, "the options of the run"),
            "notes": said(TEXTS, "what was noted on the way"),
            "artefacts": said(TEXTS, "what its folder holds"),
        },
    )


def runs_cleaned() -> Json:
    """Return the schema of what was removed."""
    return output(
        "runs-cleaned/1",
        "runs that were, or would be, removed",
        {
            "folder": said(TEXT, "where was looked"),
            "runs": said(TEXTS, "their names"),
            "removed": said(FLAG, "false for --dry-run"),
            "left": said(TEXTS, "those whose folder holds files that no run wrote"),
        },
    )


def comparison() -> Json:
    """Return the schema of what runs differ in."""
    difference = record({"kind": TEXT, "name": TEXT, "values": TEXTS})
    quantity = record(
        {
            "quantity": TEXT,
            "unit": TEXT,
            "means": list_of(maybe(NUMBER)),
            "largest_difference": maybe(NUMBER),
            "where": TEXT,
        }
    )
    return output(
        "comparison/2",
        "what runs differ in",
        {
            "runs": said(list_of(run_summary()), "all, as `run-summary`"),
            "same": said(FLAG, "whether model, schedule and result are the same"),
            "improvement": said(maybe(NUMBER), "by how much the last is better than the first"),
            "differences": said(list_of(difference), "what is not the same, one value a run"),
            "quantities": said(list_of(quantity), "all series: means, largest difference, place"),
        },
    )


def config() -> Json:
    """Return the schema of settings."""
    setting = record(
        {
            "section": TEXT,
            "name": TEXT,
            "value": ANY,
            "source": TEXT,
            "variable": TEXT,
            "option": TEXT,
        }
    )
    files = record({"project": maybe(TEXT), "user": TEXT})
    return output(
        "config/1",
        "settings and where they come from",
        {
            "settings": said(list_of(setting), "value, source, variable and option of each"),
            "files": said(files, "the project's file, and where the user's would be"),
            "unknown": said(TEXTS, "variables that begin with ENGIAGENT_ and mean nothing"),
        },
    )


_PROBLEM: Json = {
    "id": said(TEXT, "its id"),
    "title": said(TEXT, "its title"),
    "family": said(maybe(TEXT), "the domain"),
    "tags": said(TEXTS, "its tags"),
    "path": said(TEXT, "where it lies"),
}


def problems() -> Json:
    """Return the schema of a list of problems."""
    one = record({"name": TEXT, **_PROBLEM})
    return output(
        "problems/1", "the packaged problems", {"problems": said(list_of(one), "sorted by name")}
    )


def problem() -> Json:
    """Return the schema of one problem."""
    return output(
        "problem/1",
        "one problem",
        {**_PROBLEM, "data": said(TEXTS, "its data files"), "text": said(TEXT, "the whole text")},
    )


def new() -> Json:
    """Return the schema of a problem that was begun."""
    return output(
        "new/1",
        "a problem that was begun from a template",
        {
            "template": said(TEXT, "what it was begun from"),
            "folder": said(TEXT, "where it lies"),
            "problem": said(TEXT, "its id"),
            "files": said(TEXTS, "what was written"),
            "values": said(by_name(TEXT), "the values in its text"),
            "written": said(FLAG, "false for --dry-run"),
        },
    )


def templates() -> Json:
    """Return the schema of the list of templates."""
    value = record({"name": TEXT, "value": TEXT, "unit": TEXT, "said": TEXT})
    one = record({"name": TEXT, "said": TEXT, "values": list_of(value)})
    listed = said(list_of(one), "with the values that can be given")
    return output("templates/1", "what problems can be begun from", {"templates": listed})


def memory() -> Json:
    """Return the schema of what runs have learnt."""
    rate = record(
        {
            "agent": TEXT,
            "kind": TEXT,
            "attempts": COUNT,
            "mended": COUNT,
            "low": NUMBER,
            "high": NUMBER,
        },
        more=True,
    )
    return output(
        "memory/1",
        "what runs have learnt about repairs",
        {
            "memory": said(TEXT, "its file"),
            "rates": said(list_of(rate), "how often who mended what, with an interval of 95 %"),
        },
    )


def memory_cleared() -> Json:
    """Return the schema of what was forgotten."""
    return output(
        "memory-cleared/1",
        "what was forgotten",
        {"memory": said(TEXT, "its file"), "forgotten": said(ANY, "how much")},
    )


def doctor() -> Json:
    """Return the schema of a look at the installation."""
    package = record({"name": TEXT, "requirement": TEXT, "version": maybe(TEXT), "ok": FLAG})
    solver = record(
        {
            "backend": TEXT,
            "name": TEXT,
            "version": maybe(TEXT),
            "solves": TEXTS,
            "install": maybe(TEXT),
        }
    )
    return output(
        "doctor/1",
        "what is installed, and whether it works",
        {
            "ok": said(FLAG, "whether everything needed is there and works"),
            "engiagent": said(TEXT, "its version"),
            "python": said(TEXT, "its version"),
            "executable": said(TEXT, "the interpreter"),
            "platform": said(TEXT, "the machine"),
            "cores": said(maybe(COUNT), "processors"),
            "memory_mb": said(maybe(COUNT), "memory [MB]"),
            "packages": said(list_of(package), "required packages"),
            "solvers": said(list_of(solver), "backends, and how to install those that are absent"),
            "self_test": said(OBJECT, "how a small solve went"),
            "fix": said(maybe(TEXT), "a command that installs what is missing"),
        },
    )


def sandbox() -> Json:
    """Return the schema of what confines scripts here."""
    return output(
        "sandbox/1",
        "what this machine can hold a script with",
        {
            "layers": said(OBJECT, "guarantees, in the order in which they come into force"),
            "missing": said(TEXTS, "those without which no script is run"),
            "exit_code": CODE,
        },
    )


def annuity() -> Json:
    """Return the schema of an equal yearly payment."""
    return output(
        "annuity/1",
        "a capital as equal payments",
        {"payment": said(NUMBER, "a year, in the capital's currency")},
    )


def npv() -> Json:
    """Return the schema of a present value."""
    return output(
        "npv/1",
        "what flows are worth today",
        {"net_present_value": said(NUMBER, "in their currency")},
    )


def irr() -> Json:
    """Return the schema of internal rates."""
    return output(
        "irr/1",
        "internal rates of return",
        {
            "rates": said(list_of(NUMBER), "all of them, as fractions a year"),
            "sign_changes": said(COUNT, "with more than one the rate may not be unique"),
        },
    )


def battery_value() -> Json:
    """Return the schema of what a battery may cost."""
    return output(
        "battery-value/1",
        "what a battery may cost to earn a rate",
        {
            "capital_per_kw": said(maybe(NUMBER), "in the currency, per kW"),
            "currency": said(maybe(TEXT), "of the prices"),
            "target": said(NUMBER, "the rate of return"),
            "rates": said(list_of(NUMBER), "internal rates at that capital"),
            "years": said(by_name(NUMBER), "what each year earns per kW"),
            "proven": said(FLAG, "whether every year was solved to the end"),
        },
    )


def weather() -> Json:
    """Return the schema of what a weather file holds."""
    return output(
        "weather/1",
        "what a weather file holds",
        {
            "place": said(TEXT, "its name"),
            "latitude": said(NUMBER, "[°]"),
            "longitude": said(NUMBER, "[°]"),
            "elevation": said(NUMBER, "[m]"),
            "offset": said(NUMBER, "of its standard time from UTC [h]"),
            "hours": said(COUNT, "how many it has"),
            "columns": said(by_name(TEXT), "units by column"),
        },
    )


def report() -> Json:
    """Return the schema of a report that was written."""
    return output("report/1", "a report that was written", {"report": said(TEXT, "its file")})


def view() -> Json:
    """Return the schema of where runs are shown."""
    return output(
        "view/1",
        "where runs are shown",
        {"view": said(TEXT, "the address"), "folder": said(TEXT, "the folder of runs")},
    )


def imported() -> Json:
    """Return the schema of a model that was read."""
    return output(
        "import/1",
        "a model that became a blueprint",
        {
            "blueprint": said(TEXT, "its file"),
            "variables": said(COUNT, "how many"),
            "constraints": said(COUNT, "how many"),
            "sets": said(COUNT, "how many"),
            "parameters": said(COUNT, "how many"),
            "assumptions": said(list_of(TEXT), "what the file left open"),
        },
    )


def study() -> Json:
    """Return the schema of a study."""
    return output(
        "study/2",
        "cases, a sweep, a front or a sensitivity",
        {
            "kind": said({"enum": ["cases", "sweep", "pareto", "sensitivity"]}, "which"),
            "engiagent": said(TEXT, "its version"),
            "asked": said(OBJECT, "with hashes of inputs"),
            "objective": said(OBJECT, "name, unit and sense"),
            "notes": said(TEXTS, "for a reader"),
            "rows": said(list_of(OBJECT), "one for each point"),
        },
    )


def bench_suite() -> Json:
    """Return the schema of a suite's figures."""
    return output(
        "bench-suite/1",
        "problems × engines × repetitions",
        {
            "suite": said(TEXT, "its name"),
            "figures": said(list_of(OBJECT), "rates with intervals, by engine and coordination"),
            "runs": said(list_of(OBJECT), "every run"),
        },
    )


def bench_messages() -> Json:
    """Return the schema of the bench over HTTP."""
    return output(
        "bench-messages/1",
        "problems solved over HTTP against a scripted server",
        {
            "label": said(TEXT, "what these figures are"),
            "problems": said(COUNT, "how many"),
            "runs": said(COUNT, "how many"),
            "right": said(COUNT, "how many"),
            "false_certificates": said(COUNT, "claims that annotations contradict"),
            "leaked": said(COUNT, "runs with a key in a file"),
            "miscounted": said(COUNT, "runs that count more tokens than were served"),
            "median_tokens": said(maybe(NUMBER), "of a problem solved without trouble"),
            "domains": said(OBJECT, "by domain"),
            "troubles": said(OBJECT, "by kind of trouble"),
            "budgets": said(list_of(OBJECT), "how each budget ended a run"),
            "rows": said(list_of(OBJECT), "one for each run"),
        },
    )


def bench_recorded() -> Json:
    """Return the schema of replayed recordings."""
    return output(
        "bench-recorded/1",
        "recorded exchanges with a language model, replayed",
        {
            "problems": said(COUNT, "how many recordings"),
            "well_posed": said(COUNT, "those to which the experts give a plan"),
            "certified": said(COUNT, "well-posed ones that ended certified"),
            "right": said(COUNT, "those of them with the experts' optimum"),
            "wrong": said(COUNT, "claims that contradict the experts"),
            "refused_rightly": said(COUNT, "ill-posed or infeasible ones, for the experts' reason"),
            "median_requests": said(NUMBER, "to the model, of a recording"),
            "median_tokens": said(NUMBER, "as the server counted them"),
            "runs": said(list_of(OBJECT), "every recording"),
        },
    )


def accepted() -> Json:
    """Return the schema of what ``accept`` prints."""
    return output("accepted/1", "a reading that was stored", {"stored": said(TEXT, "its file")})

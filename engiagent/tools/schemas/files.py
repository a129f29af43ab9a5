"""What files hold."""

from engiagent.blueprint.document import schema
from engiagent.io.schemawords import COUNT, OBJECT, TEXT, TEXTS, Json, list_of, maybe, output, said
from engiagent.readings.form import reading_schema
from engiagent.tools.graph import graph_schema
from engiagent.verify.schema import certificate_schema


def blueprint() -> Json:
    """Return the schema of blueprints."""
    return dict(schema())


def certificate() -> Json:
    """Return the schema of certificates."""
    return certificate_schema()


def calls() -> Json:
    """Return the schema of the calls of a session."""
    return graph_schema()


def reading() -> Json:
    """Return the schema of stored readings."""
    return reading_schema()


def plant() -> Json:
    """Return the schema of plant files."""
    from engiagent.plant import schema  # here, for it brings all models of components

    return schema.plant()


def run() -> Json:
    """Return the schema of the record of a run."""
    return output(
        "run/1",
        "the record of a run",
        {
            "problem": said(TEXT, "the problem's id"),
            "asked": said(OBJECT, "the options of the run"),
            "state": said(
                {"enum": ["running", "done", "failed", "interrupted"]}, "how far it came"
            ),
            "stage": said(maybe(TEXT), "the last stage that began"),
            "verdict": said(maybe(TEXT), "the certificate's"),
            "reason": said(maybe(TEXT), "what led to it"),
            "started": said(TEXT, "in ISO 8601, UTC"),
            "finished": said(maybe(TEXT), "in ISO 8601, UTC"),
            "pid": said(COUNT, "the process that runs it"),
            "engiagent": said(TEXT, "the version"),
            "notes": said(TEXTS, "what was noted on the way"),
            "artefacts": said(TEXTS, "what the folder holds"),
        },
        {"resumed": said(list_of(TEXT), "when the run went on")},
    )

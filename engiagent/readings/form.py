"""The JSON Schema of stored readings."""

from engiagent.io.schemawords import (
    COUNT,
    NUMBER,
    OBJECT,
    TEXT,
    Json,
    by_name,
    list_of,
    maybe,
    output,
    record,
    said,
)


def reading_schema() -> Json:
    """Return the schema of stored readings."""
    place = record({"span": list_of(COUNT), "quote": TEXT})
    missing = record({"component": TEXT, "quantity": TEXT, "reason": TEXT})
    column = record(
        {
            "name": TEXT,
            "header": said(TEXT, "as written, with its unit"),
            "unit": maybe(TEXT),
            "kind": {"enum": ["number", "text", "time"]},
        },
        {
            "low": said(NUMBER, "the least value"),
            "high": said(NUMBER, "the largest value"),
            "digest": said(TEXT, "of the texts of a column of texts"),
        },
    )
    shape = record(
        {
            "sha256": TEXT,
            "rows": COUNT,
            "first": said(maybe(TEXT), "the first time stamp, local time"),
            "step_seconds": maybe(COUNT),
            "zone": maybe(TEXT),
            "columns": list_of(column),
        }
    )
    accepted = record(
        {
            "engiagent": said(TEXT, "the version"),
            "by": said(TEXT, "the engine and model, or who annotated the problem"),
            "date": said(maybe(TEXT), "when the reading was accepted"),
            "verdict": said(maybe(TEXT), "the certificate's, on the plan that followed"),
            "grade": said(TEXT, "who had read the text besides the author, as in a certificate"),
        },
        {
            "run": said(TEXT, "the run's folder"),
            "open": said(list_of(TEXT), "what remained open of the text"),
        },
    )
    return output(
        "reading/1",
        "a reading that is read again by rule",
        {
            "text": said(TEXT, "the problem's text, front matter included"),
            "data": said(by_name(shape), "the shape of each data file"),
            "accepted": accepted,
            "missing": said(list_of(missing), "what the problem needs and does not give"),
            "contradictions": said(
                list_of(record({"places": list_of(place), "reason": TEXT})), "statements that clash"
            ),
            "blueprint": said(
                {"anyOf": [OBJECT, TEXT, {"type": "null"}]},
                "the blueprint, or the name of its file beside this one",
            ),
        },
    )

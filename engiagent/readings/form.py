"""The JSON Schema of stored readings."""

from typing import Final

from engiagent.io.schemawords import Json, fields, output

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

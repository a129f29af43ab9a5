"""JSON Schemas that answers of several tools share."""

from typing import Final

from engiagent.io.schemawords import NUMBER, TEXT, TEXTS, by_name, maybe, record

OBJECTIVE: Final = maybe(
    record({}, {"value": maybe(NUMBER), "unit": maybe(TEXT), "sense": maybe(TEXT)}, more=True)
)
ELEMENTS: Final = record(
    {
        "kind": {"enum": ["programme", "definitions"]},
        "sets": TEXTS,
        "parameters": TEXTS,
        "decision_variables": TEXTS,
        "components": by_name(TEXT),
        "constraints": TEXTS,
    }
)
CHANGED: Final = record({"blueprint": TEXT, "elements": ELEMENTS})

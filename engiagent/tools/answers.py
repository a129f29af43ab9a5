"""JSON Schemas that answers of several tools share."""

from typing import Final

from engiagent.schemas.words import NUMBER, TEXT, TEXTS, by_name, maybe, record

OBJECTIVE: Final = maybe(record({}, {"value": maybe(NUMBER), "unit": maybe(TEXT),
                                     "sense": maybe(TEXT)}, more=True))  # fmt: skip
ELEMENTS: Final = record(
    {
        "kind": {"enum": ["programme", "definitions"]}, "sets": TEXTS, "parameters": TEXTS,
        "decision_variables": TEXTS, "components": by_name(TEXT), "constraints": TEXTS,
    }
)  # fmt: skip
CHANGED: Final = record({"blueprint": TEXT, "elements": ELEMENTS})
